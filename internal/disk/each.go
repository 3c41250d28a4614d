package disk

import (
	"context"
	"sync"
	"sync/atomic"
)

// maxConcurrent is the number of concurrent calls of Each. A network file system answers many requests as fast as one.
const maxConcurrent = 32

// Each calls f for all numbers below n, several at a time, until the context ends. It is for functions that wait for
// files.
func Each(ctx context.Context, n int, f func(int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(n, maxConcurrent) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	group.Wait()
}
