package layer

import (
	"fmt"

	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// What operations on pixels share: shapes, and arithmetic on rows of channels.

// maxElements bounds the result of an operation that makes images larger.
const maxElements = 1 << 30

// imagesOf checks that the one input of an operation is images.
func imagesOf(in []tensor.Shape) (tensor.Shape, error) {
	if len(in) != 1 {
		return nil, graph.Wanted("1 input", len(in))
	}
	if in[0].Dims() != 4 || in[0].TotalSize() < 1 {
		return nil, graph.Wanted("images of shape [batch, height, width, channels]", in[0])
	}
	return in[0], nil
}

// checkTimes checks the factor by which an operation makes images of shape x larger, and the channels that it
// divides.
func checkTimes(x tensor.Shape, times int) error {
	switch {
	case times < 1:
		return graph.Wanted("times of 1 or more", times)
	case times > maxElements || x.TotalSize() > maxElements/times/times:
		return graph.Wanted(fmt.Sprintf("a result of at most %d elements", maxElements), fmt.Sprintf("images %v, %d times as high and wide", x, times))
	}
	return nil
}

// add adds x to dst.
func add[T graph.Float](dst, x []T) {
	if d, ok := numeric.Singles(dst); ok {
		s, _ := numeric.Singles(x)
		kernel.Add(d, s)
		return
	}
	for i, v := range x {
		dst[i] += v
	}
}

// addScaled adds a x to dst.
func addScaled[T graph.Float](dst []T, a T, x []T) {
	if d, ok := numeric.Singles(dst); ok {
		s, _ := numeric.Singles(x)
		kernel.AddScaled(d, float32(a), s)
		return
	}
	for i, v := range x {
		dst[i] += a * v
	}
}

// scale sets dst to a x.
func scale[T graph.Float](dst []T, a T, x []T) {
	if d, ok := numeric.Singles(dst); ok {
		s, _ := numeric.Singles(x)
		kernel.Scale(d, float32(a), s)
		return
	}
	for i, v := range x {
		dst[i] = a * v
	}
}

// multiply sets dst to x y.
func multiply[T graph.Float](dst, x, y []T) {
	if d, ok := numeric.Singles(dst); ok {
		s, _ := numeric.Singles(x)
		m, _ := numeric.Singles(y)
		kernel.Multiply(d, s, m)
		return
	}
	for i, v := range x {
		dst[i] = v * y[i]
	}
}

// largest sets dst to the larger of dst and x, NaN if one of them is.
func largest[T graph.Float](dst, x []T) {
	if d, ok := numeric.Singles(dst); ok {
		s, _ := numeric.Singles(x)
		kernel.Largest(d, s)
		return
	}
	for i, v := range x {
		dst[i] = max(dst[i], v)
	}
}

// claim moves what is left of a gradient to dx where x is y.
func claim[T graph.Float](dx, left, x, y []T) {
	if d, ok := numeric.Singles(dx); ok {
		l, _ := numeric.Singles(left)
		s, _ := numeric.Singles(x)
		v, _ := numeric.Singles(y)
		kernel.Claim(d, l, s, v)
		return
	}
	for i, v := range x {
		if v == y[i] {
			dx[i] += left[i]
			left[i] = 0
		}
	}
}
