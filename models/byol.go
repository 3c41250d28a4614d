package models

import (
	"cmp"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/losses"
)

// Heads holds the settings of projector and predictor, the networks that follow the encoder.
type Heads struct {
	Hidden    int `yaml:"hidden" doc:"width of the hidden layers of the projector"`
	Projected int `yaml:"projected" doc:"width of projections and predictions"`
	Predictor int `yaml:"predictor" doc:"width of the hidden layer of the predictor"`
}

func (h *Heads) Validate() error {
	return cmp.Or(validWidth("hidden", h.Hidden), validWidth("projected", h.Projected),
		validWidth("predictor", h.Predictor))
}

// projector is BYOL's network from codes to projections.
func (h *Heads) projector() layers { return layers{widths: []int{h.Hidden, h.Projected}, bias: true} }

// predictor is the network from projections to predictions.
func (h *Heads) predictor() layers {
	return layers{widths: []int{h.Predictor, h.Projected}, bias: true}
}

// BYOL is Bootstrap Your Own Latent (Grill et al. 2020), for the loss cosine-regression. It minimises equation 2, for
// both orders of the views v, v' of an image:
//
//	2 - 2 <q(g(f(v))), g'(f'(v'))> / (|q(g(f(v)))| |g'(f'(v'))|)
//
// Here f is the encoder, g the projector and q the predictor. After every step the parameters xi of the EMA target (f',
// g') follow the parameters theta of (f, g): xi = Momentum xi + (1 - Momentum) theta (equation 1). The code is f(x).
//
// Projector and predictor are dense, batch norm, ReLU, dense. The target normalises with the statistics of its own
// batches, so its running statistics are not averaged.
type BYOL struct {
	Views     `yaml:",inline"`
	CodeViews `yaml:",inline"`
	Heads     `yaml:",inline"`
	Momentum  Momentum `yaml:"momentum" doc:"momentum of the EMA target"`
}

// NewBYOL returns the default settings.
func NewBYOL() *BYOL {
	return &BYOL{Views: Views{normedEncoder(nn.GroupNorm)}, CodeViews: CodeViews{bothViews},
		Heads:    Heads{Hidden: 4096, Projected: 256, Predictor: 4096},
		Momentum: Momentum{Base: 0.99, Schedule: constantMomentum}}
}

func (s *BYOL) New(data Data, seed uint64) (Model, error) {
	momentum := s.Momentum
	m := &siamese{twoViews: twoViews{base: newBase(s.Encoder, data, seed, 0)}, views: s.CodeViews,
		projector: s.projector(), predictor: s.predictor(), momentum: &momentum}
	return m, m.materialise(m)
}

// SimSiam is [BYOL] without a target (Chen and He 2021), for the loss cosine-regression. Up to a factor and a constant,
// it minimises equation 4:
//
//	-1/2 cos(q(z1), stop(z2)) - 1/2 cos(q(z2), stop(z1))
//
// z1 and z2 are the projections of the two views, q is the predictor, and stop is the stop-gradient. The projector has
// three layers without biases, each followed by batch norm.
type SimSiam struct {
	Views     `yaml:",inline"`
	CodeViews `yaml:",inline"`
	Heads     `yaml:",inline"`
}

// NewSimSiam returns the default settings.
func NewSimSiam() *SimSiam {
	return &SimSiam{Views: Views{normedEncoder(nn.BatchNorm)}, CodeViews: CodeViews{bothViews},
		Heads: Heads{Hidden: 4096, Projected: 256, Predictor: 4096}}
}

func (s *SimSiam) New(data Data, seed uint64) (Model, error) {
	m := &siamese{twoViews: twoViews{base: newBase(s.Encoder, data, seed, 0)}, views: s.CodeViews,
		projector: layers{widths: []int{s.Hidden, s.Hidden, s.Projected}, norm: true}, predictor: s.predictor()}
	return m, m.materialise(m)
}

// BarlowTwins is the model of Zbontar et al. 2021, for the loss cross-correlation. It minimises equation 1:
//
//	sum_i (1 - C_ii)^2 + lambda sum_i sum_{j != i} C_ij^2
//
// C_ij is the correlation, over the batch, between column i of the first views' projections and column j of the
// second views' projections. The projector has three layers without biases; batch norm and ReLU follow the first two.
type BarlowTwins struct {
	Views     `yaml:",inline"`
	CodeViews `yaml:",inline"`
	Hidden    int `yaml:"hidden" doc:"width of the layers of the projector"`
}

// NewBarlowTwins returns the default settings.
func NewBarlowTwins() *BarlowTwins {
	return &BarlowTwins{Views: Views{normedEncoder(nn.BatchNorm)}, CodeViews: CodeViews{bothViews}, Hidden: 8192}
}

func (s *BarlowTwins) Validate() error { return validWidth("hidden", s.Hidden) }

func (s *BarlowTwins) New(data Data, seed uint64) (Model, error) {
	m := &siamese{twoViews: twoViews{base: newBase(s.Encoder, data, seed, 0)}, views: s.CodeViews,
		projector: layers{widths: []int{s.Hidden, s.Hidden, s.Hidden}}}
	return m, m.materialise(m)
}

// siamese compares the projections of two views.
type siamese struct {
	twoViews
	views     CodeViews
	projector layers    // from codes to projections
	predictor layers    // from projections to predictions; no widths: no predictor
	momentum  *Momentum // of the EMA target that predictions are compared with; nil: they are compared with projections
}

func (m *siamese) Paced() bool { return m.momentum != nil && m.momentum.paced() }

// project adds codes and their projections. The names of their parameters begin with a prefix.
func (m *siamese) project(g *nn.Graph, images *gorgonia.Node, prefix string) (codes, projections *gorgonia.Node, err error) {
	if codes, err = m.encoder.Value.Encode(g, images, prefix+"encoder"); err != nil {
		return nil, nil, err
	}
	projections, err = m.projector.build(g, codes, prefix+"projector")
	return codes, projections, err
}

func (m *siamese) Build(g *nn.Graph, _ Objective, n, _ int) (*Program, error) {
	g.Views = 2
	images, inputs, err := m.inputs(g, n)
	if err != nil {
		return nil, err
	}
	codes, projections, err := m.project(g, images, "")
	if err != nil {
		return nil, err
	}
	views := &losses.Views{Projections: projections}
	if len(m.predictor.widths) > 0 {
		if views.Predictions, err = m.predictor.build(g, projections, "predictor"); err != nil {
			return nil, err
		}
		views.Targets = projections
	}
	if m.momentum != nil {
		if _, views.Targets, err = m.project(g.Targets(targetPrefix), images, targetPrefix); err != nil {
			return nil, err
		}
	}
	lossCodes, err := m.views.rows(codes)
	if err != nil {
		return nil, err
	}
	p, err := m.program(inputs, codes, lossCodes, views)
	if err == nil && m.momentum != nil {
		p.Targets = m.emaTargets(g, *m.momentum)
	}
	return p, err
}
