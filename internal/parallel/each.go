package parallel

import (
	"cmp"
	"context"
	"sync/atomic"
)

// Each calls body for every i below n, on all cores, until the context ends. It returns the context's error if there is
// one, otherwise the error of the smallest i that failed.
func Each(ctx context.Context, n int, body func(i int) error) error {
	errs := make([]error, n)
	var ended atomic.Bool
	For(n, func(_, i int) {
		switch {
		case ended.Load():
		case ctx.Err() != nil:
			ended.Store(true)
		default:
			errs[i] = body(i)
		}
	})
	return cmp.Or(ctx.Err(), cmp.Or(errs...))
}
