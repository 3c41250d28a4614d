package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// Forward, a pixel whose inputs are all 0 is exactly 0: rounding would decide whether a ReLU lets its gradient pass.
func TestForwardZeros(t *testing.T) {
	levels(t, func(t *testing.T) {
		for _, l := range convLayers {
			t.Run(fmt.Sprintf("%dx%dx%d", l.side, l.big, l.small), func(t *testing.T) { checkZeros(t, l.side, l.big, l.small) })
		}
	})
}

// checkZeros runs a convolution with kernel 4 and stride 2, and its transpose, on images that are 0 but for a patch in their middle.
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
	s := ConvShape{Batch: batch, InH: side, InW: side, InC: big, OutH: half, OutW: half, OutC: small, Kernel: 4, Stride: 2, PadH: 1, PadW: 1}
	p, err := NewConv(s, LinearActivation)
	if err != nil {
		t.Fatal(err)
	}
	y := stale(batch * half * half * small)
	p.Forward(patch(side, big), random(r, 16*big*small), make([]float32, small), y)
	outside(t, "convolution", y, half, small, (side/2-3)/2, (side/2+3)/2)

	s.InH, s.InW, s.InC, s.OutH, s.OutW, s.OutC = s.OutH, s.OutW, s.OutC, s.InH, s.InW, s.InC
	q, err := NewConvTranspose(s, LinearActivation)
	if err != nil {
		t.Fatal(err)
	}
	x := stale(batch * side * side * big)
	q.Forward(patch(half, small), random(r, 16*big*small), make([]float32, big), x)
	outside(t, "transposed convolution", x, side, big, 2*(half/2-1)-1, 2*(half/2+1)+2)
}

// outside wants zeros in the rows and columns outside of from to to, and others within.
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
