//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package lock

import (
	"os"

	"golang.org/x/sys/unix"
)

// Holders reports which locks are held. It takes no lock: a try, however short, could turn away a process that begins.
type Holders struct{}

// NewHolders prepares to ask the system.
func NewHolders() *Holders { return &Holders{} }

// Use says whether the lock of a path is held. On these systems fcntl, which can ask without locking, knows the locks
// of flock.
func (*Holders) Use(path string) Use {
	f, err := os.Open(path)
	if err != nil {
		return Free
	}
	defer f.Close() // it was only read
	l := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &l); err != nil {
		return Unknown
	}
	if l.Type == unix.F_UNLCK {
		return Free
	}
	return Held
}
