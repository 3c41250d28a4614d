package geometry

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// Equations with many solutions have the solution of minimum norm, also if a rounding error makes them regular.
func TestMinimumNorm(t *testing.T) {
	for _, c := range []struct {
		a, b, want []float64
	}{
		{[]float64{2, 0, 0, 4}, []float64{6, 4}, []float64{3, 1}},
		{[]float64{1, 1, 1, 1}, []float64{2, 2}, []float64{1, 1}},
		{[]float64{1, 2, 2, 4}, []float64{5, 10}, []float64{1, 2}},
		{[]float64{1, 1, 1, 1 + 1e-14}, []float64{2, 2}, []float64{1, 1}},
		{[]float64{1e-9, 0, 0, 1}, []float64{1e-9, 3}, []float64{1, 3}},
		{[]float64{0, 0, 0, 0}, []float64{1, 1}, []float64{0, 0}},
	} {
		got := minimumNorm(mat.NewSymDense(2, c.a), mat.NewVecDense(2, c.b))
		for i, want := range c.want {
			if !(math.Abs(got[i]-want) <= 1e-6) {
				t.Errorf("%v x = %v: x is %v, want %v", c.a, c.b, got, c.want)
			}
		}
	}
}
