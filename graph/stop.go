package graph

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// StopGradient returns a copy of x without a gradient in x.
func StopGradient(x *gorgonia.Node) (*gorgonia.Node, error) {
	return Apply(Spec{
		Name: "stop gradient",
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			return in[0].Clone(), nil
		},
		New: func(_ []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (Func, error) {
			if dt == tensor.Float32 {
				return NewFunc[float32](reshape[float32]{}), nil
			}
			return NewFunc[float64](reshape[float64]{}), nil
		},
		Diff: []bool{false},
	}, x)
}
