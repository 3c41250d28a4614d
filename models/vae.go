package models

import (
	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/models/latent"
)

// VAE is the variational autoencoder (Kingma and Welling 2014, equation 3, negated). With the losses reconstruction
// and kl it minimises, in nats per image,
//
//	-E_q(z|x)[log p(x|z)] + beta KL(q(z|x) || p(z)),  q(z|x) = N(mu(x), diag sigma(x)^2),  p(z) = N(0, I).
//
// The expectation is estimated with a single sample z = mu + sigma noise (equation 10). beta is the weight of kl: 1
// gives the negative ELBO, a larger weight the beta-VAE (Higgins et al. 2017, equation 4). With the additional loss tc
// it is a beta-TCVAE or FactorVAE, and with dip-i or dip-ii a DIP-VAE.
//
// mu and log sigma^2 are linear maps of the features, as in Locatello et al. 2019. The code is mu, [batch, Latent].
// With Categorical it is the model of [JointVAE].
type VAE struct {
	Networks
	Latent int `yaml:"latent" doc:"continuous dimensions of the code"`
	Categoricals
}

// NewVAE returns the default settings.
func NewVAE() *VAE { return &VAE{Networks: newNetworks(), Latent: 10, Categoricals: noCategoricals()} }

func (s *VAE) Validate() error {
	if err := validLatent(s.Latent); err != nil {
		return err
	}
	return s.Categoricals.validate()
}

func (s *VAE) New(data Data, seed uint64) (Model, error) {
	m := &vae{mixed: mixed{newAutoencoder(s.Networks, data, seed, s.Latent), s.Categorical}, discrete: s.spaces()}
	return m, Materialise(m, data)
}

type vae struct {
	mixed
	discrete latent.List // spaces of categorical codes
	wide     bool        // the samples for a head h have standard deviation exp(h), but the divergence uses exp(h/2)
}

// heads adds the mean and the logarithm of the variance of the posterior, and the categorical variables.
func (m *vae) heads(g *nn.Graph, images *gorgonia.Node) (mean, logVariance *gorgonia.Node, discrete []*latent.Variable,
	err error) {
	h, err := m.features(g, images)
	if err != nil {
		return nil, nil, nil, err
	}
	if mean, err = nn.Dense(g, h, "latent/mean", m.width, graph.Linear); err != nil {
		return nil, nil, nil, err
	}
	if logVariance, err = nn.Dense(g, h, "latent/log-variance", m.width, graph.Linear); err != nil {
		return nil, nil, nil, err
	}
	discrete, err = m.discrete.Variables(g, h)
	return mean, logVariance, discrete, err
}

func (m *vae) Encode(g *nn.Graph, images *gorgonia.Node) (*gorgonia.Node, error) {
	mean, _, discrete, err := m.heads(g, images)
	if err != nil || len(discrete) == 0 {
		return mean, err
	}
	weights, err := latent.Locations(discrete)
	if err != nil {
		return nil, err
	}
	return withOptionNumbers(weights, mean, m.sizes)
}

func (m *vae) Build(g *nn.Graph, _ Objective, n, _ int) (*Program, error) {
	images, err := m.images(g, n)
	if err != nil {
		return nil, err
	}
	mean, logVariance, discrete, err := m.heads(g, images)
	if err != nil {
		return nil, err
	}
	return m.sampleAndDecode(g, images, mean, logVariance, discrete)
}

// sampleAndDecode adds samples of the posterior and of categorical variables, and the reconstruction.
func (m *vae) sampleAndDecode(g *nn.Graph, images, mean, logVariance *gorgonia.Node,
	discrete []*latent.Variable) (*Program, error) {
	n := images.Shape()[0]
	noise, err := g.Input("noise", n, m.width)
	if err != nil {
		return nil, err
	}
	factor := 0.5
	if m.wide {
		factor = 1
	}
	logSigma, err := graph.Scale(factor, logVariance)
	if err != nil {
		return nil, err
	}
	z, err := latent.GaussianSample(mean, logSigma, noise)
	if err != nil {
		return nil, err
	}
	p := &Program{Noise: []*gorgonia.Node{noise},
		Outputs: &losses.Outputs{Images: images, Codes: mean, Sample: z, LogVariance: logVariance,
			Posteriors: []losses.Posterior{gaussian{mean, logVariance}}, Rows: n}}
	if len(discrete) > 0 {
		p.posteriors(discrete)
		p.Outputs.Hierarchy = HierarchyOf(m)
		if p.Outputs.Options, err = latent.Samples(discrete); err != nil {
			return nil, err
		}
		if z, err = graph.ConcatColumns(p.Outputs.Options, z); err != nil {
			return nil, err
		}
	}
	p.Outputs.Logits, err = m.autoencoder.Decode(g, z)
	return p, err
}

// gaussian is a posterior N(mean, variance) with the prior N(0, I).
type gaussian struct{ mean, logVariance *gorgonia.Node }

func (p gaussian) KL() (*gorgonia.Node, error) {
	return losses.KLGaussianLogVariance(p.mean, p.logVariance)
}

// JointVAE is the VAE with continuous and discrete codes of Dupont 2018. Its losses are reconstruction, kl of the
// continuous spaces (weight gamma_z, capacity C_z) and kl of the categorical spaces (gamma_c, C_c). It minimises the
// paper's equation 7, in nats per image,
//
//	-E_q(z,c|x)[log p(x|z,c)] + gamma_z |KL(q(z|x) || p(z)) - C_z| + gamma_c |KL(q(c|x) || p(c)) - C_c|
//
// Both divergences are averaged over the batch before the absolute value is taken. c has one categorical variable for
// each number in Categorical. Its probabilities alpha are a softmax of linear maps of the features, and its prior is
// uniform. The decoder gets relaxed samples (Gumbel-softmax) and z. The capacities increase during training. C_c stops
// at sum log K, the largest possible divergence. At this value the loss pulls alpha towards one-hot vectors.
//
// The code has a column for each categorical variable, 1 + the most probable option, followed by mu: [batch,
// len(Categorical) + Latent].
type JointVAE struct {
	VAE
}

// newJointVAE returns the default settings: the settings of the paper's MNIST experiments.
func newJointVAE() *JointVAE {
	s := &JointVAE{VAE: *NewVAE()}
	s.Categorical = []int{10}
	return s
}

func (s *JointVAE) Validate() error {
	if len(s.Categorical) == 0 {
		return config.Invalid("categorical",
			"want one number of options or more, such as [3, 2]; without discrete codes it is the model vae")
	}
	return s.VAE.Validate()
}
