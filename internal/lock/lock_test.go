package lock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// Only one process at a time holds a lock. The error names the holder and the reason for the end of the wait.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	l := must.Get(NewWatch().Try(path))(t)
	var held *HeldError
	if _, err := NewWatch().Try(path); !errors.Is(err, ErrHeld) || !errors.As(err, &held) || held.Ended != nil ||
		!strings.Contains(err.Error(), fmt.Sprintf("(process %d)", os.Getpid())) {
		t.Errorf("locked twice: %v", err)
	}
	short, cancel := context.WithTimeout(t.Context(), 3*pause)
	defer cancel()
	waits := 0
	if _, err := Wait(short, path, func() { waits++ }); !errors.Is(err, ErrHeld) || !errors.Is(err, context.DeadlineExceeded) || waits != 1 {
		t.Errorf("waited %d times: %v", waits, err)
	}
	again := make(chan error)
	go func() {
		l, err := Wait(t.Context(), path, nil)
		if err == nil {
			err = l.Unlock()
		}
		again <- err
	}()
	if err := l.Unlock(); err != nil {
		t.Error(err)
	}
	if err := <-again; err != nil {
		t.Error(err)
	}
	if _, err := Wait(t.Context(), filepath.Join(path, "below"), nil); err == nil || errors.Is(err, ErrHeld) {
		t.Errorf("below a file: %v", err)
	}
}

// A path needs a claim without working locks, on a network, by setting, and after the first claim of another process.
func TestClaimsNeeded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	for _, c := range []struct {
		mode           string
		network, works bool
		first          bool // another process has made the first claim
		want           bool
	}{
		{mode: auto, works: true}, {mode: auto, want: true}, {mode: auto, works: true, network: true, want: true},
		{mode: always, works: true, want: true}, {mode: auto, works: true, first: true, want: true}, {mode: never, first: true},
	} {
		if c.first {
			must.OK(t, os.MkdirAll(claimDir(path, 1), 0o777))
		}
		w := &world{files: system{}, mode: c.mode, network: func(string) bool { return c.network }}
		must.Equal(t, must.Get(w.claims(path, c.works))(t), c.want, fmt.Sprintf("%+v", c))
	}
}
