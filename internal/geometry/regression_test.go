package geometry_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize/convex/lp"

	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// The criteria of a fit.
const (
	squares = iota
	absolute
	largest
)

// checkFit tests that a fit is consistent, and proves by duality that it is optimal: multipliers that are orthogonal to
// all maps give a lower bound of the optimum.
func checkFit(t *testing.T, x []float64, columns int, y []float64, targets int, f *geometry.Regression, sense int) {
	t.Helper()
	n := len(y) / targets
	sizes := make([]float64, targets)
	for k := range targets {
		base := y[k]
		for i := range n {
			sizes[k] = max(sizes[k], math.Abs(y[i*targets+k]-base))
		}
		scale := max(sizes[k], 1e-300)
		rounding := tolerated(f, x, columns, k) + 1e-12*scale + 1e-14*math.Abs(base)
		size := extent(x, columns)
		dual, worth, sum, value := 0.0, 0.0, 0.0, 0.0
		pulls := make([]float64, columns)
		for i := range n {
			s, rest := f.Signs[i*targets+k], f.Residuals[i*targets+k]
			if h := predict(f, x[i*columns:(i+1)*columns], k); !(math.Abs(y[i*targets+k]-h-rest) <= rounding) {
				t.Errorf("target %d, row %d: y - h(x) is %v, the residual %v", k, i, y[i*targets+k]-h, rest)
				return
			}
			dual += s * (y[i*targets+k] - base)
			sum += s
			worth = max(worth, math.Abs(s))
			for j := range columns {
				pulls[j] += s * (x[i*columns+j] - x[j])
			}
			switch sense {
			case squares:
				value += rest * rest / float64(n)
			case absolute:
				value += math.Abs(rest) / float64(n)
			case largest:
				value = max(value, math.Abs(rest))
			}
		}
		if !(math.Abs(value-f.Errors[k]) <= 1e-12*value) {
			t.Errorf("target %d: error %v, want %v", k, f.Errors[k], value)
		}
		switch sense {
		case squares:
			scale *= scale
			worth, dual = 0, dual/float64(n) // r.y = r.r where r is orthogonal to the fit
		case absolute:
			dual /= float64(n)
		case largest:
			worth = 0
			for i := range n {
				worth += math.Abs(f.Signs[i*targets+k])
			}
		}
		if !(worth <= 1+1e-9) || !(math.Abs(dual-value) <= 1e-9*scale+rounding) {
			t.Errorf("target %d: value %v, bound %v, multipliers %v", k, value, dual, worth)
		}
		limit := 1e-9 * float64(n) * max(1, magnitude(f.Signs))
		if !(math.Abs(sum) <= limit) || !(magnitude(pulls) <= limit*size) {
			t.Errorf("target %d: the multipliers add up to %v, and with the points to %v", k, sum, pulls)
		}
	}
}

func predict(f *geometry.Regression, x []float64, k int) float64 {
	h := f.Intercept[k]
	for j, v := range x {
		h += f.Weights[j*len(f.Intercept)+k] * v
	}
	return h
}

// tolerated is a bound of the rounding error of a prediction.
func tolerated(f *geometry.Regression, x []float64, columns, k int) float64 {
	w := 0.0
	for j := range columns {
		w += math.Abs(f.Weights[j*len(f.Intercept)+k])
	}
	return 1e-13 * w * magnitude(x)
}

func TestDrawnRegressions(t *testing.T) {
	long.NotShort(t)
	r := rand.New(rand.NewPCG(3, 1))
	for c := range cases(5000) {
		columns, n := 1+r.IntN(7), 1+r.IntN(60)
		if c%100 < 10 && c%1000 < 100 {
			n = 1000
		}
		x, y := problem(r, n, columns, 2, c)
		t.Run(fmt.Sprintf("case %d, %d x %d", c, n, columns), func(t *testing.T) {
			for sense, f := range []func() (*geometry.Regression, error){
				func() (*geometry.Regression, error) { return leastSquares(x, columns, y, 2, 0) },
				func() (*geometry.Regression, error) {
					return leastAbsolute(x, columns, y, 2)
				},
				func() (*geometry.Regression, error) { return minimax(x, columns, y, 2) },
			} {
				fit := must.Get(f())(t)
				checkFit(t, x, columns, y, 2, fit, sense)
			}
		})
	}
}

// If numbers differ by many orders of magnitude, fits are at least as good as constants.
func TestWildRegressions(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 1))
	for c := range 2000 {
		columns, n := 1+r.IntN(5), 2+r.IntN(50)
		x, y := make([]float64, n*columns), draw(r, n, 1, c)
		for i := range x {
			x[i] = math.Exp(10 * r.NormFloat64())
		}
		constant := make([]float64, n)
		for name, solve := range map[string]func(x []float64, columns int, y []float64, targets int) (*geometry.Regression, error){
			"absolute": leastAbsolute, "minimax": minimax,
		} {
			f, err := solve(x, columns, y, 1)
			if err != nil {
				t.Fatalf("case %d, %s: %v", c, name, err)
			}
			if best, _ := solve(constant, 1, y, 1); !(f.Errors[0] <= best.Errors[0]*(1+1e-9)) {
				t.Errorf("case %d, %s: %v, that of a constant is %v", c, name, f.Errors[0], best.Errors[0])
			}
		}
	}
}

// TestLinearProgram compares the optima with gonum's simplex method.
func TestLinearProgram(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	for c := range 200 {
		columns, n := 1+r.IntN(3), 6+r.IntN(10)
		x, y := draw(r, n, columns, 0), draw(r, n, 1, 0)
		fit := must.Get(leastAbsolute(x, columns, y, 1))(t)
		best := must.Get(minimax(x, columns, y, 1))(t)
		if got, want := fit.Errors[0]*float64(n), leastAbsoluteLP(t, x, columns, y); !(math.Abs(got-want) <= 1e-8) {
			t.Errorf("case %d: sum of absolute deviations %v, want %v", c, got, want)
		}
		if got, want := best.Errors[0], minimaxLP(t, x, columns, y); !(math.Abs(got-want) <= 1e-8) {
			t.Errorf("case %d: largest error %v, want %v", c, got, want)
		}
	}
}

// leastAbsoluteLP minimises sum u+v with X(p-q) + u - v = y for nonnegative p, q, u, v.
func leastAbsoluteLP(t *testing.T, x []float64, columns int, y []float64) float64 {
	n, p := len(y), columns+1
	a, cost := mat.NewDense(n, 2*p+2*n, nil), make([]float64, 2*p+2*n)
	for i := range n {
		for j := range p {
			v := 1.0
			if j < columns {
				v = x[i*columns+j]
			}
			a.Set(i, j, v)
			a.Set(i, p+j, -v)
		}
		a.Set(i, 2*p+i, 1)
		a.Set(i, 2*p+n+i, -1)
		cost[2*p+i], cost[2*p+n+i] = 1, 1
	}
	value, _, err := lp.Simplex(cost, a, y, 1e-12, nil)
	must.OK(t, err)
	return value
}

// minimaxLP minimises s with X(p-q) - s + u = y and X(p-q) + s - v = y.
func minimaxLP(t *testing.T, x []float64, columns int, y []float64) float64 {
	n, p := len(y), columns+1
	a, cost := mat.NewDense(2*n, 2*p+1+2*n, nil), make([]float64, 2*p+1+2*n)
	cost[2*p] = 1
	for i := range n {
		for j := range p {
			v := 1.0
			if j < columns {
				v = x[i*columns+j]
			}
			for k := range 2 {
				a.Set(k*n+i, j, v)
				a.Set(k*n+i, p+j, -v)
			}
		}
		a.Set(i, 2*p, -1)
		a.Set(n+i, 2*p, 1)
		a.Set(i, 2*p+1+i, 1)
		a.Set(n+i, 2*p+1+n+i, -1)
	}
	value, _, err := lp.Simplex(cost, a, append(append([]float64{}, y...), y...), 1e-12, nil)
	must.OK(t, err)
	return value
}

func TestMinimumNorm(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	one := draw(r, 50, 1, 0)
	var x, y []float64
	for _, v := range one { // a repeated column, a constant, and a multiple
		x = append(x, v, v, 7, 2*v)
		y = append(y, 6*v+1)
	}
	f := must.Get(leastSquares(x, 4, y, 1, 0))(t)
	for j, want := range []float64{1, 1, 0, 2} {
		if !(math.Abs(f.Weights[j]-want) <= 1e-12) {
			t.Fatalf("weights %v, want the shortest, 1 1 0 2", f.Weights)
		}
	}
	if !(math.Abs(f.Intercept[0]-1) <= 1e-12) || !(f.Errors[0] <= 1e-24) {
		t.Errorf("intercept %v, error %v, want 1 and 0", f.Intercept, f.Errors)
	}
}

// With a ridge, the derivative of the criterion with respect to each weight is 0.
func TestRidge(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	x, y := draw(r, 40, 3, 0), draw(r, 40, 2, 0)
	for i := range x {
		x[i] *= 1e-3
	}
	const ridge = 1e-6
	value := func(f *geometry.Regression) float64 {
		sum := 0.0
		for i := range 40 {
			for k := range 2 {
				d := y[i*2+k] - predict(f, x[i*3:i*3+3], k)
				sum += d * d / 80
			}
		}
		for _, w := range f.Weights {
			sum += ridge * w * w
		}
		return sum
	}
	f := must.Get(leastSquares(x, 3, y, 2, ridge))(t)
	best := value(f)
	if none, _ := leastSquares(x, 3, y, 2, 0); !(value(none) >= best+1e-6 && magnitude(none.Weights) >= 1.1*magnitude(f.Weights)) {
		t.Errorf("the ridge makes no difference: value %v, %v without; weights %v, %v without", best, value(none), f.Weights, none.Weights)
	}
	for _, w := range [][]float64{f.Weights, f.Intercept} {
		for j := range w {
			was, h := w[j], 1e-3*magnitude(w)
			for _, w[j] = range []float64{was + h, was - h} {
				if !(value(f) > best) {
					t.Errorf("a step from %v to %v lowers %v to %v", was, w[j], best, value(f))
				}
			}
			w[j] = was
		}
	}
}

// The gradients from the multipliers agree with finite differences.
func TestRegressionGradients(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	const n, columns = 25, 3
	x, y := draw(r, n, columns, 0), draw(r, n, 1, 0)
	for sense, c := range []struct {
		solve  func() (*geometry.Regression, error)
		factor float64
	}{
		{func() (*geometry.Regression, error) { return leastSquares(x, columns, y, 1, 0) }, 2.0 / n},
		{func() (*geometry.Regression, error) {
			return leastAbsolute(x, columns, y, 1)
		}, 1.0 / n},
		{func() (*geometry.Regression, error) { return minimax(x, columns, y, 1) }, 1},
	} {
		f := must.Get(c.solve())(t)
		for i := range x {
			want := -c.factor * f.Signs[i/columns] * f.Weights[i%columns]
			was := x[i]
			x[i] = was + 1e-6
			up, _ := c.solve()
			x[i] = was - 1e-6
			down, _ := c.solve()
			x[i] = was
			if got := (up.Errors[0] - down.Errors[0]) / 2e-6; !(math.Abs(got-want) <= 1e-7) {
				t.Errorf("sense %d: gradient of element %d is %v, want %v", sense, i, want, got)
			}
		}
	}
}

func BenchmarkRegressions(b *testing.B) {
	for _, kind := range []int{0, 5} {
		r := rand.New(rand.NewPCG(8, 1))
		x, y := draw(r, 10000, 10, kind), draw(r, 10000, 1, kind)
		f := new(geometry.Regression)
		for name, solve := range map[string]func() error{
			"squares":  func() error { return f.LeastSquares(x, 10, y, 1, 0) },
			"absolute": func() error { return f.LeastAbsolute(x, 10, y, 1) },
			"minimax":  func() error { return f.Minimax(x, 10, y, 1) },
		} {
			b.Run(fmt.Sprintf("%s of kind %d", name, kind), func(b *testing.B) {
				for b.Loop() {
					must.OK(b, solve())
				}
			})
		}
	}
}

func BenchmarkSets(b *testing.B) {
	r := rand.New(rand.NewPCG(9, 1))
	x := draw(r, 4096, 16, 0)
	ball, median := new(geometry.Ball), new(geometry.Median)
	b.Run("ball", func(b *testing.B) {
		for b.Loop() {
			must.OK(b, ball.Enclose(x, 16))
		}
	})
	b.Run("median", func(b *testing.B) {
		for b.Loop() {
			must.OK(b, median.Fit(x, 16))
		}
	})
}

func TestAllocations(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 1))
	x, y := draw(r, 300, 4, 5), draw(r, 300, 2, 5)
	ball, median, fit := new(geometry.Ball), new(geometry.Median), new(geometry.Regression)
	dx := make([]float64, len(x))
	for name, run := range map[string]func() error{
		"ball":     func() error { defer ball.Gradient(1, dx); return ball.Enclose(x, 4) },
		"median":   func() error { defer median.Gradient(1, dx); return median.Fit(x, 4) },
		"line":     func() error { return median.Fit(x, 1) },
		"squares":  func() error { return fit.LeastSquares(x, 4, y, 2, 1) },
		"absolute": func() error { return fit.LeastAbsolute(x, 4, y, 2) },
		"minimax":  func() error { return fit.Minimax(x, 4, y, 2) },
		"joint":    func() error { return fit.JointMinimax(x, 4, y, 2) },
	} {
		must.OK(t, run())
		if n := testing.AllocsPerRun(5, func() { run() }); n > 0 {
			t.Errorf("%s: %v allocations, want 0", name, n)
		}
	}
}

// BenchmarkLeastSquares times a fit of 5 targets to 10,000 points with 10 columns.
func BenchmarkLeastSquares(b *testing.B) {
	points, targets := make([]float64, 10000*10), make([]float64, 10000*5)
	for i := range points {
		points[i] = float64(i*i%9973) / 9973
	}
	for i := range targets {
		targets[i] = float64(i * i % 7)
	}
	var r geometry.Regression
	for b.Loop() {
		must.OK(b, r.LeastSquares(points, 10, targets, 5, 0))
	}
}
