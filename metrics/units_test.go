package metrics_test

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// unitCases are codes of three continuous factors with the ranges 0..0.1, -3..2 and 0..100.
var unitCases = []string{"affine", "identity", "nonlinear", "shrunk"}

func unitsInput(t *testing.T, name string) (in *Input, factors []float64) {
	t.Helper()
	dir := filepath.Join("testdata/units", name)
	codes, y := golden[float64](t, dir, "codes.npy"), golden[float64](t, dir, "factors.npy")
	levels, k := golden[int](t, dir, "factor_index.npy"), y.Shape[1]
	in = &Input{Codes: matrix.Matrix{Rows: codes.Shape[0], Cols: codes.Shape[1], Data: codes.Data}, Levels: levels.Data,
		Exact: make([][]float64, k)}
	for j := range k {
		f := factor.Factor{Name: fmt.Sprint("y", j), Kind: factor.Ordinal}
		for i := range in.Codes.Rows {
			in.Exact[j] = append(in.Exact[j], y.Data[i*k+j])
			f.Size = max(f.Size, 1+levels.Data[i*k+j])
		}
		in.Factors = append(in.Factors, f)
	}
	return in, y.Data
}

func TestUnitsGolden(t *testing.T) {
	for _, name := range unitCases {
		t.Run(name, func(t *testing.T) {
			var want map[string]expectation
			readJSON(t, filepath.Join("testdata/units", name, "expected.json"), &want)
			in, _ := unitsInput(t, name)
			check, checked := goldens(t, want)
			for key, metric := range map[string]string{"contraction_max": "contraction-max", "contraction_mean": "contraction-mean"} {
				r := compute(t, choice(metric).Value, in)
				check(key, r.Part("score")...)
				check(key+"_raw", r.Value)
			}
			for _, key := range []string{"mse", "mae"} {
				r := compute(t, choice(key).Value, in)
				check(key, r.Part("score")...)
				check(key+"_per_factor_raw", r.Part("per_factor")...)
			}
			r := compute(t, &MaxError{Fit: FitMinimaxByFactor}, in)
			check("me_chebyshev_per_factor_raw", r.Part("per_factor")...)
			r = compute(t, &MaxError{Fit: FitMinimax}, in)
			check("me_joint_raw", r.Value)
			if low := r.Part("lower_bound")[0]; !(low <= r.Value && low >= r.Value*(1-1e-10)) {
				t.Errorf("me_joint_raw: %v, proven to be %v or more", r.Value, low)
			}
			must.Equal(t, len(checked), len(want))
		})
	}
}

// A loss of factor values equals the metric of the same name, for any ranges of the factors.
func TestLossesHaveTheUnitsOfMetrics(t *testing.T) {
	for _, name := range unitCases {
		in, factors := unitsInput(t, name)
		shape := tensor.WithShape(in.Codes.Rows, len(in.Factors))
		g := gorgonia.NewGraph()
		z := gorgonia.NodeFromAny(g, tensor.New(tensor.WithShape(in.Codes.Rows, in.Codes.Cols),
			tensor.WithBacking(in.Codes.Data)), gorgonia.WithName("z"))
		y := gorgonia.NodeFromAny(g, tensor.New(shape, tensor.WithBacking(factors)), gorgonia.WithName("y"))
		for loss, want := range map[string]struct {
			metric Metric
			node   func() (*gorgonia.Node, error)
		}{
			"contraction, mean": {choice("contraction-mean").Value, func() (*gorgonia.Node, error) {
				return losses.Contraction(losses.ContractionSettings{Aggregate: factor.Mean}, z, y, nil)
			}},
			"contraction, max": {choice("contraction-max").Value, func() (*gorgonia.Node, error) {
				return losses.Contraction(losses.ContractionSettings{Aggregate: factor.Max}, z, y, nil)
			}},
			"least squares":     {choice("mse").Value, func() (*gorgonia.Node, error) { return losses.LeftInverse(losses.LeastSquares, 0, z, y, nil) }},
			"least absolute":    {choice("mae").Value, func() (*gorgonia.Node, error) { return losses.LeftInverse(losses.LeastAbsolute, 0, z, y, nil) }},
			"minimax":           {&MaxError{Fit: FitMinimax}, func() (*gorgonia.Node, error) { return losses.LeftInverse(losses.Minimax, 0, z, y, nil) }},
			"minimax by factor": {&MaxError{Fit: FitMinimaxByFactor}, func() (*gorgonia.Node, error) { return losses.LeftInverse(losses.MinimaxByFactor, 0, z, y, nil) }},
		} {
			n := must.Get(want.node())(t)
			m := gorgonia.NewTapeMachine(g)
			must.OK(t, m.RunAll())
			m.Close()
			metric := compute(t, want.metric, in).Value
			near(t, name+": "+loss, n.Value().Data().(float64), metric, 1e-9*(1+math.Abs(metric)))
		}
	}
}

// A rotation of factors with unequal ranges keeps their distances. Codes 0.01 y with y in 0..100 shorten distances by
// up to 99.
func TestUnitsOfDistances(t *testing.T) {
	in, factors := unitsInput(t, "identity")
	in.Codes = matrix.Matrix{Rows: in.Codes.Rows, Cols: 3, Data: make([]float64, len(factors))}
	sin, cos := math.Sincos(0.7)
	for i := range in.Codes.Rows {
		y, z := factors[3*i:3*i+3], in.Codes.Row(i)
		a, b := cos*y[0]-sin*y[1], sin*y[0]+cos*y[1]
		z[0], z[1], z[2] = a, cos*b-sin*y[2], sin*b+cos*y[2]
	}
	near(t, "contraction-max of a rotation", value(t, "contraction-max", in), 0, 1e-12)
	near(t, "contraction-mean of a rotation", value(t, "contraction-mean", in), 0, 1e-12)

	in = continuous()
	in.Exact[0] = []float64{0, 10, 55, 90, 100}
	for i, y := range in.Exact[0] {
		in.Codes.Data[i] = 0.01 * y
	}
	near(t, "contraction-max of 0.01 y", value(t, "contraction-max", in), 99, 1e-12)
}

// Units change only continuous factors, and equally in all metrics.
func TestUnits(t *testing.T) {
	in, _ := unitsInput(t, "nonlinear")
	scaled := *in
	scaled.Exact = make([][]float64, len(in.Factors))
	for j, values := range in.Exact {
		low, high := math.Inf(1), math.Inf(-1)
		for _, v := range values {
			low, high = min(low, v), max(high, v)
		}
		for _, v := range values {
			scaled.Exact[j] = append(scaled.Exact[j], (v-low)/(high-low))
		}
	}
	levels := *in
	levels.Exact = nil
	for name, metric := range map[string]func(u Units) Metric{
		"contraction-max":  func(u Units) Metric { return &Contraction{Max: true, Units: u} },
		"contraction-mean": func(u Units) Metric { return &Contraction{Units: u} },
		"mse":              func(u Units) Metric { return &LeftInverse{Error: MeanSquaredError, Units: u} },
		"mae":              func(u Units) Metric { return &LeftInverse{Error: MeanAbsoluteError, Units: u} },
		"me":               func(u Units) Metric { return &MaxError{Fit: FitLeastSquares, Units: u} },
	} {
		asGiven := compute(t, metric("as-given"), in).Value
		near(t, name+", zero value", compute(t, metric(""), in).Value, asGiven, 0)
		near(t, name+", default", value(t, name, in), asGiven, 0)
		near(t, name+", range", compute(t, metric("range"), in).Value, compute(t, metric("as-given"), &scaled).Value, 1e-12)
		near(t, name+", levels", compute(t, metric("range"), &levels).Value, compute(t, metric("as-given"), &levels).Value, 0)
		if !(asGiven >= 10*compute(t, metric("range"), in).Value) {
			t.Errorf("%s: %v as given is not far from the value of the range", name, asGiven)
		}
		must.ErrorOf(metric("metres").Compute(ctx, in))(t, `units: unknown units "metres"; want as-given or range`, name)
	}
}

func TestTableUnits(t *testing.T) {
	for _, e := range Registry.Entries {
		if e.Units == "" {
			t.Errorf("%s: no units", e.Name)
		}
	}
	for _, name := range []string{"mutual-information", "total-correlation", "med", "mig"} {
		if e, err := Registry.Lookup(name); err != nil || !strings.Contains(e.Units, "nats") {
			t.Errorf("%s: units %q, %v; want nats", name, e.Units, err)
		}
	}
	for _, name := range []string{"kl", "tc", "conditional-tc", "info-nce", "reconstruction"} {
		if e, err := losses.Registry.Lookup(name); err != nil || !strings.Contains(e.Units, "nats") {
			t.Errorf("loss %s: units %q, %v; want nats", name, e.Units, err)
		}
	}
}
