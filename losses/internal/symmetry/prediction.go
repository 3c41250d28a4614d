package symmetry

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/losses/internal/check"
)

// PredictByBlocks adds the node that losses.PredictByBlocks documents.
func PredictByBlocks(z, blocks, actions *gorgonia.Node, columns []int) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name:  "predict by blocks",
		Key:   graph.Key(columns),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) { return predictedShape(in, columns) },
		New: graph.Bodies(
			func(in []tensor.Shape) *predictByBlocks[float32] {
				return &predictByBlocks[float32]{in[0][1], columns, make([]float64, in[1].TotalSize())}
			},
			func(in []tensor.Shape) *predictByBlocks[float64] {
				return &predictByBlocks[float64]{in[0][1], columns, make([]float64, in[1].TotalSize())}
			}),
		Diff: []bool{true, true, false},
	}, z, blocks, actions)
}

func predictedShape(in []tensor.Shape, columns []int) (tensor.Shape, error) {
	rows, d, err := graph.Matrix("codes", in[0])
	switch {
	case err != nil:
		return nil, err
	case len(columns) == 0 || !in[1].Eq(tensor.Shape{len(columns), 4}):
		return nil, graph.Wanted(fmt.Sprintf("blocks of shape [%d, 4], and at least one", len(columns)), in[1])
	case !in[2].Eq(tensor.Shape{rows, len(columns)}):
		return nil, graph.Wanted(fmt.Sprintf("actions of shape [%d, %d]", rows, len(columns)), in[2])
	}
	for _, b := range columns {
		if b < 0 || 2*b+1 >= d {
			return nil, graph.Wanted(fmt.Sprintf("blocks 0 to %d, of %d columns", d/2-1, d), b)
		}
	}
	return in[0], nil
}

type predictByBlocks[T graph.Float] struct {
	d       int
	columns []int
	slopes  []float64 // gradients with respect to the blocks
}

// action returns the action that leads from the previous row to a row, or -1.
func (p *predictByBlocks[T]) action(in [][]T, row int) int {
	if row == 0 {
		return -1
	}
	return chosen(in[2], row, len(p.columns))
}

func (p *predictByBlocks[T]) Forward(in [][]T, out []T) {
	d := p.d
	for row := range len(out) / d {
		y := out[row*d : (row+1)*d]
		a := p.action(in, row)
		if a < 0 {
			clear(y)
			continue
		}
		copy(y, in[0][(row-1)*d:row*d])
		m, c := in[1][4*a:4*a+4], 2*p.columns[a]
		z0, z1 := float64(y[c]), float64(y[c+1])
		y[c] = T(float64(m[0])*z0 + float64(m[1])*z1)
		y[c+1] = T(float64(m[2])*z0 + float64(m[3])*z1)
	}
}

func (p *predictByBlocks[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	d := p.d
	clear(p.slopes)
	if din[0] != nil {
		clear(din[0])
	}
	for row := 1; row < len(dout)/d; row++ {
		a := p.action(in, row)
		if a < 0 {
			continue
		}
		g, c := dout[row*d:(row+1)*d], 2*p.columns[a]
		g0, g1 := float64(g[c]), float64(g[c+1])
		for i, v := range g[c : c+2] {
			for j, z := range in[0][(row-1)*d+c : (row-1)*d+c+2] {
				p.slopes[4*a+2*i+j] += float64(v) * float64(z)
			}
		}
		if din[0] != nil {
			dz, m := din[0][(row-1)*d:row*d], in[1][4*a:4*a+4]
			copy(dz, g)
			dz[c] = T(float64(m[0])*g0 + float64(m[2])*g1)
			dz[c+1] = T(float64(m[1])*g0 + float64(m[3])*g1)
		}
	}
	if din[1] != nil {
		for i, v := range p.slopes {
			din[1][i] = T(v)
		}
	}
}

// Prediction adds the node that losses.Prediction documents.
func Prediction(predicted, codes, actions *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "prediction",
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			err := check.Matrices("predicted codes and codes", in[:2]...)
			if err == nil && (in[2].Dims() != 2 || in[2][0] != in[0][0]) {
				err = graph.Wanted(fmt.Sprintf("actions of %d rows", in[0][0]), in[2])
			}
			return tensor.ScalarShape(), err
		},
		New: graph.Bodies(
			func(in []tensor.Shape) *prediction[float32] {
				return &prediction[float32]{d: in[0][1], actions: in[2][1]}
			},
			func(in []tensor.Shape) *prediction[float64] {
				return &prediction[float64]{d: in[0][1], actions: in[2][1]}
			}),
		Diff: []bool{true, true, false},
	}, predicted, codes, actions)
}

type prediction[T graph.Float] struct {
	d, actions int
	scale      float64 // one over the number of elements in the mean, or 0 without elements
}

func (p *prediction[T]) Forward(in [][]T, out []T) {
	sum, n := 0.0, 0
	for i, v := range in[0] {
		if chosen(in[2], i/p.d, p.actions) >= 0 {
			off := float64(v) - float64(in[1][i])
			sum, n = sum+off*off, n+1
		}
	}
	p.scale = 0
	if n > 0 {
		p.scale = 1 / float64(n)
	}
	out[0] = T(p.scale * sum)
}

func (p *prediction[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	g := 2 * p.scale * float64(dout[0])
	for i, v := range in[0] {
		slope := T(0)
		if chosen(in[2], i/p.d, p.actions) >= 0 {
			slope = T(g * (float64(v) - float64(in[1][i])))
		}
		if din[0] != nil {
			din[0][i] = slope
		}
		if din[1] != nil {
			din[1][i] = -slope
		}
	}
}
