package metrics_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

func TestBin(t *testing.T) {
	for name, c := range map[string]struct {
		values  []float64
		bins    int
		levels  []int
		centres []float64
	}{
		"edges":    {[]float64{0, 1, 2, 3, 4}, 4, []int{0, 1, 2, 3, 3}, []float64{0.5, 1.5, 2.5, 3.5}},
		"gaps":     {[]float64{10, 0, 9.5}, 10, []int{1, 0, 1}, []float64{0.5, 9.5}},
		"constant": {[]float64{7, 7}, 20, []int{0, 0}, []float64{7}},
		"one bin":  {[]float64{-1, 3}, 1, []int{0, 0}, []float64{1}},
		"huge":     {[]float64{-0x1.8p1023, 0x1.8p1023}, 2, []int{0, 1}, []float64{-0x1.8p1022, 0x1.8p1022}},
	} {
		levels, centres, err := Bin(c.values, c.bins)
		if err != nil || !reflect.DeepEqual(levels, c.levels) || !reflect.DeepEqual(centres, c.centres) {
			t.Errorf("%s: %v, %v, %v; want %v, %v", name, levels, centres, err, c.levels, c.centres)
		}
	}
	for want, c := range map[string]struct {
		values []float64
		bins   int
	}{
		"no values":            {nil, 5},
		"value 1 is NaN":       {[]float64{0, math.NaN()}, 5},
		"value 0 is +Inf":      {[]float64{math.Inf(1)}, 5},
		"bins: 0 is out of":    {[]float64{0}, 0},
		"10001 is out of rang": {[]float64{0}, 10001},
	} {
		if _, _, err := Bin(c.values, c.bins); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
}

// continuous returns an input with one factor of two bins, whose values are the codes.
func continuous() *Input {
	values := []float64{0, 0.25, 1, 3, 4}
	return &Input{Codes: matrix.Matrix{Rows: 5, Cols: 1, Data: values}, Levels: []int{0, 0, 0, 1, 1},
		Factors: []factor.Factor{{Name: "x", Size: 2, Kind: factor.Ordinal, Values: []float64{1, 3}}}, Exact: [][]float64{values}}
}

// Values are exact. Levels come from bins.
func TestExact(t *testing.T) {
	in := continuous()
	near(t, "mse of exact values", value(t, "mse", in), 0, 1e-15)
	near(t, "contraction of exact values", value(t, "contraction-max", in), 0, 1e-15)
	near(t, "diameter of bins", value(t, "diameter", in), 1, 1e-15)
	in.Exact[0] = []float64{0, 0, 0, 4, 4}
	exact := compute(t, &LeftInverse{Units: "range"}, in).Value
	in.Exact = nil
	near(t, "mse of values of levels", value(t, "mse", in), exact, 1e-15)
	if exact == 0 {
		t.Error("the exact values were not used")
	}
	in = continuous()
	in.Codes.Data = []float64{0, 0, 0, 0, 0}
	near(t, "largest contraction", value(t, "contraction-max", in), 4, 1e-15)
	ranged := &Contraction{Max: true, Units: "range"}
	near(t, "largest contraction of the range", compute(t, ranged, in).Value, 1, 1e-15)
	in.Exact[0] = []float64{-math.MaxFloat64, 0, 0, 0, math.MaxFloat64}
	near(t, "scaled without overflow", compute(t, ranged, in).Value, 1, 1e-15)
	for _, name := range []string{"contraction-max", "contraction-mean", "mse", "mae", "me"} {
		if _, err := choice(name).Value.Compute(ctx, in); err == nil {
			t.Errorf("%s: values whose range is not a number: no error", name)
		}
	}
	in.Exact[0] = []float64{2, 2, 2, 2, 2}
	near(t, "constant", value(t, "contraction-max", in), 0, 0)
	near(t, "constant, of its range", compute(t, ranged, in).Value, 0, 0)
}

func TestExactMistakes(t *testing.T) {
	for want, change := range map[string]func(in *Input){
		"exact values of 2 factors":                        func(in *Input) { in.Exact = append(in.Exact, nil) },
		`factor "x" has 4 exact values; want one for each`: func(in *Input) { in.Exact[0] = in.Exact[0][:4] },
		"row 2 has the value NaN":                          func(in *Input) { in.Exact[0] = []float64{0, 0, math.NaN(), 0, 0} },
		`factor "x" is circular, but has exact values`:     func(in *Input) { in.Factors[0].Kind = factor.Circular },
	} {
		in := continuous()
		change(in)
		must.Error(t, in.Validate(), want)
	}
	in := continuous()
	in.Exact[0] = nil
	if err := in.Validate(); err != nil {
		t.Errorf("a factor without exact values: %v", err)
	}
}
