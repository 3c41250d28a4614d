package graph

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// Activation is the elementwise function at the end of a layer.
type Activation uint8

// The activations, in the order of package kernel.
const (
	Linear    Activation = iota // x
	ReLU                        // max(x, 0)
	Sigmoid                     // 1 / (1 + exp(-x))
	Tanh                        // tanh x
	Softplus                    // log(1 + exp(x))
	LeakyReLU                   // max(x, x/5)
	ELU                         // x for x > 0, otherwise exp(x) - 1 (Clevert et al. 2016, equation 15, alpha 1)
	GELU                        // x Phi(x), with the standard normal distribution function (Hendrycks and Gimpel 2016)
	SiLU                        // x / (1 + exp(-x)) (Hendrycks and Gimpel 2016; Ramachandran et al. 2017: swish)
)

// String returns the name of an activation, which [ParseActivation] reads.
func (a Activation) String() string { return kernel.Activation(a).String() }

// ParseActivation returns an activation by name: linear, relu, leaky-relu, elu, gelu, silu, softplus, tanh or sigmoid.
func ParseActivation(name string) (Activation, error) {
	a, err := kernel.ParseActivation(name)
	return Activation(a), err
}

// Check returns an error unless a is a known activation.
func (a Activation) Check() error {
	if int(a) >= len(kernel.ActivationNames()) {
		return Wanted("a known activation", a)
	}
	return nil
}

// FromValue reports whether the derivative of an activation is a function of its value. An operation can then include
// the activation and store only the value. For all other activations, use [Activate] after the operation.
func (a Activation) FromValue() bool { return kernel.Activation(a).FromValue() }

// Activate applies an activation to every element of x, of any shape. It is differentiable. At the kink of relu and
// leaky-relu, the gradient is the gradient for negative x.
func Activate(x *gorgonia.Node, a Activation) (*gorgonia.Node, error) {
	if err := a.Check(); err != nil {
		return nil, fmt.Errorf("activate: %w", err)
	}
	s := Elementwise("activate", a.String(), map[string]any{"activation": a.String()}, func(n int, dt tensor.Dtype) Func {
		if dt == tensor.Float32 {
			return NewFunc[float32](newActivate[float32](n, a))
		}
		return NewFunc[float64](newActivate[float64](n, a))
	})
	s.Device = func(in []tensor.Shape, _ tensor.Shape) (Recording, error) {
		n, f := in[0].TotalSize(), kernel.Activation(a)
		return Recording{
			Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
				kernels.Activate(t, in[0], out, f, n)
			},
			Backward: func(t *vulkan.Tape, in []vulkan.Buffer, out, dout vulkan.Buffer, din []vulkan.Buffer) {
				argument := out
				if !a.FromValue() {
					argument = in[0]
				}
				kernels.ActivateGradient(t, argument, dout, din[0], f, n)
			},
		}, nil
	}
	s.Tangent = func(in []*gorgonia.Node, out *gorgonia.Node, along []*gorgonia.Node) (*gorgonia.Node, error) {
		if a.FromValue() {
			return ActivationTangent(out, along[0], a)
		}
		return ActivationTangent(in[0], along[0], a)
	}
	return Apply(s, x)
}

// Elementwise describes an operation with one input and a result of the same shape.
func Elementwise(name, key string, attributes map[string]any, build func(n int, dt tensor.Dtype) Func) Spec {
	return Spec{
		Name:       name,
		Key:        key,
		Attributes: attributes,
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if len(in) != 1 {
				return nil, Wanted("1 input", len(in))
			}
			return in[0], nil
		},
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (Func, error) {
			return build(in[0].TotalSize(), dt), nil
		},
	}
}

type activate[T Float] struct {
	a              Activation
	x, y, dy, dx   []T // y: the argument of the derivative, in the backward pass
	values, slopes *numeric.Loop
}

func newActivate[T Float](n int, a Activation) *activate[T] {
	f := &activate[T]{a: a}
	f.values = numeric.NewLoop(n, numeric.BlockSize, func(lo, hi int) float64 {
		numeric.Activate(kernel.Activation(a), f.y[lo:hi], f.x[lo:hi])
		return 0
	})
	f.slopes = numeric.NewLoop(n, numeric.BlockSize, func(lo, hi int) float64 {
		numeric.ActivationGradient(kernel.Activation(a), f.dx[lo:hi], f.dy[lo:hi], f.y[lo:hi])
		return 0
	})
	return f
}

func (f *activate[T]) Forward(in [][]T, out []T) {
	f.x, f.y = in[0], out
	f.values.Run()
}

func (f *activate[T]) Backward(in [][]T, out, dout []T, din [][]T) {
	if din[0] == nil {
		return
	}
	f.y, f.dy, f.dx = out, dout, din[0]
	if !f.a.FromValue() {
		f.y = in[0]
	}
	f.slopes.Run()
}

// Exp returns exp(x), element by element.
func Exp(x *gorgonia.Node) (*gorgonia.Node, error) {
	s := Elementwise("exp", "", nil, func(n int, dt tensor.Dtype) Func {
		if dt == tensor.Float32 {
			return NewFunc[float32](exponential[float32]{})
		}
		return NewFunc[float64](exponential[float64]{})
	})
	s.Device = func(in []tensor.Shape, _ tensor.Shape) (Recording, error) {
		n := in[0].TotalSize()
		return Recording{
			Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
				kernels.Exp(t, in[0], out, n)
			},
			Backward: func(t *vulkan.Tape, in []vulkan.Buffer, out, dout vulkan.Buffer, din []vulkan.Buffer) {
				kernels.Multiply(t, dout, out, din[0], n)
			},
		}, nil
	}
	return Apply(s, x)
}

type exponential[T Float] struct{}

func (exponential[T]) Forward(in [][]T, out []T) { numeric.Exp(out, in[0]) }

func (exponential[T]) Backward(_ [][]T, out, dout []T, din [][]T) {
	if dx := din[0]; dx != nil {
		for i, y := range out {
			dx[i] = dout[i] * y
		}
	}
}
