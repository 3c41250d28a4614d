package rundir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// lockWait is the time between two tries to lock a folder.
const lockWait = 20 * time.Millisecond

// Lock locks a folder of runs, which is made if it is missing, against other calls of Lock. It waits until
// the folder is free, or the context ends. The function it returns unlocks it.
func Lock(ctx context.Context, dir string) (unlock func() error, err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	for {
		lock, err := lockPath(filepath.Join(dir, lockName))
		if err == nil {
			return lock.unlock, nil
		}
		if !errors.Is(err, ErrLocked) {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: %w", dir, errors.Join(err, ctx.Err()))
		case <-time.After(lockWait):
		}
	}
}
