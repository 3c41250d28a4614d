package graph

import (
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
)

// SoftmaxRows returns exp(x_j) / sum_k exp(x_k) for every row of a matrix, without overflow at any x.
func SoftmaxRows(x *gorgonia.Node) (*gorgonia.Node, error) { return rowsOf("softmax", x) }

// LogSoftmaxRows returns x_j - log sum_k exp(x_k) for every row of a matrix: the logarithms of [SoftmaxRows]. They stay
// finite if the softmax rounds to 0.
func LogSoftmaxRows(x *gorgonia.Node) (*gorgonia.Node, error) { return rowsOf("log softmax", x) }

func rowsOf(name string, x *gorgonia.Node) (*gorgonia.Node, error) {
	return Apply(Spec{
		Name:       name,
		Attributes: map[string]any{},
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			_, _, err := Matrix("input", in[0])
			return in[0].Clone(), err
		},
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (Func, error) {
			if dt == tensor.Float32 {
				return newSoftmax[float32](name, in[0][1]), nil
			}
			return newSoftmax[float64](name, in[0][1]), nil
		},
		Device: func(in []tensor.Shape, _ tensor.Shape) (Recording, error) {
			rows, columns, logarithms := in[0][0], in[0][1], name == "log softmax"
			return Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.Softmax(t, in[0], out, logarithms, rows, columns)
				},
				Backward: func(t *vulkan.Tape, in []vulkan.Buffer, out, dout vulkan.Buffer, din []vulkan.Buffer) {
					kernels.SoftmaxGradient(t, out, dout, din[0], logarithms, rows, columns)
				},
			}, nil
		},
	}, x)
}

func newSoftmax[T Float](name string, columns int) Func {
	if name == "softmax" {
		return NewFunc[T](softmax[T]{columns})
	}
	return NewFunc[T](logSoftmax[T]{columns})
}

type softmax[T Float] struct{ columns int }

func (f softmax[T]) Forward(in [][]T, out []T) {
	for row := 0; row < len(out); row += f.columns {
		x, y := in[0][row:row+f.columns], out[row:row+f.columns]
		largest, sum := float64(slices.Max(x)), 0.0
		for j, v := range x {
			e := math.Exp(float64(v) - largest)
			y[j] = T(e)
			sum += e
		}
		for j := range y {
			y[j] = T(float64(y[j]) / sum)
		}
	}
}

func (f softmax[T]) Backward(_ [][]T, out, dout []T, din [][]T) {
	for row := 0; row < len(out); row += f.columns {
		var mean float64
		for j := row; j < row+f.columns; j++ {
			mean += float64(out[j]) * float64(dout[j])
		}
		for j := row; j < row+f.columns; j++ {
			din[0][j] = T(float64(out[j]) * (float64(dout[j]) - mean))
		}
	}
}

type logSoftmax[T Float] struct{ columns int }

func (f logSoftmax[T]) Forward(in [][]T, out []T) {
	for row := 0; row < len(out); row += f.columns {
		x := in[0][row : row+f.columns]
		largest, sum := float64(slices.Max(x)), 0.0
		for _, v := range x {
			sum += math.Exp(float64(v) - largest)
		}
		logSum := math.Log(sum)
		for j, v := range x {
			out[row+j] = T(float64(v) - largest - logSum)
		}
	}
}

func (f logSoftmax[T]) Backward(_ [][]T, out, dout []T, din [][]T) {
	for row := 0; row < len(out); row += f.columns {
		var sum float64
		for _, d := range dout[row : row+f.columns] {
			sum += float64(d)
		}
		for j := row; j < row+f.columns; j++ {
			din[0][j] = T(float64(dout[j]) - math.Exp(float64(out[j]))*sum)
		}
	}
}
