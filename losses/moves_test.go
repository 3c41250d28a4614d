package losses_test

import (
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/losses/logic"
)

// TestLSBDIsASentence checks that the quantity of `forall[mean] i, j, g(i, j): z(j) =[squared] act(g, z(i))` is twice
// LSBD without projection, because the mean squared distance of pairs is twice the variance. The gradients agree too.
func TestLSBDIsASentence(t *testing.T) {
	for _, c := range []struct {
		turn      logic.Turn
		width     int
		transport func(z, moves *gorgonia.Node, m int) (*gorgonia.Node, error)
	}{
		{logic.Turn{Name: "x"}, 2, losses.PlaneTransport},
		{logic.Turn{Name: "x", Space: true}, 3, losses.SpaceTransport},
	} {
		s := must.Get(logic.Parse("forall[mean] i, j, g(i, j): z(j) =[squared] act(g, z(i))"))(t)
		columns := []int{0, 1, 2}[:c.width]
		q, err := logic.Compile(s, logic.Schema{Codes: c.width, SubCodes: map[string][]int{"x": columns}, Turns: []logic.Turn{c.turn}})
		must.OK(t, err)
		const groups, m = 5, 4
		in := []gradcheck.Input{{Shape: []int{groups * m, c.width}}, {Shape: []int{groups * m, c.turn.Columns()}, Lo: -3, Hi: 3, Constant: true}}
		// The difference and its gradients are 0, so the codes are added to compare a value in float32.
		gradcheck.Check(t, gradcheck.Case{Name: "difference", Inputs: in, Floor32: 1, Samples: 6,
			Build: func(in []*gorgonia.Node) (*gorgonia.Node, error) {
				quantity, err := q.NodeOf(logic.Named{}, logic.Inputs{Codes: in[0], Moves: in[1], Group: m})
				if err != nil {
					return nil, err
				}
				moved, err := c.transport(in[0], in[1], m)
				if err != nil {
					return nil, err
				}
				lsbd, err := losses.LSBD(in[0], moved)
				if err != nil {
					return nil, err
				}
				return graph.WeightedSum([]float64{1, -2}, quantity, lsbd)
			},
			Want: func([][]float64) []float64 { return []float64{0} }})
	}
}
