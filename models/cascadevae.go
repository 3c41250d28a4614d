package models

import (
	"errors"
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/models/latent"
)

// CascadeVAE is the VAE of Jeong and Song 2019, which opens its dimensions one by one. It first opens the continuous
// dimensions, by lowering the weight of their divergence, and then one categorical dimension with Categories options.
// With the losses reconstruction and kl it minimises, in nats per image,
//
//	-log p(x | z, d) + sum_l w_l KL(q(z_l|x) || N(0, 1)),  w_l = Low for the first i dimensions, High for the others
//
// The posteriors are N(mu, softplus(s)^2), and mu and s are linear maps of the features. Training has Phases phases p
// = 0, 1, ... In the first Closed phases i = min(p + 1, Latent), and the decoder gets zeros as the category. In later
// phases i = min(p, Latent), and the categories d of a batch minimise
//
//	sum_b cost(x_b; z_b, d_b) + Balance sum_k n_k (n_k - 1)/2
//
// exactly. n_k is the number of images in category k, and cost is the image's part of the reconstruction losses for
// the sample z_b (equation 8; assign.Balanced). Categories have no network and no gradient. Each step therefore first
// decodes every sample with every category ([Prelude]). The optimiser forgets its moments whenever i changes.
//
// The first column of the code is the category with the smallest cost for z = mu, from 1, or 0 before categories open.
// The columns of mu follow. Computing the code needs Categories passes through the decoder. Categories 0 gives
// CascadeVAE-C, the schedule of z without categories.
type CascadeVAE struct {
	Networks
	Latent     int     `yaml:"latent" doc:"continuous dimensions of the code"`
	Categories int     `yaml:"categories" doc:"number of categories; 0: none (CascadeVAE-C)"`
	Low        float64 `yaml:"low" doc:"weight of the divergence of open dimensions: beta_l"`
	High       float64 `yaml:"high" doc:"weight of the divergence of the other dimensions: beta_h"`
	Balance    float64 `yaml:"balance" doc:"weight of the penalty on unequal category counts in a batch, in units of the reconstruction cost"`
	Phases     int     `yaml:"phases" doc:"number of equal training phases; the paper has 15 phases of 20,000 steps"`
	PhaseSteps int     `yaml:"phase_steps" doc:"updates in a phase; 0: divide training into equal phases"`
	Closed     int     `yaml:"closed" doc:"number of phases before the categories open"`
}

// newCascadeVAE returns the default settings: the paper's settings for dSprites.
func newCascadeVAE() *CascadeVAE {
	return &CascadeVAE{Networks: newNetworks(), Latent: 6, Categories: 3, Low: 0.1, High: 10, Balance: 0.001, Phases: 15, Closed: 4}
}

func (s *CascadeVAE) Validate() error {
	if err := validLatent(s.Latent); err != nil {
		return err
	}
	if s.Categories != 0 {
		if err := latent.ValidOptions(s.Categories); err != nil {
			return config.Invalid("categories", "%w, or 0", err)
		}
	}
	for _, f := range []struct {
		key   string
		value float64
	}{{"low", s.Low}, {"high", s.High}, {"balance", s.Balance}} {
		if !(f.value >= 0 && f.value <= 1e12) {
			return config.Invalid(f.key, "want a number from 0 to 1e12, got %v", f.value)
		}
	}
	for _, f := range []struct {
		key          string
		value, least int
	}{{"phases", s.Phases, 1}, {"phase_steps", s.PhaseSteps, 0}, {"closed", s.Closed, 0}} {
		if f.value < f.least {
			return config.Invalid(f.key, "want %d or more, got %d", f.least, f.value)
		}
	}
	return nil
}

func (s *CascadeVAE) New(data Data, seed uint64) (Model, error) {
	m := &cascadeVAE{mixed: mixed{autoencoder: newAutoencoder(s.Networks, data, seed, s.Latent)}, settings: *s}
	if s.Categories > 0 {
		m.sizes = []int{s.Categories}
	}
	if err := Materialise(m, data); err != nil {
		return nil, err
	}
	_, err := m.state(nn.NewGraph(m.params), cascadeOpened)
	return m, err
}

type cascadeVAE struct {
	mixed
	settings CascadeVAE
}

// States of a cascade: the number of open dimensions, and 1 if categories are open.
const (
	cascadeOpened     = "cascade/opened"
	cascadeCategories = "cascade/categories"
)

// state returns the node of a state that holds one number.
func (m *cascadeVAE) state(g *nn.Graph, name string) (*gorgonia.Node, error) {
	return g.State(name, []int{1}, nn.Zeros)
}

func (m *cascadeVAE) Paced() bool { return m.settings.PhaseSteps == 0 }

// heads adds the mean and log sigma of the posterior.
func (m *cascadeVAE) heads(g *nn.Graph, images *gorgonia.Node) (mean, logSigma *gorgonia.Node, err error) {
	h, err := m.features(g, images)
	if err != nil {
		return nil, nil, err
	}
	if mean, err = nn.Dense(g, h, "latent/mean", m.width, graph.Linear); err != nil {
		return nil, nil, err
	}
	raw, err := nn.Dense(g, h, "latent/scale", m.width, graph.Linear)
	if err != nil {
		return nil, nil, err
	}
	logSigma, err = logSoftplus(raw)
	return mean, logSigma, err
}

// drawn holds the posteriors of images, and samples of them.
type drawn struct{ images, noise, mean, logSigma, z *gorgonia.Node }

// drawn adds the graph from images and noise to samples.
func (m *cascadeVAE) drawn(g *nn.Graph, n int) (d drawn, err error) {
	if d.images, err = m.images(g, n); err != nil {
		return d, err
	}
	if d.mean, d.logSigma, err = m.heads(g, d.images); err != nil {
		return d, err
	}
	if d.noise, err = g.Input("noise", n, m.width); err != nil {
		return d, err
	}
	d.z, err = latent.GaussianSample(d.mean, d.logSigma, d.noise)
	return d, err
}

func (m *cascadeVAE) Encode(g *nn.Graph, images *gorgonia.Node) (*gorgonia.Node, error) {
	mean, _, err := m.heads(g, images)
	if err != nil || m.settings.Categories == 0 {
		return mean, err
	}
	var all []*gorgonia.Node
	for k := range m.settings.Categories {
		points, err := withCategory(mean, k, m.settings.Categories)
		if err != nil {
			return nil, err
		}
		cost, err := m.costs(g, images, points)
		if err != nil {
			return nil, err
		}
		all = append(all, cost)
	}
	costs, err := graph.ConcatColumns(all...)
	if err != nil {
		return nil, err
	}
	open, err := m.state(g, cascadeCategories)
	if err != nil {
		return nil, err
	}
	number, err := cheapest(costs, open)
	if err != nil {
		return nil, err
	}
	return graph.ConcatColumns(number, mean)
}

// costs adds the costs [n, 1] of images that are decoded from points [n, Categories + Latent].
func (m *cascadeVAE) costs(g *nn.Graph, images, points *gorgonia.Node) (*gorgonia.Node, error) {
	logits, err := m.autoencoder.Decode(g, points)
	if err != nil {
		return nil, err
	}
	var all gorgonia.Nodes
	for _, c := range m.data.Losses {
		l, ok := c.Value.(losses.PerImage)
		if !ok {
			continue
		}
		cost, err := l.Costs(images, logits, m.data.Real)
		if err != nil {
			return nil, fmt.Errorf("costs of categories: loss %s: %w", c.Name, err)
		}
		all = append(all, cost)
	}
	switch {
	case len(all) == 0 && m.data.Losses != nil:
		return nil, errors.New("the choice of categories needs each image's reconstruction error, but the config has no such loss; want the loss reconstruction")
	case len(all) == 0: // the losses are unknown
		return losses.NewReconstruction().Costs(images, logits, m.data.Real)
	}
	sum := all[0]
	for _, n := range all[1:] {
		if sum, err = graph.Add(sum, n); err != nil {
			return nil, err
		}
	}
	return sum, nil
}

func (m *cascadeVAE) Build(g *nn.Graph, _ Objective, n, _ int) (*Program, error) {
	d, err := m.drawn(g, n)
	if err != nil {
		return nil, err
	}
	weights, err := g.Input("kl weights", m.width)
	if err != nil {
		return nil, err
	}
	c := &cascade{cascadeVAE: m, images: d.images, noise: d.noise, weights: nn.Data(weights)}
	points := d.z
	if m.settings.Categories > 0 {
		if points, err = c.categories(g, d.z, n); err != nil {
			return nil, err
		}
	}
	logits, err := m.autoencoder.Decode(g, points)
	if err != nil {
		return nil, err
	}
	kl, err := losses.KLGaussian(d.mean, d.logSigma)
	if err != nil {
		return nil, err
	}
	logVariance, err := graph.Scale(2, d.logSigma)
	if err != nil {
		return nil, err
	}
	return &Program{
		Outputs: &losses.Outputs{Images: d.images, Logits: logits, Codes: d.mean, Sample: d.z, LogVariance: logVariance,
			Posteriors: []losses.Posterior{cascadePosterior{d.mean, d.logSigma, weights}}, Rows: n},
		Noise:   []*gorgonia.Node{d.noise},
		Logged:  []Logged{{Name: "kl-unweighted", Node: kl}},
		Prelude: &Prelude{Passes: c.passes, Decide: c.decide},
	}, nil
}

// cascadePosterior is a Gaussian posterior with a weight for the divergence of each column.
type cascadePosterior struct{ mean, logSigma, weights *gorgonia.Node }

func (p cascadePosterior) KL() (*gorgonia.Node, error) {
	return losses.KLGaussianWeighted(p.mean, p.logSigma, p.weights)
}
