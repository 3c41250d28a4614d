// Package layer provides the operations of network layers as functions of their parameters: convolutions, dense layers,
// normalisation, pooling, resizing and dropout. Package nn creates the parameters.
package layer

import (
	"errors"
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/kernel/dense"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// Dense returns activation(x w + bias) as [rows, out], for x [rows, in], w [in, out] and bias [out]. It is
// differentiable with respect to x, w and bias.
func Dense(x, w, bias *gorgonia.Node, a graph.Activation) (*gorgonia.Node, error) {
	if err := a.Check(); err != nil {
		return nil, fmt.Errorf("dense: %w", err)
	}
	if !a.FromValue() {
		return activated(a, func(linear graph.Activation) (*gorgonia.Node, error) { return Dense(x, w, bias, linear) })
	}
	return graph.Apply(graph.Spec{
		Name:       "dense",
		Key:        a.String(),
		Attributes: map[string]any{"activation": a.String()},
		Shape:      denseShape,
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (graph.Func, error) {
			rows, n, m := in[0][0], in[0][1], in[1][1]
			if dt == tensor.Float64 {
				return denseFunc[float64](rows, n, m, a)
			}
			return denseFunc[float32](rows, n, m, a)
		},
		Mixed: func(in []tensor.Shape, _ tensor.Shape) (graph.Func, error) {
			return planFunc(dense.NewMixed(in[0][0], in[0][1], in[1][1], kernel.Activation(a)))
		},
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			m, k, n, f := in[0][0], in[0][1], in[1][1], kernel.Activation(a)
			return graph.Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.Dense(t, in[0], in[1], in[2], out, f, m, k, n)
				},
				Backward: func(t *vulkan.Tape, in []vulkan.Buffer, out, dout vulkan.Buffer, din []vulkan.Buffer) {
					kernels.DenseGradient(t, in[0], in[1], out, dout, din[0], din[1], din[2], f, m, k, n)
				},
			}, nil
		},
		Tangent: func(in []*gorgonia.Node, out *gorgonia.Node, along []*gorgonia.Node) (*gorgonia.Node, error) {
			if along[1] != nil || along[2] != nil {
				return nil, errWeightTangent
			}
			u, err := Dense(along[0], in[1], graph.ZerosLike(in[2]), graph.Linear)
			if err != nil {
				return nil, err
			}
			return graph.ActivationTangent(out, u, a)
		},
	}, x, w, bias)
}

var errWeightTangent = errors.New("there is no tangent along weights, only along a layer's input")

func denseFunc[T graph.Float](rows, in, out int, a graph.Activation) (graph.Func, error) {
	b, err := DenseBody[T](rows, in, out, a)
	if err != nil {
		return nil, err
	}
	return graph.NewFunc[T](b), nil
}

// DenseBody returns the [graph.Body] of [Dense] for x of shape [rows, in]: vectorised in float32, plain loops in
// float64. Use it in operations that multiply matrices.
func DenseBody[T graph.Float](rows, in, out int, a graph.Activation) (graph.Body[T], error) {
	var b any = &plainDense{rows: rows, in: in, out: out, a: a}
	if _, single := any(T(0)).(float32); single {
		k, err := dense.New(rows, in, out, kernel.Activation(a))
		if err != nil {
			return nil, err
		}
		b = planned{k}
	}
	return b.(graph.Body[T]), nil
}

func denseShape(in []tensor.Shape) (tensor.Shape, error) {
	if len(in) != 3 {
		return nil, graph.Wanted("3 inputs", len(in))
	}
	rows, n, err := graph.Matrix("input", in[0])
	if err != nil {
		return nil, err
	}
	if in[1].Dims() != 2 || in[1][0] != n || in[1][1] < 1 {
		return nil, graph.Wanted(fmt.Sprintf("weights of shape (%d, outputs)", n), in[1])
	}
	if !slices.Equal(in[2], tensor.Shape{in[1][1]}) {
		return nil, graph.Wanted(fmt.Sprintf("bias of shape (%d)", in[1][1]), in[2])
	}
	return tensor.Shape{rows, in[1][1]}, nil
}

// plan is a layer from package kernel.
type plan interface {
	Forward(x, w, bias, y []float32)
	Backward(x, w, y, dy, dx, dw, db []float32)
}

// planned is the graph.Func of a plan, with inputs x, weights and bias.
type planned struct{ plan plan }

func planFunc[P plan](p P, err error) (graph.Func, error) {
	if err != nil {
		return nil, err
	}
	return graph.NewFunc[float32](planned{p}), nil
}

func (p planned) Forward(in [][]float32, out []float32) { p.plan.Forward(in[0], in[1], in[2], out) }

func (p planned) Backward(in [][]float32, out, dout []float32, din [][]float32) {
	p.plan.Backward(in[0], in[1], out, dout, din[0], din[1], din[2])
}

// plainDense is the dense layer in float64, as plain loops.
type plainDense struct {
	rows, in, out int
	a             graph.Activation
	g             []float64
}

func (d *plainDense) Forward(in [][]float64, out []float64) {
	x, w, bias := in[0], in[1], in[2]
	for r := range d.rows {
		y := out[r*d.out : (r+1)*d.out]
		copy(y, bias)
		for i, v := range x[r*d.in : (r+1)*d.in] {
			for j, u := range w[i*d.out : (i+1)*d.out] {
				y[j] += v * u
			}
		}
	}
	numeric.Activate(kernel.Activation(d.a), out, out)
}

func (d *plainDense) Backward(in [][]float64, out, dout []float64, din [][]float64) {
	g := beforeActivation(&d.g, d.a, dout, out)
	addRows(din[2], g)
	clear(din[0])
	clear(din[1])
	for r := range d.rows {
		gr := g[r*d.out : (r+1)*d.out]
		for i, v := range in[0][r*d.in : (r+1)*d.in] {
			if din[1] != nil {
				for j, u := range gr {
					din[1][i*d.out+j] += v * u
				}
			}
			if din[0] != nil {
				din[0][r*d.in+i] = numeric.Dot(gr, in[1][i*d.out:(i+1)*d.out])
			}
		}
	}
}

// beforeActivation returns the gradient with respect to the input of the activation, in scratch memory.
func beforeActivation(scratch *[]float64, a graph.Activation, dout, out []float64) []float64 {
	if *scratch == nil {
		*scratch = make([]float64, len(out))
	}
	numeric.ActivationGradient(kernel.Activation(a), *scratch, dout, out)
	return *scratch
}

// addRows sets sum to the sum of the rows of g. It does nothing if sum is nil.
func addRows(sum, g []float64) {
	if sum == nil {
		return
	}
	clear(sum)
	for len(g) >= len(sum) {
		for j := range sum {
			sum[j] += g[j]
		}
		g = g[len(sum):]
	}
}
