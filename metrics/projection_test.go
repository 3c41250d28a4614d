package metrics_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// projected returns the input of testdata/projection. Eight columns mix an ordinal, a circular, a categorical and
// another ordinal factor. The last factor is unknown in 90 of 400 rows.
func projected(t *testing.T) *Input {
	t.Helper()
	dir := "testdata/projection"
	codes, levels := golden[float64](t, dir, "codes.npy"), golden[int](t, dir, "factors.npy")
	in := &Input{Codes: matrix.Matrix{Rows: codes.Shape[0], Cols: codes.Shape[1], Data: codes.Data}, Levels: levels.Data,
		Factors: ordinals(5, 6, 3, 4)}
	in.Factors[1].Kind, in.Factors[2].Kind = factor.Circular, factor.Categorical
	return in
}

func TestProjectionGolden(t *testing.T) {
	var want map[Projection]struct {
		Explained, Columns []float64
		PerFactor          map[string][]float64 `json:"per_factor"`
	}
	text, err := os.ReadFile(filepath.Join("testdata/projection/expected.json"))
	if err == nil {
		err = json.Unmarshal(text, &want)
	}
	if err != nil || len(want) != 3 {
		t.Fatalf("%d projections, %v; want 3", len(want), err)
	}
	for p, w := range want {
		for _, m := range allMeasures {
			s := NewSubCodeDeviation(m)
			s.Project = p
			s.SetCodes(factor.SubCodes{"f0": {1}}, AssignBest) // ignored
			r := compute(t, s, projected(t))
			sum := 0.0
			for j, v := range w.PerFactor[m.String()] {
				near(t, string(p)+" "+m.String(), r.Part("per_factor")[j], v, 1e-9)
				sum += v
			}
			near(t, string(p)+" "+m.String(), r.Value, sum, 1e-9)
			must.EqualSlices(t, r.Part("columns"), w.Columns, p, "columns")
			for j, v := range w.Explained {
				near(t, "explained", r.Part("explained")[j], v, 1e-12)
			}
		}
	}
}

// The linear projection equals the fit of the metric mse, and is invariant under invertible affine maps of the codes.
func TestLinearProjection(t *testing.T) {
	in := gridInput(ordinals(4, 3, 5), 4, func(l []int, z []float64) {
		a, b, c := float64(l[0]), float64(l[1]), float64(l[2])
		z[0], z[1], z[2], z[3] = a+2*b-c, 3*a-b, c-a*b/3, 1+b*c/5
	})
	s := NewSubCodeDeviation(factor.MPD)
	s.Project = "linear"
	first := compute(t, s, in)
	inverse := compute(t, &LeftInverse{Units: "as-given"}, in)
	for j, f := range in.Factors {
		var variance float64
		for l := range f.Size {
			d := f.Scaled(l) - 0.5
			variance += d * d / float64(f.Size)
		}
		near(t, f.Name, first.Part("explained")[j], 1-inverse.Part("per_factor")[j]/variance, 1e-12)
	}
	for i := range in.Codes.Rows {
		z := in.Codes.Row(i)
		z[0], z[1], z[2], z[3] = 7*z[1]-z[3]+2, z[0]+z[2], 100*z[2], z[3]-z[0]-5
	}
	near(t, "of mixed codes", compute(t, s, in).Value, first.Value, 1e-11)
	for i := range in.Codes.Data {
		in.Codes.Data[i] = 3
	}
	if r := compute(t, s, in); r.Value != 0 || !(slices.Max(r.Part("explained")) <= 1e-12) {
		t.Errorf("constant codes: %v, explained %v; want 0", r.Value, r.Part("explained"))
	}
}

// Projection recovers a product function from permuted columns and permuted pairs of columns.
func TestProjectionFindsColumns(t *testing.T) {
	in := gridInput(ordinals(4, 3, 5), 6, func(l []int, z []float64) {
		a, b, c := float64(l[0]), float64(l[1]), float64(l[2])
		z[0], z[1], z[2], z[3], z[4], z[5] = c, -c*c, a, math.Exp(a), 2, b
	})
	for _, p := range []Projection{"best", "blocks"} {
		s := NewSubCodeDeviation(factor.Variance)
		s.Project = p
		if r := compute(t, s, in); !(r.Value <= 1e-12) || len(r.Notes) != 1 {
			t.Errorf("%s: %v, notes %v; want 0 and a note", p, r.Value, r.Notes)
		}
	}
}

func TestProjectionMistakes(t *testing.T) {
	in := gridInput(ordinals(4, 3), 3, func(l []int, z []float64) { z[0], z[1] = float64(l[0]), float64(l[1]) })
	for _, test := range []struct {
		s    SubCodeDeviation
		want string
	}{
		{SubCodeDeviation{Project: "linar"}, `unknown projection "linar"; want linear, best or blocks, or nothing`},
		{SubCodeDeviation{Project: "best", Assign: AssignBest}, "want no codes and no assign"},
		{SubCodeDeviation{Project: "linear", Codes: factor.SubCodes{"f0": {0}}}, "want no codes and no assign"},
		{SubCodeDeviation{Project: "blocks"}, "3 code columns cannot be divided evenly among 2 factors; want a multiple of them, or project: linear or best"},
	} {
		must.ErrorOf(test.s.Compute(t.Context(), in))(t, test.want, test.s)
	}
	in.Codes = matrix.Matrix{Rows: in.Codes.Rows, Cols: 1, Data: in.Codes.Data[:in.Codes.Rows]}
	s := SubCodeDeviation{Project: "best"}
	must.Error(t, s.Suits(in), "at least one for each of the 2 factors")
	s.Project = "linear"
	if err := s.Suits(in); err != nil {
		t.Errorf("one column, linear: %v", err)
	}
}
