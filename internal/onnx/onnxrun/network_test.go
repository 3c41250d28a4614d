package onnxrun_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/onnx"
	"github.com/unravel-ml/unravel/internal/onnx/onnxrun"
)

// model is a network of nodes from the input x [N, 2, 4, 4] to y, with the initialiser w [3, 2, 3, 3].
func model(nodes ...onnx.Node) *onnx.Model {
	return &onnx.Model{Opset: 17, Graph: onnx.Graph{
		Inputs:  []onnx.Value{{Name: "x", Shape: []int{onnx.Any, 2, 4, 4}}},
		Outputs: []onnx.Value{{Name: "y"}},
		Weights: []onnx.Tensor{{Name: "w", Shape: []int{3, 2, 3, 3}, Floats: make([]float32, 54)}},
		Nodes:   nodes,
	}}
}

func node(op, name, in, out string, attributes ...any) onnx.Node {
	n := onnx.Node{Op: op, Name: name, Inputs: strings.Fields(in), Outputs: strings.Fields(out), Attributes: map[string]any{}}
	for i := 0; i < len(attributes); i += 2 {
		n.Attributes[attributes[i].(string)] = attributes[i+1]
	}
	return n
}

// New rejects an invalid network before any computation. The error names the nodes.
func TestNewErrors(t *testing.T) {
	relu := node("Relu", "r", "x", "y")
	for _, c := range []struct {
		want   string
		m      *onnx.Model
		change func(m *onnx.Model)
	}{
		{"it has operator set 8; want 9 to 20", model(relu), func(m *onnx.Model) { m.Opset = 8 }},
		{"it has no output", model(relu), func(m *onnx.Model) { m.Graph.Outputs = nil }},
		{"it has no input", model(relu), func(m *onnx.Model) { m.Graph.Inputs = nil }},
		{`it has the outputs "y", "z"; choose one of them by --output`, model(relu), func(m *onnx.Model) { m.Graph.Outputs = append(m.Graph.Outputs, onnx.Value{Name: "z"}) }},
		{`it has 2 inputs, "x", "z"; want one, the images`, model(relu), func(m *onnx.Model) { m.Graph.Inputs = append(m.Graph.Inputs, onnx.Value{Name: "z"}) }},
		{`its input "x" has element type FLOAT16; want FLOAT`, model(relu), func(m *onnx.Model) { m.Graph.Inputs[0].Type = 10 }},
		{`the value "w" is defined twice`, model(node("Relu", "r", "x", "w")), nil},
		{`its output is "y", which no node, initialiser or input gives`, model(), nil},
		{`node Relu "r" takes "missing", which no node, initialiser or input gives`, model(node("Relu", "r", "missing", "y")), nil},
		{`its nodes form a cycle: Add "a", Relu "b"`, model(node("Relu", "c", "p", "y"), node("Add", "a", "x q", "p"), node("Relu", "b", "p", "q")), nil},
		{`operators are not known here: Loop of "l1", "l2"; com.example.Relu of "own"; want operators among Abs,`,
			model(node("Loop", "l1", "x", "a"), node("Loop", "l2", "a", "b"), own(node("Relu", "own", "b", "y"))), nil},
		{`node Relu "r": it has 2 inputs; want 1`, model(node("Relu", "r", "x x", "y")), nil},
		{`node Conv "c": its attribute "group" is a text; want an integer`, model(node("Conv", "c", "x w", "y", "group", "2")), nil},
		{`node Conv "c": its attribute "strides" is [1]; want 2 integers, for images`, model(node("Conv", "c", "x w", "y", "strides", []int{1})), nil},
		{`node Conv "c": its attribute "pads" is [0 0 -1 0]; want integers from 0 to 4096`, model(node("Conv", "c", "x w", "y", "pads", []int{0, 0, -1, 0})), nil},
		{`node Relu "r": its attribute "slope" is not known here`, model(node("Relu", "r", "x", "y", "slope", 2)), nil},
		{`node MaxPool "m": its output 1, "y", is not computed here`, model(node("MaxPool", "m", "x", "z y", "kernel_shape", []int{2, 2})), nil},
		{`node ConstantOfShape "big": an array of shape [1073741824 1024] has too many elements; at most 268435456`,
			model(node("Constant", "s", "", "s", "value_ints", []int{1 << 30, 1 << 10}), node("ConstantOfShape", "big", "s", "y")), nil},
		{`node Div "d": it divides integers by zero`, model(node("Constant", "s", "", "s", "value_int", 0), node("Div", "d", "s s", "y")), nil},
	} {
		if c.change != nil {
			c.change(c.m)
		}
		must.ErrorOf(onnxrun.New(c.m, ""))(t, c.want)
	}
	must.ErrorOf(onnxrun.New(model(relu), "z"))(t, `it has no output "z"; want one of "y"`)
}

// Each operator takes the numbers of inputs that the ONNX specification states.
func TestNumbersOfInputs(t *testing.T) {
	for _, c := range []struct {
		given     int
		want, ops string
	}{
		{1, "0", "Constant"},
		{2, "1", "Abs ArgMax ArgMin AveragePool Cast Ceil ConstantOfShape Cos DepthToSpace Elu Erf Exp Flatten Floor Gelu " +
			"GlobalAveragePool GlobalMaxPool HardSigmoid HardSwish Identity LeakyRelu Log LogSoftmax MaxPool Neg Not Reciprocal " +
			"Relu Round Shape Sigmoid Sign Sin Softmax Softplus Sqrt Tanh Transpose"},
		{3, "1 to 2", "ReduceMax ReduceMean ReduceMin ReduceSum Split Squeeze Unsqueeze"},
		{4, "1 to 3", "Clip Dropout"},
		{5, "1 to 4", "Pad Resize"},
		{6, "1 to 5", "Slice"},
		{0, "1 or more", "Concat Max Min Sum"},
		{1, "2", "Add And Div Equal Expand Gather Greater GreaterOrEqual Less LessOrEqual MatMul Mul Or PRelu Pow Reshape Sub " +
			"Upsample"},
		{4, "2 to 3", "Conv ConvTranspose Gemm"},
		{2, "3", "Where"},
		{6, "5", "BatchNormalization"},
	} {
		for _, op := range strings.Fields(c.ops) {
			_, err := onnxrun.New(model(node(op, "n", strings.Repeat("x ", c.given), "y")), "")
			must.Error(t, err, fmt.Sprintf(`node %s "n": it has %d inputs; want %s`, op, c.given, c.want))
			if !strings.HasSuffix(err.Error(), "want "+c.want) {
				t.Error(err)
			}
		}
	}
}

func own(n onnx.Node) onnx.Node {
	n.Domain = "com.example"
	return n
}

// An invalid input of a node gives an error with the node and the shapes.
func TestRunErrors(t *testing.T) {
	for _, c := range []struct {
		want  string
		node  onnx.Node
		shape []int
	}{
		{`node Conv "c": its input [1 3 4 4] has 3 channels; want 2, for weights of shape [3 2 3 3]`, node("Conv", "c", "x w", "y"), []int{1, 3, 4, 4}},
		{`node Conv "c": its input: shape [1 2]; want float32 [N, C, H, W]`, node("Conv", "c", "x w", "y"), []int{1, 2}},
		{`node Conv "c": windows of 3 by 3 pixels do not fit into images of 2 by 4`, node("Conv", "c", "x w", "y"), []int{1, 2, 2, 4}},
		{`node Conv "c": its bias has shape [3 2 3 3]; want [3]`, node("Conv", "c", "x w w", "y"), []int{1, 2, 4, 4}},
		{`node Gemm "g": its inputs have shapes [1 2] and [3 2 3 3]; want matrices`, node("Gemm", "g", "x w", "y"), []int{1, 2}},
		{`node MatMul "m": shapes [4] and [3 2 3 3] do not fit together`, node("MatMul", "m", "x w", "y"), []int{4}},
		{`node Add "a": shapes [4 3] and [3 2 3 3] do not fit together`, node("Add", "a", "x w", "y"), []int{4, 3}},
		{`node Concat "c": input 1 of shape [3 2 3 3] does not fit to shape [3 2 1 1] along axis 1`, node("Concat", "c", "x w", "y"), []int{3, 2, 1, 1}},
		{`node Transpose "t": perm [0 2 1] does not permute the axes of shape [2 2]`, node("Transpose", "t", "x", "y", "perm", []int{0, 2, 1}), []int{2, 2}},
		{`node ReduceMax "r": axis 2 is out of range for a value of 2 axes`, node("ReduceMax", "r", "x", "y", "axes", []int{2}), []int{2, 2}},
	} {
		n := must.Get(onnxrun.New(model(c.node), ""))(t)
		size := 1
		for _, d := range c.shape {
			size *= d
		}
		must.ErrorOf(n.Run(t.Context(), &onnx.Tensor{Shape: c.shape, Floats: make([]float32, size)}))(t, c.want)
	}
	n := must.Get(onnxrun.New(model(node("Relu", "r", "x", "y")), ""))(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := n.Run(ctx, &onnx.Tensor{Shape: []int{1}, Floats: []float32{1}}); !errors.Is(err, context.Canceled) {
		t.Errorf("a run after the end of its context: %v", err)
	}
}

// Nodes may be in any order. Unknown operators that the output does not need have no effect. A long chain needs no deep
// recursion.
func TestOrder(t *testing.T) {
	const length = 20_000
	m := model(node("Sub", "last", fmt.Sprint("v", length, " x"), "y"), node("Loop", "beside", "x", "unused"))
	for i := length; i > 0; i-- {
		m.Graph.Nodes = append(m.Graph.Nodes, node("Identity", "", fmt.Sprint("v", i-1), fmt.Sprint("v", i)))
	}
	m.Graph.Nodes = append(m.Graph.Nodes, node("Neg", "first", "x", "v0"))
	n := must.Get(onnxrun.New(m, "y"))(t)
	y, err := n.Run(t.Context(), &onnx.Tensor{Shape: []int{2}, Floats: []float32{1, -3}})
	if err != nil || !slices.Equal(y.Floats, []float32{-2, 6}) {
		t.Errorf("%v, %v", y, err)
	}
}

// The bits of the result do not depend on the number of threads or on the axis order of the images.
func TestThreads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	data := goldenCases(t)["torch_layers_unfolded"]
	m := must.Get(onnx.Decode(data))(t)
	const n, c, h, w = 7, 2, 15, 14
	first, last := make([]float32, n*c*h*w), make([]float32, n*c*h*w)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		for k := range c {
			for p := range h * w {
				v := float32(r.NormFloat64())
				first[(i*c+k)*h*w+p], last[(i*h*w+p)*c+k] = v, v
			}
		}
	}
	var want []float32
	for _, threads := range []int{1, 2, 5} {
		runtime.GOMAXPROCS(threads)
		net := must.Get(onnxrun.New(m, ""))(t)
		y := must.Get(net.Run(t.Context(), &onnx.Tensor{Shape: []int{n, c, h, w}, Floats: first}))(t)
		z := must.Get(net.RunImages(t.Context(), &onnx.Tensor{Shape: []int{n, h, w, c}, Floats: last}))(t)
		if want == nil {
			want = y.Floats
		}
		if !slices.Equal(y.Floats, want) || !slices.Equal(z.Floats, want) {
			t.Errorf("%d threads give other codes", threads)
		}
	}
}

// No file causes a panic in the reader or in a computation.
func FuzzNetwork(f *testing.F) {
	cases := goldenCases(f)
	for _, name := range []string{"torch_shapes_opset9", "torch_shapes_opset16", "torch_layers_unfolded", "opset18_resize",
		"opset18_split", "test_gemm_all_attributes"} {
		data, ok := cases[name]
		if !ok {
			f.Fatalf("there is no network %s", name)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := onnx.Decode(data)
		if err == nil && small(m) {
			runAll(t, m)
		}
	})
}

// small reports whether all arrays of a network are small: large ones take long, even within the limits.
func small(m *onnx.Model) bool {
	large := func(n int) bool { return n < -20 || n > 20 }
	ints := func(list []int64) bool { return slices.ContainsFunc(list, func(n int64) bool { return large(int(n)) }) }
	for _, w := range m.Graph.Weights {
		if ints(w.Ints) || strings.HasPrefix(w.Name, "scale") || len(w.Floats) > 2000 {
			return false
		}
	}
	for _, n := range m.Graph.Nodes {
		for _, a := range n.Attributes {
			switch a := a.(type) {
			case int:
				if large(a) {
					return false
				}
			case []int:
				if slices.ContainsFunc(a, large) {
					return false
				}
			case *onnx.Tensor:
				if ints(a.Ints) {
					return false
				}
			}
		}
		if slices.Contains([]string{"Resize", "Upsample"}, n.Op) && len(n.Inputs) < 4 { // factors are float32
			return false
		}
	}
	return len(m.Graph.Nodes) < 60
}

// runAll computes all outputs of a network.
func runAll(t *testing.T, m *onnx.Model) {
	for _, out := range m.Graph.Outputs {
		n, err := onnxrun.New(m, out.Name)
		if err != nil {
			continue
		}
		shape, size := []int{}, 1
		for _, d := range n.Input.Shape {
			if d = max(d, 1); d > 20 {
				return
			}
			shape, size = append(shape, d), size*d
		}
		if size < 10_000 {
			n.Run(t.Context(), &onnx.Tensor{Shape: shape, Floats: make([]float32, size)})
		}
	}
}

// Golden networks with modified bytes give an error or a network.
func TestDamage(t *testing.T) {
	cases := goldenCases(t)
	r := rand.New(rand.NewPCG(5, 5))
	for _, name := range long.Sample(slices.Sorted(maps.Keys(cases)), 50) {
		for range 20 {
			data := slices.Clone(cases[name])
			for range 1 + r.IntN(4) {
				data[r.IntN(len(data))] = byte(r.IntN(256))
			}
			if m, err := onnx.Decode(data); err == nil && small(m) {
				runAll(t, m)
			}
		}
		if _, err := onnx.Decode(cases[name][:len(cases[name])/2]); err == nil {
			t.Errorf("half of %s is a network", name)
		}
	}
}
