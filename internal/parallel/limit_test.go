package parallel

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
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
				if got := Threads(); got != 5 {
					t.Errorf("an inner limit of 5: %d threads", got)
				}
				other()
			}
			if got := Threads(); got != want {
				t.Errorf("limit %d after an inner limit: %d threads", n, got)
			}
			release()
			if got := Threads(); got != before {
				t.Errorf("limit %d: %d threads after release, want %d", n, got, before)
			}
		})
	}
	all.Wait()
	if got := runtime.GOMAXPROCS(0); got != 8 {
		t.Errorf("GOMAXPROCS is %d, want 8", got)
	}
	if n := limits.Load(); n != 0 {
		t.Errorf("%d scopes are left", n)
	}
}
