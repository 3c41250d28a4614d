package conv

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/kernel/kerneltest"
	"github.com/unravel-ml/unravel/internal/must"
)

// convLayers are the layers of the conv64 networks. The names have the channels of the big and the small image.
var convLayers = []struct{ side, big, small int }{{64, 1, 32}, {64, 3, 32}, {32, 32, 32}, {16, 32, 64}, {8, 64, 64}}

func BenchmarkConv(b *testing.B) {
	const batch = 64
	r := rand.New(rand.NewPCG(1, 1))
	for _, l := range convLayers {
		s := kernel.ConvShape{Batch: batch, InH: l.side, InW: l.side, InC: l.big, OutH: l.side / 2, OutW: l.side / 2,
			OutC: l.small, Kernel: 4, Stride: 2, PadH: 1, PadW: 1}
		t := s
		t.InH, t.InW, t.InC, t.OutH, t.OutW, t.OutC = s.OutH, s.OutW, s.OutC, s.InH, s.InW, s.InC
		flop := 2 * 16 * float64(l.big*l.small*batch*l.side*l.side/4)
		x, y := kerneltest.Random(r, batch*l.side*l.side*l.big), kerneltest.Random(r, batch*l.side*l.side/4*l.small)
		w, bias := kerneltest.Random(r, 16*l.big*l.small), kerneltest.Random(r, 64)
		dx, dy, dw, db := kerneltest.Random(r, len(x)), kerneltest.Random(r, len(y)), kerneltest.Random(r, len(w)), kerneltest.Random(r, 64)
		for _, precision := range []string{"", "mixed-"} {
			plan, planTransposed := New, NewTranspose
			if precision != "" {
				plan, planTransposed = NewMixed, NewMixedTranspose
			}
			p, _ := plan(s, kernel.ReLUActivation)
			q, _ := planTransposed(t, kernel.ReLUActivation)
			run := func(pass string, flop float64, f func()) {
				b.Run(fmt.Sprintf("%dx%dx%d-%d/%s%s", l.side, l.side, l.big, l.small, precision, pass), func(b *testing.B) {
					for b.Loop() {
						f()
					}
					kerneltest.Gflops(b, flop)
				})
			}
			run("forward", flop, func() { p.Forward(x, w, bias, y) })
			run("backward", 2*flop, func() { p.Backward(x, w, y, dy, dx, dw, db[:l.small]) })
			run("transposed-forward", flop, func() { q.Forward(y, w, bias, x) })
			run("transposed-backward", 2*flop, func() { q.Backward(y, w, x, dx, dy, dw, db[:l.big]) })
		}
	}
}

// BenchmarkResNet18 times each kind of convolution of a ResNet-18 for batches of 64 images of 64x64x3. The rate counts
// the operations of a direct sum. Names consist of side, channels, kernel and stride. Set one number of threads with
// -cpu: with a list, go test runs its first entry on the largest number of threads.
func BenchmarkResNet18(b *testing.B) {
	const batch = 64
	r := rand.New(rand.NewPCG(1, 1))
	for _, l := range []struct{ side, in, out, kernel, stride int }{
		{64, 3, 64, 3, 1}, {64, 64, 64, 3, 1}, {64, 64, 128, 3, 2}, {64, 64, 128, 1, 2}, {32, 128, 128, 3, 1}, {32, 128, 256, 3, 2}, {32, 128, 256, 1, 2},
		{16, 256, 256, 3, 1}, {16, 256, 512, 3, 2}, {16, 256, 512, 1, 2}, {8, 512, 512, 3, 1}} {
		side := l.side / l.stride
		s := kernel.ConvShape{Batch: batch, InH: l.side, InW: l.side, InC: l.in, OutH: side, OutW: side, OutC: l.out,
			Kernel: l.kernel, Stride: l.stride}
		s.PadH = max(0, (side-1)*l.stride+l.kernel-l.side) / 2
		s.PadW = s.PadH
		flop := 2 * float64(l.kernel*l.kernel*l.in*l.out) * float64(batch*side*side)
		x, y := kerneltest.Random(r, batch*l.side*l.side*l.in), kerneltest.Random(r, batch*side*side*l.out)
		w, bias := kerneltest.Random(r, l.kernel*l.kernel*l.in*l.out), kerneltest.Random(r, l.out)
		dx, dw := kerneltest.Random(r, len(x)), kerneltest.Random(r, len(w))
		for _, precision := range []string{"", "mixed-"} {
			plan := New
			if precision != "" {
				plan = NewMixed
			}
			p := must.Get(plan(s, kernel.LinearActivation))(b)
			run := func(pass string, f func()) {
				b.Run(fmt.Sprintf("%dx%d-%d-k%ds%d/%s%s", l.side, l.in, l.out, l.kernel, l.stride, precision, pass), func(b *testing.B) {
					for b.Loop() {
						f()
					}
					kerneltest.Gflops(b, flop)
				})
			}
			run("forward", func() { p.Forward(x, w, bias, y) })
			run("images", func() { p.Backward(x, w, y, y, dx, nil, nil) })
			run("filters", func() { p.Backward(x, w, y, y, nil, dw, nil) })
		}
	}
}
