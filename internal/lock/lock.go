// Package lock locks files between processes. If the operating system supports it, a lock ends with its process,
// however the process ends. On network file systems, locks may not reach other machines. There, a process also takes a
// claim; see [ClaimsVariable].
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

// The time between two tries to lock a file: the longer one if it is claimed.
const (
	pause      = 20 * time.Millisecond
	claimPause = 500 * time.Millisecond
)

// ErrHeld is matched by a [HeldError].
var ErrHeld = errors.New("another process holds the lock")

// HeldError is returned while another process holds a lock.
type HeldError struct {
	By    string // the holder, as a remark such as " (process 12)"; empty: not known
	Ended error  // why [Wait] gave up; nil: it did not wait

	claimed bool // held by a claim
}

func (e *HeldError) Error() string {
	if e.Ended != nil {
		return fmt.Sprintf("%v%s: %v", ErrHeld, e.By, e.Ended)
	}
	return ErrHeld.Error() + e.By
}

// Unwrap returns why waiting ended.
func (e *HeldError) Unwrap() error { return e.Ended }

// Is reports whether a target is [ErrHeld].
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

// File is a lock that this process holds.
type File struct {
	kernel *file  // nil: the file system refuses locks
	claim  *claim // nil: the system's lock is enough
	lost   chan struct{}
	end    chan struct{}
	beats  sync.WaitGroup
}

// Try locks the file of a path, which is made if it is missing. The file stays when the lock ends: removing it would let
// two processes lock two files of the same name. Try also takes over a claim if the watch has seen its heartbeat stand
// still.
func (w *Watch) Try(path string) (*File, error) {
	if w.err != nil {
		return nil, w.err
	}
	kernel, err := w.world.kernel(path)
	var held *HeldError
	if errors.As(err, &held) {
		w.look(path) // its machine may be dead, and the system may need a while to notice
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
		l.begin(w.world.after / beatPart)
	}
	return l, nil
}

// claims reports whether a path needs a claim in addition to its lock. It does if the locks of the system do not work
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

// begin starts the heartbeat of a claim.
func (l *File) begin(every time.Duration) {
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

// Lost is closed when the claim was taken over; nil: that cannot happen.
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
// into this folder. Dir is empty without a claim.
func (l *File) Dir() string {
	if l.claim == nil {
		return ""
	}
	return l.claim.files
}

// TakenOver reports whether the holder before had not released the claim.
func (l *File) TakenOver() bool { return l.claim != nil && l.claim.over }

// Unlock ends the lock. The error is ErrLost if the claim was taken over before.
func (l *File) Unlock() error {
	var err error
	if l.claim != nil {
		close(l.end)
		l.beats.Wait()
		err = l.claim.release()
	}
	return errors.Join(err, l.kernel.close())
}

// Wait locks a file as [Try] does, as soon as it is free. It gives up when the context ends. Wait calls waiting, if not
// nil, once before it begins to wait.
func Wait(ctx context.Context, path string, waiting func()) (*File, error) {
	w := NewWatch()
	for {
		l, err := w.Try(path)
		var held *HeldError
		if !errors.As(err, &held) {
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

// Beat returns the time of the last sign of life for a claim of a path, by the clock of its file system; false if the
// path is not claimed.
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

// Is reports whether name is the name of the lock file of, or of the folder with its claims.
func Is(name, of string) bool { return name == of || name == of+claimsSuffix }

// kernel takes the system's lock of a path. The error is errRefused if the file system has none.
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
		err = &HeldError{By: owner(f)}
	} else if err == nil {
		err = errors.Join(f.Truncate(0), writeOwner(f))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &file{f}, nil
}

// Use is the state of a lock, found without trying to take it.
type Use int

// The states of a lock.
const (
	Unknown Use = iota // the system does not say; another machine may hold it
	Free               // no process of this machine holds it
	Held
)
