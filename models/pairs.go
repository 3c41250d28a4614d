package models

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph/nn"
)

// PairVAE holds the settings that all models of image pairs have in common. These models are a [VAE] for pairs of
// images that differ in few factors (supervision changes). The two posteriors of a pair share dimensions. With the
// losses reconstruction and kl the models minimise, in nats per image,
//
//	1/2 sum_j (-E_q~(z_j|x_1, x_2)[log p(x_j|z_j)] + beta KL(q~(z_j|x_1, x_2) || N(0, I))),  j = 1, 2.
//
// In the private dimensions of the pair, q~_j is the posterior of image j. In the shared dimensions it is a single
// posterior for both images. z_1 and z_2 have independent noise in all dimensions. On single images, the models are a
// plain VAE. The code is mu of one image, [batch, Latent], without sharing.
//
// The dimensions with the largest divergences delta_i = 2 KL(q_1i || q_2i) are private. Their number is K. The adaptive
// models instead take the dimensions with delta_i >= (min delta + max delta)/2. This choice has no gradient.
type PairVAE struct {
	Networks
	Latent    int  `yaml:"latent" doc:"dimensions of the code"`
	Symmetric bool `yaml:"symmetric" doc:"compare the two posteriors by the mean of the divergences in both directions"`
}

func newPairSettings() PairVAE { return PairVAE{Networks: newNetworks(), Latent: 10} }

func (s *PairVAE) Validate() error { return validLatent(s.Latent) }

// GVAE is the group VAE of pairs that differ in K factors (Hosoya 2019; Locatello et al. 2020, section 4). Shared
// dimensions have the average of the means and the average of the variances. See [PairVAE].
type GVAE struct {
	PairVAE
	K int `yaml:"k" doc:"number of private dimensions of a pair: the dimensions with the largest divergences"`
}

func newGVAE() *GVAE { return &GVAE{newPairSettings(), 1} }

func (s *GVAE) Validate() error { return s.validPrivate(s.K) }

func (s *GVAE) New(data Data, seed uint64) (Model, error) {
	return s.model("gvae", mergeRule{Private: s.K}, data, seed)
}

// AdaGVAE is a [GVAE] that finds the private dimensions of every pair (Locatello et al. 2020, section 4, equations 5
// to 7).
type AdaGVAE struct{ PairVAE }

// NewAdaGVAE returns the default settings.
func NewAdaGVAE() *AdaGVAE { return &AdaGVAE{newPairSettings()} }

func (s *AdaGVAE) New(data Data, seed uint64) (Model, error) {
	return s.model("ada-gvae", mergeRule{Private: adaptive}, data, seed)
}

// MLVAE is the multi-level VAE of pairs that differ in K factors (Bouchacourt et al. 2018; Locatello et al. 2020,
// section 4). Shared dimensions have the precision-weighted mean. Their variance is the harmonic mean of the variances,
// as in the authors' code. This is twice the variance of a product of densities. See [PairVAE].
type MLVAE struct {
	PairVAE
	K       int  `yaml:"k" doc:"number of private dimensions of a pair: the dimensions with the largest divergences"`
	Product bool `yaml:"product" doc:"share the product of both densities, with half the variance, as in the paper"`
}

func newMLVAE() *MLVAE { return &MLVAE{PairVAE: newPairSettings(), K: 1} }

func (s *MLVAE) Validate() error { return s.validPrivate(s.K) }

func (s *MLVAE) New(data Data, seed uint64) (Model, error) {
	return s.model("ml-vae", mergeRule{Private: s.K, Precise: true, Product: s.Product}, data, seed)
}

// AdaMLVAE is an [MLVAE] that finds the private dimensions of every pair (Locatello et al. 2020, section 4).
type AdaMLVAE struct {
	PairVAE
	Product bool `yaml:"product" doc:"share the product of both densities, with half the variance, as in the paper"`
}

func newAdaMLVAE() *AdaMLVAE { return &AdaMLVAE{PairVAE: newPairSettings()} }

func (s *AdaMLVAE) New(data Data, seed uint64) (Model, error) {
	return s.model("ada-ml-vae", mergeRule{Private: adaptive, Precise: true, Product: s.Product}, data, seed)
}

// SlowVAE is a [VAE] of pairs of images or longer groups, for the losses reconstruction, kl and slow. The loss slow
// acts on the step from one image of a group to the next (Klindt et al. 2021, equation 5).
type SlowVAE struct {
	Networks
	Latent int `yaml:"latent" doc:"dimensions of the code"`
}

func newSlowVAE() *SlowVAE { return &SlowVAE{newNetworks(), 10} }

func (s *SlowVAE) Validate() error { return validLatent(s.Latent) }

func (s *SlowVAE) New(data Data, seed uint64) (Model, error) {
	return newPairVAE("slow-vae", s.Networks, s.Latent, nil, data, seed)
}

// validPrivate checks the settings of a model with a fixed number of private dimensions.
func (s *PairVAE) validPrivate(k int) error {
	if err := s.Validate(); err != nil {
		return err
	}
	if k < 0 || k > s.Latent {
		return config.Invalid("k", "%d of %d dimensions are private; want 0 to %d", k, s.Latent, s.Latent)
	}
	return nil
}

func (s *PairVAE) model(name string, r mergeRule, data Data, seed uint64) (Model, error) {
	r.Symmetric = s.Symmetric
	return newPairVAE(name, s.Networks, s.Latent, &r, data, seed)
}

// pairVAE is a VAE of pairs.
type pairVAE struct {
	vae
	name string
	rule *mergeRule // nil: the images of a pair share no dimensions
}

func newPairVAE(name string, n Networks, latent int, r *mergeRule, data Data, seed uint64) (Model, error) {
	m := &pairVAE{vae{mixed: mixed{autoencoder: newAutoencoder(n, data, seed, latent)}}, name, r}
	return m, Materialise(m, data)
}

func (m *pairVAE) Objectives() []Objective {
	return []Objective{{Name: "pairs", Labelled: true}, {Name: "unsupervised"}}
}

func (m *pairVAE) Build(g *nn.Graph, o Objective, n, group int) (*Program, error) {
	switch {
	case !o.Labelled || m.rule == nil:
		return m.vae.Build(g, o, n, group)
	case group != 2 || n%2 != 0:
		return nil, fmt.Errorf("%s learns from pairs of images, and there are groups of %d; want pairs, such as supervision: {changes: {k: random}}", m.name, group)
	}
	images, err := m.images(g, n)
	if err != nil {
		return nil, err
	}
	mean, logVariance, discrete, err := m.heads(g, images)
	if err != nil {
		return nil, err
	}
	if mean, logVariance, err = m.share(mean, logVariance); err != nil {
		return nil, err
	}
	p, err := m.sampled(g, images, mean, logVariance, discrete)
	if err == nil {
		p.Outputs.Shared = true
	}
	return p, err
}

// share gives both posteriors of a pair the same distribution in the shared dimensions.
func (m *pairVAE) share(mean, logVariance *gorgonia.Node) (sharedMean, sharedLogVariance *gorgonia.Node, err error) {
	mask, err := pairMask(mean, logVariance, *m.rule)
	if err != nil {
		return nil, nil, err
	}
	if sharedMean, err = sharedMeans(mask, mean, logVariance, *m.rule); err != nil {
		return nil, nil, err
	}
	sharedLogVariance, err = sharedLogVariances(mask, logVariance, *m.rule)
	return sharedMean, sharedLogVariance, err
}
