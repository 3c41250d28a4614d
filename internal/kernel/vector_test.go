package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/unravel-ml/unravel/internal/kernel/kerneltest"
)

// ulps returns the distance of a float32 from a value, in units of the last place of this value.
func ulps(got float32, want float64) float64 {
	w := float32(want)
	if got == w || math.IsNaN(want) && got != got {
		return 0
	}
	if math.IsInf(want, 0) || math.IsInf(float64(got), 0) || got != got || math.IsNaN(want) {
		return math.Inf(1)
	}
	unit := float64(math.Nextafter32(float32(math.Abs(want)), float32(math.Inf(1)))) - math.Abs(float64(w))
	return math.Abs(float64(got)-want) / unit
}

func TestFunctions(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	special := []float32{0, float32(math.Copysign(0, -1)), inf, -inf, nan, 1, -1, 100, -100, 88.7, -87.5, 89, -104, 1e-8,
		-1e-8, 1e-30, 3e38, -3e38, 0.625, 0.62499, 16, -16, 17.5}
	for _, c := range []struct {
		name    string
		f       func(dst, x []float32)
		want    func(x float64) float64
		points  func(r *rand.Rand) float64
		special []float32
		ulps    float64
	}{
		{"exp", Exp, math.Exp, func(r *rand.Rand) float64 { return r.Float64()*170 - 86 }, special, 2},
		{"log", Log, math.Log, func(r *rand.Rand) float64 { return math.Exp(r.Float64()*170 - 85) }, []float32{0, 1, -1, inf, nan, 1e-40, 1e-45, 3e38, 0.75, 1.5, 1.4999999, 0.99999994, 1.0000001}, 3},
		{"tanh", Tanh, math.Tanh, func(r *rand.Rand) float64 { return r.NormFloat64() * 3 }, special, 3},
		{"sigmoid", Sigmoid, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, func(r *rand.Rand) float64 { return r.NormFloat64() * 10 }, []float32{0, inf, nan, 1, -1, 80, -80}, 3},
		{"elu", exponentialUnit.compute, func(x float64) float64 { return math.Max(x, 0) + math.Expm1(math.Min(x, 0)) },
			func(r *rand.Rand) float64 { return r.NormFloat64() * 4 }, special, 4},
		{"gelu", GELU, func(x float64) float64 {
			if math.IsInf(x, -1) {
				return 0
			}
			return x * math.Erfc(-x/math.Sqrt2) / 2
		}, func(r *rand.Rand) float64 { return r.NormFloat64() * 4 }, special, 8},
		{"silu", SiLU, func(x float64) float64 {
			if math.IsInf(x, -1) {
				return 0
			}
			return x / (1 + math.Exp(-x))
		}, func(r *rand.Rand) float64 { return r.NormFloat64() * 10 }, special, 4},
		{"softplus", Softplus, func(x float64) float64 { return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) },
			func(r *rand.Rand) float64 { return r.NormFloat64() * 10 }, []float32{0, inf, -inf, nan, 1, -1, 80, -80, -17, 17, 200}, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			kerneltest.Levels(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(5, 6))
				x := append([]float32{}, c.special...)
				for len(x) < 10007 {
					x = append(x, float32(c.points(r)))
				}
				y := kerneltest.Stale(len(x))
				c.f(y, x)
				for i, v := range x {
					want := c.want(float64(v))
					if math.Abs(want) < 1.2e-38 && math.Abs(float64(y[i])-want) < 1e-38 {
						continue // subnormal results may be flushed
					}
					if u := ulps(y[i], want); !(u <= c.ulps) {
						t.Fatalf("%s(%v) = %v, want %v: %.3g units in the last place", c.name, v, y[i], want, u)
					}
				}
				for n := range 40 { // an element's value does not depend on its position
					part := kerneltest.Stale(n)
					c.f(part, x[:n])
					for i := range part {
						if math.Float32bits(part[i]) != math.Float32bits(y[i]) && part[i] == part[i] {
							t.Fatalf("%s: element %d of %d is %v, of %d it is %v", c.name, i, n, part[i], len(x), y[i])
						}
					}
				}
			})
		})
	}
}

func TestArrays(t *testing.T) {
	kerneltest.Levels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(7, 8))
		for _, n := range []int{0, 1, 15, 16, 17, 100, 4096, 10001} {
			x, y := kerneltest.Random(r, n), kerneltest.Random(r, n)
			var sum, squares, dot float64
			added, scaled, mixed := make([]float64, n), make([]float64, n), make([]float64, n)
			for i := range n {
				a, b := float64(x[i]), float64(y[i])
				sum, squares, dot = sum+a, squares+a*a, dot+a*b
				added[i], scaled[i], mixed[i] = a+b, -1.5*b, a-1.5*b
			}
			for _, c := range []struct {
				name      string
				got, want float64
			}{{"Sum", Sum(x), sum}, {"SumSquares", SumSquares(x), squares}, {"Dot", Dot(x, y), dot}} {
				if !(math.Abs(c.got-c.want) <= 1e-5*(1+math.Sqrt(float64(n)))) {
					t.Errorf("%s of %d elements is %v, want %v", c.name, n, c.got, c.want)
				}
			}
			z := append([]float32{}, x...)
			Add(z, y)
			kerneltest.Near(t, "Add", z, added, 1)
			Scale(z, -1.5, y)
			kerneltest.Near(t, "Scale", z, scaled, 1)
			copy(z, x)
			AddScaled(z, -1.5, y)
			kerneltest.Near(t, "AddScaled", z, mixed, 1)
		}
	})
}

func TestPixelLoss(t *testing.T) {
	kerneltest.Levels(t, func(t *testing.T) {
		for _, n := range []int{1, 16, 31, 4096, 20003} {
			r := rand.New(rand.NewPCG(9, 1))
			l, x := kerneltest.Random(r, n), kerneltest.Random(r, n)
			var gaussian, linear, bernoulli float64
			dGaussian, dBernoulli := make([]float64, n), make([]float64, n)
			for i := range n {
				v, w := float64(l[i]), float64(x[i])
				s := 1 / (1 + math.Exp(-v))
				gaussian += (s - w) * (s - w)
				linear += (v - w) * (v - w)
				bernoulli += math.Log1p(math.Exp(v)) - w*v
				dGaussian[i], dBernoulli[i] = 2*(s-w)*s*(1-s), 0.5*(s-w)
			}
			y, d, e := kerneltest.Stale(n), kerneltest.Stale(n), kerneltest.Stale(n)
			sums := []float32{float32(SigmoidError(y, l, x)), float32(SquaredError(l, x)), float32(LogisticError(l, x))}
			SigmoidErrorGrad(d, y, x, 2)
			LogisticErrorGrad(e, l, x, 0.5)
			kerneltest.Near(t, "sums", sums, []float64{gaussian, linear, bernoulli}, 10)
			kerneltest.Near(t, "gaussian gradient", d, dGaussian, 1)
			kerneltest.Near(t, "bernoulli gradient", e, dBernoulli, 1)
		}
	})
}

func TestAdam(t *testing.T) {
	kerneltest.Levels(t, func(t *testing.T) {
		sizes := []int{3, 16, 50000}
		k := AdamConstants{LearningRate: 1e-2, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-7, Clip: 0.5}
		const decay, steps = 0.1, 3
		start, gradients := make([][]float32, 3), make([][][]float32, steps)
		r := rand.New(rand.NewPCG(2, 2))
		for i, n := range sizes {
			start[i] = kerneltest.Random(r, n)
			for s := range gradients {
				gradients[s] = append(gradients[s], kerneltest.Random(r, n))
			}
		}
		all := kerneltest.Threads(func() [][]float32 {
			p, m, v := make([][]float32, 3), make([][]float32, 3), make([][]float32, 3)
			for i, n := range sizes {
				p[i], m[i], v[i] = append([]float32{}, start[i]...), make([]float32, n), make([]float32, n)
			}
			a := NewAdam(p, m, v)
			for s, g := range gradients {
				a.Update(g, s+1, k, decay)
			}
			return append(p, []float32{float32(a.Norm(gradients[0]))})
		})
		kerneltest.SameBits(t, all)
		var squares float64
		for i, n := range sizes {
			want := make([]float64, n)
			for j := range n {
				p, m, v := float64(start[i][j]), 0.0, 0.0
				squares += float64(gradients[0][i][j]) * float64(gradients[0][i][j])
				for s := range steps {
					g := 0.5 * float64(gradients[s][i][j])
					p *= 1 - k.LearningRate*decay
					m, v = 0.9*m+0.1*g, 0.999*v+0.001*g*g
					hat := v / (1 - math.Pow(0.999, float64(s+1)))
					p -= k.LearningRate * m / (1 - math.Pow(0.9, float64(s+1))) / (math.Sqrt(hat) + 1e-7)
				}
				want[j] = p
			}
			kerneltest.Near(t, fmt.Sprint("parameter ", i), all[0][i], want, 10)
		}
		kerneltest.Near(t, "norm", all[0][3], []float64{math.Sqrt(squares)}, 10)
	})
}

func TestActivationNames(t *testing.T) {
	for a := LinearActivation; a <= LeakyActivation; a++ {
		if got, err := ParseActivation(a.String()); got != a || err != nil {
			t.Errorf("ParseActivation(%q) = %v, %v", a, got, err)
		}
	}
	if _, err := ParseActivation("selu"); err == nil {
		t.Error("an unknown activation was accepted")
	}
}
