package metrics_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// value evaluates a metric with its defaults.
func value(t *testing.T, name string, in *Input) float64 {
	t.Helper()
	r := must.Get(Evaluate(ctx, in, 1, []Choice{choice(name)}))(t)
	return r[0].Value
}

func scaledLevels(in *Input, scale float64) func(l []int, z []float64) {
	return func(l []int, z []float64) {
		for k, v := range l {
			z[len(l)-1-k] = 1 + scale*in.Factors[k].Scaled(v)
		}
	}
}

func TestInformativenessOracles(t *testing.T) {
	factors := ordinals(3, 4, 5)
	shape := &Input{Factors: factors}
	perfect := gridInput(factors, 3, scaledLevels(shape, 1))
	wide := gridInput(factors, 3, scaledLevels(shape, 5))
	narrow := gridInput(factors, 3, scaledLevels(shape, 0.5))
	constant := gridInput(factors, 2, func([]int, []float64) {})
	uneven := gridInput(factors, 4, func(l []int, z []float64) {
		z[0], z[1], z[2], z[3] = 1e12*float64(l[0]), 1e-12*float64(l[1]), 1e-12*float64(l[2]), 0.1
	})
	duplicated := gridInput(factors, 6, func(l []int, z []float64) {
		for k, v := range l {
			z[k], z[k+3] = float64(v), float64(v)
		}
	})
	for _, name := range []string{"contraction-mean", "contraction-max", "mse", "mae", "me"} {
		for _, in := range []*Input{perfect, wide, duplicated} {
			near(t, name, value(t, name, in), 0, 1e-12)
		}
		if v := value(t, name, constant); !(v >= 0.05) {
			t.Errorf("%s of constant codes is %v", name, v)
		}
	}
	near(t, "contraction-max of narrow codes", value(t, "contraction-max", narrow), math.Sqrt(3)/2, 1e-12)
	near(t, "contraction-max of constant codes", value(t, "contraction-max", constant), math.Sqrt(3), 1e-12)
	near(t, "contraction-max with empty lists", compute(t, &Contraction{Max: true, Columns: []int{}, Factors: []string{}}, constant).Value, math.Sqrt(3), 1e-12)
	for _, name := range []string{"mse", "mae", "me"} {
		near(t, name+" of narrow codes", value(t, name, narrow), 0, 1e-12)
		near(t, name+" of columns of different sizes", value(t, name, uneven), 0, 1e-12)
	}
	projected := compute(t, &SubCodeDeviation{Deviation: factor.Variance, Project: "linear"}, uneven)
	near(t, "least part explained of columns of different sizes", slices.Min(projected.Part("explained")), 1, 1e-12)
	variance := func(n float64) float64 { return (n + 1) / (n - 1) / 12 } // of 0, 1/(n-1), ..., 1
	near(t, "mse of constant codes", value(t, "mse", constant), (variance(3)+variance(4)+variance(5))/3, 1e-12)
	near(t, "me of constant codes", value(t, "me", constant), math.Sqrt(3)/2, 1e-12)
	for _, fit := range []Fit{FitMinimax, FitMinimaxByFactor} {
		r := compute(t, &MaxError{Fit: fit}, constant)
		near(t, string(fit)+" of constant codes", r.Value, math.Sqrt(3)/2, 1e-12)
		near(t, string(fit)+" error of a factor", r.Part("per_factor")[0], 0.5, 1e-12)
	}
	near(t, "mae of constant codes", value(t, "mae", constant), (1.0/3+1.0/3+0.3)/3, 1e-12)
	if constant.Stream != nil || value(t, "mse", subset(perfect, []int{5})) != 0 ||
		value(t, "contraction-mean", subset(perfect, []int{5})) != 0 {
		t.Error("one row")
	}
}

// Distances of circular and categorical factors.
func TestContractionKinds(t *testing.T) {
	factors := []factor.Factor{{Name: "angle", Size: 8, Kind: factor.Circular}, {Name: "shape", Size: 5, Kind: factor.Categorical},
		{Name: "size", Size: 3, Kind: factor.Ordinal, Values: []float64{10, 20, 60}}}
	in := gridInput(factors, 1, func([]int, []float64) {})
	near(t, "largest distance", value(t, "contraction-max", in), math.Sqrt(0.25+1+1), 1e-12)
	sum, pairs := 0.0, 0.0
	for i := range in.Codes.Rows {
		for j := range in.Codes.Rows {
			a, b := in.Levels[3*i:3*i+3], in.Levels[3*j:3*j+3]
			turn := float64((a[0]-b[0]+8)%8) / 8
			turn = min(turn, 1-turn)
			var other float64
			if a[1] != b[1] {
				other = 1
			}
			size := (factors[2].Values[a[2]] - factors[2].Values[b[2]]) / 50
			sum += math.Sqrt(turn*turn + other + size*size)
			pairs++
		}
	}
	near(t, "mean distance", value(t, "contraction-mean", in), sum/pairs, 1e-12)
	wide := gridInput(factors, 2, func(l []int, z []float64) { z[0] = float64(l[0]) })
	near(t, "mean distance to a constant column", compute(t, &Contraction{Columns: []int{1}}, wide).Value, sum/pairs, 1e-12)
	for i := range in.Codes.Rows { // codes of any scale
		in.Codes.Data[i] = 1e-20 * float64(i)
		wide.Codes.Data[2*i] = 1e20 * float64(i)
	}
	near(t, "contraction of tiny codes", value(t, "contraction-mean", in), sum/pairs, 1e-12)
	near(t, "contraction of large codes", value(t, "contraction-max", wide), 0, 0)
}

// Random pairs estimate the mean over all pairs.
func TestContractionSamples(t *testing.T) {
	stream := rng.New(1, "codes")
	factors := ordinals(17, 18, 9)
	factors[0].Kind, factors[1].Kind = factor.Circular, factor.Categorical
	in := gridInput(factors, 2, func(l []int, z []float64) { z[0], z[1] = stream.Float64(), stream.Float64() })
	all := compute(t, &Contraction{}, in).Value
	most := compute(t, &Contraction{Max: true}, in).Value
	sampled := func(max bool, pairs int) Result {
		c := choice("contraction-mean")
		c.Value = &Contraction{Max: max, Pairs: pairs}
		r := must.Get(Evaluate(ctx, in, 3, []Choice{c}))(t)
		return r[0]
	}
	r := sampled(false, 100000)
	near(t, "mean", r.Value, all, 0.003)
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "100000 random pairs of rows out of 3790881") {
		t.Errorf("notes %v", r.Notes)
	}
	if r := sampled(true, 100000); !(r.Value <= most && r.Value >= most-0.3) {
		t.Errorf("largest %v, of all pairs %v", r.Value, most)
	}
	if r := sampled(false, 3790881/32+1); r.Value != all || len(r.Notes) != 0 {
		t.Errorf("%v of all pairs, %v; notes %v", r.Value, all, r.Notes)
	}
	must.ErrorOf((&Contraction{Pairs: 10}).Compute(ctx, in))(t, "the input's Stream is nil")
}

// Random pairs consist of different rows.
func TestContractionPairs(t *testing.T) {
	in := gridInput(ordinals(30), 1, func([]int, []float64) {})
	var mean float64
	for seed := range 2000 {
		r, err := Evaluate(ctx, in, uint64(seed), []Choice{{Name: "contraction-mean", Value: &Contraction{Pairs: 9}}})
		must.OK(t, err)
		mean += r[0].Value / 2000
	}
	near(t, "mean", mean, 31./90, 0.01) // mean of |i-j|/29 over all pairs, including a row with itself: (n+1)/3n
}

// The centre of the ball around the errors is not 0.
func TestMaxErrorCentre(t *testing.T) {
	in := &Input{Codes: matrix.Matrix{Rows: 4, Cols: 1, Data: make([]float64, 4)}, Levels: []int{0, 0, 0, 2}, Factors: ordinals(3)}
	r := compute(t, &MaxError{Fit: FitLeastSquares, Samples: 4}, in)
	near(t, "me", r.Value, 0.5, 1e-12)
	near(t, "of the factor", r.Part("per_factor")[0], 0.5, 1e-12)
	must.Equal(t, len(r.Notes), 0, "notes", r.Notes)
}

// Permutations of rows and columns, and affine maps of the codes, do not change a left inverse.
func TestLeftInverseInvariance(t *testing.T) {
	stream := rng.New(1, "codes")
	in := gridInput(ordinals(4, 5, 6), 3, func(l []int, z []float64) {
		for c := range z {
			z[c] = float64(l[c]) + stream.NormFloat64()
		}
	})
	mapped := gridInput(in.Factors, 3, func(l []int, z []float64) {
		y := in.Codes.Row(factor.Grid(in.Factors).Index(l))
		z[0], z[1], z[2] = 3*y[2]+1, y[0]-0.5*y[1], 1e3*y[1]+y[2]
	})
	shuffleRows(mapped)
	for _, name := range []string{"mse", "mae", "me"} {
		near(t, name, value(t, name, mapped), value(t, name, in), 1e-9)
	}
	s := &LeftInverse{Samples: 60}
	r, err := Evaluate(ctx, in, 3, []Choice{{Name: "mse", Value: s}})
	if err != nil || r[0].Basis.Rows != 60 || !(r[0].Value <= 2*value(t, "mse", in) && r[0].Value >= 0.5*value(t, "mse", in)) {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := s.Compute(ctx, in); err == nil {
		t.Error("no stream: no error")
	}
	// a categorical factor has distances 0 and 1
	in.Factors[0].Kind = factor.Categorical
	categorical := value(t, "mse", in)
	in.Factors[0].Kind = factor.Ordinal
	near(t, "categorical", categorical, value(t, "mse", in), 1e-12)
}

// chance lists the metrics that draw rows or break ties at random.
var chance = map[string]bool{"sampled": true, "dci-regression": true, "sap": true, "explicitness": true,
	"beta-vae": true, "factor-vae": true, "dci": true, "downstream": true, "r4": true, "r4c": true, "knn": true, "probe": true}

// Every deterministic metric is invariant to the order of rows, and no metric changes its input.
func TestMetricsArePure(t *testing.T) {
	long.NotShort(t)
	stream := rng.New(8, "codes")
	in := gridInput(ordinals(4, 5, 6), 7, func(l []int, z []float64) {
		for c := range z {
			z[c] = float64(l[c%3]) + stream.NormFloat64()
		}
	})
	in.Hierarchy, in.TrueHierarchy = make(hierarchy.Hierarchy, 7), make(hierarchy.Hierarchy, 3)
	for i := range in.Codes.Rows {
		in.Components, in.Paths = append(in.Components, i%4-1), append(in.Paths, i%3)
	}
	before := append([]float64(nil), in.Codes.Data...)
	shuffled := subset(in, rng.New(1, "order").Perm(in.Codes.Rows))
	for _, e := range entries() {
		if strings.HasPrefix(e.Name, "dlsbd") {
			continue
		}
		c := []Choice{fewRows(e.Name)}
		a := evaluated(t, in, c).Value
		if !chance[e.Name] {
			near(t, e.Name, evaluated(t, shuffled, c).Value, a, 1e-9)
		}
		must.Equal(t, a, evaluated(t, in, c).Value, e.Name, "another value the second time")
		for _, r := range []string{"nan", "levels", "hierarchy", "components", "paths"} {
			bad := *in
			bad.Codes.Data = append([]float64(nil), before...)
			bad.Levels = append([]int(nil), in.Levels...)
			switch r {
			case "nan":
				bad.Codes.Data[3] = math.NaN()
			case "levels":
				bad.Levels[5] = 77
			case "hierarchy":
				bad.Hierarchy = hierarchy.Hierarchy{{Options: []hierarchy.Hierarchy{}}}
			case "components":
				bad.Components = bad.Components[1:]
			case "paths":
				bad.Paths = make([]int, in.Codes.Rows)
				bad.Paths[3] = -1
			}
			if _, err := e.New().Compute(ctx, &bad); err == nil {
				t.Errorf("%s accepts bad %s; Compute begins with ready", e.Name, r)
			}
		}
	}
	for i, v := range in.Codes.Data {
		if v != before[i] {
			t.Fatal("a metric changed the codes")
		}
	}
}
