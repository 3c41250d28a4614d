package metrics_test

import (
	"slices"
	"testing"

	. "github.com/unravel-ml/unravel/metrics"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// Two of ten columns follow each factor, one mixes the factors and the others are constant. The best columns give the
// value of these columns alone.
func TestBestColumns(t *testing.T) {
	code := func(l []int, z []float64) {
		z[1], z[3], z[4], z[6], z[8] = float64(l[0]), float64(l[1]), float64(l[0]*5+l[1]), -float64(l[0]), -float64(l[1])
	}
	in := gridInput(ordinals(4, 5), 10, code)
	alone := func(columns ...int) *Input {
		some := *in
		some.Codes = in.Codes.Columns(columns)
		return &some
	}
	renormalised := med()
	renormalised.TopK, renormalised.Renormalise = 1, true
	for _, test := range []struct {
		k     int
		whole bool
		best  []int
	}{{1, false, []int{1, 3}}, {1, true, []int{1, 3, 6, 8}}, {2, false, []int{1, 3, 6, 8}}} {
		for _, name := range []string{"mig", "med", "dci"} {
			of := choice(name)
			m := &BestColumns{K: test.k, Whole: test.whole, Of: of}
			r := evaluated(t, in, []Choice{{Name: "best-columns", Value: m}})
			if name != "dci" { // dci draws from a separate stream
				near(t, name, r.Value, evaluated(t, alone(test.best...), []Choice{of}).Value, 1e-12)
			}
			best := numeric.Convert[int](r.Part("best"))
			if !slices.Equal(best, test.best) || r.Name != "best-columns-"+name {
				t.Errorf("%s: columns %v; want %v", r.Name, best, test.best)
			}
		}
	}
	near(t, "renormalised", compute(t, renormalised, in).Value, evaluated(t, alone(1, 3), []Choice{choice("med")}).Value, 1e-12)
}

// Parts and grids have the names of the columns before the selection.
func TestBestColumnsNames(t *testing.T) {
	in := gridInput(ordinals(4, 5), 4, func(l []int, z []float64) { z[1], z[3] = float64(l[0]), float64(l[1]) })
	dci := evaluated(t, in, []Choice{{Name: "best-columns", Value: &BestColumns{K: 1, Of: choice("dci")}}})
	for _, p := range dci.Parts {
		if p.Name == "per_column" {
			must.EqualSlices(t, p.Labels, []string{"z1", "z3"}, "labels")
		}
	}
	must.EqualSlices(t, dci.Grids[0].Rows, []string{"z1", "z3"}, "rows")
}

// Codes without information still get two columns.
func TestBestColumnsOfNothing(t *testing.T) {
	in := gridInput(ordinals(4, 5), 3, func(l []int, z []float64) {})
	r := evaluated(t, in, []Choice{{Name: "best-columns", Value: &BestColumns{K: 1, Of: choice("mig")}}})
	if r.Value != 0 || !slices.Equal(r.Part("best"), []float64{0, 1}) {
		t.Errorf("%+v", r)
	}
}

func TestBestColumnsMistakes(t *testing.T) {
	in := gridInput(ordinals(4, 5), 2, func(l []int, z []float64) {})
	for want, m := range map[string]*BestColumns{
		"of: there is no metric":       {K: 1},
		"k: 0 columns":                 {Of: choice("mig")},
		"of: the columns are the best": {K: 1, Of: Choice{Name: "best-columns", Value: &BestColumns{K: 1, Of: choice("mig")}}},
	} {
		must.ErrorOf(Evaluate(ctx, in, 1, []Choice{{Name: "best-columns", Value: m}}))(t, want)
	}
}
