package losses

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph/nn"
)

// Trainer is what losses can ask things of: whoever runs their graph. [Requests] collects
// what they ask for. Losses call the methods of [Input], which name things after the loss.
type Trainer interface {
	// Input adds an input of zeros.
	Input(name string, shape ...int) (*gorgonia.Node, error)

	// Schedule adds an input of shape (1) that is set to at(step) before each step of
	// training; the first is step 0.
	Schedule(name string, at func(step int) float64) (*gorgonia.Node, error)

	// Discriminator adds a discriminator and returns its logits, [rows, 1] or [rows, 2].
	Discriminator(a Adversary) (*gorgonia.Node, error)

	// Note leaves a sentence for whoever starts a run.
	Note(sentence string)
}

// NewInput adds an input of zeros, which the loss can fill ([nn.Data]).
func (in *Input) NewInput(name string, shape ...int) (*gorgonia.Node, error) {
	if in.Trainer == nil {
		return nil, missing("a place for the " + name)
	}
	return in.Trainer.Input("losses/"+in.Name+"/"+name, shape...)
}

// Schedule adds an input of shape (1) that is set to at(step) before each step of
// training; the first is step 0.
func (in *Input) Schedule(name string, at func(step int) float64) (*gorgonia.Node, error) {
	if in.Trainer == nil {
		return nil, missing("a place for the " + name)
	}
	return in.Trainer.Schedule("losses/"+in.Name+"/"+name, at)
}

// Discriminator adds a discriminator of codes [rows, columns] and returns its logits, [rows, 1]
// or [rows, 2]; see [DensityRatio]. It is trained to tell codes from permuted codes, after
// each step; with active, [rows, columns], a column is permuted among the rows in which that is
// above 0.
func (in *Input) Discriminator(d *Discriminator, codes, active *gorgonia.Node) (*gorgonia.Node, error) {
	if in.Trainer == nil {
		return nil, missing("a place for a discriminator")
	}
	return in.Trainer.Discriminator(Adversary{Name: in.Name, Codes: codes, Active: active, Discriminator: d})
}

// Note leaves a sentence for whoever starts a run.
func (in *Input) Note(sentence string) {
	if in.Trainer != nil {
		in.Trainer.Note(sentence)
	}
}

// Requests is a [Trainer] that collects what losses ask for, to be served by whoever runs
// their graph.
type Requests struct {
	Graph          *nn.Graph  // takes inputs and networks
	Discriminators *nn.Params // takes the parameters of discriminators; nil: there can be none

	Schedules   []Schedule  // to be set before each step
	Adversaries []Adversary // to be trained after each step
	Notes       []string    // to be printed when a run starts, each a sentence
}

// Input implements [Trainer].
func (r *Requests) Input(name string, shape ...int) (*gorgonia.Node, error) {
	if r.Graph == nil {
		return nil, missing("a place for the input " + name)
	}
	return r.Graph.Input(name, shape...)
}

// Schedule implements [Trainer].
func (r *Requests) Schedule(name string, at func(step int) float64) (*gorgonia.Node, error) {
	n, err := r.Input(name, 1)
	if err != nil {
		return nil, err
	}
	r.Schedules = append(r.Schedules, Schedule{Node: n, At: at})
	return n, nil
}

// Discriminator implements [Trainer].
func (r *Requests) Discriminator(a Adversary) (*gorgonia.Node, error) {
	if r.Graph == nil || r.Discriminators == nil {
		return nil, missing("a place for a discriminator")
	}
	logits, err := a.Discriminator.Build(r.Graph.Beside(r.Discriminators), a.Codes, a.Name)
	if err != nil {
		return nil, fmt.Errorf("discriminator: %w", err)
	}
	r.Adversaries = append(r.Adversaries, a)
	return logits, nil
}

// Note implements [Trainer].
func (r *Requests) Note(sentence string) { r.Notes = append(r.Notes, sentence) }

// Schedule is an input of one number that changes with the steps of training.
type Schedule struct {
	Node *gorgonia.Node         // of shape (1)
	At   func(step int) float64 // the number in a step; the first is step 0
}

// Adversary is a discriminator of codes of a graph. It is trained in a program of its own,
// after each step: to tell the codes of that step (with Renew recomputed with the updated
// parameters) from permuted codes ([Permute], [Discrimination]) of that step, or, with
// SecondBatch, of another batch encoded with the updated parameters.
type Adversary struct {
	Name          string         // of its parameters; one per loss
	Codes         *gorgonia.Node // [batch, columns]
	Active        *gorgonia.Node // [batch, columns], or nil
	Discriminator *Discriminator
}
