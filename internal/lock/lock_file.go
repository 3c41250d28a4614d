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

// writeOwner notes who holds the lock: the process in the first line, its machine in the second.
func writeOwner(f *os.File) error {
	host, _ := os.Hostname() // "": not known
	_, err := f.WriteAt(fmt.Appendf(nil, "%d\n%s\n", os.Getpid(), host), 0)
	return err
}

// ownerSize bounds what is read of a lock's file.
const ownerSize = 512

// owner returns who holds the lock, if that can be read.
func owner(f *os.File) string {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, ownerSize))
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err2 := strconv.Atoi(strings.TrimSpace(first))
	if err != nil || err2 != nil {
		return ""
	}
	return fmt.Sprintf(" (process %d)", pid)
}

// Host returns the name of the machine on which the lock of a path was taken last; empty: it is not known.
func Host(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, ownerSize))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(text), "\n")
	host, _, _ := strings.Cut(rest, "\n")
	return host
}
