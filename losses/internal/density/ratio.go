// Package density estimates density ratios with a discriminator, and matches scores of densities with an energy.
package density

import (
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// DensityRatio adds the node that losses.DensityRatio documents.
func DensityRatio(logits *gorgonia.Node) (*gorgonia.Node, error) {
	return discriminate("density ratio", logits, false)
}

// Discrimination adds the node that losses.Discrimination documents.
func Discrimination(logits *gorgonia.Node) (*gorgonia.Node, error) {
	return discriminate("discrimination", logits, true)
}

// discriminate returns the mean log ratio over a discriminator's rows, or its cross-entropy.
func discriminate(name string, logits *gorgonia.Node, entropy bool) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: name,
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			rows, columns, err := graph.Matrix("logits", in[0])
			switch {
			case err != nil:
				return nil, err
			case columns > 2:
				return nil, graph.Wanted("logits of shape [rows, 1] or [rows, 2]", in[0])
			case entropy && rows%2 != 0:
				return nil, graph.Wanted("an even number of rows", rows)
			}
			return tensor.ScalarShape(), nil
		},
		New: graph.Bodies(
			func(in []tensor.Shape) graph.Body[float32] {
				return discriminator[float32]{in[0][0], in[0][1], entropy}
			},
			func(in []tensor.Shape) graph.Body[float64] {
				return discriminator[float64]{in[0][0], in[0][1], entropy}
			}),
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			rows, columns := in[0][0], in[0][1]
			return graph.Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.Discriminate(t, in[0], out, entropy, rows, columns)
				},
				Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					kernels.DiscriminateGradient(t, in[0], dout, din[0], entropy, rows, columns)
				},
			}, nil
		},
	}, logits)
}

type discriminator[T graph.Float] struct {
	rows, columns int
	entropy       bool
}

// ratio returns the log ratio of a row: l, or l_0 - l_1.
func (f discriminator[T]) ratio(logits []T, row int) float64 {
	if f.columns == 1 {
		return float64(logits[row])
	}
	return float64(logits[2*row]) - float64(logits[2*row+1])
}

// side is -1 for codes, which should get large logits, and 1 for permuted codes.
func (f discriminator[T]) side(row int) float64 {
	if row < f.rows/2 {
		return -1
	}
	return 1
}

func (f discriminator[T]) Forward(in [][]T, out []T) {
	sum := 0.0
	for i := range f.rows {
		l := f.ratio(in[0], i)
		if f.entropy {
			l = numeric.Softplus(f.side(i) * l)
		}
		sum += l
	}
	out[0] = T(sum / float64(f.rows))
}

func (f discriminator[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	g := float64(dout[0]) / float64(f.rows)
	for i := range f.rows {
		slope := g
		if f.entropy {
			slope = g * f.side(i) / (1 + math.Exp(-f.side(i)*f.ratio(in[0], i)))
		}
		din[0][i*f.columns] = T(slope)
		if f.columns == 2 {
			din[0][2*i+1] = T(-slope)
		}
	}
}
