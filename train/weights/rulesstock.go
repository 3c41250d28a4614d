package weights

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/internal/onnx"
)

// stockRules translate Gorgonia's operations, by the names of their types: elementwise arithmetic and functions, matrix
// products, reductions, softmax, convolutions (im2col and a product in Gorgonia), max pooling, and changes of shape.
var stockRules map[string]rule

func init() {
	stockRules = map[string]rule{
		"elemUnaryOp": stockUnary,
		"elemBinOp":   stockBinary,
		"linAlgBinOp": stockProduct,
		"reshapeOp":   reshape,
		"transposeOp": stockTranspose,
		"concatOp":    stockConcat,
		"repeatOp":    stockRepeat,
		"softmaxOp":   stockSoftmax,
		"sumOp":       stockReduction("ReduceSum"),
		"maxOp":       stockReduction("ReduceMax"),
		"im2colOp":    stockPatches,
		"maxPoolOp":   stockMaxPool,
	}
}

// field reads an unexported field of a Gorgonia operation.
func field(s *step, name string) reflect.Value {
	v := reflect.ValueOf(s.node.Op())
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return v.FieldByName(name)
}

func fieldInt(s *step, name string) int { return int(field(s, name).Int()) }

func fieldInts(s *step, name string) (list []int) {
	v := field(s, name)
	for i := range v.Len() {
		list = append(list, int(v.Index(i).Int()))
	}
	return list
}

func (s *step) form() string { return fmt.Sprint(s.attributes["form"]) }

func stockUnary(t *translator, s *step) string {
	x := t.value(s.in[0])
	switch s.form() {
	case "square":
		return t.node("Mul", nil, x, x)
	case "cube":
		return t.node("Mul", nil, t.node("Mul", nil, x, x), x)
	case "log2":
		return t.node("Div", nil, t.node("Log", nil, x), t.scalar(0.6931471805599453))
	case "invSqrt":
		return t.node("Reciprocal", nil, t.node("Sqrt", nil, x))
	case "log1p":
		return t.node("Log", nil, t.node("Add", nil, x, t.scalar(1)))
	case "expm1":
		return t.node("Sub", nil, t.node("Exp", nil, x), t.scalar(1))
	}
	op, ok := map[string]string{"abs": "Abs", "sign": "Sign", "ceil": "Ceil", "floor": "Floor", "sin": "Sin", "cos": "Cos",
		"exp": "Exp",
		"ln":  "Log", "neg": "Neg", "sqrt": "Sqrt", "inv": "Reciprocal", "tanh": "Tanh", "sigmoid": "Sigmoid", "softplus": "Softplus"}[s.form()]
	if !ok {
		panic(failf("it has no translation to ONNX"))
	}
	return t.node(op, nil, x)
}

// stockBinary translates arithmetic and comparisons. The result of a comparison is 0 or 1.
func stockBinary(t *translator, s *step) string {
	in := t.operands(s)
	sign, sameType, _ := strings.Cut(s.form(), " ")
	if op, ok := map[string]string{"+": "Add", "-": "Sub", "⊙": "Mul", "÷": "Div", "^": "Pow"}[sign]; ok {
		return t.node(op, nil, in...)
	}
	op, ok := map[string]string{"<": "Less", ">": "Greater", "<=": "LessOrEqual", ">=": "GreaterOrEqual",
		"=": "Equal"}[sign]
	if !ok || sameType != "true" {
		panic(failf("it has no translation to ONNX"))
	}
	return t.node("Cast", attributes{"to": 1}, t.node(op, nil, in...))
}

func stockProduct(t *translator, s *step) string {
	in := t.operands(s)
	for i, mark := range []string{"Aᵀ", "Bᵀ"} {
		if strings.Contains(s.form(), mark) {
			in[i] = t.node("Transpose", attributes{"perm": []int{1, 0}}, in[i])
		}
	}
	a, b := t.steps[s.in[0]].shape, t.steps[s.in[1]].shape
	if len(a) != 2 || len(b) != 2 && len(b) != 1 {
		panic(failf("operands of shapes %v and %v; want matrices, or a matrix and a vector", a, b))
	}
	return t.node("MatMul", nil, in...)
}

func stockTranspose(t *translator, s *step) string {
	return t.node("Transpose", attributes{"perm": fieldInts(s, "pattern")}, t.value(s.in[0]))
}

func stockConcat(t *translator, s *step) string {
	return t.node("Concat", attributes{"axis": fieldInt(s, "axis")}, t.operands(s)...)
}

// stockRepeat repeats an axis of size 1, like broadcasting.
func stockRepeat(t *translator, s *step) string {
	x := t.value(s.in[0])
	operandShape, axis := t.steps[s.in[0]].shape, fieldInt(s, "along")
	if axis >= len(operandShape) || operandShape[axis] != 1 || len(operandShape) != len(s.shape) {
		panic(failf("axis %d of shape %v; want an axis of one element", axis, operandShape))
	}
	target := make([]int, len(operandShape))
	for i := range target {
		target[i] = 1
	}
	if target[axis] = s.shape[axis]; target[axis] > 0 {
		return t.node("Expand", nil, x, t.ints(target...))
	}
	shape := t.node("Slice", nil, t.node("Shape", nil, t.graph.Inputs[0].Name), t.ints(0), t.ints(1))
	if target[axis] < -1 {
		shape = t.node("Mul", nil, shape, t.ints(-target[axis]))
	}
	sizes := []string{shape}
	if axis > 0 {
		sizes = append([]string{t.ints(target[:axis]...)}, sizes...)
	}
	if axis < len(target)-1 {
		sizes = append(sizes, t.ints(target[axis+1:]...))
	}
	return t.node("Expand", nil, x, t.node("Concat", attributes{"axis": 0}, sizes...))
}

func stockSoftmax(t *translator, s *step) string {
	x := t.value(s.in[0])
	op := "Softmax"
	if field(s, "isLog").Bool() {
		op = "LogSoftmax"
	}
	return t.node(op, attributes{"axis": fieldInt(s, "axis")}, x)
}

// stockReduction reduces over axes and removes them.
func stockReduction(op string) rule {
	return func(t *translator, s *step) string {
		x := t.value(s.in[0])
		axes := fieldInts(s, "along")
		if op == "ReduceSum" { // the axes of ReduceSum are an input since operator set 13
			return t.reshape(t.node(op, attributes{"keepdims": 0}, x, t.ints(axes...)), s.shape)
		}
		return t.reshape(t.node(op, attributes{"axes": axes, "keepdims": 0}, x), s.shape)
	}
}

// stockPatches translates im2col: patches of [N, C, H, W] as [N, H', W', C k k], by a convolution with unit filters.
func stockPatches(t *translator, s *step) string {
	x := t.value(s.in[0])
	h, w, c := fieldInt(s, "h"), fieldInt(s, "w"), t.steps[s.in[0]].shape[1]
	n := c * h * w
	unit := make([]float32, n*n)
	for i := range n {
		unit[i*n+i] = 1
	}
	padH, padW := fieldInt(s, "padH"), fieldInt(s, "padW")
	y := t.node("Conv", attributes{"kernel_shape": []int{h, w},
		"strides":   []int{fieldInt(s, "strideH"), fieldInt(s, "strideW")},
		"dilations": []int{fieldInt(s, "dilationH"), fieldInt(s, "dilationW")}, "pads": []int{padH, padW, padH, padW}},
		x, t.floats(t.layer+"/unit", []int{n, c, h, w}, unit))
	return t.node("Transpose", attributes{"perm": []int{0, 2, 3, 1}}, y)
}

func stockMaxPool(t *translator, s *step) string {
	x := t.value(s.in[0])
	var pads []int
	for _, side := range []string{"padNorth", "padWest", "padSouth", "padEast"} {
		pads = append(pads, fieldInt(s, side))
	}
	if slices.Max(pads) != 0 || slices.Min(pads) != 0 {
		panic(failf("padding %v; want none, as Gorgonia and ONNX pad differently", pads))
	}
	if len(s.shape) != 4 || s.shape[0] != onnx.Any {
		panic(failf("a result of shape %v; want [N, C, H, W]", s.shape))
	}
	return t.node("MaxPool", attributes{"kernel_shape": []int{fieldInt(s, "h"), fieldInt(s, "w")},
		"strides": []int{fieldInt(s, "strideH"), fieldInt(s, "strideW")}}, x)
}
