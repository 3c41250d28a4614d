package metrics

import "context"

// stops returns ctx.Err() if i is a multiple of every, otherwise nil.
func stops(ctx context.Context, i, every int) error {
	if i%every != 0 {
		return nil
	}
	return ctx.Err()
}
