package losses

import (
	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/geometry"
)

// MAD is [Modularity] with the mean over values of the mean Euclidean distance from the geometric median. By the
// envelope theorem the gradient in p_i is the unit vector from the median to p_i, over n. Points at the median share
// minus the sum of the other points' gradients. It is differentiable if no point is the median, or if the median stays
// at a point under small changes.
//
// Source: Zhang and Sugiyama 2024, example 3; the gradient is ours.
func MAD(z, groups *gorgonia.Node, blocks ...factor.Block) (*gorgonia.Node, error) {
	return Modularity(factor.MAD, factor.Mean, Plain, z, groups, blocks...)
}

// NewMAD returns the default settings of [MAD].
func NewMAD() *ModularityLoss { return newModularityLoss(factor.MAD, factor.Mean) }

// newMAD returns the mean distance from the geometric median.
func newMAD[T graph.Float](columns int) deviation[T] {
	m := new(geometry.Median)
	return &optimum[T]{columns: columns, slope: m.Gradient, find: func(x []float64, columns int) (float64, error) {
		err := m.Fit(x, columns)
		return m.MeanDistance, err
	}}
}
