// Package total has operations for parts of an objective: weighted sums, absolute differences, half the sum of squares.
package total

import (
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// Sum adds the sum of scalar parts. The sum of a single part is that part.
func Sum(parts ...*gorgonia.Node) (*gorgonia.Node, error) {
	if len(parts) == 1 {
		return parts[0], nil
	}
	return graph.WeightedSum(slices.Repeat([]float64{1}, len(parts)), parts...)
}

// Weighted adds the weighted sum of scalar parts. The weight of part i is the input changing[i] with one element, or
// constants[i] if changing[i] is nil.
func Weighted(parts, changing gorgonia.Nodes, constants []float64) (*gorgonia.Node, error) {
	in, weightInputs := slices.Clone(parts), make([]int, len(parts))
	for i, w := range changing {
		if w != nil {
			in, weightInputs[i] = append(in, w), len(in)
		}
	}
	n := len(parts)
	if len(in) == n {
		return graph.WeightedSum(constants, parts...)
	}
	return graph.Apply(graph.Spec{
		Name: "scheduled sum",
		Key:  graph.Key(constants, weightInputs),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			for i, s := range in {
				if s.TotalSize() != 1 || i < n && !s.IsScalar() {
					return nil, graph.Wanted("scalars, and a number for each changing weight", in)
				}
			}
			return tensor.ScalarShape(), nil
		},
		New: graph.Bodies(
			func([]tensor.Shape) graph.Body[float32] { return weighted[float32]{constants, weightInputs} },
			func([]tensor.Shape) graph.Body[float64] { return weighted[float64]{constants, weightInputs} }),
		Device: func([]tensor.Shape, tensor.Shape) (graph.Recording, error) {
			return weighted[float32]{constants, weightInputs}.record(), nil
		},
	}, in...)
}

// weighted is a weighted sum of its first inputs.
type weighted[T graph.Float] struct {
	constants   []float64
	weightInput []int // by part: the index of its weight among the inputs; 0: the weight is constant
}

func (s weighted[T]) weight(i int, in [][]T) float64 {
	if k := s.weightInput[i]; k > 0 {
		return float64(in[k][0])
	}
	return s.constants[i]
}

func (s weighted[T]) Forward(in [][]T, out []T) {
	sum := 0.0
	for i := range s.weightInput {
		sum += s.weight(i, in) * float64(in[i][0])
	}
	out[0] = T(sum)
}

func (s weighted[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	for i, k := range s.weightInput {
		if din[i] != nil {
			din[i][0] = T(s.weight(i, in) * float64(dout[0]))
		}
		if k > 0 && din[k] != nil {
			din[k][0] = in[i][0] * dout[0]
		}
	}
}

// record returns the form on a device.
func (s weighted[T]) record() graph.Recording {
	weigh := func(t *vulkan.Tape, i int, in []vulkan.Buffer, x, y vulkan.Buffer) {
		if k := s.weightInput[i]; k > 0 {
			kernels.ScaleBy(t, 1, in[k], x, y, 1)
		} else {
			kernels.Scale(t, s.constants[i], x, y, 1)
		}
	}
	return graph.Recording{
		Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
			weigh(t, 0, in, in[0], out)
			part := t.Scratch(1)
			for i := 1; i < len(s.weightInput); i++ {
				weigh(t, i, in, in[i], part)
				kernels.Add(t, out, part, out, 1)
			}
		},
		Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
			for i, k := range s.weightInput {
				if !din[i].IsZero() {
					weigh(t, i, in, dout, din[i])
				}
				if k > 0 && !din[k].IsZero() {
					kernels.ScaleBy(t, 1, dout, in[i], din[k], 1)
				}
			}
		},
	}
}

// Difference returns the sum of |a - b| over the elements of two equally large nodes. The gradient is 0 where a = b.
func Difference(a, b *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "absolute difference",
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if in[0].TotalSize() != in[1].TotalSize() {
				return nil, graph.Wanted("inputs of one size", in)
			}
			return in[0], nil
		},
		New: graph.Bodies(
			func([]tensor.Shape) graph.Body[float32] { return difference[float32]{} },
			func([]tensor.Shape) graph.Body[float64] { return difference[float64]{} }),
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			n := in[0].TotalSize()
			return graph.Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.Apart(t, in[0], in[1], out, n)
				},
				Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					kernels.ApartGradient(t, in[0], in[1], dout, din[0], din[1], n)
				},
			}, nil
		},
	}, a, b)
}

type difference[T graph.Float] struct{}

func (difference[T]) Forward(in [][]T, out []T) {
	for i := range out {
		out[i] = T(math.Abs(float64(in[0][i]) - float64(in[1][i])))
	}
}

func (difference[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	for i, g := range dout {
		switch {
		case in[0][i] == in[1][i]:
			g = 0
		case in[0][i] < in[1][i]:
			g = -g
		}
		if din[0] != nil {
			din[0][i] = g
		}
		if din[1] != nil {
			din[1][i] = -g
		}
	}
}

// HalfSquare adds the node that losses.HalfSquare documents.
func HalfSquare(x *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name:  "half square",
		Shape: func([]tensor.Shape) (tensor.Shape, error) { return tensor.ScalarShape(), nil },
		New: graph.Bodies(
			func([]tensor.Shape) graph.Body[float32] { return halfSquare[float32]{} },
			func([]tensor.Shape) graph.Body[float64] { return halfSquare[float64]{} }),
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			n := in[0].TotalSize()
			return graph.Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.HalfSquare(t, in[0], out, n)
				},
				Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					kernels.ScaleBy(t, 1, dout, in[0], din[0], n)
				},
			}, nil
		},
	}, x)
}

type halfSquare[T graph.Float] struct{}

func (halfSquare[T]) Forward(in [][]T, out []T) { out[0] = T(numeric.Square(in[0]) / 2) }

func (halfSquare[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	for i, v := range in[0] {
		din[0][i] = v * dout[0]
	}
}
