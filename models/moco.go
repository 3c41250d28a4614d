package models

import (
	"fmt"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/losses"
)

// MoCo is momentum contrast (He et al. 2020), for the loss info-nce. It minimises equation 1, in nats:
//
//	-log exp(q.k/tau) / (exp(q.k/tau) + sum_i exp(q.k_i/tau))
//
// The network encodes the first view of an image as the query q. The EMA target encodes the second view as the key k.
// After every step the target follows (equation 2): theta_k = Momentum theta_k + (1 - Momentum) theta_q. The
// negatives k_i are a queue of earlier keys. Queries and keys are unit vectors: a normalised linear map of the code.
// Version 2 (Chen et al. 2020) adds a dense layer as wide as the code, with ReLU, before this map.
//
// Losses on codes use the codes of the first views.
type MoCo struct {
	Views    `yaml:",inline"`
	Width    int      `yaml:"width" doc:"width of queries and keys"`
	Queue    int      `yaml:"queue" doc:"keys in the queue, at least the batch size"`
	Momentum Momentum `yaml:"momentum" doc:"momentum of the EMA target, which computes the keys"`

	second bool // version 2
}

func newMoCo() *MoCo {
	return &MoCo{Views: Views{normedEncoder(nn.BatchNorm)}, Width: 128, Queue: 65536,
		Momentum: Momentum{Base: 0.999, Schedule: constantMomentum}}
}

// NewMoCo2 returns the default settings of version 2.
func NewMoCo2() *MoCo {
	s := newMoCo()
	s.second = true
	return s
}

func (s *MoCo) Validate() error {
	if err := validRange("queue", s.Queue, 1, 1<<20); err != nil {
		return err
	}
	return validWidth("width", s.Width)
}

func (s *MoCo) New(data Data, seed uint64) (Model, error) {
	m := &moco{twoViews: twoViews{base: newBase(s.Encoder, data, seed, 0)}, settings: *s}
	return m, m.materialise(m)
}

type moco struct {
	twoViews
	settings MoCo
}

func (m *moco) Paced() bool { return m.settings.Momentum.paced() }

// head adds codes, and unit vectors computed from codes.
func (m *moco) head(g *nn.Graph, images *gorgonia.Node, prefix string) (codes, unit *gorgonia.Node, err error) {
	if codes, err = m.encoder.Value.Encode(g, images, prefix+"encoder"); err != nil {
		return nil, nil, err
	}
	h := codes
	if m.settings.second {
		if h, err = nn.DenseFanIn(g, h, prefix+"head/dense1", codes.Shape()[1], true); err != nil {
			return nil, nil, err
		}
		if h, err = graph.Activate(h, graph.ReLU); err != nil {
			return nil, nil, err
		}
	}
	if h, err = nn.DenseFanIn(g, h, prefix+"head/out", m.settings.Width, true); err != nil {
		return nil, nil, err
	}
	unit, err = graph.NormaliseRows(h)
	return codes, unit, err
}

func (m *moco) Build(g *nn.Graph, _ Objective, n, _ int) (*Program, error) {
	if n > m.settings.Queue {
		return nil, fmt.Errorf("a batch of %d images does not fit in a queue of %d keys", n, m.settings.Queue)
	}
	_, views, err := m.inputs(g, n)
	if err != nil {
		return nil, err
	}
	codes, queries, err := m.head(g, views[0], "")
	if err != nil {
		return nil, err
	}
	_, keys, err := m.head(g.Targets(targetPrefix), views[1], targetPrefix)
	if err != nil {
		return nil, err
	}
	queue, err := g.State("queue/keys", tensor.Shape{m.settings.Width, m.settings.Queue}, unitColumns)
	if err != nil {
		return nil, err
	}
	next, err := g.State("queue/next", tensor.Shape{1}, nn.Zeros)
	if err != nil {
		return nil, err
	}
	p, err := m.program(views, codes, codes, &losses.Views{Queries: queries, Keys: keys, Negatives: queue})
	if err != nil {
		return nil, err
	}
	p.Targets, p.Queue = m.emaTargets(g, m.settings.Momentum), &Queue{Keys: keys, Columns: queue, Next: next}
	return p, nil
}

// unitColumns samples columns uniformly from the unit sphere.
func unitColumns(r *rng.Stream, shape tensor.Shape, values []float32) {
	r.Normals(values)
	columns := shape[1]
	for c := range columns {
		var square float64
		for i := c; i < len(values); i += columns {
			square += float64(values[i]) * float64(values[i])
		}
		for i := c; i < len(values); i += columns {
			values[i] = float32(float64(values[i]) / math.Max(math.Sqrt(square), 1e-12))
		}
	}
}
