package logic

import (
	"errors"
	"fmt"
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

// inputKind is a kind of array of a batch, in addition to codes, values and labels.
type inputKind uint8

const (
	logVariances inputKind = iota
	means                  // of posteriors, where the codes are samples
	moves
	computed // computed by an operation from the others
)

// input is such an array, [rows, width]. Its columns are columns of the program, starting at column at.
type input struct {
	kind      inputKind
	at, width int
	smooth    bool // it has a gradient
}

func (k inputKind) String() string {
	return [...]string{"log variances", "posterior means", "moves", "computed numbers"}[k]
}

// input returns the first column of an array of the batch, and requests the array on first use.
func (p *program) input(kind inputKind, width int) int {
	if kind != computed {
		if i := slices.IndexFunc(p.inputs, func(in input) bool { return in.kind == kind }); i >= 0 {
			return p.inputs[i].at
		}
	}
	in := input{kind: kind, at: p.members + len(p.memberColumns), width: width, smooth: kind != moves}
	p.inputs = append(p.inputs, in)
	p.memberColumns = append(p.memberColumns, make([][]float64, width)...) // an engine makes them
	return in.at
}

// logVariance returns the column of log variances for a column of the codes.
func (p *program) logVariance(column int) int { return p.input(logVariances, p.codes) + column }

// mean returns the column of the means of posteriors for a column of the codes.
func (c *compiler) mean(column int) int {
	if c.sentence.Sampled {
		return c.program.input(means, c.program.codes) + column
	}
	return column
}

// smooth reports whether a column has a gradient.
func (p *program) smooth(column int) bool {
	return column < p.codes || slices.ContainsFunc(p.inputs, func(in input) bool {
		return in.smooth && column >= in.at && column < in.at+in.width
	})
}

func (p *program) needs(kind inputKind) bool {
	return slices.ContainsFunc(p.inputs, func(in input) bool { return in.kind == kind })
}

// NeedsLogVariances reports whether the sentence uses the posteriors' log variances.
func (q *Quantity) NeedsLogVariances() bool { return q.program.needs(logVariances) }

// NeedsSamples reports whether the sentence uses samples of the posteriors.
func (q *Quantity) NeedsSamples() bool { return q.sentence.Sampled }

// NeedsMoves reports whether the sentence uses transformations between rows.
func (q *Quantity) NeedsMoves() bool { return q.program.needs(moves) }

// rowsOf returns an array of a batch.
func (b *Batch) rowsOf(kind inputKind) [][]float64 {
	return [...][][]float64{logVariances: b.LogVariances, means: b.Codes, moves: b.Moves}[kind]
}

// nodeOf returns an array of a batch as a node.
func (in *Inputs) nodeOf(kind inputKind) *gorgonia.Node {
	return [...]*gorgonia.Node{logVariances: in.LogVariances, means: in.Codes, moves: in.Moves}[kind]
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
	if q.program.learned != "" {
		return 0, fmt.Errorf("logic: %s has no value of its own, as a discriminator learns it along with a model; want independent[hsic] or independent[tc] in a metric", q.program.learned)
	}
	e, err := q.load(b)
	if err != nil {
		return 0, err
	}
	if len(q.program.networks) > 0 {
		return e.fitNetworks(b.Stream, b.Labels != nil)
	}
	return e.forward(b.Labels != nil)
}

// load returns an engine with a batch in its columns.
func (q *Quantity) load(b Batch) (*engine, error) {
	if err := q.checkBatch(b); err != nil {
		return nil, err
	}
	e, err := newEngine(q.program, len(b.Codes))
	if err != nil {
		return nil, err
	}
	e.interruptBy(b.Interrupt)
	e.fill(q.rows(b), b)
	return e, nil
}

// Tuples returns the cost of a sentence: the number of tuples of rows over which it runs for a batch. At most 1e9 are
// allowed.
func (q *Quantity) Tuples(b Batch) (float64, error) {
	if err := q.checkBatch(b); err != nil {
		return 0, err
	}
	e := makeEngine(q.program, len(b.Codes))
	e.makeLists()
	e.fill(q.rows(b), b)
	e.group(b.Labels != nil)
	return e.program.root.cost(e), nil
}

// fill copies the arrays of a batch, and the codes z of the sentence, to columns.
func (e *engine) fill(z [][]float64, b Batch) {
	e.groups = b.Groups
	e.set(z, 0)
	e.set(b.Values, e.program.values)
	e.set(b.Labels, e.program.labels)
	for _, in := range e.program.inputs {
		if in.kind != computed {
			e.set(b.rowsOf(in.kind), in.at)
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

// set copies an array to columns.
func (e *engine) set(rows [][]float64, at int) {
	for i, row := range rows {
		for k, x := range row {
			if c := e.data.columns[at+k]; c != nil {
				c[i] = x
			}
		}
	}
}

func (q *Quantity) checkBatch(b Batch) error {
	n, d, k := len(b.Codes), q.schema.Codes, len(q.schema.Factors)
	if n == 0 {
		return errors.New("logic: no rows of codes, want at least one")
	}
	if err := q.checkInputs(func(kind inputKind) bool { return b.rowsOf(kind) != nil }, b.Values != nil, b.Labels != nil); err != nil {
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

func (q *Quantity) checkInputs(has func(inputKind) bool, y, labels bool) error {
	switch {
	case q.program.needsValues && !y:
		return errors.New("logic: the sentence is about values of factors, and there are none")
	case q.program.needsLabels && !labels:
		return errors.New("logic: the sentence compares factors of rows, and there are no labels")
	}
	for _, in := range q.program.inputs {
		if in.kind != computed && !has(in.kind) {
			return fmt.Errorf("logic: the sentence needs %v, and there are none", in.kind)
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
	if err := q.checkInputs(func(kind inputKind) bool { return in.nodeOf(kind) != nil }, in.Values != nil, in.Labels != nil); err != nil {
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
	for _, want := range q.program.inputs {
		if want.kind == computed {
			continue
		}
		if s, rows := in.nodeOf(want.kind).Shape(), shapes[0][0]; len(s) != 2 || s[0] != rows || s[1] != want.width {
			return fmt.Errorf("logic: want %v of shape [%d, %d], got %v", want.kind, rows, want.width, s)
		}
	}
	if rows := shapes[0][0]; in.Group < 0 || in.Group > 0 && rows%in.Group != 0 {
		return fmt.Errorf("logic: groups of %d rows, want a size that divides %d, the number of rows", in.Group, rows)
	}
	return nil
}
