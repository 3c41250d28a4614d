package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Hook is called while a loop runs. Nil functions are not called. An error ends training, and so does [Loop.Stop].
type Hook struct {
	Name     string // prefix of error messages
	Priority int    // lower values run first; hooks with equal priority run in the order in which they were added

	// The context is the context of Run. It has ended if why is ErrStopped.
	OnStart func(ctx context.Context, l *Loop) error // before the first step of a Run, even if it resumes
	OnStep  StepFunc                                 // after each step
	OnEpoch EpochFunc                                // after each epoch

	// OnEnd is called when Run ends: why is nil, ErrStopped or the error that ended it.
	OnEnd func(ctx context.Context, l *Loop, why error) error

	// NoParams says that OnStep accesses the model only through [Loop.State]. On a GPU the parameters can then stay
	// there. Otherwise they are copied for each call.
	NoParams bool

	// State, if not nil, is a pointer to the hook's state. The loop saves and restores it, as JSON, under Name.
	State any
}

// StepFunc is called after a step.
type StepFunc func(ctx context.Context, l *Loop, r *StepReport) error

// EpochFunc is called after an epoch.
type EpochFunc func(ctx context.Context, l *Loop, r *EpochReport) error

// StepReport describes a finished step, which is one batch. It is valid until the next step.
type StepReport struct {
	Epoch, Step  int // the current epoch, and the step, from 1
	InEpoch, Of  int // the step within the epoch, and the number of steps of the epoch
	Objective    string
	Images       int
	Names        []string  // "loss", then the names of the parts
	Values       []float64 // weighted sum, then the parts without weights
	Accumulating bool      // the parameters were not updated, because gradients are accumulated over more batches
	GradientNorm float64   // norm of the gradient for the update or, while Accumulating, for the batch
	Rate         float64   // learning-rate multiplier
}

// EpochReport describes a finished epoch.
type EpochReport struct {
	Epoch, Of, Step int
	Images          int
	Seconds         float64
	Losses          []ObjectiveLoss
}

// ObjectiveLoss holds the losses of an objective. In an EpochReport they are means over the epoch.
type ObjectiveLoss struct {
	Objective string
	Names     []string // "loss", then the names of the parts
	Values    []float64
}

// EverySteps returns a function for [Hook.OnStep] that calls f after every n-th step of training.
func EverySteps(n int, f StepFunc) StepFunc {
	return func(ctx context.Context, l *Loop, r *StepReport) error {
		if n < 1 || r.Step%n != 0 {
			return nil
		}
		return f(ctx, l, r)
	}
}

// EveryEpochs returns a function for [Hook.OnEpoch] that calls f after every n-th epoch of training.
func EveryEpochs(n int, f EpochFunc) EpochFunc {
	return func(ctx context.Context, l *Loop, r *EpochReport) error {
		if n < 1 || r.Epoch%n != 0 {
			return nil
		}
		return f(ctx, l, r)
	}
}

// EveryImages returns a function for [Hook.OnStep] that calls f after the step that completes another n images of
// training. If epochs are cut short (Settings.EpochSteps), an earlier epoch counts as [Loop.EpochImages].
func EveryImages(n int, f StepFunc) StepFunc {
	return func(ctx context.Context, l *Loop, r *StepReport) error {
		counted := (r.Epoch-1)*l.EpochImages() + l.pos.images
		if n < 1 || counted/n == (counted-r.Images)/n {
			return nil
		}
		return f(ctx, l, r)
	}
}

// AddHook adds hooks.
func (l *Loop) AddHook(hooks ...Hook) {
	l.hooks = append(l.hooks, hooks...)
	slices.SortStableFunc(l.hooks, func(a, b Hook) int { return cmp.Compare(a.Priority, b.Priority) })
}

func (l *Loop) callStart(ctx context.Context) error {
	if err := l.settle(); err != nil {
		return err
	}
	for _, h := range l.hooks {
		if h.OnStart == nil {
			continue
		}
		if err := h.OnStart(ctx, l); err != nil {
			return h.wrap(err)
		}
	}
	return nil
}

func (l *Loop) callStep(ctx context.Context, r *StepReport) error {
	for i := range l.hooks {
		if h := &l.hooks[i]; h.OnStep != nil {
			if !h.NoParams {
				if err := l.settle(); err != nil {
					return err
				}
			}
			if err := h.OnStep(ctx, l, r); err != nil {
				return h.wrap(err)
			}
		}
	}
	return nil
}

func (l *Loop) callEpoch(ctx context.Context, r *EpochReport) error {
	if err := l.settle(); err != nil {
		return err
	}
	for i := range l.hooks {
		if h := &l.hooks[i]; h.OnEpoch != nil {
			if err := h.OnEpoch(ctx, l, r); err != nil {
				return h.wrap(err)
			}
		}
	}
	return nil
}

// callEnd calls OnEnd of all hooks. An error of a hook replaces the reason, unless the reason is an error itself.
func (l *Loop) callEnd(ctx context.Context, why error) error {
	if err := l.settle(); err != nil && why == nil {
		why = err
	}
	result := why
	for _, h := range l.hooks {
		if h.OnEnd == nil {
			continue
		}
		if err := h.OnEnd(ctx, l, why); err != nil && (result == nil || errors.Is(result, ErrStopped)) {
			result = h.wrap(err)
		}
	}
	return result
}

func (h *Hook) wrap(err error) error {
	if h.Name == "" {
		return err
	}
	return fmt.Errorf("%s: %w", h.Name, err)
}

func (l *Loop) hookStates() (map[string]json.RawMessage, error) {
	var states map[string]json.RawMessage
	for _, h := range l.hooks {
		if h.State == nil {
			continue
		}
		text, err := json.Marshal(h.State)
		if err != nil {
			return nil, fmt.Errorf("the state of hook %q: %w", h.Name, err)
		}
		if states == nil {
			states = map[string]json.RawMessage{}
		}
		if states[h.Name] != nil {
			return nil, fmt.Errorf("two hooks with a state are called %q; want different names", h.Name)
		}
		states[h.Name] = text
	}
	return states, nil
}

// restoreHooks restores the states of the hooks; a new hook keeps its state.
func (l *Loop) restoreHooks(states map[string]json.RawMessage) error {
	for _, h := range l.hooks {
		if text := states[h.Name]; h.State != nil && text != nil {
			if err := json.Unmarshal(text, h.State); err != nil {
				return fmt.Errorf("the state of hook %q: %w", h.Name, err)
			}
		}
	}
	return nil
}
