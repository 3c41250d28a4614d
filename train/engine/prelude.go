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
	if err := p.decide(l.at.updates, l.progress(l.at.epoch, l.at.inEpoch, of)); err != nil {
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

// progress returns the fraction of training before a step.
func (l *Loop) progress(epoch, inEpoch, of int) float64 {
	return (float64(epoch) + float64(inEpoch)/float64(of)) / float64(l.settings.Epochs)
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
	l, of := v.loop, v.loop.EpochSteps()
	return p.decide(max(0, l.at.updates-1), l.progress(max(0, l.at.epoch-1), of-1, of))
}

func forget(o Optimizer) {
	steps, tensors := o.State()
	*steps = 0
	for _, t := range tensors {
		clear(t.Value)
	}
}
