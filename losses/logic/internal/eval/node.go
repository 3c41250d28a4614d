// Package eval computes typed programs: the quantity and its gradients for batches of rows.
package eval

import (
	"fmt"

	"github.com/unravel-ml/unravel/losses/logic/internal/program"
	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

// node computes the quantities of a part of a program, for one tuple of rows or for many tuples that differ in the
// innermost variable. Every evaluator has its own nodes, which store the results of the last computation.
type node interface {
	// value returns the quantities for the evaluator's first n tuples. They are valid until the next call.
	value(m *evaluator, n int) []float64

	// last returns the quantities of the last call of value.
	last() []float64

	// gradient adds to the evaluator's gradients of the columns, given the gradients g with respect to the quantities.
	// The last call of value must have had the same tuples. It does not modify g.
	gradient(m *evaluator, n int, g []float64)

	// cost returns an upper bound for the number of computed tuples.
	cost(d *data) float64

	Smooth() bool
}

// base holds the quantities of a node, and the gradients that it passes to its operands.
type base struct{ values, gradients, operandGradients []float64 }

func (b *base) last() []float64 { return b.values }

// chunk is the number of tuples that are computed at once.
const chunk = 256

// builder builds the nodes of an evaluator.
type builder struct {
	*evaluator
	innermost int // the innermost variable of the current quantifier, -1 if its body has quantifiers
	width     int // number of tuples that the current quantifier computes at once
}

func (b *builder) scratch() []float64 { return make([]float64, b.width) }
func (b *builder) base() base         { return base{b.scratch(), b.scratch(), b.scratch()} }

func (b *builder) node(n program.Node) node {
	switch n := n.(type) {
	case *program.Indicator:
		return &indicator{b.base(), n, b.innermost}
	case *program.Guarded:
		return &guarded{b.base(), n, b.domain(n, n.Text), b.innermost, b.node(n.Body)}
	case *program.Scaled:
		return &unary{b.base(), n, b.node(n.Body), multiple(n.Weight)}
	case *program.Negated:
		return &unary{b.base(), n, b.node(n.Body), negations(n.By)}
	case *program.Connective:
		return &connective{b.base(), n, b.node(n.A), b.node(n.B), operationOf(n)}
	case *program.Equality:
		return &equality{b.base(), n, b.split(n.Difference)}
	case *program.Cosine:
		return &cosine{base: b.base(), Cosine: n, a: b.split(n.A), b: b.split(n.B), lengths: [2][]float64{b.scratch(),
			b.scratch()}}
	case *program.Posteriors:
		return &posteriors{b.base(), n, b.split(n.Differences), b.split(n.A), b.split(n.B), [2][]float64{b.scratch(),
			b.scratch()}}
	case *program.Quantifier:
		if p := b.newPairs(n); p != nil {
			return p
		}
		return b.newQuantifier(n)
	case *program.Fit:
		return newFit(b, n)
	case *program.Independence:
		if n.By == syntax.HSIC {
			return &hsic{base: b.base(), Independence: n}
		}
		return &normalTC{base: b.base(), Independence: n}
	}
	panic(fmt.Sprintf("logic: %T is not a node", n))
}

func operationOf(n *program.Connective) operation {
	switch n.Kind {
	case syntax.AndKind:
		return conjunctions(n.By.And)
	case syntax.OrKind:
		return disjunctions(n.By.Or)
	}
	return implications(n.By.Implies)
}

// newQuantifier creates a quantifier, and nodes of its body for the number of tuples that it computes at once.
func (b *builder) newQuantifier(p *program.Quantifier) *quantifier {
	inner := builder{b.evaluator, -1, 1}
	q := &quantifier{base: inner.base(), Quantifier: p, over: b.domain(p, p.Text)}
	if p.Leaf {
		inner.innermost, inner.width = p.Binders[len(p.Binders)-1].Variable, chunk
	}
	q.body = inner.node(p.Body)
	q.best = make([]int32, len(p.Binders))
	q.passing, q.bodyGradients = make([]int32, chunk), make([]float64, chunk)
	return q
}
