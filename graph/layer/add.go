package layer

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// Add returns activation(x + y) for tensors of one shape: the end of a residual block.
//
// Source: He et al. 2016, equation 1.
func Add(x, y *gorgonia.Node, a graph.Activation) (*gorgonia.Node, error) {
	if err := a.Check(); err != nil {
		return nil, fmt.Errorf("add: %w", err)
	}
	if !a.FromValue() {
		return activated(a, func(linear graph.Activation) (*gorgonia.Node, error) { return Add(x, y, linear) })
	}
	return graph.Apply(graph.Spec{
		Name:       "add",
		Key:        a.String(),
		Attributes: map[string]any{"activation": a.String()},
		Shape:      equalShapes,
		New: graph.Bodies(func(in []tensor.Shape) *sum[float32] { return newSum[float32](in[0].TotalSize(), a) },
			func(in []tensor.Shape) *sum[float64] { return newSum[float64](in[0].TotalSize(), a) }),
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			n, f := in[0].TotalSize(), kernel.Activation(a)
			return graph.Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.Add(t, in[0], in[1], out, n)
					if a != graph.Linear {
						kernels.Activate(t, out, out, f, n)
					}
				},
				Backward: func(t *vulkan.Tape, in []vulkan.Buffer, out, dout vulkan.Buffer, din []vulkan.Buffer) {
					for _, d := range din {
						if !d.IsZero() {
							kernels.ActivateGradient(t, out, dout, d, f, n)
						}
					}
				},
			}, nil
		},
		Tangent: func(_ []*gorgonia.Node, out *gorgonia.Node, along []*gorgonia.Node) (*gorgonia.Node, error) {
			u := along[0]
			if u == nil {
				u = along[1]
			} else if along[1] != nil {
				var err error
				if u, err = Add(along[0], along[1], graph.Linear); err != nil {
					return nil, err
				}
			}
			return graph.ActivationTangent(out, u, a)
		},
	}, x, y)
}

// activated builds an operation with an activation. If the operation cannot include the activation (see
// [graph.Activation.FromValue]), the activation follows as a separate operation.
func activated(a graph.Activation, build func(linear graph.Activation) (*gorgonia.Node, error)) (*gorgonia.Node, error) {
	y, err := build(graph.Linear)
	if err != nil {
		return nil, err
	}
	return graph.Activate(y, a)
}

// equalShapes returns the common shape of two inputs.
func equalShapes(in []tensor.Shape) (tensor.Shape, error) {
	if len(in) != 2 || !slices.Equal(in[0], in[1]) {
		return nil, graph.Wanted("2 inputs of one shape", in)
	}
	return in[0], nil
}

type sum[T graph.Float] struct {
	a              graph.Activation
	x, z, y        []T
	dy, dx, dz     []T // dx and dz are equal; dz may be nil
	values, slopes *numeric.Loop
}

func newSum[T graph.Float](n int, a graph.Activation) *sum[T] {
	f, do := &sum[T]{a: a}, kernel.ArithmeticOf[T]()
	f.values = numeric.NewLoop(n, numeric.BlockSize, func(lo, hi int) float64 {
		y := f.y[lo:hi]
		do.Mix(y, 1, f.x[lo:hi], 1, f.z[lo:hi])
		numeric.Activate(kernel.Activation(f.a), y, y)
		return 0
	})
	f.slopes = numeric.NewLoop(n, numeric.BlockSize, func(lo, hi int) float64 {
		numeric.ActivationGradient(kernel.Activation(f.a), f.dx[lo:hi], f.dy[lo:hi], f.y[lo:hi])
		if f.dz != nil {
			copy(f.dz[lo:hi], f.dx[lo:hi])
		}
		return 0
	})
	return f
}

func (f *sum[T]) Forward(in [][]T, out []T) {
	f.x, f.z, f.y = in[0], in[1], out
	f.values.Run()
}

// Backward computes the gradient with respect to x and y. Both gradients are equal.
func (f *sum[T]) Backward(_ [][]T, out, dout []T, din [][]T) {
	f.y, f.dy, f.dx, f.dz = out, dout, din[0], din[1]
	if f.dx == nil {
		f.dx, f.dz = f.dz, nil
	}
	if f.dx != nil {
		f.slopes.Run()
	}
}
