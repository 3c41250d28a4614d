//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package lock

import (
	"errors"
	"io/fs"
	"os"
)

// File is a file that exists while a process holds the lock.
type File struct{ path string }

func try(path string) (*File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return nil, &HeldError{By: "; if none does any more, remove " + path}
	}
	if err != nil {
		return nil, err
	}
	return &File{path}, f.Close()
}

func (l *File) unlock() error { return os.Remove(l.path) }

// Host returns "": the machine on which a lock was taken is not known here.
func Host(string) string { return "" }
