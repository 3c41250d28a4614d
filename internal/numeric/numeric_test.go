package numeric

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/must"
)

// points are arguments of activations, without the kink at 0.
var points = []float64{-30, -5, -1.5, -0.5, -1e-3, 1e-3, 0.5, 1.5, 5, 30}

// activations are the definitions of the activations.
var activations = map[kernel.Activation]func(x float64) float64{
	kernel.LinearActivation:   func(x float64) float64 { return x },
	kernel.ReLUActivation:     func(x float64) float64 { return max(x, 0) },
	kernel.LeakyActivation:    func(x float64) float64 { return max(x, 0.2*x) },
	kernel.TanhActivation:     math.Tanh,
	kernel.SigmoidActivation:  func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
	kernel.SoftplusActivation: func(x float64) float64 { return math.Log1p(math.Exp(x)) },
	kernel.ELUActivation: func(x float64) float64 {
		if x > 0 {
			return x
		}
		return math.Expm1(x)
	},
	kernel.GELUActivation: func(x float64) float64 { return x * math.Erfc(-x/math.Sqrt2) / 2 },
	kernel.SiLUActivation: func(x float64) float64 { return x / (1 + math.Exp(-x)) },
}

// slope is the central difference quotient of a function.
func slope(f func(float64) float64, x float64) float64 {
	const h = 1e-5
	return (f(x+h) - f(x-h)) / (2 * h)
}

// Activations agree with their definitions, and their derivatives agree with finite differences.
func TestActivations(t *testing.T) {
	for a, f := range activations {
		y, dx, second := make([]float64, len(points)), make([]float64, len(points)), make([]float64, len(points))
		Activate(a, y, points)
		dy := make([]float64, len(points))
		for i := range dy {
			dy[i] = float64(i) - 3
		}
		at := y
		if !a.FromValue() {
			at = points
		}
		ActivationGradient(a, dx, dy, at)
		ActivationCurvature(a, second, at)
		ones, of := []float64{1}, make([]float64, 1)
		for i, x := range points {
			if want := f(x); !(math.Abs(y[i]-want) <= 1e-12*max(1, math.Abs(want))) {
				t.Errorf("%v of %v is %v, want %v", a, x, y[i], want)
			}
			if want := dy[i] * slope(f, x); !(math.Abs(dx[i]-want) <= 1e-8) {
				t.Errorf("%v: the gradient at %v is %v, want %v", a, x, dx[i], want)
			}
			derivative := func(v float64) float64 { // as a function of the value, or of x
				ActivationGradient(a, of, ones, []float64{v})
				return of[0]
			}
			want := slope(derivative, at[i])
			if a == kernel.ReLUActivation {
				want = 0 // the value 0 is a kink
			}
			if !(math.Abs(second[i]-want) <= 1e-8) {
				t.Errorf("%v: the curvature at %v is %v, want %v", a, at[i], second[i], want)
			}
		}
	}
}

// At a kink, the derivative of an activation is its derivative on the left side.
func TestKinks(t *testing.T) {
	for a, want := range map[kernel.Activation]float64{kernel.ReLUActivation: 0, kernel.LeakyActivation: 0.2, kernel.ELUActivation: 1} {
		double, single := []float64{0}, []float32{0}
		ActivationGradient(a, double, []float64{1}, []float64{0})
		ActivationGradient(a, single, []float32{1}, []float32{0})
		if double[0] != want || single[0] != float32(want) {
			t.Errorf("%v: slopes %v and %v at 0, want %v", a, double[0], single[0], want)
		}
	}
}

// Functions in float32 agree with float64.
func TestSingles(t *testing.T) {
	single := Convert[float32](points)
	for name, f := range map[string]struct {
		single func(dst, x []float32)
		double func(dst, x []float64)
		want   func(float64) float64
	}{
		"exp":     {Exp[float32], Exp[float64], math.Exp},
		"tanh":    {Tanh[float32], Tanh[float64], math.Tanh},
		"sigmoid": {Sigmoid[float32], Sigmoid[float64], activations[kernel.SigmoidActivation]},
	} {
		s, d := make([]float32, len(points)), make([]float64, len(points))
		f.single(s, single)
		f.double(d, points)
		for i, x := range points {
			want := f.want(x)
			if !(math.Abs(d[i]-want) <= 1e-15*max(1, want)) || !(math.Abs(float64(s[i])-want) <= 1e-5*math.Abs(want)+1e-37) {
				t.Errorf("%s of %v is %v and %v, want %v", name, x, s[i], d[i], want)
			}
		}
	}
	for _, x := range []float64{-800, 800} {
		must.Equal(t, Logistic(x), max(0, math.Copysign(1, x)), "logistic of", x)
		must.Equal(t, Softplus(x), max(0, x), "softplus of", x)
	}
}

func TestSums(t *testing.T) {
	a, b := []float64{1, -2, 3}, []float64{4, 1, -1}
	check := func(name string, got, want float64) {
		t.Helper()
		must.Equal(t, got, want, name)
	}
	for _, single := range []bool{false, true} {
		if single {
			x, y := []float32{1, -2, 3}, []float32{4, 1, -1}
			check("square", Square(x), 14)
			check("dot", Dot(x, y), -1)
			check("product", Product(x, y), -1)
			check("sum", Sum(x), 2)
			check("squared error", SquaredError(x, y), 9+9+16)
			continue
		}
		check("square", Square(a), 14)
		check("dot", Dot(a, b), -1)
		check("product", Product(a, b), -1)
		check("sum", Sum(a), 2)
		check("squared error", SquaredError(a, b), 9+9+16)
	}
}

// Normalised vectors have norm 1, and their gradients are orthogonal to them. Vectors near zero are multiplied by a
// constant.
func TestMeanDeviation(t *testing.T) {
	mean, deviation := MeanDeviation([]float64{1, 2, 6})
	must.Equal(t, mean, 3, "mean")
	must.Equal(t, deviation, math.Sqrt(7), "deviation")
	one, none := MeanDeviation([]float64{5})
	must.Equal(t, one, 5, "mean of one number")
	must.Equal(t, math.IsNaN(none), true, "deviation of one number")
}

func TestNormalise(t *testing.T) {
	v, y, dv, dy := []float64{3, 4}, make([]float64, 2), make([]float64, 2), []float64{1, 2}
	if s := Normalise(y, v); s != 25 || !(math.Abs(y[0]-0.6) <= 1e-15) || !(math.Abs(y[1]-0.8) <= 1e-15) {
		t.Errorf("%v, square %v", y, s)
	}
	NormaliseGradient(dv, y, dy, 25)
	if !(math.Abs(dv[0]-(1-2.2*0.6)/5) <= 1e-15) || !(math.Abs(dv[1]-(2-2.2*0.8)/5) <= 1e-15) {
		t.Errorf("gradient %v", dv)
	}
	for _, square := range []float64{0, 1e-14, 1e-12} { // of the norm
		v = []float64{math.Sqrt(square), 0}
		s := Normalise(y, v)
		NormaliseGradient(dv, y, dy, s)
		if want := 1e6 * v[0]; !(math.Abs(y[0]-want) <= 1e-9) || y[1] != 0 || !(math.Abs(dv[0]-1e6) <= 1e-6) || !(math.Abs(dv[1]-2e6) <= 1e-6) {
			t.Errorf("square %v: %v, gradient %v", square, y, dv)
		}
	}
}

// Sums of distances and slopes agree with the definition for any number of points in a block, serial or parallel.
func TestDistances(t *testing.T) {
	const columns = 3
	random := rand.New(rand.NewPCG(8, 1))
	most := 2*kernel.PairLanes + kernel.PairSources + 3
	x := make([]float64, most*columns)
	for i := range x {
		x[i] = random.NormFloat64()
	}
	copy(x[columns:2*columns], x[:columns]) // a distance of 0
	for _, serial := range []bool{false, true} {
		d := NewDistances[float64](most, columns, serial)
		for _, rows := range []int{1, 2, kernel.PairLanes - 1, kernel.PairLanes, kernel.PairLanes + 1, 2 * kernel.PairLanes, most} {
			d.Points.Set(x[:rows*columns], rows)
			sum, slopes := 0.0, make([]float64, rows*columns)
			for i := range rows {
				for j := range rows {
					of := 0.0
					for k := range columns {
						of = math.Hypot(of, x[i*columns+k]-x[j*columns+k])
					}
					sum += of
					for k := range columns {
						if of > 0 {
							slopes[i*columns+k] += (x[i*columns+k] - x[j*columns+k]) / of
						}
					}
				}
			}
			if got := d.Sum(); !(math.Abs(got-sum) <= 1e-9*max(1, sum)) {
				t.Errorf("%d rows: sum %v, want %v", rows, got, sum)
			}
			d.Slopes()
			for c := range columns {
				for i, got := range d.Slope.Column(c) {
					if want := slopes[i*columns+c]; !(math.Abs(got-want) <= 1e-9*float64(rows)) {
						t.Fatalf("%d rows: slope %d in column %d is %v, want %v", rows, i, c, got, want)
					}
				}
			}
			d.Ended = func() bool { return true }
			must.Equal(t, d.Sum(), 0, rows, "rows: sum", "after the end")
			d.Ended = nil
		}
	}
}

// A loop calls its body once for every block, and adds the results in order for any number of threads.
func TestLoop(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	terms := []float64{1, 1e16, -1e16} // other orders give other sums
	for _, c := range []struct {
		n    int
		want []int // begins of blocks, and the end
	}{{0, []int{0, 0}}, {1, []int{0, 1}}, {5, []int{0, 5}}, {6, []int{0, 5, 6}}, {10, []int{0, 5, 10}}, {11, []int{0, 5, 10, 11}}} {
		var ends [4]int
		l := NewLoop(11, 5, func(lo, hi int) float64 {
			ends[lo/5] = hi
			return terms[lo/5]
		})
		l.Resize(c.n)
		sum := l.Run()
		want := 0.0
		for i := range len(c.want) - 1 {
			want += terms[i]
		}
		if blocks := len(c.want) - 1; sum != want || !slices.Equal(ends[:blocks], c.want[1:]) || ends[blocks] != 0 {
			t.Errorf("%d elements: %v, sum %v; want %v, sum %v", c.n, ends, sum, c.want, want)
		}
	}
}
