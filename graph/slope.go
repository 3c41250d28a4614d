package graph

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// ActivationTangent returns t a'(x), element by element: the derivative of an activation a(x) in the direction t. For
// an activation with [Activation.FromValue], argument is the value a(x), otherwise x. The node is differentiable in t.
// It is also differentiable in argument, except for linear, relu and leaky-relu, which have a piecewise constant
// derivative. An operation that ends with an activation uses it in its Tangent.
func ActivationTangent(argument, t *gorgonia.Node, a Activation) (*gorgonia.Node, error) {
	if a == Linear {
		return t, nil
	}
	if err := a.Check(); err != nil {
		return nil, fmt.Errorf("activation tangent: %w", err)
	}
	pieces := a == ReLU || a == LeakyReLU
	return Apply(Spec{
		Name: "activation tangent",
		Key:  a.String(),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if len(in) != 2 || !slices.Equal(in[0], in[1]) {
				return nil, Wanted("2 inputs of one shape", in)
			}
			return in[0], nil
		},
		New: Bodies(func(in []tensor.Shape) *slope[float32] { return newSlope[float32](in[0].TotalSize(), a) },
			func(in []tensor.Shape) *slope[float64] { return newSlope[float64](in[0].TotalSize(), a) }),
		Device: func(in []tensor.Shape, _ tensor.Shape) (Recording, error) {
			n, f := in[0].TotalSize(), kernel.Activation(a)
			return Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.ActivateGradient(t, in[0], in[1], out, f, n)
				},
				Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					if !din[0].IsZero() {
						kernels.ActivateCurvature(t, in[0], in[1], dout, din[0], f, n)
					}
					if !din[1].IsZero() {
						kernels.ActivateGradient(t, in[0], dout, din[1], f, n)
					}
				},
			}, nil
		},
		Diff: []bool{!pieces, true},
	}, argument, t)
}

type slope[T Float] struct {
	argument, t, dst  []T
	dy, dargument     []T
	slopes, curvature *numeric.Loop
}

func newSlope[T Float](n int, a Activation) *slope[T] {
	f := &slope[T]{}
	f.slopes = numeric.NewLoop(n, numeric.BlockSize, func(lo, hi int) float64 {
		numeric.ActivationGradient(kernel.Activation(a), f.dst[lo:hi], f.t[lo:hi], f.argument[lo:hi])
		return 0
	})
	f.curvature = numeric.NewLoop(n, numeric.BlockSize, func(lo, hi int) float64 {
		numeric.ActivationCurvature(kernel.Activation(a), f.dargument[lo:hi], f.argument[lo:hi])
		for i := lo; i < hi; i++ {
			f.dargument[i] *= f.dy[i] * f.t[i]
		}
		return 0
	})
	return f
}

func (f *slope[T]) Forward(in [][]T, out []T) {
	f.argument, f.t, f.dst = in[0], in[1], out
	f.slopes.Run()
}

func (f *slope[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	if din[0] != nil {
		f.argument, f.t, f.dy, f.dargument = in[0], in[1], dout, din[0]
		f.curvature.Run()
	}
	if din[1] != nil {
		f.argument, f.t, f.dst = in[0], dout, din[1]
		f.slopes.Run()
	}
}
