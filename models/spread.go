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

// spreadOf measures whether codes [rows, d] have collapsed. It takes the standard deviation over the rows of each
// column of codes/|codes|, averages it over the columns, and multiplies by sqrt(d). The result is 0 if all codes point
// in one direction, and about 1 if their directions are uniform. It has no gradient.
//
// Source: Chen and He 2021, section 4.1.
func spreadOf(codes *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "spread",
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			_, _, err := graph.Matrix("codes", in[0])
			return tensor.ScalarShape(), err
		},
		New: graph.Bodies(spread[float32], spread[float64]),
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

func spread[T graph.Float](s []tensor.Shape) forward[T] {
	rows, columns := s[0][0], s[0][1]
	mean, square := make([]float64, columns), make([]float64, columns)
	return func(in [][]T, out []T) {
		clear(mean)
		clear(square)
		for i := range rows { // Welford's algorithm: equal rows have a deviation of exactly 0
			x := in[0][i*columns : (i+1)*columns]
			scale, part := 1/max(math.Sqrt(numeric.Square(x)), leastSpread), 1/float64(i+1)
			for c, v := range x {
				unit := float64(v) * scale
				d := unit - mean[c]
				mean[c] += d * part
				square[c] += d * (unit - mean[c])
			}
		}
		sum := 0.0
		for _, s := range square {
			sum += math.Sqrt(math.Max(s, 0) / float64(rows))
		}
		out[0] = T(sum / math.Sqrt(float64(columns)))
	}
}
