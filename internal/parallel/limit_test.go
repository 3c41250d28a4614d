package parallel

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// busiest returns the maximum number of goroutines that work on items at the same time: in sections, in nested sections
// and in background work.
func busiest() int {
	var now, most atomic.Int64
	body := func(int, int) {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		time.Sleep(50 * time.Microsecond)
		now.Add(-1)
	}
	b := NewBackground()
	defer b.Close()
	for range 5 {
		b.Start(func() { For(20, body) })
		For(4, func(int, int) { For(8, body) })
		b.Wait()
	}
	return int(most.Load())
}

// Limits of goroutines are independent, and apply to everything that the goroutines start.
func TestLimit(t *testing.T) {
	long.NotShort(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			before := Threads()
			ctx, release := Limit(context.Background(), n)
			want := n
			if n == 0 {
				want = 8
			}
			for range 20 {
				var inner atomic.Int64
				For(20, func(int, int) { inner.Store(max(inner.Load(), int64(Threads()))) })
				if got := Threads(); got != want || int(inner.Load()) != want {
					t.Errorf("limit %d: %d threads, %d in a section; want %d", n, got, inner.Load(), want)
				}
			}
			if most := busiest(); n > 0 && most > n {
				t.Errorf("limit %d: %d goroutines worked at once", n, most)
			}
			if n > 0 {
				_, other := Limit(ctx, 5)
				must.Equal(t, Threads(), 5, "threads of an inner limit")
				other()
			}
			must.Equal(t, Threads(), want, "limit", n, "after an inner limit: threads")
			release()
			must.Equal(t, Threads(), before, "limit", n, "threads after release")
		})
	}
	all.Wait()
	must.Equal(t, runtime.GOMAXPROCS(0), 8, "GOMAXPROCS")
	must.Equal(t, limits.Load(), 0, "scopes are left")
}
