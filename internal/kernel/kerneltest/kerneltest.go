// Package kerneltest has helpers for tests of the kernels.
package kerneltest

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/unravel-ml/unravel/internal/kernel/simd"
	"github.com/unravel-ml/unravel/internal/long"
)

// Levels runs a test on every instruction set of the machine.
func Levels(t *testing.T, f func(t *testing.T)) {
	for _, l := range simd.Available() {
		restore := simd.Force(l)
		t.Run(l.String(), f)
		restore()
	}
}

// Threads runs f at several thread counts, by default at two, and returns its results.
func Threads(f func() [][]float32) [][][]float32 {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var all [][][]float32
	for _, n := range long.Sample([]int{1, 2, 16, 5}, 2) {
		runtime.GOMAXPROCS(n)
		all = append(all, f())
	}
	return all
}

// SameBits fails a test unless all results have the same bits.
func SameBits(t *testing.T, all [][][]float32) {
	t.Helper()
	for i := range all {
		for j := range all[i] {
			for k, v := range all[i][j] {
				if math.Float32bits(v) != math.Float32bits(all[0][j][k]) {
					t.Fatalf("result %d element %d depends on the thread count: %v and %v", j, k, all[0][j][k], v)
				}
			}
		}
	}
}

// Random returns n standard normal numbers.
func Random(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// Stale returns garbage, to detect elements that nothing writes.
func Stale(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(math.NaN())
	}
	return x
}

// Near checks got against want, with a bound that grows with the number of terms summed.
func Near(t *testing.T, what string, got []float32, want []float64, terms int) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
	}
	tolerance := 4e-7 * math.Sqrt(float64(terms)+4) * 4
	for i := range got {
		if !(math.Abs(float64(got[i])-want[i]) <= tolerance*(1+math.Abs(want[i]))) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

func Wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// Value returns the activation with a name, and its derivative.
func Value(name string, x float64) (y, slope float64) {
	switch name {
	case "relu":
		if x > 0 {
			return x, 1
		}
		return 0, 0
	case "sigmoid":
		y = 1 / (1 + math.Exp(-x))
		return y, y * (1 - y)
	case "tanh":
		y = math.Tanh(x)
		return y, 1 - y*y
	case "softplus":
		return math.Log1p(math.Exp(x)), 1 / (1 + math.Exp(-x))
	case "leaky-relu":
		if x > 0 {
			return x, 1
		}
		return float64(float32(.2)) * x, float64(float32(.2))
	}
	return x, 1
}

// Emulated runs f with the instructions for pairs, where the processor has them, and without, and compares the bits of its results.
func Emulated(t *testing.T, f func() [][]float32) {
	t.Helper()
	fast := f()
	if simd.Mixed() != nil {
		return
	}
	defer simd.Emulate()()
	SameBits(t, [][][]float32{f(), fast})
}

// Representable rounds numbers to bfloat16.
func Representable(arrays ...[]float32) {
	for _, x := range arrays {
		for i := range x {
			simd.PairRows(x[i:], x[i:], 1, 1, 0, 0)
			x[i] = math.Float32frombits(math.Float32bits(x[i]) << 16)
		}
	}
}

// Gflops reports the rate of a benchmark that does flop operations a round.
func Gflops(b *testing.B, flop float64) {
	b.ReportMetric(flop*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}
