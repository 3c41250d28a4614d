package geometry

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// Points with known principal axes, and the same points after a rotation.
func TestPCA(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	const n = 400
	sin, cos := math.Sincos(0.3)
	x := make([]float64, 0, 3*n)
	for range n {
		a, b := 5*r.NormFloat64(), r.NormFloat64()
		x = append(x, 7+cos*a-sin*b, -1e3+sin*a+cos*b, 4)
	}
	c := must.Get(PCA(x, 3))(t)
	if !(math.Abs(c.Sigma[0]-5) <= 0.5) || !(math.Abs(c.Sigma[1]-1) <= 0.2) || !(c.Sigma[2] <= 1e-12) ||
		!(math.Abs(c.Axes[0][0]-cos) <= 0.02) || !(math.Abs(c.Axes[0][1]-sin) <= 0.02) {
		t.Errorf("%+v", c)
	}
	y := c.Project(x, 2)
	var sums, squares [2]float64
	var mixed, distance float64
	for i := range n {
		for k := range 2 {
			sums[k] += y[2*i+k] / n
			squares[k] += y[2*i+k] * y[2*i+k] / (n - 1)
		}
		mixed += y[2*i] * y[2*i+1] / n
		dx, dy := x[3*i]-x[0], x[3*i+1]-x[1]
		distance = max(distance, math.Abs(math.Hypot(dx, dy)-math.Hypot(y[2*i]-y[0], y[2*i+1]-y[1])))
	}
	for k := range 2 {
		if !(math.Abs(sums[k]) <= 1e-10) || !(math.Abs(math.Sqrt(squares[k])-c.Sigma[k]) <= 1e-9) {
			t.Errorf("coordinate %d: mean %v, variance %v, want %v squared", k, sums[k], squares[k], c.Sigma[k])
		}
	}
	if !(math.Abs(mixed) <= 1e-10) || !(distance <= 1e-9) {
		t.Errorf("covariance %v, distances change by %v", mixed, distance)
	}
	for _, axis := range c.Axes {
		largest := 0.0
		for _, w := range axis {
			if math.Abs(w) > math.Abs(largest) {
				largest = w
			}
		}
		if !(largest > 0) {
			t.Errorf("axis %v", axis)
		}
	}
}

func TestPCAFewPoints(t *testing.T) {
	c, err := PCA([]float64{1, 0, 0, 3, 0, 0}, 3)
	if err != nil || len(c.Axes) != 2 || !(math.Abs(c.Sigma[0]-math.Sqrt2) <= 1e-12) || !(c.Sigma[1] <= 1e-12) {
		t.Fatalf("%+v, %v", c, err)
	}
	y := c.Project([]float64{1, 0, 0, 3, 0, 0}, 3) // there is no third axis
	if !(math.Abs(y[0]+1) <= 1e-12) || !(math.Abs(y[3]-1) <= 1e-12) || y[2] != 0 || y[5] != 0 {
		t.Errorf("%v", y)
	}
	if one, err := PCA([]float64{1, 2}, 2); err != nil || one.Sigma[0] != 0 {
		t.Errorf("%+v, %v", one, err)
	}
	for _, columns := range []int{0, 2} {
		if _, err := PCA([]float64{1, 2, 3}, columns); err == nil {
			t.Errorf("%d columns: no error", columns)
		}
	}
}
