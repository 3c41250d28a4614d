package graph_test

import (
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/gradcheck"
)

// distance is a test operation with two inputs: 1/rows sum |x - y|^2.
func distance(x, y *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "distance",
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if !slices.Equal(in[0], in[1]) {
				return nil, graph.Wanted("points of one shape", in)
			}
			_, _, err := graph.Matrix("points", in[0])
			return tensor.ScalarShape(), err
		},
		New: graph.Bodies(newSquares[float32], newSquares[float64]),
	}, x, y)
}

type squares[T graph.Float] struct{ rows T }

func newSquares[T graph.Float](in []tensor.Shape) squares[T] { return squares[T]{T(in[0][0])} }

func (s squares[T]) Forward(in [][]T, out []T) {
	out[0] = 0
	for i, x := range in[0] {
		d := x - in[1][i]
		out[0] += d * d / s.rows
	}
}

func (s squares[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	for k, d := range din {
		for i := range d {
			d[i] = 2 * dout[0] * (in[k][i] - in[1-k][i]) / s.rows
		}
	}
}

func TestBodies(t *testing.T) {
	gradcheck.CheckAll(t, []gradcheck.Case{
		{Name: "distance", Inputs: []gradcheck.Input{gradcheck.In(4, 3), gradcheck.In(4, 3)}, Build: func(n nodes) (*gorgonia.Node, error) { return distance(n[0], n[1]) }},
		{Name: "huber", Inputs: []gradcheck.Input{gradcheck.In(4, 3), gradcheck.In(4, 3)}, Build: func(n nodes) (*gorgonia.Node, error) { return Huber(n[0], n[1], 0.7) }},
	})
}
