package losses

import (
	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/geometry"
)

// Radius is [Modularity] with the maximum over values of the radius of the smallest enclosing ball. Let the ball's
// centre be sum_i l_i p_i for points p_i on its surface, with l_i >= 0 and sum 1. By the envelope theorem the gradient
// in p_i is l_i (p_i - centre) / radius. It is differentiable where one value has the largest ball, the l are unique
// and the radius is not 0.
//
// Source: Zhang and Sugiyama 2024, example 2; the gradient is ours.
func Radius(z, groups *gorgonia.Node, blocks ...factor.Block) (*gorgonia.Node, error) {
	return Modularity(factor.Radius, factor.Max, Plain, z, groups, blocks...)
}

// NewRadius returns the default settings of [Radius].
func NewRadius() *ModularityLoss { return newModularityLoss(factor.Radius, factor.Max) }

// newRadius returns the radius of the smallest enclosing ball. If several sets of points determine the ball, one of
// them gives the gradient.
func newRadius[T graph.Float](columns int) deviation[T] {
	b := new(geometry.Ball)
	return &optimum[T]{columns: columns, slope: b.Gradient, find: func(x []float64, columns int) (float64, error) {
		err := b.Enclose(x, columns)
		return b.Radius, err
	}}
}
