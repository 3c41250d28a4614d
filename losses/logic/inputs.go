package logic

import (
	"errors"
	"fmt"
	"github.com/unravel-ml/unravel/losses/logic/internal/eval"
	"github.com/unravel-ml/unravel/losses/logic/internal/program"
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/rng"
)

// Batch is a batch of rows as numbers; see [Quantity.ValueOf]. Inputs that a sentence does not need can be nil (see the
// methods Needs of [Quantity]).
type Batch struct {
	Codes  [][]float64 // z [n, d]
	Values [][]float64 // values y of the factors, [n, K], with the columns of the schema
	Labels [][]float64 // [n, K]: rows with equal labels agree in a factor; negative: unknown. nil: all factors are known, but = between factors and functions of levels need labels

	LogVariances [][]float64 // of Gaussian posteriors with the means Codes, [n, d]
	Samples      [][]float64 // samples of the posteriors, [n, d]; nil: drawn from Gaussian posteriors if a sentence needs them

	Moves  [][]float64 // for every turn of the schema an angle, or axis and angle, from one point of reference of a row's group, [n, M]
	Groups []int       // a known transformation relates rows of one group; a negative number is in no group. nil: all rows are one group

	// Interrupt, if set, is called now and then. Its error ends the computation, and [Quantity.ValueOf] returns it.
	Interrupt func() error

	Stream *rng.Stream // samples, and starts of networks that the sentence fits; nil: a fixed one
}

// Inputs is a batch as nodes; see [Quantity.NodeOf]. Inputs that a sentence does not need can be nil.
type Inputs struct {
	Codes, Values, Labels *gorgonia.Node // as in [Batch]

	LogVariances, Samples *gorgonia.Node

	Moves *gorgonia.Node // as in [Batch]
	Group int            // number of consecutive rows in a group of Moves; 0: all rows
}

// NeedsLogVariances reports whether the sentence uses the posteriors' log variances.
func (q *Quantity) NeedsLogVariances() bool { return q.program.Needs(program.LogVariances) }

// NeedsSamples reports whether the sentence uses samples of the posteriors.
func (q *Quantity) NeedsSamples() bool { return q.sentence.Sampled }

// NeedsMoves reports whether the sentence uses transformations between rows.
func (q *Quantity) NeedsMoves() bool { return q.program.Needs(program.Moves) }

// rowsOf returns an array of a batch.
func (b *Batch) rowsOf(kind program.InputKind) [][]float64 {
	return [...][][]float64{program.LogVariances: b.LogVariances, program.Means: b.Codes, program.Moves: b.Moves}[kind]
}

// nodeOf returns an array of a batch as a node.
func (in *Inputs) nodeOf(kind program.InputKind) *gorgonia.Node {
	return [...]*gorgonia.Node{program.LogVariances: in.LogVariances, program.Means: in.Codes, program.Moves: in.Moves}[kind]
}

// z returns the codes that a sentence is about.
func (q *Quantity) z(in Inputs) *gorgonia.Node {
	if q.sentence.Sampled {
		return in.Samples
	}
	return in.Codes
}

// ValueOf returns the quantity of a batch. It may be NaN, as a loss is, if a code, value or log variance in the domain
// of the sentence is NaN. Check the batch or the result if NaN must not pass.
func (q *Quantity) ValueOf(b Batch) (float64, error) {
	if q.program.Learned != "" {
		return 0, fmt.Errorf("logic: %s has no value of its own, as a discriminator learns it along with a model; want independent[hsic] or independent[tc] in a metric", q.program.Learned)
	}
	e, err := q.load(b)
	if err != nil {
		return 0, err
	}
	if len(q.program.Networks) > 0 {
		return e.FitNetworks(b.Stream, b.Labels != nil)
	}
	return e.Value(b.Labels != nil)
}

// load returns an engine with a batch in its columns.
func (q *Quantity) load(b Batch) (*eval.Engine, error) {
	if err := q.checkBatch(b); err != nil {
		return nil, err
	}
	e, err := eval.New(q.program, len(b.Codes))
	if err != nil {
		return nil, err
	}
	q.fill(e, b)
	return e, nil
}

// Tuples returns the cost of a sentence: the number of tuples of rows over which it runs for a batch. At most 1e9 are
// allowed.
func (q *Quantity) Tuples(b Batch) (float64, error) {
	if err := q.checkBatch(b); err != nil {
		return 0, err
	}
	return eval.Tuples(q.program, len(b.Codes), b.Labels != nil, func(e *eval.Engine) { q.fill(e, b) }), nil
}

// fill copies the arrays of a batch to the columns of an engine.
func (q *Quantity) fill(e *eval.Engine, b Batch) {
	e.Groups, e.Interrupt = b.Groups, b.Interrupt
	e.Set(q.rows(b), 0)
	e.Set(b.Values, q.program.Values)
	e.Set(b.Labels, q.program.Labels)
	for _, in := range q.program.Inputs {
		if in.Kind != program.Computed {
			e.Set(b.rowsOf(in.Kind), in.At)
		}
	}
}

// rows returns the codes that the sentence is about.
func (q *Quantity) rows(b Batch) [][]float64 {
	switch {
	case !q.sentence.Sampled:
		return b.Codes
	case b.Samples != nil:
		return b.Samples
	}
	s := b.Stream
	if s == nil {
		s = rng.New(0, "samples")
	}
	return b.Draw(s)
}

// Draw returns samples, [n, d], of the Gaussian posteriors with the means Codes and the log variances LogVariances. A
// sample is NaN where there is no log variance.
func (b Batch) Draw(s *rng.Stream) [][]float64 {
	all := make([][]float64, len(b.Codes))
	for i, mean := range b.Codes {
		for k, x := range mean {
			v := math.NaN()
			if i < len(b.LogVariances) && k < len(b.LogVariances[i]) {
				v = b.LogVariances[i][k]
			}
			all[i] = append(all[i], x+math.Exp(v/2)*s.NormFloat64())
		}
	}
	return all
}

func (q *Quantity) checkBatch(b Batch) error {
	n, d, k := len(b.Codes), q.schema.Codes, len(q.schema.Factors)
	if n == 0 {
		return errors.New("logic: no rows of codes, want at least one")
	}
	if err := q.checkInputs(func(kind program.InputKind) bool { return b.rowsOf(kind) != nil }, b.Values != nil, b.Labels != nil); err != nil {
		return err
	}
	if q.sentence.Sampled && b.Samples == nil && b.LogVariances == nil {
		return errors.New("logic: the sentence is about samples (z ~ q), and there are neither samples nor log variances to draw them from")
	}
	for _, from := range []struct {
		name  string
		rows  [][]float64
		width int
	}{{"codes", b.Codes, d}, {"factors", b.Values, k}, {"labels", b.Labels, k},
		{"log variances", b.LogVariances, d}, {"samples", b.Samples, d}, {"moves", b.Moves, q.schema.moves()}} {
		if from.rows != nil && len(from.rows) != n {
			return fmt.Errorf("logic: %s of %d rows, want %d, as many as codes", from.name, len(from.rows), n)
		}
		for i, row := range from.rows {
			if len(row) != from.width {
				return fmt.Errorf("logic: row %d of %s has %s, want %d", i, from.name, plural(len(row), "number"), from.width)
			}
		}
	}
	if b.Groups != nil && len(b.Groups) != n {
		return fmt.Errorf("logic: groups of %d rows, want %d, as many as codes", len(b.Groups), n)
	}
	for i, row := range b.Moves {
		if slices.ContainsFunc(row, func(x float64) bool { return math.IsInf(x, 0) }) {
			return fmt.Errorf("logic: row %d of moves is %v, want finite angles and axes, or NaN where they are unknown", i, row)
		}
	}
	return nil
}

func (q *Quantity) checkInputs(has func(program.InputKind) bool, y, labels bool) error {
	switch {
	case q.program.NeedsValues && !y:
		return errors.New("logic: the sentence is about values of factors, and there are none")
	case q.program.NeedsLabels && !labels:
		return errors.New("logic: the sentence compares factors of rows, and there are no labels")
	}
	for _, in := range q.program.Inputs {
		if in.Kind != program.Computed && !has(in.Kind) {
			return fmt.Errorf("logic: the sentence needs %v, and there are none", in.Kind)
		}
	}
	return nil
}

// NodeOf returns the quantity as a scalar node of a batch, in float32 or float64. The operations named compute the
// parts of the sentence that are named losses; see [Quantity.Node].
func (q *Quantity) NodeOf(named Named, in Inputs) (*gorgonia.Node, error) {
	if err := q.checkNodes(in); err != nil {
		return nil, err
	}
	return q.summed(named, in)
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
