package logic

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/losses/logic/syntax"
)

// program is a compiled sentence. All its inputs are entries of columns:
//
//	0 ..            codes, by row
//	values ..       values of factors, by row
//	labels ..       labels of factors, by row
//	levelValues ..  values of the levels of factors, by level
//	levelLabels ..  labels of the levels of factors, by level
//	members ..      constants, by member, and arrays that a batch may also have (inputs), by row
type program struct {
	codes, factors                                    int
	values, labels, levelValues, levelLabels, members int

	memberColumns [][]float64 // nil: a column of an input, or computed from one, by row
	inputs        []input
	turns         []int // first columns of the turns in use
	matrices      []matrix
	needsValues   bool
	needsLabels   bool
	leveled       []bool // factors with rows grouped by level, then groups of rows that transformations relate
	variables     int
	nodes         []int // number of quantities that a node holds at once
	quantifiers   []*quantifier
	centres       int
	dependences   int
	learned       string // a part that is trained along
	networks      []*learned
	pairs         int
	fits          int
	fitted        []*fitted // by function, in the order of their quantifiers
	indexes       []indexKey
	root          node
}

// indexKey describes a list of rows: the rows where some factors are known, sorted by the
// level of a factor (-1: in batch order).
type indexKey struct {
	known []int
	by    int
}

func newProgram(s Schema) *program {
	k := len(s.Factors)
	p := &program{codes: s.Codes, factors: k, values: s.Codes, leveled: make([]bool, k+1)}
	p.labels = p.values + k
	p.levelValues = p.labels + k
	p.levelLabels = p.levelValues + k
	p.members = p.levelLabels + k
	return p
}

func (p *program) useValues() { p.needsValues = true }
func (p *program) useLabels() { p.needsLabels = true }

func (p *program) valueColumn(factor int) int {
	p.useValues()
	return p.values + factor
}

func (p *program) levelValueColumn(factor int) int {
	p.useValues()
	return p.levelValues + factor
}

// labelEntries are the labels of a row's factors, or of a value.
func (p *program) labelEntries(s side) []entry {
	var entries []entry
	for _, f := range s.labels {
		column := p.labels + f
		if s.owner.set == syntax.ValueSet {
			column = p.levelLabels + f
		}
		entries = append(entries, entry{column: column, variable: s.owner.id})
	}
	return entries
}

// constants adds a column of constants.
func (p *program) constants(numbers []float64) int {
	p.memberColumns = append(p.memberColumns, numbers)
	return p.members + len(p.memberColumns) - 1
}

// node numbers a new node with room for capacity quantities.
func (p *program) node(capacity int) base {
	p.nodes = append(p.nodes, capacity)
	return base{len(p.nodes) - 1}
}

// index numbers a list of rows.
func (p *program) index(known []int, by int) int {
	if by >= 0 {
		p.leveled[by] = true
	}
	for i, k := range p.indexes {
		if k.by == by && slices.Equal(k.known, known) {
			return i
		}
	}
	p.indexes = append(p.indexes, indexKey{known, by})
	return len(p.indexes) - 1
}

// maxEvaluations bounds the number of tuples of rows of a sentence.
const maxEvaluations = 1e9

// chunk is the number of tuples that are computed at once.
const chunk = 256

// Quantity is a compiled sentence: a function from batches to [0, inf].
type Quantity struct {
	sentence syntax.Sentence
	schema   Schema
	program  *program
	summands []summand // replaces the program with the operations of named losses, if any
}

// Compile checks a sentence against a schema. Its error is an [*Error] with the wrong part of
// the sentence, or describes the error of the schema.
func Compile(s syntax.Sentence, schema Schema) (*Quantity, error) {
	if err := schema.check(); err != nil {
		return nil, fmt.Errorf("schema of a sentence: %w", err)
	}
	c := &compiler{sentence: s, schema: schema, program: newProgram(schema), lane: -1, width: 1}
	if err := s.Quantale.Check(); err != nil {
		return nil, c.fail(nil, "%v", err)
	}
	root, err := c.node(s.Body)
	if err != nil {
		return nil, err
	}
	if f := syntax.Unbounded(s.Body); f != nil {
		return nil, c.fail(f, "%s is 0 or infinity here, without a gradient; want a premetric, such as =[euclidean], "+
			"or crisp equalities only as what restricts a quantifier (forall i: ... -> ..., exists i: ... and ...)", syntax.TextOf(f))
	}
	c.program.root = root
	q := &Quantity{sentence: s, schema: schema, program: c.program}
	if err := q.name(); err != nil {
		return nil, err
	}
	return q, nil
}

// name finds the named losses that the sentence adds up.
func (q *Quantity) name() error {
	all := summands(q.sentence, q.schema)
	if i, ok := q.sentence.Body.(*syntax.Independence); ok { // it is its only part
		blocks := all[0].independent
		q.summands = []summand{{weight: 1, node: func(named Named, in Inputs) (*gorgonia.Node, error) { return q.dependence(named, i, blocks, in) }}}
		return nil
	}
	for _, s := range all {
		if s.node == nil {
			part := q.sentence
			part.Body = s.part
			sub, err := Compile(part, q.schema)
			if err != nil {
				return err
			}
			s.node = func(named Named, in Inputs) (*gorgonia.Node, error) {
				if i, ok := s.part.(*syntax.Independence); ok {
					return sub.dependence(named, i, s.independent, in)
				}
				return sub.node(named, in)
			}
		} else if loss := s.node; q.sentence.Sampled {
			s.node = func(named Named, in Inputs) (*gorgonia.Node, error) {
				in.Codes = in.Samples
				return loss(named, in)
			}
		}
		q.summands = append(q.summands, s)
	}
	return nil
}

// Sentence returns the compiled sentence.
func (q *Quantity) Sentence() syntax.Sentence { return q.sentence }

// NeedsValues reports whether the sentence uses values of factors.
func (q *Quantity) NeedsValues() bool { return q.program.needsValues }

// NeedsLabels reports whether the sentence uses levels of factors: which rows agree in
// them, and which are unknown.
func (q *Quantity) NeedsLabels() bool { return q.program.needsLabels }

// Differentiable reports whether the quantity has a gradient in the codes.
func (q *Quantity) Differentiable() bool { return q.program.root.smooth() }
