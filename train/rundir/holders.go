package rundir

import (
	"os"
	"path/filepath"
	"time"

	"github.com/unravel-ml/unravel/internal/lock"
)

// Holders says which runs are held by a process, as of the moment it was made, without a trace in their folders: no lock is taken.
type Holders struct {
	locks *lock.Holders
	host  string
}

// beatPatience is the age of a claim's heartbeat up to which its holder counts as alive where that is only shown.
const beatPatience = 2 * time.Minute

// NewHolders asks the system for the locks that are held.
func NewHolders() *Holders {
	host, _ := os.Hostname() // "" is the name of no machine
	return &Holders{lock.NewHolders(), host}
}

// Held reports whether a process holds the run of a folder. Where the system does not tell, and for a run that was begun on another machine,
// a run counts as held that wrote to its log, its state or its checkpoint less than patience ago.
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
