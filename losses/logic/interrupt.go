package logic

import (
	"errors"
	"sync/atomic"
)

// interruption ends a computation from outside.
type interruption struct {
	ask  func() error // nil: it never ends
	over atomic.Bool
}

var errEnded = errors.New("the computation was ended")

// interruptBy lets a function end the engine's computation.
func (e *engine) interruptBy(ask func() error) {
	if ask == nil {
		return
	}
	e.stop.ask = ask
	e.main.interruptSolvers()
}

// ended reports whether the computation is to end.
func (e *engine) ended() bool {
	switch {
	case e.stop.ask == nil:
		return false
	case e.stop.over.Load():
		return true
	case e.stop.ask() == nil:
		return false
	}
	e.stop.over.Store(true)
	return true
}

// interrupt is ended as an error, for the solvers of inner problems.
func (e *engine) interrupt() error {
	if e.ended() {
		return errEnded
	}
	return nil
}

// interruptSolvers lets the solvers of an evaluator ask whether the computation is to end.
func (m *evaluator) interruptSolvers() {
	if m.engine.stop.ask == nil {
		return
	}
	for i := range m.optima {
		m.optima[i].ball.Interrupt, m.optima[i].median.Interrupt = m.engine.interrupt, m.engine.interrupt
	}
	for i := range m.fits {
		s := &m.fits[i]
		s.regression.Interrupt, s.ball.Interrupt, s.median.Interrupt = m.engine.interrupt, m.engine.interrupt, m.engine.interrupt
	}
}
