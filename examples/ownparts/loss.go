package main

import (
	"errors"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/losses"
)

// Sparsity returns the mean over the rows of codes z, [n, d], of the L1 norm:
//
//	1/n sum_i sum_j |z_ij|
//
// It is a scalar, at least 0, and 0 exactly where all codes are 0. Its gradient is sign(z_ij)/n, and 0 at 0.
//
// Source: Olshausen and Field 1996, equation 2 with S(x) = |x|.
func Sparsity(z *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "sparsity",
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			_, _, err := graph.Matrix("codes", in[0])
			return tensor.ScalarShape(), err
		},
		New: graph.Bodies(newSparsity[float32], newSparsity[float64]),
	}, z)
}

// sparsity computes the operation for so many rows.
type sparsity[T graph.Float] struct{ rows int }

func newSparsity[T graph.Float](in []tensor.Shape) sparsity[T] { return sparsity[T]{in[0][0]} }

func (s sparsity[T]) Forward(in [][]T, out []T) {
	sum := 0.0
	for _, v := range in[0] {
		sum += math.Abs(float64(v))
	}
	out[0] = T(sum / float64(s.rows))
}

func (s sparsity[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	slope := dout[0] / T(s.rows)
	for i, v := range in[0] {
		switch {
		case v > 0:
			din[0][i] = slope
		case v < 0:
			din[0][i] = -slope
		default:
			din[0][i] = 0
		}
	}
}

// SparsityLoss is [Sparsity] of a model's codes.
type SparsityLoss struct {
	Weight losses.Weight `yaml:"weight" doc:"factor in the total"`
}

// Weighting implements losses.Loss.
func (l *SparsityLoss) Weighting() losses.Weight { return l.Weight }

// Add implements losses.Loss.
func (l *SparsityLoss) Add(in *losses.Input) (*gorgonia.Node, error) {
	if in.Codes == nil {
		return nil, errors.New("it needs codes, which this model does not have")
	}
	return Sparsity(in.Codes)
}
