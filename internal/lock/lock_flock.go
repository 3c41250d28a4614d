//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package lock

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// tryLock takes an advisory lock that ends with the process, even if the process is killed.
func tryLock(f *os.File) (bool, error) {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		case errors.Is(err, unix.ENOLCK), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP):
			return false, fmt.Errorf("%s: %w: %w", f.Name(), errRefused, err)
		}
		return err == nil, err
	}
}

// stale reports whether a folder on a network file system was removed while it was open.
func stale(err error) bool { return errors.Is(err, unix.ESTALE) }

// bootID identifies the current boot of the system; empty: unknown.
func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

// device is the device number of a folder's file system; empty: unknown.
func device(dir string) string {
	info, err := os.Stat(dir)
	if err != nil {
		return ""
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprint(s.Dev)
}
