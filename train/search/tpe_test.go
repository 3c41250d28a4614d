package search

import (
	"math"
	"slices"
	"testing"
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
		if got := widths(c.mean, 0, 10); !slices.Equal(got, c.want) {
			t.Errorf("means %v: widths %v, want %v", c.mean, got, c.want)
		}
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
			if math.Abs(w-want[i]/sum) > 1e-15 {
				t.Errorf("%d trials: weight %d is %v, want %v", n, i, w, want[i]/sum)
			}
		}
	}
}

// A trial adds its weight to its choice, apart from a share of the prior.
func TestCategorical(t *testing.T) {
	got := newCategorical(Range{Values: []string{"a", "b"}}, []float64{0}).p
	if !slices.Equal(got, []float64{0.625, 0.375}) {
		t.Errorf("probabilities %v", got)
	}
}
