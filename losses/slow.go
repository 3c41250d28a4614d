package losses

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph"
)

// SlowVariant says how entropies count in [SlowStep].
type SlowVariant string

// The variants.
const (
	slowPublicCode SlowVariant = "public-code" // CE(q_1, q_2) + CE(q_2, q_1) - (H_1 + H_2)/2
	slowConsistent SlowVariant = "consistent"  // half the sum of the two divergences: (CE(q_1, q_2) + CE(q_2, q_1) - H_1 - H_2)/2
)

// UnmarshalText accepts a known name.
func (v *SlowVariant) UnmarshalText(text []byte) error {
	if *v = SlowVariant(text); *v != slowPublicCode && *v != slowConsistent {
		return fmt.Errorf("unknown variant %q; known: public-code, consistent", text)
	}
	return nil
}

// SlowStep compares the posteriors N(mu, sigma^2) of an image and of the next in its group with a step of the Laplace
// distribution of rate r. It returns, in nats, the mean over pairs of neighbours in groups of the given number of rows
// of
//
//	CE(q_1, q_2) + CE(q_2, q_1) - (H_1 + H_2)/2       variant public-code,
//	(CE(q_1, q_2) + CE(q_2, q_1) - H_1 - H_2)/2       variant consistent,
//
// summed over dimensions, with the entropies H and the cross-entropies
//
//	CE(q, q') = r (sigma sqrt(2/pi) exp(-m^2/(2 sigma^2)) + m erf(m/(sigma sqrt 2))) - log(r/2),  m = mu - mu',
//
// which take the other image's mean for its code. The public code counts the entropies half, which makes its best sigma
// smaller. Means and log variances have the shape [rows, d]; the result is a scalar, differentiable everywhere.
//
// Source: Klindt et al. 2021, equation 5 and appendix B; public-code: their code.
func SlowStep(mean, logVariance *gorgonia.Node, group int, rate float64, v SlowVariant) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "slow step",
		Key:  graph.Key(group, rate, v),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			rows, _, err := graph.Matrix("means", in[0])
			switch {
			case err != nil:
				return nil, err
			case !slices.Equal(in[0], in[1]):
				return nil, graph.Wanted("means and log variances of one shape", in)
			case group < 2 || rows%group != 0:
				return nil, graph.Wanted(fmt.Sprintf("groups of 2 rows or more in %d rows", rows), group)
			case !(rate > 0) || math.IsInf(rate, 0):
				return nil, graph.Wanted("a positive rate", rate)
			}
			return tensor.ScalarShape(), nil
		},
		New: graph.Bodies(newSlowStep[float32](group, rate, v), newSlowStep[float64](group, rate, v)),
	}, mean, logVariance)
}

// slowStep is the operation of [SlowStep].
type slowStep[T graph.Float] struct {
	d, group            int
	rate                float64
	cross, entropy      float64 // factors of a cross-entropy and of an entropy, in the mean over pairs
	dMean, dLogVariance []float64
}

func newSlowStep[T graph.Float](group int, rate float64, v SlowVariant) func([]tensor.Shape) *slowStep[T] {
	return func(in []tensor.Shape) *slowStep[T] {
		rows, n := in[0][0], in[0].TotalSize()
		pairs := float64(rows / group * (group - 1))
		s := &slowStep[T]{d: in[0][1], group: group, rate: rate, cross: 1 / pairs, entropy: 0.5 / pairs, dMean: make([]float64, n), dLogVariance: make([]float64, n)}
		if v == slowConsistent {
			s.cross /= 2
		}
		return s
	}
}

func (s *slowStep[T]) Forward(in [][]T, out []T) {
	clear(s.dMean)
	clear(s.dLogVariance)
	sum := 0.0
	for a := 0; a+s.d < len(in[0]); a++ {
		if a/s.d%s.group == s.group-1 {
			continue // the last of its group
		}
		b := a + s.d
		m := float64(in[0][a]) - float64(in[0][b])
		sum += s.step(a, b, m, float64(in[1][a]))
		sum += s.step(b, a, -m, float64(in[1][b]))
	}
	out[0] = T(sum)
}

// step returns the summand of the posteriors of elements a and b with means m apart, and notes its slopes.
func (s *slowStep[T]) step(a, b int, m, logVariance float64) float64 {
	sigma, inside := math.Exp(logVariance/2), 0.0
	erf := math.Copysign(1, m)
	if m == 0 {
		erf = 0
	}
	if sigma > 0 {
		x := m / sigma
		erf, inside = math.Erf(x/math.Sqrt2), sigma*math.Sqrt(2/math.Pi)*math.Exp(-x*x/2)
	}
	slope := s.cross * s.rate * erf
	s.dMean[a] += slope
	s.dMean[b] -= slope
	s.dLogVariance[a] += s.cross*s.rate*inside/2 - s.entropy/2
	const entropy = 1.4189385332046727 // of a Gaussian of variance 1: log(2 pi e)/2
	return s.cross*(s.rate*(inside+m*erf)-math.Log(s.rate/2)) - s.entropy*(entropy+logVariance/2)
}

func (s *slowStep[T]) Backward(_ [][]T, _, dout []T, din [][]T) {
	g := float64(dout[0])
	for k, slopes := range [][]float64{s.dMean, s.dLogVariance} {
		for i := range din[k] {
			din[k][i] = T(g * slopes[i])
		}
	}
}

// SlowLoss is [SlowStep] of a model's Gaussian posteriors, from each image of a group to the next. SlowVAE adds the
// losses reconstruction, with weight 2, and kl.
type SlowLoss struct {
	Weight  Weight      `yaml:"weight" doc:"factor in the total: gamma"`
	Rate    float64     `yaml:"rate" doc:"rate of the Laplace distribution of a step"`
	Variant SlowVariant `yaml:"variant" doc:"public-code (entropies count half), or consistent (half the sum of both divergences)"`
}

// NewSlow returns the settings of the public code.
func NewSlow() *SlowLoss { return &SlowLoss{Weight: Constant(10), Rate: 6, Variant: slowPublicCode} }

// Validate checks the settings.
func (l *SlowLoss) Validate() error {
	if !(l.Rate > 0 && l.Rate <= 1e6) {
		return config.Invalid("rate", "want more than 0 and at most 1e6, got %v", l.Rate)
	}
	return nil
}

// Weighting implements [Loss].
func (l *SlowLoss) Weighting() Weight { return l.Weight }

// Supervised implements [Supervised].
func (*SlowLoss) Supervised() {}

// Variants implements [Varied].
func (*SlowLoss) Variants() []Loss {
	l := NewSlow()
	l.Variant, l.Rate = slowConsistent, 1.5
	return []Loss{l}
}

// Add implements [Loss].
func (l *SlowLoss) Add(in *Input) (*gorgonia.Node, error) {
	switch {
	case in.Codes == nil:
		return nil, missing("codes")
	case in.LogVariance == nil:
		return nil, missing("log variances of Gaussian posteriors")
	case in.Group < 2:
		return nil, errors.New("it needs groups of images; want a supervision with pairs, such as {changes: {law: laplace}}")
	}
	return SlowStep(in.Codes, in.LogVariance, in.Group, l.Rate, l.Variant)
}
