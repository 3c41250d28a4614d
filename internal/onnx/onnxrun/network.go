// Package onnxrun runs neural networks in the ONNX format, in float32, with package kernel.
//
// It supports the operators that Unravel exports and the common operators of image networks from PyTorch, for operator
// sets 9 to 20 (https://onnx.ai/onnx/operators). Results have the same bits for any number of threads.
package onnxrun

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/internal/onnx"
)

// The supported operator sets.
const (
	FirstOpset = 9
	LastOpset  = 20
)

// Network is a network with one input and one output, ready to run. It is not safe for concurrent use.
type Network struct {
	Input  onnx.Value
	Output string

	names  []string // names of values
	fixed  []*value // constants, by value; nil: computed in a run
	input  int
	output int
	steps  []step
}

type step struct {
	node     *onnx.Node
	run      compute
	in       []int // indices of values; -1: omitted
	out      int
	lastUses []int // values that no later step uses
}

// compute computes a node's output from its inputs; an omitted input is nil. It panics with a [failure] for invalid
// inputs.
type compute func(in []*value) *value

// New prepares a network for the output with the given name, or for its only output. It computes all values that do not
// depend on the input.
func New(m *onnx.Model, output string) (*Network, error) {
	if m.Opset < FirstOpset || m.Opset > LastOpset {
		return nil, fmt.Errorf("it has operator set %d; want %d to %d", m.Opset, FirstOpset, LastOpset)
	}
	output, err := chooseOutput(&m.Graph, output)
	if err != nil {
		return nil, err
	}
	p := &planner{graph: &m.Graph, opset: m.Opset, numbers: map[string]int{}, producers: map[string]nodeOutput{}}
	n := &Network{Output: output}
	if n.Input, err = p.define(n); err != nil {
		return nil, err
	}
	order, err := p.order(output)
	if err != nil {
		return nil, err
	}
	if err := p.checkOperators(order); err != nil {
		return nil, err
	}
	for _, o := range order {
		if err := p.add(n, o); err != nil {
			return nil, err
		}
	}
	n.output = p.number(n, output)
	n.planRelease()
	return n, nil
}

func chooseOutput(g *onnx.Graph, name string) (string, error) {
	var names []string
	for _, v := range g.Outputs {
		names = append(names, v.Name)
	}
	switch {
	case len(names) == 0:
		return "", errors.New("it has no output")
	case name == "" && len(names) == 1:
		return names[0], nil
	case name == "":
		return "", fmt.Errorf("it has the outputs %s; choose one of them by --output", quoteNames(names))
	case !slices.Contains(names, name):
		return "", fmt.Errorf("it has no output %q; want one of %s", name, quoteNames(names))
	}
	return name, nil
}

const maxNamed = 12

func quoteNames(names []string) string {
	var list []string
	for _, n := range names {
		list = append(list, strconv.Quote(n))
	}
	return strings.Join(shorten(list, ""), ", ")
}

// shorten returns the first elements of a list, and the number of remaining ones with a suffix.
func shorten(list []string, suffix string) []string {
	if len(list) <= maxNamed {
		return list
	}
	return append(slices.Clone(list[:maxNamed]), fmt.Sprintf("and %d more%s", len(list)-maxNamed, suffix))
}

type planner struct {
	graph     *onnx.Graph
	opset     int
	numbers   map[string]int        // numbers of values, by name
	producers map[string]nodeOutput // by name of the value
}

// nodeOutput identifies an output of a node.
type nodeOutput struct{ node, output int }

func (p *planner) number(n *Network, name string) int {
	i, ok := p.numbers[name]
	if !ok {
		i = len(n.names)
		p.numbers[name] = i
		n.names, n.fixed = append(n.names, name), append(n.fixed, nil)
	}
	return i
}

// define registers the constants, the input and the outputs of nodes, and returns the input.
func (p *planner) define(n *Network) (input onnx.Value, err error) {
	defined := map[string]bool{}
	define := func(name string) error {
		if defined[name] {
			return fmt.Errorf("the value %q is defined twice", name)
		}
		defined[name] = true
		return nil
	}
	for i := range p.graph.Weights {
		w := &p.graph.Weights[i]
		if err := define(w.Name); err != nil {
			return input, err
		}
		if _, err := checkedCount(w.Shape); err != nil {
			return input, fmt.Errorf("initialiser %q: %w", w.Name, err)
		}
		n.fixed[p.number(n, w.Name)] = tensorValue(w)
	}
	var inputs []string
	for _, v := range p.graph.Inputs {
		if !defined[v.Name] { // in early versions of the format, initialisers were also inputs
			inputs, input = append(inputs, v.Name), v
		}
	}
	switch {
	case len(inputs) == 0:
		return input, errors.New("it has no input")
	case len(inputs) > 1:
		return input, fmt.Errorf("it has %d inputs, %s; want one, the images", len(inputs), quoteNames(inputs))
	case input.Type != 0:
		return input, fmt.Errorf("its input %q has element type %s; want FLOAT", input.Name, input.Type)
	}
	if err := define(input.Name); err != nil {
		return input, err
	}
	n.input = p.number(n, input.Name)
	for i := range p.graph.Nodes {
		for k, out := range p.graph.Nodes[i].Outputs {
			if out == "" {
				continue
			}
			if err := define(out); err != nil {
				return input, fmt.Errorf("node %s: %w", label(&p.graph.Nodes[i]), err)
			}
			p.producers[out] = nodeOutput{i, k}
		}
	}
	return input, nil
}

// label describes a node for errors.
func label(n *onnx.Node) string {
	name := n.Name
	if name == "" && len(n.Outputs) > 0 {
		name = n.Outputs[0]
	}
	return fmt.Sprintf("%s %q", n.Operator(), name)
}

// order lists the node outputs that are needed for an output, in topological order.
func (p *planner) order(output string) (list []nodeOutput, err error) {
	const begun, done = 1, 2
	state := map[nodeOutput]int{}
	type visit struct {
		at   nodeOutput
		next int // next input to visit
	}
	var path []visit // depth first without recursion, because a file may have a long chain of nodes
	enter := func(name, by string) error {
		if i, ok := p.numbers[name]; ok && i >= 0 { // a constant, or the input
			return nil
		}
		m, ok := p.producers[name]
		if !ok {
			return fmt.Errorf("%s %q, which no node, initialiser or input gives", by, name)
		}
		switch state[m] {
		case begun:
			var names []string
			for _, v := range path {
				names = append(names, label(&p.graph.Nodes[v.at.node]))
			}
			from := slices.IndexFunc(path, func(v visit) bool { return v.at == m })
			names = names[from:]
			return fmt.Errorf("its nodes form a cycle: %s", strings.Join(names[:min(len(names), maxNamed)], ", "))
		case done:
			return nil
		}
		state[m] = begun
		path = append(path, visit{at: m})
		return nil
	}
	if err := enter(output, "its output is"); err != nil {
		return nil, err
	}
	for len(path) > 0 {
		top := &path[len(path)-1]
		node := &p.graph.Nodes[top.at.node]
		if top.next == len(node.Inputs) {
			state[top.at] = done
			list = append(list, top.at)
			path = path[:len(path)-1]
			continue
		}
		in := node.Inputs[top.next]
		top.next++
		if in == "" {
			continue
		}
		if err := enter(in, "node "+label(node)+" takes"); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (p *planner) checkOperators(order []nodeOutput) error {
	nodes := map[string][]string{}
	var ops []string
	for _, m := range order {
		node := &p.graph.Nodes[m.node]
		op := node.Operator()
		if _, ok := operators[op]; ok {
			continue
		}
		if nodes[op] == nil {
			ops = append(ops, op)
		}
		nodes[op] = append(nodes[op], node.Name)
	}
	if len(ops) == 0 {
		return nil
	}
	var list []string
	for _, op := range ops {
		list = append(list, fmt.Sprintf("%s of %s", op, quoteNames(nodes[op])))
	}
	return fmt.Errorf("operators are not known here: %s; want operators among %s",
		strings.Join(shorten(list, " operators"), "; "), strings.Join(Operators(), ", "))
}

// add adds a step for an output of a node. If the output is constant, it computes the output at once.
func (p *planner) add(n *Network, m nodeOutput) error {
	node := &p.graph.Nodes[m.node]
	s := step{node: node, out: p.number(n, node.Outputs[m.output])}
	constant := true
	for _, in := range node.Inputs {
		i := -1
		if in != "" {
			i = p.number(n, in)
			constant = constant && n.fixed[i] != nil
		}
		s.in = append(s.in, i)
	}
	op := operators[node.Op]
	run, err := op.prepare(node, p.opset, m.output)
	if err != nil {
		return fmt.Errorf("node %s: %w", label(node), err)
	}
	s.run = run
	if constant {
		n.fixed[s.out], err = s.compute(n.fixed)
		return err
	}
	n.steps = append(n.steps, s)
	return nil
}

func (s *step) compute(values []*value) (v *value, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("node %s: %w", label(s.node), err)
		}
	}()
	defer catch(&err)
	in := make([]*value, len(s.in))
	for k, i := range s.in {
		if i >= 0 {
			in[k] = values[i]
		}
	}
	v = s.run(in)
	count(v.shape)
	return v, nil
}

// planRelease determines the values that each step uses last.
func (n *Network) planRelease() {
	used := map[int]bool{n.output: true}
	for i := len(n.steps) - 1; i >= 0; i-- {
		s := &n.steps[i]
		for _, k := range s.in {
			if k >= 0 && !used[k] && n.fixed[k] == nil {
				used[k] = true
				s.lastUses = append(s.lastUses, k)
			}
		}
	}
}

// Run computes the output for an input. It does not change x, and the result may share its elements.
func (n *Network) Run(ctx context.Context, x *onnx.Tensor) (*onnx.Tensor, error) {
	return n.run(ctx, tensorValue(x))
}

// RunImages is Run for images [N, H, W, C] and a network that expects [N, C, H, W].
func (n *Network) RunImages(ctx context.Context, x *onnx.Tensor) (*onnx.Tensor, error) {
	return n.run(ctx, imageOrder(tensorValue(x)))
}

func (n *Network) run(ctx context.Context, x *value) (*onnx.Tensor, error) {
	values := slices.Clone(n.fixed)
	values[n.input] = x
	for i := range n.steps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s := &n.steps[i]
		v, err := s.compute(values)
		if err != nil {
			return nil, err
		}
		values[s.out] = v
		for _, k := range s.lastUses {
			values[k] = nil
		}
	}
	y := values[n.output].rowMajor()
	return &onnx.Tensor{Name: n.Output, Shape: y.shape, Floats: y.floats, Ints: y.ints}, nil
}
