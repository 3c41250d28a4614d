package layer

import (
	"fmt"

	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/kernel"
)

// Shared code of operations on pixels: shapes, and arithmetic on rows of channels.

// maxElements limits the result of an operation that enlarges images.
const maxElements = 1 << 30

// imagesOf checks that an operation has one input and that it has the shape of images.
func imagesOf(in []tensor.Shape) (tensor.Shape, error) {
	if len(in) != 1 {
		return nil, graph.Wanted("1 input", len(in))
	}
	if in[0].Dims() != 4 || in[0].TotalSize() < 1 {
		return nil, graph.Wanted("images of shape [batch, height, width, channels]", in[0])
	}
	return in[0], nil
}

// checkTimes checks the scale factor of an operation that enlarges images of shape x.
func checkTimes(x tensor.Shape, times int) error {
	switch {
	case times < 1:
		return graph.Wanted("times of 1 or more", times)
	case times > maxElements || x.TotalSize() > maxElements/times/times:
		return graph.Wanted(fmt.Sprintf("a result of at most %d elements", maxElements), fmt.Sprintf("images %v, %d times as high and wide", x, times))
	}
	return nil
}

// arithmetic holds functions on slices of one element type.
type arithmetic[T graph.Float] struct {
	add       func(dst, x []T)                      // dst += x
	addScaled func(dst []T, a T, x []T)             // dst += a x
	scale     func(dst []T, a T, x []T)             // dst = a x
	mix       func(dst []T, a T, x []T, b T, y []T) // dst = a x + b y
	multiply  func(dst, x, y []T)                   // dst = x y
	largest   func(dst, x []T)                      // dst = max(dst, x), NaN if either is NaN
	claim     func(dst, left, x, y []T)             // dst += left, left = 0 where x = y
}

// arithmeticOf returns functions of package kernel for float32, and plain loops for float64.
func arithmeticOf[T graph.Float]() arithmetic[T] {
	if a, ok := any(arithmetic[float32]{kernel.Add, kernel.AddScaled, kernel.Scale, kernel.Mix, kernel.Multiply, kernel.Largest, kernel.Claim}).(arithmetic[T]); ok {
		return a
	}
	return arithmetic[T]{
		add: func(dst, x []T) {
			for i, v := range x {
				dst[i] += v
			}
		},
		addScaled: func(dst []T, a T, x []T) {
			for i, v := range x {
				dst[i] += a * v
			}
		},
		scale: func(dst []T, a T, x []T) {
			for i, v := range x {
				dst[i] = a * v
			}
		},
		mix: mixFew[T],
		multiply: func(dst, x, y []T) {
			for i, v := range x {
				dst[i] = v * y[i]
			}
		},
		largest: func(dst, x []T) {
			for i, v := range x {
				dst[i] = max(dst[i], v)
			}
		},
		claim: func(dst, left, x, y []T) {
			for i, v := range x {
				if v == y[i] {
					dst[i] += left[i]
					left[i] = 0
				}
			}
		},
	}
}

// mixFew sets dst to a x + b y. For few elements, it is faster than the kernel.
func mixFew[T graph.Float](dst []T, a T, x []T, b T, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i, v := range x {
		dst[i] = a*v + b*y[i]
	}
}
