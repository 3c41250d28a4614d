package lock

import (
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Holders reports which locks were held at the time of NewHolders. It takes no lock, because even a short try could
// reject a process that starts.
type Holders struct {
	files map[string]bool // device:inode
	known bool
}

// NewHolders reads the system's lock table.
func NewHolders() *Holders {
	text, err := os.ReadFile("/proc/locks")
	h := &Holders{map[string]bool{}, err == nil}
	for line := range strings.Lines(string(text)) {
		// 1: FLOCK ADVISORY WRITE 6619 fe:00:10420601 0 EOF; for a waiting process, the second field is ->
		if f := strings.Fields(line); len(f) >= 6 && f[1] == "FLOCK" {
			h.files[f[5]] = true
		}
	}
	return h
}

// Use reports whether the lock on a path is held. On a network file system, another machine may hold a lock that is
// Free here.
func (h *Holders) Use(path string) Use {
	info, err := os.Lstat(path)
	if err != nil {
		return Free
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !h.known {
		return Unknown
	}
	if h.files[fmt.Sprintf("%02x:%02x:%d", unix.Major(uint64(s.Dev)), unix.Minor(uint64(s.Dev)), s.Ino)] {
		return Held
	}
	return Free
}
