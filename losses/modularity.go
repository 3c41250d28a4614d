package losses

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/graph"
)

// Deviation measures how far points are from being one point: OfVariance,
// OfDiameter, OfMPD, OfRadius or OfMAD.
type Deviation = graph.Deviation

// The deviations of n points p_1, ..., p_n, all of them 0 exactly if the points are
// equal.
const (
	OfVariance = graph.Variance // 1/n sum_i |p_i - mean|^2
	OfDiameter = graph.Diameter // max_ij |p_i - p_j|
	OfMPD      = graph.MPD      // 1/(2 n^2) sum_ij |p_i - p_j|
	OfRadius   = graph.Radius   // min_c max_i |p_i - c|
	OfMAD      = graph.MAD      // min_c 1/n sum_i |p_i - c|
)

// DeviationEstimator says whether deviations are those of the rows of a batch, or of
// what the rows are drawn from: Plain or Unbiased.
type DeviationEstimator = graph.Estimator

// The estimators of [Modularity].
const (
	Plain    = graph.Plain    // of the rows as they are: of all data at once, or of any deviation
	Unbiased = graph.Unbiased // of the data that a batch is drawn from: of variance and MPD, with Mean
)

// Modularity returns how far sub-codes are from being functions of one factor each:
//
//	sum over blocks i of the aggregate, over values v of factor i, of the deviation
//	of z_i over the rows whose factor i is v
//
// z has the shape [n, d]. groups has the shape [n, K], or [n] for one factor: rows
// with equal numbers >= 0 in a column agree in that factor, a row with a negative
// number takes no part. A value that no row has does not count. A block names a
// column of groups and the columns of z that should depend on that factor alone;
// without blocks, each of the K factors has d/K columns, one factor after the other.
//
// The estimator Plain is the formula as it is: a value that one row has counts with
// deviation 0. In a small batch most deviations are then too small, the more so the more
// values a factor has: of codes with variance 1, a batch of 32 rows has .77 with 6 values,
// and .18 with 40. Unbiased estimates the mean over the values of the data that the
// batch is drawn from:
//
//   - Variance and MPD are means over all n_v^2 ordered pairs of the n_v rows of a value of
//     |p_i - p_j|^2/2 and |p_i - p_j|/2, which are 0 for a row and itself. The mean over
//     the n_v (n_v-1) pairs of different rows, n_v/(n_v-1) times as much, has as its
//     expectation the deviation D_v in the data, for any n_v >= 2. (That of the variance
//     is the familiar sum of squares over n_v-1.)
//   - One row says nothing of a deviation: its value takes no part.
//   - Every value of two rows or more stands for one value, and so has the same weight,
//     1/G if there are G of them. The expectation is sum_v w_v D_v, where w_v is that
//     of 1/G where v is one of the G, and 0 elsewhere. If all L values are equally
//     frequent, all w_v are equal, and the expectation, among batches with G > 0, is the mean
//     1/L sum_v D_v, whatever the size of the batch. If they are not, values that two rows of
//     a batch seldom have weigh less; w_v approaches 1/L as batches grow.
//   - Where no value has two rows (G = 0), value and gradient are 0.
//
// There is no unbiased estimate of diameter, radius and MAD, nor of Max and Sum over
// values, from any number of rows: the expectation of a function of n rows is a polynomial in
// the probabilities of what a row can be. Of codes that are 1 with probability t and otherwise
// 0, variance and MPD are t(1-t), but MAD is min(t, 1-t), and diameter and radius jump
// at t = 0. The sum needs the number of values, which a batch does not show. MeanSquare of
// variances would need four rows of a value, and is not there. These are errors.
//
// The result is a scalar with a gradient in z. It is at least 0, and 0 exactly where
// every z_i is the same in all rows of a group: where the encoder, on these rows,
// is a product function. At ties, of maxima or of choices of an inner optimum, the
// gradient is that of one choice, the first where there is an order; at equal
// points it is 0.
//
// Source: Zhang and Sugiyama 2024, equations 14 to 16 and 24; unbiased, the U-statistics
// of Hoeffding 1948 for their deviations.
func Modularity(d Deviation, a Aggregate, e DeviationEstimator, z, groups *gorgonia.Node, blocks ...Block) (*gorgonia.Node, error) {
	if len(blocks) == 0 {
		var err error
		if blocks, err = evenBlocks(z, groups); err != nil {
			return nil, fmt.Errorf("%v: %w", d, err)
		}
	}
	return graph.Modularity(d, a, e, blocks, z, groups)
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

// Variance is [Modularity] with the mean over values of the total variance, Unbiased.
// It is differentiable everywhere. The variance of the rows themselves, as of the metric
// of this name, is Modularity(OfVariance, Mean, Plain, ...).
//
// Source: Zhang and Sugiyama 2024, example 4, equation 17.
func Variance(z, groups *gorgonia.Node, blocks ...Block) (*gorgonia.Node, error) {
	return Modularity(OfVariance, Mean, Unbiased, z, groups, blocks...)
}

// Diameter is [Modularity] with the maximum over values of the largest Euclidean
// distance. It is differentiable where one pair is farther apart than all others
// and the distance is not 0.
//
// Source: Zhang and Sugiyama 2024, example 7, equation 25.
func Diameter(z, groups *gorgonia.Node, blocks ...Block) (*gorgonia.Node, error) {
	return Modularity(OfDiameter, Max, Plain, z, groups, blocks...)
}

// MPD is [Modularity] with the mean over values of half the mean Euclidean distance
// over all ordered pairs, Unbiased: of a point and another. (The half is what the tables of
// the source have; it parallels the variance, half the mean squared distance.) It is
// differentiable where no two points of a group are equal. That of the rows themselves, a
// point and itself counted, is Modularity(OfMPD, Mean, Plain, ...).
//
// Source: Zhang and Sugiyama 2024, equation 24 with the mean.
func MPD(z, groups *gorgonia.Node, blocks ...Block) (*gorgonia.Node, error) {
	return Modularity(OfMPD, Mean, Unbiased, z, groups, blocks...)
}

// Radius is [Modularity] with the maximum over values of the radius of the smallest
// enclosing ball. Its gradient goes through the inner optimum: if the ball's centre
// is sum_i l_i p_i for points p_i on its surface, with l_i >= 0 that add up to 1, then
// that of p_i is l_i (p_i - centre) / radius. It is differentiable where one value
// has the largest ball, the l are unique and the radius is not 0.
//
// Source: Zhang and Sugiyama 2024, example 2; the gradient is ours.
func Radius(z, groups *gorgonia.Node, blocks ...Block) (*gorgonia.Node, error) {
	return Modularity(OfRadius, Max, Plain, z, groups, blocks...)
}

// MAD is [Modularity] with the mean over values of the mean Euclidean distance from
// the geometric median. Its gradient goes through the inner optimum: that of p_i is
// the unit vector from the median to p_i, over n; points at the median share minus
// the others' sum. It is differentiable where the median is none of the points, or
// is strictly held by one.
//
// Source: Zhang and Sugiyama 2024, example 3; the gradient is ours.
func MAD(z, groups *gorgonia.Node, blocks ...Block) (*gorgonia.Node, error) {
	return Modularity(OfMAD, Mean, Plain, z, groups, blocks...)
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
	Weight    float64             `yaml:"weight" doc:"factor in the total"`
	Aggregate Aggregate           `yaml:"aggregate" doc:"over the values of a factor: mean, max, sum or mean-square"`
	Estimator *DeviationEstimator `yaml:"estimator" doc:"unbiased, of the data that a batch is drawn from (variance and mpd, with the aggregate mean), or plain, of the batch alone: a value of one image counts as 0; if absent, unbiased where there is such an estimate"`
	Codes     CodeBlocks          `yaml:"codes" doc:"code columns of each factor, such as {shape: [0, 1], x: [2]}; none: equal shares"`
	On        On                  `yaml:"on" doc:"codes, the posteriors' locations, or sample, the draws that are decoded"`
	Groups    GroupsFrom          `yaml:"groups" doc:"what makes a group: equal labels of factors, or similarity pairs"`

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
func (l *ModularityLoss) Validate() error {
	e := l.estimator()
	if err := e.Check(l.deviation, l.Aggregate); err != nil {
		key := "aggregate" // is at fault where the mean would do
		if e.Check(l.deviation, Mean) != nil {
			key = "estimator"
		}
		return config.Invalid(key, "%v", err)
	}
	return validWeight(l.Weight)
}

// estimator is the chosen one, or Unbiased where there is such an estimate.
func (l *ModularityLoss) estimator() DeviationEstimator {
	switch {
	case l.Estimator != nil:
		return *l.Estimator
	case Unbiased.Check(l.deviation, l.Aggregate) == nil:
		return Unbiased
	}
	return Plain
}

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
	return Modularity(l.deviation, l.Aggregate, l.estimator(), z, groups, blocks...)
}
