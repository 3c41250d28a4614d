// Package machine runs Gorgonia expression graphs.
//
// Unlike Gorgonia's own machines, a [Machine] computes only what its outputs
// need, never overwrites a value that another operation may still read, keeps
// its buffers from run to run, and reports a panic of an operation as an error.
package machine

import (
	"errors"
	"fmt"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/memory"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// Machine runs a graph as often as wanted. It implements gorgonia.VM.
//
// A value that it computes is valid until the next run of the graph, on this or
// on another machine. A machine serves one goroutine at a time.
type Machine struct {
	steps  []step
	index  map[*gorgonia.Node]int
	finite bool
}

// step computes one node.
type step struct {
	node  *gorgonia.Node
	op    gorgonia.Op // nil for an input
	in    []int       // the steps that its operands come from
	args  []gorgonia.Value
	value gorgonia.Value

	add     bool // a sum of two values, computed here to save allocations
	sum     gorgonia.Value
	reuse   bool           // the value may be written to again
	grad    graph.Gradient // not nil for the root of an own operation's gradients
	want    []bool         // the gradients that are needed
	ignored bool           // the root's own gradient is not
}

// New returns a machine that computes the given nodes, which are of one graph.
// Gradient nodes are those that gorgonia.Grad returns.
func New(outputs ...*gorgonia.Node) (*Machine, error) {
	if len(outputs) == 0 {
		return nil, errors.New("vm: no outputs")
	}
	for i, n := range outputs {
		switch {
		case n == nil:
			return nil, fmt.Errorf("vm: output %d is nil", i)
		case n.Graph() != outputs[0].Graph():
			return nil, fmt.Errorf("vm: output %d (%s) is of another graph than output 0", i, n.Name())
		}
	}
	m := &Machine{index: map[*gorgonia.Node]int{}}
	// Only a fresh subgraph lists the right children: after gorgonia.Grad the
	// graph itself may return those of another node.
	m.schedule(outputs[0].Graph().ExactSubgraphRoots(outputs...), outputs)
	m.markWanted(outputs)
	return m, nil
}

// Bytes is what the nodes' values take, apart from those that share their operand's memory.
func (m *Machine) Bytes() float64 {
	var sum float64
	for i := range m.steps {
		if s := &m.steps[i]; !s.reuse && !s.ignored {
			sum += memory.Product(s.node.Shape()...) * float64(s.node.Dtype().Size())
		}
	}
	return sum
}

// schedule orders the nodes that the outputs need, operands first.
func (m *Machine) schedule(g *gorgonia.ExprGraph, outputs []*gorgonia.Node) {
	type visit struct {
		node     *gorgonia.Node
		children []*gorgonia.Node
		next     int
	}
	open := func(n *gorgonia.Node) visit {
		v := visit{node: n}
		for at := g.From(n.ID()); at != nil && at.Next(); {
			v.children = append(v.children, at.Node().(*gorgonia.Node))
		}
		return v
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

func (m *Machine) newStep(n *gorgonia.Node, children []*gorgonia.Node) step {
	s := step{node: n, op: n.Op(), in: make([]int, len(children)), args: make([]gorgonia.Value, len(children))}
	for i, c := range children {
		s.in[i] = m.index[c]
	}
	s.add, s.reuse = stockOp(s.op)
	return s
}

// markWanted tells the roots of gradients which of them the outputs need.
func (m *Machine) markWanted(outputs []*gorgonia.Node) {
	used := make([]bool, len(m.steps)) // by anything but a sibling
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

// RunAll computes all nodes from the present values of the inputs. An error
// names the operation that failed.
func (m *Machine) RunAll() (err error) {
	at := 0
	defer func() {
		if p := recover(); p != nil {
			err = m.explain(at, parallel.Recovered(p))
		}
	}()
	for at = range m.steps {
		s := &m.steps[at]
		if err := m.run(s); err != nil {
			return m.explain(at, err)
		}
		if m.finite && !s.ignored {
			if i := notFinite(s.value); i >= 0 {
				return &NotFinite{Node: s.node.Name(), Op: opName(s.op), Index: i}
			}
		}
	}
	return nil
}

func (m *Machine) run(s *step) (err error) {
	if s.op == nil {
		if s.value = s.node.Value(); s.value == nil {
			return errors.New("the input has no value")
		}
		return nil
	}
	for i, j := range s.in {
		s.args[i] = m.steps[j].value
	}
	switch {
	case s.grad != nil:
		s.value, err = s.grad.DoWanted(s.want, s.args...)
	case s.add && addInto(&s.sum, s.args[0], s.args[1]):
		s.value = s.sum
	case s.reuse && s.value != nil && s.value != s.sum:
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

// explain names the node, operation and shapes of an error, as far as the error
// does not.
func (m *Machine) explain(at int, err error) error {
	s := &m.steps[at]
	var known *graph.Error
	if errors.As(err, &known) {
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

// Value returns the value of a node in the last run, and nil if the machine does
// not compute it.
func (m *Machine) Value(n *gorgonia.Node) gorgonia.Value {
	i, ok := m.index[n]
	if !ok || m.steps[i].ignored {
		return nil
	}
	return m.steps[i].value
}

// CheckFinite makes the next runs stop at the first node that holds a NaN or an
// infinite number, with a [*NotFinite] error. Inputs are checked too.
func (m *Machine) CheckFinite(on bool) { m.finite = on }

// Reset does nothing: a run always starts at the beginning.
func (m *Machine) Reset() {}

// Close lets go of the machine's values.
func (m *Machine) Close() error {
	m.steps, m.index = nil, nil
	return nil
}

// NotFinite reports the first node that holds a NaN or an infinite number.
type NotFinite struct {
	Node  string
	Op    string // "input" for an input
	Index int    // of the first such element
}

func (e *NotFinite) Error() string {
	return fmt.Sprintf("not a finite number in element %d of node %q (%s)", e.Index, e.Node, e.Op)
}

// notFinite returns the index of the first NaN or infinite element, -1 if none.
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
