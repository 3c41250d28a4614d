package metrics_test

import (
	"reflect"
	"runtime"
	"testing"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/parallel"
	. "github.com/unravel-ml/unravel/metrics"
)

// Results do not depend on the number of threads, and parallel sections have enough items for 16 threads.
func TestThreads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, c := range []struct {
		name  string
		m     Metric
		d     int
		items int // items of sections that share points or columns
	}{
		{"beta-vae", &BetaVAE{Batch: 64, Train: 2500, Test: 1500}, 10, 4000},
		{"beta-vae, few pairs", &BetaVAE{Batch: 3, Train: 300, Test: 200, Standardise: true}, 10, 500},
		{"factor-vae", &FactorVAE{Batch: 64, Train: 1500, Test: 900, Prune: 0.05}, 40, 60},
	} {
		var want Result
		for _, threads := range []int{1, 2, 16} {
			runtime.GOMAXPROCS(threads)
			in := wide(1500, c.d)
			in.Stream = rng.New(4, "threads")
			if r := compute(t, c.m, in); threads == 1 {
				want = r
			} else if !reflect.DeepEqual(r, want) {
				t.Errorf("%s with %d threads is another", c.name, threads)
			}
		}
		in := wide(1500, c.d)
		in.Stream = rng.New(4, "threads")
		n := 0
		stop := parallel.Record(func(items int, body func(worker, i int)) {
			n += items
			for i := range items {
				body(0, i)
			}
		})
		compute(t, c.m, in)
		stop()
		if n < c.items {
			t.Errorf("%s: %d items in sections, want %d or more", c.name, n, c.items)
		}
	}
}
