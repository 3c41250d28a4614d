package losses

import (
	"fmt"
	"slices"
	"strings"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/losses/internal/informative"
)

// LeftInverse returns the error of the best affine map h(z) = W^T z + b from codes to the values of factors:
//
//	LeastSquares     min over h of mean over n and K of (y - h(z))^2 + ridge |W|^2
//	LeastAbsolute    mean over K of min over h of mean over n of |y - h(z)|
//	Minimax          min over h of max over n of sqrt(sum over K of (y - h(z))^2)
//	MinimaxByFactor  sqrt of sum over K of (min over h of max over n of |y - h(z)|)^2
//
// Minimax is definition 8, with the maximum over rows and Euclidean distances of factors. It is solved to a proven
// optimum (relative gap about 1e-12). MinimaxByFactor combines the separate optima of the factors, and is an upper
// bound of Minimax; for one factor the two are equal.
//
// z has the shape [n, d] and y the shape [n, K]. groups may be nil. Otherwise it has the shape [n] or [n, K], and rows
// with a negative number are skipped. |W|^2 is the sum of the squared weights, without b; only LeastSquares allows a
// ridge other than 0.
//
// The result is a scalar with a gradient in z. By the envelope theorem, the gradient treats the optimal h as constant.
// It is at least 0. Without a ridge it is 0 if and only if factors are affine functions of codes. Least squares is
// differentiable if the columns of the codes are linearly independent, and the other errors if the optimum is unique.
// Elsewhere the gradient uses one of the optima (for least squares, the one with the smallest |W|), and is 0 at an
// exact fit. Without rows, value and gradient are 0. A principal direction with a standard deviation below 1e-6 of the
// largest (1e-12 in float64) counts as a rounding error.
//
// Source: Zhang and Sugiyama 2024, definition 8, equation 26.
func LeftInverse(kind Inverse, ridge float64, z, y, groups *gorgonia.Node) (*gorgonia.Node, error) {
	return informative.LeftInverse(informative.Inverse(kind), ridge, z, y, groups)
}

// LeftInverseLoss computes [LeftInverse] for all columns of a model's codes and the values of all factors. Images with
// an unknown factor are skipped.
type LeftInverseLoss struct {
	Weight Weight  `yaml:"weight" doc:"factor in the total"`
	Kind   Inverse `yaml:"kind" doc:"error of the best affine map from codes to factors: least-squares, least-absolute, minimax (the longest error vector) or minimax-by-factor (the largest error of each factor, joined)"`
	Ridge  float64 `yaml:"ridge" doc:"ridge penalty on the map's weights, with kind least-squares"`
	Units  Units   `yaml:"units" doc:"units of continuous factors: as-given, or range (maps each factor's range to [0, 1]); levels are always mapped to [0, 1]"`
	On     On      `yaml:"on" doc:"codes (posterior mean mu) or sample (reparameterised z, as decoded)"`
}

// NewLeftInverse returns the default settings.
func NewLeftInverse() *LeftInverseLoss {
	return &LeftInverseLoss{Weight: Constant(1), Kind: LeastSquares, Units: UnitsAsGiven, On: OnCodes}
}

func (l *LeftInverseLoss) Validate() error {
	if l.Ridge > 0 && l.Kind != LeastSquares {
		return config.Invalid("ridge", "want 0, as kind is %v: a ridge is for least-squares", l.Kind)
	}
	return notNegative("ridge", l.Ridge)
}

func (l *LeftInverseLoss) Weighting() Weight { return l.Weight }

// Optimum implements [Optimal]: the first columns of the codes equal the factors.
func (l *LeftInverseLoss) Optimum(x *Example) bool {
	factors := len(x.Values) * 6 / len(x.Codes)
	for i, v := range x.Values {
		x.Codes[i/factors*6+i%factors] = v
	}
	copy(x.Sample, x.Codes)
	return l.Ridge == 0
}

func (*LeftInverseLoss) Variants() []Loss {
	var variants []Loss
	for _, k := range []Inverse{LeastAbsolute, Minimax, MinimaxByFactor} {
		l := NewLeftInverse()
		l.Kind = k
		variants = append(variants, l)
	}
	ridge := NewLeftInverse()
	ridge.Ridge = 0.1
	return append(variants, ridge)
}

func (l *LeftInverseLoss) Add(in *Input) (*gorgonia.Node, error) {
	z, y, known, err := valuesOf(in, l.On, l.Units)
	if err != nil {
		return nil, err
	}
	return LeftInverse(l.Kind, l.Ridge, z, y, known)
}

// Inverse is the error that the best affine map minimises.
type Inverse uint8

const (
	LeastSquares    Inverse = iota // mean squared error
	LeastAbsolute                  // mean absolute error
	Minimax                        // largest Euclidean norm of a row's errors
	MinimaxByFactor                // Euclidean norm, over targets, of the largest absolute errors
)

var inverseNames = [...]string{"least-squares", "least-absolute", "minimax", "minimax-by-factor"}

func (v Inverse) String() string {
	if int(v) < len(inverseNames) {
		return inverseNames[v]
	}
	return fmt.Sprintf("Inverse(%d)", uint8(v))
}

func (v Inverse) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

func (v *Inverse) UnmarshalText(text []byte) error {
	i := slices.Index(inverseNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("unknown kind of left inverse %q; known: %s", text, strings.Join(inverseNames[:], ", "))
	}
	*v = Inverse(i)
	return nil
}
