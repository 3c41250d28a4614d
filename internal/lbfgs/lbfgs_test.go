package lbfgs

import (
	"errors"
	"math"
	"testing"
)

// TestMinimise minimises the multivariate Rosenbrock function and a distance, which has a kink.
func TestMinimise(t *testing.T) {
	rosenbrock := func(x, g []float64) float64 {
		sum := 0.0
		clear(g)
		for i := range len(x) - 1 {
			a, b := x[i+1]-x[i]*x[i], 1-x[i]
			sum += 100*a*a + b*b
			g[i] += -400*a*x[i] - 2*b
			g[i+1] += 200 * a
		}
		return sum
	}
	x := make([]float64, 20)
	if v, err := Minimise(rosenbrock, x, Settings{Iterations: 1000, Window: 10, Decrease: 1e-12}); err != nil || !(v <= 1e-15) {
		t.Errorf("%v at %v, %v", v, x, err)
	}
	distance := func(x, g []float64) float64 {
		r := math.Hypot(x[0]-3, 10*(x[1]+1))
		g[0], g[1] = (x[0]-3)/r, 100*(x[1]+1)/r
		return r
	}
	if v, err := Minimise(distance, []float64{0, 0}, Settings{Iterations: 1000, Window: 10, Decrease: 1e-9}); err != nil || !(v <= 1e-3) {
		t.Errorf("the least distance is %v, %v", v, err)
	}
	stop := errors.New("enough")
	if _, err := Minimise(distance, []float64{0, 0}, Settings{Iterations: 1000, Interrupt: func() error { return stop }}); err != stop {
		t.Errorf("an interrupt gives %v", err)
	}
}
