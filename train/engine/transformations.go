package engine

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/losses"
)

// transformationInputs are the inputs of a program for the transformations of images within labelled groups.
type transformationInputs struct {
	factors   []factor.Factor
	rotations int
	inputs    []transformationInput
	nodes     map[int]*gorgonia.Node // by the first of the transformation's columns in a batch's moves
}

// offer lists the inputs that losses may ask for, for rows of codes.
func (m *transformationInputs) offer(g *nn.Graph, rows int) *losses.Transformations {
	input := func(column, width int) (*gorgonia.Node, error) {
		if n := m.nodes[column]; n != nil {
			return n, nil
		}
		n, err := g.Input(fmt.Sprintf("transformations/%d", column), rows, width)
		if err != nil {
			return nil, err
		}
		in := transformationInput{dst: nn.Data(n)}
		for c := range width {
			in.columns = append(in.columns, column+c)
		}
		m.inputs, m.nodes[column] = append(m.inputs, in), n
		return n, nil
	}
	return &losses.Transformations{
		Factors: m.factors, Rotations: m.rotations,
		Angles:   func(factor int) (*gorgonia.Node, error) { return input(factor, 1) },
		Rotation: func(r int) (*gorgonia.Node, error) { return input(len(m.factors)+4*r, 4) },
	}
}
