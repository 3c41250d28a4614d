package losses

import (
	"math"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/graph"
)

// Inverse is the sense in which an affine map is the best left inverse of an
// encoder: [LeastSquares], [LeastAbsolute], [Minimax] or [MinimaxByFactor].
type Inverse = graph.Inverse

// The senses of the best left inverse.
const (
	LeastSquares    = graph.LeastSquares    // mean squared error
	LeastAbsolute   = graph.LeastAbsolute   // mean absolute error
	Minimax         = graph.Minimax         // largest length of an error vector
	MinimaxByFactor = graph.MinimaxByFactor // largest absolute errors of the factors, each with a map of its own
)

// LeftInverse returns how far the values of factors are from the best affine map
// h(z) = W^T z + b of the codes:
//
//	LeastSquares     min over h of mean over n and K of (y - h(z))^2 + ridge |W|^2
//	LeastAbsolute    mean over K of min over h of mean over n of |y - h(z)|
//	Minimax          min over h of max over n of sqrt(sum over K of (y - h(z))^2)
//	MinimaxByFactor  sqrt of sum over K of (min over h of max over n of |y - h(z)|)^2
//
// Minimax is the definition with the maximum over rows and Euclidean distances of factors,
// solved to a proven optimum (its relative gap is 1e-12 or so). MinimaxByFactor joins the
// optima of the factors, which different rows decide, and so bounds Minimax from above;
// with one factor the two are the same.
//
// z has the shape [n, d] and y the shape [n, K]. groups may be nil; of shape [n] or
// [n, K], it excludes the rows in which a number is negative. |W|^2 is the sum of the
// squared weights, without b; a ridge other than 0 is for LeastSquares only.
//
// The result is a scalar with a gradient in z, through the optimum by the envelope
// theorem: as if h were constant. It is at least 0, and without a ridge 0 exactly
// where factors are affine functions of codes. Least squares are differentiable
// where the codes' columns are linearly independent, the others where the optimum
// is unique; elsewhere the gradient is that of one optimum (of least squares, the one
// with the least |W|), and 0 at an exact fit. Without any row it is 0.
//
// Source: Zhang and Sugiyama 2024, definition 8, equation 26.
func LeftInverse(k Inverse, ridge float64, z, y, groups *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.LeftInverse(k, ridge, z, y, groups)
}

// LeftInverseLoss is [LeftInverse] of a model's codes, all columns together, and the
// values of all factors. Images of which a factor is not known take no part.
type LeftInverseLoss struct {
	Weight float64 `yaml:"weight" doc:"factor in the total"`
	Kind   Inverse `yaml:"kind" doc:"error of the best affine map from codes to factors: least-squares, least-absolute, minimax (the longest error vector) or minimax-by-factor (the largest error of each factor, joined)"`
	Ridge  float64 `yaml:"ridge" doc:"factor of the map's squared weights, with kind least-squares"`
	Units  Units   `yaml:"units" doc:"of continuous factors: as-given, or range, mapped to [0, 1] by the range of the dimension; levels are mapped to [0, 1] in either case"`
	On     On      `yaml:"on" doc:"codes, the posteriors' locations, or sample, the draws that are decoded"`
}

// NewLeftInverse returns the default settings.
func NewLeftInverse() *LeftInverseLoss {
	return &LeftInverseLoss{Weight: 1, Kind: LeastSquares, Units: UnitsAsGiven, On: OnCodes}
}

// Validate checks the settings.
func (l *LeftInverseLoss) Validate() error {
	if !(l.Ridge >= 0) || math.IsInf(l.Ridge, 0) {
		return config.Invalid("ridge", "want 0 or more, got %v", l.Ridge)
	}
	if l.Ridge > 0 && l.Kind != LeastSquares {
		return config.Invalid("ridge", "want 0, as kind is %v: a ridge is for least-squares", l.Kind)
	}
	return validWeight(l.Weight)
}

// Weighting implements [Loss].
func (l *LeftInverseLoss) Weighting() float64 { return l.Weight }

// Add implements [Loss].
func (l *LeftInverseLoss) Add(o *Outputs) (*gorgonia.Node, error) {
	if o.Labels == nil {
		return nil, errNoLabels
	}
	z, err := l.On.node(o)
	if err != nil {
		return nil, err
	}
	y, known, err := o.Labels.Values(l.Units)
	if err != nil {
		return nil, err
	}
	return LeftInverse(l.Kind, l.Ridge, z, y, known)
}
