package nn

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
)

// LayerSummary describes one layer of a network, for one image.
type LayerSummary struct {
	Name       string  `json:"layer"`      // path, such as encoder/conv1; without a path, the operation's name
	Operation  string  `json:"operation"`  // such as "convolution 3x3, stride 2, relu"
	Output     []int   `json:"output"`     // shape without the batch axis
	Parameters int     `json:"parameters"` // number of learned values
	FLOP       float64 `json:"flop"`       // floating-point operations of the forward pass; a multiplication and an addition count as two
}

// Summarise lists the layers of a network from its graph in the order of computation. It includes the operations from
// in to out, with one row per layer. A layer's name comes from its parameters or its node. Summarise works for any
// network of operations from packages graph and layer. It also lists dropout, although dropout acts only in training.
//
// Dense layers and convolutions have 2 FLOP per product in their matrices. Their biases and activations do not count,
// and copies count 0. Other operations count 1 per element of their input or result, whichever is larger.
func Summarise(g *Graph, in, out *gorgonia.Node) []LayerSummary {
	s := &summary{graph: g, sub: out.Graph().ExactSubgraphRoots(out), in: in,
		seen: map[*gorgonia.Node]bool{}, rowOf: map[string]int{}, counted: map[string]bool{}}
	s.addIdle(in)
	s.visit(out)
	return s.rows
}

type summary struct {
	graph   *Graph
	sub     *gorgonia.ExprGraph // lists operands in their order
	in      *gorgonia.Node
	seen    map[*gorgonia.Node]bool
	rowOf   map[string]int // row index of each name
	counted map[string]bool
	rows    []LayerSummary
}

func (s *summary) visit(n *gorgonia.Node) {
	if s.seen[n] || n == s.in || n.Op() == nil {
		return
	}
	s.seen[n] = true
	operands := operandsOf(s.sub, n)
	for _, o := range operands {
		s.visit(o)
	}
	s.add(n, operands)
	s.addIdle(n)
}

func operandsOf(g *gorgonia.ExprGraph, n *gorgonia.Node) (list gorgonia.Nodes) {
	for c := g.From(n.ID()); c != nil && c.Next(); {
		list = append(list, c.Node().(*gorgonia.Node))
	}
	return list
}

// addIdle adds a row for each dropout that leaves the node unchanged.
func (s *summary) addIdle(n *gorgonia.Node) {
	for _, d := range s.graph.idle {
		if d.x == n {
			s.rows = append(s.rows, LayerSummary{Name: d.name, Operation: fmt.Sprintf("dropout %v, in training", d.rate),
				Output: slices.Clone(n.Shape()[1:])})
		}
	}
}

// add adds an operation to the row of its layer.
func (s *summary) add(n *gorgonia.Node, operands gorgonia.Nodes) {
	operation, attributes, _ := graph.Operation(n)
	if operation == "" {
		operation = n.Op().String()
	}
	name, count := s.layer(operands)
	if name == "" {
		name = s.nameOf(n, operands, operation)
	}
	shape := n.Shape()
	if shape.Dims() > 0 {
		shape = shape[1:]
	}
	i, ok := s.rowOf[name]
	if !ok {
		i = len(s.rows)
		s.rows = append(s.rows, LayerSummary{Name: name, Operation: describe(operation, attributes, operands)})
		s.rowOf[name] = i
	} else if operation == "activate" {
		s.rows[i].Operation += ", " + describe(operation, attributes, operands)
	}
	row := &s.rows[i]
	row.Output = append([]int{}, shape...)
	row.Parameters += count
	row.FLOP += flop(operation, n, operands)
}

// layer returns the common path of the parameters among operands. It also returns the number of learned values that are
// not in a row yet.
func (s *summary) layer(operands gorgonia.Nodes) (name string, count int) {
	for _, o := range operands {
		if o.Op() != nil || s.graph.Params.Get(o.Name()) == nil || s.graph.nodes[o.Name()] != o {
			continue
		}
		if name == "" {
			name = path.Dir(o.Name())
		}
		if !s.counted[o.Name()] && !s.graph.Params.IsState(o.Name()) {
			s.counted[o.Name()] = true
			count += o.Shape().TotalSize()
		}
	}
	return name, count
}

// nameOf returns the name of a node, or a name from its operation.
func (s *summary) nameOf(n *gorgonia.Node, operands gorgonia.Nodes, operation string) string {
	if name := n.Name(); strings.Contains(name, "/") && !strings.ContainsAny(name, "(%") {
		return name
	}
	if operation == "reshape" && n.Dims() == 2 && len(operands) == 1 && operands[0].Dims() > 2 {
		operation = "flatten"
	}
	name := operation
	for i := 2; ; i++ {
		if _, taken := s.rowOf[name]; !taken {
			return name
		}
		name = fmt.Sprintf("%s %d", operation, i)
	}
}

// describe adds the relevant options to the name of an operation.
func describe(operation string, attributes map[string]any, operands gorgonia.Nodes) string {
	text := operation
	if operation == "standardise" {
		text = "batch norm"
	}
	if strings.HasSuffix(operation, "convolution") && len(operands) > 1 && operands[1].Dims() == 4 {
		text += fmt.Sprintf(" %dx%d", operands[1].Shape()[0], operands[1].Shape()[1])
	}
	if stride, ok := attributes["stride"].(int); ok && stride > 1 {
		text += fmt.Sprintf(", stride %d", stride)
	}
	if a, ok := attributes["activation"].(string); ok && a != graph.Linear.String() {
		if operation == "activate" {
			return a
		}
		text += ", " + a
	}
	if relu, ok := attributes["relu"].(bool); ok && relu {
		text += ", relu"
	}
	return text
}

// copies lists the operations that only copy or move elements.
var copies = map[string]bool{"reshape": true, "crop": true, "shuffle": true, "stop gradient": true,
	"slice columns": true, "slice rows": true, "concat columns": true}

// flop counts the floating-point operations of a node for one image.
func flop(operation string, n *gorgonia.Node, operands gorgonia.Nodes) float64 {
	batch := 1
	if n.Dims() > 0 {
		batch = max(1, n.Shape()[0])
	}
	perImage := func(s tensor.Shape) float64 { return float64(s.TotalSize()) / float64(batch) }
	switch {
	case copies[operation]:
		return 0
	case operation == "convolution" && len(operands) > 1:
		w := operands[1].Shape()
		return 2 * perImage(n.Shape()) * float64(w[0]*w[1]*w[2])
	case operation == "transposed convolution" && len(operands) > 1:
		w := operands[1].Shape()
		return 2 * perImage(operands[0].Shape()) * float64(w[0]*w[1]*w[2])
	case operation == "dense" && len(operands) > 1:
		w := operands[1].Shape()
		return 2 * float64(w.TotalSize()) * perImage(operands[0].Shape()) / float64(w[0])
	}
	elements := perImage(n.Shape())
	if len(operands) > 0 {
		elements = max(elements, perImage(operands[0].Shape()))
	}
	return elements
}

// FLOP counts the floating-point operations of a forward pass, for out and all nodes before it and for the whole batch.
// The rules are the rules of [Summarise].
func FLOP(out *gorgonia.Node) (sum float64) {
	sub := out.Graph().ExactSubgraphRoots(out)
	for _, n := range sub.AllNodes() {
		if n.Op() == nil {
			continue
		}
		batch := 1
		if n.Dims() > 0 {
			batch = n.Shape()[0]
		}
		operation, _, _ := graph.Operation(n)
		sum += flop(operation, n, operandsOf(sub, n)) * float64(batch)
	}
	return sum
}

// SummariseEncoder lists the layers of an encoder for images [height, width, channels]. It creates temporary
// parameters.
func SummariseEncoder(e Encoder, image tensor.Shape) ([]LayerSummary, error) {
	return summariseNew("images", image, func(g *Graph, in *gorgonia.Node) (*gorgonia.Node, error) {
		return e.Encode(g, in, "encoder")
	})
}

// SummariseDecoder lists the layers of a decoder for the given number of codes and images [height, width, channels].
func SummariseDecoder(d Decoder, codes int, image tensor.Shape) ([]LayerSummary, error) {
	return summariseNew("codes", tensor.Shape{codes}, func(g *Graph, in *gorgonia.Node) (*gorgonia.Node, error) {
		return d.Decode(g, in, "decoder", image)
	})
}

// summariseNew lists the layers of a network with temporary parameters, for an input of one row.
func summariseNew(input string, row tensor.Shape,
	build func(g *Graph, in *gorgonia.Node) (*gorgonia.Node, error)) ([]LayerSummary, error) {
	g := NewGraph(NewParams(0))
	in, err := g.Input(input, append([]int{1}, row...)...)
	if err != nil {
		return nil, err
	}
	out, err := build(g, in)
	if err != nil {
		return nil, err
	}
	return Summarise(g, in, out), nil
}
