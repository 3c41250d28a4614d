package weights

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/datasets/augment"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/internal/onnx"
)

// WriteONNX writes a part of the model as an ONNX network of operator set 17. The encoder maps images, float32 [N, H,
// W, C] with pixels in [0, 1], to codes [N, d]; it includes the normalisation of images. The decoder maps codes to
// images with pixels in [0, 1] (any numbers if the data set is real-valued). In the layout [PyTorch], images are [N, C,
// H, W].
func (s *Source) WriteONNX(w io.Writer, p Part, l Layout) (*Network, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	t, err := s.trace(p)
	if err != nil {
		return nil, err
	}
	x := newTranslator(t)
	if err := catchFailure(func() { x.translate(s, p, l) }); err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	metadata, err := s.metadata(l, p)
	if err != nil {
		return nil, err
	}
	data, err := onnx.Encode(&onnx.Model{Producer: "unravel", Version: s.Version, Metadata: metadata, Graph: x.graph,
		Doc: fmt.Sprintf("%s of an Unravel model; N is the number of images", p)})
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	return t.describe(), nil
}

// translator builds an ONNX graph from a trace. The rules of operations call its methods.
type translator struct {
	*trace
	graph           onnx.Graph
	values          map[int]string    // names of the values of translated steps
	channelsFirstOf map[string]string // values [N, C, H, W] of the same images as the values [N, H, W, C]
	usedNames       map[string]bool   // names in use
	layer           string            // layer of the step that is being translated
}

func newTranslator(t *trace) *translator {
	return &translator{trace: t, values: map[int]string{}, channelsFirstOf: map[string]string{},
		usedNames: map[string]bool{}}
}

// rule adds the nodes of a step and returns the name of its value. If it fails, it panics with a failure.
type rule func(t *translator, s *step) string

// failure is the panic of a rule that cannot translate its step. With it, rules need not return errors.
type failure struct{ error }

func failf(format string, args ...any) failure { return failure{fmt.Errorf(format, args...)} }

// catchFailure calls a function and returns its failure as an error.
func catchFailure(f func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failure:
			err = p.error
		default:
			panic(p)
		}
	}()
	f()
	return nil
}

func (t *translator) translate(s *Source, p Part, l Layout) {
	in, out := "images", "codes"
	if p == Decoder {
		in, out = out, in
	}
	t.usedNames[in], t.usedNames[out] = true, true
	t.graph.Name = string(p)
	shape := t.steps[t.input].shape
	if p == Decoder {
		t.graph.Inputs = []onnx.Value{{Name: in, Doc: "codes, a row for each image", Shape: shape}}
		t.values[t.input] = in
	} else {
		t.images(in, shape, l)
		t.normalise(s)
	}
	value := t.value(t.output)
	t.layer, shape = "", t.steps[t.output].shape
	doc := "codes, a row for each image"
	if p == Decoder {
		doc = "images [N, H, W, C]"
		if l == PyTorch && len(shape) == 4 {
			value, shape, doc = t.channelsFirst(value), []int{shape[0], shape[3], shape[1], shape[2]}, "images [N, C, H, W]"
		}
		if !s.Data.Real {
			value = t.node("Sigmoid", nil, value)
		}
	}
	t.finish(value, onnx.Value{Name: out, Doc: doc, Shape: shape})
}

func (t *translator) images(name string, shape []int, l Layout) {
	v := onnx.Value{Name: name, Doc: "images [N, H, W, C]", Shape: shape}
	value := name
	if l == PyTorch {
		v.Doc, v.Shape = "images [N, C, H, W]", []int{shape[0], shape[3], shape[1], shape[2]}
		value = t.channelsLast(name)
	}
	t.graph.Inputs = []onnx.Value{v}
	t.values[t.input] = value
}

// normalise adds the normalisation of images before the encoder.
func (t *translator) normalise(s *Source) {
	if s.Views == nil {
		return
	}
	t.layer = "normalise"
	for _, o := range s.Views.Pipeline.Plain() {
		n, ok := o.Value.(*augment.Normalise)
		if !ok {
			panic(failf("the normalisation %q has no translation; want normalise", o.Name))
		}
		c := s.Data.Channels
		mean, scale := make([]float32, c), make([]float32, c)
		for k := range c {
			mean[k], scale[k] = float32(n.Mean[k%len(n.Mean)]), 1/float32(n.Deviation[k%len(n.Deviation)])
		}
		value := t.node("Sub", nil, t.values[t.input], t.floats("normalise/mean", []int{c}, mean))
		t.values[t.input] = t.node("Mul", nil, value, t.floats("normalise/scale", []int{c}, scale))
	}
}

// finish names the output and removes unused nodes and weights.
func (t *translator) finish(value string, out onnx.Value) {
	t.graph.Nodes = append(t.graph.Nodes,
		onnx.Node{Op: "Identity", Name: out.Name, Inputs: []string{value}, Outputs: []string{out.Name}})
	t.graph.Outputs = []onnx.Value{out}
	needed := map[string]bool{out.Name: true}
	var nodes []onnx.Node
	for _, n := range slices.Backward(t.graph.Nodes) {
		if needed[n.Outputs[0]] {
			nodes = append(nodes, n)
			for _, in := range n.Inputs {
				needed[in] = true
			}
		}
	}
	slices.Reverse(nodes)
	t.graph.Nodes = nodes
	t.graph.Weights = slices.DeleteFunc(t.graph.Weights, func(w onnx.Tensor) bool { return !needed[w.Name] })
}

// value returns the name of the value of a step. It translates the step on first use.
func (t *translator) value(i int) string {
	if _, ok := t.values[i]; !ok {
		t.values[i] = t.step(&t.steps[i])
	}
	return t.values[i]
}

func (t *translator) step(s *step) (value string) {
	if s.operation == "" {
		return t.constant(s, nil)
	}
	for _, i := range s.in { // operands first, so nodes are named after their own layers
		if t.steps[i].operation != "" && t.steps[i].operation != "sizeOp" {
			t.value(i)
		}
	}
	rules := rules
	if s.stock {
		rules = stockRules
	}
	layer, location := t.trace.layer(s), ""
	if layer != "" {
		location = " (layer " + layer + ")"
	}
	r, ok := rules[s.operation]
	if !ok {
		panic(failf("the operation %s has no translation to ONNX%s", s.describe(), location))
	}
	if s.varies && !s.stock && s.operation != "reshape" { // Gorgonia's operations and reshapes contain shapes
		panic(failf("the operation %s%s depends on the number of images; want an operation that does not",
			s.describe(), location))
	}
	t.layer = cmp.Or(layer, strings.ReplaceAll(s.operation, " ", "-"))
	if err := catchFailure(func() { value = r(t, s) }); err != nil {
		panic(failf("%s%s: %w", s.describe(), location, err))
	}
	return value
}

func (t *translator) operands(s *step) (list []string) {
	for _, i := range s.in {
		list = append(list, t.value(i))
	}
	return list
}

// constant adds an input, a parameter or a constant. If order is given, it permutes the axes.
func (t *translator) constant(s *step, order []int) string {
	data, err := s.elements()
	if err != nil {
		panic(failure{err})
	}
	shape := s.shape
	if order != nil {
		data, shape = transpose(data, shape, order)
	}
	return t.floats(cmp.Or(s.parameter, s.node.Name()), shape, data)
}

// weight returns an operand with permuted axes.
func (t *translator) weight(i int, order ...int) string {
	if s := &t.steps[i]; s.operation == "" && i != t.input {
		return t.constant(s, order)
	}
	return t.node("Transpose", attributes{"perm": order}, t.value(i))
}

type attributes map[string]any

// node adds a node with one output and returns the name of the output.
func (t *translator) node(op string, a attributes, in ...string) string {
	name := t.unique(path.Join(t.layer, op))
	t.graph.Nodes = append(t.graph.Nodes,
		onnx.Node{Op: op, Name: name, Inputs: in, Outputs: []string{name}, Attributes: a})
	return name
}

// unique returns a name, with a number appended if the name is in use.
func (t *translator) unique(name string) string {
	candidate := name
	for i := 2; t.usedNames[candidate]; i++ {
		candidate = fmt.Sprintf("%s_%d", name, i)
	}
	t.usedNames[candidate] = true
	return candidate
}

func (t *translator) floats(name string, shape []int, values []float32) string {
	name = t.unique(name)
	t.graph.Weights = append(t.graph.Weights, onnx.Tensor{Name: name, Shape: shape, Floats: values})
	return name
}

func (t *translator) scalar(v float64) string {
	return t.floats(path.Join(t.layer, "number"), nil, []float32{float32(v)})
}

func (t *translator) ints(values ...int) string {
	name := t.unique(path.Join(t.layer, "indices"))
	list := onnx.Tensor{Name: name, Shape: []int{len(values)}, Ints: numeric.Convert[int64](values)}
	t.graph.Weights = append(t.graph.Weights, list)
	return name
}

// channelsFirst converts images [N, H, W, C] to [N, C, H, W].
func (t *translator) channelsFirst(images string) string {
	if _, ok := t.channelsFirstOf[images]; !ok {
		t.channelsFirstOf[images] = t.node("Transpose", attributes{"perm": []int{0, 3, 1, 2}}, images)
	}
	return t.channelsFirstOf[images]
}

// channelsLast converts images [N, C, H, W] to [N, H, W, C].
func (t *translator) channelsLast(images string) string {
	converted := t.node("Transpose", attributes{"perm": []int{0, 2, 3, 1}}, images)
	t.channelsFirstOf[converted] = images
	return converted
}

// transpose returns an array with permuted axes: axis i of the result is axis order[i] of the array.
func transpose(data []float32, shape, order []int) (result []float32, resultShape []int) {
	strides := make([]int, len(shape)) // strides of the array, by axis of the result
	for i, axis := range order {
		resultShape = append(resultShape, shape[axis])
		strides[i] = 1
		for _, n := range shape[axis+1:] {
			strides[i] *= n
		}
	}
	result = make([]float32, 0, len(data))
	index := make([]int, len(resultShape))
	for range data {
		offset := 0
		for i, k := range index {
			offset += k * strides[i]
		}
		result = append(result, data[offset])
		for i := len(index) - 1; i >= 0; i-- {
			if index[i]++; index[i] < resultShape[i] {
				break
			}
			index[i] = 0
		}
	}
	return result, resultShape
}
