package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ErrForeign is returned for a link, a pipe or a folder instead of a file: writing to it would change something else.
var ErrForeign = errors.New("want a file that is in this folder only; remove it")

// OpenFile opens a file for writing, like os.OpenFile, but it follows no link and rejects files with several names
// (hard links).
func OpenFile(path string, flag int) (*os.File, error) {
	info, err := os.Lstat(path)
	switch {
	case err == nil:
		err = foreign(path, info)
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, flag&^os.O_TRUNC|noFollow, 0o666)
	if err != nil {
		return nil, err
	}
	info, err = f.Stat()
	if err == nil {
		err = foreign(path, info)
	}
	if err == nil && flag&os.O_TRUNC != 0 {
		err = f.Truncate(0)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func foreign(path string, info fs.FileInfo) error {
	switch {
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is %s: %w", path, kindOf(info.Mode()), ErrForeign)
	case names(info) > 1:
		return fmt.Errorf("%s is a file with %d names (hard links): %w", path, names(info), ErrForeign)
	}
	return nil
}

// Own replaces a file with several names (hard links, as in copies of folders) by a copy. Writing to the copy does not
// change the file under its other names. Own rejects links, pipes and folders, and ignores a missing file.
func Own(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || names(info) < 2 {
		return foreign(path, info)
	}
	return WriteFile(path, func(w io.Writer) error {
		f, err := Open(path)
		if err != nil {
			return err
		}
		_, err = io.Copy(w, f)
		return errors.Join(err, f.Close())
	}, false)
}
