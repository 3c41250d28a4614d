package metrics_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

func ExampleInput_SetFactors() {
	in := &metrics.Input{Codes: matrix.Matrix{Rows: 4, Cols: 1, Data: []float64{1, 2, 3, 4}}}
	err := in.SetFactors([]metrics.Column{
		{Name: "shape", Values: []float64{7, 3, 3, 7}, Type: metrics.ColumnType{Kind: factor.Categorical}},
		{Name: "angle", Values: []float64{0, 90, 180, 270.5}, Type: metrics.ColumnType{Kind: factor.Circular, Period: 360}},
	}, 0)
	fmt.Println(in.Levels, in.Factors[0].Values, in.Factors[1].Size, err)
	// Output: [1 0 0 1 0 2 1 3] [3 7] 4 <nil>
}

func TestParseColumnType(t *testing.T) {
	for text, want := range map[string]metrics.ColumnType{
		"ordinal": {Kind: factor.Ordinal}, "circular": {Kind: factor.Circular}, "angular": {Kind: factor.Circular}, "categorical": {Kind: factor.Categorical},
		"discrete": {Kind: factor.Categorical}, "continuous": {Kind: factor.Ordinal, Continuous: true}, "circular:2.5": {Kind: factor.Circular, Period: 2.5},
	} {
		must.Equal(t, must.Get(metrics.ParseColumnType(text))(t), want, text)
	}
	for text, want := range map[string]string{
		"round": `unknown kind "round"`, "ordinal:3": `"ordinal" has the period "3"`, "circular:0": "positive number", "circular:inf": "positive number", "circular:x": "positive number",
	} {
		must.ErrorOf(metrics.ParseColumnType(text))(t, want, text)
	}
}

// Inferred types, integers beyond float64, angles of both signs, and bins.
func TestSetFactors(t *testing.T) {
	set := func(c metrics.Column, bins int) *metrics.Input {
		t.Helper()
		in := &metrics.Input{Codes: matrix.Matrix{Rows: len(c.Values)}}
		if err := in.SetFactors([]metrics.Column{c}, bins); err != nil || in.Factors[0].Name != c.Name {
			t.Fatalf("factor %q, error %v; want %q", in.Factors[0].Name, err, c.Name)
		}
		return in
	}
	found, three := metrics.ColumnType{Found: true}, 3.0
	for name, c := range map[string]struct {
		column metrics.Column
		bins   int
		want   string
	}{
		"whole numbers":            {metrics.Column{Values: []float64{5, -1, 5, 9}, Type: found}, 2, "ordinal [-1 5 9] [1 0 1 2] exact false"},
		"few numbers":              {metrics.Column{Values: []float64{0.5, 0.25, 0.5}, Type: found}, 2, "ordinal [0.25 0.5] [1 0 1] exact false"},
		"rounded numbers":          {metrics.Column{Values: []float64{0.3, 0.1 * three, 0.1}, Type: found}, 2, "ordinal [0.1 0.3] [1 1 0] exact false"},
		"many numbers":             {metrics.Column{Values: []float64{0, 0.25, 1}, Type: found}, 2, "ordinal [0.25 0.75] [0 0 1] exact true"},
		"nothing known":            {metrics.Column{Values: []float64{math.NaN()}, Type: found}, 2, "ordinal [] [-1] exact false"},
		"continuous":               {metrics.Column{Values: []float64{0, 1, 4}, Type: metrics.ColumnType{Continuous: true}}, 4, "ordinal [0.5 1.5 3.5] [0 1 2] exact true"},
		"large whole numbers":      {metrics.Column{Values: []float64{1 << 60, 1 << 60}, Ints: []int64{1<<60 + 1, 1 << 60}, Type: found}, 2, "ordinal [0 1] [1 0] exact false"},
		"large continuous":         {metrics.Column{Values: []float64{1 << 60, math.NaN(), 1 << 60}, Ints: []int64{1<<60 + 4, 0, 1 << 60}, Type: metrics.ColumnType{Continuous: true}}, 2, "ordinal [1 3] [1 -1 0] exact true"},
		"far apart":                {metrics.Column{Values: []float64{0, 1 << 60}, Ints: []int64{0, 1 << 60}, Type: found}, 2, "ordinal [0 1.152921504606847e+18] [0 1] exact false"},
		"two angles, not four":     {metrics.Column{Values: []float64{0, 4.5, -1.5, 3}, Type: metrics.ColumnType{Kind: factor.Circular, Period: 4.5}}, 2, "circular [0 1.5 3] [0 0 2 2] exact false"},
		"few steps of a turn":      {metrics.Column{Values: []float64{0, 15, 35}, Type: metrics.ColumnType{Kind: factor.Circular, Period: 40}}, 2, "circular [0 5 10 15 20 25 30 35] [0 3 7] exact false"},
		"levels of a whole circle": {metrics.Column{Values: []float64{-1, 5, 2}, Type: metrics.ColumnType{Kind: factor.Circular, Period: 4}}, 2, "circular [0 1 2 3] [3 1 2] exact false"},
	} {
		c.column.Name = "f"
		in := set(c.column, c.bins)
		f := in.Factors[0]
		got := fmt.Sprintf("%v %v %v exact %v", f.Kind, f.Values, in.Levels, in.Exact != nil)
		if got != c.want || f.Size != max(1, len(f.Values)) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	f := set(metrics.Column{Name: "angle", Values: []float64{0.5, -0.234, 3.5},
		Type: metrics.ColumnType{Kind: factor.Circular, Period: 2}}, 0).Factors[0]
	for l, want := range []float64{math.Pi / 2, 3 * math.Pi / 2, 1.766 * math.Pi} {
		if !(math.Abs(f.Angles[l]-want) <= 1e-12) {
			t.Errorf("level %d has the angle %v, want %v", l, f.Angles[l], want)
		}
	}
	for want, columns := range map[string][]metrics.Column{
		`the name "a" of column 1 is empty or repeated`: {{Name: "a", Values: []float64{1}}, {Name: "a", Values: []float64{1}}},
		`the name "" of column 0 is empty`:              {{Values: []float64{1}}},
		"factor a has 2 values; want 1":                 {{Name: "a", Values: []float64{1, 2}}},
	} {
		in := &metrics.Input{Codes: matrix.Matrix{Rows: 1}}
		must.Error(t, in.SetFactors(columns, 0), want)
	}
	for want, c := range map[string]metrics.Column{
		"factor a has 1 value and 2 integers":            {Values: []float64{1}, Ints: []int64{1, 2}},
		"factor a: value 0 is -Inf; want finite numbers": {Values: []float64{math.Inf(-1)}},
		"factor a: the period is -4; want a positive num": {Values: []float64{1},
			Type: metrics.ColumnType{Kind: factor.Circular, Period: -4}},
	} {
		c.Name = "a"
		in := &metrics.Input{Codes: matrix.Matrix{Rows: 1}}
		must.Error(t, in.SetFactors([]metrics.Column{c}, 0), want)
	}
	one := &metrics.Input{Codes: matrix.Matrix{Rows: 1}}
	must.Error(t, one.SetFactors([]metrics.Column{{Name: "a", Values: []float64{1}}}, -1), "factor a: bins: -1 is out of range")
	in := &metrics.Input{Codes: matrix.Matrix{Rows: 3}}
	err := in.SetFactors([]metrics.Column{{Name: "a", Values: []float64{0, 1, 5}, Type: metrics.ColumnType{Kind: factor.Circular}}}, 0)
	must.Error(t, err, "factor a: the circular values 0, 1, 5 are not evenly spaced; want their period")
}

// Random codes have no information about angles, although no two rows share one, because levels are arcs. Metrics of
// angles use exact angles.
func TestArcs(t *testing.T) {
	const n = 500
	s := rng.New(3, "arcs")
	in := &metrics.Input{Codes: matrix.Matrix{Rows: n, Cols: 2, Data: make([]float64, 2*n)}}
	angles := make([]float64, n)
	for i := range angles {
		angles[i] = 360 * s.Float64()
		in.Codes.Data[2*i], in.Codes.Data[2*i+1] = s.NormFloat64(), s.NormFloat64()
	}
	must.OK(t, in.SetFactors([]metrics.Column{{Name: "angle", Values: angles,
		Type: metrics.ColumnType{Kind: factor.Circular, Period: 360}}}, 20))
	if f := in.Factors[0]; f.Size != n || len(f.Angles) != n {
		t.Errorf("%d levels, %d angles; want %d", f.Size, len(f.Angles), n)
	}
	choices := []metrics.Choice{choice("variance"), choice("explicitness"), choice("dlsbd")}
	results, err := metrics.Evaluate(context.Background(), in, 1, choices)
	must.OK(t, err)
	if v := results[0].Value; !(v > 1.8 && v < 2.1) || !slices.ContainsFunc(results[0].Notes,
		func(n string) bool { return strings.Contains(n, "500 angles in 500 rows are levels as 20 equal arcs") }) {
		t.Errorf("variance %v, notes %q", v, results[0].Notes)
	}
	if v := results[1].Value; !(v < 0.7) {
		t.Errorf("explicitness %v of random codes", v)
	}
	for i, a := range angles { // perfect codes
		in.Codes.Data[2*i+1], in.Codes.Data[2*i] = math.Sincos(a * math.Pi / 180)
	}
	if results, err = metrics.Evaluate(context.Background(), in, 1, choices[2:]); err != nil ||
		!(results[0].Value < 1e-12) || len(results[0].Notes) > 0 {
		t.Errorf("D_LSBD of the exact angles: %+v, %v", results, err)
	}
}

// Rotations that differ by the rounding of float32 share a level.
func TestRoundedRotations(t *testing.T) {
	const rotations, copies = 100, 20
	r := rng.New(1, "rounded rotations")
	m := matrix.Matrix{Rows: rotations * copies, Cols: 4, Data: make([]float64, 4*rotations*copies)}
	for i := range m.Data {
		if m.Data[i] = r.NormFloat64(); i >= 4*rotations {
			m.Data[i] = m.Data[i%(4*rotations)] * (1 + 2e-7*(r.Float64()-0.5))
		}
	}
	in := &metrics.Input{Codes: matrix.Matrix{Rows: m.Rows}}
	if err := in.AddRotations(m); err != nil || in.Factors[0].Size != rotations {
		t.Fatalf("%d levels of %d rotations, error %v", in.Factors[0].Size, rotations, err)
	}
	for i, level := range in.Levels {
		if level != i%rotations {
			t.Fatalf("row %d has level %d", i, level)
		}
	}
}

// Rotations are matrices or quaternions of any length. Equal rotations share a level. The factor gets an unused name.
func TestAddRotations(t *testing.T) {
	in := &metrics.Input{Codes: matrix.Matrix{Rows: 3}, Levels: []int{0, 1, 0}, Factors: []factor.Factor{{Name: "rotation", Size: 2}}}
	must.OK(t, in.AddRotations(matrix.Matrix{Rows: 3, Cols: 4, Data: []float64{2, 0, 0, 0, 1, 0, 0, 1, -1, 0, 0, 0}}))
	f := in.Factors[1]
	want := [][9]float64{{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, -1, 0, 1, 0, 0, 0, 0, 1}}
	if f.Name != "rotation-2" || fmt.Sprint(in.Levels) != "[0 0 1 1 0 0]" || fmt.Sprint(f.Rotations) != fmt.Sprint(want) {
		t.Errorf("%+v, levels %v", f, in.Levels)
	}
	for text, m := range map[string]matrix.Matrix{
		"rotations have shape [3 5]; want [3 3 3]":         {Rows: 3, Cols: 5, Data: make([]float64, 15)},
		"row 0: the quaternion [0 0 0 0] has no direction": {Rows: 3, Cols: 4, Data: make([]float64, 12)},
		"row 0: the matrix [0 0 0 0 0 0 0 0 0] is no":      {Rows: 3, Cols: 9, Data: make([]float64, 27)},
	} {
		must.Error(t, in.AddRotations(m), text)
	}
}
