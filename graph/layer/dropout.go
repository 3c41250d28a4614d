package layer

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// Dropout returns x * mask, elementwise. The mask has the shape of x and no gradient. Masks of inverted dropout are 0
// with probability r and 1/(1-r) otherwise, so the expectation of the result is x.
//
// Source: Srivastava et al. 2014, section 4 and 10 (the scale is applied in training).
func Dropout(x, mask *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name:  "dropout",
		Shape: equalShapes,
		New:   graph.Bodies(newDropout[float32], newDropout[float64]),
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			n := in[0].TotalSize()
			return graph.Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.Multiply(t, in[0], in[1], out, n)
				},
				Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					kernels.Multiply(t, dout, in[1], din[0], n)
				},
			}, nil
		},
		Diff: []bool{true, false},
		Tangent: func(in []*gorgonia.Node, _ *gorgonia.Node, along []*gorgonia.Node) (*gorgonia.Node, error) {
			return Dropout(along[0], in[1])
		},
	}, x, mask)
}

type dropout[T graph.Float] struct {
	x, mask, y []T
	loop       *numeric.Loop
}

func newDropout[T graph.Float](in []tensor.Shape) *dropout[T] {
	f, do := &dropout[T]{}, kernel.ArithmeticOf[T]()
	f.loop = numeric.NewLoop(in[0].TotalSize(), numeric.BlockSize, func(lo, hi int) float64 {
		do.Multiply(f.y[lo:hi], f.x[lo:hi], f.mask[lo:hi])
		return 0
	})
	return f
}

func (f *dropout[T]) Forward(in [][]T, out []T) {
	f.x, f.mask, f.y = in[0], in[1], out
	f.loop.Run()
}

func (f *dropout[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	if din[0] == nil {
		return
	}
	f.x, f.mask, f.y = dout, in[1], din[0]
	f.loop.Run()
}
