package conv

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/kernel/kerneltest"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// sameShape is a SAME convolution.
func sameShape(batch, h, w, in, out, side, stride int) kernel.ConvShape {
	s := kernel.ConvShape{Batch: batch, InH: h, InW: w, InC: in, OutH: (h + stride - 1) / stride,
		OutW: (w + stride - 1) / stride, OutC: out, Kernel: side, Stride: stride}
	s.PadH = max((s.OutH-1)*stride+side-h, 0) / 2
	s.PadW = max((s.OutW-1)*stride+side-w, 0) / 2
	return s
}

// The test covers all kernels and strides, on odd sizes and with channels that do and do not fill panels.
func TestConvolutionSizes(t *testing.T) {
	long.NotShort(t)
	channels := [][2]int{{1, 16}, {3, 17}, {16, 48}, {17, 16}, {48, 3}, {64, 64}, {16, 1}}
	kerneltest.Levels(t, func(t *testing.T) {
		i := 0
		for _, side := range []int{1, 2, 3, 4, 5, 7} {
			for _, stride := range []int{1, 2} {
				for _, size := range [][2]int{{1, 1}, {1, 9}, {5, 7}, {8, 8}, {13, 6}} {
					c := channels[i%len(channels)]
					s := sameShape(1+2*(i%2), size[0], size[1], c[0], c[1], side, stride)
					t.Run(fmt.Sprintf("%+v", s), func(t *testing.T) { checkConvolution(t, s, i%3 == 0, kernel.Activation(i%6), false) })
					i++
				}
			}
		}
		for _, c := range channels {
			for _, padding := range []int{0, 1, 2} {
				s := kernel.ConvShape{Batch: 6, InH: 9, InW: 6, InC: c[0], OutH: 7 + padding, OutW: 4 + padding, OutC: c[1],
					Kernel: 3, Stride: 1, PadH: padding, PadW: max(0, padding-1)}
				t.Run(fmt.Sprintf("%+v", s), func(t *testing.T) { checkConvolution(t, s, i%2 == 0, kernel.Activation(i%6), false) })
				i++
			}
		}
	})
}

// relative returns the greatest difference, relative to the root mean square of want.
func relative(got []float32, want []float64) float64 {
	worst, square := 0.0, 0.0
	for i, v := range want {
		if d := math.Abs(float64(got[i]) - v); !(d <= worst) {
			worst = d
		}
		square += v * v
	}
	return worst / math.Sqrt(square/float64(len(want)))
}

// Threads share tiles if the filters are large. The number of tiles at a time does not change the images. It only
// changes the order of sums in the filters' gradient.
func TestWinograd3Shared(t *testing.T) {
	long.NotShort(t)
	s := sameShape(4, 9, 4, 256, 144, 3, 1)
	kerneltest.Levels(t, func(t *testing.T) {
		checkConvolution(t, s, false, kernel.ReLUActivation, false)
		r := rand.New(rand.NewPCG(1, 2))
		x, w, bias := kerneltest.Random(r, s.Batch*s.InH*s.InW*s.InC), kerneltest.Random(r, 9*s.InC*s.OutC), kerneltest.Random(r, s.OutC)
		dy := kerneltest.Random(r, s.Batch*s.OutH*s.OutW*s.OutC)
		var all [][][]float32
		var dws [][]float32
		for _, high := range long.Sample([]int{12, 5, 1}, 2) {
			p := must.Get(New(s, kernel.LinearActivation))(t)
			if !p.fast.gather.shared || !p.fast.spread.shared || !p.fast.gradient.shared {
				t.Fatal("the threads do not share tiles")
			}
			p.fast.gather.blockRows, p.fast.spread.blockRows, p.fast.gradient.blockRows = high, high, high
			y, dx, dw := kerneltest.Stale(len(dy)), kerneltest.Stale(len(x)), kerneltest.Stale(len(w))
			p.Forward(x, w, bias, y)
			p.Backward(x, w, y, dy, dx, dw, nil)
			all, dws = append(all, [][]float32{y, dx}), append(dws, dw)
		}
		kerneltest.SameBits(t, all)
		for _, dw := range dws[1:] {
			if e := relative(dw, kerneltest.Wide(dws[0])); !(e < 1e-5) {
				t.Errorf("dw differs by %.2g of its root mean square", e)
			}
		}
	})
}

// The transforms have errors of at most 3e-5 relative to the results' root mean square. There are many channels, and
// the inputs come from a ReLU, so their mean is not 0.
func TestWinograd3Accuracy(t *testing.T) {
	s := sameShape(1, 12, 16, 512, 32, 3, 1)
	definitions := map[bool]definition{}
	kerneltest.Levels(t, func(t *testing.T) {
		for _, transposed := range []bool{false, true} {
			shape := s
			if transposed { // the images' gradient then sums over 512 channels
				shape.InC, shape.OutC = s.OutC, s.InC
			}
			r := rand.New(rand.NewPCG(3, 4))
			x, dy := kerneltest.Random(r, 192*shape.InC), kerneltest.Random(r, 192*shape.OutC)
			kernel.ReLUActivation.Apply(x)
			w := kerneltest.Random(r, 9*shape.InC*shape.OutC)
			for i := range w {
				w[i] *= float32(math.Sqrt(2.0 / 9 / 512))
			}
			p := must.Get(New(shape, kernel.LinearActivation))(t)
			y, dx, dw := kerneltest.Stale(len(dy)), kerneltest.Stale(len(x)), kerneltest.Stale(len(w))
			bias := make([]float32, shape.OutC)
			p.Forward(x, w, bias, y)
			p.Backward(x, w, y, dy, dx, dw, nil)
			want, ok := definitions[transposed]
			if !ok {
				want = define(shape, false, kernel.LinearActivation, x, w, bias, dy)
				definitions[transposed] = want
			}
			for what, c := range map[string]struct {
				got  []float32
				want []float64
			}{"y": {y, want.y}, "dx": {dx, want.dx}, "dw": {dw, want.dw}} {
				if e := relative(c.got, c.want); !(e < 3e-5) {
					t.Errorf("%d-%d %s: error %.2g of the root mean square, want less than 3e-5", shape.InC, shape.OutC, what, e)
				}
			}
		}
	})
}

// The method depends only on kernel, stride, channels and sides.
func TestWinograd3Fits(t *testing.T) {
	for _, c := range []struct {
		shape kernel.ConvShape
		want  bool
	}{
		{sameShape(64, 64, 64, 64, 64, 3, 1), true}, {sameShape(3, 5, 9, 16, 17, 3, 1), true}, {sameShape(12, 3, 3, 512, 512, 3, 1), true},
		{sameShape(64, 64, 64, 3, 64, 3, 1), false}, {sameShape(64, 64, 64, 64, 64, 3, 2), false}, {sameShape(64, 64, 64, 64, 64, 5, 1), false},
		{sameShape(64, 1, 64, 64, 64, 3, 1), false}, {sameShape(64, 2, 2, 64, 64, 3, 1), false}, {sameShape(1, 8, 8, 512, 512, 3, 1), true}, {sameShape(1, 64, 64, 64, 15, 3, 1), false},
	} {
		p := must.Get(New(c.shape, kernel.LinearActivation))(t)
		must.Equal(t, p.fast != nil, c.want, c.shape, "by tiles")
	}
}

// The result of an image has the same bits in any batch.
func TestConvBatches(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 7))
	random := func(n int) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = r.Float32() - 0.5
		}
		return v
	}
	for _, at := range []struct{ h, w, in, out, kernel, stride int }{
		{4, 4, 64, 64, 3, 1}, {8, 8, 64, 32, 3, 1}, {1, 16, 32, 16, 3, 1}, {5, 9, 16, 48, 3, 1}, {17, 31, 32, 2, 3, 1}, {9, 7, 16, 16, 3, 2}, {8, 8, 32, 32, 4, 2}, {7, 5, 3, 16, 1, 1},
	} {
		s := sameShape(1, at.h, at.w, at.in, at.out, at.kernel, at.stride)
		const most = 40
		size, result := s.InH*s.InW*s.InC, s.OutH*s.OutW*s.OutC
		x, w, bias := random(most*size), random(s.Kernel*s.Kernel*s.InC*s.OutC), random(s.OutC)
		run := func(n int) []float32 {
			s.Batch = n
			c := must.Get(New(s, 0))(t)
			y := make([]float32, n*result)
			c.Forward(x[:n*size], w, bias, y)
			return y
		}
		want := run(most)
		for _, n := range []int{1, 2, 8, 33} {
			if !slices.Equal(run(n), want[:n*result]) {
				t.Errorf("%+v: results of a batch of %d images are not those of %d", at, n, most)
			}
		}
	}
}
