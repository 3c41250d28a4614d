package sweep

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/train/rundir"
)

// Folder is the folder of a run.
type Folder struct {
	Name    string // path relative to the scanned folder, with slashes
	Changed int64  // time when a file in it was last created, replaced or removed, in nanoseconds since 1970
}

const maxDepth = 6

// Look lists the runs in a folder and below it, sorted by name. A missing folder has no runs. Look does not look for
// runs inside runs, and reads no files. known, if set, reports whether an unchanged folder is a known run. Look then
// visits the folder only once, which helps most on network file systems.
func Look(ctx context.Context, dir string, known func(Folder) bool) ([]Folder, error) {
	var list []Folder
	level := []string{"."}
	for depth := maxDepth; len(level) > 0; depth-- {
		folders, looks := make([]Folder, len(level)), make([]look, len(level))
		disk.Each(ctx, len(level), func(i int) {
			folders[i].Name = level[i]
			if info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(level[i]))); err == nil {
				folders[i].Changed = info.ModTime().UnixNano()
			}
		})
		disk.Each(ctx, len(level), func(i int) {
			if known != nil && level[i] != "." && known(folders[i]) {
				looks[i].run = true
				return
			}
			looks[i] = lookAt(dir, level[i], depth > 0)
		})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		level = nil
		for i, l := range looks {
			if l.err != nil {
				return nil, l.err
			}
			if l.run {
				list = append(list, folders[i])
			}
			level = append(level, l.below...)
		}
	}
	slices.SortFunc(list, func(a, b Folder) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// look is the result for a folder: a run, or a folder with folders below it.
type look struct {
	run   bool
	below []string
	err   error
}

// lookAt looks at a folder. If the folder is not a run, lookAt lists the folders below it.
func lookAt(dir, name string, list bool) (l look) {
	whole := filepath.Join(dir, filepath.FromSlash(name))
	if _, err := os.Lstat(filepath.Join(whole, rundir.Config)); err == nil { // much faster than listing the folder
		return look{run: true}
	}
	entries, err := os.ReadDir(whole)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			l.err = err
		}
		return l
	}
	for _, e := range entries {
		if list && e.IsDir() && e.Name()[0] != '.' {
			l.below = append(l.below, path.Join(name, e.Name()))
		}
	}
	return l
}

// Folders lists the names of the runs in a folder and below it, like [Look].
func Folders(dir string) (names []string, err error) {
	folders, err := Look(context.Background(), dir, nil)
	for _, f := range folders {
		names = append(names, f.Name)
	}
	return names, err
}

// Scan reads all runs in a folder and below it, sorted by name. A missing folder has no runs.
func Scan(dir string) ([]Entry, error) {
	folders, err := Look(context.Background(), dir, nil)
	if err != nil {
		return nil, err
	}
	list, r := make([]Entry, len(folders)), &Reader{}
	disk.Each(context.Background(), len(folders), func(i int) {
		list[i] = r.Read(filepath.Join(dir, filepath.FromSlash(folders[i].Name)))
		list[i].Name = folders[i].Name
	})
	return list, nil
}
