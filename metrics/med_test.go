package metrics_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/mutual"
)

func med() *MED { return named("med").(*MED) }

func TestMEDGolden(t *testing.T) {
	eachLibraryCase(t, "modularity", 21, func(t *testing.T, in *Input, want map[string]libraryValue) {
		check := func(key string, m *MED) Result {
			r := compute(t, m, in)
			if e, ok := want[key]; ok {
				near(t, key, r.Value, e.number(), e.Tolerance)
			}
			return r
		}
		r := check("med", med())
		if e, ok := want["med_completeness"]; ok { // every factor has a column with sum 1
			near(t, "completeness", average(r.Part("completeness")), e.number(), e.Tolerance)
		}
		natural := med()
		natural.Log = mutual.LogNatural
		check("med_natural_log", natural)
		for k := 1; k <= 3; k++ {
			m := med()
			m.TopK = k
			key := fmt.Sprint("med_top", k)
			r := check(key, m)
			if e, ok := want[key+"_selected"]; ok && !e.Settings.TiesPresent {
				var columns []float64
				for _, v := range e.Value.([]any) {
					columns = append(columns, v.(float64))
				}
				must.EqualSlices(t, r.Part("selected"), columns, key, "columns")
			}
			m.Renormalise = true
			check(key+"_renormalised", m)
		}
	})
}

func TestMEDOracles(t *testing.T) {
	factors := ordinals(4, 4)
	for _, test := range []struct {
		name string
		d    int
		code func(l []int, z []float64)
		want float64
	}{
		{"perfect", 2, func(l []int, z []float64) { z[0], z[1] = float64(l[0]), -float64(l[1]) }, 1},
		{"permuted and duplicated", 5, func(l []int, z []float64) {
			z[0], z[1], z[2], z[4] = float64(l[1]), float64(l[0]), float64(l[0]), float64(l[1])
		}, 1},
		{"both factors in one", 1, func(l []int, z []float64) { z[0] = float64(4*l[0] + l[1]) }, 0},
		{"constant", 3, func(l []int, z []float64) { z[0] = 7 }, 0},
		{"one of two factors", 1, func(l []int, z []float64) { z[0] = float64(l[0]) }, 1},
	} {
		in := gridInput(factors, test.d, test.code)
		near(t, test.name, compute(t, med(), in).Value, test.want, 1e-8)
		m := med()
		m.TopK = 9
		near(t, test.name+", of the best", compute(t, m, in).Value, test.want, 1e-8)
		m.Renormalise = true
		near(t, test.name+", anew", compute(t, m, in).Value, test.want, 1e-8)
		must.ErrorOf(m.Compute(ctx, subset(in, []int{5})))(t, "0 of 2 factors have several levels in the 1 rows", test.name)
	}
	m := med()
	m.Log = mutual.LogNatural
	both := gridInput(factors, 1, func(l []int, z []float64) { z[0] = float64(4*l[0] + l[1]) })
	near(t, "natural", compute(t, m, both).Value, 1-math.Ln2, 1e-12)
}

// Among equal columns, the first is chosen, with a note.
func TestMEDTies(t *testing.T) {
	in := gridInput(ordinals(4, 3), 4, func(l []int, z []float64) {
		z[0], z[1], z[2], z[3] = float64(l[0]), -float64(l[0]), float64(l[1]), 5
	})
	m := med()
	m.TopK = 1
	r := compute(t, m, in)
	if got := r.Part("selected"); !slices.Equal(got, []float64{0, 2}) || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "tied") {
		t.Errorf("columns %v, notes %v", got, r.Notes)
	}
	near(t, "their share", r.Grids[0].Values[0][0], 0.5, 1e-12)
	m.Renormalise = true
	near(t, "anew", compute(t, m, in).Grids[0].Values[0][0], 1, 1e-12)
	m.TopK = 2
	if r := compute(t, m, in); len(r.Notes) != 0 || len(r.Part("selected")) != 3 {
		t.Errorf("%+v", r)
	}
}

func TestMEDErrors(t *testing.T) {
	in := gridInput(ordinals(4), 2, func(l []int, z []float64) { z[0] = float64(l[0]) })
	refuses(t, in, med, map[string]func(*MED){
		"there is 1 factor":       func(m *MED) {},
		`unknown base "two"`:      func(m *MED) { m.Log = "two" },
		"k: -1 is negative":       func(m *MED) { m.TopK = -1 },
		"nothing to renormalise":  func(m *MED) { m.Renormalise = true },
		"bins: 0 is out of range": func(m *MED) { m.Bins = 0 },
	})
	silent := gridInput(ordinals(4, 3), 2, func(l []int, z []float64) { z[0] = float64(l[0]) })
	if r := compute(t, med(), silent); len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "f1") {
		t.Errorf("notes %v", r.Notes)
	}
}

func average(x []float64) (mean float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	return mean
}

// The value is the mean of the factors' MED, which weights columns by their information.
func TestMEDOfFactors(t *testing.T) {
	in := gridInput(ordinals(4, 4, 3), 3, func(l []int, z []float64) { // two factors share a column, the third has its own, and one column is constant
		z[0], z[1] = float64(4*l[0]+l[1]), float64(l[2])
	})
	r := compute(t, med(), in)
	per := r.Part("per_factor")
	near(t, "shared", per[0], 1-math.Ln2/math.Log(3), 1e-8)
	near(t, "the other", per[1], per[0], 1e-12)
	near(t, "alone", per[2], 1, 1e-8)
	near(t, "value", r.Value, average(per), 1e-12)
	silent := gridInput(ordinals(4, 3), 1, func(l []int, z []float64) { z[0] = float64(l[0]) })
	near(t, "without information", partOf(compute(t, med(), silent), "per_factor")[1], 0, 0)
	twice := gridInput(ordinals(4, 3), 3, func(l []int, z []float64) { z[0], z[1], z[2] = float64(l[0]), float64(l[0]), float64(l[1]) })
	m := med()
	m.TopK = 1
	for k, v := range partOf(compute(t, m, twice), "per_factor") {
		near(t, fmt.Sprint("one of two equal columns, factor ", k), v, 1, 1e-8)
	}
}

func TestMEDWhole(t *testing.T) {
	in := gridInput(ordinals(4, 3), 5, func(l []int, z []float64) {
		z[0], z[1], z[2], z[3], z[4] = float64(l[0]), -float64(l[0]), float64(l[1]), 5, float64(l[0]*3+l[1])
	})
	m := med()
	m.TopK, m.Whole = 1, true
	r := compute(t, m, in)
	if got := r.Part("selected"); !slices.Equal(got, []float64{0, 1, 2}) || len(r.Notes) != 0 {
		t.Errorf("columns %v, notes %v; want both columns of the first factor", got, r.Notes)
	}
	both := gridInput(ordinals(4, 4), 1, func(l []int, z []float64) { z[0] = float64(4*l[0] + l[1]) })
	must.EqualSlices(t, partOf(compute(t, m, both), "selected"), []float64{0}, "a column of two factors")
	m.TopK = 0
	must.Error(t, m.Validate(), "whole: there are no ties without k")
}

func partOf(r Result, name string) []float64 { return r.Part(name) }
