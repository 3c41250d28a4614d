package logic

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/losses/logic/internal/eval"
	"github.com/unravel-ml/unravel/losses/logic/internal/program"
)

// Value returns the quantity of a batch. It takes codes z [n, d], and values y and labels [n, K] of the factors, with
// the columns of the schema. Rows with equal labels have equal values of a factor; a negative label means that the
// factor is unknown. y and labels can be nil if the sentence does not need them; without labels, all factors are known.
func (q *Quantity) Value(z, y, labels [][]float64) (float64, error) {
	return q.ValueOf(Batch{Codes: z, Values: y, Labels: labels})
}

// node returns one summand, or for -1 the whole sentence, as a single operation on values of networks.
func (q *Quantity) node(part int, batch Inputs, networks []*gorgonia.Node) (*gorgonia.Node, error) {
	p := *q.program
	if part >= 0 {
		p.Root = q.summands[part].part
	}
	var in []*gorgonia.Node
	var diff []bool
	var arrays []program.Input
	add := func(n *gorgonia.Node, a program.Input) {
		in, diff, arrays = append(in, n), append(diff, a.Smooth), append(arrays, a)
	}
	add(q.z(batch), program.Input{Width: p.Codes, Smooth: true})
	hasY := batch.Values != nil && p.NeedsValues
	if hasY {
		add(batch.Values, program.Input{At: p.Values, Width: p.Factors})
	}
	hasLabels := batch.Labels != nil && (p.NeedsValues || p.NeedsLabels)
	if hasLabels {
		add(batch.Labels, program.Input{At: p.Labels, Width: p.Factors})
	}
	for _, input := range p.Inputs {
		if input.Kind == program.Computed {
			add(networks[0], input)
			networks = networks[1:]
		} else {
			add(batch.nodeOf(input.Kind), input)
		}
	}
	return graph.Apply(graph.Spec{
		Name: "logic",
		Key: fmt.Sprintf("%v | %d | %d %v %q %v %v | %v %v %d", q.sentence, part, q.schema.Codes, q.schema.SubCodes,
			q.schema.Factors, q.schema.Levels, q.schema.Turns, hasY, hasLabels, batch.Group),
		Diff: diff,
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if err := q.checkShapes(in[:len(in)-len(q.program.Inputs)]); err != nil {
				return nil, err
			}
			_, err := eval.New(&p, in[0][0])
			return tensor.ScalarShape(), err
		},
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (graph.Func, error) {
			e, err := eval.New(&p, in[0][0])
			if err != nil {
				return nil, err
			}
			q.engines.add(e)
			e.Run = batch.Group
			if e.Single = dt == tensor.Float32; e.Single {
				return &function[float32]{e, arrays, hasLabels, func(a graph.Array) []float32 { return a.F32 }}, nil
			}
			return &function[float64]{e, arrays, hasLabels, func(a graph.Array) []float64 { return a.F64 }}, nil
		},
	}, in...)
}

func (q *Quantity) checkShapes(in []tensor.Shape) error {
	if len(in[0]) != 2 || in[0][0] < 1 || in[0][1] != q.schema.Codes {
		return fmt.Errorf("want codes of shape [rows, %d], got %v", q.schema.Codes, in[0])
	}
	for _, s := range in[1:] {
		if k := len(q.schema.Factors); len(s) == 0 || s[0] != in[0][0] || s.TotalSize() != in[0][0]*k ||
			len(s) != 2 && (len(s) != 1 || k != 1) {
			return fmt.Errorf("want factors and labels of shape [%d, %d], got %v", in[0][0], k, s)
		}
	}
	return nil
}

// function computes a sentence on elements of type T.
type function[T float32 | float64] struct {
	engine *eval.Engine
	arrays []program.Input // the columns of the inputs
	labels bool
	data   func(graph.Array) []T
}

func (f *function[T]) Forward(in []graph.Array, out graph.Array) error {
	for i, a := range f.arrays {
		x := f.data(in[i])
		for k := range a.Width {
			column := f.engine.Column(a.At + k)
			for r := range column {
				column[r] = float64(x[r*a.Width+k])
			}
		}
	}
	v, err := f.engine.Value(f.labels)
	if err != nil {
		return err
	}
	f.data(out)[0] = T(v)
	return nil
}

func (f *function[T]) Backward(_ []graph.Array, _, dout graph.Array, din []graph.Array, want []bool) error {
	f.engine.Gradient(float64(f.data(dout)[0]))
	for i, a := range f.arrays {
		if !want[i] || !a.Smooth {
			continue
		}
		dx := f.data(din[i])
		for k := range a.Width {
			for r, x := range f.engine.Slope(a.At + k) {
				dx[r*a.Width+k] = limitGradient[T](x)
			}
		}
	}
	return nil
}

// limitGradient limits a steep gradient to the range of T.
func limitGradient[T float32 | float64](x float64) T {
	var t T
	most := math.MaxFloat64
	if _, ok := any(t).(float32); ok {
		most = math.MaxFloat32
	}
	if x > most || x < -most {
		x = math.Copysign(most, x)
	}
	return T(x)
}

// Node returns the quantity as a scalar node in float32 or float64, of codes z [n, d], values y [n, K] and labels [n,
// K] as in [Quantity.Value]. y and labels can be nil if the sentence does not need them. Its minimum is 0. It is
// differentiable in z except at kinks. At a kink the gradient uses one side: the first of equal maxima or minima. The
// gradient is 0 at a distance of 0, at a truncated subtraction of 0, and at an infinite quantity.
//
// losses.Logic returns the same node, but computes parts that are losses faster.
func (q *Quantity) Node(z, y, labels *gorgonia.Node) (*gorgonia.Node, error) {
	return q.NodeOf(Named{}, Inputs{Codes: z, Values: y, Labels: labels})
}

// NodeOf returns the quantity as a scalar node of a batch, in float32 or float64. The operations in named compute the
// parts of the sentence that are losses; see [Quantity.Node]. Without such parts, the node is a single operation.
func (q *Quantity) NodeOf(named Named, in Inputs) (*gorgonia.Node, error) {
	if err := q.checkNodes(in); err != nil {
		return nil, err
	}
	without := named.Modularity == nil || named.Contraction == nil
	switch {
	case q.program.Learned != "" && named.Independence == nil:
		return nil, fmt.Errorf("logic: %s is trained together with a model; want the loss logic of a config, or hsic or tc",
			q.program.Learned)
	case without && q.program.Learned != "":
		return nil, errors.New("logic: operations for independence only; want the operations of Named for modularity and contraction too")
	}
	networks, err := q.networkNodes(named, in)
	if err != nil {
		return nil, err
	}
	if len(q.summands) == 0 || without {
		return q.node(-1, in, networks)
	}
	var nodes []*gorgonia.Node
	var weights []float64
	for i, s := range q.summands {
		var n *gorgonia.Node
		if s.loss != nil {
			n, err = s.loss(named, q.z(in), in)
		}
		if n == nil && err == nil {
			n, err = q.node(i, in, networks)
		}
		if err != nil {
			return nil, err
		}
		nodes, weights = append(nodes, n), append(weights, s.weight)
	}
	if len(nodes) == 1 && weights[0] == 1 {
		return nodes[0], nil
	}
	return graph.WeightedSum(weights, nodes...)
}

// networkNodes returns the values of the networks, in the order of the program's computed inputs.
func (q *Quantity) networkNodes(with Named, in Inputs) ([]*gorgonia.Node, error) {
	var all []*gorgonia.Node
	for _, n := range q.program.Networks {
		if with.Network == nil {
			return nil, fmt.Errorf("logic: the function %s in mlp is trained together with a model; want the loss logic of a config", n.Name)
		}
		x := q.z(in)
		if !n.From.Codes {
			x = in.Values
		}
		if !slices.Equal(n.Columns, numeric.UpTo(x.Shape()[1])) {
			var columns gorgonia.Nodes
			for _, k := range n.Columns {
				column, err := graph.SliceColumns(x, k, k+1)
				if err != nil {
					return nil, err
				}
				columns = append(columns, column)
			}
			var err error
			if x, err = graph.ConcatColumns(columns...); err != nil {
				return nil, err
			}
		}
		y, err := with.Network(Network{n.Name, n.Layers, len(n.To)}, x)
		if err != nil {
			return nil, fmt.Errorf("function %s: %w", n.Name, err)
		}
		all = append(all, y)
	}
	return all, nil
}

// Inputs is a batch in the form of nodes; see [Quantity.NodeOf]. Inputs that a sentence does not need can be nil.
type Inputs struct {
	Codes, Values, Labels *gorgonia.Node // as in [Batch]

	LogVariances, Samples *gorgonia.Node

	Moves *gorgonia.Node // as in [Batch]
	Group int            // number of consecutive rows in a group of Moves; 0: all rows form one group
}

func (in *Inputs) nodeOf(kind program.InputKind) *gorgonia.Node {
	return [...]*gorgonia.Node{program.LogVariances: in.LogVariances, program.Means: in.Codes,
		program.Moves: in.Moves}[kind]
}

// z returns the codes that the sentence uses.
func (q *Quantity) z(in Inputs) *gorgonia.Node {
	if q.sentence.Sampled {
		return in.Samples
	}
	return in.Codes
}

func (q *Quantity) checkNodes(in Inputs) error {
	switch {
	case q.sentence.Sampled && in.Samples == nil:
		return errors.New("logic: the sentence is about samples (z ~ q), and there are none")
	case !q.sentence.Sampled && in.Codes == nil:
		return errors.New("logic: the codes are nil")
	}
	if err := q.checkInputs(func(kind program.InputKind) bool { return in.nodeOf(kind) != nil }, in.Values != nil, in.Labels != nil); err != nil {
		return err
	}
	shapes := []tensor.Shape{q.z(in).Shape()}
	for _, n := range []*gorgonia.Node{in.Values, in.Labels} {
		if n != nil {
			shapes = append(shapes, n.Shape())
		}
	}
	if err := q.checkShapes(shapes); err != nil {
		return fmt.Errorf("logic: %w", err)
	}
	for _, want := range q.program.Inputs {
		if want.Kind == program.Computed {
			continue
		}
		if s, rows := in.nodeOf(want.Kind).Shape(), shapes[0][0]; len(s) != 2 || s[0] != rows || s[1] != want.Width {
			return fmt.Errorf("logic: want %v of shape [%d, %d], got %v", want.Kind, rows, want.Width, s)
		}
	}
	if rows := shapes[0][0]; in.Group < 0 || in.Group > 0 && rows%in.Group != 0 {
		return fmt.Errorf("logic: groups of %d rows, want a size that divides %d, the number of rows", in.Group, rows)
	}
	return nil
}
