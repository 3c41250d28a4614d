package graph_test

import (
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/internal/must"
)

// An operation without a tangent gives an error that names operations with one.
func TestTangentErrors(t *testing.T) {
	node := gradcheck.Must(t)
	g := gorgonia.NewGraph()
	x := gradcheck.Node(g, tensor.Float64, "x", 3, 2)
	other := gradcheck.Node(g, tensor.Float64, "other", 3, 2)
	y := node(graph.Activate(x, graph.Tanh))
	stopped := node(graph.Scale(2, node(graph.StopGradient(x))))
	foreign := node(gorgonia.Square(x))
	unit := node(graph.NormaliseRows(x))
	elsewhere := gradcheck.Node(gorgonia.NewGraph(), tensor.Float64, "x", 3, 2)
	narrow := gradcheck.Node(g, tensor.Float64, "narrow", 3, 1)
	for _, c := range []struct {
		name string
		do   func() (*gorgonia.Node, error)
		want string
	}{
		{"jvp of another input", func() (*gorgonia.Node, error) { return graph.JVP(y, other, x) }, "does not depend on"},
		{"vjp of another input", func() (*gorgonia.Node, error) { return graph.VJP(y, y, other) }, "does not depend on"},
		{"jvp behind a stop", func() (*gorgonia.Node, error) { return graph.JVP(stopped, x, other) }, "only through StopGradient"},
		{"vjp behind a stop", func() (*gorgonia.Node, error) { return graph.VJP(stopped, y, x) }, "only through StopGradient"},
		{"jvp of another graph", func() (*gorgonia.Node, error) { return graph.JVP(y, elsewhere, x) }, "both of one graph"},
		{"vjp of nothing", func() (*gorgonia.Node, error) { return graph.VJP(nil, y, x) }, "both of one graph"},
		{"jvp along another shape", func() (*gorgonia.Node, error) { return graph.JVP(y, x, narrow) }, "want a direction with the input's shape (3, 2)"},
		{"vjp of another shape", func() (*gorgonia.Node, error) { return graph.VJP(y, nil, x) }, "want a cotangent with the result's shape (3, 2)"},
		{"jvp of an operation of Gorgonia", func() (*gorgonia.Node, error) { return graph.JVP(foreign, x, other) }, "has no tangent; want operations of package graph"},
		{"vjp of an operation of Gorgonia", func() (*gorgonia.Node, error) { return graph.VJP(foreign, other, x) }, "operation of Gorgonia"},
		{"jvp without a rule", func() (*gorgonia.Node, error) { return graph.JVP(unit, x, other) }, "normalise rows has no tangent (Spec.Tangent)"},
	} {
		must.ErrorOf(c.do())(t, c.want, c.name)
	}
	along := node(graph.JVP(node(graph.Activate(x, graph.ReLU)), x, other)) // depends on its second input alone
	must.Get(graph.VJP(along, x, other))(t)
}

// A gradient by VJP cannot be differentiated. Behind StopGradient it is a constant.
func TestGradientOfGradient(t *testing.T) {
	node := gradcheck.Must(t)
	g := gorgonia.NewGraph()
	x, dy := gradcheck.Node(g, tensor.Float64, "x", 3, 2), gradcheck.Node(g, tensor.Float64, "dy", 3, 2)
	slope := node(graph.VJP(node(graph.Activate(x, graph.Tanh)), dy, x))
	total := func(n *gorgonia.Node) *gorgonia.Node { return node(gorgonia.Sum(node(gorgonia.HadamardProd(n, x)))) }
	must.ErrorOf(gorgonia.Grad(total(slope), x))(t, "want StopGradient after VJP")
	g = gorgonia.NewGraph()
	x, dy = gradcheck.Node(g, tensor.Float64, "x", 3, 2), gradcheck.Node(g, tensor.Float64, "dy", 3, 2)
	slope = node(graph.VJP(node(graph.Activate(x, graph.Tanh)), dy, x))
	loss := total(node(graph.StopGradient(slope)))
	grads := must.Get(gorgonia.Grad(loss, x))(t)
	m, err := machine.New(g, grads[0], slope)
	if err == nil {
		err = m.RunAll()
	}
	must.OK(t, err)
	got, want := m.Value(grads[0]).Data().([]float64), m.Value(slope).Data().([]float64)
	for i := range want {
		must.Equal(t, got[i], want[i], "element", i, "of the gradient is")
	}
}
