package weights

import (
	"math"
	"slices"

	"github.com/unravel-ml/unravel/internal/onnx"
)

var rules map[string]rule // translations of the operations of package graph in encoders and decoders to ONNX

func init() { // an initialiser would be a cycle: rules call the translator, which looks up rules
	rules = map[string]rule{
		"convolution":            convolution,
		"transposed convolution": transposedConvolution,
		"dense":                  dense,
		"pool":                   pool,
		"adaptive pool":          adaptivePool,
		"upsample":               upsample,
		"shuffle":                shuffle,
		"crop":                   crop,
		"add":                    add,
		"activate":               activate,
		"exp":                    sameOperation("Exp", nil),
		"group norm":             groupNorm,
		"standardise":            standardise,
		"reshape":                reshape,
		"concat columns":         sameOperation("Concat", attributes{"axis": 1}),
		"slice columns":          sliceColumns,
		"normalise rows":         normaliseRows,
		"reject rows":            rejectRows,
		"weighted sum":           weightedSum,
		"interval":               interval,
		"stop gradient":          sameOperation("Identity", nil),
		"option weights":         optionWeights,
		"gate":                   gate,
		"option numbers":         optionNumbers,
		"numbered options":       numberedOptions,
		"softmax":                sameOperation("Softmax", attributes{"axis": 1}),
		"log softmax":            sameOperation("LogSoftmax", attributes{"axis": 1}),
		"likeliest options":      likeliest,
		"with category":          withCategory,
		"reconstruction costs":   reconstructionCosts,
		"cheapest":               cheapest,
	}
}

// get returns an attribute of a step; the type follows from the step's operation.
func get[T any](s *step, name string) T {
	v, ok := s.attributes[name].(T)
	if !ok {
		panic(failf("the attribute %q is %T; want %T", name, s.attributes[name], v))
	}
	return v
}

// sameOperation is the rule for an operation that corresponds to one ONNX operation.
func sameOperation(op string, a attributes) rule {
	return func(t *translator, s *step) string { return t.node(op, a, t.operands(s)...) }
}

func (t *translator) activation(s *step, x string) string {
	name := get[string](s, "activation")
	switch name {
	case "linear":
		return x
	case "leaky-relu":
		return t.node("LeakyRelu", attributes{"alpha": float32(0.2)}, x)
	case "gelu": // x (1 + erf(x/sqrt 2))/2
		erf := t.node("Erf", nil, t.node("Mul", nil, x, t.scalar(math.Sqrt2/2)))
		return t.node("Mul", nil, t.node("Mul", nil, x, t.scalar(0.5)), t.node("Add", nil, erf, t.scalar(1)))
	case "silu":
		return t.node("Mul", nil, x, t.node("Sigmoid", nil, x))
	}
	op, ok := map[string]string{"relu": "Relu", "elu": "Elu", "sigmoid": "Sigmoid", "tanh": "Tanh",
		"softplus": "Softplus"}[name]
	if !ok {
		panic(failf("the activation %q has no translation", name))
	}
	return t.node(op, nil, x)
}

func activate(t *translator, s *step) string {
	x := t.value(s.in[0])
	if channelsFirst, ok := t.channelsFirstOf[x]; ok {
		return t.channelsLast(t.activation(s, channelsFirst))
	}
	return t.activation(s, x)
}

func dense(t *translator, s *step) string {
	return t.activation(s, t.node("Gemm", nil, t.operands(s)...))
}

// layerOperands returns the images [N, C, H, W], the filters and the bias of a convolution or transposed convolution.
// Filters [k, k, in, out] become [out, in, k, k], and [k, k, out, in] become [in, out, k, k].
func layerOperands(t *translator, s *step) (in []string, stride int, valid bool) {
	in = []string{t.channelsFirst(t.value(s.in[0])), t.weight(s.in[1], 3, 2, 0, 1), t.value(s.in[2])}
	return in, get[int](s, "stride"), get[bool](s, "valid")
}

func convolution(t *translator, s *step) string {
	in, stride, valid := layerOperands(t, s)
	x, k := t.steps[s.in[0]].shape, t.steps[s.in[1]].shape[0]
	pads := padding(x, s.shape, k, stride, valid, get[bool](s, "symmetric"))
	y := t.node("Conv", attributes{"kernel_shape": []int{k, k}, "strides": []int{stride, stride}, "pads": pads}, in...)
	return t.channelsLast(t.activation(s, y))
}

// padding returns the numbers of zeros before height and width, and then after them. With this padding, windows of k x
// k pixels map images x to images y. Before the image, there are half of the zeros, rounded down, or (k-1)/2 if
// symmetric.
func padding(x, y []int, k, stride int, valid, symmetric bool) []int {
	pads := make([]int, 4)
	for i := range 2 {
		zeros := (y[1+i]-1)*stride + k - x[1+i]
		before := max(zeros, 0) / 2
		if symmetric {
			before = (k - 1) / 2
		}
		if !valid {
			pads[i], pads[2+i] = before, max(zeros-before, 0)
		}
	}
	return pads
}

func transposedConvolution(t *translator, s *step) string {
	in, stride, valid := layerOperands(t, s)
	x, k := t.steps[s.in[0]].shape, t.steps[s.in[1]].shape[0]
	pads, outputPadding := make([]int, 4), make([]int, 2)
	for i := range 2 {
		if extent := (x[1+i]-1)*stride + k; !valid {
			excess := max(extent-s.shape[1+i], 0)
			pads[i], pads[2+i], outputPadding[i] = excess/2, excess-excess/2, max(s.shape[1+i]-extent, 0)
		}
	}
	y := t.node("ConvTranspose", attributes{"kernel_shape": []int{k, k}, "strides": []int{stride, stride}, "pads": pads,
		"output_padding": outputPadding}, in...)
	return t.channelsLast(t.activation(s, y))
}

func reshape(t *translator, s *step) string { return t.reshape(t.value(s.in[0]), s.shape) }

// reshape adds a reshape. One size of the shape may depend on the number of images.
func (t *translator) reshape(x string, shape []int) string {
	target := slices.Clone(shape)
	batchAxes := 0
	for i, n := range target {
		if n < 0 {
			target[i] = onnx.Any
			batchAxes++
		}
	}
	if batchAxes > 1 {
		panic(failf("shape %v: two sizes depend on the number of images; want one", shape))
	}
	return t.node("Reshape", nil, x, t.ints(target...))
}

func sliceColumns(t *translator, s *step) string {
	return t.columns(t.value(s.in[0]), get[int](s, "from"), get[int](s, "to"))
}

// columns returns the columns [from, to) of a matrix.
func (t *translator) columns(x string, from, to int) string {
	return t.node("Slice", nil, x, t.ints(from), t.ints(to), t.ints(1))
}

func normaliseRows(t *translator, s *step) string {
	x := t.value(s.in[0])
	square := t.node("ReduceSum", attributes{"keepdims": 1}, t.node("Mul", nil, x, x), t.ints(1))
	norm := t.node("Sqrt", nil, t.node("Max", nil, square, t.scalar(1e-12)))
	return t.node("Div", nil, x, norm)
}

func rejectRows(t *translator, s *step) string {
	in := t.operands(s)
	component := t.node("ReduceSum", attributes{"keepdims": 1}, t.node("Mul", nil, in[0], in[1]), t.ints(1))
	return t.node("Sub", nil, in[0], t.node("Mul", nil, component, in[1]))
}

func weightedSum(t *translator, s *step) string {
	in := t.operands(s)
	weights := get[[]float64](s, "weights")
	sum := ""
	for i, x := range in {
		if weights[i] != 1 {
			x = t.node("Mul", nil, x, t.scalar(weights[i]))
		}
		if i > 0 {
			x = t.node("Add", nil, sum, x)
		}
		sum = x
	}
	return sum
}

// interval is c + w tanh(u).
func interval(t *translator, s *step) string {
	u, lo, hi := t.value(s.in[0]), get[float64](s, "lo"), get[float64](s, "hi")
	scaled := t.node("Mul", nil, t.node("Tanh", nil, u), t.scalar(max(hi-lo, lo-hi)/2))
	return t.node("Add", nil, scaled, t.scalar((lo+hi)/2))
}

// likeliest returns, for every block, the number of the largest weight, from 1.
func likeliest(t *translator, s *step) string {
	x := t.value(s.in[0])
	var numbers []string
	start := 0
	for _, n := range get[[]int](s, "sizes") {
		numbers = append(numbers, t.argNumber("ArgMax", t.columns(x, start, start+n)))
		start += n
	}
	return t.node("Concat", attributes{"axis": 1}, numbers...)
}

// argNumber returns the column that an operation finds in each row, numbered from 1. Ties go to the first.
func (t *translator) argNumber(op, x string) string {
	column := t.node(op, attributes{"axis": 1, "keepdims": 1}, x)
	return t.node("Add", nil, t.node("Cast", attributes{"to": 1}, column), t.scalar(1))
}

// cheapest returns the number of the minimum cost of each row, times a factor.
func cheapest(t *translator, s *step) string {
	in := t.operands(s)
	return t.node("Mul", nil, t.argNumber("ArgMin", in[0]), in[1])
}

// withCategory inserts a one-hot choice before the columns of a matrix.
func withCategory(t *translator, s *step) string {
	x := t.value(s.in[0])
	category, categories := get[int](s, "category"), get[int](s, "of")
	choice := make([]float32, categories+t.steps[s.in[0]].shape[1])
	choice[category] = 1
	padded := t.node("Pad", nil, x, t.ints(0, categories, 0, 0), t.scalar(0))
	return t.node("Add", nil, padded, t.floats(t.layer+"/category", []int{1, len(choice)}, choice))
}

// reconstructionCosts sums the costs over the pixels of each image.
func reconstructionCosts(t *translator, s *step) string {
	in := t.operands(s)
	kind, scale := get[string](s, "kind"), get[float64](s, "scale")
	x, y := t.node("Flatten", attributes{"axis": 1}, in[0]), t.node("Flatten", attributes{"axis": 1}, in[1])
	var errors string
	switch kind {
	case "bernoulli":
		errors = t.node("Sub", nil, t.node("Softplus", nil, y), t.node("Mul", nil, x, y))
	case "gaussian", "linear":
		if kind == "gaussian" {
			y = t.node("Sigmoid", nil, y)
		}
		d := t.node("Sub", nil, x, y)
		errors = t.node("Mul", nil, d, d)
	default:
		panic(failf("the kind %q has no translation; want bernoulli, gaussian or linear", kind))
	}
	sum := t.node("ReduceSum", attributes{"keepdims": 1}, errors, t.ints(1))
	return t.node("Mul", nil, sum, t.scalar(scale))
}

// optionWeights is softmax(logits/tau) for every block, times the weight of the block's parent option.
func optionWeights(t *translator, s *step) string {
	logits := t.value(s.in[0])
	sizes, parents := blocks(s)
	tau := get[float64](s, "tau")
	var columns, blockWeights []string // all columns of the weights, which blocks have as parents; the blocks
	start := 0
	for b, n := range sizes {
		x := t.columns(logits, start, start+n)
		largest := t.node("ReduceMax", attributes{"axes": []int{1}, "keepdims": 1}, x)
		x = t.node("Softmax", attributes{"axis": 1}, t.node("Div", nil, t.node("Sub", nil, x, largest), t.scalar(tau)))
		if p := parents[b]; p >= 0 {
			x = t.node("Mul", nil, x, columns[p])
		}
		for j := range n {
			columns = append(columns, t.columns(x, j, j+1))
		}
		blockWeights = append(blockWeights, x)
		start += n
	}
	return t.node("Concat", attributes{"axis": 1}, blockWeights...)
}

// blocks returns the sizes of the blocks of options, and the columns of their parents.
func blocks(s *step) (sizes, parents []int) { return get[[]int](s, "sizes"), get[[]int](s, "parents") }

func gate(t *translator, s *step) string {
	in := t.operands(s)
	return t.multiplyByColumns(in[0], in[1], get[[]int](s, "columns"), t.steps[s.in[1]].shape[1])
}

// multiplyByColumns returns values times the given columns of k weights, or times 1 for the column -1.
func (t *translator) multiplyByColumns(values, weights string, columns []int, k int) string {
	columns = slices.Clone(columns)
	for i, c := range columns {
		if c < 0 {
			columns[i] = k
		}
	}
	if slices.Contains(columns, k) {
		weights = t.node("Pad", nil, weights, t.ints(0, 0, 0, 1), t.scalar(1))
	}
	return t.node("Mul", nil, values, t.node("Gather", attributes{"axis": 1}, weights, t.ints(columns...)))
}

// optionNumbers returns, for every block of weights, the sum of 1 + option times weight; and the values.
func optionNumbers(t *translator, s *step) string {
	in := t.operands(s)
	sizes := get[[]int](s, "sizes")
	k := t.steps[s.in[0]].shape[1]
	numbers := make([]float32, k*len(sizes))
	row := 0
	for b, n := range sizes {
		for j := range n {
			numbers[row*len(sizes)+b] = float32(1 + j)
			row++
		}
	}
	product := t.node("MatMul", nil, in[0], t.floats(t.layer+"/numbers", []int{k, len(sizes)}, numbers))
	return t.node("Concat", attributes{"axis": 1}, product, in[1])
}

// numberedOptions returns the weights, 0 or 1, of the options with the given numbers, and the active values.
func numberedOptions(t *translator, s *step) string {
	x := t.value(s.in[0])
	sizes, parents := blocks(s)
	optionColumns := get[[]int](s, "columns")
	var columns, blockWeights []string
	for b, n := range sizes {
		number := t.node("Floor", nil, t.node("Add", nil, t.columns(x, b, b+1), t.scalar(0.5)))
		options := make([]float32, n)
		for j := range options {
			options[j] = float32(1 + j)
		}
		weights := t.node("Cast", attributes{"to": 1},
			t.node("Equal", nil, number, t.floats(t.layer+"/options", []int{1, n}, options)))
		if p := parents[b]; p >= 0 {
			weights = t.node("Mul", nil, weights, columns[p])
		}
		for j := range n {
			columns = append(columns, t.columns(weights, j, j+1))
		}
		blockWeights = append(blockWeights, weights)
	}
	weights := t.node("Concat", attributes{"axis": 1}, blockWeights...)
	values := t.columns(x, len(sizes), len(sizes)+len(optionColumns))
	values = t.multiplyByColumns(values, weights, optionColumns, len(columns))
	return t.node("Concat", attributes{"axis": 1}, weights, values)
}
