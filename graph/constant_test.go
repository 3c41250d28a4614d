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

// constant returns a constant that belongs to no graph, with n equal elements except the middle one.
func constant(n int, middle float64) *gorgonia.Node {
	x := make([]float64, n)
	x[n/2] = middle
	return gorgonia.NewConstant(tensor.New(tensor.WithShape(1, n), tensor.WithBacking(x)))
}

// Gorgonia gives both constants the same name, because it prints only the first and last elements.
func TestConstantsOfOneName(t *testing.T) {
	a, b := constant(1000, 3), constant(1000, 4)
	if a.Name() != b.Name() {
		t.Fatalf("the constants are called %q and %q", a.Name(), b.Name())
	}
	g := gorgonia.NewGraph()
	zero := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithShape(1, 1000), gorgonia.WithName("zero"), gorgonia.WithInit(gorgonia.Zeroes()))
	build := gradcheck.Must(t)
	for _, x := range []struct {
		of   *gorgonia.Node
		want float64
	}{{a, 9}, {b, 16}, {a, 9}, {build(graph.WeightedSum([]float64{1, 2}, a, b)), 121}} {
		n := build(distance(zero, x.of))
		m, err := machine.New(n.Graph(), n)
		if err == nil {
			err = m.RunAll()
		}
		must.OK(t, err)
		if got := m.Value(n).Data(); got != x.want {
			t.Errorf("distance of the constant from 0: %v, want %v", got, x.want)
		}
	}
	if first, again := build(distance(zero, a)), build(distance(zero, a)); first != again {
		t.Error("one operation on one constant has two nodes")
	}
}

func TestConstantErrors(t *testing.T) {
	g := gorgonia.NewGraph()
	x := gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithShape(1, 4), gorgonia.WithName("x"))
	whole := gorgonia.NewConstant(tensor.New(tensor.WithShape(1, 4), tensor.WithBacking([]int{1, 2, 3, 4})))
	for want, inputs := range map[string][]*gorgonia.Node{
		"want inputs of one element type": {x, constant(4, 1)},
		"float32 or float64 elements":     {x, whole},
		"points of one shape":             {constant(4, 1), constant(5, 1)},
		"input 1 is nil":                  {x, nil},
	} {
		must.ErrorOf(distance(inputs[0], inputs[1]))(t, want)
	}
}

// Our operations work among Gorgonia's operations. Each machine passes gradients from one kind to the other.
func TestAmongStockOperations(t *testing.T) {
	gradcheck.Check(t, gradcheck.Case{
		Name:   "stock operations around ours",
		Inputs: []gradcheck.Input{gradcheck.In(4, 3), gradcheck.In(3, 2), {Shape: []int{4, 2}, Constant: true}},
		Build: func(n nodes) (*gorgonia.Node, error) {
			node := gradcheck.Must(t)
			h := node(gorgonia.Tanh(node(gorgonia.Mul(n[0], n[1]))))
			a, b := node(distance(h, node(graph.Scale(-0.5, h)))), node(distance(h, n[2]))
			return gorgonia.Mul(a, node(gorgonia.Square(b)))
		},
	})
}

// A LispMachine that meets a gradient's node returns an error.
func TestNoSecondDerivatives(t *testing.T) {
	g := gorgonia.NewGraph()
	x := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithShape(2, 2), gorgonia.WithName("x"), gorgonia.WithInit(gorgonia.Ones()))
	loss := gradcheck.Must(t)(distance(x, constantOf(2, 2)))
	grads := must.Get(gorgonia.Grad(loss, x))(t)
	total := gorgonia.Must(gorgonia.Sum(grads[0]))
	must.Error(t, gorgonia.NewLispMachine(g.SubgraphRoots(total)).RunAll(), "second derivatives are not available")
}

func constantOf(shape ...int) *gorgonia.Node {
	return gorgonia.NewConstant(tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(shape...)))
}
