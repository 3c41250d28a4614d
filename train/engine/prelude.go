package engine

import (
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/models"
)

type prelude struct {
	*models.Prelude
	early *models.Early
}

// newPrelude compiles the passes of a prelude; nil without a prelude.
func (l *plan) newPrelude(m *models.Prelude) (*prelude, error) {
	if m == nil {
		return nil, nil
	}
	early, err := m.Compile()
	if err != nil {
		return nil, err
	}
	for _, pass := range early.Machines() {
		if err := l.setDevice(pass, machine.Kept{}); err != nil {
			return nil, err
		}
	}
	return &prelude{m, early}, nil
}

// begin makes the decisions of a step, after its inputs are set. of is the number of steps in the epoch.
func (l *Loop) begin(o *objective, p *program, of int) error {
	if p.prelude == nil {
		return nil
	}
	for _, pass := range p.prelude.Passes {
		for _, m := range pass.Graph.Masks() {
			m.Fill(p.dropout)
		}
	}
	e := p.prelude.early
	e.Updates, e.Restart = l.at.updates, false
	e.Progress = (float64(l.at.epoch) + float64(l.at.inEpoch)/float64(of)) / float64(l.settings.Epochs)
	if err := p.prelude.Decide(e); err != nil {
		return err
	}
	if e.Restart {
		if err := l.settle(); err != nil {
			return err
		}
		forget(o.optimizer)
	}
	return nil
}

func forget(o Optimizer) {
	steps, tensors := o.State()
	*steps = 0
	for _, t := range tensors {
		clear(t.Value)
	}
}
