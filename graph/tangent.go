package graph

import (
	"errors"
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// JVP returns the Jacobian-vector product of y with respect to x: the derivative of y in the direction v. v has the
// shape of x, and the result has the shape of y. JVP adds a second graph that shares the parameters. The result is
// differentiable with respect to v and the parameters, including the parameters' effect on the values of y's graph. The
// gradient of a directional derivative therefore needs no second derivatives of operations ([Spec.Tangent]).
//
// At kinks of relu, leaky-relu and maxima the derivative follows [Activate] and pooling, and counts as constant.
//
// Source: Griewank and Walther 2008, Evaluating Derivatives, section 3.1 (forward mode).
func JVP(y, x, v *gorgonia.Node) (*gorgonia.Node, error) {
	if err := checkGraph(y, x); err != nil {
		return nil, fmt.Errorf("jvp: %w", err)
	}
	if v == nil || !slices.Equal(v.Shape(), x.Shape()) {
		return nil, fmt.Errorf("jvp: %w", Wanted(fmt.Sprintf("a direction with the input's shape %v", x.Shape()), shapeOf(v)))
	}
	w := tangents{x: v}
	t, err := w.tangentOf(y)
	switch {
	case err != nil:
		return nil, fmt.Errorf("jvp: %w", err)
	case t == nil:
		return nil, fmt.Errorf("jvp: node %q does not depend on %q, or only through StopGradient", y.Name(), x.Name())
	}
	return t, nil
}

func checkGraph(y, x *gorgonia.Node) error {
	if y == nil || x == nil || y.Graph() == nil || y.Graph() != x.Graph() {
		return errors.New("want a node and an input of it, both of one graph")
	}
	return nil
}

func shapeOf(n *gorgonia.Node) any {
	if n == nil {
		return "nothing"
	}
	return n.Shape()
}

// tangents are the directional derivatives of nodes, nil for 0.
type tangents map[*gorgonia.Node]*gorgonia.Node

// tangentOf returns the tangent of a node; the first call adds it to the graph.
func (w tangents) tangentOf(n *gorgonia.Node) (*gorgonia.Node, error) {
	if t, ok := w[n]; ok || n.Op() == nil {
		return t, nil
	}
	f, ok := n.Op().(*forward)
	if !ok {
		return nil, fmt.Errorf("node %q (operation %v of Gorgonia) has no tangent; want operations of package graph",
			n.Name(), n.Op())
	}
	along, depends := make([]*gorgonia.Node, len(f.inputs)), false
	for i, differentiable := range f.DiffWRT(len(f.inputs)) {
		if !differentiable {
			continue
		}
		var err error
		if along[i], err = w.tangentOf(f.inputs[i]); err != nil {
			return nil, err
		}
		depends = depends || along[i] != nil
	}
	if !depends {
		w[n] = nil
		return nil, nil
	}
	if f.spec.Tangent == nil {
		return nil, fmt.Errorf("node %q: the operation %s has no tangent (Spec.Tangent)", n.Name(), f.name)
	}
	t, err := f.spec.Tangent(f.inputs, n, along)
	switch {
	case err != nil:
		return nil, fmt.Errorf("node %q (%s): %w", n.Name(), f.name, err)
	case t == nil || !slices.Equal(t.Shape(), n.Shape()):
		return nil, fmt.Errorf("node %q (%s): its tangent has shape %v; want %v", n.Name(), f.name, shapeOf(t), n.Shape())
	}
	w[n] = t
	return t, nil
}

// VJP returns the vector-Jacobian product of y with respect to x: the gradient of <dy, y> with respect to x. dy has the
// shape of y, and the result has the shape of x. Unlike after gorgonia.Grad, the graph can be differentiated again.
// Apply [StopGradient] to the result, because gradients have no derivatives themselves.
func VJP(y, dy, x *gorgonia.Node) (*gorgonia.Node, error) {
	if err := checkGraph(y, x); err != nil {
		return nil, fmt.Errorf("vjp: %w", err)
	}
	if dy == nil || !slices.Equal(dy.Shape(), y.Shape()) {
		return nil, fmt.Errorf("vjp: %w", Wanted(fmt.Sprintf("a cotangent with the result's shape %v", y.Shape()),
			shapeOf(dy)))
	}
	order, err := between(x, y)
	if err != nil {
		return nil, fmt.Errorf("vjp: %w", err)
	}
	gradients := map[*gorgonia.Node]*gorgonia.Node{y: dy}
	for _, n := range slices.Backward(order) {
		f := n.Op().(*forward)
		list, err := f.SymDiff(f.inputs, n, gradients[n])
		if err != nil {
			return nil, fmt.Errorf("vjp: %w", err)
		}
		for i, g := range list {
			in := f.inputs[i]
			if g == nil || in != x && !slices.Contains(order, in) {
				continue
			}
			if held := gradients[in]; held != nil {
				if g, err = gorgonia.Add(held, g); err != nil {
					return nil, fmt.Errorf("vjp: %w", err)
				}
			}
			gradients[in] = g
		}
	}
	return gradients[x], nil
}

// between lists the nodes from x to y that have a gradient with respect to x, operands first, without x itself.
func between(x, y *gorgonia.Node) (order []*gorgonia.Node, err error) {
	known := map[*gorgonia.Node]bool{x: true}
	var visit func(n *gorgonia.Node) (bool, error)
	visit = func(n *gorgonia.Node) (bool, error) {
		if depends, ok := known[n]; ok || n.Op() == nil {
			return depends, nil
		}
		f, ok := n.Op().(*forward)
		if !ok {
			return false, fmt.Errorf("node %q is an operation of Gorgonia (%v); want operations of package graph",
				n.Name(), n.Op())
		}
		depends := false
		for i, differentiable := range f.DiffWRT(len(f.inputs)) {
			if !differentiable {
				continue
			}
			below, err := visit(f.inputs[i])
			if err != nil {
				return false, err
			}
			depends = depends || below
		}
		if known[n] = depends; depends {
			order = append(order, n)
		}
		return depends, nil
	}
	depends, err := visit(y)
	if err == nil && !depends {
		err = fmt.Errorf("node %q does not depend on %q, or only through StopGradient", y.Name(), x.Name())
	}
	return order, err
}

// linearTangent is the Tangent of an operation that is linear in its one input: the operation itself, applied to the
// tangent.
func linearTangent(apply func(t *gorgonia.Node) (*gorgonia.Node, error)) func(in []*gorgonia.Node, out *gorgonia.Node,
	along []*gorgonia.Node) (*gorgonia.Node, error) {
	return func(_ []*gorgonia.Node, _ *gorgonia.Node, along []*gorgonia.Node) (*gorgonia.Node, error) {
		return apply(along[0])
	}
}

// ZerosLike returns zeros with the shape and element type of a node: a constant without a graph.
func ZerosLike(x *gorgonia.Node) *gorgonia.Node {
	return gorgonia.NewConstant(tensor.New(tensor.Of(x.Dtype()), tensor.WithShape(x.Shape().Clone()...)),
		gorgonia.WithName("zeros"))
}
