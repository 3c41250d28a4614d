package losses

import (
	"errors"
	"fmt"
	"math"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/losses/internal/divergence"
	"github.com/unravel-ml/unravel/losses/internal/total"
)

// KLGaussian returns the mean over rows of KL(N(mu, sigma^2) || N(0, I)):
//
//	1/2 sum_j (mu_j^2 + sigma_j^2 - log sigma_j^2 - 1)
//
// mu and logSigma have the shape [rows, columns]. The result is a scalar, in nats, differentiable in both. Its minimum,
// at mu = 0 and sigma = 1, is 0.
//
// Source: Kingma and Welling 2014, appendix B.
func KLGaussian(mu, logSigma *gorgonia.Node) (*gorgonia.Node, error) {
	return divergence.KLGaussian(mu, logSigma)
}

// KLGaussianLogVariance is [KLGaussian] as a function of log sigma^2.
func KLGaussianLogVariance(mu, logVariance *gorgonia.Node) (*gorgonia.Node, error) {
	return divergence.KLGaussianLogVariance(mu, logVariance)
}

// KLGaussianWeighted is [KLGaussian] with a weight for every column,
//
//	sum_j w_j 1/2 (mu_j^2 + sigma_j^2 - log sigma_j^2 - 1)
//
// averaged over rows, in nats. mu and logSigma have the shape [rows, columns]. weights has one number for each column
// and no gradient. If all weights are non-negative, the minimum, at mu = 0 and sigma = 1, is 0.
//
// Source: Jeong and Song 2019, equation 6.
func KLGaussianWeighted(mu, logSigma, weights *gorgonia.Node) (*gorgonia.Node, error) {
	return divergence.KLGaussianWeighted(mu, logSigma, weights)
}

// KLCategorical returns the divergence, in nats, between a categorical distribution over K options with probabilities
// alpha and the uniform distribution. It is the mean over rows of
//
//	log K + sum_k alpha_k log alpha_k
//
// which is between 0 (alpha is uniform) and log K (one option is certain). probabilities and their logarithms have the
// shape [rows, K]; the result is a scalar, differentiable in both. Logarithms that are computed separately, for
// instance by graph.LogSoftmaxRows, keep the result and its gradients finite if a probability rounds to 0.
//
// Source: Dupont 2018, section 3.3; Jang et al. 2017.
func KLCategorical(probabilities, logarithms *gorgonia.Node) (*gorgonia.Node, error) {
	return divergence.KLCategorical(probabilities, logarithms)
}

// KLSphere returns the mean over rows of the divergence, in nats, between the random-walk posterior at time t and the
// uniform distribution on the sphere S^dim. The posterior is the heat kernel of half the Laplacian. Its density
// relative to the uniform distribution is
//
//	E_uniform[f log f],  f(theta) = sum_l n_l exp(-l (l+d-1) t / 2) R_l(cos theta)
//
// where R_l are the Gegenbauer polynomials of index (d-1)/2 with R_l(1) = 1: cosines on the circle, Legendre
// polynomials on S^2. n_l is the number of harmonics of degree l: 2 on the circle, 2l + 1 on S^2. At short times the
// series is replaced by the expansion of Perez Rey et al., who keep only the first power of t:
//
//	-(d/2) log t - (d/2) log(2 pi) - d/2 + log Vol(S^d) + (t/4) d (d-1),
//
// up to t^8. The relative error is below 1e-8 for all t up to dimension 100. In higher dimensions the result is NaN at
// times above 1/dim ([SphereTime]).
//
// logT has the shape [rows, 1]; the result is a scalar, differentiable everywhere. It does not depend on the location
// and decreases to 0 as t grows.
//
// Source: Perez Rey et al. 2020; Tonnaer et al. 2022, section 5.
func KLSphere(logT *gorgonia.Node, dim int) (*gorgonia.Node, error) {
	return divergence.KLSphere(logT, dim)
}

// SphereTime returns the largest time of [KLSphere] on S^dim: infinite up to dimension 100, 1/dim above.
func SphereTime(dim int) float64 { return divergence.SphereTime(dim) }

// Capacity returns |kl - c|, a scalar, in nats, which keeps a divergence close to the capacity c (a scalar node or a
// node with one number). It is differentiable except at kl = c, where its gradient is 0.
//
// Source: Burgess et al. 2018, equation 8, with the mean divergence of a batch, as in disentanglement_lib.
func Capacity(kl, c *gorgonia.Node) (*gorgonia.Node, error) { return total.Difference(kl, c) }

// KLLoss is the divergence of a model's posteriors from their priors, in nats. It sums over all latent spaces, over the
// categorical ones alone, or over the others alone. With a capacity, it is [Capacity] of the sum. If all of these
// spaces are categorical, the capacity is at most sum log K, their largest divergence.
type KLLoss struct {
	Weight   Weight `yaml:"weight" doc:"factor in the total: beta; with a capacity gamma"`
	Capacity *Ramp  `yaml:"capacity" doc:"hold the divergence at a capacity that changes with the steps, in nats (Burgess et al. 2018)"`
	Spaces   Spaces `yaml:"spaces" doc:"latent spaces to add up: all, continuous or categorical"`
}

// NewKL returns the default settings.
func NewKL() *KLLoss { return &KLLoss{Weight: Constant(1), Spaces: allSpaces} }

// Hint maps the names of the weight in papers to its key.
func (l *KLLoss) Hint(key string) string {
	if key == "beta" || key == "gamma" {
		return key + " is the weight here: kl: {weight: 4}"
	}
	return ""
}

func (l *KLLoss) Weighting() Weight { return l.Weight }

// Optimum implements [Optimal]: the posteriors equal the priors.
func (l *KLLoss) Optimum(x *Example) bool {
	fill(x.Means, 0)
	fill(x.LogSigmas, 0)
	return l.Capacity == nil
}

func (*KLLoss) Variants() []Loss {
	capped, continuous := NewKL(), NewKL()
	capped.Capacity, continuous.Spaces = &Ramp{From: 0.5, To: 1, Steps: 10}, continuousSpaces
	return []Loss{capped, continuous}
}

func (l *KLLoss) Add(in *Input) (*gorgonia.Node, error) {
	posteriors, err := l.Spaces.choose(in.Posteriors)
	if err != nil {
		return nil, err
	}
	kl, err := sumKL(posteriors)
	if err != nil || l.Capacity == nil {
		return kl, err
	}
	limit := maxKL(posteriors)
	c, err := in.Schedule("capacity", func(step int) float64 { return min(l.Capacity.At(step), limit) })
	if err != nil {
		return nil, err
	}
	return Capacity(kl, c)
}

func sumKL(posteriors []Posterior) (*gorgonia.Node, error) {
	nodes := make(gorgonia.Nodes, len(posteriors))
	for i, p := range posteriors {
		var err error
		if nodes[i], err = p.KL(); err != nil {
			return nil, fmt.Errorf("posterior %d: %w", i, err)
		}
	}
	return total.Sum(nodes...)
}

// Spaces names the latent spaces that kl includes in its sum.
type Spaces string

// The choices of latent spaces.
const (
	allSpaces         Spaces = "all"
	continuousSpaces  Spaces = "continuous"
	categoricalSpaces Spaces = "categorical"
)

func (s *Spaces) UnmarshalText(text []byte) error {
	return parseName(s, "spaces", text, allSpaces, continuousSpaces, categoricalSpaces)
}

// choose returns the posteriors of the selected spaces.
func (s Spaces) choose(posteriors []Posterior) ([]Posterior, error) {
	if len(posteriors) == 0 {
		return nil, missing("posteriors of the codes")
	}
	if s == allSpaces || s == "" {
		return posteriors, nil
	}
	var selected []Posterior
	for _, p := range posteriors {
		if (optionsOf(p) > 0) == (s == categoricalSpaces) {
			selected = append(selected, p)
		}
	}
	if len(selected) == 0 {
		return nil, fmt.Errorf("it sums %s spaces, but the model has none; want spaces: all, or a model with such spaces, such as joint-vae", s)
	}
	return selected, nil
}

// OptionsPosterior is implemented by posteriors that may be categorical. Their divergence from the uniform prior is at
// most the logarithm of the number of options.
type OptionsPosterior interface {
	Posterior
	Options() int // 0: the posterior is not categorical
}

// optionsOf returns the number of options of a categorical posterior, or 0 for a continuous one.
func optionsOf(p Posterior) int {
	if d, ok := p.(OptionsPosterior); ok {
		return d.Options()
	}
	return 0
}

// maxKL returns the largest possible divergence of posteriors: sum log K if all are categorical, otherwise infinity.
func maxKL(posteriors []Posterior) (limit float64) {
	for _, p := range posteriors {
		n := optionsOf(p)
		if n == 0 {
			return math.Inf(1)
		}
		limit += math.Log(float64(n))
	}
	return limit
}

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
	return parseName(v, "variant", text, slowPublicCode, slowConsistent)
}
