// Package onnx writes and reads neural networks in the ONNX format (https://onnx.ai): a protocol buffer with nodes,
// weights, and named inputs and outputs. It does not run operators; see package onnxrun.
//
// Field numbers are as in onnx/onnx.proto of ONNX 1.12, which introduced operator set 17.
package onnx

import (
	"errors"
	"fmt"
)

// Versions of the written format.
const (
	IRVersion = 8
	Opset     = 17
)

// standardDomain is a name for the domain of the standard operators. The other name is the empty string.
const standardDomain = "ai.onnx"

// Any is a dimension whose size is known only at run time: the number of images.
const Any = -1

// anyName is the name of Any in a file.
const anyName = "N"

// Model is a network with its origin and metadata.
type Model struct {
	Producer, Version string // the writing program
	Doc               string
	Metadata          map[string]string
	Graph             Graph

	IR, Opset int // versions of a decoded model; Encode writes IRVersion and Opset
}

// Graph is a network. Nodes are in topological order: a node follows the nodes that compute its inputs.
type Graph struct {
	Name            string
	Nodes           []Node
	Weights         []Tensor
	Inputs, Outputs []Value
}

// Node is an operator with the names of its inputs and outputs. An empty name is an omitted input or output.
type Node struct {
	Op, Name        string
	Domain          string // domain of the operator; empty: the standard domain
	Inputs, Outputs []string
	Attributes      map[string]any // int, float32, string or []int; after Decode also []float32, *Tensor and Unread
}

// Operator returns the name of the node's operator, with the domain if it is not the standard domain.
func (n *Node) Operator() string {
	if n.Domain == "" || n.Domain == standardDomain {
		return n.Op
	}
	return n.Domain + "." + n.Op
}

// Unread is the kind number of an attribute that Decode does not read, such as a graph.
type Unread int

// Tensor is a constant. Its elements are in Floats or Ints, in row-major order.
type Tensor struct {
	Name   string
	Shape  []int
	Floats []float32
	Ints   []int64
}

type Value struct {
	Name, Doc string
	Type      Type  // element type of a decoded value; 0: float32
	Shape     []int // with Any for an unknown size; nil: unknown
}

// Type is an element type, by its number in the format.
type Type int

// The element types that Decode reads.
const (
	Float Type = 1
	Int32 Type = 6
	Int64 Type = 7
	Bool  Type = 9
)

// elementSizes are the sizes of elements in bytes.
var elementSizes = map[Type]int{Float: 4, Int32: 4, Int64: 8, Bool: 1}

var typeNames = []string{"UNDEFINED", "FLOAT", "UINT8", "INT8", "UINT16", "INT16", "INT32", "INT64",
	"STRING", "BOOL", "FLOAT16", "DOUBLE", "UINT32", "UINT64", "COMPLEX64", "COMPLEX128", "BFLOAT16"}

func (t Type) String() string {
	if t >= 0 && int(t) < len(typeNames) {
		return typeNames[t]
	}
	return fmt.Sprintf("number %d", int(t))
}

// check returns an error for an invalid graph: a value that is defined twice or used before its definition.
func (g *Graph) check() error {
	known := map[string]bool{}
	define := func(name string) error {
		if name == "" || known[name] {
			return fmt.Errorf("the value %q is defined twice, or has no name", name)
		}
		known[name] = true
		return nil
	}
	for _, in := range g.Inputs {
		if err := define(in.Name); err != nil {
			return err
		}
	}
	for _, w := range g.Weights {
		if err := errors.Join(define(w.Name), w.check()); err != nil {
			return err
		}
	}
	for _, n := range g.Nodes {
		for _, in := range n.Inputs {
			if !known[in] {
				return fmt.Errorf("node %s %q takes %q, which is not defined before it", n.Op, n.Name, in)
			}
		}
		for _, out := range n.Outputs {
			if err := define(out); err != nil {
				return err
			}
		}
	}
	for _, out := range g.Outputs {
		if !known[out.Name] {
			return fmt.Errorf("nothing computes the output %q", out.Name)
		}
	}
	return nil
}

func (t *Tensor) check() error {
	want := 1
	for _, n := range t.Shape {
		want *= n
	}
	if t.Floats != nil && t.Ints != nil {
		return fmt.Errorf("tensor %q has numbers of both kinds", t.Name)
	}
	if got := max(len(t.Floats), len(t.Ints)); got != want {
		return fmt.Errorf("tensor %q has %d elements; want %d for shape %v", t.Name, got, want, t.Shape)
	}
	return nil
}
