// Package public has the published data sets: `unravel data fetch` downloads their files, and the first use converts
// the files to the cache.
package public

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/internal/pictures"
	"github.com/unravel-ml/unravel/datasets/internal/stored"
	"github.com/unravel-ml/unravel/datasets/source"
	"github.com/unravel-ml/unravel/internal/archive"
	"github.com/unravel-ml/unravel/internal/arrays"
	"github.com/unravel-ml/unravel/internal/dtype"
	"github.com/unravel-ml/unravel/internal/picture"
)

// buildPublic opens the cached form of a public data set. options is the canonical text of the settings that affect the
// cached set. If the set is not cached, convert creates it from the source files in a folder. The context may receive
// progress, see [cache.WithProgress].
func buildPublic(ctx context.Context, name, options string, origin datasets.Origin,
	convert func(ctx context.Context, dir string, w *cache.Writer) error) (datasets.Dataset, error) {
	s, err := cachedPublic(ctx, name, options, origin, convert)
	if err != nil {
		return nil, err
	}
	return stored.FromCache(s), nil
}

// cachedPublic is buildPublic, but returns the cached set itself.
func cachedPublic(ctx context.Context, name, options string, origin datasets.Origin,
	convert func(ctx context.Context, dir string, w *cache.Writer) error) (*cache.Set, error) {
	key := cache.Key{Name: name, Options: options, Version: origin.Version}
	return cache.EnsureValid(ctx, key, checkSources(name), func(ctx context.Context, w *cache.Writer) error {
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

// checkSources returns a function that compares the source files of a cached set with the files on disk, unless
// deleted.
func checkSources(name string) func(*cache.Set) error {
	return func(s *cache.Set) error {
		dir := cache.Downloads(name)
		current, err := source.Records(dir)
		if err != nil {
			return err
		}
		for _, recorded := range s.Sources {
			f, ok := current[recorded.Name]
			if _, err := os.Stat(filepath.Join(dir, recorded.Name)); err == nil && ok && f.SHA256 != recorded.SHA256 {
				return fmt.Errorf("it was converted from another %s than the one in %s", recorded.Name, dir)
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

// withFile adds the name of a file to an error without a name.
func withFile(name string, err error) error {
	if err == nil || strings.Contains(err.Error(), name) {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// openImages opens an array of 8-bit images, N x H x W x C. H and W must be h and w, unless these are 0.
func openImages(f arrays.File, name string, h, w, c int) (*arrays.Array, error) {
	a, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	s := a.Shape
	fits := func(got, want int) bool { return got > 0 && (want == 0 || got == want) }
	if len(s) != 4 || !fits(s[0], 0) || !fits(s[1], h) || !fits(s[2], w) || !fits(s[3], c) || a.Type != dtype.Uint8 {
		return nil, fmt.Errorf("%v; want uint8 of shape [N %d %d %d]", a, h, w, c)
	}
	return a, nil
}

// copyImages writes all rows of an array of 8-bit images to a set, after Begin. If change is not nil, it modifies the
// pixels of the images, starting at a row.
func copyImages(ctx context.Context, a *arrays.Array, w *cache.Writer, change func(int, []byte) error) error {
	rows, err := a.Rows(nil)
	if err != nil {
		return err
	}
	defer rows.Close() // nothing was written
	n, slab, size := rows.Shape()[0], rows.Slab(), rows.RowBytes()
	buffer := make([]byte, min(n, slab)*size)
	for from := 0; from < n; from += slab {
		if err := ctx.Err(); err != nil {
			return err
		}
		part := buffer[:min(slab, n-from)*size]
		if err := rows.Read(part); err != nil {
			return err
		}
		if change != nil {
			if err := change(from, part); err != nil {
				return err
			}
		}
		if err := stored.WriteImages(ctx, w, from, part, size); err != nil {
			return err
		}
	}
	return nil
}

// maxZippedPicture is the maximum size, in bytes, of a picture file in the archive of a public set.
const maxZippedPicture = 16 << 20

// zippedPictures are pictures of one size in a zip file.
type zippedPictures struct {
	name    string // name of the archive, for errors
	zip     *archive.Zip
	members []int // member of each row
	h, w    int   // height and width of the pictures
	crop    int   // side of the square that is cropped from the centre; 0: no crop
	size    datasets.PictureSize
	filter  string
}

// convert decodes, crops and resizes colour pictures on all cores. Without levels, they form the factors' full grid.
func (p *zippedPictures) convert(ctx context.Context, w *cache.Writer, factors []factor.Factor, levels []int32) error {
	h, width := p.h, p.w
	if p.crop > 0 {
		h, width = p.crop, p.crop
	}
	ch, cw := h, width // size before resizing
	if len(p.size) == 2 {
		h, width = p.size[0], p.size[1]
	}
	const channels = 3
	if err := w.Begin(len(p.members), h, width, channels, factors); err != nil {
		return err
	}
	if levels != nil {
		if err := w.SetLevels(levels); err != nil {
			return err
		}
	}
	return pictures.ForEach(ctx, len(p.members), func() func(int) error {
		var decoder picture.Decoder
		var file, box []uint8
		f := pictures.Fitter{H: h, W: width, C: channels, Fit: pictures.FitStretch, Filter: pictures.FilterOf(p.filter)}
		dst := make([]uint8, h*width*channels)
		return func(i int) error {
			var err error
			if file, err = p.zip.Read(p.members[i], file); err != nil {
				return err
			}
			pixels, err := p.decode(&decoder, file)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", p.name, p.zip.Names()[p.members[i]], err)
			}
			if ch != p.h || cw != p.w {
				box = pictures.Crop(box, pixels, p.h, p.w, channels, (p.h-ch)/2, (p.w-cw)/2, ch, cw)
				pixels = box
			}
			f.Into(dst, pixels, ch, cw)
			return w.WriteAt(ctx, i, dst)
		}
	})
}

// decode decodes a picture. It checks the size first.
func (p *zippedPictures) decode(d *picture.Decoder, file []uint8) ([]uint8, error) {
	info, err := picture.Read(file)
	if err != nil {
		return nil, err
	}
	if info.H != p.h || info.W != p.w {
		return nil, fmt.Errorf("it has %d x %d pixels; want %d x %d (height x width)", info.H, info.W, p.h, p.w)
	}
	pixels, _, err := d.Decode(file, 3)
	return pixels, err
}
