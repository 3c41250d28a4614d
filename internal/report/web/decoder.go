package web

import (
	"math"

	"github.com/unravel-ml/unravel/train/weights"
)

// Decoder is a network as a list of operations of ONNX (operator set 17), for one row at a time.
type Decoder struct {
	Arguments  []int       `json:"arguments"` // shape of the input, such as a code [1, d]
	Input      string      `json:"input"`
	Output     string      `json:"output"`
	Operations []Operation `json:"operations"`
	Constants  []Constant  `json:"constants"`
}

// Operation computes one array from others.
type Operation struct {
	Name       string         `json:"op"`
	Inputs     []string       `json:"in"`
	Output     string         `json:"out"`
	Attributes map[string]any `json:"with,omitempty"`
}

// Constant is a named array.
type Constant struct {
	Name   string `json:"name"`
	Values Array  `json:"values"`
}

// NewDecoder returns a network with its large arrays in half precision.
func NewDecoder(n *weights.Operations) *Decoder {
	d := &Decoder{Input: n.Input, Output: n.Output}
	for _, size := range n.Arguments {
		d.Arguments = append(d.Arguments, max(size, 1)) // -1: the number of rows
	}
	for _, o := range n.List {
		d.Operations = append(d.Operations, Operation{Name: o.Name, Inputs: o.Inputs, Output: o.Output, Attributes: o.Attributes})
	}
	for _, c := range n.Constants {
		d.Constants = append(d.Constants, newConstant(c))
	}
	return d
}

func newConstant(c weights.Constant) Constant {
	shape := append([]int{}, c.Shape...) // a single number has shape [], not null
	switch {
	case c.Ints != nil:
		ints := make([]int, len(c.Ints))
		for i, v := range c.Ints {
			ints[i] = int(v)
		}
		return Constant{c.Name, Integers(ints, shape...)}
	case halvable(c.Floats):
		return Constant{c.Name, halves(c.Floats, shape...)}
	}
	return Constant{c.Name, Floats(c.Floats, shape...)}
}

// An array is in half precision if it has more elements than fewElements and its largest element lies in this range.
// The range keeps all 11 bits of the largest element.
const (
	fewElements  = 256
	smallestHalf = 1. / (1 << 13)
	largestHalf  = 65504
)

// halvable reports whether half precision suits numbers.
func halvable(values []float32) bool {
	most := 0.0
	for _, v := range values {
		most = max(most, math.Abs(float64(v))) // NaN if a value is NaN
	}
	return len(values) > fewElements && most >= smallestHalf && most <= largestHalf
}
