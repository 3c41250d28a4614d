package metrics_test

import (
	"math"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/metrics"
)

// crossed returns an input of two factors with each combination of 4 and 2 levels four times. Its codes are functions
// of the levels.
func crossed(columns ...func(a, b float64) float64) *Input {
	in := &Input{Factors: []factor.Factor{{Name: "a", Size: 4}, {Name: "b", Size: 2}}, Stream: rng.New(1, "test")}
	in.Codes.Cols = len(columns)
	for i := range 32 {
		a, b := i%4, i/4%2
		in.Levels = append(in.Levels, a, b)
		for _, f := range columns {
			in.Codes.Data = append(in.Codes.Data, f(float64(a), float64(b)))
		}
		in.Codes.Rows++
	}
	return in
}

func first(a, _ float64) float64  { return a }
func second(_, b float64) float64 { return b }
func both(a, b float64) float64   { return a + 4*b }
func zero(_, _ float64) float64   { return 0 }

func TestResponses(t *testing.T) {
	m := named("responses").(*Responses)
	r := compute(t, m, crossed(first, second, both, zero, first))
	near(t, "value", r.Value, 3.0/4, 0)
	must.EqualSlices(t, r.Part("columns"), []float64{3, 1, 1}, "columns that respond to one, several and no factors")
	must.EqualSlices(t, r.Part("per_column"), []float64{1, 1, 2, 0, 1}, "factors by column")
	three := crossed(both)
	three.Factors, three.Levels = append(three.Factors, factor.Factor{Name: "c", Size: 2}), nil
	for i := range 32 {
		three.Levels = append(three.Levels, i%4, i/4%2, i/4%2)
	}
	r = compute(t, m, three)
	if got := r.Part("columns"); !slices.Equal(got, []float64{0, 1, 0}) {
		t.Errorf("columns that respond to one, several and no factors of three: %v", got)
	}
	parity := func(a, _ float64) float64 { return math.Mod(a, 2) } // 1 of the 2 bits of a
	for threshold, want := range map[float64]float64{0.49: 1, 0.51: 0} {
		m.Threshold = threshold
		must.Equal(t, compute(t, m, crossed(parity, zero)).Value, want, "threshold", threshold)
	}
	for _, bad := range []float64{0, -1, 1.1, math.NaN()} {
		m.Threshold = bad
		must.Error(t, m.Validate(), "threshold", bad)
	}
}

// The principal components of a rotated code are the factors.
func TestPrincipalMED(t *testing.T) {
	mixed := func(s float64) func(a, b float64) float64 {
		return func(a, b float64) float64 { return 10*(a-1.5) + s*(b-0.5) }
	}
	in := crossed(mixed(1), mixed(-1), mixed(1))
	m := named("principal-med").(*PrincipalMED)
	m.Components = 2
	r := compute(t, m, in)
	near(t, "value", r.Value, 1, 1e-8) // up to the floor of importances
	must.EqualSlices(t, r.Grids[0].Rows, []string{"pc0", "pc1"}, "rows")
	if plain := compute(t, med(), in); !(plain.Value <= 0.9) {
		t.Errorf("med of the columns themselves is %v", plain.Value)
	}
	m.Components = 3 // as many as columns
	must.Equal(t, compute(t, m, in).Value, compute(t, med(), in).Value)
}

func TestManipulated(t *testing.T) {
	m := named("manipulation").(*Manipulated)
	r := compute(t, m, crossed(first, second, zero))
	near(t, "value", r.Value, 1, 0)
	r = compute(t, m, crossed(first, first, second, both)) // for a, three columns change equally; for b, one changes by 1 and one by 4
	near(t, "value", r.Value, (1.0/3+16.0/17)/2, 1e-12)
	if p := r.Parts[0]; !slices.Equal(p.Labels, []string{"a", "b"}) {
		t.Errorf("%+v", p)
	}
	r = compute(t, m, crossed(first, zero))
	if p := r.Parts[0]; !slices.Equal(p.Labels, []string{"a"}) || len(r.Notes) != 1 || r.Value != 1 {
		t.Errorf("%+v", r)
	}
	m.Components = 1
	near(t, "of one component", compute(t, m, crossed(first, both, both)).Value, 1, 0)
}
