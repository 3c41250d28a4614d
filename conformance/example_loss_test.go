package conformance_test

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/conformance"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/losses"
)

// pressure is a loss of one's own: the variance of sub-codes where their factors are
// fixed, held at a target that falls during training, plus the total correlation of the
// codes by a discriminator. It takes labels, a schedule and a discriminator.
type pressure struct {
	Weight losses.Weight `yaml:"weight" doc:"factor in the total"`
	Target float64       `yaml:"target" doc:"variance in the first step, in squared units of the codes"`
	Steps  int           `yaml:"steps" doc:"number of steps until the target is 0"`
}

func newPressure() losses.Loss { return &pressure{Weight: losses.Constant(1), Target: 0.5, Steps: 100} }

func (l *pressure) Weighting() losses.Weight { return l.Weight }

func (l *pressure) at(step int) float64 {
	return l.Target * max(0, 1-float64(step)/float64(max(l.Steps, 1)))
}

func (l *pressure) Add(in *losses.Input) (*gorgonia.Node, error) {
	if in.Codes == nil || in.Codes.Dims() != 2 || in.Labels == nil {
		return nil, fmt.Errorf("it has no codes [rows, columns] or no labels; want a model with codes, and a supervision")
	}
	groups, err := in.Labels.Groups()
	if err != nil {
		return nil, err
	}
	blocks, err := factor.EvenBlocks(in.Labels.Factors, in.Codes.Shape()[1])
	if err != nil {
		return nil, err
	}
	variance, err := losses.Variance(in.Codes, groups, blocks...)
	if err != nil {
		return nil, err
	}
	target, err := in.Schedule("target", l.at)
	if err != nil {
		return nil, err
	}
	held, err := losses.Capacity(variance, target)
	if err != nil {
		return nil, err
	}
	d := losses.NewTC().Discriminator
	logits, err := in.Discriminator(d, in.Codes, nil)
	if err != nil {
		return nil, err
	}
	ratio, err := losses.DensityRatio(logits)
	if err != nil {
		return nil, err
	}
	return graph.WeightedSum([]float64{1, 1}, held, ratio)
}

// A loss of one's own is checked before it is registered.
func ExampleCheckLoss() {
	e := registry.Entry[losses.Loss]{Name: "pressure", Doc: "variance of sub-codes, and total correlation", New: newPressure}
	fmt.Println(conformance.CheckLoss(e))
	// Output: <nil>
}
