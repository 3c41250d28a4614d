package graph

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// NormaliseRows returns v / sqrt(max(|v|^2, 1e-12)) for each row v of a matrix: a unit vector, or 0 for v = 0. It is
// differentiable except at |v| = 1e-6.
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
		New: Bodies(
			func(in []tensor.Shape) Body[float32] { return normaliseRows[float32]{in[0][1]} },
			func(in []tensor.Shape) Body[float64] { return normaliseRows[float64]{in[0][1]} }),
		Device: func(in []tensor.Shape, _ tensor.Shape) (Recording, error) {
			rows, columns := in[0][0], in[0][1]
			return Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.NormaliseRows(t, in[0], out, rows, columns)
				},
				Backward: func(t *vulkan.Tape, in []vulkan.Buffer, out, dout vulkan.Buffer, din []vulkan.Buffer) {
					kernels.NormaliseRowsGradient(t, in[0], out, dout, din[0], rows, columns)
				},
			}, nil
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

// RejectRows returns w - (v.w) v for each pair of rows w and v of two matrices of one shape. If v has length 1, this
// is the component of w orthogonal to v. It is differentiable everywhere.
func RejectRows(w, v *gorgonia.Node) (*gorgonia.Node, error) {
	return Apply(Spec{
		Name: "reject rows",
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if _, _, err := Matrix("input", in[0]); err != nil {
				return nil, err
			}
			if !in[0].Eq(in[1]) {
				return nil, Wanted(fmt.Sprintf("directions of shape %v", in[0]), in[1])
			}
			return in[0], nil
		},
		New: Bodies(
			func(in []tensor.Shape) Body[float32] { return rejectRows[float32]{in[0][1]} },
			func(in []tensor.Shape) Body[float64] { return rejectRows[float64]{in[0][1]} }),
	}, w, v)
}

type rejectRows[T Float] struct{ columns int }

func (r rejectRows[T]) Forward(in [][]T, out []T) {
	for c, i := r.columns, 0; i < len(out); i += c {
		w, v := in[0][i:i+c], in[1][i:i+c]
		along := numeric.Dot(w, v)
		for j := range c {
			out[i+j] = T(float64(w[j]) - along*float64(v[j]))
		}
	}
}

func (r rejectRows[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	for c, i := r.columns, 0; i < len(dout); i += c {
		w, v, d := in[0][i:i+c], in[1][i:i+c], dout[i:i+c]
		along, slope := numeric.Dot(w, v), numeric.Dot(d, v)
		for j := range c {
			if din[0] != nil {
				din[0][i+j] = T(float64(d[j]) - slope*float64(v[j]))
			}
			if din[1] != nil {
				din[1][i+j] = T(-slope*float64(w[j]) - along*float64(d[j]))
			}
		}
	}
}
