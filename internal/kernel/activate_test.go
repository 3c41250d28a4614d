package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/unravel-ml/unravel/internal/kernel/kerneltest"
)

// Derivatives of activations that are functions of x agree with float64. An element's value does not depend on its
// position.
func TestSlopes(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	phi := func(x float64) float64 { return math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) }
	for _, c := range []struct {
		name  string
		f     func(dst, dy, x []float32)
		slope func(x float64) float64
	}{
		{"gelu", GELUActivation.Gradient, func(x float64) float64 { return math.Erfc(-x/math.Sqrt2)/2 + x*phi(x) }},
		{"silu", SiLUActivation.Gradient, func(x float64) float64 {
			s := 1 / (1 + math.Exp(-x))
			return s * (1 + x/(1+math.Exp(x)))
		}},
	} {
		kerneltest.Levels(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(5, 6))
			x := []float32{0, float32(math.Copysign(0, -1)), 1e-30, -1e-30, 20, -20, 100, -100, 3e38, -3e38, inf, -inf, nan}
			special := len(x)
			for len(x) < 3001 {
				x = append(x, 4*float32(r.NormFloat64()))
			}
			dy := kerneltest.Random(r, len(x))
			got := kerneltest.Stale(len(x))
			c.f(got, dy, x)
			for i, v := range x {
				want := c.slope(float64(v))
				switch v {
				case inf:
					want = 1
				case -inf:
					want = 0
				}
				if want *= float64(dy[i]); !(math.Abs(float64(got[i])-want) <= 1e-6*math.Abs(float64(dy[i]))) && v == v || v != v && got[i] == got[i] {
					t.Errorf("%s: the slope at %v times %v is %v, want %v", c.name, v, dy[i], got[i], want)
				}
			}
			for n := range 40 {
				part := kerneltest.Stale(n)
				c.f(part, dy[:n], x[:n])
				for i := range part {
					if math.Float32bits(part[i]) != math.Float32bits(got[i]) && part[i] == part[i] {
						t.Fatalf("%s: element %d of %d is %v, of %d it is %v", c.name, i, n, part[i], len(x), got[i])
					}
				}
			}
			same := append([]float32{}, dy...)
			c.f(same, same, x)
			for i := range same {
				if math.Float32bits(same[i]) != math.Float32bits(got[i]) && i != special-1 {
					t.Fatalf("%s: in place element %d is %v, want %v", c.name, i, same[i], got[i])
				}
			}
		})
	}
}

// If a function has one right result, the assembly gives the same bits as Go.
func TestExact(t *testing.T) {
	nan, minus := float32(math.NaN()), float32(math.Copysign(0, -1))
	kerneltest.Levels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 4))
		for _, n := range []int{0, 1, 15, 16, 17, 47, 300} {
			x, y := kerneltest.Random(r, n), kerneltest.Random(r, n)
			for i := range x {
				switch i % 7 {
				case 1:
					y[i] = x[i]
				case 2:
					x[i], y[i] = minus, minus
				case 3:
					x[i] = nan
				case 4:
					y[i] = nan
				}
			}
			left := kerneltest.Random(r, n)
			both := func(what string, assembly, plain func(dst, other []float32)) {
				t.Helper()
				got, want := append([]float32{}, y...), append([]float32{}, y...)
				other, same := append([]float32{}, left...), append([]float32{}, left...)
				assembly(got, other)
				plain(want, same)
				for i := range got {
					bits := math.Float32bits
					if (bits(got[i]) != bits(want[i]) || bits(other[i]) != bits(same[i])) && (got[i] == got[i] || want[i] == want[i]) {
						t.Errorf("%s: element %d of %d is %v (%v), want %v (%v)", what, i, n, got[i], other[i], want[i], same[i])
					}
				}
			}
			both("relu", func(d, _ []float32) { relu(d) }, func(d, _ []float32) { reluGo(d) })
			both("leaky", func(d, _ []float32) { leaky(d) }, func(d, _ []float32) { leakyGo(d) })
			both("eluGrad", func(d, _ []float32) { ELUActivation.Gradient(d, x, d) }, func(d, _ []float32) { ELUActivation.slopesGo(d, x, d) })
			both("Multiply", func(d, _ []float32) { Multiply(d, x, d) }, func(d, _ []float32) { multiplyGo(d, x, d) })
			both("Mix", func(d, l []float32) { Mix(d, 0.3, l, -1.7, x) }, func(d, l []float32) { mixGo(d, 0.3, l, -1.7, x) })
			both("Largest", func(d, _ []float32) { Largest(d, x) }, func(d, _ []float32) { largestGo(d, x) })
			both("Claim", func(d, l []float32) { Claim(d, l, x, y) }, func(d, l []float32) { claimGo(d, l, x, y) })
		}
	})
}

func BenchmarkActivations(b *testing.B) {
	const n = 4096
	r := rand.New(rand.NewPCG(1, 1))
	x, y, dy := kerneltest.Random(r, n), make([]float32, n), kerneltest.Random(r, n)
	for name, f := range map[string]func(){
		"copy": func() { copy(y, x) }, "relu": func() { copy(y, x); relu(y) }, "tanh": func() { Tanh(y, x) }, "elu": func() { exponentialUnit.compute(y, x) }, "gelu": func() { GELU(y, x) }, "silu": func() { SiLU(y, x) },
		"elu gradient": func() { ELUActivation.Gradient(y, dy, x) }, "gelu gradient": func() { GELUActivation.Gradient(y, dy, x) }, "silu gradient": func() { SiLUActivation.Gradient(y, dy, x) },
		"largest": func() { Largest(y, x) }, "claim": func() { Claim(y, dy, x, x) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(8 * n)
			for b.Loop() {
				f()
			}
		})
	}
}
