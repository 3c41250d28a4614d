package layer

import (
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// Shared code for the tangents of layers, and the tangent of the maximum.

// linearTangent is the Tangent of an operation that is linear in its only input: it applies the operation to the
// tangent.
func linearTangent(apply func(t *gorgonia.Node) (*gorgonia.Node, error)) func(in []*gorgonia.Node, out *gorgonia.Node,
	along []*gorgonia.Node) (*gorgonia.Node, error) {
	return func(_ []*gorgonia.Node, _ *gorgonia.Node, along []*gorgonia.Node) (*gorgonia.Node, error) {
		return apply(along[0])
	}
}

// maxPoolTangent returns, for each window, the element of t at the position of the window's maximum in x. y holds the
// maxima. If several elements are equal, the first one in row-major order counts. The node is differentiable with
// respect to t.
func maxPoolTangent(name, key string, sides func(tensor.Shape) (rows, columns kernels.Side, err error),
	x, y, t *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "tangent of " + name,
		Key:  key,
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if len(in) != 3 || !slices.Equal(in[0], in[2]) {
				return nil, graph.Wanted("images, maxima, and a direction of the shape of the images", in)
			}
			return in[1], nil
		},
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (graph.Func, error) {
			rows, columns, err := sides(in[0])
			if err != nil {
				return nil, err
			}
			if dt == tensor.Float32 {
				return graph.NewFunc[float32](newMaxTangent[float32](in[0], spans(rows), spans(columns))), nil
			}
			return graph.NewFunc[float64](newMaxTangent[float64](in[0], spans(rows), spans(columns))), nil
		},
		Diff: []bool{false, false, true},
	}, x, y, t)
}

// maxTangent gathers the elements at the maxima. Its backward pass scatters gradients to the same positions.
type maxTangent[T graph.Float] struct {
	pool        *maxPool[T]
	t, selected []T
	item        func(worker, i int)
}

func newMaxTangent[T graph.Float](s tensor.Shape, rows, columns []span) *maxTangent[T] {
	f := &maxTangent[T]{pool: newMaxPool[T](s, rows, columns)}
	f.item = f.row
	return f
}

func (f *maxTangent[T]) Forward(in [][]T, out []T) {
	f.pool.x, f.pool.y, f.t, f.selected = in[0], in[1], in[2], out
	parallel.For(f.pool.batch*len(f.pool.rows), f.item)
}

// row picks the elements of a row of windows.
func (f *maxTangent[T]) row(_, i int) {
	p := f.pool
	c, rowSize := p.channels, p.width*p.channels
	image, window := i/len(p.rows), p.rows[i%len(p.rows)]
	from := image * p.height * rowSize
	for k, column := range p.columns {
		offset := (i*len(p.columns) + k) * c
		for j := range c {
			f.selected[offset+j] = f.t[from+f.argmax(from+j, window, column, p.y[offset+j])]
		}
	}
}

// argmax returns the position of a window's maximum in a channel, as an offset from the first element of the image.
func (f *maxTangent[T]) argmax(channel int, rows, columns span, maximum T) int {
	p := f.pool
	first := channel % p.channels
	for r := rows.from; r < rows.to; r++ {
		for k := columns.from; k < columns.to; k++ {
			if offset := (r*p.width + k) * p.channels; p.x[channel+offset] == maximum {
				return first + offset
			}
		}
	}
	return first + (rows.from*p.width+columns.from)*p.channels // the maximum is NaN
}

func (f *maxTangent[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	f.pool.Backward([][]T{in[0]}, in[1], dout, [][]T{din[2]})
}
