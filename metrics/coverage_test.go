package metrics_test

import (
	"math"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/interval"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// population draws n rows of six columns, bounded and noisy, and three factors. z0 and z1 form a circle. z1 is noisier,
// and z0 has a little information about size. z2 follows size. z3 follows shape and weakly turn. z4 copies half of z2,
// and z5 has no information.
func population(n int, s *rng.Stream) *Input {
	sizes := []int{8, 5, 6}
	in := &Input{Codes: matrix.Matrix{Rows: n, Cols: 6, Data: make([]float64, 0, 6*n)}, Factors: []factor.Factor{
		{Name: "turn", Kind: factor.Circular, Size: 8}, {Name: "size", Kind: factor.Ordinal, Size: 5}, {Name: "shape", Kind: factor.Ordinal, Size: 6}}}
	for range n {
		a, b, c := s.IntN(sizes[0]), s.IntN(sizes[1]), s.IntN(sizes[2])
		in.Levels = append(in.Levels, a, b, c)
		noise := func() float64 { return 2*s.Float64() - 1 }
		sin, cos := math.Sincos(2 * math.Pi * float64(a) / 8)
		z2 := float64(b)/4 + 0.4*noise()
		in.Codes.Data = append(in.Codes.Data, cos+0.3*noise()+0.5*float64(b)/4, sin+0.8*noise(),
			z2, float64(c)/5+0.3*noise()+0.2*cos, 0.5*z2+0.5*noise(), noise())
	}
	return in
}

// studied returns a metric of the study with sub-codes and settings that take little time.
func studied(t testing.TB, name string) Choice {
	c := choice(name)
	if s, ok := c.Value.(*SubCodeDeviation); ok {
		s.Codes = factor.SubCodes{"turn": {0, 1}, "size": {2}, "shape": {3}}
	}
	if d, ok := c.Value.(*DLSBD); ok {
		d.Omega = 2
	}
	switch m := c.Value.(type) {
	case *BetaVAE:
		m.Batch, m.Train, m.Test = 4, 1000, 500 // more pairs can always be distinguished
	case *FactorVAE:
		m.Batch, m.Train, m.Test = 8, 1000, 500
	case *SAP:
		m.Train, m.Test = 1000, 500
	case *Explicitness:
		m.Train, m.Test = 1000, 500
	case *Downstream:
		m.Sizes, m.Test = []int{100}, 200
	}
	return c
}

// TestIntervalCoverage counts how often intervals of 95 % contain the true value: the value of many rows, or the mean
// of many draws on the same rows. -study: 200 intervals of each metric, of which 90 % to 98 % should be correct.
func TestIntervalCoverage(t *testing.T) {
	long.Study(t)
	const n, times = 1000, 200
	for _, name := range []string{
		"mig", "med", "modularity", "co-occurrence", "mutual-information", "total-correlation", "wasserstein-correlation", "code-spread",
		"variance", "mad", "mpd", "contraction-mean", "mse", "mae", "dlsbd", "beta-vae", "factor-vae", "sap", "explicitness",
		"downstream", "probe", "knn",
	} {
		t.Run(name, func(t *testing.T) {
			c := studied(t, name)
			way, _ := WayOf(c.Value)
			truth := trueValue(t, c, way)
			var sum study
			for seed := uint64(1000); seed < 1000+times; seed++ { // not the rows that chose the estimators
				rows := seed
				if way == interval.Draws {
					rows = 0
				}
				sum.add(truth, intervals(t, rowsFor(name, n, rng.New(rows, "coverage")), seed, Intervals{Percent: 95}, c)[0])
			}
			share := sum.hits / times
			t.Logf("%s: %.1f %% of %d intervals, mean width %.4f, hold %.4f; the mean error of values is %+.4f, of estimates %+.4f",
				way, 100*share, times, sum.width/times, truth, sum.value/times, sum.estimate/times)
			if !(share >= 0.9 && share <= 0.99) {
				t.Errorf("%.1f %% of the intervals hold the true value; want 90 to 99", 100*share)
			}
		})
	}
}

// study sums intervals of a value.
type study struct{ hits, width, value, estimate float64 }

func (s *study) add(truth float64, r Result) {
	i := r.Interval
	if i.Low <= truth && truth <= i.High {
		s.hits++
	}
	s.width += i.High - i.Low
	s.value += r.Value - truth
	s.estimate += i.Estimate - truth
}

// rowsFor draws the rows for the study of a metric. dlsbd gets the rows of one object.
func rowsFor(metric string, n int, s *rng.Stream) *Input {
	in := population(n, s)
	if metric == "dlsbd" {
		levels := in.Levels
		in.Factors, in.Levels = in.Factors[:1], nil
		for i := range n {
			in.Levels = append(in.Levels, levels[3*i])
		}
	}
	return in
}

// trueValue measures many rows, or the rows of seed 0 many times.
func trueValue(t testing.TB, c Choice, way interval.Way) float64 {
	if way == interval.Draws {
		in := rowsFor(c.Name, 1000, rng.New(0, "coverage"))
		return intervals(t, in, 12345, Intervals{Percent: 95, Repeats: 2000}, c)[0].Interval.Estimate
	}
	m := 200000
	switch c.Name {
	case "contraction-mean", "mae", "mpd":
		m = 20000
	}
	in := rowsFor(c.Name, m, rng.New(99, "truth"))
	r := must.Get(Evaluate(ctx, in, 1, []Choice{c}))(t)
	switch c.Name {
	case "med", "modularity", "co-occurrence": // even this many rows leave a bias in columns without information
		return intervals(t, in, 1, Intervals{Percent: 95, Repeats: 8, Rows: m / 2}, c)[0].Interval.Estimate
	}
	return r[0].Value
}
