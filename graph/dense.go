package graph

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/internal/kernel"
)

// Dense returns activation(x w + bias) for x [rows, in], w [in, out] and
// bias [out], as [rows, out].
func Dense(x, w, bias *gorgonia.Node, a Activation) (*gorgonia.Node, error) {
	if err := validActivation(a); err != nil {
		return nil, fmt.Errorf("dense: %w", err)
	}
	return Apply(Spec{
		Name:       "dense",
		Key:        a.String(),
		Attributes: map[string]any{"activation": a.String()},
		Shape:      denseShape,
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (Func, error) {
			rows, n, m := in[0][0], in[0][1], in[1][1]
			if dt == tensor.Float64 {
				return newFunc[float64](&plainDense{rows: rows, in: n, out: m, a: a}), nil
			}
			k, err := kernel.NewDense(rows, n, m, kernel.Activation(a))
			if err != nil {
				return nil, err
			}
			return newFunc[float32](planned{k}), nil
		},
	}, x, w, bias)
}

func denseShape(in []tensor.Shape) (tensor.Shape, error) {
	if len(in) != 3 {
		return nil, wanted("3 inputs", len(in))
	}
	rows, n, err := rowsOf("input", in[0])
	if err != nil {
		return nil, err
	}
	if in[1].Dims() != 2 || in[1][0] != n || in[1][1] < 1 {
		return nil, wanted(fmt.Sprintf("weights of shape (%d, outputs)", n), in[1])
	}
	if !slices.Equal(in[2], tensor.Shape{in[1][1]}) {
		return nil, wanted(fmt.Sprintf("bias of shape (%d)", in[1][1]), in[2])
	}
	return tensor.Shape{rows, in[1][1]}, nil
}

// plan is a layer of package kernel.
type plan interface {
	Forward(x, w, bias, y []float32)
	Backward(x, w, y, dy, dx, dw, db []float32)
}

// planned is a layer whose inputs are x, weights and bias.
type planned struct{ plan plan }

func (p planned) forward(in [][]float32, out []float32) { p.plan.Forward(in[0], in[1], in[2], out) }

func (p planned) backward(in [][]float32, out, dout []float32, din [][]float32) {
	p.plan.Backward(in[0], in[1], out, dout, din[0], din[1], din[2])
}

// plainDense is the layer in float64, by plain loops.
type plainDense struct {
	rows, in, out int
	a             Activation
	g             []float64
}

func (d *plainDense) forward(in [][]float64, out []float64) {
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
	activateTo(d.a, out, out)
}

func (d *plainDense) backward(in [][]float64, out, dout []float64, din [][]float64) {
	g := throughActivation(&d.g, d.a, dout, out)
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
				din[0][r*d.in+i] = dot(gr, in[1][i*d.out:(i+1)*d.out])
			}
		}
	}
}

// throughActivation returns the gradient before the activation, in scratch memory.
func throughActivation(scratch *[]float64, a Activation, dout, out []float64) []float64 {
	if *scratch == nil {
		*scratch = make([]float64, len(out))
	}
	slopeTo(a, *scratch, dout, out)
	return *scratch
}

// addRows sets sum, if it is wanted, to the sum of the rows of g.
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
