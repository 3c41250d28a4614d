// Package lock locks files between processes. If the operating system supports locks, a lock ends with its process,
// even if the process is killed. On network file systems, locks may not reach other machines. There, a process also
// takes a claim; see [ClaimsVariable].
package lock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/unravel-ml/unravel/internal/disk"
)

// The time between two tries to lock a file; longer if the file is claimed.
const (
	pause      = 20 * time.Millisecond
	claimPause = 500 * time.Millisecond
)

// ErrHeld matches a [HeldError] in errors.Is.
var ErrHeld = errors.New("another process holds the lock")

// HeldError is the error if another process holds a lock.
type HeldError struct {
	By    string // the holder, as a remark such as " (process 12)"; empty: unknown
	Ended error  // why [Wait] stopped waiting; nil: it did not wait

	claimed bool // held by a claim
}

func (e *HeldError) Error() string {
	if e.Ended != nil {
		return fmt.Sprintf("%v%s: %v", ErrHeld, e.By, e.Ended)
	}
	return ErrHeld.Error() + e.By
}

func (e *HeldError) Unwrap() error { return e.Ended }

func (e *HeldError) Is(target error) bool { return target == ErrHeld }

// File is a lock held by this process.
type File struct {
	kernel *file  // nil: the file system does not support locks
	claim  *claim // nil: the system's lock is sufficient
	lost   chan struct{}
	end    chan struct{}
	beats  sync.WaitGroup
}

// Try locks the file at a path, and creates the file if it does not exist. The file stays after the end of the lock:
// without it, two processes could lock two files with the same name. Try also takes over a claim if the watch has seen
// no heartbeat for long enough.
func (w *Watch) Try(path string) (*File, error) {
	if w.err != nil {
		return nil, w.err
	}
	kernel, err := w.world.kernel(path)
	if _, held := errors.AsType[*HeldError](err); held {
		w.look(path) // the machine of the holder may be dead, and the system may notice it late
	}
	refused := errors.Is(err, errRefused)
	if err != nil && (!refused || w.world.mode == never) {
		return nil, err
	}
	works := !refused && kernel.excludes(w.world)
	l := &File{kernel: kernel}
	claims, err := w.world.claims(path, works)
	if err == nil && claims {
		l.claim, err = w.claim(path, works)
	}
	if err != nil {
		return nil, errors.Join(err, l.kernel.close())
	}
	if l.claim != nil {
		l.startHeartbeat(w.world.after / beatPart)
	}
	return l, nil
}

// claims reports whether a path needs a claim in addition to the lock. It does if the locks of the system do not work
// or may not reach other machines, or if another process has a claim.
func (w *world) claims(path string, works bool) (bool, error) {
	switch {
	case w.mode == never:
		return false, nil
	case w.mode == always || !works || w.network(filepath.Dir(path)):
		return true, nil
	}
	newest, err := w.generation(path)
	return newest > 0, err
}

// startHeartbeat starts the heartbeat of a claim.
func (l *File) startHeartbeat(every time.Duration) {
	l.lost, l.end = make(chan struct{}), make(chan struct{})
	l.beats.Go(func() {
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-l.end:
				return
			case <-t.C:
				if err := l.claim.beat(); errors.Is(err, ErrLost) {
					close(l.lost)
					return
				}
			}
		}
	})
}

// Lost returns a channel that is closed when the claim is taken over; nil: no takeover is possible.
func (l *File) Lost() <-chan struct{} { return l.lost }

// Check returns ErrLost if the claim was taken over.
func (l *File) Check() error {
	if l.claim == nil {
		return nil
	}
	select {
	case <-l.lost:
		return ErrLost
	default:
		return l.claim.beat()
	}
}

// Dir returns a folder that exists only while this process holds the claim. Only the holder can rename a file from or
// into this folder. Without a claim, Dir returns "".
func (l *File) Dir() string {
	if l.claim == nil {
		return ""
	}
	return l.claim.files
}

// TakenOver reports whether the previous holder had not released the claim.
func (l *File) TakenOver() bool { return l.claim != nil && l.claim.takenOver }

// Unlock ends the lock. The error is ErrLost if the claim has been taken over.
func (l *File) Unlock() error {
	var err error
	if l.claim != nil {
		close(l.end)
		l.beats.Wait()
		err = l.claim.release()
	}
	return errors.Join(err, l.kernel.close())
}

// Wait locks a file like [Try], as soon as the file is free. It stops when the context ends. If waiting is not nil,
// Wait calls it once before it starts to wait.
func Wait(ctx context.Context, path string, waiting func()) (*File, error) {
	w := NewWatch()
	for {
		l, err := w.Try(path)
		held, ok := errors.AsType[*HeldError](err)
		if !ok {
			return l, err
		}
		if waiting != nil {
			waiting()
			waiting = nil
		}
		wait := pause
		if held.claimed {
			wait = min(claimPause, w.world.after/beatPart)
		}
		select {
		case <-ctx.Done():
			return nil, &HeldError{By: held.By, Ended: ctx.Err()}
		case <-time.After(wait):
		}
	}
}

// Beat returns the time of the last heartbeat of the claim on a path, by the clock of the file system; false if there
// is no claim.
func Beat(path string) (time.Time, bool) {
	w := &world{files: system{}}
	newest, err := w.generation(path)
	if err != nil || newest == 0 {
		return time.Time{}, false
	}
	_, _, free := w.state(path, newest)
	info, err := os.Stat(filepath.Join(claimDir(path, newest), holderName))
	if free || err != nil {
		return time.Time{}, false
	}
	return info.ModTime(), true
}

// Is reports whether name is the lock file of, or the folder with its claims.
func Is(name, of string) bool { return name == of || name == of+claimsSuffix }

// kernel takes the system's lock on a path. The error is errRefused if the file system does not support locks.
func (w *world) kernel(path string) (*file, error) {
	if w.mode == only {
		return nil, errRefused
	}
	f, err := disk.OpenFile(path, openFlags)
	if err != nil {
		return nil, err
	}
	ok, err := w.lock(f)
	if err == nil && !ok {
		err = &HeldError{By: holderOf(f)}
	} else if err == nil {
		err = errors.Join(f.Truncate(0), writeHolder(f))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &file{f}, nil
}

// Use is the state of a lock.
type Use int

// The states of a lock.
const (
	Unknown Use = iota // the system does not report it; another machine may hold the lock
	Free               // no process on this machine holds it
	Held
)
