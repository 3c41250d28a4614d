package onnxrun_test

import (
	"archive/zip"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/onnx"
	"github.com/unravel-ml/unravel/internal/onnx/onnxrun"
)

// goldenCases reads the networks of testdata/operators.zip; see the README there.
func goldenCases(t testing.TB) map[string][]byte {
	t.Helper()
	archive := must.Get(zip.OpenReader("testdata/operators.zip"))(t)
	defer archive.Close()
	cases := map[string][]byte{}
	for _, f := range archive.File {
		r := must.Get(f.Open())(t)
		data := must.Get(io.ReadAll(r))(t)
		cases[strings.TrimSuffix(f.Name, ".onnx")] = data
	}
	return cases
}

// weight returns an initialiser.
func weight(m *onnx.Model, name string) *onnx.Tensor {
	i := slices.IndexFunc(m.Graph.Weights, func(w onnx.Tensor) bool { return w.Name == name })
	return &m.Graph.Weights[i]
}

// Operators and networks from other programs give the values of these programs.
func TestOperators(t *testing.T) {
	seen := map[string]bool{}
	for name, data := range goldenCases(t) {
		t.Run(name, func(t *testing.T) {
			m := must.Get(onnx.Decode(data))(t)
			for _, n := range m.Graph.Nodes {
				seen[n.Op] = true
			}
			n := must.Get(onnxrun.New(m, ""))(t)
			y := must.Get(n.Run(t.Context(), weight(m, "test.given")))(t)
			if err := compare(y, weight(m, "test.want")); err != nil {
				t.Error(err)
			}
		})
	}
	for _, op := range onnxrun.Operators() {
		if !seen[op] {
			t.Errorf("no network has operator %s", op)
		}
	}
}

// compare checks that two tensors agree within 2e-6 times the largest absolute element.
func compare(got, want *onnx.Tensor) error {
	if !slices.Equal(got.Shape, want.Shape) || len(got.Floats) != len(want.Floats) || !slices.Equal(got.Ints, want.Ints) {
		return fmt.Errorf("shape %v, integers %v; want %v, %v", got.Shape, got.Ints, want.Shape, want.Ints)
	}
	scale := 0.0
	for _, v := range want.Floats {
		if !math.IsInf(float64(v), 0) {
			scale = max(scale, math.Abs(float64(v)))
		}
	}
	for i, v := range want.Floats {
		g := got.Floats[i]
		if g != v && !(math.Abs(float64(g)-float64(v)) <= 2e-6*scale) {
			return fmt.Errorf("element %d of shape %v is %v; want %v", i, want.Shape, g, v)
		}
	}
	return nil
}

// tensor reads a text such as "f2x3:1 2 3 4 5 6": float32 or integers (i), the shape and the elements.
func tensor(t *testing.T, text string) onnx.Tensor {
	t.Helper()
	head, elements, _ := strings.Cut(text, ":")
	x := onnx.Tensor{Shape: []int{}}
	number := func(s string) float64 {
		return must.Get(strconv.ParseFloat(s, 64))(t)
	}
	for _, d := range strings.FieldsFunc(head[1:], func(r rune) bool { return r == 'x' }) {
		x.Shape = append(x.Shape, int(number(d)))
	}
	if head[0] == 'i' {
		x.Ints = []int64{}
	}
	for _, e := range strings.Fields(elements) {
		if head[0] == 'i' {
			x.Ints = append(x.Ints, int64(number(e)))
		} else {
			x.Floats = append(x.Floats, float32(number(e)))
		}
	}
	return x
}

// written is the inverse of tensor.
func written(x *onnx.Tensor) string {
	kind, elements := "f", fmt.Sprint(x.Floats)
	if x.Ints != nil {
		kind, elements = "i", fmt.Sprint(x.Ints)
	}
	return kind + strings.ReplaceAll(strings.Trim(fmt.Sprint(x.Shape), "[]"), " ", "x") + ":" + strings.Trim(elements, "[]")
}

// Operators on small arrays give known elements, and errors for arrays that do not fit. Inputs are separated by |.
func TestSmallArrays(t *testing.T) {
	type attributes = map[string]any
	for _, c := range []struct {
		op         string
		opset      int // 0: 17
		attributes attributes
		inputs     string
		want       string // the result, or a part of the error
	}{
		{"Add", 0, nil, "i2:1 2|i2:3 5", "i2:4 7"},
		{"Add", 0, nil, "i2:1 2|f2:3 5", "one input has integers and the other float32"},
		{"Add", 0, nil, "f:1|f:2.5", "f:3.5"},
		{"Sub", 0, nil, "i2:1 2|i:5", "i2:-4 -3"},
		{"Sub", 0, nil, "f2:1 2|f:0.5", "f2:0.5 1.5"},
		{"Mul", 0, nil, "i2x1:2 3|i2:5 7", "i2x2:10 14 15 21"},
		{"Div", 0, nil, "i4:7 -7 7 -7|i4:2 2 -2 -2", "i4:3 -3 -3 3"},
		{"Pow", 0, nil, "i:1|i:2", "an unsupported element type"},
		{"Sum", 0, nil, "f2:1 2|f2:3 4|f:10", "f2:14 16"},
		{"Sum", 0, nil, "i:1|i:2", "an unsupported element type"},
		{"Max", 0, nil, "i3:1 5 2|i3:4 2 2", "i3:4 5 2"},
		{"Min", 0, nil, "i3:1 5 2|i3:4 2 2", "i3:1 2 2"},
		{"And", 0, nil, "i4:0 0 1 1|i4:0 1 0 1", "i4:0 0 0 1"},
		{"And", 0, nil, "f:1|f:1", "an unsupported element type"},
		{"Or", 0, nil, "i4:0 0 1 1|i4:0 1 0 1", "i4:0 1 1 1"},
		{"Not", 0, nil, "i3:0 1 2", "i3:1 0 0"},
		{"Not", 0, nil, "f:1", "input 0 has float32; want truth values"},
		{"Equal", 0, nil, "i3:1 2 3|i:2", "i3:0 1 0"},
		{"Equal", 0, nil, "f3:1 2 3|f:2", "i3:0 1 0"},
		{"Equal", 0, nil, "f3:1 2 3|i:2", "one input has integers"},
		{"Greater", 0, nil, "i3:1 2 3|i:2", "i3:0 0 1"},
		{"Greater", 0, nil, "f3:1 2 3|f:2", "i3:0 0 1"},
		{"GreaterOrEqual", 0, nil, "i3:1 2 3|i:2", "i3:0 1 1"},
		{"GreaterOrEqual", 0, nil, "f3:1 2 3|f:2", "i3:0 1 1"},
		{"Less", 0, nil, "i3:1 2 3|i:2", "i3:1 0 0"},
		{"Less", 0, nil, "f3:1 2 3|f:2", "i3:1 0 0"},
		{"LessOrEqual", 0, nil, "i3:1 2 3|i:2", "i3:1 1 0"},
		{"LessOrEqual", 0, nil, "f3:1 2 3|f:2", "i3:1 1 0"},
		{"Where", 0, nil, "i2x1:1 0|i2:1 2|i:9", "i2x2:1 2 9 9"},
		{"Where", 0, nil, "i2:1 0|f2:1 2|f2:3 4", "f2:1 4"},
		{"Where", 0, nil, "i2:1 0|f2:1 2|i2:3 4", "its inputs have other types"},
		{"Where", 0, nil, "f2:1 0|f2:1 2|f2:3 4", "its inputs have other types"},
		{"PRelu", 0, nil, "f3:-2 0 2|f:0.25", "f3:-0.5 0 2"},
		{"Sign", 0, nil, "f3:-2 0 2", "f3:-1 0 1"},
		{"LeakyRelu", 0, nil, "f3:-2 0 2", "f3:-0.02 0 2"},
		{"Elu", 0, attributes{"alpha": float32(2)}, "f2:-1e9 3", "f2:-2 3"},
		{"HardSigmoid", 0, nil, "f4:-5 -1 0 5", "f4:0 0.3 0.5 1"},
		{"HardSwish", 0, nil, "f5:-4 0 1.5 3 6", "f5:-0 0 1.125 3 6"},
		{"Gelu", 20, attributes{"approximate": "cubic"}, "f:1", `is "cubic"; only none, tanh are computed here`},
		{"Clip", 0, nil, "f3:-2 0 2|f:-1|f:1", "f3:-1 0 1"},
		{"Clip", 0, nil, "f3:-2 0 2|f1:-1", "f3:-1 0 2"},
		{"Clip", 0, nil, "f3:-2 0 2|f2:-1 1", "limit 0 has shape [2]; want one float32"},
		{"Clip", 0, nil, "f3:-2 0 2|f:-1|i:1", "limit 1 has shape []; want one float32"},
		{"Clip", 10, attributes{"min": float32(-1), "max": float32(1)}, "f3:-2 0 2", "f3:-1 0 1"},
		{"Dropout", 0, nil, "f2:1 2|f:0.5|i:0", "f2:1 2"},
		{"Dropout", 0, nil, "f2:1 2|f:0.5|i:1", "it is in training mode"},
		{"Cast", 0, attributes{"to": 7}, "f4:2.7 -2.7 0.2 0", "i4:2 -2 0 0"},
		{"Cast", 0, attributes{"to": 6}, "i2:2 -2", "i2:2 -2"},
		{"Cast", 0, attributes{"to": 9}, "f4:2.7 -0.7 0.2 0", "i4:1 1 1 0"},
		{"Cast", 0, attributes{"to": 9}, "i3:2 -2 0", "i3:1 1 0"},
		{"Cast", 0, attributes{"to": 1}, "i2:2 -2", "f2:2 -2"},
		{"Cast", 0, attributes{"to": 1}, "f2:2.5 -2", "f2:2.5 -2"},
		{"Cast", 0, attributes{"to": 8}, "f:1", "it casts to STRING; want FLOAT, INT32, INT64 or BOOL"},
		{"Reshape", 0, nil, "f2x3:1 2 3 4 5 6|i2:3 -1", "f3x2:1 2 3 4 5 6"},
		{"Reshape", 0, nil, "f2x3:1 2 3 4 5 6|i3:0 1 0", "takes size 2 of shape [2 3]"},
		{"Reshape", 0, nil, "f2x3:1 2 3 4 5 6|i2:0 3", "f2x3:1 2 3 4 5 6"},
		{"Reshape", 0, nil, "f2x3:1 2 3 4 5 6|i2:4 -1", "shape [4 -1] is not possible for the 6 elements"},
		{"Reshape", 0, nil, "f2x3:1 2 3 4 5 6|i2:2 2", "shape [2 2] is not possible for the 6 elements"},
		{"Reshape", 0, nil, "f2x3:1 2 3 4 5 6|i2:-1 -1", "is not possible for 6 elements"},
		{"Reshape", 0, nil, "f2x3:1 2 3 4 5 6|i2:-2 -3", "is not possible for 6 elements"},
		{"Reshape", 0, attributes{"allowzero": 1}, "f0x3:|i2:3 0", "f3x0:"},
		{"Reshape", 0, attributes{"allowzero": 1}, "f0x3:|i2:0 -1", "shape [0 -1] is not possible"},
		{"Flatten", 0, nil, "i2x1x3:1 2 3 4 5 6", "i2x3:1 2 3 4 5 6"},
		{"Flatten", 0, attributes{"axis": -1}, "i2x1x3:1 2 3 4 5 6", "i2x3:1 2 3 4 5 6"},
		{"Flatten", 0, attributes{"axis": 0}, "i2x1:1 2", "i1x2:1 2"},
		{"Flatten", 0, attributes{"axis": 2}, "i2x1:1 2", "i2x1:1 2"},
		{"Flatten", 0, attributes{"axis": 3}, "i2x1:1 2", "axis 3 is out of range for shape [2 1]"},
		{"Flatten", 0, attributes{"axis": -3}, "i2x1:1 2", "axis -3 is out of range"},
		{"Squeeze", 0, nil, "f1x2x1:3 4", "f2:3 4"},
		{"Squeeze", 0, nil, "f1x2x1:3 4|i1:-1", "f1x2:3 4"},
		{"Squeeze", 0, nil, "f1x2x1:3 4|i1:1", "axis 1 of shape [1 2 1] has size 2; want 1"},
		{"Squeeze", 12, attributes{"axes": []int{0}}, "f1x2x1:3 4", "f2x1:3 4"},
		{"Unsqueeze", 0, nil, "f2:3 4|i2:0 -1", "f1x2x1:3 4"},
		{"Unsqueeze", 0, nil, "f2:3 4|i2:0 -3", "name an axis twice"},
		{"Unsqueeze", 12, attributes{"axes": []int{1}}, "f2:3 4", "f2x1:3 4"},
		{"Shape", 0, attributes{"start": 1}, "f2x3x0:", "i2:3 0"},
		{"Shape", 0, attributes{"start": -3, "end": -1}, "f2x3x0:", "i2:2 3"},
		{"Shape", 0, attributes{"start": -9, "end": 9}, "f2x3x0:", "i3:2 3 0"},
		{"Shape", 0, attributes{"start": 2, "end": 1}, "f2x3x0:", "i0:"},
		{"Constant", 0, attributes{"value_float": float32(2.5)}, "", "f:2.5"},
		{"Constant", 0, attributes{"value_floats": []float32{2.5, 1}}, "", "f2:2.5 1"},
		{"Constant", 0, attributes{"value_int": 2}, "", "i:2"},
		{"Constant", 0, attributes{"value_ints": []int{2, 3}}, "", "i2:2 3"},
		{"Constant", 0, nil, "", "it has no value of numbers"},
		{"ConstantOfShape", 0, nil, "i2:1 2", "f1x2:0 0"},
		{"ConstantOfShape", 0, nil, "f2:1 2", "the shape has shape [2] of float32"},
		{"ConstantOfShape", 0, nil, "i1x2:1 2", "the shape has shape [1 2]"},
		{"Expand", 0, nil, "i2x1:1 2|i2:1 2", "i2x2:1 1 2 2"},
		{"Expand", 0, nil, "i2:1 2|i1:3", "shapes [2] and [3] do not fit together"},
		{"DepthToSpace", 0, attributes{"blocksize": 2}, "f1x4x1x1:1 2 3 4", "f1x1x2x2:1 2 3 4"},
		{"DepthToSpace", 0, attributes{"blocksize": 2}, "f1x6x1x1:1 2 3 4 5 6", "blocks of 2 by 2 pixels do not divide 6 channels"},
		{"DepthToSpace", 0, nil, "f1x4x1x1:1 2 3 4", "blocks of 0 by 0 pixels"},
		{"Transpose", 0, nil, "i2x3:1 2 3 4 5 6", "i3x2:1 4 2 5 3 6"},
		{"Transpose", 0, attributes{"perm": []int{0, 0}}, "i1x1:1", "does not permute the axes"},
		{"Concat", 0, attributes{"axis": -1}, "i2x1:1 2|i2x2:3 4 5 6", "i2x3:1 3 4 2 5 6"},
		{"Concat", 0, attributes{"axis": 0}, "i1:1|f1:2", "input 1 of shape [1] does not fit"},
		{"Concat", 0, attributes{"axis": 0}, "i1:1|i1x1:2", "input 1 of shape [1 1] does not fit"},
		{"Slice", 0, nil, "i5:0 1 2 3 4|i1:1|i1:-1", "i3:1 2 3"},
		{"Slice", 0, nil, "i5:0 1 2 3 4|i1:-2|i1:-9|i1:0|i1:-2", "i2:3 1"},
		{"Slice", 0, nil, "i5:0 1 2 3 4|i1:9|i1:-9|i1:0|i1:-1", "i5:4 3 2 1 0"},
		{"Slice", 0, nil, "i5:0 1 2 3 4|i1:-9|i1:9|i1:0|i1:9", "i1:0"},
		{"Slice", 0, nil, "i5:0 1 2 3 4|i1:3|i1:3", "i0:"},
		{"Slice", 0, nil, "i5:0 1 2 3 4|i1:0|i1:3|i1:0|i1:0", "a step is 0"},
		{"Slice", 0, nil, "i5:0 1 2 3 4|i1:0|i2:3 4", "it has 1 starts, 2 ends, 1 axes and 1 steps; want as many of each"},
		{"Slice", 0, nil, "i5:0 1 2 3 4|i1:0", "it has no starts and ends"},
		{"Slice", 0, nil, "f2x2:1 2 3 4|i2:0 0|i2:1 1|i2:1 -1", "name an axis twice"},
		{"Slice", 9, attributes{"starts": []int{1}, "ends": []int{2}, "axes": []int{1}}, "f2x2:1 2 3 4", "f2x1:2 4"},
		{"Gather", 0, nil, "i3:5 6 7|i2:-1 0", "i2:7 5"},
		{"Gather", 0, attributes{"axis": 1}, "i2x2:5 6 7 8|i:1", "i2:6 8"},
		{"Gather", 0, nil, "i3:5 6 7|i1:-3", "i1:5"},
		{"Gather", 0, nil, "i3:5 6 7|i1:-4", "index -4 is out of range for axis 0 of shape [3]"},
		{"Gather", 0, nil, "i3:5 6 7|i1:3", "index 3 is out of range"},
		{"Gather", 0, nil, "i3:5 6 7|f1:1", "its indices are float32; want integers"},
		{"Gather", 0, nil, "i:5|i:0", "axis 0 is out of range for a value of 0 axes"},
		{"Pad", 0, nil, "i2:5 6|i2:1 2", "i5:0 5 6 0 0"},
		{"Pad", 0, nil, "i2:5 6|i2:1 0|i:3", "i3:3 5 6"},
		{"Pad", 0, nil, "f2:5 6|i2:-1 1|f1:3", "f2:6 3"},
		{"Pad", 0, nil, "f2:5 6|i2:-1 1|f2:3 4", "the number to pad with has shape [2]"},
		{"Pad", 0, nil, "f2:5 6|i2:-1 -1", "f0:"},
		{"Pad", 0, nil, "f2:5 6|i2:-2 0", "f0:"},
		{"Pad", 0, nil, "f2:5 6|i2:-1 -2", "pads -1 and -2 of mode constant are not possible for 2 elements"},
		{"Pad", 0, nil, "f2:5 6|i2:-3 4", "pads -3 and 4 of mode constant are not possible for 2 elements"},
		{"Pad", 0, nil, "f2:5 6|i1:1", "it has 1 pads; want 2, for both ends of 1 axes"},
		{"Pad", 0, attributes{"mode": "edge"}, "f2:5 6|i2:1 2", "f5:5 5 6 6 6"},
		{"Pad", 0, attributes{"mode": "edge"}, "f0:|i2:1 0", "of mode edge are not possible for 0 elements"},
		{"Pad", 0, attributes{"mode": "reflect"}, "f3:5 6 7|i2:2 2", "f7:7 6 5 6 7 6 5"},
		{"Pad", 0, attributes{"mode": "reflect"}, "f3:5 6 7|i2:3 0", "pads 3 and 0 of mode reflect are not possible"},
		{"Pad", 18, nil, "f1x2:5 6|i2:1 0||i1:-1", "f1x3:0 5 6"},
		{"Pad", 10, attributes{"pads": []int{0, 1}, "value": float32(9)}, "f1:5", "f2:5 9"},
		{"Split", 0, nil, "i4:1 2 3 4|i2:1 3", "i1:1"},
		{"Split", 0, nil, "i4:1 2 3 4", "i2:1 2"},
		{"Split", 0, nil, "i4:1 2 3 4|i2:1 2", "sizes [1 2] do not divide axis 0 of shape [4] into 2 outputs"},
		{"Split", 0, nil, "i4:1 2 3 4|i2:-1 5", "sizes [-1 5] do not divide axis 0"},
		{"Split", 0, nil, "i1:1", "it has 2 outputs for 2 parts of axis 0 of shape [1]"},
		{"Split", 18, attributes{"num_outputs": 2}, "i3:1 2 3", "i2:1 2"},
		{"Split", 18, attributes{"num_outputs": 3}, "i3:1 2 3", "it has 2 outputs for 3 parts"},
		{"Split", 12, attributes{"split": []int{3, 1}}, "i4:1 2 3 4", "i3:1 2 3"},
		{"ArgMax", 0, nil, "f4:1 3 3 2", "i1:1"},
		{"ArgMin", 0, attributes{"keepdims": 0}, "f4:2 1 1 2", "i:1"},
		{"ArgMax", 0, attributes{"axis": 1}, "f1x0:", "axis 1 of shape [1 0] is empty"},
		{"ArgMax", 0, attributes{"select_last_index": 1}, "f1:1", "only 0 is computed here"},
		{"ReduceSum", 0, nil, "f2x2:1 2 3 4|i1:0", "f1x2:4 6"},
		{"ReduceSum", 0, attributes{"keepdims": 0}, "f2x2:1 2 3 4", "f:10"},
		{"ReduceSum", 0, attributes{"noop_with_empty_axes": 1}, "f2x2:1 2 3 4", "f2x2:1 2 3 4"},
		{"ReduceSum", 0, nil, "i2:1 2", "input 0 has integers; want float32"},
		{"ReduceSum", 13, nil, "f2x2:1 2 3 4|i1:0", "f1x2:4 6"},
		{"ReduceSum", 12, attributes{"axes": []int{0}}, "f2x2:1 2 3 4", "f1x2:4 6"},
		{"ReduceMax", 18, nil, "f2x2:1 2 4 3|i1:1", "f2x1:2 4"},
		{"ReduceMean", 18, nil, "f2x2:1 2 4 3|i1:1", "f2x1:1.5 3.5"},
		{"ReduceMax", 0, attributes{"axes": []int{-1}}, "f2x2:1 2 4 3", "f2x1:2 4"},
		{"ReduceMin", 18, nil, "f2x2:1 2 4 3|i1:1", "f2x1:1 3"},
		{"GlobalMaxPool", 0, nil, "f1x1x0x1:", "without pixels"},
		{"Softmax", 0, nil, "f:1", "its input is a single number"},
		{"Softmax", 0, nil, "f0x2:", "f0x2:"},
		{"Softmax", 12, nil, "f1x2x2:0 0 0 0", "f1x2x2:0.25 0.25 0.25 0.25"},
		{"Softmax", 0, attributes{"axis": 1}, "f1x2x2:0 0 0 0", "f1x2x2:0.5 0.5 0.5 0.5"},
		{"Gemm", 0, nil, "f1x2:1 2|f3x2:1 2 3 4 5 6", "its input has 2 columns; want 3, for weights of shape [3 2]"},
		{"Gemm", 0, attributes{"transB": 1, "alpha": float32(2)}, "f1x2:1 2|f3x2:1 2 3 4 5 6", "f1x3:10 22 34"},
		{"Gemm", 0, attributes{"transA": 1, "beta": float32(3)}, "f2x1:1 2|f2x1:3 4|f:5", "f1x1:26"},
		{"Gemm", 0, nil, "f1x1:1|f1x1:3|f2x1:5 6", "its input C has shape [2 1]; want a shape that broadcasts to [1 1]"},
		{"Gemm", 0, nil, "f1x0:|f0x2:|f2:5 6", "f1x2:5 6"},
		{"MatMul", 0, nil, "f2:1 2|f2:3 4", "f:11"},
		{"MatMul", 0, nil, "f2:1 2|f2x1:3 4", "f1:11"},
		{"MatMul", 0, nil, "f:1|f1:2", "an input is a single number; want matrices"},
		{"MatMul", 0, nil, "f2x0:|f0x1:", "f2x1:0 0"},
		{"BatchNormalization", 0, nil, "f1:1|f1:1|f1:1|f1:1|f1:1", "want at least two axes"},
		{"BatchNormalization", 0, nil, "f1x1:1|f1:1|f1:1|f2:1 1|f1:1", "its input 3 has shape [2]; want [1]"},
		{"MaxPool", 0, nil, "f1x1x2x2:1 2 3 4", `it has no attribute "kernel_shape"`},
		{"MaxPool", 0, attributes{"kernel_shape": []int{2, 2}, "auto_pad": "VALID"}, "f1x1x2x2:1 2 3 4", "f1x1x1x1:4"},
		{"AveragePool", 0, attributes{"kernel_shape": []int{2, 3}, "count_include_pad": 1}, "f1x1x3x4:1 1 1 1 1 1 1 1 1 1 1 1",
			"f1x1x2x2:1 1 1 1"},
		{"Conv", 0, attributes{"kernel_shape": []int{2, 2}}, "f1x1x1x1:1|f1x1x1x1:2", "kernel_shape [2 2] does not suit weights"},
		{"Conv", 0, attributes{"group": 2}, "f1x1x1x1:1|f1x1x1x1:2", "weights of shape [1 1 1 1] do not suit 2 groups"},
		{"Conv", 0, attributes{"group": 0}, "f1x1x1x1:1|f1x1x1x1:2", "do not suit 0 groups"},
		{"Conv", 0, attributes{"group": 2}, "f1x2x1x1:3 5|f2x1x1x1:2 7|f2:1 2", "f1x2x1x1:7 37"},
		{"Conv", 0, nil, "f0x1x1x1:|f1x1x1x1:2", "f0x1x1x1:"},
		{"ConvTranspose", 0, attributes{"output_padding": []int{-1, 0}}, "f1x1x1x1:1|f1x1x1x1:2", "want two integers of at least 0"},
		{"ConvTranspose", 0, attributes{"strides": []int{3, 3}, "output_padding": []int{1, 2}}, "f1x1x1x1:1|f1x1x2x2:1 2 3 4",
			"f1x1x3x4:1 2 0 0 3 4 0 0 0 0 0 0"},
		{"ConvTranspose", 0, attributes{"output_padding": []int{0}}, "f1x1x1x1:1|f1x1x1x1:2", "want two integers"},
		{"ConvTranspose", 0, attributes{"auto_pad": "SAME_UPPER"}, "f1x1x1x1:1|f1x1x1x1:2", "auto_pad SAME_UPPER of a transposed convolution"},
		{"ConvTranspose", 0, attributes{"pads": []int{1, 1, 0, 0}}, "f1x1x1x1:1|f1x1x1x1:2", "only for square kernels larger than their pads"},
		{"ConvTranspose", 0, attributes{"pads": []int{0, 0, 1, 1}}, "f1x1x1x1:1|f1x1x1x1:2", "the result would have 0 pixels along a side"},
		{"ConvTranspose", 0, nil, "f1x1x1x1:3|f1x1x1x1:2|f1:1", "f1x1x1x1:7"},
		{"Resize", 0, nil, "f1x2:1 2||f2:1 2", "f1x4:1 1 2 2"},
		{"Resize", 0, attributes{"antialias": 0, "exclude_outside": 0, "keep_aspect_ratio_policy": "stretch"}, "f1x2:1 2||f2:1 2", "f1x4:1 1 2 2"},
		{"Resize", 0, attributes{"antialias": 1}, "f1x2:1 2||f2:1 2", `its attribute "antialias" is 1; only 0 is computed here`},
		{"Resize", 0, attributes{"exclude_outside": 1}, "f1x2:1 2||f2:1 2", `its attribute "exclude_outside" is 1; only 0 is computed here`},
		{"MaxPool", 0, attributes{"kernel_shape": []int{2, 2}, "storage_order": 0}, "f1x1x2x2:1 2 3 4", "f1x1x1x1:4"},
		{"MaxPool", 0, attributes{"kernel_shape": []int{2, 2}, "storage_order": 1}, "f1x1x2x2:1 2 3 4", `its attribute "storage_order" is 1; only 0`},
		{"BatchNormalization", 0, attributes{"training_mode": 0, "epsilon": float32(0)}, "f1x1:3|f1:2|f1:1|f1:1|f1:4", "f1x1:3"},
		{"BatchNormalization", 0, attributes{"training_mode": 1}, "f1x1:3|f1:2|f1:1|f1:1|f1:4", `its attribute "training_mode" is 1; only 0`},
		{"ConvTranspose", 0, attributes{"group": 1}, "f1x1x1x1:3|f1x1x1x1:2", "f1x1x1x1:6"},
		{"ConvTranspose", 0, attributes{"group": 2}, "f1x1x1x1:3|f1x1x1x1:2", `its attribute "group" is 2; only 1`},
		{"ArgMax", 0, attributes{"select_last_index": 0}, "f2:1 2", "i1:1"},
		{"Resize", 0, nil, "f1x2:1 2||f2:1 0", "its factors are [1 0]"},
		{"Resize", 0, nil, "f1x2:1 2||f2:1 0.25", "it resizes shape [1 2] to [1 0]"},
		{"Resize", 0, nil, "f1x2:1 2|||i2:1 0", "it resizes to [1 0]"},
		{"Resize", 0, nil, "f1x2:1 2|||i2:1 1", "f1x1:1"},
		{"Resize", 0, nil, "f1x2:1 2||f1:2", "it has neither factors nor sizes, one for each axis"},
		{"Resize", 0, attributes{"mode": "linear", "coordinate_transformation_mode": "align_corners"}, "f3:1 2 3|||i1:5", "f5:1 1.5 2 2.5 3"},
		{"Resize", 0, attributes{"mode": "linear", "coordinate_transformation_mode": "align_corners"}, "f3:1 2 3|||i1:1", "f1:1"},
		{"Resize", 0, attributes{"mode": "linear", "coordinate_transformation_mode": "pytorch_half_pixel"}, "f3:1 2 3|||i1:1", "f1:1"},
		{"Resize", 0, attributes{"mode": "linear"}, "f3:1 2 3|||i1:1", "f1:2"},
	} {
		n := onnx.Node{Op: c.op, Outputs: []string{"y", "z"}, Attributes: c.attributes}
		if c.op != "Split" {
			n.Outputs = n.Outputs[:1]
		}
		m := model()
		m.Opset = cmp.Or(c.opset, 17)
		for i, text := range strings.Split(c.inputs, "|") {
			if text == "" {
				n.Inputs = append(n.Inputs, "")
				continue
			}
			w := tensor(t, text)
			w.Name = fmt.Sprint("a", i)
			m.Graph.Weights, n.Inputs = append(m.Graph.Weights, w), append(n.Inputs, w.Name)
		}
		if c.inputs == "" {
			n.Inputs = nil
		}
		m.Graph.Nodes = []onnx.Node{n}
		run, err := onnxrun.New(m, "")
		got := ""
		if err == nil {
			var y *onnx.Tensor
			if y, err = run.Run(t.Context(), &onnx.Tensor{Shape: []int{0, 2, 4, 4}}); err == nil {
				got = written(y)
			}
		}
		if err != nil {
			got = err.Error()
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%s %v of %s: %s; want %s", c.op, c.attributes, c.inputs, got, c.want)
		}
	}
}
