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
		New: Bodies(
			func([]tensor.Shape) Body[float32] { return reshape[float32]{} },
			func([]tensor.Shape) Body[float64] { return reshape[float64]{} }),
		Device: recordCopy,
		Diff:   []bool{false},
	}, x)
}
