package site

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"

	"github.com/unravel-ml/unravel/internal/disk"
)

// Manifest is a file in a written folder that lists the other files. The next call replaces the listed files and
// nothing else.
const Manifest = "made-by-unravel.txt"

var manifest = disk.List{Name: Manifest, Head: "Files that unravel docs has made; it replaces them when it is called again."}

// ErrForeign is the error of [Write] for a folder with files that Write did not make. Name a new or empty folder, or
// remove the files.
var ErrForeign = errors.New("the folder holds files that unravel docs has not made")

// Write writes files, by path, into a folder, which must be new, empty or written by Write before. It deletes files of
// the earlier call that are not in the new list, and keeps other files in the folder. It does not follow links out of
// the folder.
func Write(dir string, files map[string][]byte) error {
	if err := disk.MakeDir(dir); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	before, err := made(root, dir)
	if err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		if _, err := root.Lstat(name); err == nil && !slices.Contains(before, name) {
			return fmt.Errorf("%s: %w: %s", dir, ErrForeign, name)
		}
	}
	if err := manifest.Write(root, slices.Concat(before, names)); err != nil { // first: a call that is cut short can be repeated
		return err
	}
	for _, name := range names {
		if err := root.MkdirAll(path.Dir(name), 0o777); err != nil {
			return err
		}
		if err := root.WriteFile(name, files[name], 0o666); err != nil {
			return err
		}
	}
	for _, name := range before {
		if _, ok := files[name]; ok {
			continue
		}
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
			if root.Remove(folder) != nil { // the folder is not empty
				break
			}
		}
	}
	return manifest.Write(root, names)
}

// made lists the files of an earlier call. It returns an error if the folder only has other files.
func made(root *os.Root, dir string) ([]string, error) {
	names, err := manifest.Read(root)
	if errors.Is(err, fs.ErrNotExist) {
		entries, err := fs.ReadDir(root.FS(), ".")
		if err == nil && len(entries) > 0 {
			err = fmt.Errorf("%s: %w, such as %s; want a new or empty folder", dir, ErrForeign, entries[0].Name())
		}
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", dir, ErrForeign, err)
	}
	return names, nil
}
