package rundir

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/lock"
)

// Lock locks a folder of runs, which is made if it is missing, against other calls of Lock. It waits until
// the folder is free, or the context ends. The function it returns unlocks it.
func Lock(ctx context.Context, dir string) (unlock func() error, err error) {
	if err := disk.MakeDir(dir); err != nil {
		return nil, err
	}
	l, err := lock.Wait(ctx, filepath.Join(dir, lockName), nil)
	if err != nil {
		return nil, lockError(dir, err)
	}
	return l.Unlock, nil
}

// lockError is the error about a folder that could not be locked.
func lockError(dir string, err error) error {
	var held *lock.HeldError
	if !errors.As(err, &held) {
		return fmt.Errorf("%s: locking the run: %w", dir, err)
	}
	if held.Ended != nil {
		return fmt.Errorf("%s: %w%s: %w", dir, ErrLocked, held.By, held.Ended)
	}
	return fmt.Errorf("%s: %w%s", dir, ErrLocked, held.By)
}
