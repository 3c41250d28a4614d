package losses

import (
	"errors"
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/losses/internal/informative"
)

// Contraction penalises pairs of codes closer than their factors. It returns the aggregate over pairs of rows of
//
//	max(d_Y(y, y') - d_Z(z, z'), 0)
//
// for codes z [n, D] and labels y [n, K] or [n]. d_Z is the Euclidean distance in the chosen columns of z. d_Y combines
// the distances of the chosen factors. The zero value of the settings selects all columns, all factors, Euclidean
// distances and the mean over all pairs. groups may be nil. Otherwise it has the shape of y, and a negative number
// marks an unknown factor; rows with an unknown chosen factor are skipped.
//
// All n^2 ordered pairs count, including each row paired with itself. With s.Pairs > 0 each row is paired with the next
// s.Pairs rows, cyclically. These pairs are random, because batches are in random order.
//
// The result is a scalar, differentiable in z except where a pair with different labels has d_Y = d_Z or equal codes.
// The gradient of such a pair is 0. The maximum has the gradient of the first of equal pairs. The result is at least 0.
// It is 0 if no two rows are closer in the codes than in the labels: the encoder is then injective on these rows.
//
// Source: Zhang and Sugiyama 2024, definition 9, equation 27.
func Contraction(s ContractionSettings, z, y, groups *gorgonia.Node) (*gorgonia.Node, error) {
	settings := informative.Settings{Aggregate: s.Aggregate, Columns: s.Columns, Add: s.Add, Pairs: s.Pairs}
	for _, f := range s.Factors {
		d := informative.Distance{Factor: f.Factor, Kind: informative.Kind(f.Kind), Period: f.Period}
		settings.Factors = append(settings.Factors, d)
	}
	return informative.Contraction(settings, z, y, groups)
}

// ContractionSettings are the parameters of [Contraction].
type ContractionSettings struct {
	Aggregate factor.Aggregate
	Columns   []int            // columns of z; nil: all
	Factors   []FactorDistance // nil: all, with absolute distances
	Add       bool             // sum the distances of factors instead of taking the Euclidean norm
	Pairs     int              // partners of each row; 0: all rows
}

// FactorDistance is the distance of one column of labels.
type FactorDistance struct {
	Factor int
	Kind   DistanceKind
	Period float64 // period of circular values; 0: 1
}

// DistanceKind is a distance between numbers.
type DistanceKind uint8

// The distances between numbers.
const (
	AbsoluteDistance DistanceKind = iota // |a - b|
	DiscreteDistance                     // 0 if a = b, otherwise 1
	CircularDistance                     // the arc min(t, P - t), t = |a - b| mod P
)

// ContractionLoss computes [Contraction] for a model's codes and the known factors of the images, in Units. Levels of
// circular factors are fractions of a turn.
type ContractionLoss struct {
	Weight    Weight           `yaml:"weight" doc:"factor in the total"`
	Aggregate factor.Aggregate `yaml:"aggregate" doc:"aggregate over pairs of images: mean, max, sum or mean-square"`
	Factors   []string         `yaml:"factors" doc:"names of the factors to compare; none: all"`
	Distance  Distance         `yaml:"distance" doc:"distance of factors: euclidean, absolute, discrete, circular, or mixed (by each factor's kind)"`
	Columns   []int            `yaml:"columns" doc:"code columns to compare; none: all"`
	Pairs     int              `yaml:"pairs" doc:"number of batch images to pair each image with; 0: all"`
	Units     Units            `yaml:"units" doc:"units of continuous factors: as-given, or range (maps each factor's range to [0, 1]); levels are always mapped to [0, 1]"`
	On        On               `yaml:"on" doc:"codes (posterior mean mu) or sample (reparameterised z, as decoded)"`
}

// NewContraction returns the default settings.
func NewContraction() *ContractionLoss {
	return &ContractionLoss{Weight: Constant(1), Aggregate: factor.Mean, Distance: mixedDistances, Units: UnitsAsGiven,
		On: OnCodes}
}

func (l *ContractionLoss) Validate() error {
	if err := distinctColumns(l.Columns, 0); err != nil {
		return config.Invalid("columns", "%w", err)
	}
	for i, f := range l.Factors {
		if slices.Contains(l.Factors[:i], f) {
			return config.Invalid("factors", "%s is named twice; want each factor once", f)
		}
	}
	if l.Pairs < 0 {
		return config.Invalid("pairs", "want 0 or more, got %d", l.Pairs)
	}
	return nil
}

func (l *ContractionLoss) Weighting() Weight { return l.Weight }

// Optimum implements [Optimal]: all distances are larger in the codes than in the factors.
func (*ContractionLoss) Optimum(x *Example) bool {
	x.separateCodes(10)
	return true
}

func (*ContractionLoss) Variants() []Loss {
	pairs, subset := NewContraction(), NewContraction()
	pairs.Pairs = 3
	subset.Aggregate, subset.Factors, subset.Columns, subset.Distance = factor.MeanSquare, []string{"angle", "shape"},
		[]int{5, 0}, absoluteDistances
	return []Loss{pairs, subset}
}

func (l *ContractionLoss) Add(in *Input) (*gorgonia.Node, error) {
	z, y, known, err := valuesOf(in, l.On, l.Units)
	if err != nil {
		return nil, err
	}
	chosen, err := l.factors(in)
	if err != nil {
		return nil, err
	}
	return Contraction(ContractionSettings{
		Aggregate: l.Aggregate,
		Columns:   l.Columns,
		Factors:   chosen,
		Add:       l.Distance == absoluteDistances || l.Distance == discreteDistances,
		Pairs:     l.Pairs,
	}, z, y, known)
}

// factors returns the chosen factors with their distances.
func (l *ContractionLoss) factors(in *Input) ([]FactorDistance, error) {
	names := l.Factors
	if len(names) == 0 {
		names = factor.Names(in.Labels.Factors)
	}
	chosen, available := make([]FactorDistance, len(names)), factor.Names(in.Labels.Factors)
	for i, name := range names {
		k := slices.Index(available, name)
		if k < 0 {
			return nil, fmt.Errorf("factors: there is no factor %q%s", name, registry.Suggest(name, available))
		}
		chosen[i] = FactorDistance{Factor: k, Kind: l.Distance.kindFor(in.Labels.Factors[k].Kind)}
	}
	return chosen, nil
}

// Distance names, in a config, the distance between the factors of two images.
type Distance string

// The distances of factors.
const (
	// for each factor the distance of its kind, combined by the Euclidean norm
	mixedDistances     Distance = "mixed"
	euclideanDistances Distance = "euclidean" // the Euclidean norm of all differences
	absoluteDistances  Distance = "absolute"  // the sum of absolute differences
	discreteDistances  Distance = "discrete"  // the number of different factors
	circularDistances  Distance = "circular"  // arcs on circles of circumference 1, combined by the Euclidean norm
)

var distances = []Distance{mixedDistances, euclideanDistances, absoluteDistances, discreteDistances, circularDistances}

func (d *Distance) UnmarshalText(text []byte) error {
	return parseName(d, "distance", text, distances...)
}

// kindFor returns the distance for a kind of factor.
func (d Distance) kindFor(k factor.Kind) DistanceKind {
	switch {
	case d == discreteDistances, d == mixedDistances && k == factor.Categorical:
		return DiscreteDistance
	case d == circularDistances, d == mixedDistances && k == factor.Circular:
		return CircularDistance
	}
	return AbsoluteDistance
}

// Separation penalises sub-codes that are close although the factor is known to differ:
//
//	sum over blocks i of the aggregate, over pairs of rows r, s known to differ in factor i, of
//	max(margin - |z_i(r) - z_i(s)|, 0)
//
// It is [Contraction] for pairs that are only known to differ. The margin replaces the unknown d_Y, as with the
// discrete distance. |.| is the Euclidean norm of the block's columns.
//
// z has the shape [n, d]. different has the shape [n, K], or [n] for one factor. An element is the number of a row that
// differs from this row in the factor; a number that is out of range, or of the row itself, means that no such row is
// known. Two rows that name each other count once. A factor without pairs adds 0. Blocks are as in [Modularity].
//
// The result is a scalar, at least 0. It is 0 if the two sub-codes of every such pair are at least the margin apart. It
// is differentiable in z except where a pair is exactly the margin apart or has equal sub-codes; the gradient of such a
// pair is 0. The gradient of the maximum is the gradient of the first of equal pairs.
//
// Source: Zhang and Sugiyama 2024, definition 9, equation 27; the hinge of Hadsell et al. 2006.
func Separation(a factor.Aggregate, margin float64, z, different *gorgonia.Node, blocks ...factor.Block) (*gorgonia.Node, error) {
	return informative.Separation(a, margin, z, different, blocks...)
}

// SeparationLoss computes [Separation] for a model's codes and pairs of images that are known to differ.
type SeparationLoss struct {
	Weight    Weight           `yaml:"weight" doc:"factor in the total"`
	Margin    float64          `yaml:"margin" doc:"distance required between sub-codes of images that differ, in units of the codes"`
	Aggregate factor.Aggregate `yaml:"aggregate" doc:"aggregate over the pairs of a factor: mean, max, sum or mean-square"`
	Codes     factor.SubCodes  `yaml:"codes" doc:"code columns of each factor, such as {shape: [0, 1], x: [2]}; none: equal shares"`
	On        On               `yaml:"on" doc:"codes (posterior mean mu) or sample (reparameterised z, as decoded)"`
}

// NewSeparation returns the default settings.
func NewSeparation() *SeparationLoss {
	return &SeparationLoss{Weight: Constant(1), Margin: 1, Aggregate: factor.Mean, On: OnCodes}
}

func (l *SeparationLoss) Validate() error   { return positive("margin", l.Margin) }
func (l *SeparationLoss) Weighting() Weight { return l.Weight }

// Optimum implements [Optimal]: codes are far apart.
func (l *SeparationLoss) Optimum(x *Example) bool {
	x.separateCodes(10 * l.Margin)
	return true
}

func (*SeparationLoss) Variants() []Loss {
	square, maximum := NewSeparation(), NewSeparation()
	square.Aggregate, square.Margin, square.On = factor.MeanSquare, 2.5, OnSample
	maximum.Aggregate, maximum.Codes = factor.Max, factor.SubCodes{"size": {4, 0, 1}, "angle": {2}}
	return []Loss{square, maximum}
}

func (l *SeparationLoss) Add(in *Input) (*gorgonia.Node, error) {
	z, blocks, err := blocksOf(in, l.On, l.Codes)
	if err != nil {
		return nil, err
	}
	if in.Labels.Different == nil {
		return nil, errors.New("it needs pairs of images known to differ; want a supervision with such pairs, such as {similarity: {different: 0.5}} or {answers: {file: pairs.csv}}")
	}
	different, err := in.Labels.Different()
	if err != nil {
		return nil, err
	}
	return Separation(l.Aggregate, l.Margin, z, different, blocks...)
}
