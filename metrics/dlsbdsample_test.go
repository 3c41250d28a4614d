package metrics_test

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// rotationsInput is the golden input of a case: every rotation of a group with every level of a circle.
func rotationsInput(t *testing.T, name, group string) *Input {
	t.Helper()
	const dir = "testdata/dlsbd_so3"
	codes, g := golden[float64](t, dir, "codes_"+name+".npy"), golden[float64](t, dir, group+".npy")
	n, d := len(g.Data)/9, codes.Shape[len(codes.Shape)-1]
	pose := factor.Factor{Name: "pose", Size: n, Kind: factor.Categorical}
	for l := range n {
		pose.Rotations = append(pose.Rotations, [9]float64(g.Data[9*l:]))
	}
	levels := len(codes.Data) / n / d
	in := &Input{Codes: matrix.Matrix{Rows: n * levels, Cols: d, Data: codes.Data},
		Factors: []factor.Factor{pose, {Name: "hue", Size: levels, Kind: factor.Circular}}}
	for i := range in.Codes.Rows {
		in.Levels = append(in.Levels, i/levels, i%levels)
	}
	return in
}

func TestRotationsGolden(t *testing.T) {
	var cases map[string]json.RawMessage
	must.ReadJSON(t, "testdata/dlsbd_so3/expected.json", &cases)
	delete(cases, "note")
	if len(cases) != 8 {
		t.Fatalf("%d cases, want 8", len(cases))
	}
	for name, raw := range cases {
		var want struct {
			SO3   expectation `json:"dlsbd_so3"`
			SO2   expectation `json:"dlsbd_so2"`
			Group string
		}
		must.OK(t, json.Unmarshal(raw, &want))
		in := rotationsInput(t, name, want.Group)
		shuffleRows(in)
		for path, compute := range map[string]func(m *DLSBD, in *Input) (Result, error){
			"grid": func(m *DLSBD, in *Input) (Result, error) { return m.Compute(ctx, in) }, "sample": OfSample,
		} {
			r, err := compute(dlsbd(), in)
			if err != nil {
				t.Fatalf("%s, %s: %v", name, path, err)
			}
			got := r.Part("per_subgroup")
			if name == "haar200_perfect" { // the reference has the moments of the 200 rotations, not of the group
				near(t, name+", SO(3), "+path, got[0], 0, 1e-20)
				got[0] = OfRotationMoments(in)
			}
			near(t, name+", SO(3), "+path, got[0], want.SO3.values()[0], *want.SO3.Tolerance)
			near(t, name+", SO(2), "+path, got[1], want.SO2.values()[0], *want.SO2.Tolerance)
		}
	}
}

// On a grid, the computation for samples equals the computation for grids.
func TestSampledGrids(t *testing.T) {
	cases, err := filepath.Glob("testdata/dlsbd/*/codes.npy")
	if err != nil || len(cases) != 23 {
		t.Fatalf("%d cases, %v; want 23", len(cases), err)
	}
	inputs := map[string]*Input{"objects": objects(5, 12, func(o int, a float64) []float64 {
		return []float64{math.Cos(a) + 0.3*math.Sin(3*a+float64(o)), math.Sin(a), float64(o), 0.5 * math.Cos(2*a)}
	}), "few levels": input(noisy(0.4, perfect), 2, 3, 4), "line": input(func(a []float64) []float64 {
		return []float64{math.Cos(a[0]), math.Cos(a[1]), math.Sin(a[1])}
	}, 8, 10)}
	for _, file := range cases {
		inputs[file] = goldenInput(t, filepath.Dir(file))
	}
	for name, in := range inputs {
		grid := compute(t, dlsbd(), in)
		r, err := OfSample(dlsbd(), in)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, part := range []string{"per_subgroup", "per_object", "omega"} {
			for k, want := range grid.Part(part) {
				if part == "omega" && grid.Part("per_subgroup")[k] > 0.9 {
					continue // codes that do not turn: rounding decides omega
				}
				near(t, fmt.Sprint(name, " ", part, " ", k), r.Part(part)[k], want, 1e-9)
			}
		}
	}
}

func subgroupOf(t *testing.T, m Metric, in *Input, k int) float64 {
	t.Helper()
	r := compute(t, m, in)
	return r.Part("per_subgroup")[k]
}

// rowsOf returns random rows of an input.
func rowsOf(in *Input, n int) *Input {
	return subset(in, rng.New(4, "pick").Perm(in.Codes.Rows)[:n])
}

func turnedInto(encode func([]float64) []float64) func([]float64) []float64 {
	s := rng.New(9, "map")
	var a []float64
	return func(angle []float64) []float64 {
		z := encode(angle)
		for len(a) < (len(z)+2)*len(z) {
			a = append(a, s.NormFloat64())
		}
		out := make([]float64, len(z)+2)
		for i := range out {
			out[i] = 5
			for j, v := range z {
				out[i] += a[i*len(z)+j] * v
			}
		}
		return out
	}
}

// Perfect codes score 0 on any sample, also after a linear map.
func TestSampledPerfectCodes(t *testing.T) {
	triple := func(a []float64) []float64 {
		b := slices.Clone(a)
		b[0] *= 3
		return perfect(b)
	}
	for _, c := range []struct {
		encode func([]float64) []float64
		sizes  []int
		rows   int
	}{
		{perfect, []int{64, 64}, 1000}, {perfect, []int{64, 64}, 4095}, {perfect, []int{64, 64}, 120}, {triple, []int{40, 24}, 300},
		{perfect, []int{64}, 20}, {perfect, []int{12, 10, 9}, 400}, {perfect, []int{20, 20, 20}, 400}, {perfect, []int{12, 12, 12, 12}, 1500},
	} {
		in := rowsOf(input(turnedInto(c.encode), c.sizes...), c.rows)
		r := compute(t, dlsbd(), in)
		near(t, fmt.Sprint(c.sizes, c.rows, r.Notes), r.Value, 0, 1e-18)
	}
	// repeated rows
	in := input(perfect, 9, 8)
	near(t, "repeated rows", compute(t, dlsbd(), subset(in, append(rng.New(1, "twice").Perm(72), 5, 5, 7))).Value, 0, 1e-18)
}

// Angles can be any numbers.
func TestAngles(t *testing.T) {
	s := rng.New(2, "angles")
	in := &Input{Factors: []factor.Factor{{Name: "turn", Kind: factor.Circular}, {Name: "hue", Kind: factor.Circular, Size: 6}}}
	for range 100 {
		f := &in.Factors[0]
		f.Angles, f.Size = append(f.Angles, 4*s.Float64()), f.Size+1 // not the whole circle
	}
	for i := range 400 {
		a, b := i%100, s.IntN(6)
		in.Levels = append(in.Levels, a, b)
		z := perfect([]float64{2 * in.Factors[0].Angle(a), in.Factors[1].Angle(b)})
		in.Codes = matrix.Matrix{Rows: i + 1, Cols: 4, Data: append(in.Codes.Data, 3*z[0], z[1]+z[0], z[2]-z[1], z[3])}
	}
	r := compute(t, dlsbd(), in)
	near(t, "value", r.Value, 0, 1e-18)
	near(t, "turns", r.Part("omega")[0], 2, 0)
	must.ErrorOf((&DLSBDWorkshop{Omega: 10, Aggregate: factor.Sum}).Compute(ctx, in))(t, "not evenly spaced")
}

// Unevenly spaced angles are a sample of the circle: the noise of many rows has the weight of a full circle, and
// fewer than five angles determine no turn.
func TestUnevenAngles(t *testing.T) {
	degrees := []float64{0, 10, 35, 100, 170, 175, 260, 300, 345}
	measure := func(angles []float64, unit, noise, jitter float64) (Result, error) {
		random, values, codes := rng.New(3, "uneven"), []float64{}, [][]float64{}
		for i := range 4000 {
			a := angles[i%len(angles)]
			sin, cos := math.Sincos(a * math.Pi / 180)
			codes = append(codes, []float64{cos + noise*random.NormFloat64(), sin + noise*random.NormFloat64()})
			if a += jitter * random.Float64(); jitter == 2 {
				a = math.Floor(a)
			}
			values = append(values, a*unit)
		}
		z := must.Get(FromRows(codes))(t)
		in := &Input{Codes: z}
		turn := Column{Name: "turn", Values: values, Type: ColumnType{Kind: factor.Circular, Period: 360 * unit}}
		must.OK(t, in.SetFactors([]Column{turn}, 0))
		return dlsbd().Compute(ctx, in)
	}
	for _, unit := range []float64{1, math.Pi / 180, 0.01} {
		r, err := measure(degrees, unit, 0.2, 0)
		must.OK(t, err)
		near(t, fmt.Sprint("noise, unit ", unit), r.Value, 0.04/0.54, 0.003)
		merged := "has 4 different levels (angles closer"
		for jitter, want := range map[float64]string{0: "has 4 different levels; want at least 5", 0.2: merged, 2: merged} {
			if r, err = measure([]float64{0, 10, 100, 240}, unit, 0, jitter); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("four angles, unit %v, jitter %v: %v, error %v", unit, jitter, r.Value, err)
			}
		}
	}
}

// A sample estimates the value of the grid, and the bootstrap interval contains it.
func TestSampledNoise(t *testing.T) {
	long.NotShort(t)
	entangled := func(a []float64) []float64 {
		return append(perfect(a), 0.6*math.Cos(a[0]+a[1]), 0.6*math.Sin(a[0]+2*a[1]))
	}
	for name, encode := range map[string]func([]float64) []float64{
		"noise": noisy(0.3, perfect), "much noise": noisy(1, perfect), "entangled": noisy(0.05, entangled),
		"nonlinear": noisy(0.05, func(a []float64) []float64 { return perfect([]float64{a[0] + 0.5*math.Sin(a[0]), a[1]}) }),
	} {
		in := input(encode, 32, 32)
		want := compute(t, dlsbd(), in).Value
		for _, rows := range []int{700, 200} {
			m := dlsbd()
			m.Bootstrap = 100
			measure := func(seed uint64) Result {
				r := must.Get(Evaluate(ctx, rowsOf(in, rows), seed, []Choice{{Name: "dlsbd", Value: m}}))(t)
				return r[0]
			}
			r := measure(1)
			near(t, fmt.Sprint(name, ", rows ", rows), r.Value, want, 3/math.Sqrt(float64(rows))*math.Sqrt(want*0.1))
			if i := r.Part("interval"); !(i[0] < i[1] && i[0] < r.Value && i[1] > r.Value*0.95) {
				t.Errorf("%s: interval %v of %v", name, i, r.Value)
			}
			if rows > 200 {
				continue
			}
			same, other := measure(1), measure(2)
			if !slices.Equal(same.Part("interval"), r.Part("interval")) || slices.Equal(other.Part("interval"), r.Part("interval")) {
				t.Errorf("%s: the interval does not follow the seed", name)
			}
		}
	}
	var ends [2][]float64 // of the intervals of one and two draws, the first of which is the same
	for n := range ends {
		m := dlsbd()
		m.Bootstrap = n + 1
		in := rowsOf(input(noisy(0.3, perfect), 32, 32), 200)
		ends[n] = must.Get(Evaluate(ctx, in, 1, []Choice{{Name: "dlsbd", Value: m}}))(t)[0].Part("interval")
	}
	low, high := math.Abs(ends[1][0]-ends[0][0]), math.Abs(ends[1][1]-ends[0][0])
	near(t, "2.5 % of the way from the first draw to the second", min(low, high), max(low, high)*0.025/0.975, 1e-12)
	must.ErrorOf((&DLSBD{Omega: 1, Aggregate: factor.Mean, Bootstrap: 5}).Compute(ctx, input(perfect, 5, 6)))(t, "stream")
}

// Two circles of equal radius for one factor are perfect, but their plane is arbitrary.
func TestArbitraryPlanes(t *testing.T) {
	two := func(turn float64) func(a []float64) []float64 {
		sin, cos := math.Sincos(turn)
		return func(a []float64) []float64 {
			z := perfect([]float64{a[0], 2 * a[0]})
			z[0], z[2] = cos*z[0]-sin*z[2], sin*z[0]+cos*z[2]
			return append(z, perfect(a[1:])...)
		}
	}
	for name, rows := range map[string]int{"grid": 24 * 10, "sample": 150} {
		in := rowsOf(input(two(0.7), 24, 10), rows)
		r := compute(t, dlsbd(), in)
		if v := r.Part("per_subgroup")[0]; !(v >= 0.05) ||
			!slices.ContainsFunc(r.Notes, func(s string) bool { return strings.Contains(s, "for a is arbitrary") }) {
			t.Errorf("%s: %v, notes %v; want a warning", name, v, r.Notes)
		}
		in = rowsOf(input(two(0), 24, 10), rows)
		in.Spaces = [][]int{{0, 1}, {2, 3}, {4, 5}}
		r = compute(t, dlsbd(), in)
		near(t, name+", spaces", r.Value, 0, 1e-18)
		near(t, name+", never by spaces", subgroupOf(t, &DLSBD{Omega: 10, Aggregate: factor.Mean, Spaces: "never"}, in, 1), 0, 1e-18)
		near(t, name+", always by spaces", compute(t, &DLSBD{Omega: 10, Aggregate: factor.Mean, Spaces: "always"}, in).Value, 0, 1e-18)
		in.Spaces = nil
		near(t, name+", columns", compute(t, &DLSBD{Omega: 10, Aggregate: factor.Mean, Codes: factor.SubCodes{"a": {2, 3}}}, in).Value, 0, 1e-18)
	}
	if r := compute(t, dlsbd(), input(perfect, 24, 10)); len(r.Notes) != 0 {
		t.Errorf("a plane for each: notes %v", r.Notes)
	}
	// (Rv, Rw) has six columns of equal variance
	in := rotationsInput(t, "icosahedral_perfect", "icosahedral")
	var double []float64
	for i := range in.Codes.Rows {
		g := in.Factors[0].Rotations[in.Levels[2*i]]
		double = append(double, g[0], g[3], g[6], g[1], g[4], g[7])
	}
	in.Codes = matrix.Matrix{Rows: in.Codes.Rows, Cols: 6, Data: double}
	r := compute(t, dlsbd(), in)
	if !slices.ContainsFunc(r.Notes, func(s string) bool { return strings.Contains(s, "arbitrary") }) {
		t.Errorf("notes %v; want a warning", r.Notes)
	}
	in.Spaces = [][]int{{0, 1, 2}, {3, 4, 5}}
	near(t, "two spheres", subgroupOf(t, dlsbd(), in, 0), 0, 1e-20)
}

// Each object of a sample is measured alone if it has enough rows. With objects: together, few rows suffice.
func TestSampledObjects(t *testing.T) {
	in := objects(6, 24, func(o int, a float64) []float64 {
		return []float64{math.Cos(a), math.Sin(a) + 0.5*math.Cos(a), float64(o), 1 / float64(o+1)}
	})
	some := rowsOf(in, 70)
	near(t, "each", compute(t, dlsbd(), some).Value, 0, 1e-18)
	few := rowsOf(in, 10)
	must.ErrorOf(dlsbd().Compute(ctx, few))(t, "objects: together")
	part := &Input{Factors: in.Factors, Levels: in.Levels[:2*(4*24+3)],
		Codes: matrix.Matrix{Rows: 4*24 + 3, Cols: in.Codes.Cols, Data: in.Codes.Data[:(4*24+3)*in.Codes.Cols]}}
	r := compute(t, dlsbd(), part)
	near(t, "without the fifth object", r.Value, 0, 1e-18)
	if !slices.Contains(r.Notes, "1 of 5 objects have too few rows and are left out") {
		t.Errorf("notes %q", r.Notes)
	}
	together := &DLSBD{Omega: 10, Aggregate: factor.Mean, Objects: "together"}
	near(t, "together", compute(t, together, few).Value, 0, 1e-18)
	near(t, "all together", compute(t, together, in).Value, 0, 1e-18)
}

// A sample of the rotations suffices. Errors name the rows of wrong matrices.
func TestSampledRotations(t *testing.T) {
	in := rowsOf(rotationsInput(t, "icosahedral_perfect", "icosahedral"), 250)
	near(t, "sample", compute(t, dlsbd(), in).Value, 0, 1e-18)
	inverse := rotationsInput(t, "body_frame_inverse", "octahedral")
	near(t, "inverses", subgroupOf(t, dlsbd(), rowsOf(inverse, 150), 0), 0.884, 0.05)
	in.Factors[0].Rotations = slices.Clone(in.Factors[0].Rotations)
	in.Factors[0].Rotations[7][2] += 0.01
	must.ErrorOf(dlsbd().Compute(ctx, in))(t, `"pose": level 7`)
	line := rotationsInput(t, "icosahedral_perfect", "icosahedral") // codes are one coordinate of a point that rotates
	for i := range line.Codes.Rows {
		z := line.Codes.Row(i)
		clear(z)
		z[2] = line.Factors[0].Rotations[line.Levels[2*i]][5]
	}
	n := float64(line.Codes.Rows)
	near(t, "a line", subgroupOf(t, dlsbd(), line, 0), 8./9*(n-1)/n, 1e-12) // 2/9 for the line, and 1/3 for each missing dimension
	random := rng.New(4, "few rotations")
	var few Input
	few.Codes = matrix.Matrix{Rows: 60, Cols: 3}
	turns := matrix.Matrix{Rows: 60, Cols: 4}
	for range 3 * 60 {
		few.Codes.Data = append(few.Codes.Data, random.NormFloat64())
	}
	for range 4 * 5 {
		turns.Data = append(turns.Data, random.NormFloat64())
	}
	turns.Data = slices.Repeat(turns.Data, 12)
	must.OK(t, few.AddRotations(turns))
	must.ErrorOf(dlsbd().Compute(ctx, &few))(t, "has 5 different levels; want at least 20")
}
