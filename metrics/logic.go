package metrics

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/losses/logic"
	"github.com/unravel-ml/unravel/metrics/internal/sentence"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// Logic is the value of a sentence of first-order logic about codes z and factors y, 0 or more (Zhang and Sugiyama
// 2024, section 2 and table 1). It computes the loss of the same sentence on all rows instead of a batch. Package logic
// describes the language.
//
// z are the codes. z.name are the columns that Codes assigns to the name of a factor, or to any other name. Without
// Codes, Assign gives columns to each factor. A transformation acts on the columns of its factor, and needs more than
// the one column that Assign best gives. y.name are values of factors: levels mapped to [0, 1] (or, for circular
// factors, to turns), and continuous values in the [Units] of the settings. A row with an unknown level of a factor
// that the sentence mentions is outside the domain of the quantifiers. Turns of circular factors and rotations in space
// relate all rows with equal values of every other factor; the groups of a supervision are not used. A sentence about z
// alone can measure images without factors.
//
// A sentence with more than Tuples tuples of rows is measured on a random subset of the rows. The basis of the result
// gives the size of the subset.
//
// The part score is e^-value. Truth of the result says what the value 0 implies; see [logic.Sentence.Truth].
type Logic struct {
	loss

	Sentence *logic.Sentence `yaml:"sentence" doc:"sentence to measure, such as: forall[mean] i, j: y.shape(i) = y.shape(j) -> z.shape(i) =[squared] z.shape(j)"`
	Name     string          `yaml:"name" doc:"name of the result, in lower-case letters, digits and hyphens; empty: logic"`
	Codes    factor.SubCodes `yaml:"codes" doc:"names of code columns for the sentence, such as {shape: [0, 1], x: [2]}; empty: see assign"`
	Assign   Assign          `yaml:"assign" doc:"without codes: order (equal shares of the columns, in order) or best (the best column for each factor); empty: order if the shares come out equal, otherwise best; eval of files takes order only for one column each"`
	Units    Units           `yaml:"units" doc:"units of continuous factors: range (maps the range over all rows to [0, 1], as in the loss) or as-given; levels are always mapped to [0, 1]"`
	Samples  int             `yaml:"samples" doc:"largest number of rows to measure, chosen at random from a larger set; 0: the number that tuples allows"`
	Tuples   int             `yaml:"tuples" doc:"largest number of row tuples to measure; a sentence over more tuples is measured on fewer, random rows"`
}

// NewLogic returns the default settings, without a sentence.
func NewLogic() *Logic { return &Logic{Units: unitsRange, Tuples: 1e8} }

const (
	maxTuples = 1e9
	wantLogic = "want a sentence, such as: forall[mean] i, j: y.shape(i) = y.shape(j) -> z.shape(i) =[squared] z.shape(j)"
)

type plainLogic Logic // without the short form in YAML

// DecodeConfig reads a sentence, or a mapping with all keys.
func (l *Logic) DecodeConfig(n *config.Node) error {
	if n.IsScalar() {
		n.Wrap("sentence")
	}
	return n.Decode((*plainLogic)(l))
}

func (l Logic) EncodeConfig() (any, error) { return plainLogic(l), nil }
func (l Logic) ConfigForms() []any         { return []any{plainLogic(l), config.Short("sentence")} }
func (Logic) ConfigType() string           { return "a sentence, or a mapping" }

// Variants implements [Varied]; the defaults have no sentence.
func (*Logic) Variants() []Metric {
	var variants []Metric
	for _, text := range []string{
		"forall[mean] i, j: z(i) =[euclidean] z(j) -> y(i) =[circular] y(j)",
		"forall[mean] i: exists c in {-1, 1}: z(i) =[absolute] c",
	} {
		l := NewLogic()
		if sentence, err := logic.Parse(text); err == nil { // TestLogicVariants finds an error
			l.Sentence, variants = &sentence, append(variants, l)
		}
	}
	return variants
}

func (l *Logic) Title() string { return l.Name }

// SetCodes implements [SubCoded]. Without new codes, the settings keep their own.
func (l *Logic) SetCodes(c factor.SubCodes, a Assign) {
	if len(c) > 0 || len(l.Codes) == 0 {
		l.Codes, l.Assign = c, a
	}
}

// Needs returns KnownLevels, AllRows if a variable has no factor, or NoLevels for a sentence about codes alone.
func (l *Logic) Needs() Needs {
	if l.Sentence == nil {
		return KnownLevels
	}
	switch factors, subCodes := l.Sentence.Mentions(); {
	case !factors && !(subCodes && len(l.Codes) == 0):
		return NoLevels
	case l.Sentence.AllRows():
		return AllRows
	}
	return KnownLevels
}

func (l *Logic) Validate() error { return (*plainLogic)(l).Validate() }

func (l *plainLogic) Validate() error {
	sentence := l.Sentence != nil && !l.Sentence.IsZero()
	another := l.Name != "" && l.Name != "logic" && slices.Contains(Registry.Names(), l.Name)
	return cmp.Or(
		rule(sentence, "sentence", wantLogic),
		rule(strings.Trim(l.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") == "", "name",
			"%q has other characters than lower-case letters, digits and hyphens; want a name such as modular", l.Name),
		rule(!another, "name", "%s is another metric; want a new name", l.Name),
		inRange("tuples", l.Tuples, 1, maxTuples),
		l.Units.validate(),
		notNegative("samples", l.Samples, "all"),
		l.Assign.validate(),
	)
}

func (l *Logic) Suits(in *Input) error {
	if err := l.Validate(); err != nil {
		return err
	}
	_, _, err := l.compile(in, func() ([]factor.Block, error) {
		blocks := make([]factor.Block, len(in.Factors))
		for j := range blocks {
			blocks[j] = factor.Block{Factor: j, Columns: []int{0}}
		}
		return blocks, nil
	})
	return err
}

// compile checks the sentence against an input. If the sentence has sub-codes without assigned columns, best finds one
// column for each factor; blocks are these columns.
func (l *Logic) compile(
	in *Input, best func() ([]factor.Block, error),
) (q *logic.Quantity, blocks []factor.Block, err error) {
	s := logic.Schema{Codes: in.Codes.Cols, SubCodes: l.Codes, Factors: factor.Names(in.Factors),
		Levels: logic.LevelNames(in.Factors), Turns: logic.Turns(in.Factors)}
	for k, exact := range in.Exact {
		if exact != nil && l.Units == unitsAsGiven {
			delete(s.Levels, in.Factors[k].Name) // the factor has its own values, not levels
		}
	}
	if err := l.Codes.Within("codes", s.Codes); err != nil {
		return nil, nil, err
	}
	if _, subCodes := l.Sentence.Mentions(); len(l.Codes) == 0 && (subCodes || l.Sentence.Moves()) {
		even, err := planBlocks(in, nil, l.Assign)
		switch {
		case !subCodes && err != nil:
			even = nil // the sentence may name the transformed columns itself
		case err != nil:
			return nil, nil, err
		case subCodes && even == nil:
			if blocks, err = best(); err != nil {
				return nil, nil, err
			}
			even = blocks
		}
		s.SubCodes = map[string][]int{}
		for _, b := range even {
			s.SubCodes[s.Factors[b.Factor]] = b.Columns
		}
	}
	if q, err = logic.Compile(*l.Sentence, s); err != nil {
		return nil, nil, err
	}
	return q, blocks, checkAvailable(q)
}

// checkAvailable returns an error if a sentence needs posteriors, because an input has only codes.
func checkAvailable(q *logic.Quantity) error {
	switch {
	case q.NeedsLogVariances():
		return errors.New("the sentence is about posteriors, but codes hold only their means; want a sentence about codes, or this sentence as a loss")
	case q.NeedsSamples():
		return errors.New("the sentence is about samples of posteriors, but codes hold only means; want a sentence about codes, or this sentence as a loss")
	}
	return nil
}

// Compute returns the parts score and, with Assign best, columns. It sets Sentence and Truth of the result.
func (l *Logic) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, l, in); err != nil {
		return Result{}, err
	}
	q, blocks, err := l.compile(in, func() ([]factor.Block, error) { return in.bestBlocks(ctx) })
	if err != nil {
		return Result{}, err
	}
	truth := l.Sentence.Truth()
	r := Result{Sentence: l.Sentence.String(), Truth: truthOf(truth),
		Notes: []string{l.Sentence.Formula(), truth.String()}}
	if blocks != nil {
		r.Parts = append(r.Parts, columnsPart(in, blocks))
		r.Notes = append(r.Notes, describe(in, blocks))
	}
	batch := sentence.Rows(q, in.Codes, in.table(), func() []float64 { return in.factorRows(l.Units) })
	n := len(batch.Codes)
	if batch, err = sentence.Affordable(ctx, q, batch, l.Samples, l.Tuples, in.Stream, errNoStream); err != nil {
		return Result{}, err
	}
	if m := len(batch.Codes); m < n {
		r.Basis.Rows = m
	}
	if q.NeedsValues() && l.Units == unitsRange &&
		slices.ContainsFunc(in.Exact, func(values []float64) bool { return values != nil }) {
		r.Notes = append(r.Notes, "continuous factors are mapped to [0, 1] by their range (units: range)")
	}
	unmatched := q.Unmatched(batch)
	for _, text := range unmatched {
		r.Notes = append(r.Notes, "no row has the value in "+text)
	}
	batch.Interrupt, batch.Stream = ctx.Err, in.Stream // networks that the sentence fits are initialised at random
	if r.Value, err = q.ValueOf(batch); err != nil {
		return Result{}, unprefixed{err}
	}
	for _, text := range q.Empty() {
		if len(unmatched) == 0 { // else it is the reason
			r.Notes = append(r.Notes, "no rows fulfil the condition, so this is 0 for any codes: "+text)
		}
	}
	if math.IsInf(r.Value, 1) {
		return Result{}, errors.New("the quantity is infinite (score 0): an exists has no row, or not = inverse negates a quantity of 0; want a sentence that is finite for these rows")
	}
	return r.withScore()
}

type unprefixed struct{ error }

func (e unprefixed) Error() string { return strings.TrimPrefix(e.error.Error(), "logic: ") }
func (e unprefixed) Unwrap() error { return e.error }

func truthOf(t logic.Truth) string {
	switch {
	case t.Equivalent:
		return "equivalent"
	case t.Implied:
		return "implied"
	}
	return "undecided"
}

func columnsPart(in *Input, blocks []factor.Block) Part {
	p := Part{Name: "columns"}
	for _, b := range blocks {
		_, number := in.column(b.Columns[0])
		p.add(in.Factors[b.Factor].Name, number)
	}
	return p
}

// Approximation holds the best product function of the factors and the best affine left inverse, in mean square (Zhang
// and Sugiyama 2024, definitions 5 and 8, figure 9).
type Approximation struct {
	// Blocks are the sub-codes of the factors.
	Blocks []factor.Block

	// Product is m*, the best product approximation, n x d. A row is the mean of the sub-codes over all rows with the
	// same level of the factor (equations 15 and 16). An unknown level gives NaN. Columns that belong to no factor keep
	// their codes.
	Product matrix.Matrix

	// LeftInverse is the prediction of the factors by the affine map with the minimum mean squared error, n x k.
	LeftInverse matrix.Matrix

	// Values are the factors that LeftInverse predicts, n x k: continuous factors in their own units, others mapped to
	// [0, 1]. Unknown values are NaN.
	Values matrix.Matrix
}

// Approximate returns the best product approximation of codes and the best affine left inverse. codes assigns columns
// to factors; without it, assign does. When the context ends, it returns ctx.Err().
func Approximate(ctx context.Context, in *Input, codes factor.SubCodes, assign Assign) (*Approximation, error) {
	if err := cmp.Or(in.Validate(), assign.validate()); err != nil {
		return nil, err
	}
	blocks, err := planBlocks(in, codes, assign)
	if err == nil && blocks == nil {
		blocks, err = in.bestBlocks(ctx)
	}
	if err != nil {
		return nil, err
	}
	a := &Approximation{Blocks: blocks,
		Values: matrix.Matrix{Rows: in.Codes.Rows, Cols: len(in.Factors), Data: in.factorRows(unitsAsGiven)}}
	a.Product, a.LeftInverse, err = sentence.Approximate(ctx, in.Codes, in.table(), a.Values.Data, blocks)
	if err != nil {
		return nil, err
	}
	for i, level := range in.Levels {
		if level < 0 {
			a.Values.Data[i] = math.NaN()
		}
	}
	return a, nil
}
