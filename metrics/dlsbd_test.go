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
	"github.com/unravel-ml/unravel/internal/numeric"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// grid returns the levels of a full grid of circular factors.
func grid(sizes ...int) ([]factor.Factor, []int) {
	var g factor.Grid
	for i, n := range sizes {
		g = append(g, factor.Factor{Name: string(rune('a' + i)), Size: n, Kind: factor.Circular})
	}
	levels := make([]int, g.Len()*len(g))
	for i := range g.Len() {
		g.At(i, levels[i*len(g):(i+1)*len(g)])
	}
	return g, levels
}

// input encodes every combination of levels by encode(angles).
func input(encode func(angle []float64) []float64, sizes ...int) *Input {
	factors, levels := grid(sizes...)
	in := &Input{Levels: levels, Factors: factors}
	k := len(sizes)
	for i := 0; i < len(levels); i += k {
		angle := make([]float64, k)
		for j := range angle {
			angle[j] = factors[j].Angle(levels[i+j])
		}
		z := encode(angle)
		in.Codes.Rows, in.Codes.Cols = in.Codes.Rows+1, len(z)
		in.Codes.Data = append(in.Codes.Data, z...)
	}
	return in
}

func perfect(angle []float64) (z []float64) {
	for _, a := range angle {
		z = append(z, math.Cos(a), math.Sin(a))
	}
	return z
}

func noisy(sigma float64, encode func([]float64) []float64) func([]float64) []float64 {
	s := rng.New(1, "test")
	return func(angle []float64) []float64 {
		z := encode(angle)
		for j := range z {
			z[j] += sigma * s.NormFloat64()
		}
		return z
	}
}

func dlsbd() *DLSBD { return &DLSBD{Omega: 10, Aggregate: factor.Mean} }

// refuses checks the errors of changed settings, by a part of their text.
func refuses[M Metric](t *testing.T, in *Input, base func() M, changes map[string]func(M)) {
	t.Helper()
	for want, change := range changes {
		m := base()
		change(m)
		must.ErrorOf(m.Compute(ctx, in))(t, want, m)
	}
}

func compute(t testing.TB, m Metric, in *Input) Result {
	t.Helper()
	return must.Get(m.Compute(ctx, in))(t)
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: got %v, want %v within %v", what, got, want, tolerance)
	}
}

func TestPerfectCodes(t *testing.T) {
	for _, sizes := range [][]int{{16}, {5, 7}, {64, 64}, {4, 5, 6}, {3, 4, 3, 4}, {2, 3}} {
		r := compute(t, dlsbd(), input(perfect, sizes...))
		n := factor.Grid(input(perfect, sizes...).Factors).Len()
		for k, v := range r.Part("per_subgroup") {
			want := 0.0
			near(t, fmt.Sprint(sizes, " subgroup ", k), v, want, 1e-20*float64(n))
			near(t, "omega", r.Part("omega")[k], 1, 0)
		}
	}
}

// The value is invariant under invertible affine maps, however ill-conditioned.
func TestLinearInvariance(t *testing.T) {
	s := rng.New(5, "maps")
	for _, sigma := range []float64{0, 0.3} {
		in := input(noisy(sigma, perfect), 12, 9)
		want := compute(t, dlsbd(), in)
		for trial := range 20 {
			d := in.Codes.Cols
			a := make([]float64, d*d)
			for i := range a {
				a[i] = s.NormFloat64()
				if trial%2 == 1 {
					a[i] *= math.Pow(10, -float64(i%d)) // columns 1 to 1/1000
				}
			}
			mapped := *in
			mapped.Codes = matrix.Matrix{Rows: in.Codes.Rows, Cols: d, Data: make([]float64, len(in.Codes.Data))}
			for i := range in.Codes.Rows {
				for c := range d {
					v := 3.0
					for j, x := range in.Codes.Row(i) {
						v += x * a[j*d+c]
					}
					mapped.Codes.Row(i)[c] = v
				}
			}
			if sigma == 0 {
				near(t, "perfect codes under a linear map", compute(t, dlsbd(), &mapped).Value, 0, 1e-12)
				continue
			}
			// with noise, the principal plane depends on the map, but not on rotations
			rotated := *in
			rotated.Codes = matrix.Matrix{Rows: in.Codes.Rows, Cols: d, Data: slices.Clone(in.Codes.Data)}
			for i := range in.Codes.Rows {
				row := rotated.Codes.Row(i)
				sin, cos := math.Sincos(float64(trial))
				row[0], row[3] = 7*(cos*row[0]-sin*row[3]), 7*(sin*row[0]+cos*row[3])
				row[1], row[2] = 7*row[1], -7*row[2]
			}
			near(t, "noisy codes under a similarity", compute(t, dlsbd(), &rotated).Value, want.Value, 1e-12)
		}
	}
}

func TestTurnsAndRange(t *testing.T) {
	triple := func(a []float64) []float64 { return perfect([]float64{3 * a[0], -2 * a[1]}) }
	in := input(triple, 16, 24)
	r := compute(t, dlsbd(), in)
	near(t, "value", r.Value, 0, 1e-20)
	must.EqualSlices(t, r.Part("omega"), []float64{3, 2}, "omega")
	r = compute(t, &DLSBD{Omega: 2, Aggregate: factor.Mean}, in)
	near(t, "three turns out of range", r.Part("per_subgroup")[0], float64(16*24-1)/(16*24), 1e-12)
}

func TestDegenerateCodes(t *testing.T) {
	constant := func([]float64) []float64 { return []float64{1e5, -3, 0.1} }
	one := func(a []float64) []float64 { return append(perfect(a[:1]), 0.7) }
	line := func(a []float64) []float64 { return []float64{math.Cos(a[0]), math.Cos(a[1]), math.Sin(a[1])} }
	tests := []struct {
		name   string
		encode func([]float64) []float64
		want   []float64
		note   string
	}{
		{"constant", constant, []float64{1, 1}, "codes do not depend on a"},
		{"zero", func([]float64) []float64 { return []float64{0} }, []float64{1, 1}, "codes do not depend on b"},
		{"one factor", one, []float64{0, 1}, "codes do not depend on b"},
		{"one dimension", line, []float64{0.75 * 79 / 80, 0}, "codes depend on a only along a line"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := compute(t, dlsbd(), input(test.encode, 8, 10))
			for k, v := range r.Part("per_subgroup") {
				near(t, fmt.Sprint("subgroup ", k), v, test.want[k], 1e-12)
			}
			if !slices.Contains(r.Notes, test.note) {
				t.Errorf("notes %q do not hold %q", r.Notes, test.note)
			}
		})
	}
	for _, c := range tests[:2] { // constant codes of a sample instead of a grid
		r := compute(t, dlsbd(), subset(input(c.encode, 8, 10), numeric.UpTo(79)))
		if !slices.Equal(r.Part("per_subgroup"), c.want) || !slices.Contains(r.Notes, c.note) {
			t.Errorf("%s, sampled: %v, notes %q", c.name, r.Part("per_subgroup"), r.Notes)
		}
	}
	w := compute(t, &DLSBDWorkshop{Omega: 10, Aggregate: factor.Sum}, input(constant, 8, 10))
	near(t, "workshop form of constant codes", w.Value, 0, 0)
}

// objects returns codes of objects seen from circular views.
func objects(n, views int, encode func(object int, angle float64) []float64) *Input {
	in := &Input{Factors: []factor.Factor{
		{Name: "object", Size: n, Kind: factor.Categorical},
		{Name: "view", Size: views, Kind: factor.Circular},
	}}
	for o := range n {
		for v := range views {
			z := encode(o, in.Factors[1].Angle(v))
			in.Codes = matrix.Matrix{Rows: in.Codes.Rows + 1, Cols: len(z), Data: append(in.Codes.Data, z...)}
			in.Levels = append(in.Levels, o, v)
		}
	}
	return in
}

func TestCylinder(t *testing.T) {
	turning := func(o int, a float64) []float64 {
		w := float64(1 + o%2) // objects turn once or twice
		return []float64{math.Cos(w * a), math.Sin(w * a), float64(o), 1 / float64(o+1)}
	}
	in := objects(6, 12, turning)
	shuffleRows(in)
	r := compute(t, dlsbd(), in)
	near(t, "each object on its own", r.Value, 0, 1e-20)
	near(t, "mean turns", r.Part("omega")[0], 1.5, 0)
	if got := r.Part("per_object"); len(got) != 6 || r.Parts[2].Labels[4] != "object 4" {
		t.Errorf("per_object %v %v", got, r.Parts[2].Labels)
	}
	r = compute(t, &DLSBD{Omega: 10, Aggregate: factor.Mean, SharedOmega: true}, in)
	near(t, "one omega for all", r.Value, 0.5*11/12, 1e-12)

	// mirrored objects turn in the same way, because the orientation of a plane is arbitrary
	mirrored := objects(4, 12, func(o int, a float64) []float64 {
		return []float64{math.Cos(a), math.Sin(a) * float64(1-2*(o%2)), float64(o)}
	})
	// objects count by what their codes do
	mixed := compute(t, dlsbd(), objects(4, 12, func(o int, a float64) []float64 {
		return [][]float64{{0, 0}, {math.Cos(a), 0}, {0, math.Sin(a)}, {math.Cos(a), math.Sin(a)}}[o]
	}))
	for _, want := range []string{"codes do not depend on view (1 of 4 objects)", "codes depend on view only along a line (2 of 4 objects)"} {
		if !slices.Contains(mixed.Notes, want) {
			t.Errorf("notes %q do not hold %q", mixed.Notes, want)
		}
	}
	near(t, "mirrored objects", compute(t, &DLSBD{Omega: 10, Aggregate: factor.Mean, SharedOmega: true}, mirrored).Value, 0, 1e-20)
}

func TestAggregates(t *testing.T) {
	in := input(noisy(0.5, perfect), 10, 10)
	mean := compute(t, dlsbd(), in)
	sum := compute(t, &DLSBD{Omega: 10, Aggregate: factor.Sum}, in)
	near(t, "sum", sum.Value, 2*mean.Value, 1e-12)
	if !(mean.Value >= 0.2 && mean.Value <= 0.6) {
		t.Errorf("noise 0.5 scores %v", mean.Value)
	}

	in = input(noisy(0.5, perfect), 3, 5, 6)
	in.Factors[0].Kind = factor.Categorical // three objects that turn in two ways
	mean, sum = compute(t, dlsbd(), in), compute(t, &DLSBD{Omega: 10, Aggregate: factor.Sum}, in)
	near(t, "mean of objects", factor.Mean.Of(mean.Part("per_object")), mean.Value, 1e-12)
	near(t, "sum of objects", factor.Mean.Of(sum.Part("per_object")), 2*mean.Value, 1e-12)
}

func TestErrors(t *testing.T) {
	tests := []struct {
		name   string
		break_ func(in *Input)
		want   string
	}{
		{"NaN", func(in *Input) { in.Codes.Data[4*3+2] = math.NaN() }, "codes: row 3, column 2 is NaN; want finite numbers"},
		{"Inf", func(in *Input) { in.Codes.Data[0] = math.Inf(-1) }, "codes: row 0, column 0 is -Inf"},
		{"repeated", func(in *Input) { copy(in.Levels[2*5:], in.Levels[:2]) }, "codes 0 and 5 both have a 0, b 0"},
		{"missing last", func(in *Input) {
			in.Codes = matrix.Matrix{Rows: 11, Cols: 4, Data: in.Codes.Data[:44]}
			in.Levels = in.Levels[:22]
		}, "there is no code for a 2, b 3"},
		{"missing middle", func(in *Input) {
			in.Codes = matrix.Matrix{Rows: 11, Cols: 4, Data: append(slices.Clone(in.Codes.Data[:20]), in.Codes.Data[24:]...)}
			in.Levels = append(slices.Clone(in.Levels[:10]), in.Levels[12:]...)
		}, "there is no code for a 1, b 1"},
		{"level out of range", func(in *Input) { in.Levels[3] = 4 }, `row 1 has level 4 of factor "b"; want 0 to 3`},
		{"no circle", func(in *Input) {
			in.Factors = slices.Clone(in.Factors)
			in.Factors[0].Kind, in.Factors[1].Kind = factor.Ordinal, factor.Categorical
		}, "there is no circular factor"},
		{"levels", func(in *Input) { in.Levels = in.Levels[1:] }, "there are 23 factor levels; want 24"},
		{"codes", func(in *Input) { in.Codes.Data = in.Codes.Data[1:] }, "codes hold 47 numbers; want 12 x 4"},
		{"empty", func(in *Input) { in.Codes = matrix.Matrix{} }, "codes are 0 x 0"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			in := input(perfect, 3, 4)
			test.break_(in)
			m := Metric(dlsbd())
			if strings.HasPrefix(test.name, "missing") || test.name == "repeated" { // only the earlier form needs a grid
				m = &DLSBDWorkshop{Omega: 10, Aggregate: factor.Sum}
			}
			must.ErrorOf(m.Compute(ctx, in))(t, test.want)
		})
	}
	in := input(perfect, 3, 4)
	for _, m := range []Metric{&DLSBD{Omega: 0, Aggregate: factor.Mean}, &DLSBD{Omega: 5, Aggregate: factor.MeanSquare}} {
		if _, err := m.Compute(ctx, in); err == nil {
			t.Errorf("%+v: no error", m)
		}
	}
}

// negate is a metric that changes its input.
type negate struct{}

func (negate) Better() Direction { return HigherIsBetter }

func (negate) Compute(_ context.Context, in *Input) (Result, error) {
	for i := range in.Codes.Data {
		in.Codes.Data[i] *= -1
	}
	return Result{}, nil
}

func TestEvaluate(t *testing.T) {
	in := input(noisy(0.2, perfect), 8, 8)
	before := slices.Clone(in.Codes.Data)
	results, err := Evaluate(ctx, in, 0,
		[]Choice{{Name: "dlsbd", Value: dlsbd()}, {Name: "dlsbd-workshop", Value: &DLSBDWorkshop{Omega: 10, Aggregate: factor.Sum}}})
	must.OK(t, err)
	if len(results) != 2 || results[0].Name != "dlsbd" || results[0].Better != LowerIsBetter {
		t.Errorf("results %+v", results)
	}
	if !slices.Equal(before, in.Codes.Data) {
		t.Error("the codes changed")
	}
	_, err = Evaluate(ctx, in, 0, []Choice{{Name: "negate", Value: negate{}}})
	must.Error(t, err, "metric negate: it changed the codes")
	in.Codes.Data[1] = math.NaN()
	if _, err := Evaluate(ctx, in, 0, nil); err == nil {
		t.Error("NaN passes")
	}
	for _, e := range Registry.Entries {
		if e.New() == nil || e.Doc == "" || e.Source == "" {
			t.Errorf("entry %q is not complete", e.Name)
		}
	}
}

// Codes of an 8 x 8 grid turn once with one factor and twice with the other. The last column is unused.
func ExampleDLSBD() {
	grid := factor.Grid{
		{Name: "row", Size: 8, Kind: factor.Circular},
		{Name: "column", Size: 8, Kind: factor.Circular},
	}
	in := &Input{Codes: matrix.Matrix{Rows: grid.Len(), Cols: 5}, Factors: grid}
	at := make([]int, 2)
	for i := range grid.Len() {
		grid.At(i, at)
		a, b := grid[0].Angle(at[0]), grid[1].Angle(at[1])
		in.Codes.Data = append(in.Codes.Data, math.Cos(a), math.Sin(a), math.Cos(2*b), math.Sin(2*b), 5)
		in.Levels = append(in.Levels, at...)
	}
	r, err := (&DLSBD{Omega: 10, Aggregate: factor.Mean}).Compute(ctx, in)
	fmt.Printf("%.3f %.0f %v\n", r.Value, r.Part("omega"), err)
	// Output: 0.000 [1 2] <nil>
}

// Codes on an ellipse turn once with the angle. The linear map does not matter.
func ExampleEvaluate() {
	circle := factor.Factor{Name: "angle", Size: 6, Kind: factor.Circular}
	in := &Input{Codes: matrix.Matrix{Rows: circle.Size, Cols: 2}, Factors: []factor.Factor{circle}}
	for level := range circle.Size {
		sin, cos := math.Sincos(circle.Angle(level))
		in.Codes.Data = append(in.Codes.Data, 3*cos, sin)
		in.Levels = append(in.Levels, level)
	}
	entry, err := Registry.Lookup("dlsbd")
	if err != nil {
		fmt.Println(err)
		return
	}
	results, err := Evaluate(ctx, in, 0, []Choice{{Name: entry.Name, Value: entry.New()}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range results {
		fmt.Printf("%s %.3f (%s is better)\n", r.Name, r.Value, r.Better)
	}
	// Output: dlsbd 0.000 (lower is better)
}

func BenchmarkDLSBD(b *testing.B) {
	torus := input(noisy(0.1, perfect), 64, 64)
	cylinder := objects(626, 64, func(o int, a float64) []float64 {
		return []float64{math.Cos(a), math.Sin(a), float64(o), 0.1 * math.Cos(a+float64(o)), 1, 2, 3}
	})
	for name, in := range map[string]*Input{"torus4096x4": torus, "cylinder626x64x7": cylinder} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				compute(b, dlsbd(), in)
			}
		})
	}
}
