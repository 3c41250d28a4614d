package interval

import (
	"context"
	"math"
	"testing"

	"github.com/unravel-ml/unravel/graph/rng"
)

// The interval of a mean is the one of its standard error. A bias of c/n is extrapolated to 0.
func TestHalves(t *testing.T) {
	const n = 1000
	x, s := make([]float64, n), rng.New(1, "interval")
	var square float64
	for i := range x {
		x[i] = float64(i%2)*2 - 1 // mean 0, variance 1
		square += x[i] * x[i] / n
	}
	of := func(rows []int) (sum float64) {
		for _, i := range rows {
			sum += x[i] / float64(len(rows))
		}
		return sum + 5/float64(len(rows))
	}
	v := Value{Value: 5.0 / n, Least: math.Inf(-1), Most: math.Inf(1), Repeats: 400, Rows: n, Used: n}
	got, err := Settings{Percent: 95}.Halves(context.Background(), v, s, func(rows []int, _ int, _ string) (float64, error) {
		return of(rows), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := math.Sqrt(square / n); math.Abs(got.Error/want-1) > 0.1 || math.Abs(got.Estimate) > 1e-12 || got.Way != Rows {
		t.Errorf("%+v; want the standard error %v, around 0", got, want)
	}
}
