package metrics_test

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// options is a categorical dimension.
func options(groups ...hierarchy.Hierarchy) hierarchy.Node { return hierarchy.Node{Options: groups} }

var (
	c    hierarchy.Node // a continuous dimension
	none = hierarchy.Hierarchy{}
)

// exactRows returns an input of n rows with factors v and codes z.
func exactRows(t testing.TB, n, k, d int, row func(s *rng.Stream, v, z []float64)) *Input {
	t.Helper()
	stream := rng.New(4, "rows")
	factors, codes := &npy.Array[float64]{Shape: []int{n, k}}, &npy.Array[float64]{Shape: []int{n, d}}
	for range n {
		v, z := make([]float64, k), make([]float64, d)
		row(stream, v, z)
		factors.Data, codes.Data = append(factors.Data, v...), append(codes.Data, z...)
	}
	return exactInput(t, codes, factors)
}

func TestR4Oracles(t *testing.T) {
	long.NotShort(t)
	uniform := func(s *rng.Stream, v []float64) {
		for j := range v {
			v[j] = s.Float64()
		}
	}
	for _, test := range []struct {
		name      string
		k, d      int
		row       func(s *rng.Stream, v, z []float64)
		want, tol float64
	}{
		{"identity", 3, 3, func(s *rng.Stream, v, z []float64) { uniform(s, v); copy(z, v) }, 1, 1e-3},
		{"permuted, duplicated and bent", 2, 4, func(s *rng.Stream, v, z []float64) {
			uniform(s, v)
			z[3], z[0], z[2], z[1] = v[0], math.Exp(3*v[1]), -v[0], 5
		}, 1, 5e-3},
		{"random", 2, 3, func(s *rng.Stream, v, z []float64) { uniform(s, v); uniform(s, z) }, 0, 0.03},
		{"constant codes", 2, 2, func(s *rng.Stream, v, z []float64) { uniform(s, v); z[0] = 3 }, 0, 0},
		{"constant factor and code", 1, 1, func(_ *rng.Stream, v, z []float64) { v[0], z[0] = 3, 4 }, 1, 0},
		{"one of two factors", 2, 1, func(s *rng.Stream, v, z []float64) { uniform(s, v); z[0] = v[1] }, 0.5, 0.02},
		{"not injective", 1, 1, func(s *rng.Stream, v, z []float64) { uniform(s, v); z[0] = math.Abs(v[0] - 0.5) }, 0, 0.03},
		{"classes", 1, 1, func(s *rng.Stream, v, z []float64) {
			v[0] = float64(s.IntN(10))
			z[0] = 7*v[0] - 9*float64(int(v[0])%2)
		}, 1, 0},
		// on eleven permuted whole numbers, trees estimate the value with difficulty
		{"eleven numbers", 1, 1, func(s *rng.Stream, v, z []float64) { v[0] = float64(s.IntN(11)); z[0] = float64(int(v[0]) * 7 % 11) }, 1, 1e-3},
		{"half the classes", 1, 1, func(s *rng.Stream, v, z []float64) { // accuracies 1/2 and 1
			v[0] = float64(s.IntN(4))
			z[0] = math.Floor(v[0] / 2)
		}, math.Sqrt(0.5), 0.05},
	} {
		in := exactRows(t, 1000, test.k, test.d, test.row)
		near(t, test.name, value(t, "r4", in), test.want, test.tol)
		in.Hierarchy = make(hierarchy.Hierarchy, test.d)
		if r := value(t, "r4c", in); !strings.Contains(test.name, "numbers") && !strings.Contains(test.name, "classes") { // 0 means inactive there
			near(t, test.name+", conditional", r, test.want, test.tol)
		}
	}
}

// Few rows: by definition the score is 0 without rows, and 1 for parts with a single value.
func TestR4FewRows(t *testing.T) {
	for n, want := range map[int]float64{1: 0, 2: 1, 3: 1, 4: 1} {
		in := exactRows(t, n, 1, 2, func(s *rng.Stream, v, z []float64) { v[0], z[0] = s.Float64(), s.Float64() })
		near(t, fmt.Sprint(n, " rows"), value(t, "r4", in), want, 0)
	}
	inactive := exactRows(t, 30, 1, 1, func(s *rng.Stream, v, z []float64) { z[0] = s.Float64() })
	inactive.Hierarchy = hierarchy.Hierarchy{c}
	r := compute(t, named("r4c"), inactive)
	near(t, "a factor that is never active", r.Value, 0, 0)
	must.EqualSlices(t, r.Notes, []string{"factor v0 is inactive in all rows and counts as 0; leave it out if it should not"}, "notes")
	nothing := exactRows(t, 30, 1, 1, func(s *rng.Stream, v, z []float64) { v[0] = s.Float64(); z[0] = 1 + float64(s.IntN(2)) })
	nothing.Hierarchy = hierarchy.Hierarchy{options(none, none)}
	if v := value(t, "r4c", nothing); !(v <= 0.2) {
		t.Errorf("empty options score %v", v)
	}
}

// A factor is modelled only in some options, by several columns.
func TestR4CWeights(t *testing.T) {
	h := hierarchy.Hierarchy{options(hierarchy.Hierarchy{c}, none, hierarchy.Hierarchy{options(hierarchy.Hierarchy{c}, none)}), c}
	if got := h.Names(); !reflect.DeepEqual(got, []string{"a0", "a1", "z0", "z1", "z2"}) {
		t.Fatalf("columns %v", got)
	}
	// half of the rows in option 1, a quarter in option 2, and four fifths of the last quarter in option 1
	weight, count := 0.0, 0
	in := exactRows(t, 2000, 2, 5, func(s *rng.Stream, v, z []float64) {
		v[0], v[1] = 1+s.Float64(), 1+s.Float64()
		i := count
		count++
		switch {
		case i%4 < 2:
			z[0], z[2] = 1, v[0]
			weight++
		case i%4 == 2:
			z[0] = 2
		case i%20 == 3:
			z[0], z[1] = 3, 2
		default:
			z[0], z[1], z[3] = 3, 1, -v[0]
			weight++
		}
		if i%10 == 9 { // inactive, and does not count
			v[0] = 1e-11
		}
		z[4] = v[1] * v[1]
	})
	in.Hierarchy = h
	r := compute(t, named("r4c"), in)
	active, right := 0.0, 0.0
	for i, v := range in.Exact[0] {
		if v > 1e-10 {
			active++
			if in.Codes.Row(i)[2] != 0 || in.Codes.Row(i)[3] != 0 {
				right++
			}
		}
	}
	near(t, "factor in options", r.Part("per_factor")[0], right/active, 5e-3)
	near(t, "factor outside of them", r.Part("per_factor")[1], 1, 5e-3)
	near(t, "mean", r.Value, (r.Part("per_factor")[0]+r.Part("per_factor")[1])/2, 1e-15)
	rows := r.Grids[3]
	if rows.Name != "rows" || !reflect.DeepEqual(rows.Rows, h.Names()) || rows.Values[0][0] != active || rows.Values[4][1] != 2000 ||
		rows.Values[2][1] != 1000 || rows.Values[1][1] != 500 || rows.Values[3][1] != 400 {
		t.Errorf("%+v", rows)
	}
	for g, name := range []string{"r2", "r2_from_factor", "r2_from_code"} {
		if r.Grids[g].Name != name || !(math.Abs(r.Grids[g].Values[4][1]-1) <= 5e-3) || !(r.Grids[g].Values[4][0] <= 0.1) {
			t.Errorf("%+v", r.Grids[g])
		}
	}
}

// The directions are not swapped.
func TestR4Ways(t *testing.T) {
	in := exactRows(t, 1000, 1, 2, func(s *rng.Stream, v, z []float64) {
		v[0] = s.Float64() - 0.5
		z[0], z[1] = s.Float64(), v[0]*v[0]
	})
	r := compute(t, named("r4"), in)
	if from := r.Grids[1].Values[1][0]; !(from >= 0.99) {
		t.Errorf("from factor to code: %v, want 1", from)
	}
	if from := r.Grids[2].Values[1][0]; !(from <= 0.05) {
		t.Errorf("from code to factor: %v, want 0", from)
	}
	must.Equal(t, len(r.Grids), 3, "grids")
	near(t, "both", r.Grids[0].Values[1][0], math.Sqrt(r.Grids[1].Values[1][0]*max(0, r.Grids[2].Values[1][0])), 1e-15)
}

func TestR4Threads(t *testing.T) {
	long.NotShort(t)
	in := hierarchicalRows(t, 120)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, name := range []string{"r4", "r4c"} {
		var want Result
		for _, threads := range []int{1, 2, 5} {
			runtime.GOMAXPROCS(threads)
			in.Stream = rng.New(1, name)
			r := compute(t, named(name), in)
			if threads == 1 {
				want = r
			} else if !reflect.DeepEqual(r, want) {
				t.Errorf("%s with %d threads is another", name, threads)
			}
		}
	}
}

// hierarchicalRows returns 8 factors and 8 codes, one of them categorical with two options.
func hierarchicalRows(t testing.TB, n int) *Input {
	in := exactRows(t, n, 8, 8, func(s *rng.Stream, v, z []float64) {
		for j := range v {
			v[j] = s.NormFloat64()
		}
		v[0] = 1 + float64(s.IntN(2))
		for j := range z {
			z[j] = v[j] + 0.3*v[(j+1)%8] + 0.1*s.NormFloat64()
		}
		z[0] = v[0]
		if z[0] == 1 {
			z[6], z[7] = 0, 0
		}
	})
	in.Hierarchy = hierarchy.Hierarchy{options(none, hierarchy.Hierarchy{c, c}), c, c, c, c, c}
	for i := range n { // the option's columns are the first continuous columns
		row := in.Codes.Row(i)
		row[1], row[2], row[6], row[7] = row[6], row[7], row[1], row[2]
	}
	return in
}

func TestR4Samples(t *testing.T) {
	long.NotShort(t)
	in := hierarchicalRows(t, 500)
	r := compute(t, &R4{Predictions: Predictions{Splits: 2, Samples: 200}}, in)
	all := compute(t, &R4{Predictions: Predictions{Splits: 2}}, in)
	if r.Basis.Rows != 200 || r.Basis.Train != 150 || r.Basis.Test != 50 || all.Basis.Train != 375 {
		t.Errorf("bases %+v, %+v", r.Basis, all.Basis)
	}
	near(t, "sampled", r.Value, all.Value, 0.1)
	if exact := compute(t, &R4{Predictions: Predictions{Splits: 2, Samples: 500}}, in); exact.Basis.Train != 375 {
		t.Errorf("of all rows: %+v", exact.Basis)
	}
	r = compute(t, &R4C{Predictions: Predictions{Splits: 2, Samples: 200}, Weights: "group"}, in)
	must.Equal(t, r.Grids[3].Values[3][1], 200, "rows")
}

func TestR4Mistakes(t *testing.T) {
	in := hierarchicalRows(t, 20)
	with := func(change func(in *Input)) *Input {
		other := *in
		other.Codes.Data = append([]float64(nil), in.Codes.Data...)
		change(&other)
		return &other
	}
	for want, test := range map[string]struct {
		m  Metric
		in *Input
	}{
		"the hierarchy of the codes is not known": {named("r4c"), with(func(in *Input) { in.Hierarchy = nil })},
		"the hierarchy of the codes has 2 dimensions (1 categorical, then 1 continuous), but there are 8 code columns; want one for each": {
			named("r4c"), with(func(in *Input) { in.Hierarchy = hierarchy.Hierarchy{c, options(none)} })},
		"row 3, column 0 is 3; want an option of its categorical dimension, 1 to 2, or 0 (inactive)": {
			named("r4c"), with(func(in *Input) { in.Codes.Row(3)[0] = 3 })},
		"row 2, column 0 is 0 (inactive), but its categorical dimension is active; want an option, 1 to 2": {
			named("r4c"), with(func(in *Input) { in.Codes.Row(2)[0] = 0 })},
		"row 2, column 0 is 1.5":                                  {named("r4c"), with(func(in *Input) { in.Codes.Row(2)[0] = 1.5 })},
		"row 2, column 0 is -1":                                   {named("r4c"), with(func(in *Input) { in.Codes.Row(2)[0] = -1 })},
		"codes: column 5: the value 1e+39 is too large for trees": {named("r4"), with(func(in *Input) { in.Codes.Row(2)[5] = 1e39 })},
		`factor "v1": the value -1e+40`: {named("r4"), with(func(in *Input) {
			in.Exact = append([][]float64(nil), in.Exact...)
			in.Exact[1] = append([]float64{-1e40}, in.Exact[1][1:]...)
		})},
		"the input's Stream is nil":      {named("r4"), with(func(in *Input) { in.Stream = nil })},
		"splits: 0 is out of range":      {&R4{}, in},
		"samples: -1 is negative":        {&R4C{Predictions: Predictions{Splits: 1, Samples: -1}, Weights: "group"}, in},
		"hierarchy of the codes: $[0]: ": {named("r4"), with(func(in *Input) { in.Hierarchy = hierarchy.Hierarchy{options()} })},
	} {
		if test.in.Hierarchy != nil && strings.HasPrefix(want, "hierarchy of") {
			test.in.Hierarchy[0].Options = []hierarchy.Hierarchy{}
		}
		must.ErrorOf(test.m.Compute(ctx, test.in))(t, want)
	}
}

func BenchmarkR4(b *testing.B) {
	in := hierarchicalRows(b, 10000)
	for _, name := range []string{"r4", "r4c"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				in.Stream = rng.New(1, name)
				compute(b, named(name), in)
			}
		})
	}
}

// A factor is active for only one kind of image, and a code follows it.
func ExampleR4C() {
	in := &Input{
		Factors: []factor.Factor{{Name: "kind", Size: 3}, {Name: "size", Size: 9}},
		Codes:   matrix.Matrix{Rows: 400, Cols: 2},
		// one categorical dimension, whose second option has a continuous dimension
		Hierarchy: hierarchy.Hierarchy{{Options: []hierarchy.Hierarchy{{}, {{}}}}},
		Stream:    rng.New(0, "example"),
	}
	for i := range 400 {
		kind, size := 1+i%2, 0 // 0 is inactive
		if kind == 2 {
			size = 1 + i/2%8
		}
		in.Levels = append(in.Levels, kind, size)
		in.Codes.Data = append(in.Codes.Data, float64(kind), -float64(size))
	}
	r, err := (&R4C{Predictions: Predictions{Splits: 5}, Weights: "group"}).Compute(ctx, in)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.3f, by factor %.3f\n", r.Value, r.Part("per_factor"))
	// Output: 1.000, by factor [1.000 1.000]
}

// A number that is always active has a separate column in each of four options: one at depth 1 with half of the rows,
// and three at depth 2 with a sixth each. All columns are bijections of the number, so the group value is 1. printed
// counts the half again in each sixth.
func TestR4CPrintedWeights(t *testing.T) {
	in := exactRows(t, 1200, 1, 6, func(s *rng.Stream, v, z []float64) {
		v[0] = 1 + s.Float64()
		first, second := s.IntN(2), s.IntN(3)
		if z[0] = float64(1 + first); first == 0 {
			z[2] = v[0]
			return
		}
		z[1], z[3+second] = float64(1+second), v[0]
	})
	column := hierarchy.Hierarchy{c}
	in.Hierarchy = hierarchy.Hierarchy{options(column, hierarchy.Hierarchy{options(column, column, column)})}
	half := 0.0
	for i := range in.Codes.Rows {
		if in.Codes.Row(i)[0] == 2 {
			half += 1 / float64(in.Codes.Rows)
		}
	}
	for weights, want := range map[OptionWeights]float64{"group": 1, "printed": 1 - half + half*half} {
		near(t, string(weights), compute(t, &R4C{Predictions: Predictions{Splits: 2}, Weights: weights}, in).Value, want, 0.01)
	}
	m := &R4C{Predictions: Predictions{Splits: 2}, Weights: "all"}
	must.Error(t, m.Validate(), `weights: unknown weights "all"`)
}

// The unit and the origin of a factor do not change r4, although trees see steps of 1e-7 or of single precision only.
func TestR4UnitsOfFactors(t *testing.T) {
	for _, levels := range []int{4, 12} { // predicted as classes, and as numbers
		var want float64
		for _, at := range []struct{ unit, offset float64 }{
			{1, 0}, {1e-8, 0}, {1e-8, 4e-7}, {1, 1.7e9}, {60, 1.7e9}, {1e30, 0},
		} {
			noise := rng.New(3, "noise")
			in := gridInput(ordinals(levels, 10), 2, func(l []int, z []float64) {
				z[0], z[1] = float64(l[0])+noise.NormFloat64()/5, float64(l[1])+noise.NormFloat64()/5
			})
			for j := range in.Factors {
				f := &in.Factors[j]
				for l := range f.Size {
					f.Values = append(f.Values, at.offset+at.unit*float64(l))
				}
			}
			got := evaluated(t, in, []Choice{choice("r4")})
			want = cmp.Or(want, got.Value)
			if !(math.Abs(got.Value-want) <= 0.03) || !(got.Value >= 0.8) { // other units may be predicted as numbers, not as classes
				t.Errorf("%d levels times %g plus %g: %v, want about %v", levels, at.unit, at.offset, got.Value, want)
			}
		}
	}
}

// All metrics name a column of hierarchical codes alike: z0 is the first continuous column, after the options.
func TestNamesOfHierarchicalColumns(t *testing.T) {
	in := exactRows(t, 200, 2, 3, func(s *rng.Stream, v, z []float64) {
		v[0], v[1] = s.Float64(), s.Float64()
		z[0], z[1], z[2] = 1+math.Floor(2*v[0]), v[0], v[1]
	})
	in.Hierarchy = hierarchy.Hierarchy{c, options(none, none), c}
	for _, name := range []string{"r4c", "r4", "med", "dci-regression"} {
		results := must.Get(Evaluate(ctx, in, 1, []Choice{choice(name)}))(t)
		for _, g := range results[0].Grids {
			must.EqualSlices(t, g.Rows, []string{"a0", "z0", "z1"}, name, g.Name, "rows")
		}
	}
}
