package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/train"
)

// Patience returns the time after which a computation counts as slow. The time is shorter on a terminal.
func Patience(log io.Writer) time.Duration {
	if plain.Terminal(log) != nil {
		return time.Second
	}
	return 10 * time.Second
}

// Watch returns a function that logs the progress of slow repeats, at most once per patience.
func Watch(s *Streams, format string) func(name string, done, of int) {
	patience, last := Patience(s.Log), time.Now()
	return func(name string, done, of int) {
		if now := time.Now(); now.Sub(last) > patience {
			fmt.Fprintf(s.Log, format, name, done, of)
			last = now
		}
	}
}

// Patiently runs a computation, and calls slow once the patience is over. When the context ends it returns
// train.ErrStopped at once; the computation ends a little later.
func Patiently[T any](ctx context.Context, patience time.Duration, compute func() (T, error), slow func()) (T, error) {
	type outcome struct {
		value   T
		err     error
		failure *parallel.Panic // the panic of the computation
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if p := recover(); p != nil {
				o.failure = parallel.Recovered(p)
			}
			done <- o
		}()
		o.value, o.err = compute()
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case o := <-done:
			if o.failure != nil {
				panic(o.failure) // run reports it
			}
			if ctx.Err() != nil && errors.Is(o.err, ctx.Err()) {
				o.err = train.ErrStopped
			}
			return o.value, o.err
		case <-timer.C:
			slow()
		case <-ctx.Done():
			var none T
			return none, train.ErrStopped
		}
	}
}
