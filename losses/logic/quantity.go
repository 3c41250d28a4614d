package logic

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/losses/logic/internal/eval"
	"github.com/unravel-ml/unravel/losses/logic/internal/program"
	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

// Quantity is a compiled sentence: a function from batches to [0, inf].
type Quantity struct {
	sentence syntax.Sentence
	schema   Schema
	program  *program.Program
	summands []summand // replaces the program if parts of it are losses
	engines  engines
}

// Compile checks a sentence against a schema. Its error is an [*Error], or describes an invalid schema.
func Compile(s Sentence, schema Schema) (q *Quantity, err error) {
	if err := schema.check(); err != nil {
		return nil, fmt.Errorf("schema of a sentence: %w", err)
	}
	if s.IsZero() {
		return nil, errNoSentence
	}
	q, err = compile(s.tree, schema)
	return q, public(err)
}

func compile(s syntax.Sentence, schema Schema) (q *Quantity, err error) {
	defer syntax.Recover(&err)
	c := &compiler{sentence: s, schema: schema, program: program.New(schema.Codes, len(schema.Factors))}
	root := c.node(s.Body)
	if f := syntax.Unbounded(s.Body); f != nil {
		panic(c.error(f, "%s is 0 or infinity here, without a gradient; want a premetric, such as =[euclidean], "+
			"or crisp equalities only as what restricts a quantifier (forall i: ... -> ..., exists i: ... and ...)",
			syntax.TextOf(f)))
	}
	c.program.Root = root
	return &Quantity{sentence: s, schema: schema, program: c.program, summands: summands(c.program)}, nil
}

// Sentence returns the compiled sentence.
func (q *Quantity) Sentence() Sentence { return Sentence{q.sentence} }

// NeedsValues reports whether the sentence uses values of factors.
func (q *Quantity) NeedsValues() bool { return q.program.NeedsValues }

// NeedsLabels reports whether the sentence uses levels of factors, to compare rows or to skip unknown factors.
func (q *Quantity) NeedsLabels() bool { return q.program.NeedsLabels }

// Differentiable reports whether the quantity has a gradient in the codes.
func (q *Quantity) Differentiable() bool { return q.program.Root.Smooth() }

// Batch is a batch of rows in the form of numbers; see [Quantity.ValueOf]. Inputs that a sentence does not need can be
// nil (see the methods Needs of [Quantity]).
type Batch struct {
	Codes  [][]float64 // z [n, d]
	Values [][]float64 // values y of the factors, [n, K], with the columns of the schema
	// [n, K]: rows with equal labels have equal values of a factor; negative: unknown. nil: all factors are known, but
	// = between factors and functions of levels need labels
	Labels [][]float64

	LogVariances [][]float64 // log variances of Gaussian posteriors with the means Codes, [n, d]
	// samples of the posteriors, [n, d]; nil: drawn from the Gaussian posteriors if the sentence needs them
	Samples [][]float64

	// for every turn of the schema an angle, or an axis and an angle, relative to a reference common to the row's
	// group, [n, M]
	Moves [][]float64
	// transformations are known between rows of the same group; rows with a negative number are in no group. nil: all
	// rows form one group
	Groups []int

	// Interrupt, if set, is called at times. Its error ends the computation, and [Quantity.ValueOf] returns it.
	Interrupt func() error

	Stream *rng.Stream // for samples and for initial parameters of networks that the sentence fits; nil: a fixed stream
}

// NeedsLogVariances reports whether the sentence uses the posteriors' log variances.
func (q *Quantity) NeedsLogVariances() bool { return q.program.Needs(program.LogVariances) }

// NeedsSamples reports whether the sentence uses samples of the posteriors.
func (q *Quantity) NeedsSamples() bool { return q.sentence.Sampled }

// NeedsMoves reports whether the sentence uses transformations between rows.
func (q *Quantity) NeedsMoves() bool { return q.program.Needs(program.Moves) }

func (b *Batch) input(kind program.InputKind) [][]float64 {
	return [...][][]float64{program.LogVariances: b.LogVariances, program.Means: b.Codes, program.Moves: b.Moves}[kind]
}

// ValueOf returns the quantity of a batch. It is NaN, like any loss, if a code, value or log variance in the domain of
// the sentence is NaN. Check the batch or the result if this matters.
func (q *Quantity) ValueOf(b Batch) (value float64, err error) {
	if q.program.Learned != "" {
		const text = "logic: %s has no value without a model, because a discriminator learns it with the model; " +
			"want independent[hsic] or independent[tc] in a metric"
		return 0, fmt.Errorf(text, q.program.Learned)
	}
	e, err := q.load(b)
	if err != nil {
		return 0, err
	}
	if len(q.program.Networks) > 0 {
		value, err = e.FitNetworks(b.Stream, b.Labels != nil)
	} else {
		value, err = e.Value(b.Labels != nil)
	}
	q.engines.set(e)
	return value, err
}

// Empty lists the parts of the sentence with conditions that no rows fulfil. A forall without rows is 0. The rows are
// the last batch of [Quantity.ValueOf] or, for a quantity with nodes, all batches of its nodes.
func (q *Quantity) Empty() []string { return eval.Empty(q.engines.all()...) }

// engines holds the engines for [Quantity.Empty].
type engines struct {
	mutex sync.Mutex
	list  []*eval.Engine
}

func (l *engines) all() []*eval.Engine {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return slices.Clone(l.list)
}

func (l *engines) set(e *eval.Engine) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.list = []*eval.Engine{e}
}

func (l *engines) add(e *eval.Engine) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.list = append(l.list, e)
}

// Unmatched lists the equalities of a factor and a constant whose constant no row of a batch has.
func (q *Quantity) Unmatched(b Batch) (list []string) {
	for _, c := range q.program.Compared {
		rows := b.Values
		if c.Level {
			rows = b.Labels
		}
		has := func(row []float64) bool { return float32(row[c.Factor]) == float32(c.Number) }
		if len(rows) > 0 && !slices.ContainsFunc(rows, has) && !slices.Contains(list, c.Text) {
			list = append(list, c.Text)
		}
	}
	return list
}

// load returns an engine that holds a batch.
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

// Tuples returns the cost of a sentence: the number of tuples of rows that it visits for a batch. The maximum is 1e9.
func (q *Quantity) Tuples(b Batch) (float64, error) {
	if err := q.checkBatch(b); err != nil {
		return 0, err
	}
	return eval.Tuples(q.program, len(b.Codes), b.Labels != nil, func(e *eval.Engine) { q.fill(e, b) }), nil
}

// fill copies the arrays of a batch to the columns of an engine.
func (q *Quantity) fill(e *eval.Engine, b Batch) {
	e.Groups, e.Interrupt = b.Groups, b.Interrupt
	e.Set(q.codes(b), 0)
	e.Set(b.Values, q.program.Values)
	e.Set(b.Labels, q.program.Labels)
	for _, in := range q.program.Inputs {
		if in.Kind != program.Computed {
			e.Set(b.input(in.Kind), in.At)
		}
	}
}

// codes returns the codes that the sentence uses.
func (q *Quantity) codes(b Batch) [][]float64 {
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
// sample is NaN if its log variance is missing.
func (b Batch) Draw(s *rng.Stream) [][]float64 {
	samples := make([][]float64, len(b.Codes))
	for i, mean := range b.Codes {
		for k, x := range mean {
			v := math.NaN()
			if i < len(b.LogVariances) && k < len(b.LogVariances[i]) {
				v = b.LogVariances[i][k]
			}
			samples[i] = append(samples[i], x+math.Exp(v/2)*s.NormFloat64())
		}
	}
	return samples
}

func (q *Quantity) checkBatch(b Batch) error {
	n, d, k := len(b.Codes), q.schema.Codes, len(q.schema.Factors)
	if n == 0 {
		return errors.New("logic: no rows of codes, want at least one")
	}
	if err := q.checkInputs(func(kind program.InputKind) bool { return b.input(kind) != nil }, b.Values != nil, b.Labels != nil); err != nil {
		return err
	}
	if q.sentence.Sampled && b.Samples == nil && b.LogVariances == nil {
		return errors.New("logic: the sentence is about samples (z ~ q), but the model gives neither samples nor log variances")
	}
	for _, array := range []struct {
		name  string
		rows  [][]float64
		width int
	}{{"codes", b.Codes, d}, {"factors", b.Values, k}, {"labels", b.Labels, k},
		{"log variances", b.LogVariances, d}, {"samples", b.Samples, d}, {"moves", b.Moves, q.schema.moves()}} {
		if array.rows != nil && len(array.rows) != n {
			return fmt.Errorf("logic: %s of %d rows, want %d, one for each code", array.name, len(array.rows), n)
		}
		for i, row := range array.rows {
			if len(row) != array.width {
				return fmt.Errorf("logic: row %d of %s has %s, want %d", i, array.name, wording.Count(len(row), "number"),
					array.width)
			}
		}
	}
	if b.Groups != nil && len(b.Groups) != n {
		return fmt.Errorf("logic: groups of %d rows, want %d, one for each code", len(b.Groups), n)
	}
	for i, row := range b.Moves {
		if slices.ContainsFunc(row, func(x float64) bool { return math.IsInf(x, 0) }) {
			return fmt.Errorf("logic: row %d of moves is %v, want finite angles and axes, or NaN where they are unknown", i, row)
		}
	}
	return nil
}

func (q *Quantity) checkInputs(hasInput func(program.InputKind) bool, y, labels bool) error {
	switch {
	case q.program.NeedsValues && !y:
		return errors.New("logic: the sentence is about values of factors, and there are none")
	case q.program.NeedsLabels && !labels:
		return errors.New("logic: the sentence compares factors of rows, and there are no labels")
	}
	for _, in := range q.program.Inputs {
		if in.Kind != program.Computed && !hasInput(in.Kind) {
			return fmt.Errorf("logic: the sentence needs %v, and there are none", in.Kind)
		}
	}
	return nil
}

// Fitted is a function that attains the quantity of a sentence for a batch. It is the best function of its class, or
// the minimiser of its criterion (Zhang and Sugiyama 2024, definitions 5 and 8 and equations 15 and 16).
type Fitted struct {
	Name                   string // such as h or m.shape
	Function               string // in the form of the sentence, such as: h: z -> y in affine
	FromCodes, ToCodes     bool   // true: codes; false: factors
	FromColumns, ToColumns []int

	// For functions with a class:
	Matrix [][]float64 // W, by column of To and column of From
	Offset []float64   // b

	// For functions of levels: the labels of the levels in the domain, and their points.
	Levels, Points [][]float64

	// Values holds the value of the function for every row of the batch. It is NaN if a factor in the argument is
	// unknown, or if its level is not in the domain. Values is nil if the argument depends on more than one row.
	Values [][]float64
}

// String returns the function with its matrix and offset, or its levels and points.
func (f Fitted) String() string {
	switch {
	case f.Matrix != nil:
		return fmt.Sprintf("%s, matrix %v, offset %v", f.Function, f.Matrix, f.Offset)
	case f.Levels != nil:
		return fmt.Sprintf("%s, levels %v, points %v", f.Function, f.Levels, f.Points)
	}
	return f.Function
}

// Approximation returns the functions of the sentence's quantifiers for a batch, in their order. A function that is
// fitted separately for several values is listed several times. A function with an empty domain is left out. Functions
// in mlp come last and have only Values. An infinite number or NaN in the domain of a function is an error.
func (q *Quantity) Approximation(b Batch) ([]Fitted, error) {
	e, err := q.load(b)
	if err != nil {
		return nil, err
	}
	functions, err := e.Functions(b.Stream, b.Labels != nil)
	var fitted []Fitted
	for _, f := range functions {
		fitted = append(fitted, Fitted{f.Name, syntax.TextOf(f.Function), f.From.Codes, f.To.Codes, f.FromColumns,
			f.ToColumns,
			f.Matrix, f.Offset, f.Levels, f.Points, f.Values})
	}
	return fitted, err
}

// Product returns the codes, with the values of functions in the functions' target columns. Other columns keep their
// codes. For a product function m.a: y.a -> z.a, m.b: y.b -> z.b, ... it is m*, the best product approximation. Product
// ignores rows and columns that exist only in the functions or only in the codes.
func Product(functions []Fitted, codes [][]float64) [][]float64 {
	rows := make([][]float64, len(codes))
	for i, z := range codes {
		rows[i] = slices.Clone(z)
		for _, f := range functions {
			if !f.ToCodes || i >= len(f.Values) {
				continue
			}
			for k, c := range f.ToColumns {
				if c < len(z) {
					rows[i][c] = f.Values[i][k]
				}
			}
		}
	}
	return rows
}
