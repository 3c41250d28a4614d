package models

import (
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// softplusFloor is added to a softplus before the logarithm, as in CascadeVAE's public code.
const softplusFloor = 1e-8

// logSoftplus returns log(log(1 + e^s) + 1e-8), element by element.
func logSoftplus(s *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Apply(graph.Elementwise("log softplus", "", nil, func(_ int, dt tensor.Dtype) graph.Func {
		if dt == tensor.Float32 {
			return graph.NewFunc[float32](logSoftplusOf[float32]{})
		}
		return graph.NewFunc[float64](logSoftplusOf[float64]{})
	}), s)
}

type logSoftplusOf[T graph.Float] struct{}

func (logSoftplusOf[T]) Forward(in [][]T, out []T) {
	for i, s := range in[0] {
		out[i] = T(math.Log(numeric.Softplus(float64(s)) + softplusFloor))
	}
}

func (logSoftplusOf[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	for i, s := range in[0] {
		s := float64(s)
		din[0][i] = T(float64(dout[i]) * numeric.Logistic(s) / (numeric.Softplus(s) + softplusFloor))
	}
}

// withCategory prepends a one-hot category to z [rows, n]: category number category out of of, [rows, of + n].
func withCategory(z *gorgonia.Node, category, of int) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name:       "with category",
		Key:        graph.Key(category, of),
		Attributes: map[string]any{"category": category, "of": of},
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			rows, n, err := graph.Matrix("values", in[0])
			if err == nil && (category < 0 || category >= of) {
				err = graph.Wanted("a category below the number of categories", []int{category, of})
			}
			return tensor.Shape{rows, of + n}, err
		},
		New:  graph.Bodies(categoryOf[float32](category, of), categoryOf[float64](category, of)),
		Diff: []bool{false},
	}, z)
}

func categoryOf[T graph.Float](category, of int) func([]tensor.Shape) forward[T] {
	return func(s []tensor.Shape) forward[T] {
		width := of + s[0][1]
		return func(in [][]T, out []T) {
			z := in[0]
			clear(out)
			for row := range slices.Chunk(out, width) {
				row[category] = 1
				z = z[copy(row[of:], z):]
			}
		}
	}
}

// cheapest returns, for each row of costs [rows, K], the number (from 1) of the smallest cost, times open: [rows, 1].
// Of equal costs, the first wins. open is a node with one number.
func cheapest(costs, open *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name:       "cheapest",
		Attributes: map[string]any{},
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			rows, _, err := graph.Matrix("costs", in[0])
			if err == nil && in[1].TotalSize() != 1 {
				err = graph.Wanted("one factor of the numbers", in[1])
			}
			return tensor.Shape{rows, 1}, err
		},
		New:  graph.Bodies(cheapestOf[float32], cheapestOf[float64]),
		Diff: []bool{false, false},
	}, costs, open)
}

func cheapestOf[T graph.Float](s []tensor.Shape) forward[T] {
	k := s[0][1]
	return func(in [][]T, out []T) {
		for row := range out {
			costs := in[0][row*k : (row+1)*k]
			best := 0
			for j, c := range costs {
				if c < costs[best] {
					best = j
				}
			}
			out[row] = T(1+best) * in[1][0]
		}
	}
}
