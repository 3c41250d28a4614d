package logic

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/datasets/factor"
)

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

		fold        fold    // replaces the aggregate, or the least
		temperature float64 // of anySoft
	}
)

func (*equality) formula() {}

func (*connective) formula() {}

func (*negation) formula() {}

func (*scaled) formula() {}

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

// Variable is the name of a variable that a quantifier binds.
type Variable string

// Number is a constant. Next to a vector it denotes the vector with that number in every column.
type Number float64

// Vector is a constant vector.
type Vector []float64

// Level is the name of a level of a factor: a constant that can be compared with
// values of that factor.
type Level string

func (Variable) term() {}

func (Variable) position() int { return 0 }

func (Number) term() {}

func (Number) position() int { return 0 }

func (Vector) term() {}

func (Vector) position() int { return 0 }

func (Level) term() {}

func (Level) position() int { return 0 }

// Range are the columns from Lo to Hi-1.
type Range struct{ Lo, Hi int }

type (
	// placed is a variable or a constant with its place in a text.
	placed struct {
		place
		Term
	}

	// access is the code (z) or the factors (y) of a row.
	access struct {
		place
		codes   bool
		name    string   // name of a sub-code or a factor
		columns []Range  // instead of a name; without both: all columns
		row     Variable // empty: the space itself, in a Domain
	}
	arithmetic struct {
		place
		a, b  Term
		minus bool
	}
	multiple struct {
		place
		factor float64
		a      Term
	}
)

func (p *placed) position() int { return int(p.place) }

func (*access) term() {}

func (*arithmetic) term() {}

func (*multiple) term() {}

// Codes is the whole code of a row: `z(i)`.
func Codes(row Variable) Term { return &access{codes: true, row: row} }

// SubCode is the sub-code of a factor: `z.shape(i)`.
func SubCode(name string, row Variable) Term { return &access{codes: true, name: name, row: row} }

// CodeColumns are columns of the code: `z[0:2](i)`.
func CodeColumns(row Variable, columns ...Range) Term {
	return &access{codes: true, columns: columns, row: row}
}

// Factors are the values of all factors of a row: `y(i)`.
func Factors(row Variable) Term { return &access{row: row} }

// Factor is the value of a factor of a row: `y.shape(i)`.
func Factor(name string, row Variable) Term { return &access{name: name, row: row} }

// FactorColumns are the values of factors that are given by their numbers: `y[0:2](i)`.
func FactorColumns(row Variable, columns ...Range) Term { return &access{columns: columns, row: row} }

// Plus is the sum of two terms.
func Plus(a, b Term) Term { return &arithmetic{a: a, b: b} }

// Minus is the difference of two terms.
func Minus(a, b Term) Term { return &arithmetic{a: a, b: b, minus: true} }

// Times is a multiple of a term.
func Times(factor float64, a Term) Term { return &multiple{factor: factor, a: a} }

// bare returns a term without its place in a text.
func bare(t Term) Term {
	if p, ok := t.(*placed); ok {
		return p.Term
	}
	return t
}

// Function is a variable for functions between codes and factors, which [Functions] binds:
// `h: z -> y in affine` or `m.shape: y.shape -> z.shape`.
type Function struct {
	Name     string // a name, or two with a dot between: m.shape
	From, To Space
	Class    Class
	Layers   []int // for MLP: widths of the hidden layers; nil: the default
	By       Fit
}

// Space is a set of vectors: all factors or codes, or a part of them.
type Space struct {
	Codes   bool    // codes (z); otherwise factors (y)
	Name    string  // name of a sub-code or a factor
	Columns []Range // instead of a name; without both: all columns
}

// Class restricts the functions among which the best one is sought.
type Class uint8

// The classes of functions. Any function is possible from levels of factors: one point for each level,
// or for each tuple of levels.
const (
	AnyFunction Class = iota
	Affine            // x -> W x + b
	Linear            // x -> W x
	Isometry          // x -> Q x + b, where the columns of Q are orthonormal: it keeps distances
	MLP               // a neural network
)

// Fit is a criterion. It fits a function before the body of the function's quantifier is evaluated. The quantity is
// then an upper bound of the least quantity.
type Fit uint8

// The criteria. ByBody minimises the quantity of the body itself.
const (
	ByBody         Fit = iota
	ByLeastSquares     // least mean squared distance
	ByAbsolute         // least mean absolute deviation of each column
	ByMax              // least largest Euclidean distance
)

func classNames() []string { return []string{"", "affine", "linear", "isometry", "mlp"} }

func fitNames() []string { return []string{"", "least squares", "absolute", "max"} }

func (c Class) String() string {
	if c == AnyFunction {
		return "any"
	}
	return nameOf("Class", classNames(), int(c))
}

func (f Fit) String() string {
	if f == ByBody {
		return "body"
	}
	return nameOf("Fit", fitNames(), int(f))
}

// Functions is the domain of variables for functions: `h: z -> y in affine`. [Exists] binds them.
func Functions(all ...Function) Domain {
	d := Domain{set: functionSet}
	for _, f := range all {
		d.names = append(d.names, f.Name)
		d.functions = append(d.functions, declaration{Function: f})
	}
	return d
}

// At is the value of the function at a term: `h(z(i))`.
func (f Function) At(argument Term) Term { return Apply(f.Name, argument) }

// Apply is the value of a function, by its name, at a term: `h(z(i))`.
func Apply(function string, argument Term) Term { return &application{function: function, a: argument} }

// declaration is a function with its place in a text.
type declaration struct {
	place
	Function
	from, to place // of the spaces
}

// application is the value of a function at a term.
type application struct {
	place
	function string
	a        Term
}

func (*application) term() {}

// access returns the space as a term without a row.
func (s Space) access(at place) *access {
	return &access{place: at, codes: s.Codes, name: s.Name, columns: s.Columns}
}

// validFunction reports whether a function can have a name: a name, or a name, a dot and anything.
func validFunction(name string) bool {
	head, tail, dotted := strings.Cut(name, ".")
	return isName(head) && !slices.Contains([]string{"y", "z"}, head) && (!dotted || tail != "")
}

// Move names a transformation that a quantifier has bound, [Domain.Moving], and how it acts.
type Move struct {
	Name      Variable
	Turn      string  // acts by this turn alone, on columns of any name; empty: by all turns, each on the sub-code of its name
	Frequency float64 // of angles; 0: 1
}

// Act moves codes by a transformation: `act(g, z(i))`. A frequency, `act[2](g, z(i))`, multiplies angles. With a turn,
// `act(g.angle, z[0:2](i))`, this turn acts on the columns.
func Act(m Move, a Term) Term { return &moved{move: m, a: a} }

// Moving binds the transformation that leads from one row to another, `g(i, j)`. It restricts the rows to pairs with a
// known transformation.
func (d Domain) Moving(name string, from, to Variable) Domain {
	d.moves = append(slices.Clone(d.moves), pairMove{name: name, from: from, to: to})
	return d
}

type (
	// pairMove is a transformation that a quantifier binds.
	pairMove struct {
		place
		name     string
		from, to Variable
	}

	// moved is a term moved by a transformation.
	moved struct {
		place
		move Move
		a    Term
	}
)

func (*moved) term() {}

func (m Move) frequency() float64 {
	if m.Frequency == 0 {
		return 1
	}
	return m.Frequency
}

const maxFrequency = 1e6

// Dependence is a quantity that measures how far sub-codes are from independence.
type Dependence uint8

// The dependences. They use all rows of a batch.
const (
	// HSIC sums the Hilbert-Schmidt independence criterion of a sub-code and all later sub-codes together, with
	// Gaussian kernels of the median distance, as in losses.HSIC.
	HSIC Dependence = iota

	// TotalCorrelation is KL(q(z.a, z.b, ...) || q(z.a) q(z.b) ...) in nats. In training with Gaussian posteriors,
	// minibatch weighted sampling estimates it from the posteriors' densities, as in losses.TotalCorrelation; the
	// estimate may be below 0. Otherwise it is the total correlation of the normal distribution with the codes'
	// covariance C, 1/2 (sum_b log det C_b - log det C), at least 0.
	TotalCorrelation

	// ByDiscriminator is the total correlation by a discriminator that is trained along; losses.DensityRatio.
	ByDiscriminator
)

var dependenceNames = []string{"hsic", "tc", "discriminator"}

func (d Dependence) String() string {
	if int(d) < len(dependenceNames) {
		return dependenceNames[d]
	}
	return fmt.Sprintf("Dependence(%d)", uint8(d))
}

// independence says that sub-codes are independent over the rows of the batch.
type independence struct {
	place
	by    Dependence
	codes []Term // accesses without a row
}

func (*independence) formula() {}

// Independent says that sub-codes are independent, as random variables of a row of the batch: the terms are [Codes],
// [SubCode] or [CodeColumns] of the row "".
func Independent(by Dependence, a, b Term, more ...Term) Formula {
	return &independence{by: by, codes: append([]Term{a, b}, more...)}
}

func (d Domain) position() int { return int(d.place) }

func validWeight(x float64) bool { return x > 0 && x <= 1e30 }

func validPeriod(x float64) bool { return x > 0 && !math.IsInf(x, 0) }
