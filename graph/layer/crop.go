package layer

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// Crop returns the upper left height by width pixels of images x [batch, h, w, channels].
func Crop(x *gorgonia.Node, height, width int) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name:       "crop",
		Key:        graph.Key(height, width),
		Attributes: map[string]any{"height": height, "width": width},
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			s, err := imagesOf(in)
			if err != nil {
				return nil, err
			}
			if height < 1 || width < 1 || height > s[1] || width > s[2] {
				return nil, graph.Wanted(fmt.Sprintf("between 1 by 1 and %d by %d pixels, the size of the images", s[1], s[2]),
					fmt.Sprintf("%d by %d", height, width))
			}
			return tensor.Shape{s[0], height, width, s[3]}, nil
		},
		New: graph.Bodies(func(in []tensor.Shape) *crop[float32] { return newCrop[float32](in[0], height, width) },
			func(in []tensor.Shape) *crop[float64] { return newCrop[float64](in[0], height, width) }),
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			b, h, w, c := in[0][0], in[0][1], in[0][2], in[0][3]
			return graph.Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.Crop(t, in[0], out, b, h, w, c, height, width, false)
				},
				Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					t.Fill(din[0], 0)
					kernels.Crop(t, din[0], dout, b, h, w, c, height, width, true)
				},
			}, nil
		},
		Tangent: linearTangent(func(t *gorgonia.Node) (*gorgonia.Node, error) { return Crop(t, height, width) }),
	}, x)
}

// crop copies rows. The unit of parallel work is a row of x.
type crop[T graph.Float] struct {
	rows, height, kept int
	wide, narrow       int // elements in a row of x and in a row of the result
	x, y               []T
	forward, backward  func(worker, i int)
}

func newCrop[T graph.Float](s tensor.Shape, height, width int) *crop[T] {
	f := &crop[T]{rows: s[0] * s[1], height: s[1], kept: height, wide: s[2] * s[3], narrow: width * s[3]}
	f.forward = func(_, i int) {
		if x, y := f.row(i); y != nil {
			copy(y, x)
		}
	}
	f.backward = func(_, i int) {
		x, y := f.row(i)
		clear(x[copy(x, y):])
	}
	return f
}

// row returns row i of x and the corresponding row of the result, or nil if the crop removes the row.
func (f *crop[T]) row(i int) (x, y []T) {
	x = f.x[i*f.wide:][:f.wide]
	if r := i % f.height; r < f.kept {
		y = f.y[(i/f.height*f.kept+r)*f.narrow:][:f.narrow]
	}
	return x, y
}

func (f *crop[T]) Forward(in [][]T, out []T) {
	f.x, f.y = in[0], out
	parallel.For(f.rows, f.forward)
}

func (f *crop[T]) Backward(_ [][]T, _, dout []T, din [][]T) {
	if din[0] == nil {
		return
	}
	f.x, f.y = din[0], dout
	parallel.For(f.rows, f.backward)
}
