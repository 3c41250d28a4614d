package disk

import (
	"context"
	"sync"
	"sync/atomic"
)

// atOnce is the number of calls of Each at a time: a network file system answers many requests as fast as one.
const atOnce = 32

// Each calls f, which looks at files, for the numbers below n, several at once, until the context ends.
func Each(ctx context.Context, n int, f func(int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(n, atOnce) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	group.Wait()
}
