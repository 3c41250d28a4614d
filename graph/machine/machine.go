// Package machine runs Gorgonia expression graphs, and trains their inputs.
//
// A [Machine] can replace Gorgonia's TapeMachine for any graph with operations of Gorgonia and of this module. As on a
// TapeMachine, Node.Value and Node.Grad return values and gradients, and gorgonia.Let and gorgonia.Read work. Unlike
// Gorgonia's machines, it only computes what its outputs need, and it never overwrites a value before all operations
// have read it. It reuses its memory in each run, and returns a panic in an operation as an error. [Adam] is a
// gorgonia.Solver with vectorised kernels.
//
//	grads, err := gorgonia.Grad(loss, weights...)
//	m, err := machine.New(g, append(grads, loss)...)
//	adam, model := machine.NewAdam(), gorgonia.NodesToValueGrads(weights)
//	for ... {
//		err = gorgonia.Let(x, batch)
//		err = m.RunAll()
//		err = adam.Step(model)
//	}
package machine

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// Machine runs a graph any number of times. It implements gorgonia.VM.
//
// After a run the computed values are bound to their nodes. They are valid until the next run of the graph, on this or
// on another machine. Only one goroutine at a time may run machines of one graph.
type Machine struct {
	steps  []step
	index  map[*gorgonia.Node]int
	reads  []read
	finite bool
	closed bool
	at     int // the current step, for the error of a panic

	outputs []int // steps of the outputs
	kept    Kept
	device  *onDevice // nil: all operations run on the CPU
}

type step struct {
	node  *gorgonia.Node
	shape tensor.Shape
	op    gorgonia.Op // nil for an input
	in    []int       // the steps of its operands
	args  []gorgonia.Value
	value gorgonia.Value

	add     bool // a sum of two values, which the machine computes itself to avoid allocations
	sum     total
	reuse   bool           // later runs may write into the value
	grad    graph.Gradient // the root of the gradients of one of our operations; nil for other nodes
	want    []bool         // the needed gradients
	ignored bool           // the root's own gradient is not needed
	bound   gorgonia.Value // the node's last bound value: the value itself, or its elements in the shape of the node
	of      gorgonia.Value // the value whose elements bound shares
}

// New returns a machine that computes the given nodes of a graph, and the nodes that gorgonia.Read reads. Gradients are
// outputs, too: pass the nodes from gorgonia.Grad to compute them. Without outputs the machine computes every node
// except unused inputs, as gorgonia.NewTapeMachine does. With outputs it skips everything else, such as the gradient
// with respect to a network's images.
func New(g *gorgonia.ExprGraph, outputs ...*gorgonia.Node) (*Machine, error) {
	if g == nil {
		return nil, errors.New("machine: the graph is nil")
	}
	if len(outputs) == 0 {
		return newAll(g)
	}
	for i, n := range outputs {
		switch {
		case n == nil:
			return nil, fmt.Errorf("machine: output %d is nil", i)
		case n.Graph() == nil:
			return nil, fmt.Errorf("machine: output %d (%s) belongs to no graph", i, n.Name())
		case statement(n):
			return nil, fmt.Errorf("machine: output %d (%s) is a statement; want the node that it reads or sets", i, n.Name())
		case n.Graph() != g:
			return nil, fmt.Errorf("machine: output %d (%s) belongs to another graph", i, n.Name())
		}
	}
	return build(g, slices.Clone(outputs)), nil
}

// newAll returns a machine that computes every node of a graph.
func newAll(g *gorgonia.ExprGraph) (*Machine, error) {
	used := map[*gorgonia.Node]bool{}
	for _, n := range g.AllNodes() {
		for _, c := range childrenOf(g, n) {
			used[c] = true
		}
	}
	var outputs gorgonia.Nodes
	for _, n := range g.AllNodes() {
		if !statement(n) && (n.Op() != nil || used[n]) {
			outputs = append(outputs, n)
		}
	}
	if len(outputs) == 0 {
		return nil, errors.New("machine: the graph has nothing to compute")
	}
	return build(g, outputs), nil
}

// build sorts the nodes of a graph that outputs need.
func build(g *gorgonia.ExprGraph, outputs gorgonia.Nodes) *Machine {
	m := &Machine{index: map[*gorgonia.Node]int{}}
	m.reads = readsOf(g)
	for _, r := range m.reads {
		outputs = append(outputs, r.node)
	}
	// Only a new subgraph lists the correct children. After gorgonia.Grad, the graph itself may return the children of
	// another node.
	m.schedule(g.ExactSubgraphRoots(outputs...), outputs)
	m.markWanted(outputs)
	for _, n := range outputs {
		m.outputs = append(m.outputs, m.index[n])
	}
	m.SetTraining(true)
	return m
}

// schedule sorts the nodes that the outputs need, operands first.
func (m *Machine) schedule(g *gorgonia.ExprGraph, outputs []*gorgonia.Node) {
	type visit struct {
		node     *gorgonia.Node
		children []*gorgonia.Node
		next     int
	}
	open := func(n *gorgonia.Node) visit {
		return visit{node: n, children: childrenOf(g, n)}
	}
	seen := map[*gorgonia.Node]bool{}
	for _, output := range outputs {
		if seen[output] {
			continue
		}
		seen[output] = true
		for stack := []visit{open(output)}; len(stack) > 0; {
			top := &stack[len(stack)-1]
			if top.next < len(top.children) {
				child := top.children[top.next]
				top.next++
				if !seen[child] {
					seen[child] = true
					stack = append(stack, open(child))
				}
				continue
			}
			m.index[top.node] = len(m.steps)
			m.steps = append(m.steps, m.newStep(top.node, top.children))
			stack = stack[:len(stack)-1]
		}
	}
}

func childrenOf(g *gorgonia.ExprGraph, n *gorgonia.Node) (list gorgonia.Nodes) {
	for at := g.From(n.ID()); at != nil && at.Next(); {
		list = append(list, at.Node().(*gorgonia.Node))
	}
	return list
}

func (m *Machine) newStep(n *gorgonia.Node, children []*gorgonia.Node) step {
	s := step{node: n, shape: n.Shape(), op: n.Op(), in: make([]int, len(children)),
		args: make([]gorgonia.Value, len(children))}
	for i, c := range children {
		s.in[i] = m.index[c]
	}
	s.add, s.reuse = stockOp(s.op)
	return s
}

// markWanted tells the roots of gradients which gradients the outputs need.
func (m *Machine) markWanted(outputs []*gorgonia.Node) {
	used := make([]bool, len(m.steps)) // needed by an output or by any step except a sibling
	for _, n := range outputs {
		used[m.index[n]] = true
	}
	for i := range m.steps {
		if g, ok := m.steps[i].op.(graph.Gradient); ok && !g.Root() {
			continue
		}
		for _, j := range m.steps[i].in {
			used[j] = true
		}
	}
	for i := range m.steps {
		s := &m.steps[i]
		g, ok := s.op.(graph.Gradient)
		if !ok {
			continue
		}
		root := s
		if !g.Root() {
			root = &m.steps[s.in[0]]
		}
		if root.want == nil {
			root.grad, root.want = g.Group(), make([]bool, g.Inputs())
		}
		root.want[g.Input()] = used[i]
		if g.Root() {
			s.ignored = !used[i]
		}
	}
}

// RunAll computes all nodes from the current values of the inputs. The error names the operation that failed.
func (m *Machine) RunAll() (err error) {
	if m.closed {
		return errors.New("machine: it is closed")
	}
	m.at = 0
	defer func() {
		if p := recover(); p != nil {
			err = m.explain(m.at, parallel.Recovered(p))
		}
	}()
	if m.device != nil && !m.finite {
		return m.runParts()
	}
	for i := range m.steps {
		s := &m.steps[i]
		m.at = i
		if err := m.run(s); err != nil {
			return m.explain(i, err)
		}
		if m.finite && !s.ignored {
			if i := notFinite(s.value); i >= 0 {
				return &NotFinite{Node: s.node.Name(), Op: opName(s.op), Index: i}
			}
		}
		if err := m.bind(s); err != nil {
			return m.explain(i, err)
		}
	}
	return m.read()
}

func (m *Machine) run(s *step) (err error) {
	if s.op == nil {
		if s.value = s.node.Value(); s.value == nil {
			return errors.New("the input has no value; want one, such as by gorgonia.WithValue or gorgonia.Let")
		}
		return nil
	}
	for i, j := range s.in {
		s.args[i] = m.steps[j].value
	}
	switch {
	case s.grad != nil:
		s.value, err = s.grad.DoWanted(s.want, s.args...)
	case s.add && s.sum.add(s.args[0], s.args[1]):
		s.value = s.sum.value
	case s.reuse && s.value != nil && s.value != s.sum.value:
		s.value, err = s.op.(gorgonia.UsePreallocDoer).UsePreallocDo(s.value, s.args...)
	default:
		s.value, err = s.op.Do(s.args...)
		s.reuse = s.reuse && err == nil && !shared(s.value, s.args)
	}
	if err == nil && s.value == nil {
		err = errors.New("the operation returned no value")
	}
	return err
}

// explain adds the node, operation and shapes to an error, unless the error already names them.
func (m *Machine) explain(at int, err error) error {
	s := &m.steps[at]
	if _, known := errors.AsType[*graph.Error](err); known {
		return fmt.Errorf("node %q: %w", s.node.Name(), err)
	}
	shapes := make([]tensor.Shape, len(s.in))
	for i, j := range s.in {
		shapes[i] = m.steps[j].node.Shape()
	}
	if s.op == nil {
		return fmt.Errorf("input %q of shape %v: %w", s.node.Name(), s.node.Shape(), err)
	}
	return fmt.Errorf("node %q (operation %s of shapes %v): %w", s.node.Name(), opName(s.op), shapes, err)
}

// Value returns the value of a node in the last run, or nil for a node that the machine does not compute.
func (m *Machine) Value(n *gorgonia.Node) gorgonia.Value {
	i, ok := m.index[n]
	if !ok || m.steps[i].ignored {
		return nil
	}
	return m.steps[i].value
}

// CheckFinite makes the next runs stop at the first node with a NaN or infinite number, with a [*NotFinite] error. It
// checks inputs too. Such runs use only the CPU, and the elements in host memory ([Device.Settle]).
func (m *Machine) CheckFinite(on bool) { m.finite = on }

// SetTraining sets the mode of operations with a training mode (gorgonia.TrainModeOp), such as Gorgonia's dropout. A
// new machine is in training mode.
func (m *Machine) SetTraining(on bool) {
	for i := range m.steps {
		if o, ok := m.steps[i].op.(gorgonia.TrainModeOp); ok {
			o.SetTraining(on)
		}
	}
}

// SetMixed switches operations with a mixed-precision form (graph.MixedOp), such as layers, to mixed precision, or back
// to single precision, their initial form. Operations belong to the graph, so all machines of the graph switch.
func (m *Machine) SetMixed(on bool) {
	for i := range m.steps {
		if o, ok := m.steps[i].op.(graph.MixedOp); ok {
			o.SetMixed(on)
		}
	}
}

// Reset does nothing, because a run always starts at the beginning.
func (m *Machine) Reset() {}

// Close frees the machine's values. Values that are bound to nodes stay valid. A closed machine cannot run.
func (m *Machine) Close() error {
	if m.device != nil {
		m.device.close()
	}
	m.steps, m.index, m.reads, m.closed = nil, nil, nil, true
	return nil
}

// NotFinite is the error of [Machine.RunAll] if the machine checks for finite numbers. It reports the first node with a
// NaN or infinite number. Check the inputs of this node, or lower the learning rate.
type NotFinite struct {
	Node  string
	Op    string // "input" for an input
	Index int    // index of the first such element
}

func (e *NotFinite) Error() string {
	return fmt.Sprintf("not a finite number in element %d of node %q (%s)", e.Index, e.Node, e.Op)
}

// notFinite returns the index of the first NaN or infinite element, or -1.
func notFinite(v gorgonia.Value) int {
	switch v := v.(type) {
	case *gorgonia.F32:
		if *v-*v != 0 {
			return 0
		}
	case *gorgonia.F64:
		if *v-*v != 0 {
			return 0
		}
	case *tensor.Dense:
		switch v.Dtype() {
		case tensor.Float32:
			for i, x := range v.Float32s() {
				if x-x != 0 {
					return i
				}
			}
		case tensor.Float64:
			for i, x := range v.Float64s() {
				if math.IsNaN(x) || math.IsInf(x, 0) {
					return i
				}
			}
		}
	}
	return -1
}

func opName(o gorgonia.Op) string {
	if o == nil {
		return "input"
	}
	return o.String()
}
