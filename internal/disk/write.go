// Package disk replaces files atomically and opens files without following links. If a program is killed, each file is
// complete: either the old or the new version.
package disk

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

const (
	// TemporarySuffix is the suffix of the names of unfinished files.
	TemporarySuffix = ".unravel-tmp"
	// PrevSuffix is the suffix of the name for the previous version of a file.
	PrevSuffix = ".prev"
)

// WriteFile atomically replaces a file by the output of a function, and syncs it to disk. With keep, the previous
// version stays as PATH.prev. Two processes must not write the same file at the same time.
func WriteFile(path string, write func(io.Writer) error, keep bool) error {
	return WriteFileBy(filepath.Dir(path), path, write, keep)
}

// WriteFileBy is [WriteFile] through a folder: it writes the file in this folder, which is on the same file system, and
// then renames it to path.
func WriteFileBy(folder, path string, write func(io.Writer) error, keep bool) error {
	tmp := filepath.Join(folder, "."+filepath.Base(path)+TemporarySuffix)
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		return fmt.Errorf("writing %w", irregular(path, info))
	}
	err := writeSynced(tmp, write)
	if err == nil && keep {
		err = keepPrevious(folder, path)
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		if !errors.Is(err, ErrForeign) {
			os.Remove(tmp) // it may not exist; the first error is the one to report
		}
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := SyncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// MakeDir creates a folder and its parents. If one of them is a file, the error names it.
func MakeDir(path string) error {
	err := os.MkdirAll(path, 0o777)
	if err != nil {
		err = cmp.Or(CheckDir(path), err)
	}
	return err
}

// CheckDir returns an error if a path or one of its parents is a file. A missing folder is not an error.
func CheckDir(path string) error {
	for folder := path; ; folder = filepath.Dir(folder) {
		info, err := os.Stat(folder)
		switch {
		case err == nil && info.IsDir() || err != nil && filepath.Dir(folder) == folder:
			return nil
		case err == nil && folder == path:
			return fmt.Errorf("%s is a file; want a folder", folder)
		case err == nil:
			return fmt.Errorf("%s: %s is a file; want a folder", path, folder)
		}
	}
}

// writeSynced writes a new file, replaces a file of a killed process, and syncs the file to disk.
func writeSynced(path string, write func(io.Writer) error) error {
	info, err := os.Lstat(path)
	switch {
	case err == nil && info.Mode().IsRegular():
		err = os.Remove(path)
	case err == nil && info.Mode()&fs.ModeSymlink != 0:
		err = foreign(path, info)
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|noFollow, 0o666)
	if err != nil {
		return err
	}
	b := bufio.NewWriterSize(f, 1<<16)
	if err = write(b); err == nil {
		err = errors.Join(b.Flush(), f.Sync())
	}
	return errors.Join(err, f.Close())
}

// keepPrevious gives the file at path the name of the previous version in addition. The path exists at every moment.
func keepPrevious(folder, path string) error {
	tmp := filepath.Join(folder, "."+filepath.Base(path)+PrevSuffix+TemporarySuffix)
	if err := os.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := os.Link(path, tmp)
	switch {
	case err == nil:
		return os.Rename(tmp, path+PrevSuffix)
	case errors.Is(err, fs.ErrNotExist):
		return nil // the first version
	}
	if err := os.Rename(path, tmp); err != nil { // the file system does not support hard links
		return err
	}
	return os.Rename(tmp, path+PrevSuffix)
}

// SyncDir makes renames in a folder durable.
func SyncDir(dir string) error {
	if runtime.GOOS == "windows" { // folders cannot be synced there
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// IsTemporary reports whether a name is a name for unfinished files of WriteFile.
func IsTemporary(name string) bool {
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, TemporarySuffix)
}
