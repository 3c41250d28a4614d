package weights

import "fmt"

// Operations is a network as a list of ONNX operations (operator set 17, version 8 of the format). It is for programs
// that compute the network themselves, such as the HTML page of a run. Operations are in topological order.
type Operations struct {
	Input     string // name of the network's input, with shape Arguments
	Output    string
	Arguments []int // -1: number of rows
	Results   []int // shape of the output
	List      []Operation
	Constants []Constant

	// Products is the number of multiplications per row in convolutions, dense layers and matrix products.
	Products int
}

// Operation computes an array from other arrays.
type Operation struct {
	Name       string // ONNX name of the operation
	Inputs     []string
	Output     string
	Attributes map[string]any // values: int, float32, string or []int
}

// Constant is an array that operations use. Its elements are in Floats or in Ints, in row-major order.
type Constant struct {
	Name   string
	Shape  []int
	Floats []float32
	Ints   []int64
}

// Operations returns a part of the model, as [Source.WriteONNX] writes it in the layout [Native]. A decoder maps codes
// [N, d] to images [N, H, W, C] with pixels in [0, 1], or any numbers if the data set is real-valued.
func (s *Source) Operations(p Part) (*Operations, error) {
	t, err := s.trace(p)
	if err != nil {
		return nil, err
	}
	x := newTranslator(t)
	if err := catchFailure(func() { x.translate(s, p, Native) }); err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	in, out := x.graph.Inputs[0], x.graph.Outputs[0]
	o := &Operations{Input: in.Name, Output: out.Name, Arguments: in.Shape, Results: out.Shape, Products: t.products()}
	for _, n := range x.graph.Nodes {
		o.List = append(o.List, Operation{Name: n.Op, Inputs: n.Inputs, Output: n.Outputs[0], Attributes: n.Attributes})
	}
	for _, w := range x.graph.Weights {
		o.Constants = append(o.Constants, Constant(w))
	}
	return o, nil
}

// products counts the multiplications per row.
func (t *trace) products() (n int) {
	for i := range t.steps {
		s := &t.steps[i]
		switch s.operation {
		case "convolution": // filters [k, k, in, out] at every pixel of the output
			n += elements(t.steps[s.in[1]].shape) * elements(s.shape[1:3])
		case "transposed convolution": // filters [k, k, out, in] at every pixel of the input
			n += elements(t.steps[s.in[1]].shape) * elements(t.steps[s.in[0]].shape[1:3])
		case "dense":
			n += elements(t.steps[s.in[1]].shape)
		case "linAlgBinOp": // [rows, k] times [k, columns]
			a := t.steps[s.in[0]].shape
			n += elements(s.shape) * abs(a[len(a)-1])
		}
	}
	return n
}

// elements returns the product of sizes. Sizes that depend on the number of images count as for one image.
func elements(shape []int) int {
	n := 1
	for _, k := range shape {
		n *= abs(k)
	}
	return n
}

func abs(n int) int { return max(n, -n) }
