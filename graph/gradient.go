package graph

import (
	"errors"
	"fmt"
	"slices"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Gradient is the operation of a gradient node. The gradient nodes of one operation share a single computation. The
// root node runs it, and the other nodes depend on the root.
type Gradient interface {
	gorgonia.Op

	Input() int      // index of the input for this node's gradient
	Inputs() int     // number of inputs of the differentiated operation
	Root() bool      // this node also computes the gradients of its siblings
	Group() Gradient // the operation of the root

	// DoWanted runs the root, but only for the gradients in want. If want excludes the root's own gradient, the
	// returned value is undefined.
	DoWanted(want []bool, values ...gorgonia.Value) (gorgonia.Value, error)
}

// SymDiff adds the gradient nodes to the graph.
func (f *forward) SymDiff(in gorgonia.Nodes, out, dout *gorgonia.Node) (gorgonia.Nodes, error) {
	p := newPullback(f)
	grads := make(gorgonia.Nodes, len(in))
	var root *gorgonia.Node
	for i := range in {
		if !p.all[i] {
			continue
		}
		var err error
		if root == nil {
			inputs := append(append(append([]*gorgonia.Node{}, in...), out), dout)
			root, err = insert(p.gradient(i, inputs), inputs)
			grads[i] = root
		} else {
			inputs := []*gorgonia.Node{root}
			grads[i], err = insert(p.gradient(i, inputs), inputs)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: gradient of input %d: %w", f.name, i, err)
		}
		if root == grads[i] { // it may already be in the graph
			p = root.Op().(*gradient).pullback
		}
	}
	return grads, nil
}

// pullback is the backward pass that the gradient nodes of one operation share.
type pullback struct {
	op       *forward
	shapes   []tensor.Shape // the operation's inputs, then its result twice: the inputs of the root
	operands operands
	din      []Array
	results  []result
	all      []bool // the inputs that have a gradient
	root     *gradient
}

func newPullback(f *forward) *pullback {
	n := len(f.shapes)
	p := &pullback{op: f, din: make([]Array, n), results: make([]result, n), all: f.DiffWRT(n)}
	p.shapes = append(append(append(p.shapes, f.shapes...), f.shape), f.shape)
	p.operands = newOperands(f.dtype, p.shapes)
	for i, s := range f.shapes {
		p.results[i] = result{shape: s, dtype: f.dtype}
	}
	return p
}

// compute sets the results in want, given the inputs of the operation, its result, and the gradient with respect to the
// result.
func (p *pullback) compute(want []bool, values []gorgonia.Value) error {
	if err := p.operands.read(values); err != nil {
		return err
	}
	if err := p.op.bind(); err != nil {
		return err
	}
	for i := range p.din {
		p.din[i] = Array{Shape: p.op.shapes[i]}
		if want[i] {
			p.results[i].allocate()
			p.din[i] = p.results[i].array
		}
	}
	n := len(p.din)
	a := p.operands.arrays
	return p.op.fn.Backward(a[:n], a[n], a[n+1], p.din, want)
}

func (p *pullback) gradient(input int, in []*gorgonia.Node) *gradient {
	f := p.op
	types := make([]hm.Type, 0, len(in)+1)
	for _, n := range in {
		types = append(types, n.Type())
	}
	g := &gradient{pullback: p, input: input}
	g.identity = identity{
		name:   fmt.Sprintf("gradient %d of %s", input, f.name),
		key:    f.key,
		types:  append(types, f.types[input]),
		shape:  f.shapes[input],
		inputs: in,
	}
	if p.root == nil {
		p.root = g
	}
	return g
}

var errSecond = errors.New("second derivatives are not available; want StopGradient after VJP, and JVP for the gradient of a directional derivative")

// gradient is the Gorgonia operation of a gradient node.
type gradient struct {
	identity
	pullback *pullback
	input    int
}

func (g *gradient) Record() (Recording, bool, error) {
	r, ok, err := g.pullback.op.Record()
	return r, ok && r.Backward != nil, err
}

func (g *gradient) Input() int      { return g.input }
func (g *gradient) Inputs() int     { return len(g.pullback.all) }
func (g *gradient) Root() bool      { return g == g.pullback.root }
func (g *gradient) Group() Gradient { return g.pullback.root }

// Do computes the gradients of all inputs if g is the root. Otherwise it returns the root's result for the input of g.
func (g *gradient) Do(values ...gorgonia.Value) (gorgonia.Value, error) {
	if g.Root() {
		return g.DoWanted(g.pullback.all, values...)
	}
	r := &g.pullback.results[g.input]
	if !r.allocated() {
		return nil, fmt.Errorf("%s: its value was not asked for", g.name)
	}
	return r.value(), nil
}

// DiffWRT reports that a gradient depends on all its inputs. Differentiating it then gives an error instead of a silent
// 0.
func (g *gradient) DiffWRT(inputs int) []bool { return slices.Repeat([]bool{true}, inputs) }

// SymDiff returns an error, because operations have no second derivatives.
func (g *gradient) SymDiff(gorgonia.Nodes, *gorgonia.Node, *gorgonia.Node) (gorgonia.Nodes, error) {
	return nil, fmt.Errorf("%s: %w", g.name, errSecond)
}

func (g *gradient) DoWanted(want []bool, values ...gorgonia.Value) (v gorgonia.Value, err error) {
	p := g.pullback
	defer g.explain(&err, p.op.shapes)
	if err := p.compute(want, values); err != nil {
		return nil, err
	}
	if !want[g.input] {
		return values[len(values)-1], nil
	}
	return p.results[g.input].value(), nil
}
