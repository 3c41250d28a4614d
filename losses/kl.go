package losses

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/graph"
)

// KLGaussian returns the mean over rows of KL(N(mu, sigma^2) || N(0, I)):
//
//	1/2 sum_j (mu_j^2 + sigma_j^2 - log sigma_j^2 - 1)
//
// mu and log sigma have the shape [rows, columns]; the result is a scalar, in nats. It is
// differentiable in both; its least value, at mu = 0 and sigma = 1, is 0.
//
// Source: Kingma and Welling 2014, appendix B.
func KLGaussian(mu, logSigma *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.GaussianKL(mu, logSigma)
}

// KLGaussianLogVariance is [KLGaussian] from log sigma^2.
func KLGaussianLogVariance(mu, logVariance *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.GaussianKLLogVariance(mu, logVariance)
}

// KLSphere returns the mean over rows of the divergence, in nats, of the random-walk
// posterior at time t from the uniform distribution of the sphere S^dim. The posterior is
// the heat kernel of half the Laplacian, of density f relative to the uniform one:
//
//	E_uniform[f log f],  f(theta) = sum_l n_l exp(-l (l+d-1) t / 2) R_l(cos theta)
//
// with the Gegenbauer polynomials R_l of index (d-1)/2 and R_l(1) = 1 and the numbers n_l of harmonics of degree l
// (cosines and 2 on the circle, Legendre polynomials and 2l + 1 on S^2). Short times have
// the expansion in which Perez Rey et al. keep the first power of t,
//
//	-(d/2) log t - (d/2) log(2 pi) - d/2 + log Vol(S^d) + (t/4) d (d-1),
//
// up to t^8. The result is accurate to 1e-8 of its value for any t up to dimension 100. Above it only t
// up to 1/d is known, and the result is NaN at later times.
//
// log t has the shape [rows, 1]; the result is a scalar. It does not depend on the
// location. It is differentiable, and falls in t to 0.
//
// Source: Perez Rey et al. 2020; Tonnaer et al. 2022, section 5.
func KLSphere(logT *gorgonia.Node, dim int) (*gorgonia.Node, error) { return graph.SphereKL(logT, dim) }

// Capacity returns |kl - c|, a scalar, which holds a divergence at a capacity c
// (a scalar or one number). Its gradient is 0 where the two are equal.
//
// Source: Burgess et al. 2018, equation 8; with a batch's mean divergence, as
// disentanglement_lib computes it.
func Capacity(kl, c *gorgonia.Node) (*gorgonia.Node, error) { return graph.Deviate(kl, c) }

// KLLoss is the divergence of a model's posteriors from their priors, in nats, summed
// over its latent spaces. With a capacity it is how far that is from the capacity.
type KLLoss struct {
	Weight   float64 `yaml:"weight" doc:"factor in the total: beta; with a capacity gamma"`
	Capacity *Rise   `yaml:"capacity" doc:"hold the divergence at a capacity that rises with the steps, in nats (Burgess et al. 2018)"`
}

// Hint knows the names of the weight in papers.
func (l *KLLoss) Hint(key string) string {
	if key == "beta" || key == "gamma" {
		return key + " is the weight here: kl: {weight: 4}"
	}
	return ""
}

// Rise is a number that rises linearly from one value to another and stays there.
type Rise struct {
	From  float64 `yaml:"from" doc:"value in the first step"`
	To    float64 `yaml:"to" doc:"value at the end of the rise"`
	Steps int     `yaml:"steps" doc:"steps that the rise takes; 0: none, it is To from the beginning"`
}

// Validate checks the settings.
func (r *Rise) Validate() error {
	for _, f := range []struct {
		key   string
		value float64
	}{{"from", r.From}, {"to", r.To}} {
		if !(f.value >= 0) || f.value > 1e12 {
			return config.Invalid(f.key, "want a number from 0 to 1e12, got %v", f.value)
		}
	}
	if r.Steps < 0 {
		return config.Invalid("steps", "want 0 or more, got %d", r.Steps)
	}
	return nil
}

// At is the number in a step.
func (r *Rise) At(step int) float64 {
	if step >= r.Steps {
		return r.To
	}
	return r.From + (r.To-r.From)*float64(step)/float64(r.Steps)
}

// NewKL returns the default settings.
func NewKL() *KLLoss { return &KLLoss{Weight: 1} }

// Validate checks the settings.
func (l *KLLoss) Validate() error { return validWeight(l.Weight) }

// Weighting implements [Loss].
func (l *KLLoss) Weighting() float64 { return l.Weight }

// Add implements [Loss].
func (l *KLLoss) Add(o *Outputs) (*gorgonia.Node, error) {
	kl, err := divergence(o)
	if err != nil || l.Capacity == nil {
		return kl, err
	}
	if o.Graph == nil {
		return nil, missing("a place for the capacity")
	}
	c, err := o.Graph.Input("losses/"+o.loss+"/capacity", 1)
	if err != nil {
		return nil, err
	}
	o.Schedules = append(o.Schedules, Schedule{Node: c, At: l.Capacity.At})
	return Capacity(kl, c)
}

// divergence sums up the divergences of a model's latent spaces.
func divergence(o *Outputs) (*gorgonia.Node, error) {
	if len(o.Posteriors) == 0 {
		return nil, missing("posteriors of the codes")
	}
	nodes, ones := make(gorgonia.Nodes, len(o.Posteriors)), make([]float64, len(o.Posteriors))
	for i, p := range o.Posteriors {
		var err error
		if nodes[i], err = p.KL(); err != nil {
			return nil, fmt.Errorf("posterior %d: %w", i, err)
		}
		ones[i] = 1
	}
	if len(nodes) == 1 {
		return nodes[0], nil
	}
	return graph.WeightedSum(ones, nodes...)
}
