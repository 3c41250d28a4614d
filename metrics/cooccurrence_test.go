package metrics_test

import (
	"math"
	"strings"
	"testing"

	. "github.com/unravel-ml/unravel/metrics"

	"github.com/unravel-ml/unravel/internal/must"
)

func coOccurrence() *CoOccurrence { return named("co-occurrence").(*CoOccurrence) }

// TestCoOccurrenceGolden computes expected values from disentanglement_lib's mutual information.
func TestCoOccurrenceGolden(t *testing.T) {
	cases := 0
	eachLibraryCase(t, "modularity", 21, func(t *testing.T, in *Input, _ map[string]libraryValue) {
		information := compute(t, named("modularity"), in).Grids[0].Values // see TestMIGGolden
		r := compute(t, coOccurrence(), in)
		best, chosen := coOccurrence(), med()
		best.TopK, chosen.TopK = 1, 1
		few, selected := compute(t, best, in), compute(t, chosen, in)
		must.EqualSlices(t, few.Part("selected"), selected.Part("selected"), "columns", "med has")
		for i, row := range r.Grids[0].Values {
			for j, got := range row {
				var product, first, second float64
				for _, m := range information {
					product += m[i] * m[j]
					first += m[i] * m[i]
					second += m[j] * m[j]
				}
				if first*second > 0 {
					near(t, "cosine", got, product/math.Sqrt(first*second), 1e-12)
					cases++
				}
			}
		}
	})
	if cases < 100 {
		t.Errorf("%d cosines", cases)
	}
}

func TestCoOccurrenceOracles(t *testing.T) {
	factors := ordinals(4, 4, 4)
	for _, test := range []struct {
		name    string
		d, k    int
		code    func(l []int, z []float64)
		want    float64
		columns []float64
	}{
		{"perfect", 3, 0, func(l []int, z []float64) { z[0], z[1], z[2] = float64(l[0]), -float64(l[1]), float64(l[2]) }, 0, nil},
		{"all in one", 1, 0, func(l []int, z []float64) { z[0] = float64(l[0] + 4*l[1] + 16*l[2]) }, math.NaN(), nil},
		{"two in one", 2, 0, func(l []int, z []float64) { z[0], z[1] = float64(l[0]+4*l[1]), float64(l[2]) }, 1.0 / 3, nil},
		{"more of one than of the others", 2, 1, func(l []int, z []float64) { z[0], z[1] = float64(l[0]+4*l[1]), float64(l[0]) }, 1.0 / 3 / math.Sqrt2, []float64{0, 1}},
		{"mixed and one each", 4, 0, func(l []int, z []float64) {
			z[0], z[1], z[2], z[3] = float64(l[0]), float64(l[1]), float64(l[2]), float64(l[0]+4*l[1])
		}, 1.0 / 6, nil},
		{"the best of them", 4, 1, func(l []int, z []float64) {
			z[0], z[1], z[2], z[3] = float64(l[0]), float64(l[1]), float64(l[2]), float64(l[0]+4*l[1])
		}, 0, []float64{0, 1, 2}},
		{"constant", 2, 0, func(l []int, z []float64) {}, 0, nil},
	} {
		m := coOccurrence()
		m.TopK = test.k
		r := compute(t, m, gridInput(factors, test.d, test.code))
		if !math.IsNaN(test.want) {
			near(t, test.name, r.Value, test.want, 1e-12)
		} else if !(r.Value >= 0.3 && r.Value <= 1) {
			t.Errorf("%s: %v", test.name, r.Value)
		}
		must.EqualSlices(t, r.Part("selected"), test.columns, test.name, "columns")
		near(t, "mean of factors", r.Value, average(r.Part("per_factor")), 1e-12)
		if g := r.Grids[0]; len(g.Values) != 3 || g.Values[1][1] != 1 && test.name != "constant" || len(r.Part("per_factor")) != 3 {
			t.Errorf("%s: %+v", test.name, r)
		}
	}
	m := coOccurrence()
	r := compute(t, m, gridInput(factors, 1, func(l []int, z []float64) { z[0] = float64(l[1]) }))
	if len(r.Notes) != 1 || !strings.HasSuffix(r.Notes[0], "information on f0, f2") || r.Value != 0 {
		t.Errorf("%+v", r)
	}
}

func TestCoOccurrenceErrors(t *testing.T) {
	in := gridInput(ordinals(4), 2, func(l []int, z []float64) { z[0] = float64(l[0]) })
	refuses(t, in, coOccurrence, map[string]func(*CoOccurrence){
		"there is 1 factor":       func(*CoOccurrence) {},
		"k: -1 is negative":       func(m *CoOccurrence) { m.TopK = -1 },
		"bins: 0 is out of range": func(m *CoOccurrence) { m.Bins = 0 },
	})
}
