package machine

import (
	"fmt"
	"reflect"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// bind binds the value of a step to its node, for Node.Value and Node.Grad.
func (m *Machine) bind(s *step) error {
	if s.op == nil || s.ignored {
		return nil
	}
	// UnsafeLet allocates, so bind skips a value that is already bound.
	if held := s.node.Value(); held != s.value && (held != s.bound || s.of != s.value) {
		v := fitted(s.shape, s.value)
		if v == nil {
			return nil
		}
		if err := gorgonia.UnsafeLet(s.node, v); err != nil {
			return err
		}
		s.bound, s.of = v, nil
		if _, shares := s.value.(*tensor.Dense); shares {
			s.of = s.value
		}
	}
	for _, n := range s.node.DerivOf() {
		if n.Op() != nil || n.Deriv() != s.node {
			continue
		}
		// If a TapeMachine bound an input with gorgonia.BindDualValues, the input holds its gradient separately.
		if held, err := n.Grad(); err == nil && held != nil && held != s.node.Value() {
			if _, err := gorgonia.Copy(held, s.value); err != nil {
				return fmt.Errorf("the gradient of %s: %w", n.Name(), err)
			}
		}
	}
	return nil
}

// fitted returns a value with the shape of its node, because some Gorgonia operations return another shape. It returns
// nil if the number of elements differs.
func fitted(want tensor.Shape, v gorgonia.Value) gorgonia.Value {
	if want.Eq(v.Shape()) {
		return v
	}
	var elements any
	switch v := v.(type) {
	case *gorgonia.F32:
		elements = []float32{float32(*v)}
	case *gorgonia.F64:
		elements = []float64{float64(*v)}
	case *tensor.Dense:
		if !plain(v) {
			return nil
		}
		elements = v.Data()
	}
	if elements == nil || reflect.ValueOf(elements).Len() != want.TotalSize() {
		return nil
	}
	return tensor.New(tensor.WithShape(want...), tensor.WithBacking(elements))
}

// read is a gorgonia.Read: a node, and the destination of its value.
type read struct {
	node *gorgonia.Node
	into *gorgonia.Value
}

// Type names of Gorgonia's statements. Gorgonia does not export the types.
const (
	readType = "gorgonia.readOp"
	letType  = "gorgonia.letOp" // without effect, as on a TapeMachine
)

// statement reports whether a node is a statement, without a value.
func statement(n *gorgonia.Node) bool {
	if n.Op() == nil {
		return false
	}
	t := fmt.Sprintf("%T", n.Op())
	return t == readType || t == letType
}

// readsOf finds the gorgonia.Read operations of a graph. Such an operation has one field: a pointer to its destination.
func readsOf(g *gorgonia.ExprGraph) (list []read) {
	for _, n := range g.AllNodes() {
		if n.Op() == nil || fmt.Sprintf("%T", n.Op()) != readType {
			continue
		}
		into := (*gorgonia.Value)(reflect.ValueOf(n.Op()).Field(0).UnsafePointer())
		for _, c := range childrenOf(g, n) {
			list = append(list, read{c, into})
		}
	}
	return list
}

// read copies the values of nodes to the destinations of their gorgonia.Read operations.
func (m *Machine) read() (err error) {
	for _, r := range m.reads {
		v := m.steps[m.index[r.node]].value
		if *r.into != nil {
			_, err = gorgonia.Copy(*r.into, v)
		} else {
			*r.into, err = gorgonia.CloneValue(v)
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", r.node.Name(), err)
		}
	}
	return nil
}
