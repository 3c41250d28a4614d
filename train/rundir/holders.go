package rundir

import (
	"os"
	"path/filepath"
	"time"

	"github.com/unravel-ml/unravel/internal/lock"
)

// Holders knows which runs a process held when it was made. It takes no lock and leaves no trace in folders.
type Holders struct {
	locks *lock.Holders
	host  string
}

// beatPatience is the largest age of a claim's heartbeat at which Held reports a live holder.
const beatPatience = 2 * time.Minute

// NewHolders asks the system for all held locks.
func NewHolders() *Holders {
	host, _ := os.Hostname() // "" is the name of no machine
	return &Holders{lock.NewHolders(), host}
}

// Held reports whether a process holds the run of a folder. If the system cannot tell, or another machine began the
// run, recent writing decides: the log, the state or the checkpoint must be younger than patience.
func (h *Holders) Held(dir string, patience time.Duration) bool {
	path := filepath.Join(dir, lockName)
	if at, ok := lock.Beat(path); ok && time.Since(at) < beatPatience {
		return true
	}
	switch h.locks.Use(path) {
	case lock.Held:
		return true
	case lock.Free:
		if by := lock.Host(path); by == "" || by == h.host {
			return false
		}
	}
	for _, name := range []string{LogFile, StateFile, CheckpointFile, Config} {
		if info, err := os.Lstat(filepath.Join(dir, name)); err == nil && time.Since(info.ModTime()) < patience {
			return true
		}
	}
	return false
}
