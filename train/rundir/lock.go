package rundir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/lock"
)

// Lock locks a folder of runs against other calls of Lock, and creates the folder if it is missing. It waits until the
// folder is unlocked or the context ends. The returned function unlocks the folder.
func Lock(ctx context.Context, dir string) (unlock func() error, err error) {
	l, err := Hold(ctx, dir)
	if err != nil {
		return nil, err
	}
	return l.Unlock, nil
}

// Folder is a folder of runs that this process has locked.
type Folder struct {
	dir  string
	lock *lock.File
}

// Hold is [Lock] for long work: the returned Folder can check whether the lock is still held.
func Hold(ctx context.Context, dir string) (*Folder, error) {
	if err := disk.MakeDir(dir); err != nil {
		return nil, err
	}
	l, err := lock.Wait(ctx, filepath.Join(dir, lockName), nil)
	if err != nil {
		return nil, lockError(dir, err)
	}
	return &Folder{dir, l}, nil
}

// Unlock unlocks the folder.
func (f *Folder) Unlock() error { return f.lock.Unlock() }

// Held returns an error if another process has taken over the lock. This can happen to a suspended process on file
// systems without locks between machines.
func (f *Folder) Held() error {
	if err := f.lock.Check(); err != nil {
		return lockError(f.dir, err)
	}
	return nil
}

func lockError(dir string, err error) error {
	var held *lock.HeldError
	switch {
	case errors.Is(err, lock.ErrLost):
		return fmt.Errorf("%s: %w; it took it over after a time without a sign of life", dir, ErrLocked)
	case !errors.As(err, &held):
		return fmt.Errorf("%s: locking the run: %w", dir, err)
	case held.Ended != nil:
		return fmt.Errorf("%s: %w%s: %w", dir, ErrLocked, held.By, held.Ended)
	}
	return fmt.Errorf("%s: %w%s", dir, ErrLocked, held.By)
}

// Holders is a snapshot of the runs that processes have locked. It takes no locks and leaves no traces in folders.
type Holders struct {
	locks *lock.Holders
	host  string
}

const beatPatience = 2 * time.Minute // maximum age of a live claim's heartbeat

// NewHolders asks the operating system for all locks.
func NewHolders() *Holders {
	host, _ := os.Hostname() // "" is not the name of a machine
	return &Holders{lock.NewHolders(), host}
}

// Held reports whether a process has locked the run in a folder. If the system cannot tell, or the run was started on
// another machine, recent writes decide: the log, the state or the checkpoint must be younger than patience.
func (h *Holders) Held(dir string, patience time.Duration) bool {
	path := filepath.Join(dir, lockName)
	if beat, ok := lock.Beat(path); ok && time.Since(beat) < beatPatience {
		return true
	}
	switch h.locks.Use(path) {
	case lock.Held:
		return true
	case lock.Free:
		if holder := lock.Host(path); holder == "" || holder == h.host {
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
