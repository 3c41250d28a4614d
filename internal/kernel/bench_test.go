package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/internal/parallel"
)

// gflops reports the rate of a benchmark that does flop operations a round.
func gflops(b *testing.B, flop float64) {
	b.ReportMetric(flop*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

// convLayers are the layers of the conv64 networks, named by the channels of the big and the small image.
var convLayers = []struct{ side, big, small int }{{64, 1, 32}, {64, 3, 32}, {32, 32, 32}, {16, 32, 64}, {8, 64, 64}}

func BenchmarkConv(b *testing.B) {
	const batch = 64
	r := rand.New(rand.NewPCG(1, 1))
	for _, l := range convLayers {
		s := ConvShape{Batch: batch, InH: l.side, InW: l.side, InC: l.big, OutH: l.side / 2, OutW: l.side / 2, OutC: l.small, Kernel: 4, Stride: 2, PadH: 1, PadW: 1}
		t := s
		t.InH, t.InW, t.InC, t.OutH, t.OutW, t.OutC = s.OutH, s.OutW, s.OutC, s.InH, s.InW, s.InC
		flop := 2 * 16 * float64(l.big*l.small*batch*l.side*l.side/4)
		x, y := random(r, batch*l.side*l.side*l.big), random(r, batch*l.side*l.side/4*l.small)
		w, bias := random(r, 16*l.big*l.small), random(r, 64)
		dx, dy, dw, db := random(r, len(x)), random(r, len(y)), random(r, len(w)), random(r, 64)
		for _, precision := range []string{"", "mixed-"} {
			plan, planTransposed := NewConv, NewConvTranspose
			if precision != "" {
				plan, planTransposed = NewMixedConv, NewMixedConvTranspose
			}
			p, _ := plan(s, ReLUActivation)
			q, _ := planTransposed(t, ReLUActivation)
			run := func(pass string, flop float64, f func()) {
				b.Run(fmt.Sprintf("%dx%dx%d-%d/%s%s", l.side, l.side, l.big, l.small, precision, pass), func(b *testing.B) {
					for b.Loop() {
						f()
					}
					gflops(b, flop)
				})
			}
			run("forward", flop, func() { p.Forward(x, w, bias, y) })
			run("backward", 2*flop, func() { p.Backward(x, w, y, dy, dx, dw, db[:l.small]) })
			run("transposed-forward", flop, func() { q.Forward(y, w, bias, x) })
			run("transposed-backward", 2*flop, func() { q.Backward(y, w, x, dx, dy, dw, db[:l.big]) })
		}
	}
}

// BenchmarkDense times the passes of a dense layer, named by rows, inputs and outputs. peak is the part of the
// micro-kernel's rate on operands of one line that the pass reaches, both on all threads.
func BenchmarkDense(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, s := range [][3]int{{64, 1024, 256}, {64, 256, 1024}, {64, 256, 20}, {128, 1000, 4096}, {128, 4096, 1000}, {256, 1000, 1000}, {512, 1000, 1000},
		{1024, 1024, 1024}} {
		rows, in, out := s[0], s[1], s[2]
		x, w, bias, y := random(r, rows*in), random(r, in*out), random(r, out), random(r, rows*out)
		dx, dw, dy, db := random(r, rows*in), random(r, in*out), random(r, rows*out), random(r, out)
		p, _ := NewDense(rows, in, out, ReLUActivation)
		q, _ := NewMixedDense(rows, in, out, ReLUActivation)
		flop := 2 * float64(rows*in*out)
		run := func(pass string, flop float64, f func()) {
			b.Run(fmt.Sprintf("%dx%dx%d/%s", rows, in, out, pass), func(b *testing.B) {
				peak := peakRate()
				for b.Loop() {
					f()
				}
				gflops(b, flop)
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

// peakRate returns the GFLOP/s of the micro-kernel on all threads without moving operands: only multiplications and
// additions take time.
func peakRate() float64 {
	const steps, calls = 2000, 80
	best := 0.0
	for range 3 {
		start := time.Now()
		parallel.For(parallel.Threads(), func(int, int) {
			line, ahead := make([]float32, 12*32), make([]int32, steps)
			for range calls {
				p := panel{a: line, b: line, c: line, ahead: line, lines: ahead, cRow: 32, rows: 12, steps: steps, width: panelWidth(), columns: panelWidth()}
				p.compute()
			}
		})
		flop := 2 * 12 * float64(panelWidth()) * steps * calls * float64(parallel.Threads())
		best = max(best, flop/time.Since(start).Seconds()/1e9)
	}
	return best
}

func BenchmarkFunctions(b *testing.B) {
	x := random(rand.New(rand.NewPCG(1, 1)), 1<<14)
	y := make([]float32, len(x))
	for _, f := range []struct {
		name string
		f    func(dst, x []float32)
	}{{"exp", Exp}, {"log", Log}, {"tanh", Tanh}, {"sigmoid", Sigmoid}, {"softplus", Softplus}} {
		b.Run(f.name, func(b *testing.B) {
			for b.Loop() {
				f.f(y, x)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(x)), "ns/element")
		})
	}
}

// BenchmarkResNet18 times each kind of convolution of a ResNet-18 for images of 64x64x3, in a batch of 64; the rate
// counts the operations of a direct sum. The name has side, channels, kernel and stride. -cpu 1 is one thread, -cpu 2
// two (with a list, go test runs its first entry on the largest number of threads).
func BenchmarkResNet18(b *testing.B) {
	const batch = 64
	r := rand.New(rand.NewPCG(1, 1))
	for _, l := range []struct{ side, in, out, kernel, stride int }{
		{64, 3, 64, 3, 1}, {64, 64, 64, 3, 1}, {64, 64, 128, 3, 2}, {64, 64, 128, 1, 2}, {32, 128, 128, 3, 1}, {32, 128, 256, 3, 2}, {32, 128, 256, 1, 2},
		{16, 256, 256, 3, 1}, {16, 256, 512, 3, 2}, {16, 256, 512, 1, 2}, {8, 512, 512, 3, 1}} {
		side := l.side / l.stride
		s := ConvShape{Batch: batch, InH: l.side, InW: l.side, InC: l.in, OutH: side, OutW: side, OutC: l.out, Kernel: l.kernel, Stride: l.stride}
		s.PadH = max(0, (side-1)*l.stride+l.kernel-l.side) / 2
		s.PadW = s.PadH
		flop := 2 * float64(l.kernel*l.kernel*l.in*l.out) * float64(batch*side*side)
		x, y := random(r, batch*l.side*l.side*l.in), random(r, batch*side*side*l.out)
		w, bias := random(r, l.kernel*l.kernel*l.in*l.out), random(r, l.out)
		dx, dw := random(r, len(x)), random(r, len(w))
		for _, precision := range []string{"", "mixed-"} {
			plan := NewConv
			if precision != "" {
				plan = NewMixedConv
			}
			p, err := plan(s, LinearActivation)
			if err != nil {
				b.Fatal(err)
			}
			run := func(pass string, f func()) {
				b.Run(fmt.Sprintf("%dx%d-%d-k%ds%d/%s%s", l.side, l.in, l.out, l.kernel, l.stride, precision, pass), func(b *testing.B) {
					for b.Loop() {
						f()
					}
					gflops(b, flop)
				})
			}
			run("forward", func() { p.Forward(x, w, bias, y) })
			run("images", func() { p.Backward(x, w, y, y, dx, nil, nil) })
			run("filters", func() { p.Backward(x, w, y, y, nil, dw, nil) })
		}
	}
}
