// Package onnx writes neural networks in the ONNX format (https://onnx.ai, IR version 8): a protocol buffer of nodes,
// weights and named inputs and outputs. It knows the format, not the computations of operators.
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

// Any is a dimension of unknown size until the network runs: the number of images.
const Any = -1

// anyName is the name of Any in a file.
const anyName = "N"

// Model is a network with its origin and metadata.
type Model struct {
	Producer, Version string // the writing program
	Doc               string
	Metadata          map[string]string
	Graph             Graph
}

// Graph is a network. A node comes after the nodes that give its inputs.
type Graph struct {
	Name            string
	Nodes           []Node
	Weights         []Tensor
	Inputs, Outputs []Value
}

// Node is an operator of the standard domain, with the names of its inputs and outputs.
type Node struct {
	Op, Name        string
	Inputs, Outputs []string
	Attributes      map[string]any // int, float32, string or []int
}

// Tensor is a constant. Either Floats or Ints holds its elements in row-major order.
type Tensor struct {
	Name   string
	Shape  []int
	Floats []float32
	Ints   []int64
}

// Value is a float32 array that is an input or an output.
type Value struct {
	Name, Doc string
	Shape     []int // with Any for an unknown size
}

// check reports an invalid graph: a value that is defined twice or used before its definition.
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
