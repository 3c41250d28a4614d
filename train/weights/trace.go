package weights

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/models"
)

// tracedBatches are the batch sizes of two graphs of a network. Sizes that differ depend on the number of images.
var tracedBatches = [2]int{2, 3}

// trace is a network as a list of steps in topological order.
type trace struct {
	steps  []step
	input  int // index of the step that is the network's input
	output int
}

type step struct {
	node       *gorgonia.Node
	operation  string // operation of package graph or of Gorgonia; empty: an input, a parameter or a constant
	stock      bool   // an operation of Gorgonia
	attributes map[string]any
	varies     bool  // the attributes depend on the number of images
	in         []int // indices of the operands
	shape      []int // -k means k times the number of images
	parameter  string
}

func (s *Source) trace(p Part) (*trace, error) {
	var traces [2]*trace
	for i, n := range tracedBatches {
		in, out, err := s.build(p, n)
		if err != nil {
			return nil, err
		}
		if traces[i], err = traceNodes(s.Model.Params(), in, out); err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
	}
	if err := traces[0].compare(traces[1]); err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	return traces[0], nil
}

func (s *Source) build(p Part, n int) (in, out *gorgonia.Node, err error) {
	g := nn.NewGraph(s.Model.Params())
	if p == Encoder {
		if in, err = g.Input("images", n, s.Data.Height, s.Data.Width, s.Data.Channels); err == nil {
			out, err = s.Model.Encode(g, in)
		}
		return in, out, err
	}
	d, ok := s.Model.(models.Decoder)
	if p != Decoder || !ok {
		return nil, nil, fmt.Errorf("the model has no %s; want %v", p, s.Parts())
	}
	if in, err = g.Input("codes", n, s.width()); err == nil {
		out, err = d.Decode(g, in)
	}
	return in, out, err
}

// traceNodes lists the nodes on which out depends.
func traceNodes(params *nn.Params, in, out *gorgonia.Node) (*trace, error) {
	t := &trace{input: -1}
	g := out.Graph().ExactSubgraphRoots(out) // lists operands in their order
	indexOf := map[*gorgonia.Node]int{}
	var visit func(n *gorgonia.Node)
	visit = func(n *gorgonia.Node) {
		if _, ok := indexOf[n]; ok {
			return
		}
		s := step{node: n, shape: n.Shape()}
		for c := g.From(n.ID()); c != nil && c.Next(); {
			child := c.Node().(*gorgonia.Node)
			visit(child)
			s.in = append(s.in, indexOf[child])
		}
		s.setOperation(params)
		indexOf[n] = len(t.steps)
		t.steps = append(t.steps, s)
	}
	visit(out)
	t.output = indexOf[out]
	if i, ok := indexOf[in]; ok {
		t.input = i
		return t, nil
	}
	return nil, fmt.Errorf("the output does not depend on the %s", in.Name())
}

func (s *step) setOperation(params *nn.Params) {
	op := s.node.Op()
	if _, constant := constantOf(s.node); op == nil || constant {
		if p := params.Get(s.node.Name()); p != nil && s.node.Value() == gorgonia.Value(p) {
			s.parameter = s.node.Name()
		}
		return
	}
	name, attributes, ok := graph.Operation(s.node)
	if !ok {
		s.operation, s.stock = strings.TrimPrefix(strings.TrimPrefix(fmt.Sprintf("%T", op), "*"), "gorgonia."), true
		attributes = map[string]any{"form": op.String()}
	} else {
		s.operation = name
	}
	s.attributes = attributes
}

// constantOf returns the value of a node that Gorgonia treats as a constant.
func constantOf(n *gorgonia.Node) (gorgonia.Value, bool) {
	c, ok := n.Op().(interface{ Value() gorgonia.Value })
	if !ok {
		return nil, false
	}
	return c.Value(), true
}

// compare finds the sizes and attributes that depend on the number of images, by another trace.
func (t *trace) compare(second *trace) error {
	if len(t.steps) != len(second.steps) {
		return fmt.Errorf("it has %d operations on %d images and %d on %d; want a network that does not depend on their number",
			len(t.steps), tracedBatches[0], len(second.steps), tracedBatches[1])
	}
	for i := range t.steps {
		a, b := &t.steps[i], &second.steps[i]
		if a.operation != b.operation || !slices.Equal(a.in, b.in) || len(a.shape) != len(b.shape) {
			return fmt.Errorf("operation %d is %s on %d images and %s on %d; want a network that does not depend on their number",
				i, a.describe(), tracedBatches[0], b.describe(), tracedBatches[1])
		}
		a.varies = !reflect.DeepEqual(a.attributes, b.attributes)
		for axis, n := range a.shape {
			m := b.shape[axis]
			perImage := n / tracedBatches[0]
			switch {
			case n == m:
			case perImage*tracedBatches[0] == n && perImage*tracedBatches[1] == m:
				a.shape[axis] = -perImage
			default:
				return fmt.Errorf("%s: axis %d has %d elements of %d images and %d of %d; want a fixed number of each",
					a.describe(), axis, n, tracedBatches[0], m, tracedBatches[1])
			}
		}
	}
	return nil
}

func (s *step) describe() string {
	switch {
	case s.operation != "" && s.stock:
		return fmt.Sprintf("Gorgonia's %s %v", s.operation, s.attributes["form"])
	case s.operation != "":
		return fmt.Sprintf("%q", s.operation)
	case s.parameter != "":
		return fmt.Sprintf("the parameter %q", s.parameter)
	}
	return fmt.Sprintf("the input %q", s.node.Name())
}

// layer returns the common prefix of the names of a step's parameters: encoder/conv1.
func (t *trace) layer(s *step) string {
	for _, i := range s.in {
		if p := t.steps[i].parameter; p != "" {
			return path.Dir(p)
		}
	}
	return ""
}

func (s *step) elements() ([]float32, error) {
	v, ok := constantOf(s.node)
	if !ok {
		v = s.node.Value()
	}
	switch v := v.(type) {
	case *gorgonia.F32:
		return []float32{float32(*v)}, nil
	case *gorgonia.F64:
		return []float32{float32(*v)}, nil
	case *tensor.Dense:
		if slices.ContainsFunc(s.shape, func(n int) bool { return n < 0 }) {
			return nil, fmt.Errorf("%s has a row for each image, %v; want a shape that does not depend on the number of images",
				s.describe(), v.Shape())
		}
		switch data := v.Data().(type) {
		case []float32:
			return data, nil
		case float32:
			return []float32{data}, nil
		}
	}
	return nil, fmt.Errorf("%s is %T; want float32", s.describe(), v)
}

func (t *trace) describe() *Network {
	n := &Network{Input: t.steps[t.input].shape, Output: t.steps[t.output].shape}
	for _, s := range t.steps {
		if s.operation == "" || s.operation == "sizeOp" {
			continue
		}
		l := Layer{Operation: s.operation, Attributes: s.attributes, Output: s.shape}
		for _, i := range s.in {
			if p := t.steps[i].parameter; p != "" {
				l.Parameters = append(l.Parameters, p)
			}
		}
		if s.varies { // a shape, which Output already has
			l.Attributes = nil
		}
		n.Layers = append(n.Layers, l)
	}
	return n
}
