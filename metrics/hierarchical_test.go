package metrics_test

import (
	"math"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// labelled returns an input with two categorical factors.
func labelled(components []int, levels ...int) *Input {
	n := len(components)
	return &Input{Codes: matrix.Matrix{Rows: n, Cols: 1, Data: make([]float64, n)}, Levels: levels,
		Factors: ordinals(3, 3), Components: components}
}

func TestPurity(t *testing.T) {
	for _, test := range []struct {
		name             string
		in               *Input
		purity, coverage float64
	}{
		{"perfect", labelled([]int{7, 7, 2, 2}, 0, 1, 0, 1, 1, 1, 1, 1), 1, 1},
		{"too fine", labelled([]int{0, 1, 2, 3}, 0, 1, 0, 1, 1, 1, 1, 1), 1, 1},
		{"too coarse", labelled([]int{5, 5, 5, 5}, 0, 1, 0, 1, 1, 1, 0, 1), 0.75, 1},
		{"by both factors", labelled([]int{5, 5, 5, 5}, 0, 1, 0, 2, 1, 1, 1, 2), 0.25, 1},
		{"some discarded", labelled([]int{0, -1, -1, 0}, 0, 1, 0, 2, 1, 1, 1, 2), 0.5, 0.5},
		{"a tie", labelled([]int{0, 0, 0, 0, 1}, 0, 0, 0, 0, 1, 0, 1, 0, 2, 2), 0.6, 1},
	} {
		near(t, test.name, value(t, "purity", test.in), test.purity, 1e-15)
		near(t, test.name, value(t, "coverage", test.in), test.coverage, 0)
	}

	r := compute(t, named("purity"), labelled([]int{9, 9, 3, -1, 9}, 0, 0, 2, 0, 1, 0, 0, 0, 2, 0))
	if got := r.Parts[0]; got.Labels[0] != "component3" || got.Values[0] != 1 || got.Labels[1] != "component9" || got.Values[1] != 2./3 {
		t.Errorf("%+v", got)
	}
	if size := r.Part("size"); size[0] != 1 || size[1] != 3 {
		t.Errorf("sizes %v", size)
	}
	if rows := r.Grids[0]; rows.Rows[1] != "component9" || rows.Values[1][0] != 1 || rows.Values[1][1] != 2 || rows.Values[0][2] != 1 {
		t.Errorf("%+v", rows)
	}
	kept := compute(t, named("coverage"), labelled([]int{-1, -1}, 0, 0, 0, 0))
	if kept.Value != 0 || kept.Part("discarded")[0] != 2 || kept.Part("kept")[0] != 0 {
		t.Errorf("%+v", kept)
	}
	many := labelled(make([]int, 300), make([]int, 600)...)
	for i := range many.Components {
		many.Components[i] = i
	}
	if r := compute(t, named("purity"), many); r.Value != 1 || r.Grids != nil || len(r.Part("size")) != 300 {
		t.Errorf("of 300 components: %v, %d grids", r.Value, len(r.Grids))
	}
}

// TestPurityPaths checks which factors determine the path.
func TestPurityPaths(t *testing.T) {
	in := labelled([]int{0, 0, 0, 0}, 0, 0, 0, 1, 0, 2, 1, 0)
	near(t, "both", value(t, "purity", in), 0.25, 0)
	in.TrueHierarchy = hierarchy.Hierarchy{options(none, hierarchy.Hierarchy{c})}
	near(t, "the categorical one of the hierarchy", value(t, "purity", in), 0.75, 0)
	in.TrueHierarchy = hierarchy.Hierarchy{c, c}
	near(t, "no categorical one", value(t, "purity", in), 1, 0)
	in.TrueHierarchy, in.Exact = nil, [][]float64{{1, 2, 3, 4}, nil}
	near(t, "all that are not continuous", value(t, "purity", in), 0.5, 0)
	// a categorical factor with more options than bins
	fine := exactRows(t, 1000, 1, 1, func(s *rng.Stream, v, _ []float64) { v[0] = float64(s.IntN(100)) })
	fine.TrueHierarchy, fine.Components = hierarchy.Hierarchy{options(make([]hierarchy.Hierarchy, 99)...)}, make([]int, 1000)
	if v := value(t, "purity", fine); !(v <= 0.03) {
		t.Errorf("a hundred options in one component have purity %v", v)
	}
	in.Paths = []int{8, 8, 8, 3}
	near(t, "given", value(t, "purity", in), 0.75, 0)
}

// TestPurityUnknown checks unknown levels: an outer one hides the path, an inner one is inactive, and the value of a
// continuous dimension does not matter.
func TestPurityUnknown(t *testing.T) {
	const no = factor.Unknown
	in := labelled([]int{0, 0, 0, 0, 1, 1}, 0, no, no, 1, 0, 0, 1, 1, no, no, 0, 0, 0, no, no, 1, 0, no)
	in.Factors = ordinals(3, 3, 3)
	for _, test := range []struct {
		name string
		h    hierarchy.Hierarchy
		want float64
		rows int
	}{
		{"one dimension", hierarchy.Hierarchy{options(none, hierarchy.Hierarchy{c}), c}, 0.6, 5},
		{"a nested dimension", hierarchy.Hierarchy{options(none, hierarchy.Hierarchy{options(none, none)}), c}, 0.4, 5},
		{"under the first option", hierarchy.Hierarchy{options(hierarchy.Hierarchy{options(none, none)}, none), c}, 0.4, 5},
		{"without the hierarchy", nil, 1, 1},
	} {
		in.TrueHierarchy = test.h
		r := evaluated(t, in, []Choice{choice("purity")})
		if near(t, test.name, r.Value, test.want, 1e-15); r.Basis.Rows != test.rows {
			t.Errorf("%s: basis %+v, want %d rows", test.name, r.Basis, test.rows)
		}
	}
}

// TestR4CUnknown checks that an unknown value of an inactive dimension counts as inactive.
func TestR4CUnknown(t *testing.T) {
	in := exactRows(t, 300, 3, 3, func(s *rng.Stream, v, z []float64) {
		v[0], v[1+s.IntN(2)] = 1+float64(s.IntN(2)), 1+s.Float64()
		if v[0] = 2; v[1] != 0 {
			v[0] = 1
		}
		copy(z, v)
	})
	in.Hierarchy = hierarchy.Hierarchy{options(hierarchy.Hierarchy{c}, hierarchy.Hierarchy{c})}
	want := evaluated(t, in, []Choice{choice("r4c")}).Value
	for at := range in.Levels {
		if j := at % 3; j > 0 && in.Exact[j][at/3] == 0 {
			in.Levels[at], in.Exact[j][at/3] = factor.Unknown, math.NaN()
		}
	}
	near(t, "unknown where inactive", evaluated(t, in, []Choice{choice("r4c")}).Value, want, 0.01)
}

func TestHierarchicalMistakes(t *testing.T) {
	in := labelled([]int{0, 0}, 0, 0, 0, 1)
	with := func(change func(in *Input)) *Input {
		other := *in
		change(&other)
		return &other
	}
	continuous := with(func(in *Input) { in.Exact = [][]float64{{1, 2}, {1, 2}} })
	for want, test := range map[string]struct {
		name string
		in   *Input
	}{
		"the components of the codes are not known":      {"purity", with(func(in *Input) { in.Components = nil })},
		"the components of the codes are not known, too": {"coverage", with(func(in *Input) { in.Components = nil })},
		"all factors are continuous":                     {"purity", continuous},
		"all 2 rows are discarded":                       {"purity", with(func(in *Input) { in.Components = []int{-1, -1} })},
		"the hierarchy of the factors has 1 dimensions (0 categorical, then 1 continuous), but there are 2 factor columns": {
			"purity", with(func(in *Input) { in.TrueHierarchy = hierarchy.Hierarchy{c} })},
		"components: row 1 has -2; want 0 or more, or -1 (discarded)": {"coverage", with(func(in *Input) { in.Components = []int{0, -2} })},
		"there are components of 3 rows; want one for each of the 2 codes": {
			"coverage", with(func(in *Input) { in.Components = make([]int, 3) })},
		"the hierarchy of the codes is not known": {"h-error", with(func(in *Input) { in.TrueHierarchy = none })},
		"the true hierarchy is not known":         {"h-error", with(func(in *Input) { in.Hierarchy = none })},
	} {
		want, _, _ := strings.Cut(want, ", too")
		must.ErrorOf(named(test.name).Compute(ctx, test.in))(t, want, test.name)
	}
	for name, suits := range map[string]bool{"r4": true, "r4c": false, "h-error": false, "purity": true, "coverage": true} {
		if err := Suits(in, []Choice{choice(name)}); (err == nil) != suits {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestHError(t *testing.T) {
	in := labelled(nil)
	in.Codes, in.Levels = matrix.Matrix{Rows: 1, Cols: 1, Data: []float64{0}}, []int{0, 0}
	in.Hierarchy = hierarchy.Hierarchy{c, options(none, hierarchy.Hierarchy{c})}
	in.TrueHierarchy = hierarchy.Hierarchy{options(hierarchy.Hierarchy{c, c}, hierarchy.Hierarchy{c})}
	near(t, "merged up", value(t, "h-error", in), 0, 0)
	in.TrueHierarchy = none
	near(t, "no dimensions", value(t, "h-error", in), 3, 0) // a label and two nodes
}
