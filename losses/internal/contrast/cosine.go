// Package contrast compares the projections of two views of images.
package contrast

import (
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/losses/internal/check"
)

// CosineRegression adds the node that losses.CosineRegression documents.
func CosineRegression(predictions, targets *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name:  "cosine regression",
		Shape: shapeOfViews,
		New:   graph.Bodies(newCosineRegression[float32], newCosineRegression[float64]),
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			rows, columns := in[0][0], in[0][1]
			return graph.Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.CosineRegression(t, in[0], in[1], out, rows, columns)
				},
				Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					kernels.CosineRegressionGradient(t, in[0], in[1], dout, din[0], rows, columns)
				},
			}, nil
		},
		Diff: []bool{true, false},
	}, predictions, targets)
}

type cosineRegression[T graph.Float] struct {
	rows, columns          int
	cosine, norms, targets []float64 // by row of the predictions; the norm of the row's target
}

func newCosineRegression[T graph.Float](in []tensor.Shape) *cosineRegression[T] {
	rows, columns := in[0][0], in[0][1]
	return &cosineRegression[T]{rows, columns, make([]float64, rows), make([]float64, rows), make([]float64, rows)}
}

// leastNorm is the minimum divisor of a row.
const leastNorm = 1e-12

// pair returns a row of the predictions and its target.
func (f *cosineRegression[T]) pair(in [][]T, i int) (p, t []T) {
	c, j := f.columns, (i+f.rows/2)%f.rows
	return in[0][i*c : (i+1)*c], in[1][j*c : (j+1)*c]
}

func (f *cosineRegression[T]) Forward(in [][]T, out []T) {
	sum := 0.0
	for i := range f.rows {
		p, t := f.pair(in, i)
		f.norms[i], f.targets[i] = norm2(p), norm2(t)
		f.cosine[i] = numeric.Dot(p, t) / (f.norms[i] * f.targets[i])
		sum += 2 - 2*f.cosine[i]
	}
	out[0] = T(sum / float64(f.rows/2))
}

func (f *cosineRegression[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	g := -2 * float64(dout[0]) / float64(f.rows/2)
	for i := range f.rows {
		p, t := f.pair(in, i)
		dp := din[0][i*f.columns : (i+1)*f.columns]
		along := f.cosine[i] / (f.norms[i] * f.norms[i])
		if f.norms[i] == leastNorm {
			along = 0
		}
		across := 1 / (f.norms[i] * f.targets[i])
		for c, v := range p {
			dp[c] = T(g * (float64(t[c])*across - float64(v)*along))
		}
	}
}

// norm2 returns the norm of a row, at least leastNorm.
func norm2[T graph.Float](v []T) float64 { return max(math.Sqrt(numeric.Square(v)), leastNorm) }

// shapeOfViews checks that matrices have the same shape, with rows for the first views and then for the second views.
func shapeOfViews(in []tensor.Shape) (tensor.Shape, error) {
	err := check.Matrices("projections of views and targets", in...)
	if err == nil && in[0][0]%2 != 0 {
		err = graph.Wanted("an even number of rows: first views, then second ones", in[0])
	}
	return tensor.ScalarShape(), err
}
