// Package lock locks files between processes. A lock ends with the process that holds it, however that ends, where the system
// has such locks.
package lock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// pause is the time between two tries to lock a file.
const pause = 20 * time.Millisecond

// ErrHeld is matched by a [HeldError].
var ErrHeld = errors.New("another process holds the lock")

// HeldError is returned while somebody else holds a lock.
type HeldError struct {
	By    string // the holder, as a remark such as " (process 12)"; empty: not known
	Ended error  // why [Wait] gave up; nil: it did not wait
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

// Try locks the file of a path, which is made if it is missing. The file stays when the lock ends: removing it would let
// two processes lock two files of the same name.
func Try(path string) (*File, error) { return try(path) }

// Unlock ends the lock.
func (l *File) Unlock() error { return l.unlock() }

// Wait locks a file as [Try] does, as soon as it is free; it gives up when the context ends. waiting, if not nil, is called
// once before it begins to wait.
func Wait(ctx context.Context, path string, waiting func()) (*File, error) {
	for {
		l, err := Try(path)
		var held *HeldError
		if !errors.As(err, &held) {
			return l, err
		}
		if waiting != nil {
			waiting()
			waiting = nil
		}
		select {
		case <-ctx.Done():
			return nil, &HeldError{held.By, ctx.Err()}
		case <-time.After(pause):
		}
	}
}
