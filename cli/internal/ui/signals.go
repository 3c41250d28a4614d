package ui

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/unravel-ml/unravel/internal/priority"
	"github.com/unravel-ml/unravel/train"
)

// The time for a command to end after a signal. After this time, the signal kills a command that still waits for input
// or computes.
const (
	quitPatience  = time.Second      // the command has nothing to save
	SavePatience  = 8 * time.Second  // the command finishes a training step and saves
	SweepPatience = 70 * time.Second // the command's processes save
)

type stopper struct{ patience atomic.Int64 }

type stopperKey struct{}

// Allow gives a command more time to end after a signal.
func Allow(ctx context.Context, patience time.Duration) {
	if s, ok := ctx.Value(stopperKey{}).(*stopper); ok {
		s.patience.Store(int64(patience))
	}
}

// OnSignals returns a context that ends with the first signal to stop. The second signal, or the end of the time, kills
// the program. Writes to a pipe without a reader, or beyond a file size limit, return errors instead of killing the
// program.
func OnSignals(parent context.Context) context.Context {
	signal.Ignore(writeSignals...)
	stops := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		stops = append(stops, syscall.SIGHUP)
	}
	received := make(chan os.Signal, 2)
	signal.Notify(received, stops...)
	s := &stopper{}
	s.patience.Store(int64(quitPatience))
	ctx, cancel := context.WithCancel(context.WithValue(parent, stopperKey{}, s))
	go func() {
		<-received
		cancel()
		start := time.Now()
		for time.Since(start) < time.Duration(s.patience.Load()) {
			select {
			case <-received:
				s.exit()
			case <-time.After(quitPatience / 10):
			}
		}
		s.exit()
	}()
	return ctx
}

func (s *stopper) exit() {
	text := fmt.Sprintf("unravel: %v", train.ErrStopped)
	if time.Duration(s.patience.Load()) > quitPatience {
		text += " before a step had ended; --resume continues from the last checkpoint"
	}
	written := make(chan struct{})
	go func() { // standard error may have no reader
		fmt.Fprintln(os.Stderr, text)
		close(written)
	}()
	select {
	case <-written:
	case <-time.After(quitPatience / 10):
	}
	os.Exit(ExitStopped)
}

// Yield lowers the priority of the process below training, except inside another program.
func Yield(ctx context.Context) {
	if _, ok := ctx.Value(stopperKey{}).(*stopper); ok {
		priority.Lower()
	}
}
