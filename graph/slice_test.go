package graph_test

import (
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/gradcheck"
)

func TestSliceRows(t *testing.T) {
	gradcheck.CheckAll(t, []gradcheck.Case{{Name: "slice rows", Inputs: []gradcheck.Input{gradcheck.In(5, 2, 3)},
		Build: func(n nodes) (*gorgonia.Node, error) { return graph.SliceRows(n[0], 1, 3) },
		Want:  func(in [][]float64) []float64 { return in[0][6:18] }}})
}
