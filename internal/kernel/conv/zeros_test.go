package conv

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/kernel/kerneltest"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// In the forward pass a pixel is exactly 0 if all its inputs are 0. Otherwise rounding would decide whether a ReLU lets
// its gradient pass.
func TestForwardZeros(t *testing.T) {
	long.NotShort(t)
	kerneltest.Levels(t, func(t *testing.T) {
		for _, l := range convLayers {
			t.Run(fmt.Sprintf("%dx%dx%d", l.side, l.big, l.small), func(t *testing.T) { checkZeros(t, l.side, l.big, l.small) })
		}
		for _, c := range long.Sample([][2]int{{16, 16}, {32, 64}, {256, 144}, {33, 17}}, 2) {
			for _, padding := range []int{0, 1, 2} {
				t.Run(fmt.Sprintf("kernel 3 of %d to %d, padding %d", c[0], c[1], padding), func(t *testing.T) { checkZeros3(t, c[0], c[1], padding) })
			}
		}
	})
}

// checkZeros tests a convolution with kernel 4 and stride 2, and its transpose. The images are 0 except for a patch in
// the middle.
func checkZeros(t *testing.T, side, big, small int) {
	const batch = 2
	r := rand.New(rand.NewPCG(1, 4))
	half := side / 2
	patch := func(side, channels int) []float32 {
		x := make([]float32, batch*side*side*channels)
		for i := range x {
			if row, column := i/channels/side%side, i/channels%side; min(row, column) >= side/2-1 && max(row, column) <= side/2+1 {
				x[i] = r.Float32() - 0.5
			}
		}
		return x
	}
	s := kernel.ConvShape{Batch: batch, InH: side, InW: side, InC: big, OutH: half, OutW: half, OutC: small, Kernel: 4,
		Stride: 2, PadH: 1, PadW: 1}
	p := must.Get(New(s, kernel.LinearActivation))(t)
	y := kerneltest.Stale(batch * half * half * small)
	p.Forward(patch(side, big), kerneltest.Random(r, 16*big*small), make([]float32, small), y)
	outside(t, "convolution", y, half, small, (side/2-3)/2, (side/2+3)/2)

	s.InH, s.InW, s.InC, s.OutH, s.OutW, s.OutC = s.OutH, s.OutW, s.OutC, s.InH, s.InW, s.InC
	q := must.Get(NewTranspose(s, kernel.LinearActivation))(t)
	x := kerneltest.Stale(batch * side * side * big)
	q.Forward(patch(half, small), kerneltest.Random(r, 16*big*small), make([]float32, big), x)
	outside(t, "transposed convolution", x, side, big, 2*(half/2-1)-1, 2*(half/2+1)+2)
}

// checkZeros3 tests a convolution with kernel 3 and stride 1, and its transpose, on images with one nonzero pixel each.
// Results that do not depend on this pixel are the bias, or 0 if a ReLU cuts the bias off.
func checkZeros3(t *testing.T, in, out, padding int) {
	const side = 13
	pixels := []int{6, 3} // row and column in each image
	for _, a := range []kernel.Activation{kernel.LinearActivation, kernel.ReLUActivation} {
		for _, transposed := range []bool{false, true} {
			r := rand.New(rand.NewPCG(1, 3))
			s := kernel.ConvShape{Batch: 2, InH: side, InW: side, InC: in, OutH: side - 2 + 2*padding,
				OutW: side - 2 + 2*padding, OutC: out, Kernel: 3, Stride: 1, PadH: padding, PadW: padding}
			before := 2 - padding // results before the pixel that see it
			if transposed {
				s.OutH, s.OutW = side+2-2*padding, side+2-2*padding
				before = padding
			}
			if !winograd3Fits(s) {
				t.Fatalf("%+v is not computed by Winograd's products", s)
			}
			x, w, bias := make([]float32, 2*side*side*in), kerneltest.Random(r, 9*in*out), kerneltest.Random(r, out)
			for image, pixel := range pixels {
				copy(x[((image*side+pixel)*side+pixel)*in:], kerneltest.Random(r, in))
			}
			y := kerneltest.Stale(2 * s.OutH * s.OutW * out)
			if transposed {
				p := must.Get(NewTranspose(s, a))(t)
				p.Forward(x, w, bias, y)
			} else {
				p := must.Get(New(s, a))(t)
				p.Forward(x, w, bias, y)
			}
			seen := 0
			for i, v := range y {
				row, column, want := i/out/s.OutW%s.OutH, i/out%s.OutW, bias[i%out]
				if a == kernel.ReLUActivation {
					want = max(want, 0)
				}
				if first := pixels[i/out/s.OutW/s.OutH] - before; min(row, column) >= first && max(row, column) <= first+2 {
					if v != want {
						seen++
					}
				} else if v != want {
					t.Fatalf("%v, transposed %t: row %d, column %d is %v, want %v", a, transposed, row, column, v, want)
				}
			}
			if seen == 0 {
				t.Errorf("%v, transposed %t: no result depends on the pixel", a, transposed)
			}
		}
	}
}

// outside checks that y is zero outside the rows and columns between from and to, and nonzero somewhere inside.
func outside(t *testing.T, name string, y []float32, side, channels, from, to int) {
	t.Helper()
	within := false
	for i, v := range y {
		row, column := i/channels/side%side, i/channels%side
		if min(row, column) >= from && max(row, column) <= to {
			within = within || v != 0
		} else if v != 0 {
			t.Fatalf("%s: row %d, column %d is %v, want 0", name, row, column, v)
		}
	}
	if !within {
		t.Errorf("%s: all is 0", name)
	}
}
