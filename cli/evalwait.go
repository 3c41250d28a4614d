package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train"
)

// patienceOf returns the time after which a computation counts as slow. The time is shorter on a terminal.
func patienceOf(log io.Writer) time.Duration {
	if plain.Terminal(log) != nil {
		return time.Second
	}
	return 10 * time.Second
}

// measure computes the chosen metric i; see patiently.
func (e *evaluation) measure(ctx context.Context, i int, patience time.Duration, slow func()) ([]metrics.Result, error) {
	results, err := patiently(ctx, patience, func() ([]metrics.Result, error) {
		return metrics.Evaluate(ctx, e.in, e.seed, e.chosen[i:i+1])
	}, slow)
	if errors.Is(err, train.ErrStopped) {
		err = fmt.Errorf("metric %s: %w", e.chosen[i].Name, err)
	}
	return results, err
}

// chance adds the chance level of metric i to its result, and logs the progress of slow work.
func (e *evaluation) chance(ctx context.Context, i int, results []metrics.Result, s *streams) error {
	x := e.chances
	x.Watch = watch(s, "chance level of %s: %d of %d shuffles\n")
	err := x.Add(ctx, e.in, e.seed, e.chosen[i:i+1], results)
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return fmt.Errorf("chance level of %s: %w", e.chosen[i].Name, train.ErrStopped)
	}
	return err
}

// watch returns a function that logs the progress of slow repeats, at most once per patience.
func watch(s *streams, format string) func(name string, done, of int) {
	patience, last := patienceOf(s.log), time.Now()
	return func(name string, done, of int) {
		if now := time.Now(); now.Sub(last) > patience {
			fmt.Fprintf(s.log, format, name, done, of)
			last = now
		}
	}
}

// interval adds the interval of metric i to its result, and logs the progress of slow work. When the context ends, it
// ends at once and uses the finished repeats.
func (e *evaluation) interval(ctx context.Context, i int, results []metrics.Result, s *streams) error {
	allow(ctx, savePatience)
	x := e.intervals
	x.Watch = watch(s, "interval of %s: %d of %d repeats\n")
	err := x.Add(ctx, e.in, e.seed, e.chosen[i:i+1], results)
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return fmt.Errorf("interval of %s: %w", e.chosen[i].Name, train.ErrStopped)
	}
	return err
}

// patiently runs a computation, and calls slow once the patience is over. When the context ends it returns
// train.ErrStopped at once; the computation ends a little later.
func patiently[T any](ctx context.Context, patience time.Duration, compute func() (T, error), slow func()) (T, error) {
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
