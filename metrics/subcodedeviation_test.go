package metrics_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

var allMeasures = []factor.Deviation{factor.Variance, factor.MAD, factor.Radius, factor.Diameter, factor.MPD}

// The first factor has levels 0 and 1, with the points 0, 0, 3, 3 and 10 of one column. All deviations are computed by
// hand.
func TestSpreadByHand(t *testing.T) {
	in := &Input{Codes: matrix.Matrix{Rows: 5, Cols: 1, Data: []float64{0, 0, 3, 3, 10}}, Levels: []int{0, 0, 0, 0, 2},
		Factors: ordinals(4)}
	want := map[factor.Deviation]float64{factor.Variance: 2.25 / 2, factor.MAD: 1.5 / 2, factor.Radius: 1.5,
		factor.Diameter: 3, factor.MPD: 0.75 / 2} // mean over the two levels that occur, or maximum
	for m, w := range want {
		near(t, m.String(), compute(t, NewSubCodeDeviation(m), in).Value, w, 1e-12)
		for a, w2 := range map[factor.Aggregate]float64{factor.Mean: 0.5, factor.Sum: 1, factor.Max: 1, factor.MeanSquare: math.NaN()} {
			one := w
			if m != factor.Radius && m != factor.Diameter {
				one *= 2 // only level 0
			}
			s := NewSubCodeDeviation(m)
			s.Aggregate = a
			if a == factor.MeanSquare {
				w2 = one / 2
			}
			near(t, fmt.Sprint(m, a), compute(t, s, in).Value, one*w2, 1e-12)
		}
	}
}

// A second, constant column selects the computation for several columns, with equal values.
func TestSpreadOfOneAndSeveralColumns(t *testing.T) {
	stream := rng.New(4, "spread")
	one := gridInput(ordinals(6, 7, 8), 3, func(l []int, z []float64) {
		for c := range z {
			z[c] = float64(l[c]) + 0.3*math.Round(3*stream.NormFloat64())/3 // with ties
		}
	})
	two := gridInput(one.Factors, 6, func(l []int, z []float64) {
		i := factor.Grid(one.Factors).Index(l)
		for c, v := range one.Codes.Row(i) {
			z[2*c], z[2*c+1] = 0.6*v+1, 0.8*v-1
		}
	})
	for _, m := range allMeasures {
		a, b := compute(t, NewSubCodeDeviation(m), one), compute(t, NewSubCodeDeviation(m), two)
		near(t, m.String(), b.Value, a.Value, 1e-9)
		if !(a.Value >= 0.01) {
			t.Errorf("%v: %v", m, a.Value)
		}
	}
}

func TestSpreadOracles(t *testing.T) {
	factors := ordinals(4, 3, 5)
	product := func(l []int, z []float64) {
		for k, v := range l {
			z[k] = float64(v*v) - 3
		}
	}
	for _, m := range allMeasures {
		near(t, "product "+m.String(), compute(t, NewSubCodeDeviation(m), gridInput(factors, 3, product)).Value, 0, 1e-12)
		near(t, "constant "+m.String(), compute(t, NewSubCodeDeviation(m), gridInput(factors, 3, func([]int, []float64) {})).Value, 0, 0)
		permuted := gridInput(factors, 5, func(l []int, z []float64) { // with a dead column, and a noisy one
			z[0], z[1], z[2], z[3], z[4] = float64(l[2]), 1, float64(l[0]), float64((l[0]*7+l[1]*5+l[2]*3)%4), -float64(l[1])
		})
		r := compute(t, NewSubCodeDeviation(m), permuted) // five columns, three factors: the best columns
		near(t, "permuted "+m.String(), r.Value, 0, 1e-12)
		if columns := r.Part("columns"); !slices.Equal(columns, []float64{2, 4, 0}) || len(r.Notes) != 1 {
			t.Errorf("columns %v, notes %v", columns, r.Notes)
		}
		near(t, "score", r.Part("score")[0], 1, 1e-12)
		duplicated := gridInput(factors, 6, func(l []int, z []float64) {
			product(l, z)
			copy(z[3:], z[:3])
		})
		s := NewSubCodeDeviation(m)
		s.Codes = factor.SubCodes{"f0": {0, 3}, "f1": {1, 4}, "f2": {5, 2}}
		near(t, "duplicated "+m.String(), compute(t, s, duplicated).Value, 0, 1e-12)
		s.Codes = factor.SubCodes{"f1": {1}} // only one factor
		if r := compute(t, s, duplicated); len(r.Part("per_factor")) != 1 || !(r.Value <= 1e-12) {
			t.Errorf("one factor: %+v", r)
		}
	}
}

// The remaining variance is a mean over rows, not levels. Column 0 varies within the level with two thirds of the rows,
// column 1 within the rare levels.
func TestAssignUneven(t *testing.T) {
	in := &Input{Factors: ordinals(3, 2), Codes: matrix.Matrix{Cols: 3}}
	for i := range 24 {
		level := max(0, i-15) / 4 // 16 rows, then 4 and 4 rows
		level = []int{0, 1, 2}[min(level, 2)]
		noise := float64(i % 4)
		common, rare := float64(10*level), float64(10*level)
		if level == 0 {
			common += noise
		} else {
			rare += noise
		}
		in.Codes.Data = append(in.Codes.Data, common, rare, float64(i%2))
		in.Codes.Rows++
		in.Levels = append(in.Levels, level, i%2)
	}
	s := NewSubCodeDeviation(factor.Variance)
	s.Assign = AssignBest
	r := compute(t, s, in)
	must.EqualSlices(t, r.Part("columns"), []float64{1, 2}, "columns")
}

func TestStandardise(t *testing.T) {
	scaled := func(scale, shift float64) *Input {
		s := rng.New(4, "spread")
		return gridInput(ordinals(5, 6), 3, func(l []int, z []float64) {
			z[0], z[1], z[2] = scale*(float64(l[0])+s.NormFloat64())+shift, scale*(float64(l[1])+s.NormFloat64())-shift, shift
		})
	}
	for _, m := range allMeasures {
		s := NewSubCodeDeviation(m)
		s.Standardise = true
		s.Codes = factor.SubCodes{"f0": {0}, "f1": {1, 2}}
		a, b := compute(t, s, scaled(1, 0)).Value, compute(t, s, scaled(1e-200, 0)).Value
		near(t, m.String(), b, a, 1e-9)
		near(t, m.String(), compute(t, s, scaled(100, 5)).Value, a, 1e-9)
		if !(a >= 0.1 && a <= 10) {
			t.Errorf("%v: %v", m, a)
		}
	}
	if r, err := NewSubCodeDeviation(factor.Variance).Compute(ctx, scaled(1e200, 0)); err == nil {
		t.Errorf("infinite variance: %v", r.Value)
	}
}

// Sampled rows estimate the value of all rows, and the means without bias.
func TestSpreadSamples(t *testing.T) {
	stream := rng.New(9, "samples")
	in := gridInput(ordinals(4, 5, 200), 6, func(l []int, z []float64) {
		for c := range z {
			z[c] = float64(l[c/2]) + stream.NormFloat64()
		}
	})
	for _, m := range allMeasures {
		const repeats = 40
		s := NewSubCodeDeviation(m)
		s.Codes = factor.SubCodes{"f0": {0, 1}, "f1": {2, 3}} // f2 has only two sampled rows per level
		s.Samples = 0
		want := compute(t, s, in).Value
		s.Samples = 400
		var mean float64
		for seed := range repeats {
			r := must.Get(Evaluate(ctx, in, uint64(seed), []Choice{{Name: m.String(), Value: s}}))(t)
			if r[0].Basis.Rows != 400 || r[0].Basis.Of != 4000 {
				t.Fatalf("basis %v", &r[0].Basis)
			}
			mean += r[0].Value / repeats
		}
		switch m {
		case factor.MPD: // corrected for pairs of a row with itself
			near(t, m.String(), mean, want, 0.005*want)
		case factor.Variance, factor.MAD:
			near(t, m.String(), mean, want, 0.03*want)
		default:
			if !(mean <= want && mean >= 0.6*want) {
				t.Errorf("%v: %v of samples, %v of all", m, mean, want)
			}
		}
		must.ErrorOf(s.Compute(ctx, in))(t, "the input's Stream is nil")
		s.Codes = factor.SubCodes{"f0": {0}, "f1": {2, 3}} // a single column uses all rows
		r := must.Get(Evaluate(ctx, in, 1, []Choice{{Name: m.String(), Value: s}}))(t)
		s.Codes = factor.SubCodes{"f0": {0}}
		alone := compute(t, s, in)
		near(t, m.String(), r[0].Part("per_factor")[0], alone.Value, 0)
		s.Codes = factor.SubCodes{"f0": {0}, "f2": {4}} // single columns use all rows
		if r := compute(t, s, in); len(r.Notes) != 0 {
			t.Errorf("notes %v", r.Notes)
		}
	}
}

func TestSpreadErrors(t *testing.T) {
	in := gridInput(ordinals(4, 3), 3, func(l []int, z []float64) { z[0], z[1] = float64(l[0]), float64(l[1]) })
	few := gridInput(ordinals(4, 3), 1, func(l []int, z []float64) { z[0] = float64(l[0]) })
	tests := []struct {
		s    SubCodeDeviation
		in   *Input
		want string
	}{
		{SubCodeDeviation{Aggregate: factor.Aggregate(9)}, in, `unknown aggregate Aggregate(9)`},
		{SubCodeDeviation{Aggregate: factor.Mean, Samples: -1}, in, "samples: -1 is negative"},
		{SubCodeDeviation{Aggregate: factor.Mean, Assign: "worst"}, in, `unknown assignment "worst"`},
		{SubCodeDeviation{Aggregate: factor.Mean, Assign: AssignOrder}, in, "3 code columns cannot be divided evenly among 2 factors"},
		{SubCodeDeviation{Aggregate: factor.Mean}, few, "codes have 1 column; want at least one for each of the 2 factors"},
		{SubCodeDeviation{Aggregate: factor.Mean, Codes: factor.SubCodes{"f3": {0}}}, in, `there is no factor "f3"; known: f0, f1`},
		{SubCodeDeviation{Aggregate: factor.Mean, Codes: factor.SubCodes{"f1": {3}}}, in, "codes.f1: column 3 does not exist; codes have columns 0 to 2"},
	}
	for _, test := range tests {
		must.ErrorOf(test.s.Compute(ctx, test.in))(t, test.want, test.s)
		if test.s.Validate() == nil {
			must.Error(t, Suits(test.in, []Choice{{Name: "x", Value: &test.s}}), test.want, test.s)
		}
	}
	must.Error(t, (&Contraction{Columns: []int{2, 3}}).Suits(in), "there is no column 3; codes have columns 0 to 2")
	for text, want := range map[string]string{
		"metrics: [{mpd: {codes: {x: [0, 0]}}}]":           "[0 0] has a negative or repeated column",
		"metrics: [{mpd: {codes: {x: []}}}]":               "there are no columns",
		"metrics: [{variance: {aggregate: least}}]":        "unknown aggregate",
		"metrics: [{variance: {measure: mad}}]":            "measure",
		"metrics: [{mig: {bins: 0}}]":                      "bins",
		"metrics: [{contraction-max: {pairs: -1}}]":        "pairs",
		"metrics: [{contraction-max: {max: true}}]":        "max",
		"metrics: [{me: {fit: l1}}]":                       `unknown fit "l1"`,
		"metrics: [{mse: {samples: -2}}]":                  "samples",
		"metrics: [{mae: {error: 1}}]":                     "error",
		"metrics: [{diameter: {assign: [best]}}]":          "assign",
		"metrics: [{diameter: {codes: {x: [0], y: 1}}}]":   "y",
		"metrics: [{diameter: {codes: {x: [0, -1]}}}]":     "negative",
		"metrics: [{diameter: {standardise: 1}}]":          "standardise",
		"metrics: [{radius: {samples: 1.5, codes: null}}]": "samples",
	} {
		var got struct {
			Metrics []Choice `yaml:"metrics"`
		}
		n, err := config.Parse("test.yaml", []byte(text))
		if err == nil {
			err = n.Decode(&got)
		}
		must.Error(t, err, want, text)
	}
}

// Settings survive a round trip through a config.
func TestSpreadConfig(t *testing.T) {
	var got struct {
		Metrics []Choice `yaml:"metrics"`
	}
	text := "metrics: [mpd, radius, {variance: {codes: {shape: [0, 2]}, aggregate: max, assign: best, standardise: true}}, me, {mig: {binning: count}}, contraction-max]\n"
	n := must.Get(config.Parse("test.yaml", []byte(text)))(t)
	must.OK(t, n.Decode(&got))
	again, err := config.Encode(got)
	must.OK(t, err)
	var second struct {
		Metrics []Choice `yaml:"metrics"`
	}
	if n, err = config.Parse("again.yaml", again); err == nil {
		err = n.Decode(&second)
	}
	if err != nil || fmt.Sprintf("%+v", second.Metrics[2].Value) != fmt.Sprintf("%+v", got.Metrics[2].Value) {
		t.Errorf("%s: %v", again, err)
	}
	v := got.Metrics[2].Value.(*SubCodeDeviation)
	if v.Deviation != factor.Variance || v.Aggregate != factor.Max || v.Assign != AssignBest ||
		fmt.Sprint(v.Codes) != "map[shape:[0 2]]" || !v.Standardise {
		t.Errorf("%+v", v)
	}
	if m := got.Metrics[0].Value.(*SubCodeDeviation); m.Deviation != factor.MPD || m.Samples != 10000 || m.Aggregate != factor.Mean {
		t.Errorf("%+v", m)
	}
	if m := got.Metrics[1].Value.(*SubCodeDeviation); m.Deviation != factor.Radius || m.Aggregate != factor.Max {
		t.Errorf("%+v", m)
	}
}

// FuzzAssign compares the assignment with the cheapest of all assignments.
func FuzzAssign(f *testing.F) {
	for seed := range 200 {
		f.Add(uint64(seed), uint8(seed/3), uint8(seed))
	}
	f.Fuzz(func(t *testing.T, seed uint64, k, more uint8) {
		rows := 1 + int(k%5)
		columns := rows + int(more%3)
		s := rng.New(seed, "assign")
		cost := make([][]float64, rows)
		for i := range cost {
			cost[i] = make([]float64, columns)
			for j := range cost[i] {
				cost[i][j] = float64(s.IntN(20)) / 4 // with ties
			}
		}
		sum, taken := 0.0, map[int]bool{}
		for i, j := range geometry.Assign(cost) {
			sum += cost[i][j]
			if taken[j] {
				t.Fatalf("column %d is assigned twice", j)
			}
			taken[j] = true
		}
		var least func(row, used int) float64
		least = func(row, used int) float64 {
			if row == rows {
				return 0
			}
			best := math.Inf(1)
			for j := range columns {
				if used>>j&1 == 0 {
					best = min(best, cost[row][j]+least(row+1, used|1<<j))
				}
			}
			return best
		}
		if want := least(0, 0); !(math.Abs(sum-want) <= 1e-12) {
			t.Errorf("%v costs %v, and %v is possible", cost, sum, want)
		}
	})
}
