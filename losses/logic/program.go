package logic

import (
	"fmt"
	"github.com/unravel-ml/unravel/losses/logic/internal/program"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/losses/logic/syntax"
)

// Quantity is a compiled sentence: a function from batches to [0, inf].
type Quantity struct {
	sentence syntax.Sentence
	schema   Schema
	program  *program.Program
	summands []summand // replaces the program with the operations of named losses, if any
}

// Compile checks a sentence against a schema. Its error is an [*Error] with the wrong part of
// the sentence, or describes the error of the schema.
func Compile(s syntax.Sentence, schema Schema) (*Quantity, error) {
	if err := schema.check(); err != nil {
		return nil, fmt.Errorf("schema of a sentence: %w", err)
	}
	c := &compiler{sentence: s, schema: schema, program: program.New(schema.Codes, len(schema.Factors))}
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
	c.program.Root = root
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
func (q *Quantity) NeedsValues() bool { return q.program.NeedsValues }

// NeedsLabels reports whether the sentence uses levels of factors: which rows agree in
// them, and which are unknown.
func (q *Quantity) NeedsLabels() bool { return q.program.NeedsLabels }

// Differentiable reports whether the quantity has a gradient in the codes.
func (q *Quantity) Differentiable() bool { return q.program.Root.Smooth() }
