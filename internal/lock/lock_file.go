package lock

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// errRefused is the error for a file system without locks.
var errRefused = errors.New("the file system has no locks; want " + ClaimsVariable + "=" + auto)

const openFlags = os.O_CREATE | os.O_RDWR

// file is a file that is locked for this process by the system; nil: none.
type file struct{ f *os.File }

func (l *file) close() error {
	if l == nil {
		return nil
	}
	return l.f.Close()
}

// excludes reports whether the lock excludes others, because some file systems grant it to everyone.
func (l *file) excludes(w *world) bool {
	f, err := os.OpenFile(l.f.Name(), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close() // nothing was written
	ok, err := w.lock(f)
	return err == nil && !ok
}

// writeHolder writes the holder into the lock file: the process in the first line, the machine in the second.
func writeHolder(f *os.File) error {
	host, _ := os.Hostname() // "": unknown
	_, err := f.WriteAt(fmt.Appendf(nil, "%d\n%s\n", os.Getpid(), host), 0)
	return err
}

// holderSize is the maximum number of bytes to read from a lock file.
const holderSize = 512

// holderOf returns the holder of a lock, if the file contains it.
func holderOf(f *os.File) string {
	first, _ := holderLines(f)
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" (process %d)", pid)
}

// holderLines returns the two lines of a lock file; empty: unknown.
func holderLines(f *os.File) (process, host string) {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, holderSize))
	if err != nil {
		return "", ""
	}
	process, rest, _ := strings.Cut(string(text), "\n")
	host, _, _ = strings.Cut(rest, "\n")
	return process, host
}

// Host returns the name of the machine that last locked a path; empty: unknown.
func Host(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close() // it was only read
	_, host := holderLines(f)
	return host
}
