//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package lock

import (
	"os"

	"golang.org/x/sys/unix"
)

// Holders reports which locks are held. It takes no lock, because even a short try could reject a process that starts.
type Holders struct{}

func NewHolders() *Holders { return &Holders{} }

// Use reports whether the lock on a path is held. On these systems, fcntl can query flock locks without locking.
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
