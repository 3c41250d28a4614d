package losses

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// HalfSquare returns half the sum of the squares of all elements of x, a scalar; its gradient is x.
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

// WeightDecayLoss is half the sum of the squares of a model's weights, excluding biases, as a part of the total. With
// adam its gradient goes through the moments, unlike the optimiser's decay, which is decoupled.
type WeightDecayLoss struct {
	Weight Weight `yaml:"weight" doc:"factor in the total"`
}

// NewWeightDecay returns CascadeVAE's settings.
func NewWeightDecay() *WeightDecayLoss { return &WeightDecayLoss{Weight: Constant(4e-5)} }

// Weighting implements [Loss].
func (l *WeightDecayLoss) Weighting() Weight { return l.Weight }

// Optimum implements [Optimal]: all weights are 0.
func (*WeightDecayLoss) Optimum(x *Example) bool {
	fill(x.Weights, 0)
	return true
}

// Add implements [Loss].
func (*WeightDecayLoss) Add(in *Input) (*gorgonia.Node, error) {
	if len(in.Weights) == 0 {
		return nil, missing("weights that are trained")
	}
	nodes, ones := make(gorgonia.Nodes, len(in.Weights)), make([]float64, len(in.Weights))
	for i, w := range in.Weights {
		var err error
		if nodes[i], err = HalfSquare(w); err != nil {
			return nil, err
		}
		ones[i] = 1
	}
	return graph.WeightedSum(ones, nodes...)
}
