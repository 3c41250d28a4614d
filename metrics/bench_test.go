package metrics_test

import (
	"fmt"
	"runtime"
	"testing"

	. "github.com/unravel-ml/unravel/metrics"

	"github.com/unravel-ml/unravel/internal/must"
)

// suite lists the metrics with typical settings and the sizes of disentanglement_lib: 10,000 rows, 5,000 more rows to
// test a predictor, 10 columns (also 1000 for some), and the factors of dSprites. Modularity by sub-codes has two
// columns for each factor.
var suite = []struct {
	name    string
	metric  func() Metric
	rows, d int
}{
	{"dci", func() Metric { return NewDCI() }, 15000, 10},
	{"dci-bins256", func() Metric { m := NewDCI(); m.Bins = 256; return m }, 15000, 10},
	{"sap", nil, 15000, 10}, {"explicitness", nil, 15000, 10}, {"probe", nil, 10000, 10}, {"knn", nil, 10000, 10},
	{"beta-vae", nil, 15000, 10}, {"factor-vae", nil, 15000, 10}, {"irs", nil, 10000, 10},
	{"mig", nil, 10000, 10}, {"med", nil, 10000, 10}, {"modularity", nil, 10000, 10},
	{"mae", nil, 10000, 10}, {"mse", nil, 10000, 10}, {"me", nil, 10000, 10},
	{"me-minimax", func() Metric { return &MaxError{Fit: FitMinimax} }, 10000, 10},
	{"me-minimax-by-factor", func() Metric { return &MaxError{Fit: FitMinimaxByFactor} }, 10000, 10},
	{"radius", nil, 10000, 10}, {"mad", nil, 10000, 10}, {"variance", nil, 10000, 10},
	{"diameter", nil, 10000, 10}, {"mpd", nil, 10000, 10},
	{"contraction-mean", func() Metric { return &Contraction{} }, 5000, 10},
	{"contraction-max", func() Metric { return &Contraction{Max: true} }, 5000, 10},
	{"mutual-information", nil, 10000, 10}, {"total-correlation", nil, 10000, 10}, {"wasserstein-correlation", nil, 10000, 10},
	{"mig", nil, 10000, 1000}, {"med", nil, 10000, 1000}, {"modularity", nil, 10000, 1000}, {"factor-vae", nil, 10000, 1000}, {"probe", nil, 10000, 64}, {"knn", nil, 10000, 64}, {"knn", nil, 10000, 1000},
}

// BenchmarkSuite times every metric at one and two threads.
//
//	go test ./metrics -run '^$' -bench Suite
func BenchmarkSuite(b *testing.B) {
	for _, c := range suite {
		m := Metric(nil)
		if c.metric != nil {
			m = c.metric()
		} else {
			m = named(c.name)
		}
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/%dx%d/threads=%d", c.name, c.rows, c.d, threads), func(b *testing.B) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
				in := wide(c.rows, c.d)
				for b.Loop() {
					must.Get(Evaluate(ctx, in, 0, []Choice{{Name: c.name, Value: m}}))(b)
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1e3, "ms")
			})
		}
	}
}
