//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows

package rundir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/internal/disk"
)

// lockFile is a file that this process has locked. The file stays when the lock ends:
// removing it would let two processes lock two files of the same name.
type lockFile struct{ f *os.File }

func lockPath(path string) (*lockFile, error) {
	f, err := disk.OpenFile(path, os.O_CREATE|os.O_RDWR)
	if err != nil {
		return nil, fmt.Errorf("locking the run: %w", err)
	}
	ok, err := tryLock(f)
	if err == nil && !ok {
		err = fmt.Errorf("%w%s", ErrLocked, owner(f))
	} else if err != nil {
		err = fmt.Errorf("locking the run: %w", err)
	} else {
		err = errors.Join(f.Truncate(0), writeOwner(f))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &lockFile{f}, nil
}

func (l *lockFile) unlock() error { return l.f.Close() }

// writeOwner notes who holds the run.
func writeOwner(f *os.File) error {
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// owner returns who holds the run, if that can be read.
func owner(f *os.File) string {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 32))
	pid, err2 := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || err2 != nil {
		return ""
	}
	return fmt.Sprintf(" (process %d)", pid)
}
