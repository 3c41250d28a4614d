package losses

import (
	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/losses/internal/total"
)

// HalfSquare returns half the sum of the squares of all elements of x, a scalar; its gradient is x.
func HalfSquare(x *gorgonia.Node) (*gorgonia.Node, error) { return total.HalfSquare(x) }

// WeightDecayLoss is half the sum of squares of a model's weights, without biases, as a part of the total. With Adam
// its gradient enters the moments; the weight decay of the optimiser, in contrast, is decoupled.
type WeightDecayLoss struct {
	Weight Weight `yaml:"weight" doc:"factor in the total"`
}

// NewWeightDecay returns CascadeVAE's settings.
func NewWeightDecay() *WeightDecayLoss { return &WeightDecayLoss{Weight: Constant(4e-5)} }

func (l *WeightDecayLoss) Weighting() Weight { return l.Weight }

// Optimum implements [Optimal]: all weights are 0.
func (*WeightDecayLoss) Optimum(x *Example) bool {
	fill(x.Weights, 0)
	return true
}

func (*WeightDecayLoss) Add(in *Input) (*gorgonia.Node, error) {
	if len(in.Weights) == 0 {
		return nil, missing("weights that are trained")
	}
	nodes := make(gorgonia.Nodes, len(in.Weights))
	for i, w := range in.Weights {
		var err error
		if nodes[i], err = HalfSquare(w); err != nil {
			return nil, err
		}
	}
	return total.Sum(nodes...)
}
