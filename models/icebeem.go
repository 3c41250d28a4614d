package models

import (
	"errors"
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/losses"
)

// ICEBeeM is an energy-based model of images, p(x) ~ exp(-E(x)), with the energy of Khemakhem et al. 2020,
//
//	E(x | y) = f(x) . g(y).
//
// f(x), [batch, Width], is a linear map of the encoder's features. g(y) is a linear map, without a bias, of the one-hot
// labels of the factors in Conditions, side by side: the sum of one vector per label. One-hot labels of combinations
// would need a row for each combination. Here g has a row for each level, and every image trains several rows. Without
// Conditions g is a vector of ones, as in the public code of the unconditional model. With the loss score-matching it
// minimises denoising score matching. This loss skips images without the label of a condition. The code is f(x).
//
// Without conditions, the objective determines only the sum of the columns. Differences between columns remain random.
// With conditions, it determines f up to a linear map if the labels' g span all directions (theorem 1 of the paper).
type ICEBeeM struct {
	Encoder    nn.EncoderChoice `yaml:"encoder" doc:"network from images to features, without batch normalisation"`
	Width      int              `yaml:"width" doc:"columns of the code f(x)"`
	Conditions []string         `yaml:"conditions" doc:"factors that condition the energy by their labels; none: p(x) without labels"`
}

// NewICEBeeM returns the default settings.
func NewICEBeeM() *ICEBeeM { return &ICEBeeM{Encoder: nn.DefaultEncoder(), Width: 10} }

func (s *ICEBeeM) Validate() error {
	if err := validRange("width", s.Width, 1, maxWidth); err != nil {
		return err
	}
	for i, name := range s.Conditions {
		if slices.Contains(s.Conditions[:i], name) {
			return config.Invalid("conditions", "factor %q is named twice", name)
		}
	}
	return nil
}

func (s *ICEBeeM) New(data Data, seed uint64) (Model, error) {
	m := &iceBeeM{base: newBase(s.Encoder, data, seed, s.Width)}
	known := slices.Concat(data.Labels, data.Factors)
	for _, name := range s.Conditions {
		i := slices.IndexFunc(known, func(f factor.Factor) bool { return f.Name == name })
		if i < 0 {
			return nil, config.Invalid("conditions", "there is no label or factor %q; want one of %v",
				name, slices.Compact(slices.Sorted(slices.Values(factor.Names(known)))))
		}
		m.conditions = append(m.conditions, known[i])
	}
	if err := Materialise(m, data); err != nil || len(m.conditions) == 0 {
		return m, err
	}
	_, err := m.table(nn.NewGraph(m.params))
	return m, err
}

type iceBeeM struct {
	base
	conditions []factor.Factor
}

func (m *iceBeeM) Build(g *nn.Graph, _ Objective, n, _ int) (*Program, error) {
	p, err := m.deterministic(g, n)
	if err != nil {
		return nil, err
	}
	energy := &losses.Energy{Columns: func(images *gorgonia.Node) (*gorgonia.Node, error) { return m.Encode(g, images) }}
	if len(m.conditions) > 0 {
		energy.Condition = func(l *losses.Labels) (*gorgonia.Node, *gorgonia.Node, error) { return m.condition(g, l) }
	}
	p.Outputs.Energy = energy
	return p, nil
}

// table adds the parameter g: a row for each level of the first condition, then of the next, and so on.
func (m *iceBeeM) table(g *nn.Graph) (*gorgonia.Node, error) {
	rows := 0
	for _, f := range m.conditions {
		rows += f.Size
	}
	return g.Param("condition/weight", tensor.Shape{rows, m.width}, nn.GlorotUniform)
}

// condition adds g(y) for the labels of a batch, and reports the rows with all labels.
func (m *iceBeeM) condition(g *nn.Graph, l *losses.Labels) (weights, known *gorgonia.Node, err error) {
	if l == nil {
		return nil, nil, fmt.Errorf("the energy has the conditions %v, but the batches have no labels; want a supervision with labels, such as {labels: {fraction: 0.1}}, or no conditions", factor.Names(m.conditions))
	}
	columns := make([]conditionColumn, len(m.conditions))
	first := 0
	for i, f := range m.conditions {
		c := slices.IndexFunc(l.Factors, func(o factor.Factor) bool { return o.Name == f.Name })
		if c < 0 {
			return nil, nil, fmt.Errorf("the labels lack the condition %s; they have %v", f.Name, factor.Names(l.Factors))
		}
		if n := l.Factors[c].Size; n != f.Size {
			return nil, nil, fmt.Errorf("the labels of the condition %s have %d levels; want the model's %d", f.Name, n, f.Size)
		}
		columns[i] = conditionColumn{c, first, f.Size}
		first += f.Size
	}
	_, labels, err := l.Values(losses.UnitsRange)
	if err != nil {
		return nil, nil, err
	}
	table, err := m.table(g)
	if err != nil {
		return nil, nil, err
	}
	if weights, err = conditionRows(labels, table, columns); err != nil {
		return nil, nil, err
	}
	known, err = conditionKnown(labels, columns)
	return weights, known, err
}

// conditionColumn locates a condition: its column of labels, and its rows in the table.
type conditionColumn struct{ labels, first, size int }

// level returns the level of a condition in a row of labels, or -1 if it is unknown.
func level[T graph.Float](row []T, c conditionColumn) int {
	if v := int(row[c.labels]); v >= 0 && v < c.size {
		return v
	}
	return -1
}

func complete[T graph.Float](row []T, conditions []conditionColumn) bool {
	return !slices.ContainsFunc(conditions, func(c conditionColumn) bool { return level(row, c) < 0 })
}

// conditionKnown returns [rows]: 1 for each row of labels [rows, K] with labels of all conditions, otherwise 0.
func conditionKnown(labels *gorgonia.Node, conditions []conditionColumn) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "known conditions",
		Key:  graph.Key(conditions),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			return tensor.Shape{in[0][0]}, checkLabels(in[0], conditions)
		},
		New:  graph.Bodies(knownRows[float32](conditions), knownRows[float64](conditions)),
		Diff: []bool{false},
	}, labels)
}

func checkLabels(s tensor.Shape, conditions []conditionColumn) error {
	_, columns, err := graph.Matrix("labels", s)
	for _, c := range conditions {
		if err == nil && c.labels >= columns {
			err = graph.Wanted(fmt.Sprintf("labels with a column %d", c.labels), s)
		}
	}
	return err
}

func knownRows[T graph.Float](conditions []conditionColumn) func([]tensor.Shape) forward[T] {
	return func(s []tensor.Shape) forward[T] {
		columns := s[0][1]
		return func(in [][]T, out []T) {
			for i := range out {
				if out[i] = 0; complete(in[0][i*columns:][:columns], conditions) {
					out[i] = 1
				}
			}
		}
	}
}

// conditionRows returns, for each row of labels [rows, K], the sum of its rows in a table [levels, width]: [rows,
// width]. If a label is unknown, the sum is 0. It is differentiable in the table.
func conditionRows(labels, table *gorgonia.Node, conditions []conditionColumn) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "condition rows",
		Key:  graph.Key(conditions),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			rows, width, err := graph.Matrix("table", in[1])
			if last := conditions[len(conditions)-1]; err == nil && rows != last.first+last.size {
				err = errors.New("the table needs a row for each level")
			}
			if err == nil {
				err = checkLabels(in[0], conditions)
			}
			return tensor.Shape{in[0][0], width}, err
		},
		New:  graph.Bodies(newConditionSum[float32](conditions), newConditionSum[float64](conditions)),
		Diff: []bool{false, true},
	}, labels, table)
}

type conditionSum[T graph.Float] struct {
	columns, width int
	conditions     []conditionColumn
}

func newConditionSum[T graph.Float](conditions []conditionColumn) func([]tensor.Shape) conditionSum[T] {
	return func(in []tensor.Shape) conditionSum[T] { return conditionSum[T]{in[0][1], in[1][1], conditions} }
}

func (f conditionSum[T]) Forward(in [][]T, out []T) {
	clear(out)
	f.forRows(in[0], func(row, level int) {
		for j, v := range in[1][level*f.width:][:f.width] {
			out[row*f.width+j] += v
		}
	})
}

func (f conditionSum[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	clear(din[1])
	f.forRows(in[0], func(row, level int) {
		for j, v := range dout[row*f.width:][:f.width] {
			din[1][level*f.width+j] += v
		}
	})
}

// forRows visits the rows of the table for each complete row of labels.
func (f conditionSum[T]) forRows(labels []T, visit func(row, level int)) {
	for row := range len(labels) / f.columns {
		rowLabels := labels[row*f.columns:][:f.columns]
		if !complete(rowLabels, f.conditions) {
			continue
		}
		for _, c := range f.conditions {
			visit(row, c.first+level(rowLabels, c))
		}
	}
}
