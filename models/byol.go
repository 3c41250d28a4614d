package models

import (
	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/losses"
)

// Heads are the networks on top of codes.
type Heads struct {
	Hidden    int `yaml:"hidden" doc:"width of the hidden layers of the projector"`
	Projected int `yaml:"projected" doc:"width of projections and predictions"`
	Predictor int `yaml:"predictor" doc:"width of the hidden layer of the predictor"`
}

// Validate checks the settings.
func (h *Heads) Validate() error {
	for _, w := range []struct {
		key string
		is  int
	}{{"hidden", h.Hidden}, {"projected", h.Projected}, {"predictor", h.Predictor}} {
		if err := validWidth(w.key, w.is); err != nil {
			return err
		}
	}
	return nil
}

// predictor is the network from projections to predictions.
func (h *Heads) predictor() layers {
	return layers{widths: []int{h.Predictor, h.Projected}, bias: [2]bool{true, true}}
}

// BYOL learns codes by predicting, from the projection of one view of an image, that
// of the other view by a target: an average over the steps of encoder and projector. With the loss
// cosine-regression it is Bootstrap Your Own Latent (Grill et al. 2020).
//
// Projector and predictor are dense, batch norm, ReLU, dense. The target takes the moments of
// its batches, and follows parameters only.
type BYOL struct {
	Views     `yaml:",inline"`
	CodeViews `yaml:",inline"`
	Heads     `yaml:",inline"`
	Momentum  Momentum `yaml:"momentum" doc:"how slowly the target follows"`
}

// NewBYOL returns the default settings.
func NewBYOL() *BYOL {
	return &BYOL{Views: Views{normedEncoder(nn.GroupNorm)}, CodeViews: CodeViews{BothViews}, Heads: Heads{Hidden: 4096, Projected: 256, Predictor: 4096},
		Momentum: Momentum{Base: 0.99, Schedule: constantMomentum}}
}

// New implements Settings.
func (s *BYOL) New(data Data, seed uint64) (Model, error) {
	m := &byol{twoViews: twoViews{base: newBase(s.Encoder, data, seed)}, settings: *s}
	return m, m.start(m)
}

type byol struct {
	twoViews
	settings BYOL
}

// projected adds codes and their projections, with the parameters of a prefix.
func (m *byol) projected(g *nn.Graph, images *gorgonia.Node, prefix string) (codes, projections *gorgonia.Node, err error) {
	if codes, err = m.encoder.Value.Encode(g, images, prefix+"encoder"); err != nil {
		return nil, nil, err
	}
	projector := layers{widths: []int{m.settings.Hidden, m.settings.Projected}, bias: [2]bool{true, true}}
	projections, err = projector.build(g, codes, prefix+"projector")
	return codes, projections, err
}

// Build implements Model.
func (m *byol) Build(g *nn.Graph, _ Objective, n, _ int) (*Program, error) {
	g.Views = 2
	images, views, err := m.inputs(g, n)
	if err != nil {
		return nil, err
	}
	codes, projections, err := m.projected(g, images, "")
	if err != nil {
		return nil, err
	}
	predictions, err := m.settings.predictor().build(g, projections, "predictor")
	if err != nil {
		return nil, err
	}
	_, targets, err := m.projected(g.Following(), images, targetPrefix)
	if err != nil {
		return nil, err
	}
	seen, err := m.settings.rows(codes)
	if err != nil {
		return nil, err
	}
	p, err := m.program(views, codes, seen, &losses.Views{Predictions: predictions, Targets: targets, Projections: projections})
	if err != nil {
		return nil, err
	}
	p.After = func(s Step) error {
		m.target.Step(m.settings.Momentum.At(s.Progress))
		return nil
	}
	return p, nil
}

// SimSiam is [BYOL] without a target: predictions are of the projections themselves, through which
// no gradient flows (Chen and He 2021). The projector has three layers, without biases, each followed
// by batch norm.
type SimSiam struct {
	Views     `yaml:",inline"`
	CodeViews `yaml:",inline"`
	Heads     `yaml:",inline"`
}

// NewSimSiam returns the default settings.
func NewSimSiam() *SimSiam {
	return &SimSiam{Views: Views{normedEncoder(nn.BatchNorm)}, CodeViews: CodeViews{BothViews}, Heads: Heads{Hidden: 4096, Projected: 256, Predictor: 4096}}
}

// New implements Settings.
func (s *SimSiam) New(data Data, seed uint64) (Model, error) {
	m := &simSiam{twoViews: twoViews{base: newBase(s.Encoder, data, seed)}, settings: *s}
	return m, m.start(m)
}

type simSiam struct {
	twoViews
	settings SimSiam
}

// Build implements Model.
func (m *simSiam) Build(g *nn.Graph, _ Objective, n, _ int) (*Program, error) {
	g.Views = 2
	images, views, err := m.inputs(g, n)
	if err != nil {
		return nil, err
	}
	codes, err := m.features(g, images)
	if err != nil {
		return nil, err
	}
	projector := layers{widths: []int{m.settings.Hidden, m.settings.Hidden, m.settings.Projected}, norm: true}
	projections, err := projector.build(g, codes, "projector")
	if err != nil {
		return nil, err
	}
	predictions, err := m.settings.predictor().build(g, projections, "predictor")
	if err != nil {
		return nil, err
	}
	seen, err := m.settings.rows(codes)
	if err != nil {
		return nil, err
	}
	return m.program(views, codes, seen, &losses.Views{Predictions: predictions, Targets: projections, Projections: projections})
}

// BarlowTwins makes the projections of two views of an image correlate column by column and not across
// columns (Zbontar et al. 2021), with the loss cross-correlation. The projector has three layers without
// biases, the first two of which batch norm and ReLU follow.
type BarlowTwins struct {
	Views     `yaml:",inline"`
	CodeViews `yaml:",inline"`
	Hidden    int `yaml:"hidden" doc:"width of the layers of the projector"`
}

// NewBarlowTwins returns the default settings.
func NewBarlowTwins() *BarlowTwins {
	return &BarlowTwins{Views: Views{normedEncoder(nn.BatchNorm)}, CodeViews: CodeViews{BothViews}, Hidden: 8192}
}

// Validate checks the settings.
func (s *BarlowTwins) Validate() error { return validWidth("hidden", s.Hidden) }

// New implements Settings.
func (s *BarlowTwins) New(data Data, seed uint64) (Model, error) {
	m := &barlowTwins{twoViews: twoViews{base: newBase(s.Encoder, data, seed)}, settings: *s}
	return m, m.start(m)
}

type barlowTwins struct {
	twoViews
	settings BarlowTwins
}

// Build implements Model.
func (m *barlowTwins) Build(g *nn.Graph, _ Objective, n, _ int) (*Program, error) {
	g.Views = 2
	images, views, err := m.inputs(g, n)
	if err != nil {
		return nil, err
	}
	codes, err := m.features(g, images)
	if err != nil {
		return nil, err
	}
	h := m.settings.Hidden
	projections, err := layers{widths: []int{h, h, h}}.build(g, codes, "projector")
	if err != nil {
		return nil, err
	}
	seen, err := m.settings.rows(codes)
	if err != nil {
		return nil, err
	}
	return m.program(views, codes, seen, &losses.Views{Projections: projections})
}
