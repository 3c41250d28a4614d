package losses

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// LeftInverse returns the error of the best affine map h(z) = W^T z + b from codes to the
// values of factors:
//
//	LeastSquares     min over h of mean over n and K of (y - h(z))^2 + ridge |W|^2
//	LeastAbsolute    mean over K of min over h of mean over n of |y - h(z)|
//	Minimax          min over h of max over n of sqrt(sum over K of (y - h(z))^2)
//	MinimaxByFactor  sqrt of sum over K of (min over h of max over n of |y - h(z)|)^2
//
// Minimax is the paper's definition with the maximum over rows and Euclidean distances of factors. It is solved to a
// proven optimum (relative gap about 1e-12). MinimaxByFactor joins the separate optima of the factors, an upper bound
// of Minimax; the two are equal for one factor.
//
// z has the shape [n, d] and y the shape [n, K]. groups may be nil. Otherwise it has the shape [n] or [n, K], and rows
// with a negative number are skipped. |W|^2 is the sum of the squared weights, without b; a ridge other than 0 is for
// LeastSquares only.
//
// The result is a scalar with a gradient in z, through the optimum by the envelope theorem: as if h were constant. It
// is at least 0, and without a ridge 0 exactly where factors are affine functions of codes. Least squares is
// differentiable if the codes' columns are linearly independent, the other errors if the optimum is unique. Elsewhere
// the gradient takes one optimum (for least squares, the one with the least |W|), and is 0 at an exact fit. Without
// rows value and gradient are 0. A principal direction with a standard deviation below 1e-6 of the largest (1e-12 in
// float64) counts as a rounding error.
//
// Source: Zhang and Sugiyama 2024, definition 8, equation 26.
func LeftInverse(kind Inverse, ridge float64, z, y, groups *gorgonia.Node) (*gorgonia.Node, error) {
	in, diff := []*gorgonia.Node{z, y}, []bool{true, false}
	if groups != nil {
		in, diff = append(in, groups), append(diff, false)
	}
	return graph.Apply(graph.Spec{
		Name: "left inverse",
		Key:  graph.Key(kind, ridge),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			switch {
			case int(kind) >= len(inverseNames):
				return nil, graph.Wanted("a known kind of left inverse", kind)
			case !(ridge >= 0) || math.IsInf(ridge, 0):
				return nil, graph.Wanted("a ridge of 0 or more", ridge)
			case ridge > 0 && kind != LeastSquares:
				return nil, graph.Wanted("no ridge for kinds other than least-squares", ridge)
			}
			return tensor.ScalarShape(), checkInverse(in)
		},
		New: graph.Bodies(
			func(in []tensor.Shape) graph.Body[float32] { return newLeftInverse[float32](kind, ridge, in, 1e-6) },
			func(in []tensor.Shape) graph.Body[float64] { return newLeftInverse[float64](kind, ridge, in, 1e-12) }),
		Diff: diff,
	}, in...)
}

// LeftInverseLoss is [LeftInverse] of a model's codes, all columns together, and the
// values of all factors. Images with an unknown factor are skipped.
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

// Validate checks the settings.
func (l *LeftInverseLoss) Validate() error {
	if !(l.Ridge >= 0) || math.IsInf(l.Ridge, 0) {
		return config.Invalid("ridge", "want 0 or more, got %v", l.Ridge)
	}
	if l.Ridge > 0 && l.Kind != LeastSquares {
		return config.Invalid("ridge", "want 0, as kind is %v: a ridge is for least-squares", l.Kind)
	}
	return nil
}

// Weighting implements [Loss].
func (l *LeftInverseLoss) Weighting() Weight { return l.Weight }

// Optimum implements [Optimal]: the first columns of the codes are the factors.
func (l *LeftInverseLoss) Optimum(x *Example) bool {
	factors := len(x.Values) * 6 / len(x.Codes)
	for i, v := range x.Values {
		x.Codes[i/factors*6+i%factors] = v
	}
	copy(x.Sample, x.Codes)
	return l.Ridge == 0
}

// Variants implements [Varied].
func (*LeftInverseLoss) Variants() []Loss {
	var all []Loss
	for _, k := range []Inverse{LeastAbsolute, Minimax, MinimaxByFactor} {
		l := NewLeftInverse()
		l.Kind = k
		all = append(all, l)
	}
	return append(all, &LeftInverseLoss{Weight: Constant(1), Kind: LeastSquares, Ridge: 0.1, Units: UnitsAsGiven, On: OnCodes})
}

// Add implements [Loss].
func (l *LeftInverseLoss) Add(in *Input) (*gorgonia.Node, error) {
	if in.Labels == nil {
		return nil, errNoLabels
	}
	z, err := l.On.node(in)
	if err != nil {
		return nil, err
	}
	y, known, err := in.Labels.Values(l.Units)
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
	Minimax                        // largest Euclidean length of a row's errors
	MinimaxByFactor                // Euclidean norm, over targets, of the largest absolute errors
)

var inverseNames = [...]string{"least-squares", "least-absolute", "minimax", "minimax-by-factor"}

func (v Inverse) String() string {
	if int(v) < len(inverseNames) {
		return inverseNames[v]
	}
	return fmt.Sprintf("Inverse(%d)", uint8(v))
}

// MarshalText makes an Inverse its name in YAML and JSON.
func (v Inverse) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText accepts an Inverse's name.
func (v *Inverse) UnmarshalText(text []byte) error {
	i := slices.Index(inverseNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("unknown kind of left inverse %q; known: %s", text, strings.Join(inverseNames[:], ", "))
	}
	*v = Inverse(i)
	return nil
}

func checkInverse(in []tensor.Shape) error {
	rows, _, err := graph.Matrix("codes", in[0])
	if err != nil {
		return err
	}
	n, _, err := graph.Matrix("targets", in[1])
	if err != nil {
		return err
	}
	if n != rows {
		return graph.Wanted(fmt.Sprintf("targets of %d rows", rows), in[1])
	}
	if len(in) == 3 {
		if d := in[2].Dims(); d < 1 || d > 2 || in[2][0] != rows || in[2].TotalSize() < 1 {
			return graph.Wanted(fmt.Sprintf("labels of shape [%d] or [%d, factors]", rows, rows), in[2])
		}
	}
	return nil
}

type leftInverse[T graph.Float] struct {
	kind                      Inverse
	ridge                     float64
	columns, targets, factors int

	known []int // rows with known factors
	x, y  []float64
	best  geometry.Regression
	value float64 // NaN where codes or targets are not finite
}

func newLeftInverse[T graph.Float](kind Inverse, ridge float64, in []tensor.Shape, tolerance float64) *leftInverse[T] {
	rows, f := in[0][0], &leftInverse[T]{kind: kind, ridge: ridge, columns: in[0][1], targets: in[1][1]}
	if len(in) == 3 {
		f.factors = factorsOf(in[2])
	}
	f.known = make([]int, 0, rows)
	f.x, f.y = make([]float64, 0, rows*f.columns), make([]float64, 0, rows*f.targets)
	f.best.Tolerance = tolerance
	return f
}

func (f *leftInverse[T]) Forward(in [][]T, out []T) {
	f.read(in)
	f.value = 0
	if len(f.known) > 0 {
		f.fit()
	}
	out[0] = T(f.value)
}

// read gathers the rows with known factors.
func (f *leftInverse[T]) read(in [][]T) {
	f.known, f.x, f.y = f.known[:0], f.x[:0], f.y[:0]
	for i := range len(in[0]) / f.columns {
		if f.factors > 0 && unknown(in[2][i*f.factors:(i+1)*f.factors]) {
			continue
		}
		f.known = append(f.known, i)
		for _, v := range in[0][i*f.columns : (i+1)*f.columns] {
			f.x = append(f.x, float64(v))
		}
		for _, v := range in[1][i*f.targets : (i+1)*f.targets] {
			f.y = append(f.y, float64(v))
		}
	}
}

// unknown reports whether a label is negative, or not a number.
func unknown[T graph.Float](labels []T) bool {
	for _, l := range labels {
		if !(l >= 0) {
			return true
		}
	}
	return false
}

func (f *leftInverse[T]) fit() {
	b, k := &f.best, float64(f.targets)
	var err error
	switch f.kind {
	case LeastSquares:
		err = b.LeastSquares(f.x, f.columns, f.y, f.targets, f.ridge)
		for _, e := range b.Errors {
			f.value += e / k
		}
		f.value += f.ridge * numeric.Square(b.Weights)
	case LeastAbsolute:
		err = b.LeastAbsolute(f.x, f.columns, f.y, f.targets)
		for _, e := range b.Errors {
			f.value += e / k
		}
	case Minimax:
		err = b.JointMinimax(f.x, f.columns, f.y, f.targets)
		f.value = b.Largest
	case MinimaxByFactor:
		err = b.Minimax(f.x, f.columns, f.y, f.targets)
		f.value = math.Sqrt(numeric.Square(b.Errors))
	}
	if err != nil {
		f.value = math.NaN()
	}
}

func (f *leftInverse[T]) Backward(_ [][]T, _, dout []T, din [][]T) {
	clear(din[0])
	for i, row := range f.known {
		g := din[0][row*f.columns : (row+1)*f.columns]
		for j := range g {
			if math.IsNaN(f.value) {
				g[j] = T(f.value)
				continue
			}
			sum := 0.0
			for k, w := range f.best.Weights[j*f.targets : (j+1)*f.targets] {
				sum -= f.factor(k) * f.best.Signs[i*f.targets+k] * w
			}
			g[j] = T(float64(dout[0]) * sum)
		}
	}
}

// factor returns the factor of a target's signs and weights in the gradient.
func (f *leftInverse[T]) factor(k int) float64 {
	n := float64(len(f.known) * f.targets)
	switch {
	case f.kind == LeastSquares:
		return 2 / n
	case f.kind == LeastAbsolute:
		return 1 / n
	case f.kind == Minimax:
		return 1
	case f.value == 0:
		return 0
	}
	return f.best.Errors[k] / f.value
}
