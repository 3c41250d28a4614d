package lock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock takes a lock that ends with the process. It covers one byte far behind the
// text, which other processes can so read.
func tryLock(f *os.File) (bool, error) {
	at := &windows.Overlapped{Offset: 1 << 20}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
}
