// Package public has the published data sets: `unravel data fetch` downloads their files, and the first use converts
// the files to the cache.
package public

import (
	"context"
	"fmt"
	"strings"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/fetch"
	"github.com/unravel-ml/unravel/datasets/internal/stored"
)

// buildPublic opens the cached form of a public data set. options is the canonical text of the settings that affect the
// cached set. If the set is not cached, convert creates it from the source files in a folder. The context may receive
// progress, see [cache.WithProgress].
func buildPublic(ctx context.Context, name, options string, origin datasets.Origin, convert func(ctx context.Context, dir string, w *cache.Writer) error) (datasets.Dataset, error) {
	s, err := cachedPublic(ctx, name, options, origin, convert)
	if err != nil {
		return nil, err
	}
	return stored.FromCache(s), nil
}

// cachedPublic is buildPublic, but returns the cached set itself.
func cachedPublic(ctx context.Context, name, options string, origin datasets.Origin, convert func(ctx context.Context, dir string, w *cache.Writer) error) (*cache.Set, error) {
	key := cache.Key{Name: name, Options: options, Version: origin.Version}
	return cache.EnsureValid(ctx, key, madeOf(name), func(ctx context.Context, w *cache.Writer) error {
		sources, err := origin.Sources(ctx, name)
		if err != nil {
			return err
		}
		w.SetSources(sources)
		if err := convert(ctx, cache.Downloads(name), w); err != nil {
			return fmt.Errorf("dataset %s: %w", name, err)
		}
		return nil
	})
}

// madeOf returns a function that compares the source files of a cached set with the files on disk. It ignores deleted
// files.
func madeOf(name string) func(*cache.Set) error {
	return func(s *cache.Set) error {
		dir := cache.Downloads(name)
		now, err := fetch.Records(dir)
		if err != nil {
			return err
		}
		for _, of := range s.Sources {
			if f, ok := now[of.Name]; ok && f.SHA256 != of.SHA256 && fetch.Has(dir, of.Name) {
				return fmt.Errorf("it was converted from another %s than the one in %s", of.Name, dir)
			}
		}
		return nil
	}
}

// prepare calls build in a context that reports progress.
func prepare(ctx context.Context, progress datasets.Progress, build func(context.Context) (datasets.Dataset, error)) error {
	_, err := build(cache.WithProgress(ctx, cache.Progress(progress)))
	return err
}

// ofFile adds the name of a file to an error without a name.
func ofFile(name string, err error) error {
	if err == nil || strings.Contains(err.Error(), name) {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}
