package losses

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/factor"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/registry"
)

// ContractionSettings say what [Contraction] measures: an aggregate over pairs, the
// columns of the codes and the factors that count (none: all), how far apart the
// values of each factor are, whether these distances are added or joined by the
// Euclidean norm, and, if not all pairs count, how many partners a row has.
type ContractionSettings = graph.ContractionSettings

// FactorDistance is a column of labels and how far apart its values are.
type FactorDistance = graph.FactorDistance

// The distances of the values of a factor.
const (
	AbsoluteDistance = graph.AbsoluteDistance // |a - b|
	DiscreteDistance = graph.DiscreteDistance // 0 if a = b, else 1
	CircularDistance = graph.CircularDistance // the arc min(t, P - t), t = |a - b| mod P
)

// Contraction returns how much closer codes are than the factors that they stand
// for, the aggregate over pairs of rows of
//
//	max(d_Y(y, y') - d_Z(z, z'), 0)
//
// for codes z [n, D] and labels y [n, K] or [n]. d_Z is the Euclidean distance of
// the chosen columns of z; d_Y joins the distances of the chosen factors; the
// settings' zero value takes the mean over all pairs of Euclidean distances over
// all columns and factors. groups may be nil; of the shape of y, a negative number
// says that a factor of a row is not known, and rows of which a chosen factor is not
// known take no part.
//
// All n^2 ordered pairs count, a row and itself too; with s.Pairs > 0 those of each
// row and the next s.Pairs rows, cyclically: random pairs, as batches come in random
// order.
//
// The result is a scalar with a gradient in z. It is at least 0, and 0 where no
// two rows are closer in their codes than in their labels, so that the encoder is
// injective on them. It is differentiable where no pair of different labels has
// d_Y = d_Z or equal codes: there the gradient of the pair is 0. That of the maximum
// is that of the first of equal pairs.
//
// Source: Zhang and Sugiyama 2024, definition 9, equation 27.
func Contraction(s ContractionSettings, z, y, groups *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Contraction(s, z, y, groups)
}

// Distance says in a config how far apart the factors of two images are.
type Distance string

// The distances of factors.
const (
	MixedDistances     Distance = "mixed"     // for every factor what suits its kind, joined by the Euclidean norm
	EuclideanDistances Distance = "euclidean" // the Euclidean norm of all differences
	AbsoluteDistances  Distance = "absolute"  // the sum of absolute differences
	DiscreteDistances  Distance = "discrete"  // the number of different factors
	CircularDistances  Distance = "circular"  // arcs on circles of the circumference 1, joined by the Euclidean norm
)

var distances = []Distance{MixedDistances, EuclideanDistances, AbsoluteDistances, DiscreteDistances, CircularDistances}

// UnmarshalText accepts the name of a distance.
func (d *Distance) UnmarshalText(text []byte) error {
	if *d = Distance(text); !slices.Contains(distances, *d) {
		return fmt.Errorf("unknown distance %q; known: mixed, euclidean, absolute, discrete, circular", text)
	}
	return nil
}

// of returns the distance of the values of a factor.
func (d Distance) of(k factor.Kind) graph.DistanceKind {
	switch {
	case d == DiscreteDistances, d == MixedDistances && k == factor.Categorical:
		return DiscreteDistance
	case d == CircularDistances, d == MixedDistances && k == factor.Circular:
		return CircularDistance
	}
	return AbsoluteDistance
}

// ContractionLoss is [Contraction] of a model's codes and the known factors of the
// images, in Units, levels of circular ones as turns.
type ContractionLoss struct {
	Weight    float64   `yaml:"weight" doc:"factor in the total"`
	Aggregate Aggregate `yaml:"aggregate" doc:"over pairs of images: mean, max, sum or mean-square"`
	Factors   []string  `yaml:"factors" doc:"names of the factors that count; none: all"`
	Distance  Distance  `yaml:"distance" doc:"of factors: euclidean, absolute, discrete, circular, or mixed, what suits each factor's kind"`
	Columns   []int     `yaml:"columns" doc:"code columns that count; none: all"`
	Pairs     int       `yaml:"pairs" doc:"partners of an image in the batch; 0: all the others"`
	Units     Units     `yaml:"units" doc:"of continuous factors: as-given, or range, mapped to [0, 1] by the range of the dimension; levels are mapped to [0, 1] in either case"`
	On        On        `yaml:"on" doc:"codes, the posteriors' locations, or sample, the draws that are decoded"`
}

// NewContraction returns the default settings.
func NewContraction() *ContractionLoss {
	return &ContractionLoss{Weight: 1, Aggregate: Mean, Distance: MixedDistances, Units: UnitsAsGiven, On: OnCodes}
}

// Validate checks the settings.
func (l *ContractionLoss) Validate() error {
	for i, c := range l.Columns {
		if c < 0 || slices.Contains(l.Columns[:i], c) {
			return config.Invalid("columns", "%v: want different columns from 0 on", l.Columns)
		}
	}
	for i, f := range l.Factors {
		if slices.Contains(l.Factors[:i], f) {
			return config.Invalid("factors", "%s is named twice", f)
		}
	}
	if l.Pairs < 0 {
		return config.Invalid("pairs", "want 0 or more, got %d", l.Pairs)
	}
	return validWeight(l.Weight)
}

// Weighting implements [Loss].
func (l *ContractionLoss) Weighting() float64 { return l.Weight }

// Add implements [Loss].
func (l *ContractionLoss) Add(o *Outputs) (*gorgonia.Node, error) {
	if o.Labels == nil {
		return nil, errNoLabels
	}
	z, err := l.On.node(o)
	if err != nil {
		return nil, err
	}
	chosen, err := l.factors(o)
	if err != nil {
		return nil, err
	}
	y, known, err := o.Labels.Values(l.Units)
	if err != nil {
		return nil, err
	}
	return Contraction(ContractionSettings{
		Aggregate: l.Aggregate,
		Columns:   l.Columns,
		Factors:   chosen,
		Add:       l.Distance == AbsoluteDistances || l.Distance == DiscreteDistances,
		Pairs:     l.Pairs,
	}, z, y, known)
}

// factors returns the factors that count.
func (l *ContractionLoss) factors(o *Outputs) ([]FactorDistance, error) {
	names := l.Factors
	if len(names) == 0 {
		names = factorNames(o)
	}
	chosen, known := make([]FactorDistance, len(names)), factorNames(o)
	for i, name := range names {
		k := slices.Index(known, name)
		if k < 0 {
			return nil, fmt.Errorf("factors: there is no factor %q%s", name, registry.Suggest(name, known))
		}
		chosen[i] = FactorDistance{Factor: k, Kind: l.Distance.of(o.Labels.Factors[k].Kind)}
	}
	return chosen, nil
}
