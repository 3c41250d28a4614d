package graph

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/internal/numeric"
)

// NormaliseRows returns v / sqrt(max(|v|^2, 1e-12)) for each row v of a matrix: a unit
// vector, or 0 where v is 0. It is differentiable except at |v| = 1e-6.
func NormaliseRows(x *gorgonia.Node) (*gorgonia.Node, error) {
	return Apply(Spec{
		Name: "normalise rows",
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if len(in) != 1 {
				return nil, Wanted("1 input", len(in))
			}
			_, _, err := Matrix("input", in[0])
			return in[0], err
		},
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (Func, error) {
			if dt == tensor.Float32 {
				return NewFunc[float32](normaliseRows[float32]{in[0][1]}), nil
			}
			return NewFunc[float64](normaliseRows[float64]{in[0][1]}), nil
		},
	}, x)
}

type normaliseRows[T Float] struct{ columns int }

func (n normaliseRows[T]) Forward(in [][]T, out []T) {
	for c, i := n.columns, 0; i < len(out); i += c {
		numeric.Normalise(out[i:i+c], in[0][i:i+c])
	}
}

func (n normaliseRows[T]) Backward(in [][]T, out, dout []T, din [][]T) {
	dx := din[0]
	for c, i := n.columns, 0; i < len(dx); i += c {
		numeric.NormaliseGradient(dx[i:i+c], out[i:i+c], dout[i:i+c], numeric.Square(in[0][i:i+c]))
	}
}
