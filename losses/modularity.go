package losses

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/internal/op"
)

// Deviation measures how far points are from being one point: OfVariance,
// OfDiameter, OfMPD, OfRadius or OfMAD.
type Deviation = op.Deviation

// The deviations of n points p_1, ..., p_n, all of them 0 exactly if the points are
// equal.
const (
	OfVariance = op.Variance // 1/n sum_i |p_i - mean|^2
	OfDiameter = op.Diameter // max_ij |p_i - p_j|
	OfMPD      = op.MPD      // 1/(2 n^2) sum_ij |p_i - p_j|
	OfRadius   = op.Radius   // min_c max_i |p_i - c|
	OfMAD      = op.MAD      // min_c 1/n sum_i |p_i - c|
)

// Modularity returns how far sub-codes are from being functions of one factor each:
//
//	sum over blocks i of the aggregate, over values v of factor i, of the deviation
//	of z_i over the rows whose factor i is v
//
// z has the shape [n, d]. groups has the shape [n, K], or [n] for one factor: rows
// with equal numbers >= 0 in a column agree in that factor, a row with a negative
// number takes no part. A value that one row has counts with deviation 0; one that
// no row has does not count. A block names a column of groups and the columns of z
// that should depend on that factor alone; without blocks, each of the K factors
// has d/K columns, one factor after the other.
//
// The result is a scalar with a gradient in z. It is at least 0, and 0 exactly where
// every z_i is the same in all rows of a group: where the encoder, on these rows,
// is a product function. At ties, of maxima or of choices of an inner optimum, the
// gradient is that of one choice, the first where there is an order; at equal
// points it is 0.
//
// Source: Zhang and Sugiyama 2024, equations 14 to 16 and 24.
func Modularity(d Deviation, a Aggregate, z, groups *gorgonia.Node, blocks ...Block) (*gorgonia.Node, error) {
	if len(blocks) == 0 {
		var err error
		if blocks, err = evenBlocks(z, groups); err != nil {
			return nil, fmt.Errorf("%v: %w", d, err)
		}
	}
	return op.Modularity(d, a, blocks, z, groups)
}

// evenBlocks shares out the columns of codes to the factors.
func evenBlocks(z, groups *gorgonia.Node) ([]Block, error) {
	if z == nil || groups == nil || z.Dims() != 2 || groups.Dims() < 1 || groups.Dims() > 2 {
		return nil, fmt.Errorf("codes [n, d] and groups [n] or [n, K] wanted, got %v and %v", shapeOf(z), shapeOf(groups))
	}
	width, factors := z.Shape()[1], 1
	if groups.Dims() == 2 {
		factors = groups.Shape()[1]
	}
	if factors == 0 || width%factors != 0 || width == 0 {
		return nil, fmt.Errorf("%d code columns cannot be shared out evenly to %d factors: blocks wanted", width, factors)
	}
	return shareOut(width, factors), nil
}

// shareOut gives each factor as many columns as the next, one after the other.
func shareOut(width, factors int) []Block {
	blocks, each := make([]Block, factors), width/factors
	for i := range blocks {
		blocks[i].Factor = i
		for j := range each {
			blocks[i].Columns = append(blocks[i].Columns, i*each+j)
		}
	}
	return blocks
}

func shapeOf(n *gorgonia.Node) any {
	if n == nil {
		return "nothing"
	}
	return n.Shape()
}

// Variance is [Modularity] with the mean over values of the total population
// variance. It is differentiable everywhere.
//
// Source: Zhang and Sugiyama 2024, example 4, equation 17.
func Variance(z, groups *gorgonia.Node, blocks ...Block) (*gorgonia.Node, error) {
	return Modularity(OfVariance, Mean, z, groups, blocks...)
}

// Diameter is [Modularity] with the maximum over values of the largest Euclidean
// distance. It is differentiable where one pair is farther apart than all others
// and the distance is not 0.
//
// Source: Zhang and Sugiyama 2024, example 7, equation 25.
func Diameter(z, groups *gorgonia.Node, blocks ...Block) (*gorgonia.Node, error) {
	return Modularity(OfDiameter, Max, z, groups, blocks...)
}

// MPD is [Modularity] with the mean over values of half the mean Euclidean distance
// over all ordered pairs, a point and itself counted. (The half is what the tables of
// the source have; it parallels the variance, half the mean squared distance.) It is
// differentiable where no two points of a group are equal.
//
// Source: Zhang and Sugiyama 2024, equation 24 with the mean.
func MPD(z, groups *gorgonia.Node, blocks ...Block) (*gorgonia.Node, error) {
	return Modularity(OfMPD, Mean, z, groups, blocks...)
}

// Radius is [Modularity] with the maximum over values of the radius of the smallest
// enclosing ball. Its gradient goes through the inner optimum: if the ball's centre
// is sum_i l_i p_i for points p_i on its surface, with l_i >= 0 that add up to 1, then
// that of p_i is l_i (p_i - centre) / radius. It is differentiable where one value
// has the largest ball, the l are unique and the radius is not 0.
//
// Source: Zhang and Sugiyama 2024, example 2; the gradient is ours.
func Radius(z, groups *gorgonia.Node, blocks ...Block) (*gorgonia.Node, error) {
	return Modularity(OfRadius, Max, z, groups, blocks...)
}

// MAD is [Modularity] with the mean over values of the mean Euclidean distance from
// the geometric median. Its gradient goes through the inner optimum: that of p_i is
// the unit vector from the median to p_i, over n; points at the median share minus
// the others' sum. It is differentiable where the median is none of the points, or
// is strictly held by one.
//
// Source: Zhang and Sugiyama 2024, example 3; the gradient is ours.
func MAD(z, groups *gorgonia.Node, blocks ...Block) (*gorgonia.Node, error) {
	return Modularity(OfMAD, Mean, z, groups, blocks...)
}

// GroupsFrom says in a config what makes rows of a batch a group.
type GroupsFrom string

// What makes a group. A model's labels hold the answer in one form for both, so
// that the choice changes nothing: it states what a config relies on.
const (
	FromFactors    GroupsFrom = "factors"    // rows with equal known values of a factor
	FromSimilarity GroupsFrom = "similarity" // pairs that are known to agree in a factor
)

// UnmarshalText accepts a known name.
func (g *GroupsFrom) UnmarshalText(text []byte) error {
	if *g = GroupsFrom(text); *g != FromFactors && *g != FromSimilarity {
		return fmt.Errorf("unknown source of groups %q; known: factors, similarity", text)
	}
	return nil
}

// ModularityLoss is [Modularity] of a model's codes.
type ModularityLoss struct {
	Weight    float64    `yaml:"weight" doc:"factor in the total"`
	Aggregate Aggregate  `yaml:"aggregate" doc:"over the values of a factor: mean, max, sum or mean-square"`
	Codes     CodeBlocks `yaml:"codes" doc:"code columns of each factor, such as {shape: [0, 1], x: [2]}; none: equal shares"`
	On        On         `yaml:"on" doc:"codes, the posteriors' locations, or sample, the draws that are decoded"`
	Groups    GroupsFrom `yaml:"groups" doc:"what makes a group: equal labels of factors, or similarity pairs"`

	deviation Deviation
}

func newModularity(d Deviation, a Aggregate) *ModularityLoss {
	return &ModularityLoss{Weight: 1, Aggregate: a, On: OnCodes, Groups: FromFactors, deviation: d}
}

// NewVariance returns the default settings of [Variance].
func NewVariance() *ModularityLoss { return newModularity(OfVariance, Mean) }

// NewDiameter returns the default settings of [Diameter].
func NewDiameter() *ModularityLoss { return newModularity(OfDiameter, Max) }

// NewMPD returns the default settings of [MPD].
func NewMPD() *ModularityLoss { return newModularity(OfMPD, Mean) }

// NewRadius returns the default settings of [Radius].
func NewRadius() *ModularityLoss { return newModularity(OfRadius, Max) }

// NewMAD returns the default settings of [MAD].
func NewMAD() *ModularityLoss { return newModularity(OfMAD, Mean) }

// Validate checks the settings.
func (l *ModularityLoss) Validate() error { return validWeight(l.Weight) }

// Weighting implements [Loss].
func (l *ModularityLoss) Weighting() float64 { return l.Weight }

// Add implements [Loss].
func (l *ModularityLoss) Add(o *Outputs) (*gorgonia.Node, error) {
	blocks, err := l.Codes.blocks(o)
	if err != nil {
		return nil, err
	}
	z, err := l.On.node(o)
	if err != nil {
		return nil, err
	}
	groups, err := o.Labels.Groups()
	if err != nil {
		return nil, err
	}
	return Modularity(l.deviation, l.Aggregate, z, groups, blocks...)
}
