package onnxrun

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/internal/onnx"
)

type operator struct {
	minInputs, maxInputs int // numbers of inputs
	newCompute           func(a *attributes) compute
}

// attributes are the attributes of a node. It records which attributes the operator reads: an unread attribute is an
// error.
type attributes struct {
	node   *onnx.Node
	opset  int
	output int // the output of the node to compute
	known  []string
}

// prepare checks a node and returns the function that computes one of its outputs.
func (o operator) prepare(node *onnx.Node, opset, output int) (run compute, err error) {
	defer catch(&err)
	if n := len(node.Inputs); n < o.minInputs || n > o.maxInputs {
		return nil, fmt.Errorf("it has %d inputs; want %s", n, inputRange(o.minInputs, o.maxInputs))
	}
	for i := range o.minInputs {
		if node.Inputs[i] == "" {
			return nil, fmt.Errorf("its input %d is left out", i)
		}
	}
	if output > 0 && node.Op != "Split" { // the other outputs of other operators are optional, such as masks
		return nil, fmt.Errorf("its output %d, %q, is not computed here", output, node.Outputs[output])
	}
	a := &attributes{node: node, opset: opset, output: output}
	run = o.newCompute(a)
	for _, name := range slices.Sorted(maps.Keys(node.Attributes)) {
		if !slices.Contains(a.known, name) {
			return nil, fmt.Errorf("its attribute %q is not known here; want only %s", name, strings.Join(a.known, ", "))
		}
	}
	return run, nil
}

func inputRange(minimum, maximum int) string {
	switch {
	case minimum == maximum:
		return fmt.Sprint(minimum)
	case maximum >= unlimited:
		return fmt.Sprintf("%d or more", minimum)
	}
	return fmt.Sprintf("%d to %d", minimum, maximum)
}

// unlimited means no limit on the number of inputs.
const unlimited = 1 << 30

// attribute returns an attribute, or the default if the node does not have it.
func attribute[T any](a *attributes, name string, fallback T) T {
	a.known = append(a.known, name)
	raw, ok := a.node.Attributes[name]
	if !ok {
		return fallback
	}
	v, ok := raw.(T)
	if !ok {
		panic(failf("its attribute %q is %s; want %s", name, kindOf(raw), kindOf(fallback)))
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

func failf(format string, args ...any) failure { return failure{fmt.Errorf(format, args...)} }

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

// require fails if an integer attribute is not want.
func (a *attributes) require(name string, want int) {
	if got := attribute(a, name, want); got != want {
		panic(failf("its attribute %q is %d; only %d is computed here", name, got, want))
	}
}

// flag returns an attribute with value 0 or 1.
func (a *attributes) flag(name string, fallback int) bool {
	return attribute(a, name, fallback) != 0
}

// choice returns an attribute with one of the given values.
func (a *attributes) choice(name string, words ...string) string {
	got := attribute(a, name, words[0])
	if !slices.Contains(words, got) {
		panic(failf("its attribute %q is %q; only %s are computed here", name, got, strings.Join(words, ", ")))
	}
	return got
}

func Operators() []string { return slices.Sorted(maps.Keys(operators)) }
