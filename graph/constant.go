package graph

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// fold computes an operation on constants without a graph. The result is a constant.
func fold(s Spec, in []*gorgonia.Node) (*gorgonia.Node, error) {
	f, err := newForward(s, in)
	if err != nil {
		return nil, err
	}
	values := make([]gorgonia.Value, len(in))
	for i, n := range in {
		values[i], _ = constantValue(n)
	}
	v, err := f.Do(values...)
	if err != nil {
		return nil, err
	}
	return gorgonia.NewConstant(v, gorgonia.WithName(s.Name)), nil
}

// hostConstants replaces every constant by an input node of the graph with the same value. If all inputs are constants,
// it leaves them and returns true for only. Gorgonia merges constants with equal names, and the name of a constant is
// its printed value, which omits most of a large tensor.
func hostConstants(in []*gorgonia.Node) (hosted []*gorgonia.Node, only bool, err error) {
	var host *gorgonia.ExprGraph
	constants := 0
	for _, n := range in {
		if n == nil {
			return in, false, nil // the caller reports the error
		}
		if _, ok := constantValue(n); ok {
			constants++
		} else if host == nil {
			host = n.Graph()
		}
	}
	if constants == 0 || constants == len(in) || host == nil {
		return in, constants == len(in) && constants > 0, nil
	}
	hosted = make([]*gorgonia.Node, len(in))
	for i, n := range in {
		hosted[i] = n
		if v, ok := constantValue(n); ok {
			dt, err := elementType(n)
			if err != nil {
				return nil, false, fmt.Errorf("input %d (%s): %w", i, n.Name(), err)
			}
			hosted[i] = hostValue(host, n.Name(), dt, v)
		}
	}
	return hosted, false, nil
}

// constantValue returns the value of a node of gorgonia.NewConstant.
func constantValue(n *gorgonia.Node) (gorgonia.Value, bool) {
	c, ok := n.Op().(interface{ Value() gorgonia.Value })
	if !ok {
		return nil, false
	}
	return c.Value(), true
}

// hostValue returns the input node of a graph that holds a value. The graph merges inputs with the same name, so
// hostValue does not reuse a node with another value.
func hostValue(g *gorgonia.ExprGraph, name string, dt tensor.Dtype, v gorgonia.Value) *gorgonia.Node {
	for i := 0; ; i++ {
		options := []gorgonia.NodeConsOpt{gorgonia.WithName(fmt.Sprintf("constant %d %s", i, name)),
			gorgonia.WithShape(v.Shape()...), gorgonia.WithValue(v)}
		var n *gorgonia.Node
		if v.Shape().IsScalar() {
			n = gorgonia.NewScalar(g, dt, options...)
		} else {
			n = gorgonia.NewTensor(g, dt, v.Shape().Dims(), options...)
		}
		if n.Value() == v {
			return n
		}
	}
}
