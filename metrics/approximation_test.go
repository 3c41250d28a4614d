package metrics_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// The metric variance is the distance of codes to their product approximation. The metric mse is the distance of
// factors to the left inverse.
func TestApproximate(t *testing.T) {
	for _, name := range []string{"entanglement", "rotation", "misalignment"} {
		in, sub := encoded(t, name)
		a := must.Get(Approximate(ctx, in, sub, AssignAuto))(t)
		square := func(x, y matrix.Matrix) (sum float64) {
			for i, v := range x.Data {
				sum += (v - y.Data[i]) * (v - y.Data[i])
			}
			return sum / float64(x.Rows)
		}
		s := NewSubCodeDeviation(factor.Variance)
		s.Codes = sub
		near(t, name+", variance", square(in.Codes, a.Product), compute(t, s, in).Value, 1e-12)
		near(t, name+", mse", square(a.Values, a.LeftInverse)/3, compute(t, &LeftInverse{Error: MeanSquaredError}, in).Value, 1e-9)
	}
}

func TestApproximateUnknown(t *testing.T) {
	_, some := gappy()
	some.Factors = some.Factors[:3]
	var levels []int
	for i := range some.Codes.Rows {
		levels = append(levels, some.Levels[4*i:4*i+3]...)
	}
	some.Levels = levels
	a, err := Approximate(ctx, some, factor.SubCodes{some.Factors[0].Name: {0}, some.Factors[2].Name: {2, 3}}, AssignAuto)
	must.OK(t, err)
	for i := range some.Codes.Rows {
		unknown := some.Levels[3*i] < 0
		if row := a.Product.Row(i); math.IsNaN(row[0]) != unknown || row[1] != some.Codes.Row(i)[1] || math.IsNaN(row[2]) ||
			math.IsNaN(a.LeftInverse.Row(i)[0]) {
			t.Fatalf("row %d, unknown %v: %v of the codes %v", i, unknown, row, some.Codes.Row(i))
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := Approximate(ended, some, nil, AssignBest); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v; want that of the context", err)
	}
	if _, err := Approximate(ctx, &Input{Codes: some.Codes}, nil, AssignAuto); err == nil {
		t.Error("no factors are no error")
	}
}
