package logic

import "github.com/unravel-ml/unravel/datasets/factor"

// Sentence is a formula without free variables, and the quantale that converts it to a quantity. The zero values of the
// operations are the operations in the paper's table 1.
type Sentence struct {
	Quantale
	Sampled bool // codes are samples of the rows' posteriors: `with z ~ q:`
	Body    Formula

	text string // the parsed text, for lines and columns in errors; empty if built by functions
}

// Formula is a part of a sentence that is true or false. The functions of this
// package make formulas: [Equal], [EqualCircular], [Same], [Differ], [And], [Or],
// [Implies], [Not], [Scale], [ForAll] and [Exists].
type Formula interface {
	position() int
	formula()
}

// Term is a part of a sentence that denotes a row, a number or a vector: a [Variable], a [Number], a [Vector] or a
// [Level]. [Codes], [SubCode], [CodeColumns], [Factors], [Factor], [FactorColumns], [Plus], [Minus] and [Times] also
// return terms.
type Term interface {
	position() int
	term()
}

// place is the position of a part in the text: the offset of its first byte plus one,
// 0 if built by functions.
type place int

func (p place) position() int { return int(p) }

type (
	equality struct {
		place
		a, b      Term
		premetric Premetric // Crisp: 0 or infinity
		period    float64   // of Circular
		not       bool      // crisp only: the terms differ
	}
	connective struct {
		place
		kind kind
		a, b Formula
	}
	negation struct {
		place
		a Formula
	}
	scaled struct {
		place
		weight float64
		a      Formula
	}
	quantified struct {
		place
		universal bool
		aggregate factor.Aggregate // of a universal quantifier without a fold
		domain    Domain
		body      Formula
		over      Formula // decides which rows are in the domain; nil: the body decides

		fold        fold    // replaces the aggregate, or the least
		temperature float64 // of anySoft
	}
)

func (*equality) formula()   {}
func (*connective) formula() {}
func (*negation) formula()   {}
func (*scaled) formula()     {}
func (*quantified) formula() {}

// kind is the kind of a binary connective.
type kind uint8

const (
	conjunction kind = iota
	disjunction
	implication
)

// Equal says that two terms are equal; its quantity is their distance by a strict
// premetric.
func Equal(p Premetric, a, b Term) Formula {
	e := &equality{a: a, b: b, premetric: p}
	if p == Circular {
		e.period = 1
	}
	return e
}

// EqualCircular is Equal with the premetric [Circular] of a given period.
func EqualCircular(period float64, a, b Term) Formula {
	return &equality{a: a, b: b, premetric: Circular, period: period}
}

// Same says that two rows, levels or constants are equal; its quantity is 0 or
// infinity.
func Same(a, b Term) Formula { return &equality{a: a, b: b} }

// Differ is the negation of Same.
func Differ(a, b Term) Formula { return &equality{a: a, b: b, not: true} }

// And is the conjunction of formulas, joined from the left.
func And(a, b Formula, more ...Formula) Formula { return join(conjunction, a, b, more) }

// Or is the disjunction of formulas, joined from the left.
func Or(a, b Formula, more ...Formula) Formula { return join(disjunction, a, b, more) }

func join(k kind, a, b Formula, more []Formula) Formula {
	f := &connective{kind: k, a: a, b: b}
	for _, c := range more {
		f = &connective{kind: k, a: f, b: c}
	}
	return f
}

// Implies says that b is true if a is.
func Implies(a, b Formula) Formula { return &connective{kind: implication, a: a, b: b} }

// Not is the negation of a formula.
func Not(a Formula) Formula { return &negation{a: a} }

// Scale multiplies the quantity of a formula by a positive number, which does not
// change its truth.
func Scale(weight float64, a Formula) Formula { return &scaled{weight: weight, a: a} }

// ForAll says that the body is true for all elements of a domain. If the body is an
// implication from a crisp formula, the crisp formula restricts the domain.
func ForAll(a factor.Aggregate, d Domain, body Formula) Formula {
	return &quantified{universal: true, aggregate: a, domain: d, body: body}
}

// Exists says that the body is true for some element of a domain. If the body is a
// conjunction with crisp formulas, they restrict the domain.
func Exists(d Domain, body Formula) Formula { return &quantified{domain: d, body: body} }

// ForAllBy is [ForAll] with the conjunction of all quantities as the aggregate:
// `forall[norm] i: ...` is the square root of the sum of squares.
func ForAllBy(c Conjunction, d Domain, body Formula) Formula {
	switch c {
	case AndAdd:
		return ForAll(factor.Sum, d, body)
	case AndMax:
		return ForAll(factor.Max, d, body)
	}
	return &quantified{universal: true, domain: d, body: body, fold: foldOfAll(c)}
}

// ExistsBy is [Exists] with the disjunction of all quantities instead of the least: `exists[harmonic] i: ...`.
func ExistsBy(o Disjunction, d Domain, body Formula) Formula {
	return &quantified{domain: d, body: body, fold: foldOfAny(o)}
}

// ExistsSoft is [Exists] with a soft minimum of the given temperature instead of the least: `exists[soft 0.1] i: ...`.
// It is 0 only where all quantities are.
func ExistsSoft(temperature float64, d Domain, body Formula) Formula {
	return &quantified{domain: d, body: body, fold: anySoft, temperature: temperature}
}

// Domain is the domain of a quantifier's variables: [Rows], [Values], [Members],
// [Points] or [Functions].
type Domain struct {
	names   []string
	set     set
	factor  string // of Values
	members []Term // of Members
	space   *access
	place   place // of the set
	moves   []pairMove

	functions []declaration
}

type set uint8

const (
	rowSet set = iota
	valueSet
	memberSet
	pointSet
	moveSet // of a transformation between rows
	functionSet
)

// Rows is the domain of one or more variables for rows of the batch:
// `i, j`.
func Rows(names ...string) Domain { return Domain{names: names} }

// Values is the domain of variables for the values of a factor that occur in the
// batch: `v in y.shape`.
func Values(factor string, names ...string) Domain {
	return Domain{names: names, set: valueSet, factor: factor}
}

// Members is the domain of a variable for constants: `c in {0, 0.5, 1}`. All are numbers, or all are vectors of one
// width.
func Members(name string, constants ...Term) Domain {
	return Domain{names: []string{name}, set: memberSet, members: constants}
}

// Points is the domain of a variable for the points of R^k: `c in z` for codes, or `c in z.shape` for a sub-code.
func Points(name, block string) Domain {
	return Domain{names: []string{name}, set: pointSet, space: &access{codes: true, name: block}}
}

// PointsOf is [Points] for columns of the codes: `c in z[0:2]`.
func PointsOf(name string, columns ...Range) Domain {
	return Domain{names: []string{name}, set: pointSet, space: &access{codes: true, columns: columns}}
}
