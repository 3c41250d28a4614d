package eval

import (
	"math"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses/logic/internal/program"
	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

// distances is `forall i, j: z(i) = z(j)` with a premetric and an aggregate, for codes of two columns.
func distances(p syntax.Premetric, a factor.Aggregate, tests ...program.Test) *program.Program {
	b := program.New(2, 0)
	b.Variables = 2
	list := b.List(nil, -1)
	binders := []*program.Binder{{Variable: 0, List: list, By: -1}, {Variable: 1, List: list, By: -1, Tests: tests}}
	e := &program.Equality{Premetric: p, Codes: true}
	for k := range 2 {
		e.Difference = append(e.Difference,
			program.Coordinate{Parts: []program.Part{{Weight: 1, Column: k, Variable: 0}, {Weight: -1, Column: k, Variable: 1}}})
	}
	b.Root = &program.Quantifier{Universal: true, Aggregate: a, Binders: binders, Leaf: true, Symmetric: true, Body: e}
	return b
}

// TestParts tests that only large work is divided into parts.
func TestParts(t *testing.T) {
	for rows, want := range map[int]int{100: 0, 200: 2, 1000: maxParts} {
		e, err := New(distances(syntax.Euclidean, factor.Mean, &program.Not{Test: &program.SameRow{A: 0, B: 1}}), rows)
		must.OK(t, err)
		s := rng.New(1, "parts")
		for k := range 2 {
			for i := range e.Column(k) {
				e.Column(k)[i] = s.NormFloat64()
			}
		}
		if _, err := e.Value(true); err != nil || len(e.parts) != want {
			t.Errorf("%d rows: %d parts, %v, want %d", rows, len(e.parts), err, want)
		}
	}
}

// TestPairs tests which quantifiers run by groups of rows.
func TestPairs(t *testing.T) {
	for _, c := range []struct {
		p    *program.Program
		want bool
	}{
		{distances(syntax.Euclidean, factor.Mean), true},
		{distances(syntax.Euclidean, factor.Sum), true},
		{distances(syntax.Euclidean, factor.MeanSquare), true},
		{distances(syntax.Squared, factor.Mean), true},
		{distances(syntax.Squared, factor.MeanSquare), false},
		{distances(syntax.Absolute, factor.Mean), false},
		{distances(syntax.Euclidean, factor.Max), false},
		{distances(syntax.Euclidean, factor.Mean, &program.SameRow{A: 0, B: 1}), false},
	} {
		q := c.p.Root.(*program.Quantifier)
		b := builder{newEngine(c.p, 3).main, -1, 1}
		must.Equal(t, b.newPairs(q) != nil, c.want, q.Aggregate, "by", q.Body.(*program.Equality).Premetric, "groups")
	}
}

func TestStartOfNetwork(t *testing.T) {
	p := &perceptron{sizes: []int{3, 5, 1}}
	w := p.initialParameters(rng.New(0, "network"))
	for l, in := range p.sizes[:2] {
		out := p.sizes[l+1]
		limit := math.Sqrt(6 / float64(in+out))
		weights, biases := w[:in*out], w[in*out:(in+1)*out]
		if low, high := slices.Min(weights), slices.Max(weights); !(low >= -limit && high <= limit && low <= 0 && high >= 0) {
			t.Errorf("layer %d: weights from %v to %v; want both signs and at most %v", l, low, high, limit)
		}
		if slices.ContainsFunc(biases, func(b float64) bool { return b != 0 }) {
			t.Errorf("layer %d: biases %v; want 0", l, biases)
		}
		w = w[(in+1)*out:]
	}
	must.Equal(t, len(w), 0, "parameters too many")
}
