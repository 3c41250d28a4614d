package lock

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// A process tries to lock a file a few times, because Holders locks files for a moment.
const (
	tries    = 5
	tryPause = 5 * time.Millisecond
)

// tryLock takes a lock that ends with the process.
func tryLock(f *os.File) (bool, error) {
	for range tries - 1 {
		if ok, err := lockByte(f, windows.LOCKFILE_EXCLUSIVE_LOCK); ok || err != nil {
			return ok, err
		}
		time.Sleep(tryPause)
	}
	return lockByte(f, windows.LOCKFILE_EXCLUSIVE_LOCK)
}

// lockByte locks one byte far after the text, so other processes can read the text. It returns false if another
// process holds a lock that excludes this one.
func lockByte(f *os.File, flags uint32) (bool, error) {
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, lockedByte())
	switch {
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION), errors.Is(err, windows.ERROR_IO_PENDING):
		return false, nil
	case errors.Is(err, windows.ERROR_INVALID_FUNCTION), errors.Is(err, windows.ERROR_NOT_SUPPORTED):
		return false, fmt.Errorf("%s: %w: %w", f.Name(), errRefused, err)
	}
	return err == nil, err
}

func lockedByte() *windows.Overlapped { return &windows.Overlapped{Offset: 1 << 20} }

// Holders reports which locks are held.
type Holders struct{}

func NewHolders() *Holders { return &Holders{} }

// Use reports whether the lock on a path is held. Windows reports no locks, so Use takes a shared lock for a moment.
func (*Holders) Use(path string) Use {
	f, err := os.Open(path)
	if err != nil {
		return Free
	}
	defer f.Close() // it was only read
	ok, err := lockByte(f, 0)
	switch {
	case err != nil:
		return Unknown
	case !ok:
		return Held
	}
	if err := windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, lockedByte()); err != nil {
		return Unknown
	}
	return Free
}
