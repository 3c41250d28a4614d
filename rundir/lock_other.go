//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// lockFile is a file that exists while a process holds the run.
type lockFile struct{ path string }

func lockPath(path string) (*lockFile, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%w; if none does any more, remove %s", ErrLocked, path)
	}
	if err != nil {
		return nil, fmt.Errorf("locking the run: %w", err)
	}
	return &lockFile{path}, f.Close()
}

func (l *lockFile) unlock() error { return os.Remove(l.path) }
