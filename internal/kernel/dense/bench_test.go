package dense

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/kernel/kerneltest"
	"github.com/unravel-ml/unravel/internal/kernel/simd"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// BenchmarkDense times the passes of a dense layer. Names consist of rows, inputs and outputs. peak is the ratio of a
// pass's rate to the micro-kernel's rate on operands of one cache line, both on all threads.
func BenchmarkDense(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, s := range [][3]int{{64, 1024, 256}, {64, 256, 1024}, {64, 256, 20}, {128, 1000, 4096}, {128, 4096, 1000},
		{256, 1000, 1000}, {512, 1000, 1000}, {1024, 1024, 1024}} {
		rows, in, out := s[0], s[1], s[2]
		x, w, bias, y := kerneltest.Random(r, rows*in), kerneltest.Random(r, in*out), kerneltest.Random(r, out), kerneltest.Random(r, rows*out)
		dx, dw, dy, db := kerneltest.Random(r, rows*in), kerneltest.Random(r, in*out), kerneltest.Random(r, rows*out), kerneltest.Random(r, out)
		p, _ := New(rows, in, out, kernel.ReLUActivation)
		q, _ := NewMixed(rows, in, out, kernel.ReLUActivation)
		flop := 2 * float64(rows*in*out)
		run := func(pass string, flop float64, f func()) {
			b.Run(fmt.Sprintf("%dx%dx%d/%s", rows, in, out, pass), func(b *testing.B) {
				peak := peakRate()
				for b.Loop() {
					f()
				}
				kerneltest.Gflops(b, flop)
				b.ReportMetric(flop*float64(b.N)/b.Elapsed().Seconds()/1e9/max(peak, peakRate()), "peak")
			})
		}
		run("forward", flop, func() { p.Forward(x, w, bias, y) })
		run("backward", 2*flop, func() { p.Backward(x, w, y, dy, dx, dw, db) })
		run("mixed-forward", flop, func() { q.Forward(x, w, bias, y) })
		run("mixed-backward", 2*flop, func() { q.Backward(x, w, y, dy, dx, dw, db) })
		run("input", flop, func() { p.Backward(x, w, y, dy, dx, nil, nil) })
		run("weights", flop, func() { p.Backward(x, w, y, dy, nil, dw, db) })
	}
}

// peakRate returns the GFLOP/s of the micro-kernel on all threads if operands do not move: only arithmetic takes time.
func peakRate() float64 {
	const steps, calls = 2000, 80
	best := 0.0
	for range 3 {
		start := time.Now()
		parallel.For(parallel.Threads(), func(int, int) {
			line, ahead := make([]float32, 12*32), make([]int32, steps)
			for range calls {
				p := simd.Panel{A: line, B: line, C: line, Ahead: line, Lines: ahead, CRow: 32, Rows: 12, Steps: steps,
					Width: simd.PanelWidth(), Columns: simd.PanelWidth()}
				p.Compute()
			}
		})
		flop := 2 * 12 * float64(simd.PanelWidth()) * steps * calls * float64(parallel.Threads())
		best = max(best, flop/time.Since(start).Seconds()/1e9)
	}
	return best
}
