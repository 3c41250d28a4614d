package losses

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/losses/logic"
)

// turnInput is a transformation of groups with its input.
type turnInput struct {
	logic.Turn
	node func() (*gorgonia.Node, error)
}

// inputs lists the transformations of groups under the names in sentences: circular factors, factors of rotations, and
// rotations without a factor (rotation0 and so on).
func (m *Transformations) inputs() []turnInput {
	var all []turnInput
	r := 0
	space := func(name string) {
		at := r
		all = append(all, turnInput{logic.Turn{Name: name, Space: true}, func() (*gorgonia.Node, error) { return m.Rotation(at) }})
		r++
	}
	for k, f := range m.Factors {
		switch {
		case f.Rotations != nil && r < m.Rotations:
			space(f.Name)
		case f.Kind == factor.Circular:
			all = append(all, turnInput{logic.Turn{Name: f.Name}, func() (*gorgonia.Node, error) { return m.Angles(k) }})
		}
	}
	for r < m.Rotations {
		space(fmt.Sprintf("rotation%d", r))
	}
	return all
}

// turns lists the transformations.
func (m *Transformations) turns() []logic.Turn {
	var all []logic.Turn
	for _, t := range m.inputs() {
		all = append(all, t.Turn)
	}
	return all
}

// moves returns the transformations from a group's first row to each, in the order of turns.
func (m *Transformations) moves() (*gorgonia.Node, error) {
	var nodes gorgonia.Nodes
	for _, t := range m.inputs() {
		n, err := t.node()
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	return graph.ConcatColumns(nodes...)
}
