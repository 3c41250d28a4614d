package graph_test

import (
	"reflect"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/layer"
	"github.com/unravel-ml/unravel/internal/must"
)

// A node knows the name and the parameters of its operation. Inputs and Gorgonia's operations have none.
func TestOperation(t *testing.T) {
	g := gorgonia.NewGraph()
	matrix := func(name string, rows, columns int) *gorgonia.Node {
		return gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithShape(rows, columns), gorgonia.WithName(name))
	}
	x := matrix("x", 2, 3)
	w, b := matrix("w", 3, 4), gorgonia.NewVector(g, tensor.Float32, gorgonia.WithShape(4), gorgonia.WithName("b"))
	dense := must.Get(layer.Dense(x, w, b, graph.Tanh))(t)
	rows := must.Get(graph.Reshape(dense, 4, 2))(t)
	stock := must.Get(gorgonia.Tanh(rows))(t)
	for _, c := range []struct {
		node       *gorgonia.Node
		name       string
		attributes map[string]any
	}{
		{dense, "dense", map[string]any{"activation": "tanh"}},
		{rows, "reshape", map[string]any{"shape": []int{4, 2}}},
		{x, "", nil},
		{stock, "", nil},
	} {
		name, attributes, ok := graph.Operation(c.node)
		if name != c.name || ok != (c.name != "") || !reflect.DeepEqual(attributes, c.attributes) {
			t.Errorf("%v: got %q %v %v, want %q %v", c.node, name, attributes, ok, c.name, c.attributes)
		}
	}
}
