package metrics

import (
	"context"
	"sync/atomic"

	"github.com/unravel-ml/unravel/internal/parallel"
)

// each calls body for every i below n, on all cores, until the context ends. It returns the error of the context, or
// otherwise the error of the smallest i that failed.
func each(ctx context.Context, n int, body func(i int) error) error {
	errs := make([]error, n)
	var ended atomic.Bool
	parallel.For(n, func(_, i int) {
		switch {
		case ended.Load():
		case ctx.Err() != nil:
			ended.Store(true)
		default:
			errs[i] = body(i)
		}
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// stops returns ctx.Err() if i is a multiple of every, otherwise nil.
func stops(ctx context.Context, i, every int) error {
	if i%every != 0 {
		return nil
	}
	return ctx.Err()
}
