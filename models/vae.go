package models

import (
	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/models/latent"
	"github.com/unravel-ml/unravel/rng"
)

// VAE is the variational autoencoder (Kingma and Welling 2014, equation 3, negated). With the losses
// reconstruction and kl it minimises, in nats per image,
//
//	-E_q(z|x)[log p(x|z)] + beta KL(q(z|x) || p(z)),  q(z|x) = N(mu(x), diag sigma(x)^2),  p(z) = N(0, I),
//
// where the expectation is estimated by one sample z = mu + sigma noise (equation 10) and beta is the weight of kl: 1
// gives the negative ELBO, more the beta-VAE (Higgins et al. 2017, equation 4). Beside them, tc makes it a beta-TCVAE or
// FactorVAE, dip-i and dip-ii a DIP-VAE.
//
// mu and log sigma^2 are linear maps of the features, as in Locatello et al. 2019. The code is mu, [batch, Latent].
type VAE struct {
	Networks
	Latent int `yaml:"latent" doc:"dimensions of the code"`
}

// NewVAE returns the default settings.
func NewVAE() *VAE { return &VAE{Networks: NewNetworks(), Latent: 10} }

// Validate checks the settings.
func (s *VAE) Validate() error { return validLatent(s.Latent) }

// New implements Settings.
func (s *VAE) New(data Data, seed uint64) (Model, error) {
	m := &vae{autoencoder: newAutoencoder(s.Networks, data, seed), latent: s.Latent}
	return m, Materialise(m, data)
}

type vae struct {
	autoencoder
	latent int
	wide   bool // samples have the deviation exp(h) of a head h whose divergence is that of exp(h/2)
}

// Objectives implements Model.
func (m *vae) Objectives() []Objective { return []Objective{{Name: "unsupervised"}} }

// Spaces implements Model.
func (m *vae) Spaces() []Space { return []Space{{Name: "euclidean", Width: m.latent}} }

// Prior implements Generative: N(0, I).
func (m *vae) Prior(r *rng.Stream, code []float32) { r.Normals(code) }

// heads adds the mean and the logarithm of the variance of the posterior.
func (m *vae) heads(g *nn.Graph, images *gorgonia.Node) (mean, logVariance *gorgonia.Node, err error) {
	h, err := m.features(g, images)
	if err != nil {
		return nil, nil, err
	}
	if mean, err = nn.Dense(g, h, "latent/mean", m.latent, graph.Linear); err != nil {
		return nil, nil, err
	}
	logVariance, err = nn.Dense(g, h, "latent/log-variance", m.latent, graph.Linear)
	return mean, logVariance, err
}

// Encode implements Model.
func (m *vae) Encode(g *nn.Graph, images *gorgonia.Node) (*gorgonia.Node, error) {
	mean, _, err := m.heads(g, images)
	return mean, err
}

// Build implements Model.
func (m *vae) Build(g *nn.Graph, _ Objective, n, _ int) (*Program, error) {
	images, err := m.images(g, n)
	if err != nil {
		return nil, err
	}
	mean, logVariance, err := m.heads(g, images)
	if err != nil {
		return nil, err
	}
	return m.sampled(g, images, mean, logVariance)
}

// sampled ends a program with a sample of the posterior and its reconstruction.
func (m *vae) sampled(g *nn.Graph, images, mean, logVariance *gorgonia.Node) (*Program, error) {
	n := images.Shape()[0]
	noise, err := g.Input("noise", n, m.latent)
	if err != nil {
		return nil, err
	}
	half := 0.5
	if m.wide {
		half = 1
	}
	logSigma, err := graph.Scale(half, logVariance)
	if err != nil {
		return nil, err
	}
	z, err := latent.GaussianSample(mean, logSigma, noise)
	if err != nil {
		return nil, err
	}
	logits, err := m.Decode(g, z)
	if err != nil {
		return nil, err
	}
	return &Program{
		Outputs: &losses.Outputs{Images: images, Logits: logits, Codes: mean, Sample: z, LogVariance: logVariance,
			Posteriors: []losses.Posterior{gaussian{mean, logVariance}}, Rows: n},
		Noise: []*gorgonia.Node{noise},
	}, nil
}

// gaussian is a posterior N(mean, variance) with the prior N(0, I).
type gaussian struct{ mean, logVariance *gorgonia.Node }

// KL implements losses.Posterior.
func (p gaussian) KL() (*gorgonia.Node, error) {
	return losses.KLGaussianLogVariance(p.mean, p.logVariance)
}
