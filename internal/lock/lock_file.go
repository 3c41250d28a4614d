//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows

package lock

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/internal/disk"
)

// File is a file that this process has locked.
type File struct{ f *os.File }

func try(path string) (*File, error) {
	f, err := disk.OpenFile(path, os.O_CREATE|os.O_RDWR)
	if err != nil {
		return nil, err
	}
	ok, err := tryLock(f)
	if err == nil && !ok {
		err = &HeldError{By: owner(f)}
	} else if err == nil {
		err = errors.Join(f.Truncate(0), writeOwner(f))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &File{f}, nil
}

func (l *File) unlock() error { return l.f.Close() }

// writeOwner notes who holds the lock.
func writeOwner(f *os.File) error {
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// owner returns who holds the lock, if that can be read.
func owner(f *os.File) string {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 32))
	pid, err2 := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || err2 != nil {
		return ""
	}
	return fmt.Sprintf(" (process %d)", pid)
}
