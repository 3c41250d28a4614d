package layer

import (
	"fmt"

	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
)

// Shared code of operations on pixels.

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
		return graph.Wanted(fmt.Sprintf("a result of at most %d elements", maxElements),
			fmt.Sprintf("images %v, %d times as high and wide", x, times))
	}
	return nil
}

// mixFew sets dst to a x + b y. For few elements, it is faster than the kernel.
func mixFew[T graph.Float](dst []T, a T, x []T, b T, y []T) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i, v := range x {
		dst[i] = a*v + b*y[i]
	}
}
