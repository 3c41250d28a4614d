package onnxrun

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/internal/onnx"
)

type operator struct {
	least, most int // numbers of inputs
	prepare1    func(a *attributes) compute
	outputs     int // number of computed outputs; 0: only the first
}

// attributes are the attributes of a node. It records which attributes the operator reads: an unread attribute is an
// error.
type attributes struct {
	node   *onnx.Node
	opset  int
	output int // the output of the node to compute
	asked  []string
}

// prepare checks a node and returns the function that computes one of its outputs.
func (o operator) prepare(node *onnx.Node, opset, output int) (run compute, err error) {
	defer catch(&err)
	if n := len(node.Inputs); n < o.least || n > o.most {
		return nil, fmt.Errorf("it has %d inputs; want %s", n, between(o.least, o.most))
	}
	for i := range o.least {
		if node.Inputs[i] == "" {
			return nil, fmt.Errorf("its input %d is left out", i)
		}
	}
	if output >= max(1, o.outputs) {
		return nil, fmt.Errorf("its output %d, %q, is not computed here", output, node.Outputs[output])
	}
	a := &attributes{node: node, opset: opset, output: output}
	run = o.prepare1(a)
	for _, name := range slices.Sorted(maps.Keys(node.Attributes)) {
		if !slices.Contains(a.asked, name) {
			return nil, fmt.Errorf("its attribute %q is not known here; want only %s", name, strings.Join(a.asked, ", "))
		}
	}
	return run, nil
}

func between(least, most int) string {
	switch {
	case least == most:
		return fmt.Sprint(least)
	case most >= many:
		return fmt.Sprintf("%d or more", least)
	}
	return fmt.Sprintf("%d to %d", least, most)
}

// many means no limit on the number of inputs.
const many = 1 << 30

// attribute returns an attribute, or the default if the node does not have it.
func attribute[T any](a *attributes, name string, otherwise T) T {
	a.asked = append(a.asked, name)
	got, ok := a.node.Attributes[name]
	if !ok {
		return otherwise
	}
	v, ok := got.(T)
	if !ok {
		panic(failed("its attribute %q is %s; want %s", name, kindOf(got), kindOf(otherwise)))
	}
	return v
}

// kindOf returns the name of an attribute's kind.
func kindOf(v any) string {
	switch v.(type) {
	case int:
		return "an integer"
	case float32:
		return "a number"
	case string:
		return "a text"
	case []int:
		return "a list of integers"
	case []float32:
		return "a list of numbers"
	case *onnx.Tensor:
		return "a tensor"
	}
	return "of another kind"
}

func (a *attributes) has(name string) bool { return a.node.Attributes[name] != nil }

// failure is the panic value for a node that cannot be computed.
type failure struct{ error }

func failed(format string, args ...any) failure { return failure{fmt.Errorf(format, args...)} }

// must returns a value, or panics with a failure.
func must[T any](v T, err error) T {
	if err != nil {
		panic(failure{err})
	}
	return v
}

func catch(err *error) {
	switch p := recover().(type) {
	case nil:
	case failure:
		*err = p.error
	default:
		panic(p)
	}
}

// only fails if an integer attribute is not want.
func (a *attributes) only(name string, want int) {
	if got := attribute(a, name, want); got != want {
		panic(failed("its attribute %q is %d; only %d is computed here", name, got, want))
	}
}

// flag returns an attribute with value 0 or 1.
func (a *attributes) flag(name string, otherwise int) bool {
	return attribute(a, name, otherwise) != 0
}

// word returns an attribute with one of the given values.
func (a *attributes) word(name string, words ...string) string {
	got := attribute(a, name, words[0])
	if !slices.Contains(words, got) {
		panic(failed("its attribute %q is %q; only %s are computed here", name, got, strings.Join(words, ", ")))
	}
	return got
}

func Operators() []string { return slices.Sorted(maps.Keys(operators)) }
