package models

import (
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// spreadOf measures how far codes [rows, d] are from all being the same. It takes the standard deviation over the
// rows of each column of codes/|codes|, averages it over the columns, and multiplies by sqrt(d). The result is 0 if
// all codes have one direction, and about 1 if their directions are uniform. It has no gradient.
//
// Source: Chen and He 2021, section 4.1.
func spreadOf(codes *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "spread",
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			_, _, err := graph.Matrix("codes", in[0])
			return tensor.ScalarShape(), err
		},
		New: graph.Bodies(
			func(in []tensor.Shape) graph.Body[float32] { return newSpread[float32](in[0]) },
			func(in []tensor.Shape) graph.Body[float64] { return newSpread[float64](in[0]) }),
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			rows, columns := in[0][0], in[0][1]
			return graph.Recording{Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
				kernels.Spread(t, in[0], out, rows, columns)
			}}, nil
		},
		Diff: []bool{false},
	}, codes)
}

// leastSpread is the smallest divisor for the norm of a row.
const leastSpread = 1e-12

type spread[T graph.Float] struct {
	rows, columns int
	mean, square  []float64
}

func newSpread[T graph.Float](s tensor.Shape) *spread[T] {
	return &spread[T]{s[0], s[1], make([]float64, s[1]), make([]float64, s[1])}
}

func (f *spread[T]) Forward(in [][]T, out []T) {
	clear(f.mean)
	clear(f.square)
	for i := range f.rows { // Welford: equal rows give a deviation of 0
		x := in[0][i*f.columns : (i+1)*f.columns]
		scale, part := 1/max(math.Sqrt(numeric.Square(x)), leastSpread), 1/float64(i+1)
		for c, v := range x {
			unit := float64(v) * scale
			d := unit - f.mean[c]
			f.mean[c] += d * part
			f.square[c] += d * (unit - f.mean[c])
		}
	}
	sum := 0.0
	for _, s := range f.square {
		sum += math.Sqrt(math.Max(s, 0) / float64(f.rows))
	}
	out[0] = T(sum / math.Sqrt(float64(f.columns)))
}

func (f *spread[T]) Backward(_ [][]T, _, _ []T, _ [][]T) {}
