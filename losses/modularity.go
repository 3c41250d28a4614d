package losses

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/losses/internal/modularity"
)

// Modularity returns how far each sub-code is from a function of its factor:
//
//	sum over blocks i of the aggregate, over values v of factor i, of the deviation
//	of z_i over the rows with value v of factor i
//
// z has the shape [n, d]. groups has the shape [n, K], or [n] for one factor. Rows with equal non-negative numbers in a
// column have equal values of that factor. Rows with a negative number are skipped, and so are values that no row has.
// A block names a column of groups, and the columns of z that should depend only on that factor. Without blocks, each
// of the K factors has d/K consecutive columns.
//
// The estimator [Plain] is this formula. [Unbiased] estimates the formula's value on the data set behind the batch; it
// exists for Variance and MPD with Mean.
//
// The result is a scalar with a gradient in z. It is at least 0. It is 0 if and only if every z_i is the same in all
// rows of a group: on these rows, the encoder is a product function. If a maximum or an inner optimum is not unique,
// the gradient uses one of the choices: the first, if they have an order. At equal points the gradient is 0.
//
// Source: Zhang and Sugiyama 2024, equations 14 to 16 and 24.
func Modularity(d factor.Deviation, a factor.Aggregate, e DeviationEstimator, z, groups *gorgonia.Node,
	blocks ...factor.Block) (*gorgonia.Node, error) {
	if err := e.Check(d, a); err != nil {
		return nil, fmt.Errorf("modularity: estimator: %w", err)
	}
	return modularity.Modularity(d, a, e == Unbiased, z, groups, blocks...)
}

// ModularityLoss computes [Modularity] for a model's codes.
type ModularityLoss struct {
	Weight    Weight              `yaml:"weight" doc:"factor in the total"`
	Aggregate factor.Aggregate    `yaml:"aggregate" doc:"aggregate over the values of a factor: mean, max, sum or mean-square"`
	Estimator *DeviationEstimator `yaml:"estimator" doc:"unbiased (for the data set; only variance and mpd with aggregate mean) or plain (for the batch; a level with one image counts 0); if absent, unbiased where possible"`
	Codes     factor.SubCodes     `yaml:"codes" doc:"code columns of each factor, such as {shape: [0, 1], x: [2]}; none: equal shares"`
	On        On                  `yaml:"on" doc:"codes (posterior mean mu) or sample (reparameterised z, as decoded)"`
	Groups    GroupsFrom          `yaml:"groups" doc:"groups by equal labels of factors, or by similarity pairs"`

	deviation factor.Deviation
}

func newModularityLoss(d factor.Deviation, a factor.Aggregate) *ModularityLoss {
	return &ModularityLoss{Weight: Constant(1), Aggregate: a, On: OnCodes, Groups: fromFactors, deviation: d}
}

func (l *ModularityLoss) Validate() error {
	e := l.estimator()
	if err := e.Check(l.deviation, l.Aggregate); err != nil {
		key := "aggregate" // the wrong key, unless even the mean has no unbiased estimator
		if e.Check(l.deviation, factor.Mean) != nil {
			key = "estimator"
		}
		return config.Invalid(key, "%v", err)
	}
	return nil
}

// estimator returns the chosen estimator; by default it is Unbiased if that exists.
func (l *ModularityLoss) estimator() DeviationEstimator {
	switch {
	case l.Estimator != nil:
		return *l.Estimator
	case Unbiased.Check(l.deviation, l.Aggregate) == nil:
		return Unbiased
	}
	return Plain
}

func (l *ModularityLoss) Weighting() Weight { return l.Weight }

// Optimum implements [Optimal]: codes are constant.
func (*ModularityLoss) Optimum(x *Example) bool {
	x.constantCodes()
	return true
}

func (l *ModularityLoss) Add(in *Input) (*gorgonia.Node, error) {
	z, blocks, err := blocksOf(in, l.On, l.Codes)
	if err != nil {
		return nil, err
	}
	groups, err := in.Labels.Groups()
	if err != nil {
		return nil, err
	}
	return Modularity(l.deviation, l.Aggregate, l.estimator(), z, groups, blocks...)
}

// Variance is [Modularity] with the mean over values of the total variance, Unbiased. It is differentiable everywhere.
// The variance of the rows themselves, which the metric variance computes, is Modularity(factor.Variance, factor.Mean,
// Plain, ...).
//
// Source: Zhang and Sugiyama 2024, example 4, equation 17.
func Variance(z, groups *gorgonia.Node, blocks ...factor.Block) (*gorgonia.Node, error) {
	return Modularity(factor.Variance, factor.Mean, Unbiased, z, groups, blocks...)
}

// NewVariance returns the default settings of [Variance].
func NewVariance() *ModularityLoss { return newModularityLoss(factor.Variance, factor.Mean) }

// Diameter is [Modularity] with the maximum over values of the largest Euclidean distance. It is differentiable if one
// pair is farther apart than all others and their distance is not 0.
//
// Source: Zhang and Sugiyama 2024, example 7, equation 25.
func Diameter(z, groups *gorgonia.Node, blocks ...factor.Block) (*gorgonia.Node, error) {
	return Modularity(factor.Diameter, factor.Max, Plain, z, groups, blocks...)
}

// NewDiameter returns the default settings of [Diameter].
func NewDiameter() *ModularityLoss { return newModularityLoss(factor.Diameter, factor.Max) }

// MPD is [Modularity] with the mean over values of half the mean Euclidean distance over ordered pairs of different
// points, [Unbiased]. (The tables of the source include the factor 1/2, as in the variance, which is half the mean
// squared distance.) It is differentiable where no two points of a group are equal. Modularity(factor.MPD, factor.Mean,
// Plain, ...) is the MPD of the rows themselves, which includes pairs of a point with itself.
//
// Source: Zhang and Sugiyama 2024, equation 24 with the mean.
func MPD(z, groups *gorgonia.Node, blocks ...factor.Block) (*gorgonia.Node, error) {
	return Modularity(factor.MPD, factor.Mean, Unbiased, z, groups, blocks...)
}

// NewMPD returns the default settings of [MPD].
func NewMPD() *ModularityLoss { return newModularityLoss(factor.MPD, factor.Mean) }

// Radius is [Modularity] with the maximum over values of the radius of the smallest enclosing ball. Let the ball's
// centre be sum_i l_i p_i for points p_i on its surface, with l_i >= 0 and sum 1. By the envelope theorem the gradient
// in p_i is l_i (p_i - centre) / radius. It is differentiable if a single value has the largest ball, the l are unique
// and the radius is not 0.
//
// Source: Zhang and Sugiyama 2024, example 2; the gradient is ours.
func Radius(z, groups *gorgonia.Node, blocks ...factor.Block) (*gorgonia.Node, error) {
	return Modularity(factor.Radius, factor.Max, Plain, z, groups, blocks...)
}

// NewRadius returns the default settings of [Radius].
func NewRadius() *ModularityLoss { return newModularityLoss(factor.Radius, factor.Max) }

// MAD is [Modularity] with the mean over values of the mean Euclidean distance from the geometric median. By the
// envelope theorem the gradient in p_i is the unit vector from the median to p_i, over n. Points at the median share
// the negative sum of the other points' gradients equally. It is differentiable if no point is the median, or if the
// median stays at the same point under small changes.
//
// Source: Zhang and Sugiyama 2024, example 3; the gradient is ours.
func MAD(z, groups *gorgonia.Node, blocks ...factor.Block) (*gorgonia.Node, error) {
	return Modularity(factor.MAD, factor.Mean, Plain, z, groups, blocks...)
}

// NewMAD returns the default settings of [MAD].
func NewMAD() *ModularityLoss { return newModularityLoss(factor.MAD, factor.Mean) }

// DeviationEstimator selects how deviations are estimated from a batch.
//
// Plain is the deviation of the rows of the batch: a value with a single row has deviation 0. In a small batch it is
// biased towards 0, and more so for a factor with many values. For codes of variance 1 in a batch of 32 rows, the plain
// variance is .77 with 6 values and .19 with 40.
//
// Unbiased estimates the mean over the values of the data set that the batch is drawn from:
//
//   - Let value v have n_v rows. Variance is the mean of |p_i - p_j|^2/2, and MPD the mean of |p_i - p_j|/2, over all
//     n_v^2 ordered pairs. The distance between a row and itself is 0. The mean over the n_v (n_v-1) pairs of different
//     rows is therefore n_v/(n_v-1) times as large. Its expectation is the deviation D_v in the data set, for any n_v
//     >= 2. (For the variance this is the usual division by n_v-1.)
//   - A value with a single row is skipped.
//   - Each of the G values with at least two rows has the weight 1/G. The expectation is sum_v w_v D_v, where w_v is
//     the expectation of 1/G if v is one of these values, and of 0 otherwise. If all L values are equally frequent, all
//     w_v are equal. Then the expectation over batches with G > 0 is the mean 1/L sum_v D_v for any batch size.
//     Otherwise rare values weigh less; w_v approaches 1/L as batches grow.
//   - If no value has two rows (G = 0), value and gradient are 0.
//
// Diameter, radius, MAD, and the aggregates Max and Sum have no unbiased estimator, whatever the number of rows. The
// reason is that the expectation of a function of n rows is a polynomial in the probabilities of the codes. Consider
// codes that are 1 with probability t and otherwise 0. Their variance and MPD are t(1-t), but MAD is min(t, 1-t), and
// diameter and radius jump at t = 0. The sum needs the number of values, which a batch does not reveal. MeanSquare of
// variances would need four rows for each value, and is not implemented. [DeviationEstimator.Check] rejects these
// combinations.
//
// Source: the U-statistics of Hoeffding 1948.
type DeviationEstimator uint8

const (
	Plain    DeviationEstimator = iota // deviation of the rows of the batch: a group of one row has deviation 0
	Unbiased                           // estimate for the data set: a group of one row is skipped
)

var estimatorNames = [...]string{"plain", "unbiased"}

func (e DeviationEstimator) String() string {
	if int(e) < len(estimatorNames) {
		return estimatorNames[e]
	}
	return fmt.Sprintf("DeviationEstimator(%d)", uint8(e))
}

func (e DeviationEstimator) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

func (e *DeviationEstimator) UnmarshalText(text []byte) error {
	i := slices.Index(estimatorNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("unknown estimator %q; known: unbiased, plain", text)
	}
	*e = DeviationEstimator(i)
	return nil
}

// Check returns an error if the estimator does not support an aggregate of deviations.
func (e DeviationEstimator) Check(d factor.Deviation, a factor.Aggregate) error {
	switch {
	case e == Plain:
		return nil
	case int(e) >= len(estimatorNames):
		return fmt.Errorf("%v is not known; want unbiased or plain", e)
	case d != factor.Variance && d != factor.MPD:
		return fmt.Errorf("%v has no unbiased estimator; want estimator plain (unbiased is for variance and mpd)", d)
	case a != factor.Mean:
		return fmt.Errorf("the %v over values has no unbiased estimator; want aggregate mean, or estimator plain", a)
	}
	return nil
}

// GroupsFrom names, in a config, the labels that define the groups.
type GroupsFrom string

// The labels that can define groups. A batch contains both in the same form. The choice therefore has no effect: it
// documents the supervision that a config needs.
const (
	fromFactors    GroupsFrom = "factors"    // rows with equal known values of a factor
	fromSimilarity GroupsFrom = "similarity" // pairs that are known to have equal values of a factor
)

func (g *GroupsFrom) UnmarshalText(text []byte) error {
	return parseName(g, "source of groups", text, fromFactors, fromSimilarity)
}
