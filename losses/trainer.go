package losses

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph/nn"
)

// Trainer collects what losses ask of whoever runs their graph, who must serve it.
type Trainer struct {
	Graph          *nn.Graph  // takes inputs and networks
	Discriminators *nn.Params // takes the parameters of discriminators; nil: there can be none

	Schedules   []Schedule  // set before each step
	Adversaries []Adversary // trained after each step
	Notes       []string    // printed when a run starts, each a sentence
}

// Requests returns what a loss of a name asks through. The name is part of those of its
// inputs and networks.
func (t *Trainer) Requests(loss string) *Requests { return &Requests{t, loss} }

// Requests are what a loss can ask of a [Trainer].
type Requests struct {
	trainer *Trainer
	name    string
}

// Name returns the name of the loss among the parts of the objective.
func (r *Requests) Name() string {
	if r == nil {
		return ""
	}
	return r.name
}

// graph returns where something can be added.
func (r *Requests) graph(what string) (*nn.Graph, error) {
	if r == nil || r.trainer == nil || r.trainer.Graph == nil {
		return nil, missing("a place for " + what)
	}
	return r.trainer.Graph, nil
}

// Input adds an input of float32 zeros, which the loss can fill ([nn.Data]).
func (r *Requests) Input(name string, shape ...int) (*gorgonia.Node, error) {
	g, err := r.graph("the " + name)
	if err != nil {
		return nil, err
	}
	return g.Input("losses/"+r.name+"/"+name, shape...)
}

// Schedule adds an input of shape (1) that is set to at(step) before each step of
// training; the first is step 0.
func (r *Requests) Schedule(name string, at func(step int) float64) (*gorgonia.Node, error) {
	n, err := r.Input(name, 1)
	if err != nil {
		return nil, err
	}
	r.trainer.Schedules = append(r.trainer.Schedules, Schedule{Node: n, At: at})
	return n, nil
}

// Discriminator adds a discriminator of codes [rows, columns] and returns its logits, [rows, 1] or
// [rows, 2]; see [DensityRatio]. It is trained to tell codes from permuted codes, after each step;
// with active, [rows, columns], a column is permuted among the rows in which that is above 0.
func (r *Requests) Discriminator(d *Discriminator, codes, active *gorgonia.Node) (*gorgonia.Node, error) {
	g, err := r.graph("a discriminator")
	if err != nil {
		return nil, err
	}
	if r.trainer.Discriminators == nil {
		return nil, missing("a place for a discriminator")
	}
	a := Adversary{Name: r.name, Codes: codes, Active: active, Discriminator: d}
	logits, err := d.Build(g.Beside(r.trainer.Discriminators), codes, a.Name)
	if err != nil {
		return nil, fmt.Errorf("discriminator: %w", err)
	}
	r.trainer.Adversaries = append(r.trainer.Adversaries, a)
	return logits, nil
}

// Note leaves a sentence for whoever starts a run.
func (r *Requests) Note(note string) {
	if r != nil && r.trainer != nil {
		r.trainer.Notes = append(r.trainer.Notes, note)
	}
}

// Schedule is an input of one number that changes with the steps of training.
type Schedule struct {
	Node *gorgonia.Node         // of shape (1)
	At   func(step int) float64 // the number in a step; the first is step 0
}

// Adversary is a discriminator that judges codes of a graph. It is trained in a
// program of its own, after each step of the graph's: on the codes of that step
// (which Renew computes again with the new parameters) and on permuted codes ([Permute],
// [Discrimination]): those of that step, or with SecondBatch those of another batch, computed
// with the new parameters.
type Adversary struct {
	Name          string         // of its parameters; one per loss
	Codes         *gorgonia.Node // [batch, columns]
	Active        *gorgonia.Node // [batch, columns], or nil
	Discriminator *Discriminator
}
