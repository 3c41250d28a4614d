package graph

import (
	"fmt"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/internal/kernel"
)

// Activation is an elementwise function that a layer ends with.
type Activation uint8

// The activations, in the order of package kernel.
const (
	Linear    Activation = iota // x
	ReLU                        // max(x, 0)
	Sigmoid                     // 1 / (1 + exp(-x))
	Tanh                        // tanh x
	Softplus                    // log(1 + exp(x))
	LeakyReLU                   // max(x, x/5)
)

// String returns the name of an activation, which [ParseActivation] reads.
func (a Activation) String() string { return kernel.Activation(a).String() }

// ParseActivation returns the activation of a name: linear, relu, leaky-relu, tanh, sigmoid or softplus.
func ParseActivation(name string) (Activation, error) {
	a, err := kernel.ParseActivation(name)
	return Activation(a), err
}

func validActivation(a Activation) error {
	if int(a) >= len(kernel.ActivationNames()) {
		return wanted("a known activation", a)
	}
	return nil
}

// Activate applies an activation to every element of x, of any shape.
func Activate(x *gorgonia.Node, a Activation) (*gorgonia.Node, error) {
	if err := validActivation(a); err != nil {
		return nil, fmt.Errorf("activate: %w", err)
	}
	return Apply(elementwise("activate", a.String(), map[string]any{"activation": a.String()}, func(n int, dt tensor.Dtype) Func {
		if dt == tensor.Float32 {
			return newFunc[float32](newActivate[float32](n, a))
		}
		return newFunc[float64](newActivate[float64](n, a))
	}), x)
}

// elementwise describes an operation of one input whose result has its shape.
func elementwise(name, key string, attributes map[string]any, build func(n int, dt tensor.Dtype) Func) Spec {
	return Spec{
		Name:       name,
		Key:        key,
		Attributes: attributes,
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if len(in) != 1 {
				return nil, wanted("1 input", len(in))
			}
			return in[0], nil
		},
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (Func, error) {
			return build(in[0].TotalSize(), dt), nil
		},
	}
}

type activate[T float] struct {
	a              Activation
	x, y, dy, dx   []T
	values, slopes *loop
}

func newActivate[T float](n int, a Activation) *activate[T] {
	f := &activate[T]{a: a}
	f.values = newLoop(n, blockSize, func(lo, hi int) float64 {
		activateTo(a, f.y[lo:hi], f.x[lo:hi])
		return 0
	})
	f.slopes = newLoop(n, blockSize, func(lo, hi int) float64 {
		slopeTo(a, f.dx[lo:hi], f.dy[lo:hi], f.y[lo:hi])
		return 0
	})
	return f
}

func (f *activate[T]) forward(in [][]T, out []T) {
	f.x, f.y = in[0], out
	f.values.run()
}

func (f *activate[T]) backward(_ [][]T, out, dout []T, din [][]T) {
	if din[0] == nil {
		return
	}
	f.y, f.dy, f.dx = out, dout, din[0]
	f.slopes.run()
}

// activateTo sets y, which may be x itself, to the activation of x.
func activateTo[T float](a Activation, y, x []T) {
	if s, ok := singles(y); ok {
		copy(y, x)
		kernel.Activation(a).Apply(s)
		return
	}
	f := activationOf(a)
	for i, v := range x {
		y[i] = T(f(float64(v)))
	}
}

// slopeTo sets dx, which may be dy itself, to the gradient where the value is y.
func slopeTo[T float](a Activation, dx, dy, y []T) {
	if d, ok := singles(dx); ok {
		g, _ := singles(dy)
		v, _ := singles(y)
		kernel.Activation(a).Gradient(d, g, v)
		return
	}
	f := slopeOf(a)
	for i, v := range y {
		dx[i] = dy[i] * T(f(float64(v)))
	}
}

// leak is the slope of LeakyReLU below zero.
const leak = 0.2

func activationOf(a Activation) func(x float64) float64 {
	switch a {
	case ReLU:
		return func(x float64) float64 { return max(x, 0) }
	case LeakyReLU:
		return func(x float64) float64 { return max(x, leak*x) }
	case Tanh:
		return math.Tanh
	case Sigmoid:
		return sigmoid
	case Softplus:
		return softplus
	}
	return func(x float64) float64 { return x }
}

// slopeOf returns the derivative of an activation as a function of its value.
func slopeOf(a Activation) func(y float64) float64 {
	switch a {
	case ReLU:
		return func(y float64) float64 { return step(y, 0) }
	case LeakyReLU:
		return func(y float64) float64 { return step(y, leak) }
	case Tanh:
		return func(y float64) float64 { return 1 - y*y }
	case Sigmoid:
		return func(y float64) float64 { return y * (1 - y) }
	case Softplus:
		return func(y float64) float64 { return -math.Expm1(-y) }
	}
	return func(float64) float64 { return 1 }
}

func step(y, below float64) float64 {
	if y > 0 {
		return 1
	}
	return below
}

// Exp returns exp(x), element by element.
func Exp(x *gorgonia.Node) (*gorgonia.Node, error) {
	return Apply(elementwise("exp", "", nil, func(n int, dt tensor.Dtype) Func {
		if dt == tensor.Float32 {
			return newFunc[float32](exponential[float32]{})
		}
		return newFunc[float64](exponential[float64]{})
	}), x)
}

type exponential[T float] struct{}

func (exponential[T]) forward(in [][]T, out []T) { vecExp(out, in[0]) }

func (exponential[T]) backward(_ [][]T, out, dout []T, din [][]T) {
	if dx := din[0]; dx != nil {
		for i, y := range out {
			dx[i] = dout[i] * y
		}
	}
}
