package ledger

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/internal/disk"
)

// fileOf returns the name of the file, without extension, that a run of a scale is in.
func fileOf(scale string, real bool) string {
	if real {
		return scale + "-real"
	}
	return scale
}

// Names lists the names of files, without extension, that the runs belong in: their scales, those on public data sets in place of twins with -real.
func Names(f *File, real bool) (list []string) {
	for _, r := range f.Runs {
		if name := fileOf(r.Scale, real); !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// Of returns the runs that belong in a file, with their configs.
func (f *File) Of(name string, real bool) *File {
	part := &File{}
	for _, r := range f.Runs {
		if fileOf(r.Scale, real) == name {
			part.Put(Config{r.Config, f.Config(r.Config)}, r)
		}
	}
	return part
}

// Path returns the path of a file in a folder by its name without extension: the compressed file if there is one.
func Path(dir, name string) string {
	compressed := filepath.Join(dir, name+Compressed)
	if _, err := os.Stat(compressed); err == nil {
		return compressed
	}
	return filepath.Join(dir, name+Extension)
}

// Merge adds runs to a file of the ledger, in place of the runs of the same settings. It makes the file if there is none.
func Merge(path string, f *File) (added, replaced int, err error) {
	all, err := readIfThere(path)
	if err != nil {
		return 0, 0, err
	}
	before := len(all.Runs)
	for _, r := range f.Runs {
		all.Put(Config{r.Config, f.Config(r.Config)}, r)
	}
	added = len(all.Runs) - before
	write := all.Write
	if strings.HasSuffix(path, Compressed) {
		write = all.writeCompressed
	}
	return added, len(f.Runs) - added, disk.WriteFile(path, write, false)
}
