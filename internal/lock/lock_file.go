package lock

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// errRefused is the error of a file system without locks.
var errRefused = errors.New("the file system has no locks; want " + ClaimsVariable + "=" + auto)

const openFlags = os.O_CREATE | os.O_RDWR

// file is a file that the system has locked for this process; nil: none.
type file struct{ f *os.File }

func (l *file) close() error {
	if l == nil {
		return nil
	}
	return l.f.Close()
}

// excludes reports whether the lock keeps others away: some file systems say yes to everyone.
func (l *file) excludes(w *world) bool {
	f, err := os.OpenFile(l.f.Name(), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close() // nothing was written
	ok, err := w.lock(f)
	return err == nil && !ok
}

// writeOwner writes the holder into the lock file: the process in the first line, its machine in the second.
func writeOwner(f *os.File) error {
	host, _ := os.Hostname() // "": not known
	_, err := f.WriteAt(fmt.Appendf(nil, "%d\n%s\n", os.Getpid(), host), 0)
	return err
}

// ownerSize bounds the bytes read from a lock's file.
const ownerSize = 512

// owner returns the lock's holder, if the file names it.
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
