package graph

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// About returns the rotations [rows, 4], axis and angle, by factor times the
// angles [rows, 1] about one axis; see [AxisAngle]. It has no gradient.
func About(axis [3]float64, factor float64, angles *gorgonia.Node) (*gorgonia.Node, error) {
	return Apply(Spec{
		Name: "about axis",
		Key:  keyOf(axis, factor),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			rows, columns, err := rowsOf("angles", in[0])
			if err == nil && columns != 1 {
				err = wanted("angles of shape [rows, 1]", in[0])
			}
			return tensor.Shape{rows, 4}, err
		},
		New: func(_ []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (Func, error) {
			if dt == tensor.Float32 {
				return newFunc[float32](about[float32]{axis, factor}), nil
			}
			return newFunc[float64](about[float64]{axis, factor}), nil
		},
		Diff: []bool{false},
	}, angles)
}

type about[T float] struct {
	axis   [3]float64
	factor float64
}

func (f about[T]) forward(in [][]T, out []T) {
	for i, angle := range in[0] {
		for j, a := range f.axis {
			out[4*i+j] = T(a)
		}
		out[4*i+3] = T(f.factor * float64(angle))
	}
}

func (about[T]) backward(_ [][]T, _, _ []T, _ [][]T) {}
