package engine

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/losses"
)

// offerMoves lists the inputs that losses may ask for: transformations of images within labelled groups, for
// rows of codes.
func (in *inputs) offerMoves(g *nn.Graph, rows int, factors []factor.Factor, rotations int) *losses.Transformations {
	nodes := map[int]*gorgonia.Node{} // by the first of the transformation's columns in a batch's moves
	input := func(column, width int) (*gorgonia.Node, error) {
		if n := nodes[column]; n != nil {
			return n, nil
		}
		n, err := g.Input(fmt.Sprintf("transformations/%d", column), rows, width)
		if err != nil {
			return nil, err
		}
		x := transformationInput{dst: nn.Data(n)}
		for c := range width {
			x.columns = append(x.columns, column+c)
		}
		in.transformations, nodes[column] = append(in.transformations, x), n
		return n, nil
	}
	return &losses.Transformations{
		Factors: factors, Rotations: rotations,
		Angles:   func(factor int) (*gorgonia.Node, error) { return input(factor, 1) },
		Rotation: func(r int) (*gorgonia.Node, error) { return input(len(factors)+4*r, 4) },
	}
}
