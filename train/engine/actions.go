package engine

import (
	"errors"
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/nn"
)

// actionInput has the actions between consecutive images of labelled groups: one for the model, one for all losses.
type actionInput struct {
	count       int // number of actions
	model, loss *gorgonia.Node
}

// newActions returns the inputs for actions, or nil if the supervision has none; model is the model's input, or nil.
func (l *plan) newActions(model *gorgonia.Node) *actionInput {
	if len(l.split.Actions) == 0 {
		return nil
	}
	return &actionInput{count: len(l.split.Actions), model: model}
}

// offer returns a function that creates the input for losses, with the given number of rows.
func (a *actionInput) offer(g *nn.Graph, rows int) func() (*gorgonia.Node, error) {
	return func() (*gorgonia.Node, error) {
		var err error
		if a.loss == nil {
			a.loss, err = g.Input("labels/actions", rows, a.count)
		}
		return a.loss, err
	}
}

// fill writes the actions of a batch, and repeats them for a second view.
func (a *actionInput) fill(b supervision.Batch) {
	for _, n := range []*gorgonia.Node{a.model, a.loss} {
		if n == nil {
			continue
		}
		data := nn.Data(n)
		clear(data)
		for row := range len(data) / a.count {
			if action := b.Actions[row%len(b.Actions)]; action >= 0 {
				data[row*a.count+int(action)] = 1
			}
		}
	}
}

var errNoTransformations = &Error{"supervision",
	errors.New("the model needs the transformations within groups, which this supervision does not provide; want, for example, supervision: {pairs: {count: 768}}")}

// suitsActions returns an error if the supervision does not have the number of actions that the model needs.
func (l *plan) suitsActions(n *gorgonia.Node) error {
	switch {
	case n == nil:
		return nil
	case len(l.split.Actions) == 0:
		return &Error{"supervision",
			errors.New("the model learns from actions between images, and the supervision has none; want one with actions")}
	case n.Shape()[1] != len(l.split.Actions):
		return fmt.Errorf("the model takes %d actions, and the supervision has %d; want a model made for them (models.Data.Actions)", n.Shape()[1], len(l.split.Actions))
	}
	return nil
}
