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

// runPrelude makes the decisions of a step, after its inputs are set. progress is the fraction of training before the
// update.
func (l *Loop) runPrelude(o *objective, p *program, progress float64) error {
	if p.prelude == nil {
		return nil
	}
	if err := p.decide(l.pos.updates, progress); err != nil {
		return err
	}
	if p.prelude.early.Restart {
		if err := l.settle(); err != nil {
			return err
		}
		forget(o.optimizer)
	}
	return nil
}

// decide makes the decisions of a prelude.
func (p *program) decide(updates int, progress float64) error {
	for _, pass := range p.prelude.Passes {
		for _, m := range pass.Graph.Masks() {
			m.Fill(p.dropout)
		}
	}
	e := p.prelude.early
	e.Updates, e.Progress, e.Restart = updates, progress, false
	return p.prelude.Decide(e)
}

// decideAgain makes decisions about images outside training as in the last step of the finished epochs, so they change
// no state of the model.
func (v *Validation) decideAgain(p *program) error {
	if p.prelude == nil {
		return nil
	}
	l := v.loop
	updates := l.epochUpdates(l.EpochSteps())
	return p.decide(max(0, l.pos.updates-1), l.momentOf(max(0, l.pos.epoch-1), updates-1, updates).progress)
}

func forget(o Optimizer) {
	steps, tensors := o.State()
	*steps = 0
	for _, t := range tensors {
		clear(t.Value)
	}
}
