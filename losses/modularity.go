package losses

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/losses/internal/modularity"
)

// Modularity returns the deviation of each sub-code from a function of its factor:
//
//	sum over blocks i of the aggregate, over values v of factor i, of the deviation
//	of z_i over the rows with value v of factor i
//
// z has the shape [n, d]. groups has the shape [n, K], or [n] for one factor. Rows with equal numbers >= 0 in a column
// agree in that factor. Rows with a negative number are skipped, and so are values without rows. A block names a column
// of groups and the columns of z that should depend on that factor alone. Without blocks, the K factors have d/K
// consecutive columns each.
//
// The estimator [Plain] is the formula itself. [Unbiased] estimates the formula's value on the data set that the batch
// is drawn from, for Variance and MPD with Mean.
//
// The result is a scalar with a gradient in z. It is at least 0. It is 0 exactly if every z_i is the same in all rows
// of a group: on these rows, the encoder is a product function. At ties, of maxima or of choices of an inner optimum,
// the gradient takes one choice: the first, if there is an order. At equal points it is 0.
//
// Source: Zhang and Sugiyama 2024, equations 14 to 16 and 24.
func Modularity(d factor.Deviation, a factor.Aggregate, e DeviationEstimator, z, groups *gorgonia.Node, blocks ...factor.Block) (*gorgonia.Node, error) {
	if err := e.Check(d, a); err != nil {
		return nil, fmt.Errorf("modularity: estimator: %w", err)
	}
	return modularity.Modularity(d, a, e == Unbiased, z, groups, blocks...)
}

// ModularityLoss is [Modularity] of a model's codes.
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

// Validate checks the settings.
func (l *ModularityLoss) Validate() error {
	e := l.estimator()
	if err := e.Check(l.deviation, l.Aggregate); err != nil {
		key := "aggregate" // the wrong option if the mean has an estimate
		if e.Check(l.deviation, factor.Mean) != nil {
			key = "estimator"
		}
		return config.Invalid(key, "%v", err)
	}
	return nil
}

// estimator returns the chosen estimator; by default Unbiased where it exists.
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
func (l *ModularityLoss) Weighting() Weight { return l.Weight }

// Optimum implements [Optimal]: codes are constant.
func (*ModularityLoss) Optimum(x *Example) bool {
	x.constantCodes()
	return true
}

// Add implements [Loss].
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

// Variance is [Modularity] with the mean over values of the total variance, Unbiased.
// It is differentiable everywhere. The variance of the rows themselves, as in the metric
// variance, is Modularity(factor.Variance, factor.Mean, Plain, ...).
//
// Source: Zhang and Sugiyama 2024, example 4, equation 17.
func Variance(z, groups *gorgonia.Node, blocks ...factor.Block) (*gorgonia.Node, error) {
	return Modularity(factor.Variance, factor.Mean, Unbiased, z, groups, blocks...)
}

// NewVariance returns the default settings of [Variance].
func NewVariance() *ModularityLoss { return newModularityLoss(factor.Variance, factor.Mean) }

// Diameter is [Modularity] with the maximum over values of the largest Euclidean distance. It is differentiable if one
// pair is farther apart than all others and the distance is not 0.
//
// Source: Zhang and Sugiyama 2024, example 7, equation 25.
func Diameter(z, groups *gorgonia.Node, blocks ...factor.Block) (*gorgonia.Node, error) {
	return Modularity(factor.Diameter, factor.Max, Plain, z, groups, blocks...)
}

// NewDiameter returns the default settings of [Diameter].
func NewDiameter() *ModularityLoss { return newModularityLoss(factor.Diameter, factor.Max) }

// MPD is [Modularity] with the mean over values of half the mean Euclidean distance over ordered pairs of different
// points, [Unbiased]. (The tables of the source include the half; it parallels the variance, half the mean squared
// distance.) It is differentiable where no two points of a group are equal. Modularity(factor.MPD, factor.Mean, Plain,
// ...) is the MPD of the rows themselves, which includes pairs of a point with itself.
//
// Source: Zhang and Sugiyama 2024, equation 24 with the mean.
func MPD(z, groups *gorgonia.Node, blocks ...factor.Block) (*gorgonia.Node, error) {
	return Modularity(factor.MPD, factor.Mean, Unbiased, z, groups, blocks...)
}

// NewMPD returns the default settings of [MPD].
func NewMPD() *ModularityLoss { return newModularityLoss(factor.MPD, factor.Mean) }

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

// MAD is [Modularity] with the mean over values of the mean Euclidean distance from the geometric median. By the
// envelope theorem the gradient in p_i is the unit vector from the median to p_i, over n. Points at the median
// share, in equal parts, the negative sum of the other points' gradients. It is differentiable if no point is the
// median, or if the median stays at a point under small changes.
//
// Source: Zhang and Sugiyama 2024, example 3; the gradient is ours.
func MAD(z, groups *gorgonia.Node, blocks ...factor.Block) (*gorgonia.Node, error) {
	return Modularity(factor.MAD, factor.Mean, Plain, z, groups, blocks...)
}

// NewMAD returns the default settings of [MAD].
func NewMAD() *ModularityLoss { return newModularityLoss(factor.MAD, factor.Mean) }

// DeviationEstimator selects how deviations are estimated from a batch.
//
// Plain is the deviation of the rows themselves: a value with a single row has deviation 0. It is biased towards 0 in a
// small batch, more so for a factor with many values. For codes of variance 1, a batch of 32 rows has the plain
// variance .77 with 6 values, and .18 with 40.
//
// Unbiased estimates the mean over the values of the data set that the batch is drawn from:
//
//   - Let a value have n_v rows. Variance is the mean of |p_i - p_j|^2/2, and MPD the mean of |p_i - p_j|/2, over all
//     n_v^2 ordered pairs. A row and itself have the distance 0. The mean over the n_v (n_v-1) pairs of different rows
//     is n_v/(n_v-1) times as large. Its expectation is the deviation D_v in the data, for any n_v >= 2. (For the
//     variance this is the familiar sum of squares over n_v-1.)
//   - A value with a single row is skipped.
//   - Each of the G values with two rows or more has the weight 1/G. The expectation is sum_v w_v D_v, where w_v is the
//     expectation of 1/G if v is among the G, and of 0 otherwise. If all L values are equally frequent, all w_v are
//     equal. Then the expectation over batches with G > 0 is the mean 1/L sum_v D_v for any batch size. Otherwise rare
//     values weigh less; w_v approaches 1/L as batches grow.
//   - Where no value has two rows (G = 0), value and gradient are 0.
//
// Diameter, radius, MAD, and the aggregates Max and Sum have no unbiased estimate from any number of rows. The reason:
// the expectation of a function of n rows is a polynomial in the probabilities of the codes. Take codes that are 1 with
// probability t and otherwise 0. Variance and MPD are t(1-t), but MAD is min(t, 1-t), and diameter and radius jump at t
// = 0. The sum needs the number of values, which a batch does not determine. MeanSquare of variances would need four
// rows of a value, and is not implemented. [DeviationEstimator.Check] reports these.
//
// Source: the U-statistics of Hoeffding 1948.
type DeviationEstimator uint8

const (
	Plain    DeviationEstimator = iota // of the rows themselves: a group of one row has deviation 0
	Unbiased                           // of the data set: a group of one row is skipped
)

var estimatorNames = [...]string{"plain", "unbiased"}

func (e DeviationEstimator) String() string {
	if int(e) < len(estimatorNames) {
		return estimatorNames[e]
	}
	return fmt.Sprintf("DeviationEstimator(%d)", uint8(e))
}

// MarshalText makes a DeviationEstimator its name in YAML and JSON.
func (e DeviationEstimator) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText accepts a DeviationEstimator's name.
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

// GroupsFrom names, in a config, the labels that define groups.
type GroupsFrom string

// The labels that define groups. A batch holds both in the same form. The choice therefore changes nothing: it
// documents the supervision that a config relies on.
const (
	fromFactors    GroupsFrom = "factors"    // rows with equal known values of a factor
	fromSimilarity GroupsFrom = "similarity" // pairs that are known to agree in a factor
)

// UnmarshalText accepts a known name.
func (g *GroupsFrom) UnmarshalText(text []byte) error {
	return choose(g, "source of groups", text, fromFactors, fromSimilarity)
}
