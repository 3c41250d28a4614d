package graph

import (
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// WeightedSum returns sum_i weights[i] x_i for scalars, or for tensors of one shape.
func WeightedSum(weights []float64, x ...*gorgonia.Node) (*gorgonia.Node, error) {
	weights = append([]float64(nil), weights...)
	return Apply(Spec{
		Name:       "weighted sum",
		Key:        Key(weights),
		Attributes: map[string]any{"weights": weights},
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if len(in) != len(weights) {
				return nil, Wanted(fmt.Sprintf("%d inputs, as many as weights", len(weights)), len(in))
			}
			for _, s := range in {
				if !slices.Equal(s, in[0]) {
					return nil, Wanted("inputs of one shape", in)
				}
			}
			return in[0], nil
		},
		New: Bodies(
			func([]tensor.Shape) Body[float32] { return weightedSum[float32]{weights} },
			func([]tensor.Shape) Body[float64] { return weightedSum[float64]{weights} }),
		Device: func(in []tensor.Shape, _ tensor.Shape) (Recording, error) {
			n := in[0].TotalSize()
			return Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.WeightedSum(t, weights, in, out, n)
				},
				Backward: func(t *vulkan.Tape, _ []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					for i, d := range din {
						if !d.IsZero() {
							kernels.Scale(t, weights[i], dout, d, n)
						}
					}
				},
			}, nil
		},
		Tangent: func(_ []*gorgonia.Node, _ *gorgonia.Node, along []*gorgonia.Node) (*gorgonia.Node, error) {
			var factors []float64
			var moving []*gorgonia.Node
			for i, t := range along {
				if t != nil {
					factors, moving = append(factors, weights[i]), append(moving, t)
				}
			}
			return WeightedSum(factors, moving...)
		},
	}, x...)
}

// Add returns a + b for tensors of one shape.
func Add(a, b *gorgonia.Node) (*gorgonia.Node, error) { return WeightedSum([]float64{1, 1}, a, b) }

// Scale returns factor * x.
func Scale(factor float64, x *gorgonia.Node) (*gorgonia.Node, error) {
	return WeightedSum([]float64{factor}, x)
}

type weightedSum[T Float] struct{ weights []float64 }

func (s weightedSum[T]) Forward(in [][]T, out []T) {
	for j := range out {
		sum := 0.0
		for i, w := range s.weights {
			sum += w * float64(in[i][j])
		}
		out[j] = T(sum)
	}
}

func (s weightedSum[T]) Backward(_ [][]T, _, dout []T, din [][]T) {
	for i, w := range s.weights {
		for j := range din[i] {
			din[i][j] = T(w * float64(dout[j]))
		}
	}
}
