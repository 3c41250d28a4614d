package datasets

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/source"
	"github.com/unravel-ml/unravel/internal/memory"
)

// Public is implemented by published sets. `unravel data fetch` gets the files, and the first build converts them.
type Public interface {
	Builder
	Preparer
	Origin() Origin
}

// Origin describes the source of a public data set.
type Origin struct {
	Files    []source.File
	Licence  string
	Citation string // citation for users of the set
	Terms    string // terms of use in addition to the licence; empty: none known
	Bytes    int64  // size of the converted set
	Version  int    // version of the conversion; a cached set with another version is converted again
}

// Preparer is implemented by data sets with a possibly slow first build, because it converts files. Prepare converts
// the files, reports its progress, and stops when the context ends. Build is then fast. Without Prepare, Build converts
// the files and reports no progress.
type Preparer interface {
	Prepare(ctx context.Context, progress Progress) error
}

// Progress receives the current activity and its progress. total is 0 if the total is unknown.
type Progress func(what string, done, total int64)

// ErrNotFetched matches the error of [Origin.Sources], and of building a public data set, if files are missing on this
// machine. [NotFetchedError] lists the files to fetch.
var ErrNotFetched = errors.New("its files are not on this machine")

// NotFetchedError is the error of [Origin.Sources], and of building a public data set, if files are missing on this
// machine. It lists the missing files, with their source and folder. Pass Files and Dir to [fetch.Files].
type NotFetchedError struct {
	Set   string
	Files []source.File
	Dir   string
}

// Error returns one line.
func (e *NotFetchedError) Error() string {
	names := make([]string, len(e.Files))
	for i, f := range e.Files {
		names[i] = f.Name
		if f.Size > 0 {
			names[i] += " (" + memory.Text(float64(f.Size)) + ")"
		}
		names[i] += " from " + f.URL
	}
	return fmt.Sprintf("dataset %s: %v; want `unravel data fetch %s`, or in the folder %s: %s",
		e.Set, ErrNotFetched, e.Set, e.Dir, strings.Join(names, ", "))
}

// Is reports whether the target is [ErrNotFetched].
func (e *NotFetchedError) Is(target error) bool { return target == ErrNotFetched }

// Sources returns the source files of a set on this machine: every required file, and the optional files that exist.
// The error is a [NotFetchedError], or names a file with the wrong content.
func (o *Origin) Sources(ctx context.Context, set string) ([]cache.Source, error) {
	dir := cache.Downloads(set)
	found := map[string]bool{} // by the name of the required file
	var sources []cache.Source
	for _, f := range o.Files {
		known, err := source.Verify(ctx, dir, f)
		if errors.Is(err, source.ErrAbsent) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("dataset %s: %w; want the file from %s, by `unravel data fetch %s`", set, err, f.URL, set)
		}
		found[f.Name], found[f.Instead] = true, true
		sources = append(sources, cache.Source{Name: f.Name, Size: known.Size, SHA256: known.SHA256})
	}
	absent := &NotFetchedError{Set: set, Dir: dir}
	for _, f := range o.Needed() {
		if !found[f.Name] {
			absent.Files = append(absent.Files, f)
		}
	}
	if len(absent.Files) > 0 {
		return nil, absent
	}
	return sources, nil
}

// Needed returns the files that the set requires; other files may replace some of them.
func (o *Origin) Needed() []source.File {
	var list []source.File
	for _, f := range o.Files {
		if f.Instead == "" && !f.Optional {
			list = append(list, f)
		}
	}
	return list
}

// Files identifies the files of a data set, for the records of runs.
type Files struct {
	Name    string         `json:"name"`
	Options string         `json:"options,omitempty"` // settings that affect the cached set
	Hash    string         `json:"hash,omitempty"`    // SHA-256 of images, levels and factors; empty: not cached
	Sources []cache.Source `json:"sources,omitempty"`
	Labels  string         `json:"labels,omitempty"` // SHA-256 of the order of the images, levels and factors if these are not cached; empty: unknown

	Inputs []Input `json:"inputs,omitempty"` // all user files that the run has read
}

// FilesOf returns the files of a cached data set, and nil for other data sets.
func FilesOf(d Dataset) *Files {
	c, ok := d.(interface{ Cached() (*cache.Set, string) })
	if !ok {
		return nil
	}
	s, labels := c.Cached()
	if s == nil {
		return nil
	}
	return &Files{Name: s.Name, Options: s.Options, Hash: s.Hash, Sources: s.Sources, Labels: labels}
}

// Changed describes the difference from the files at the start of a run, or returns "" for no relevant difference.
func (f *Files) Changed(recorded *Files) string {
	if recorded == nil || f == nil {
		return ""
	}
	var list []string
	if change := f.changedSet(recorded); change != "" {
		list = append(list, change)
	}
	// The hashes of a set are more precise than the hashes of its files.
	others := slices.DeleteFunc(slices.Clone(f.Inputs), func(in Input) bool { return in.inSet && f.Hash != "" })
	return strings.Join(append(list, ChangedInputs(recorded.Inputs, others)...), "; ")
}

// changedSet describes the difference from the cached set at the start of a run.
func (f *Files) changedSet(recorded *Files) string {
	switch {
	case f.Hash == "" || recorded.Hash == "":
		return ""
	case f.Hash == recorded.Hash && f.Name == recorded.Name && f.Labels != recorded.Labels &&
		f.Labels != "" && recorded.Labels != "":
		return fmt.Sprintf("the data set %s has changed since the run began: its labels had the hash %s, now %s",
			f.Name, recorded.Labels, f.Labels)
	case f.Hash == recorded.Hash:
		return ""
	case f.Name != recorded.Name:
		return fmt.Sprintf("it began with the data set %s, now it is %s", recorded.Name, f.Name)
	}
	for _, old := range recorded.Sources {
		for _, now := range f.Sources {
			if now.Name == old.Name && now.SHA256 != old.SHA256 {
				return fmt.Sprintf("the data set %s has changed since the run began: its file %s had the SHA-256 %s, now %s",
					f.Name, old.Name, old.SHA256, now.SHA256)
			}
		}
	}
	return fmt.Sprintf("the data set %s has changed since the run began: its content had the hash %s, now %s",
		f.Name, recorded.Hash, f.Hash)
}
