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

// Shuffle rearranges channels into pixels: images x [batch, h, w, c times^2] become [batch, h times, w times, c]. Each
// pixel becomes a square of times by times pixels. Channel (i times + j) c + k of the pixel becomes channel k of row i,
// column j in the square. This order is the order of TensorFlow's depth_to_space and ONNX's DepthToSpace in mode DCR.
// PyTorch's pixel_shuffle uses another order: k is the most significant index.
//
// Source: Shi et al. 2016, equation 4.
func Shuffle(x *gorgonia.Node, times int) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name:       "shuffle",
		Key:        graph.Key(times),
		Attributes: map[string]any{"times": times},
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			s, err := imagesOf(in)
			switch {
			case err != nil:
				return nil, err
			case times < 1:
				return nil, graph.Wanted("times of 1 or more", times)
			case times > s[3] || s[3]%(times*times) != 0:
				return nil, graph.Wanted(fmt.Sprintf("channels that %d times %d divides", times, times), s)
			}
			return tensor.Shape{s[0], s[1] * times, s[2] * times, s[3] / (times * times)}, nil
		},
		New: graph.Bodies(func(in []tensor.Shape) *shuffle[float32] { return newShuffle[float32](in[0], times) },
			func(in []tensor.Shape) *shuffle[float64] { return newShuffle[float64](in[0], times) }),
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			b, h, w, c := in[0][0], in[0][1], in[0][2], in[0][3]/(times*times)
			return graph.Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.Shuffle(t, in[0], out, b, h, w, c, times, false)
				},
				Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					kernels.Shuffle(t, din[0], dout, b, h, w, c, times, true)
				},
			}, nil
		},
		Tangent: linearTangent(func(t *gorgonia.Node) (*gorgonia.Node, error) { return Shuffle(t, times) }),
	}, x)
}

// shuffle copies segments of a row between a pixel and its square. The unit of parallel work is a row of x.
type shuffle[T graph.Float] struct {
	rows, width, times, piece int
	x, y                      []T
	back                      bool // from y to x
	item                      func(worker, i int)
}

func newShuffle[T graph.Float](s tensor.Shape, times int) *shuffle[T] {
	f := &shuffle[T]{rows: s[0] * s[1], width: s[2], times: times, piece: s[3] / times}
	f.item = f.row
	return f
}

func (f *shuffle[T]) row(_, i int) {
	wide := f.width * f.piece
	x, y := f.x[i*wide*f.times:], f.y[i*wide*f.times:]
	for j := range f.times {
		for k := range f.width {
			from, to := x[(k*f.times+j)*f.piece:][:f.piece], y[j*wide+k*f.piece:][:f.piece]
			if f.back {
				from, to = to, from
			}
			copy(to, from)
		}
	}
}

func (f *shuffle[T]) Forward(in [][]T, out []T) {
	f.x, f.y, f.back = in[0], out, false
	parallel.For(f.rows, f.item)
}

func (f *shuffle[T]) Backward(_ [][]T, _, dout []T, din [][]T) {
	if din[0] == nil {
		return
	}
	f.x, f.y, f.back = din[0], dout, true
	parallel.For(f.rows, f.item)
}
