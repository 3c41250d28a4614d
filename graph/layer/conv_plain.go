package layer

import (
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// The convolutions in float64, as plain loops. They are the reference for the float32 kernels.

// plainConv is a convolution, or a transposed convolution.
type plainConv struct {
	kernel.ConvShape
	a          graph.Activation
	transposed bool
	g          []float64
}

// forTaps calls f with the indices of image element, weight and result element for every product of a convolution. The
// convolution maps a big image [batch, bigH, bigW, bigC] to a small image [batch, smallH, smallW, smallC], with filters
// [k, k, bigC, smallC].
func forTaps(s kernel.ConvShape, bigH, bigW, bigC, smallH, smallW, smallC int, f func(big, w, small int)) {
	for pixel := range s.Batch * smallH * smallW {
		b, y, x := pixel/smallW/smallH, pixel/smallW%smallH, pixel%smallW
		for k := range s.Kernel * s.Kernel {
			by, bx := y*s.Stride+k/s.Kernel-s.PadH, x*s.Stride+k%s.Kernel-s.PadW
			if by < 0 || by >= bigH || bx < 0 || bx >= bigW {
				continue
			}
			big, w := ((b*bigH+by)*bigW+bx)*bigC, k*bigC*smallC
			for i := range bigC {
				for j := range smallC {
					f(big+i, w+i*smallC+j, pixel*smallC+j)
				}
			}
		}
	}
}

func (c *plainConv) visit(f func(x, w, y int)) {
	if c.transposed {
		forTaps(c.ConvShape, c.OutH, c.OutW, c.OutC, c.InH, c.InW, c.InC, func(y, w, x int) { f(x, w, y) })
	} else {
		forTaps(c.ConvShape, c.InH, c.InW, c.InC, c.OutH, c.OutW, c.OutC, f)
	}
}

func (c *plainConv) Forward(in [][]float64, out []float64) {
	x, w, bias := in[0], in[1], in[2]
	for i := range out {
		out[i] = bias[i%c.OutC]
	}
	c.visit(func(i, k, j int) { out[j] += x[i] * w[k] })
	numeric.Activate(kernel.Activation(c.a), out, out)
}

func (c *plainConv) Backward(in [][]float64, out, dout []float64, din [][]float64) {
	x, w, dx, dw := in[0], in[1], din[0], din[1]
	g := beforeActivation(&c.g, c.a, dout, out)
	addRows(din[2], g)
	clear(dx)
	clear(dw)
	c.visit(func(i, k, j int) {
		if dx != nil {
			dx[i] += g[j] * w[k]
		}
		if dw != nil {
			dw[k] += g[j] * x[i]
		}
	})
}
