package weights

import (
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/internal/onnx"
)

// rules translate the operations of package graph in encoders and decoders.
var rules map[string]rule

func init() { // rules call the translator, which looks rules up
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
		"exp":                    elementwise("Exp"),
		"group norm":             groupNorm,
		"standardise":            standardise,
		"reshape":                reshape,
		"concat columns":         concatColumns,
		"slice columns":          sliceColumns,
		"normalise rows":         normaliseRows,
		"reject rows":            rejectRows,
		"weighted sum":           weightedSum,
		"interval":               interval,
		"stop gradient":          elementwise("Identity"),
		"option weights":         optionWeights,
		"gate":                   gate,
		"option numbers":         optionNumbers,
		"numbered options":       numberedOptions,
		"softmax":                softmaxRows("Softmax"),
		"log softmax":            softmaxRows("LogSoftmax"),
		"likeliest options":      likeliest,
		"with category":          withCategory,
		"reconstruction costs":   reconstructionCosts,
		"cheapest":               cheapest,
	}
}

// get returns an attribute of a step; the type follows from the step's operation.
func get[T any](s *step, name string) (v T, err error) {
	v, ok := s.attributes[name].(T)
	if !ok {
		err = fmt.Errorf("the attribute %q is %T; want %T", name, s.attributes[name], v)
	}
	return v, err
}

// elementwise is the rule of an operation with an equivalent in ONNX.
func elementwise(op string) rule {
	return func(t *translator, s *step) (string, error) {
		in, err := t.operands(s)
		if err != nil {
			return "", err
		}
		return t.node(op, nil, in...), nil
	}
}

// activation adds the activation of a layer.
func (t *translator) activation(s *step, x string) (string, error) {
	name, err := get[string](s, "activation")
	if err != nil {
		return "", err
	}
	switch name {
	case "linear":
		return x, nil
	case "leaky-relu":
		return t.node("LeakyRelu", attributes{"alpha": float32(0.2)}, x), nil
	case "gelu": // x (1 + erf(x/sqrt 2))/2
		erf := t.node("Erf", nil, t.node("Mul", nil, x, t.scalar(math.Sqrt2/2)))
		return t.node("Mul", nil, t.node("Mul", nil, x, t.scalar(0.5)), t.node("Add", nil, erf, t.scalar(1))), nil
	case "silu":
		return t.node("Mul", nil, x, t.node("Sigmoid", nil, x)), nil
	}
	op, ok := map[string]string{"relu": "Relu", "elu": "Elu", "sigmoid": "Sigmoid", "tanh": "Tanh", "softplus": "Softplus"}[name]
	if !ok {
		return "", fmt.Errorf("the activation %q has no translation", name)
	}
	return t.node(op, nil, x), nil
}

func activate(t *translator, s *step) (string, error) {
	x, err := t.value(s.in[0])
	if err != nil {
		return "", err
	}
	first, ok := t.first[x]
	if !ok {
		return t.activation(s, x)
	}
	y, err := t.activation(s, first)
	if err != nil {
		return "", err
	}
	return t.channelsLast(y), nil
}

func dense(t *translator, s *step) (string, error) {
	in, err := t.operands(s)
	if err != nil {
		return "", err
	}
	return t.activation(s, t.node("Gemm", nil, in...))
}

// layerOperands are the images [N, C, H, W], the filters and the bias of a convolution of either kind. Filters [k, k,
// in, out] become [out, in, k, k], and [k, k, out, in] become [in, out, k, k].
func layerOperands(t *translator, s *step) (in []string, stride int, valid bool, err error) {
	in = make([]string, 3)
	if in[0], err = t.value(s.in[0]); err != nil {
		return nil, 0, false, err
	}
	in[0] = t.channelsFirst(in[0])
	if in[1], err = t.weight(s.in[1], 3, 2, 0, 1); err != nil {
		return nil, 0, false, err
	}
	if in[2], err = t.value(s.in[2]); err != nil {
		return nil, 0, false, err
	}
	if stride, err = get[int](s, "stride"); err != nil {
		return nil, 0, false, err
	}
	valid, err = get[bool](s, "valid")
	return in, stride, valid, err
}

func convolution(t *translator, s *step) (string, error) {
	in, stride, valid, err := layerOperands(t, s)
	if err != nil {
		return "", err
	}
	x, k := t.steps[s.in[0]].shape, t.steps[s.in[1]].shape[0]
	symmetric, err := get[bool](s, "symmetric")
	if err != nil {
		return "", err
	}
	pads := make([]int, 4) // before height and width, then after
	for i := range 2 {
		zeros := (s.shape[1+i]-1)*stride + k - x[1+i]
		switch {
		case valid:
		case symmetric:
			pads[i], pads[2+i] = (k-1)/2, max(zeros-(k-1)/2, 0)
		default: // half of the zeros, rounded down, before the image
			pads[i], pads[2+i] = max(zeros, 0)/2, max(zeros, 0)-max(zeros, 0)/2
		}
	}
	y := t.node("Conv", attributes{"kernel_shape": []int{k, k}, "strides": []int{stride, stride}, "pads": pads}, in...)
	if y, err = t.activation(s, y); err != nil {
		return "", err
	}
	return t.channelsLast(y), nil
}

func transposedConvolution(t *translator, s *step) (string, error) {
	in, stride, valid, err := layerOperands(t, s)
	if err != nil {
		return "", err
	}
	x, k := t.steps[s.in[0]].shape, t.steps[s.in[1]].shape[0]
	pads, more := make([]int, 4), make([]int, 2)
	for i := range 2 {
		if extent := (x[1+i]-1)*stride + k; !valid {
			cut := max(extent-s.shape[1+i], 0)
			pads[i], pads[2+i], more[i] = cut/2, cut-cut/2, max(s.shape[1+i]-extent, 0)
		}
	}
	y := t.node("ConvTranspose", attributes{"kernel_shape": []int{k, k}, "strides": []int{stride, stride}, "pads": pads, "output_padding": more}, in...)
	if y, err = t.activation(s, y); err != nil {
		return "", err
	}
	return t.channelsLast(y), nil
}

func reshape(t *translator, s *step) (string, error) {
	x, err := t.value(s.in[0])
	if err != nil {
		return "", err
	}
	return t.reshape(x, s.shape)
}

// reshape adds a reshape to a shape. One size may depend on the number of images.
func (t *translator) reshape(x string, shape []int) (string, error) {
	to := slices.Clone(shape)
	open := 0
	for i, n := range to {
		if n < 0 {
			to[i] = onnx.Any
			open++
		}
	}
	if open > 1 {
		return "", fmt.Errorf("shape %v: two sizes depend on the number of images; want one", shape)
	}
	return t.node("Reshape", nil, x, t.ints(to...)), nil
}

func concatColumns(t *translator, s *step) (string, error) {
	in, err := t.operands(s)
	if err != nil {
		return "", err
	}
	return t.node("Concat", attributes{"axis": 1}, in...), nil
}

func sliceColumns(t *translator, s *step) (string, error) {
	x, err := t.value(s.in[0])
	if err != nil {
		return "", err
	}
	from, err := get[int](s, "from")
	if err != nil {
		return "", err
	}
	to, err := get[int](s, "to")
	return t.columns(x, from, to), err
}

// columns returns the columns [from, to) of a matrix.
func (t *translator) columns(x string, from, to int) string {
	return t.node("Slice", nil, x, t.ints(from), t.ints(to), t.ints(1))
}

func normaliseRows(t *translator, s *step) (string, error) {
	x, err := t.value(s.in[0])
	if err != nil {
		return "", err
	}
	square := t.node("ReduceSum", attributes{"keepdims": 1}, t.node("Mul", nil, x, x), t.ints(1))
	norm := t.node("Sqrt", nil, t.node("Max", nil, square, t.scalar(1e-12)))
	return t.node("Div", nil, x, norm), nil
}

func rejectRows(t *translator, s *step) (string, error) {
	in, err := t.operands(s)
	if err != nil {
		return "", err
	}
	along := t.node("ReduceSum", attributes{"keepdims": 1}, t.node("Mul", nil, in[0], in[1]), t.ints(1))
	return t.node("Sub", nil, in[0], t.node("Mul", nil, along, in[1])), nil
}

func weightedSum(t *translator, s *step) (string, error) {
	in, err := t.operands(s)
	if err != nil {
		return "", err
	}
	weights, err := get[[]float64](s, "weights")
	if err != nil {
		return "", err
	}
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
	return sum, nil
}

// interval is c + w tanh(u).
func interval(t *translator, s *step) (string, error) {
	u, err := t.value(s.in[0])
	if err != nil {
		return "", err
	}
	lo, err := get[float64](s, "lo")
	if err != nil {
		return "", err
	}
	hi, err := get[float64](s, "hi")
	if err != nil {
		return "", err
	}
	scaled := t.node("Mul", nil, t.node("Tanh", nil, u), t.scalar(max(hi-lo, lo-hi)/2))
	return t.node("Add", nil, scaled, t.scalar((lo+hi)/2)), nil
}

// softmaxRows is a softmax, or its logarithm, of rows.
func softmaxRows(op string) rule {
	return func(t *translator, s *step) (string, error) {
		in, err := t.operands(s)
		if err != nil {
			return "", err
		}
		return t.node(op, attributes{"axis": 1}, in...), nil
	}
}

// likeliest are the numbers, from 1, of the largest weights of every block.
func likeliest(t *translator, s *step) (string, error) {
	x, err := t.value(s.in[0])
	if err != nil {
		return "", err
	}
	sizes, err := get[[]int](s, "sizes")
	if err != nil {
		return "", err
	}
	var numbers []string
	first := 0
	for _, n := range sizes {
		numbers = append(numbers, t.numberOf("ArgMax", t.columns(x, first, first+n)))
		first += n
	}
	return t.node("Concat", attributes{"axis": 1}, numbers...), nil
}

// numberOf returns the number, from 1, of the column that an operation finds in each row; the first of equals.
func (t *translator) numberOf(op, x string) string {
	at := t.node(op, attributes{"axis": 1, "keepdims": 1}, x)
	return t.node("Add", nil, t.node("Cast", attributes{"to": 1}, at), t.scalar(1))
}

// cheapest is the number of the least cost of each row, times a factor.
func cheapest(t *translator, s *step) (string, error) {
	in, err := t.operands(s)
	if err != nil {
		return "", err
	}
	return t.node("Mul", nil, t.numberOf("ArgMin", in[0]), in[1]), nil
}

// withCategory puts a one-hot choice before the columns of a matrix.
func withCategory(t *translator, s *step) (string, error) {
	x, err := t.value(s.in[0])
	if err != nil {
		return "", err
	}
	n, err := integers(s, "category", "of")
	if err != nil {
		return "", err
	}
	category, of := n[0], n[1]
	choice := make([]float32, of+t.steps[s.in[0]].shape[1])
	choice[category] = 1
	padded := t.node("Pad", nil, x, t.ints(0, of, 0, 0), t.scalar(0))
	return t.node("Add", nil, padded, t.floats(t.layer+"/category", []int{1, len(choice)}, choice)), nil
}

// reconstructionCosts are sums over the pixels of each image.
func reconstructionCosts(t *translator, s *step) (string, error) {
	in, err := t.operands(s)
	if err != nil {
		return "", err
	}
	kind, err := get[string](s, "kind")
	if err != nil {
		return "", err
	}
	scale, err := get[float64](s, "scale")
	if err != nil {
		return "", err
	}
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
		return "", fmt.Errorf("the kind %q has no translation; want bernoulli, gaussian or linear", kind)
	}
	sum := t.node("ReduceSum", attributes{"keepdims": 1}, errors, t.ints(1))
	return t.node("Mul", nil, sum, t.scalar(scale)), nil
}

// optionWeights are softmax(logits/tau) of every block, times the weight of the option that the block stands under.
func optionWeights(t *translator, s *step) (string, error) {
	logits, err := t.value(s.in[0])
	if err != nil {
		return "", err
	}
	sizes, parents, err := blocks(s)
	if err != nil {
		return "", err
	}
	tau, err := get[float64](s, "tau")
	if err != nil {
		return "", err
	}
	var columns, all []string // all columns of the weights, as parents of blocks; the blocks
	first := 0
	for b, n := range sizes {
		x := t.columns(logits, first, first+n)
		most := t.node("ReduceMax", attributes{"axes": []int{1}, "keepdims": 1}, x)
		x = t.node("Softmax", attributes{"axis": 1}, t.node("Div", nil, t.node("Sub", nil, x, most), t.scalar(tau)))
		if p := parents[b]; p >= 0 {
			x = t.node("Mul", nil, x, columns[p])
		}
		for j := range n {
			columns = append(columns, t.columns(x, j, j+1))
		}
		all = append(all, x)
		first += n
	}
	return t.node("Concat", attributes{"axis": 1}, all...), nil
}

// blocks are the sizes of blocks of options, and the columns that they stand under.
func blocks(s *step) (sizes, parents []int, err error) {
	if sizes, err = get[[]int](s, "sizes"); err != nil {
		return nil, nil, err
	}
	parents, err = get[[]int](s, "parents")
	return sizes, parents, err
}

func gate(t *translator, s *step) (string, error) {
	in, err := t.operands(s)
	if err != nil {
		return "", err
	}
	columns, err := get[[]int](s, "columns")
	return t.gated(in[0], in[1], columns, t.steps[s.in[1]].shape[1]), err
}

// gated returns values times the given columns of k weights, or times 1 for the column -1.
func (t *translator) gated(values, weights string, columns []int, k int) string {
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

// optionNumbers are, for every block of weights, the sum of 1 + option times weight; and the values.
func optionNumbers(t *translator, s *step) (string, error) {
	in, err := t.operands(s)
	if err != nil {
		return "", err
	}
	sizes, err := get[[]int](s, "sizes")
	if err != nil {
		return "", err
	}
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
	return t.node("Concat", attributes{"axis": 1}, product, in[1]), nil
}

// numberedOptions are the weights, 0 or 1, of the options that numbers name, and the values that are active.
func numberedOptions(t *translator, s *step) (string, error) {
	x, err := t.value(s.in[0])
	if err != nil {
		return "", err
	}
	sizes, parents, err := blocks(s)
	if err != nil {
		return "", err
	}
	places, err := get[[]int](s, "columns")
	if err != nil {
		return "", err
	}
	var columns, all []string
	for b, n := range sizes {
		number := t.node("Floor", nil, t.node("Add", nil, t.columns(x, b, b+1), t.scalar(0.5)))
		options := make([]float32, n)
		for j := range options {
			options[j] = float32(1 + j)
		}
		weights := t.node("Cast", attributes{"to": 1}, t.node("Equal", nil, number, t.floats(t.layer+"/options", []int{1, n}, options)))
		if p := parents[b]; p >= 0 {
			weights = t.node("Mul", nil, weights, columns[p])
		}
		for j := range n {
			columns = append(columns, t.columns(weights, j, j+1))
		}
		all = append(all, weights)
	}
	weights := t.node("Concat", attributes{"axis": 1}, all...)
	values := t.gated(t.columns(x, len(sizes), len(sizes)+len(places)), weights, places, len(columns))
	return t.node("Concat", attributes{"axis": 1}, weights, values), nil
}
