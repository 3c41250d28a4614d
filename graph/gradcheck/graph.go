package gradcheck

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// subject is a case for one element type. The loss is the inner product of the node with a random cotangent, and
// subject has its gradients.
type subject struct {
	inputs    []*gorgonia.Node
	backing   []any // slices with the values of the inputs
	out, loss *gorgonia.Node
	gradients gorgonia.Nodes
}

// form selects the form of a case's graph.
type form struct {
	gradients bool // the graph has gradient nodes
	constants bool // the constant inputs are constants without a graph
}

func newGraph[T float32 | float64](c Case, values [][]float64, f form) (*subject, error) {
	e, g := gorgonia.NewGraph(), &subject{}
	for i, in := range c.Inputs {
		n, backing := input[T](e, fmt.Sprintf("input %d", i), in.Shape, values[i])
		if in.Constant && f.constants {
			n = gorgonia.NewConstant(n.Value())
		}
		g.inputs, g.backing = append(g.inputs, n), append(g.backing, backing)
	}
	var err error
	if g.out, err = c.Build(g.inputs); err != nil {
		return nil, err
	}
	shape := g.out.Shape()
	cotangent := make([]float64, shape.TotalSize())
	r := rng.New(3, "gradcheck/"+c.Name)
	for i := range cotangent {
		cotangent[i] = float64(float32(r.NormFloat64()))
	}
	with, _ := input[T](e, "cotangent", shape, cotangent)
	if g.loss, err = innerProduct(g.out, with); err != nil || !f.gradients {
		return g, err
	}
	return g, g.differentiate(c)
}

func (g *subject) differentiate(c Case) (err error) {
	var wrt gorgonia.Nodes
	for _, i := range c.varied() {
		wrt = append(wrt, g.inputs[i])
	}
	if g.gradients, err = gorgonia.Grad(g.loss, wrt...); err != nil {
		return err
	}
	for k, n := range g.gradients {
		if !n.Shape().Eq(wrt[k].Shape()) {
			return fmt.Errorf("the gradient of %s has shape %v, want %v", wrt[k].Name(), n.Shape(), wrt[k].Shape())
		}
	}
	return nil
}

// input adds an input with values to a graph. It also returns the slice with the values.
func input[T float32 | float64](e *gorgonia.ExprGraph, name string, shape tensor.Shape, values []float64) (*gorgonia.Node, any) {
	backing := numeric.Convert[T](values)
	dt := tensor.Float64
	if _, ok := any(backing).([]float32); ok {
		dt = tensor.Float32
	}
	if shape.IsScalar() {
		t := tensor.New(tensor.WithShape(), tensor.WithBacking(backing))
		return gorgonia.NewScalar(e, dt, gorgonia.WithName(name), gorgonia.WithValue(t)), backing
	}
	t := tensor.New(tensor.WithShape(shape.Clone()...), tensor.WithBacking(backing))
	return gorgonia.NewTensor(e, dt, shape.Dims(), gorgonia.WithShape(shape...), gorgonia.WithName(name),
		gorgonia.WithValue(t)), backing
}

// innerProduct returns the scalar sum_i a_i b_i.
func innerProduct(a, b *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name:  "inner product",
		Shape: func([]tensor.Shape) (tensor.Shape, error) { return tensor.ScalarShape(), nil },
		New: func([]tensor.Shape, tensor.Shape, tensor.Dtype) (graph.Func, error) {
			return product{}, nil
		},
		Diff: []bool{true, false},
	}, a, b)
}

type product struct{}

func (product) Forward(in []graph.Array, out graph.Array) error {
	sum := 0.0
	for i, x := range in[0].F64 {
		sum += x * in[1].F64[i]
	}
	for i, x := range in[0].F32 {
		sum += float64(x) * float64(in[1].F32[i])
	}
	if out.F64 != nil {
		out.F64[0] = sum
	} else {
		out.F32[0] = float32(sum)
	}
	return nil
}

func (product) Backward(in []graph.Array, _, dout graph.Array, din []graph.Array, _ []bool) error {
	for i, x := range in[1].F64 {
		din[0].F64[i] = x * dout.F64[0]
	}
	for i, x := range in[1].F32 {
		din[0].F32[i] = x * dout.F32[0]
	}
	return nil
}

type runner struct{ machine *machine.Machine }

func newMachine(g *subject, gradients ...*gorgonia.Node) (*runner, error) {
	m, err := machine.New(g.loss.Graph(), append([]*gorgonia.Node{g.loss, g.out}, gradients...)...)
	return &runner{m}, err
}

// prepare returns a case's graph, and the machine that computes its loss, node and gradients.
func prepare[T float32 | float64](c Case, values [][]float64, f form) (g *subject, m *runner, err error) {
	if g, err = newGraph[T](c, values, f); err == nil {
		m, err = newMachine(g, g.gradients...)
	}
	return g, m, err
}

func runConstants[T float32 | float64](c Case, values [][]float64) (outcome, error) {
	g, m, err := prepare[T](c, values, form{gradients: true, constants: true})
	if err != nil {
		return outcome{}, err
	}
	return m.run(g)
}

func (m *runner) run(g *subject) (outcome, error) {
	if err := m.machine.RunAll(); err != nil {
		return outcome{}, err
	}
	o := outcome{value: elementsOf(m.machine.Value(g.out)), loss: elementsOf(m.machine.Value(g.loss))[0]}
	for _, n := range g.gradients {
		o.gradients = append(o.gradients, elementsOf(m.machine.Value(n)))
	}
	return o, nil
}

func runOn[T float32 | float64](m Machine, c Case, values [][]float64) (outcome, error) {
	g, err := newGraph[T](c, values, form{gradients: m == Tape})
	if err != nil {
		return outcome{}, err
	}
	if m == Lisp {
		return runLisp(c, g)
	}
	return runTape(g)
}

func runTape(g *subject) (outcome, error) {
	read := make([]gorgonia.Value, 2+len(g.gradients))
	for i, n := range append(gorgonia.Nodes{g.out, g.loss}, g.gradients...) {
		gorgonia.Read(n, &read[i])
	}
	m := gorgonia.NewTapeMachine(g.loss.Graph())
	defer m.Close()
	if err := m.RunAll(); err != nil {
		return outcome{}, err
	}
	o := outcome{value: elementsOf(read[0]), loss: elementsOf(read[1])[0]}
	for _, v := range read[2:] {
		o.gradients = append(o.gradients, elementsOf(v))
	}
	return o, nil
}

// runLisp runs a graph without gradient nodes, because the machine stores each gradient together with its input. The
// machine rejects unused matrices, so it only gets the graph of the loss.
func runLisp(c Case, g *subject) (outcome, error) {
	m := gorgonia.NewLispMachine(g.loss.Graph().SubgraphRoots(g.loss))
	defer m.Close()
	if err := m.RunAll(); err != nil {
		return outcome{}, err
	}
	o := outcome{value: elementsOf(g.out.Value()), loss: elementsOf(g.loss.Value())[0]}
	for _, i := range c.varied() {
		v, err := g.inputs[i].Grad()
		if err != nil {
			return outcome{}, err
		}
		o.gradients = append(o.gradients, elementsOf(v))
	}
	return o, nil
}

// elementsOf copies the elements of a value in row-major order.
func elementsOf(v gorgonia.Value) []float64 {
	switch v := v.(type) {
	case *gorgonia.F32:
		return []float64{float64(*v)}
	case *gorgonia.F64:
		return []float64{float64(*v)}
	case *tensor.Dense:
		var r []float64
		for it := v.Iterator(); ; {
			i, err := it.Next()
			if err != nil {
				return r // the iterator returns an error at the end
			}
			if v.Dtype() == tensor.Float32 {
				r = append(r, float64(v.Float32s()[i]))
			} else {
				r = append(r, v.Float64s()[i])
			}
		}
	}
	return nil
}
