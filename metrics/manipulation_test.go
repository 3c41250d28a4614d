package metrics

import (
	"math"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics/internal/deviation"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

func manipulation(t *testing.T, in *Input, stream string) Grid {
	t.Helper()
	return must.Get(Manipulation(t.Context(), in, rng.New(1, stream)))(t)
}

// gridInput returns a full grid of two factors, 3 x 4, with codes.
func gridInput(code func(a, b float64) []float64) *Input {
	in := &Input{Factors: []factor.Factor{{Name: "a", Size: 3}, {Name: "b", Size: 4}}}
	for a := range 3 {
		for b := range 4 {
			in.Levels = append(in.Levels, a, b)
			in.Codes.Data = append(in.Codes.Data, code(float64(a), float64(b))...)
			in.Codes.Rows++
		}
	}
	in.Codes.Cols = len(in.Codes.Data) / in.Codes.Rows
	return in
}

func TestManipulation(t *testing.T) {
	in := gridInput(func(a, b float64) []float64 { return []float64{a, b, 10*a + b, 1e9 + a*b, 5} })
	g := manipulation(t, in, "manipulation")
	// var(0..2) = 1, var(0..3) = 5/3. Over b, a*b varies by the mean of a^2 5/3 over a = 0, 1, 2. Over a, it varies by
	// the mean of b^2 over b = 0..3.
	want := [][]float64{{1, 0}, {0, 5.0 / 3}, {100, 5.0 / 3}, {3.5, 25.0 / 9}, {0, 0}}
	for c, row := range want {
		for j, v := range row {
			if !(math.Abs(g.Values[c][j]-v) <= 1e-6*max(1, v)) {
				t.Errorf("column %d, factor %d: %v, want %v", c, j, g.Values[c][j], v)
			}
		}
	}
	if g.Name != "manipulation" || !slices.Equal(g.Rows, []string{"z0", "z1", "z2", "z3", "z4"}) ||
		!slices.Equal(g.Columns, []string{"a", "b"}) {
		t.Errorf("%+v", g)
	}

	// Groups of different sizes: 0 and 2 at b = 0, and 0, 3 and 6 at b = 1. The order of the rows does not matter.
	in = &Input{Factors: in.Factors, Levels: []int{2, 1, 0, 0, 1, 1, 0, 1, 1, 0, 2, 2},
		Codes: matrix.Matrix{Rows: 6, Cols: 1, Data: []float64{6, 0, 3, 0, 2, 100}}}
	g = manipulation(t, in, "manipulation")
	if want := (2.0 + 18) / 3; !(math.Abs(g.Values[0][0]-want) <= 1e-12) {
		t.Errorf("%v, want %v", g.Values[0][0], want)
	}
	// One pair of images suffices.
	in = &Input{Factors: in.Factors, Levels: []int{0, 0, 1, 0}, Codes: matrix.Matrix{Rows: 2, Cols: 1, Data: []float64{1, 3}}}
	if g = manipulation(t, in, "manipulation"); g.Values[0][0] != 2 || !math.IsNaN(g.Values[0][1]) {
		t.Errorf("%v, want 2 and NaN", g.Values)
	}
	// Rows with equal levels have no variance to measure.
	in = &Input{Factors: in.Factors, Levels: []int{0, 0, 0, 0, 1, 1}, Codes: matrix.Matrix{Rows: 3, Cols: 1, Data: []float64{1, 2, 3}}}
	if g = manipulation(t, in, "manipulation"); !math.IsNaN(g.Values[0][0]) || !math.IsNaN(g.Values[0][1]) {
		t.Errorf("%v, want NaN", g.Values)
	}
}

// For many images, a sample of whole groups suffices.
func TestManipulationOfMany(t *testing.T) {
	in := &Input{Factors: []factor.Factor{{Name: "a", Size: 30}, {Name: "b", Size: 3000}}}
	s := rng.New(2, "codes")
	for i := range 90000 {
		in.Levels = append(in.Levels, i%30, i/30)
		in.Codes.Data = append(in.Codes.Data, float64(i%30)+float64(i/30), s.NormFloat64())
	}
	in.Codes.Rows, in.Codes.Cols = 90000, 2
	groups, freedom := deviation.Draw(in.table().Alone(0), manipulatedRows, rng.New(1, "x"))
	if len(groups) != 667 || freedom != 667*29 || len(groups[0]) != 30 {
		t.Errorf("%d groups, %d degrees of freedom", len(groups), freedom)
	}
	g := manipulation(t, in, "x")
	if want := 31.0 * 30 / 12; !(math.Abs(g.Values[0][0]-want) <= 1e-9*want) || !(math.Abs(g.Values[1][0]-1) <= 0.05) ||
		!(math.Abs(g.Values[1][1]-1) <= 0.05) {
		t.Errorf("%v, want %v and 1", g.Values, want)
	}
}

// Select agrees with the metric in all columns, including omitted ones.
func TestMEDSelect(t *testing.T) {
	s := rng.New(3, "select")
	in := gridInput(func(a, b float64) []float64 {
		return []float64{s.NormFloat64(), a, b, a + 0.3*b, 2 * b, 0.1*a + b, -a}
	})
	entry, _ := Registry.Lookup("med")
	m := entry.New().(*MED)
	g, selected, err := m.Select(t.Context(), in)
	must.OK(t, err)
	full := must.Get(m.Compute(t.Context(), in))(t)
	for c, row := range full.Grids[0].Values {
		if !slices.Equal(row, g.Values[c]) || g.Rows[c] != full.Grids[0].Rows[c] {
			t.Errorf("column %d: %v, want %v", c, g.Values[c], row)
		}
	}
	must.EqualSlices(t, selected, []int{1, 2, 4, 6}, "selected")
	m.TopK = 1
	if _, selected, err = m.Select(t.Context(), in); err != nil || len(selected) != 2 {
		t.Errorf("selected %v, %v", selected, err)
	}
	best, err := m.Compute(t.Context(), in)
	if err != nil || len(best.Part("selected")) != 2 || int(best.Part("selected")[0]) != selected[0] ||
		int(best.Part("selected")[1]) != selected[1] {
		t.Errorf("the metric selects %v, %v", best.Part("selected"), err)
	}
	in.Factors = in.Factors[:1]
	if _, _, err = m.Select(t.Context(), in); err == nil {
		t.Error("levels of other factors are taken")
	}
}
