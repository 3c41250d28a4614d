package losses

import (
	"errors"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/losses/internal/divergence"
)

// SlowStep compares the posteriors N(mu, sigma^2) of neighbouring images in a group with a step of the Laplace
// distribution of rate r. It returns, in nats, the mean over pairs of neighbours, in groups with the given number of
// rows, of
//
//	CE(q_1, q_2) + CE(q_2, q_1) - (H_1 + H_2)/2       variant public-code,
//	(CE(q_1, q_2) + CE(q_2, q_1) - H_1 - H_2)/2       variant consistent,
//
// summed over dimensions, with the entropies H and the cross-entropies
//
//	CE(q, q') = r (sigma sqrt(2/pi) exp(-m^2/(2 sigma^2)) + m erf(m/(sigma sqrt 2))) - log(r/2),  m = mu - mu',
//
// which use the other image's mean as its code. The public code gives the entropies half the weight, which makes the
// optimal sigma smaller. Means and log variances have the shape [rows, d]; the result is a scalar, differentiable
// everywhere.
//
// Source: Klindt et al. 2021, equation 5 and appendix B; public-code: their code.
func SlowStep(mean, logVariance *gorgonia.Node, group int, rate float64, v SlowVariant) (*gorgonia.Node, error) {
	return divergence.SlowStep(mean, logVariance, group, rate, v == slowConsistent)
}

// SlowLoss computes [SlowStep] for a model's Gaussian posteriors, from each image of a group to the next. SlowVAE adds
// the losses reconstruction, with weight 2, and kl.
type SlowLoss struct {
	Weight  Weight      `yaml:"weight" doc:"factor in the total: gamma"`
	Rate    float64     `yaml:"rate" doc:"rate of the Laplace distribution of a step"`
	Variant SlowVariant `yaml:"variant" doc:"public-code (entropies count half), or consistent (half the sum of both divergences)"`
}

// NewSlow returns the settings of the public code.
func NewSlow() *SlowLoss { return &SlowLoss{Weight: Constant(10), Rate: 6, Variant: slowPublicCode} }

func (l *SlowLoss) Validate() error   { return positive("rate", l.Rate) }
func (l *SlowLoss) Weighting() Weight { return l.Weight }
func (*SlowLoss) Supervised()         {}

func (*SlowLoss) Variants() []Loss {
	l := NewSlow()
	l.Variant, l.Rate = slowConsistent, 1.5
	return []Loss{l}
}

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

// SlowVariant sets the weight of the entropies in [SlowStep].
type SlowVariant string

// The variants.
const (
	slowPublicCode SlowVariant = "public-code" // CE(q_1, q_2) + CE(q_2, q_1) - (H_1 + H_2)/2
	slowConsistent SlowVariant = "consistent"  // half the sum of the two divergences: (CE(q_1, q_2) + CE(q_2, q_1) - H_1 - H_2)/2
)

func (v *SlowVariant) UnmarshalText(text []byte) error {
	return choose(v, "variant", text, slowPublicCode, slowConsistent)
}
