package search

import (
	"math"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// A component is as wide as its larger gap to a neighbour, and the prior as the range. The ends of the range count only
// for a single component.
func TestWidths(t *testing.T) {
	for _, c := range []struct{ mean, want []float64 }{
		{[]float64{5}, []float64{10}},
		{[]float64{4, 5}, []float64{10. / 3, 10}},
		{[]float64{9, 5}, []float64{4, 10}},
		{[]float64{1, 2, 9, 5}, []float64{2, 3, 4, 10}},
		{[]float64{9, 7, 1, 5}, []float64{2, 2, 4, 10}},
	} {
		must.EqualSlices(t, widths(c.mean, 0, 10), c.want, "means", c.mean, "widths")
	}
}

// The weights of old trials grow linearly from 1/n to 1. Recent trials and the prior have equal weights.
func TestWeights(t *testing.T) {
	for n, old := range map[int][]float64{0: nil, 25: nil, 26: {1. / 26}, 27: {1. / 27, 1}, 28: {1. / 28, 29. / 56, 1}} {
		want := append(slices.Clone(old), slices.Repeat([]float64{1}, n+1-len(old))...)
		sum := 0.0
		for _, w := range want {
			sum += w
		}
		got := weights(n)
		if len(got) != len(want) {
			t.Errorf("%d trials: %d weights", n, len(got))
			continue
		}
		for i, w := range got {
			if !(math.Abs(w-want[i]/sum) <= 1e-15) {
				t.Errorf("%d trials: weight %d is %v, want %v", n, i, w, want[i]/sum)
			}
		}
	}
}

// A trial adds its weight to its choice, apart from a share of the prior.
func TestCategorical(t *testing.T) {
	got := newCategorical(Range{Values: []string{"a", "b"}}, []float64{0}).p
	must.EqualSlices(t, got, []float64{0.625, 0.375}, "probabilities")
}

// Densities are truncated to the range: they integrate to the root of 2 pi, and those of integers sum to 1.
func TestParzen(t *testing.T) {
	for _, observed := range [][]float64{nil, {1}, {1, 9.5}, {2, 2.5, 9}} {
		const steps = 4000
		p, sum := newParzen(Range{Kind: Linear, Low: 0.5, High: 10}, observed), 0.0
		for i := range steps {
			sum += math.Exp(p.logDensity(0.5+9.5*(float64(i)+0.5)/steps)) * 9.5 / steps
		}
		if last := len(observed); p.mean[last] != 5.25 || p.wide[last] != 9.5 || !slices.Equal(p.mean[:last], observed) {
			t.Errorf("%v: means %v, widths %v", observed, p.mean, p.wide)
		}
		if want := math.Sqrt(2 * math.Pi); !(math.Abs(sum-want) <= 1e-5) {
			t.Errorf("%v: the integral is %v, want %v", observed, sum, want)
		}
		whole, all := newParzen(Range{Kind: Integer, Low: 1, High: 10}, observed), 0.0
		for v := range 10 {
			all += math.Exp(whole.logDensity(float64(v + 1)))
		}
		if !(math.Abs(all-1) <= 1e-12) {
			t.Errorf("%v: the sum is %v, want 1", observed, all)
		}
	}
}
