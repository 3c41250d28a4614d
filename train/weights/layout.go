package weights

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/nn"
)

// conversion describes how to convert a parameter to the layout of PyTorch: its axes and their new order.
type conversion struct {
	view  []int // sizes of the axes; their product is the number of elements
	order []int // order of the axes
	shape []int // PyTorch's shape

	paddingNote string // on a convolution with other zeros around the image than PyTorch's; empty: none
}

// restore returns elements in the layout of PyTorch to their order in the model.
func (f conversion) restore(data []float32) []float32 {
	shape, inverse := make([]int, len(f.order)), make([]int, len(f.order))
	for i, axis := range f.order {
		shape[i], inverse[axis] = f.view[axis], i
	}
	data, _ = transpose(data, shape, inverse)
	return data
}

// conversions finds, by their operations, the parameters with a different order of elements in PyTorch.
func (s *Source) conversions() (map[string]conversion, error) {
	conversions := map[string]conversion{}
	for _, p := range s.Parts() {
		in, _, err := s.build(p, tracedBatches[0])
		if err != nil {
			return nil, err
		}
		if err := s.collectConversions(in.Graph(), conversions); err != nil {
			return nil, fmt.Errorf("layout %s: %s: %w", PyTorch, p, err)
		}
	}
	for _, o := range s.Model.Objectives() { // networks that only training uses, such as projectors
		g, group := nn.NewGraph(s.Model.Params()), 1
		g.Training = true
		if o.Labelled {
			group = tracedBatches[0]
		}
		if _, err := s.Model.Build(g, o, tracedBatches[0], group); err != nil {
			return nil, fmt.Errorf("layout %s: objective %s: %w", PyTorch, o.Name, err)
		}
		if err := s.collectConversions(g.ExprGraph, conversions); err != nil {
			return nil, fmt.Errorf("layout %s: objective %s: %w", PyTorch, o.Name, err)
		}
	}
	return conversions, nil
}

func (s *Source) collectConversions(g *gorgonia.ExprGraph, conversions map[string]conversion) error {
	operands := map[*gorgonia.Node][]*gorgonia.Node{}
	users := map[*gorgonia.Node][]*gorgonia.Node{}
	for _, n := range g.AllNodes() {
		for c := g.From(n.ID()); c != nil && c.Next(); {
			child := c.Node().(*gorgonia.Node)
			operands[n], users[child] = append(operands[n], child), append(users[child], n)
		}
	}
	for _, n := range g.AllNodes() {
		switch operation, _, _ := graph.Operation(n); operation {
		case "convolution", "transposed convolution":
			weights := operands[n][1]
			v := weights.Shape()
			conversions[weights.Name()] = conversion{view: v, order: []int{3, 2, 0, 1},
				shape:       []int{v[3], v[2], v[0], v[1]},
				paddingNote: paddingNote(n, operands[n][0].Shape(), v[0])}
		case "dense":
			in, out, err := imageShapes(n, operands, users)
			if err != nil {
				return err
			}
			s.denseConversions(operands[n], in, out, conversions)
		case "reshape":
			if err := checkReshape(n, operands, users); err != nil {
				return err
			}
		}
	}
	return nil
}

// paddingNote returns a note on a convolution of k x k filters if PyTorch's usual padding starts at other pixels.
func paddingNote(n *gorgonia.Node, in []int, k int) string {
	operation, attributes, _ := graph.Operation(n)
	s := &step{attributes: attributes}
	stride, valid, symmetric := get[int](s, "stride"), get[bool](s, "valid"), false
	out, pytorchPad, remedy := n.Shape(), (k-1)/2, "results differ if the weights come from such a network"
	if operation == "convolution" {
		symmetric, remedy = get[bool](s, "symmetric"), "want padding: symmetric if the weights come from such a network"
	} else { // the gradient of a convolution
		in, out = out, in
	}
	pads := padding(in, out, k, stride, valid, symmetric)
	if before := min(pads[0], pads[1]); !valid && before != pytorchPad {
		return fmt.Sprintf("%dx%d filters of stride %d start %d pixels outside the image, and %d with padding=%d in PyTorch; %s",
			k, k, stride, before, pytorchPad, pytorchPad, remedy)
	}
	return ""
}

func isOperation(n *gorgonia.Node, name string) bool {
	operation, _, _ := graph.Operation(n)
	return operation == name
}

// elementwiseOperations treat all elements of their first operand equally, in any order.
var elementwiseOperations = []string{"activate", "dropout", "exp", "stop gradient"}

func isElementwise(n *gorgonia.Node) bool {
	operation, _, ok := graph.Operation(n)
	return ok && slices.Contains(elementwiseOperations, operation)
}

// skipElementwise follows the first operands from n back through elementwise operations to another node.
func skipElementwise(n *gorgonia.Node, operands map[*gorgonia.Node][]*gorgonia.Node) *gorgonia.Node {
	for isElementwise(n) {
		n = operands[n][0]
	}
	return n
}

// usersOf returns the operations that use a node, directly or after elementwise operations.
func usersOf(n *gorgonia.Node, users map[*gorgonia.Node][]*gorgonia.Node) (list []*gorgonia.Node) {
	for _, u := range users[n] {
		if isElementwise(u) {
			list = append(list, usersOf(u, users)...)
		} else {
			list = append(list, u)
		}
	}
	return list
}

// imageShapes returns the shapes [H, W, C] of the images that a dense layer takes or gives as rows, or nil.
func imageShapes(n *gorgonia.Node, operands, users map[*gorgonia.Node][]*gorgonia.Node) (in, out []int, err error) {
	if x := skipElementwise(operands[n][0], operands); isOperation(x, "reshape") && operands[x][0].Dims() == 4 {
		in = operands[x][0].Shape()[1:]
	}
	for _, u := range usersOf(n, users) {
		switch {
		case isOperation(u, "reshape") && u.Dims() == 4:
			out = u.Shape()[1:]
		case out != nil:
			return nil, nil, fmt.Errorf("the result of %s becomes images and is also used as rows; layout pytorch needs one of the two", n.Name())
		}
	}
	return in, out, nil
}

// checkReshape returns an error unless a dense layer is between images and rows. It accepts images with one pixel or
// one channel, because their order is the same in both layouts.
func checkReshape(n *gorgonia.Node, operands, users map[*gorgonia.Node][]*gorgonia.Node) error {
	input := operands[n][0]
	switch {
	case input.Dims() == 4 && n.Dims() == 2:
		if sameInBothOrders(input.Shape()) {
			return nil
		}
		for _, u := range usersOf(n, users) {
			if !isOperation(u, "dense") {
				return fmt.Errorf("images are flattened for %v, which cannot follow the order of pixels of layout pytorch; want a dense layer there", u.Op())
			}
		}
	case input.Dims() == 2 && n.Dims() == 4 && !isOperation(skipElementwise(input, operands), "dense"):
		if sameInBothOrders(n.Shape()) {
			return nil
		}
		return fmt.Errorf("rows of %s become images, but cannot follow the order of pixels of layout pytorch; want rows of a dense layer", input.Name())
	}
	return nil
}

func sameInBothOrders(s []int) bool { return s[1]*s[2] == 1 || s[3] == 1 }

// denseConversions adds the conversions of the weights [in, out] and the bias [out] of a dense layer.
func (s *Source) denseConversions(operands []*gorgonia.Node, in, out []int, conversions map[string]conversion) {
	w, bias := operands[1], operands[2]
	shapes := [2][]int{in, out}
	for i, axes := range shapes {
		if axes == nil {
			shapes[i] = w.Shape()[i : i+1]
		}
	}
	columns := channelsOrder(shapes[1], len(shapes[0]))
	conversions[w.Name()] = conversion{view: slices.Concat(shapes[0], shapes[1]),
		order: append(columns, channelsOrder(shapes[0], 0)...), shape: []int{w.Shape()[1], w.Shape()[0]}}
	if out != nil {
		conversions[bias.Name()] = conversion{view: out, order: channelsOrder(out, 0), shape: bias.Shape()}
	}
}

// channelsOrder moves the channels before height and width; the axes of the image begin at first.
func channelsOrder(axes []int, first int) []int {
	if len(axes) == 3 {
		return []int{first + 2, first, first + 1}
	}
	return []int{first}
}

type layoutTensor struct {
	name  string
	shape []int
	data  []float32
}

// Names of the tensors of normalisation layers, in both layouts.
const (
	running         = "running" // [1, 2, channels]: means, then variances
	runningMean     = "running_mean"
	runningVariance = "running_var"
	counter         = "num_batches_tracked" // only in PyTorch
)

var normNames = map[string]string{"gamma": "weight", "beta": "bias"}

// isRunning reports whether a parameter contains the running moments of a batch normalisation.
func isRunning(name string, shape []int) bool {
	return path.Base(name) == running && len(shape) == 3 && shape[0] == 1 && shape[1] == 2
}

// layoutTensors lists the tensors that a file has for a parameter in a layout: one tensor, or two for the running
// moments of batch normalisation in the layout of PyTorch. In PyTorch's layout, names contain dots, and factors and
// offsets are called weight and bias.
func layoutTensors(name string, shape []int, data []float32, l Layout, list map[string]conversion) []layoutTensor {
	if l == Native {
		return []layoutTensor{{name, shape, data}}
	}
	folder, base := path.Split(name)
	folder = strings.ReplaceAll(folder, "/", ".")
	if isRunning(name, shape) {
		c := shape[2]
		return []layoutTensor{
			{folder + runningMean, []int{c}, data[:c]},
			{folder + runningVariance, []int{c}, data[c:]},
		}
	}
	base = cmp.Or(normNames[base], base)
	if f, ok := list[name]; ok {
		shape = f.shape
		data, _ = transpose(data, f.view, f.order)
	}
	return []layoutTensor{{folder + base, shape, data}}
}
