package dense

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/kernel/kerneltest"
	"github.com/unravel-ml/unravel/internal/kernel/simd"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// denseCases are sizes at and near the edges of panels, blocks of rows and pieces of long sums. Some have rows that
// share cache lines.
var denseCases = [][3]int{{1, 1, 1}, {8, 16, 32}, {64, 100, 48}, {7, 33, 17}, {130, 65, 20}, {100, 9, 1}, {65, 256, 70}, {5, 130, 33},
	{12, 384, 31}, {13, 385, 16}, {23, 700, 49}, {3, 1, 65}, {257, 2, 130}, {2, 641, 5}, {301, 70, 65}, {9, 1024, 100}, {21, 100, 1024}}

func TestDense(t *testing.T) {
	long.NotShort(t)
	kerneltest.Levels(t, func(t *testing.T) {
		for i, s := range denseCases {
			a := kernel.Activation(i % 6)
			t.Run(fmt.Sprint(s, a), func(t *testing.T) { checkDense(t, s[0], s[1], s[2], a, false) })
		}
	})
}

// checkDense compares a plan with the definition. For mixed precision, see checkConvolution.
func checkDense(t *testing.T, rows, in, out int, a kernel.Activation, mixed bool) [][]float32 {
	r := rand.New(rand.NewPCG(3, 4))
	x, w, bias, dy := kerneltest.Random(r, rows*in), kerneltest.Random(r, in*out), kerneltest.Random(r, out), kerneltest.Random(r, rows*out)
	for i := range w {
		w[i] /= float32(math.Sqrt(float64(in)))
	}
	if mixed {
		kerneltest.Representable(x, w, dy)
	}
	all := kerneltest.Threads(func() [][]float32 {
		var d interface {
			Forward(x, w, bias, y []float32)
			Backward(x, w, y, dy, dx, dw, db []float32)
		}
		var err error
		if mixed {
			d, err = NewMixed(rows, in, out, a)
		} else {
			d, err = New(rows, in, out, a)
		}
		must.OK(t, err)
		y, dx, dw, db := kerneltest.Stale(rows*out), kerneltest.Stale(rows*in), kerneltest.Stale(in*out), kerneltest.Stale(out)
		for range 2 {
			d.Forward(x, w, bias, y)
			d.Backward(x, w, y, dy, dx, dw, db)
		}
		d.Backward(x, w, y, dy, nil, nil, nil)
		return [][]float32{y, dx, dw, db}
	})
	kerneltest.SameBits(t, all)
	y, dx, dw, db := make([]float64, rows*out), make([]float64, rows*in), make([]float64, in*out), make([]float64, out)
	for m := range rows {
		for n := range out {
			sum := float64(bias[n])
			for k := range in {
				sum += float64(x[m*in+k]) * float64(w[k*out+n])
			}
			v, slope := kerneltest.Value(a.String(), sum)
			y[m*out+n] = v
			g := slope * float64(dy[m*out+n])
			db[n] += g
			for k := range in {
				dx[m*in+k] += g * float64(w[k*out+n])
				dw[k*out+n] += g * float64(x[m*in+k])
			}
		}
	}
	kerneltest.Near(t, "y", all[0][0], y, in)
	kerneltest.Near(t, "dx", all[0][1], dx, out)
	kerneltest.Near(t, "dw", all[0][2], dw, rows)
	kerneltest.Near(t, "db", all[0][3], db, rows)
	return all[0]
}

// The bits of a row do not depend on other rows: programs with other batch sizes give the same codes.
func TestDenseComputesRowsAlone(t *testing.T) {
	kerneltest.Levels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(4, 4))
		for _, s := range denseCases {
			rows, in, out := s[0], s[1], s[2]
			x, w, bias, dy := kerneltest.Random(r, rows*in), kerneltest.Random(r, in*out), kerneltest.Random(r, out), kerneltest.Random(r, rows*out)
			whole, _ := New(rows, in, out, kernel.LeakyActivation)
			alone, _ := New(1, in, out, kernel.LeakyActivation)
			y, dx := kerneltest.Stale(rows*out), kerneltest.Stale(rows*in)
			whole.Forward(x, w, bias, y)
			whole.Backward(x, w, y, dy, dx, nil, nil)
			for i := range rows {
				y1, dx1 := kerneltest.Stale(out), kerneltest.Stale(in)
				alone.Forward(x[i*in:(i+1)*in], w, bias, y1)
				alone.Backward(x[i*in:(i+1)*in], w, y1, dy[i*out:(i+1)*out], dx1, nil, nil)
				kerneltest.SameBits(t, [][][]float32{{y[i*out : (i+1)*out], dx[i*in : (i+1)*in]}, {y1, dx1}})
			}
		}
	})
}

// Other processors use other items and copies for a product, but get the same bits.
func TestDenseOnAnyProcessor(t *testing.T) {
	const rows, in, out = 313, 400, 1000
	r := rand.New(rand.NewPCG(6, 6))
	x, w, bias, dy := kerneltest.Random(r, rows*in), kerneltest.Random(r, in*out), kerneltest.Random(r, out), kerneltest.Random(r, rows*out)
	var results [][][]float32
	blocks := map[int]bool{}
	for _, c := range []simd.CPU{{Vendor: "AuthenticAMD", L2: 1 << 20}, {Vendor: "GenuineIntel", L2: 1 << 20}, {Vendor: "GenuineIntel", L2: 1 << 18}} {
		defer simd.PlanFor(c)()
		for _, n := range []int{rows, 40} {
			d, _ := New(n, in, out, kernel.ReLUActivation)
			y, dx, dw := kerneltest.Stale(rows*out), kerneltest.Stale(rows*in), kerneltest.Stale(in*out)
			d.Forward(x[:n*in], w, bias, y[:n*out])
			d.Backward(x[:n*in], w, y[:n*out], dy[:n*out], dx[:n*in], nil, nil)
			if n == rows {
				d.Backward(x, w, y, dy, nil, dw, nil)
				results, blocks[d.weights.block] = append(results, [][]float32{y, dx, dw}), true
			} else {
				kerneltest.SameBits(t, [][][]float32{{y[:n*out], dx[:n*in]}, {results[0][0][:n*out], results[0][1][:n*in]}})
			}
		}
	}
	kerneltest.SameBits(t, results)
	must.Equal(t, len(blocks), 2, "rows in an item", blocks)
}

// A number that is not finite affects only sums that contain it.
func TestDenseKeepsNonFinite(t *testing.T) {
	kerneltest.Levels(t, func(t *testing.T) {
		for _, a := range []kernel.Activation{kernel.LinearActivation, kernel.ReLUActivation, kernel.LeakyActivation} {
			for _, bad := range []float64{math.NaN(), math.Inf(1)} {
				rows, in, out := 27, 300, 41
				x, w, y := ones(rows*in), ones(in*out), kerneltest.Stale(rows*out)
				x[14*in+260] = float32(bad)
				d, _ := New(rows, in, out, a)
				d.Forward(x, w, make([]float32, out), y)
				dx, dw := kerneltest.Stale(rows*in), kerneltest.Stale(in*out)
				d.Backward(x, w, y, ones(rows*out), dx, dw, nil)
				for i, v := range y {
					finite := !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0)
					if finite != (i/out != 14) || !finite && math.IsNaN(float64(v)) != math.IsNaN(bad) {
						t.Fatalf("%v of %v: y[%d, %d] is %v", a, bad, i/out, i%out, v)
					}
				}
				for i, v := range dw {
					if finite := !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0); finite != (i/out != 260) {
						t.Fatalf("%v of %v: dw[%d, %d] is %v", a, bad, i/out, i%out, v)
					}
				}
			}
		}
	})
}

func ones(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = 1
	}
	return x
}

func TestPlanRefuses(t *testing.T) {
	if _, err := New(0, 3, 4, kernel.LinearActivation); err == nil {
		t.Error("a layer without rows was accepted")
	}
}

func TestMixedDense(t *testing.T) {
	for i, s := range [][3]int{{1, 1, 1}, {8, 16, 32}, {64, 100, 48}, {7, 33, 17}, {130, 65, 20}, {100, 9, 1},
		{65, 256, 70}, {300, 530, 11}, {31, 20, 800}} {
		a := kernel.Activation(i % 2)
		t.Run(fmt.Sprint(s, a), func(t *testing.T) {
			kerneltest.Emulated(t, func() [][]float32 { return checkDense(t, s[0], s[1], s[2], a, true) })
		})
	}
}

// Small products are one item of work. The rows of larger ones are divided into multiples of 12.
func TestItems(t *testing.T) {
	for _, c := range []struct{ m, k, n, block int }{{24, 8, 16, 24}, {25, 8, 16, 36}, {264, 4, 16, 264}, {265, 1, 16, 144}} {
		must.Equal(t, newMatmul(c.m, c.k, c.n).block, c.block, c, "rows of items")
	}
}
