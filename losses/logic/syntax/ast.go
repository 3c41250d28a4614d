package syntax

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

// Place is the position of a part in the text: the offset of its first byte plus one,
// 0 if built by functions.
type Place int

func (p Place) position() int { return int(p) }

type (
	// Equality says that two terms are equal.
	Equality struct {
		Place
		A, B      Term
		Premetric Premetric // Crisp: 0 or infinity
		Period    float64   // of Circular
		Not       bool      // crisp only: the terms differ
	}
	// Connective joins two formulas.
	Connective struct {
		Place
		Kind Kind
		A, B Formula
	}
	// Negated is the negation of a formula.
	Negated struct {
		Place
		A Formula
	}
	// Scaled is a multiple of a formula.
	Scaled struct {
		Place
		Weight float64
		A      Formula
	}
	// Quantified is a formula with a quantifier.
	Quantified struct {
		Place
		Universal bool
		Aggregate factor.Aggregate // of a universal quantifier without a fold
		Domain    Domain
		Body      Formula

		Fold        Fold    // replaces the aggregate, or the least
		Temperature float64 // of anySoft
	}
)

func (*Equality) formula() {}

func (*Connective) formula() {}

func (*Negated) formula() {}

func (*Scaled) formula() {}

func (*Quantified) formula() {}

// Kind is the kind of a binary connective.
type Kind uint8

// The kinds of connectives.
const (
	AndKind Kind = iota
	OrKind
	ImpliesKind
)

// Equal says that two terms are equal; its quantity is their distance by a strict
// premetric.
func Equal(p Premetric, a, b Term) Formula {
	e := &Equality{A: a, B: b, Premetric: p}
	if p == Circular {
		e.Period = 1
	}
	return e
}

// EqualCircular is Equal with the premetric [Circular] of a given period.
func EqualCircular(period float64, a, b Term) Formula {
	return &Equality{A: a, B: b, Premetric: Circular, Period: period}
}

// Same says that two rows, levels or constants are equal; its quantity is 0 or
// infinity.
func Same(a, b Term) Formula { return &Equality{A: a, B: b} }

// Differ is the negation of Same.
func Differ(a, b Term) Formula { return &Equality{A: a, B: b, Not: true} }

// And is the conjunction of formulas, joined from the left.
func And(a, b Formula, more ...Formula) Formula { return join(AndKind, a, b, more) }

// Or is the disjunction of formulas, joined from the left.
func Or(a, b Formula, more ...Formula) Formula { return join(OrKind, a, b, more) }

func join(k Kind, a, b Formula, more []Formula) Formula {
	f := &Connective{Kind: k, A: a, B: b}
	for _, c := range more {
		f = &Connective{Kind: k, A: f, B: c}
	}
	return f
}

// Implies says that b is true if a is.
func Implies(a, b Formula) Formula { return &Connective{Kind: ImpliesKind, A: a, B: b} }

// Not is the negation of a formula.
func Not(a Formula) Formula { return &Negated{A: a} }

// Scale multiplies the quantity of a formula by a positive number, which does not
// change its truth.
func Scale(weight float64, a Formula) Formula { return &Scaled{Weight: weight, A: a} }

// ForAll says that the body is true for all elements of a domain. If the body is an
// implication from a crisp formula, the crisp formula restricts the domain.
func ForAll(a factor.Aggregate, d Domain, body Formula) Formula {
	return &Quantified{Universal: true, Aggregate: a, Domain: d, Body: body}
}

// Exists says that the body is true for some element of a domain. If the body is a
// conjunction with crisp formulas, they restrict the domain.
func Exists(d Domain, body Formula) Formula { return &Quantified{Domain: d, Body: body} }

// ForAllBy is [ForAll] with the conjunction of all quantities as the aggregate:
// `forall[norm] i: ...` is the square root of the sum of squares.
func ForAllBy(c Conjunction, d Domain, body Formula) Formula {
	switch c {
	case AndAdd:
		return ForAll(factor.Sum, d, body)
	case AndMax:
		return ForAll(factor.Max, d, body)
	}
	return &Quantified{Universal: true, Domain: d, Body: body, Fold: foldOfAll(c)}
}

// ExistsBy is [Exists] with the disjunction of all quantities instead of the least: `exists[harmonic] i: ...`.
func ExistsBy(o Disjunction, d Domain, body Formula) Formula {
	return &Quantified{Domain: d, Body: body, Fold: foldOfAny(o)}
}

// ExistsSoft is [Exists] with a soft minimum of the given temperature instead of the least: `exists[soft 0.1] i: ...`.
// It is 0 only where all quantities are.
func ExistsSoft(temperature float64, d Domain, body Formula) Formula {
	return &Quantified{Domain: d, Body: body, Fold: AnySoft, Temperature: temperature}
}

// Domain is the domain of a quantifier's variables: [Rows], [Values], [Members],
// [Points] or [Functions].
type Domain struct {
	Names   []string
	Set     Set
	Factor  string // of Values
	Members []Term // of Members
	Space   *Access
	Place   Place // of the set
	Moves   []PairMove

	Functions []Declaration
}

// Set is the kind of the set that variables range over.
type Set uint8

// The sets: of Rows, Values, Members, Points, of transformations between rows, and of Functions.
const (
	RowSet Set = iota
	ValueSet
	MemberSet
	PointSet
	MoveSet // of a transformation between rows
	FunctionSet
)

// Rows is the domain of one or more variables for rows of the batch:
// `i, j`.
func Rows(names ...string) Domain { return Domain{Names: names} }

// Values is the domain of variables for the values of a factor that occur in the
// batch: `v in y.shape`.
func Values(factor string, names ...string) Domain {
	return Domain{Names: names, Set: ValueSet, Factor: factor}
}

// Members is the domain of a variable for constants: `c in {0, 0.5, 1}`. All are numbers, or all are vectors of one
// width.
func Members(name string, constants ...Term) Domain {
	return Domain{Names: []string{name}, Set: MemberSet, Members: constants}
}

// Points is the domain of a variable for the points of R^k: `c in z` for codes, or `c in z.shape` for a sub-code.
func Points(name, block string) Domain {
	return Domain{Names: []string{name}, Set: PointSet, Space: &Access{Codes: true, Name: block}}
}

// PointsOf is [Points] for columns of the codes: `c in z[0:2]`.
func PointsOf(name string, columns ...Range) Domain {
	return Domain{Names: []string{name}, Set: PointSet, Space: &Access{Codes: true, Columns: columns}}
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
		Place
		Term
	}

	// Access is the code (z) or the factors (y) of a row.
	Access struct {
		Place
		Codes   bool
		Name    string   // name of a sub-code or a factor
		Columns []Range  // instead of a name; without both: all columns
		Row     Variable // empty: the space itself, in a Domain
	}
	// Arithmetic is the sum or difference of two terms.
	Arithmetic struct {
		Place
		A, B  Term
		Minus bool
	}
	// Multiple is a multiple of a term.
	Multiple struct {
		Place
		Factor float64
		A      Term
	}
)

func (p *placed) position() int { return int(p.Place) }

func (*Access) term() {}

func (*Arithmetic) term() {}

func (*Multiple) term() {}

// Codes is the whole code of a row: `z(i)`.
func Codes(row Variable) Term { return &Access{Codes: true, Row: row} }

// SubCode is the sub-code of a factor: `z.shape(i)`.
func SubCode(name string, row Variable) Term { return &Access{Codes: true, Name: name, Row: row} }

// CodeColumns are columns of the code: `z[0:2](i)`.
func CodeColumns(row Variable, columns ...Range) Term {
	return &Access{Codes: true, Columns: columns, Row: row}
}

// Factors are the values of all factors of a row: `y(i)`.
func Factors(row Variable) Term { return &Access{Row: row} }

// Factor is the value of a factor of a row: `y.shape(i)`.
func Factor(name string, row Variable) Term { return &Access{Name: name, Row: row} }

// FactorColumns are the values of factors that are given by their numbers: `y[0:2](i)`.
func FactorColumns(row Variable, columns ...Range) Term { return &Access{Columns: columns, Row: row} }

// Plus is the sum of two terms.
func Plus(a, b Term) Term { return &Arithmetic{A: a, B: b} }

// Minus is the difference of two terms.
func Minus(a, b Term) Term { return &Arithmetic{A: a, B: b, Minus: true} }

// Times is a multiple of a term.
func Times(factor float64, a Term) Term { return &Multiple{Factor: factor, A: a} }

// Bare returns a term without its place in a text.
func Bare(t Term) Term {
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
	d := Domain{Set: FunctionSet}
	for _, f := range all {
		d.Names = append(d.Names, f.Name)
		d.Functions = append(d.Functions, Declaration{Function: f})
	}
	return d
}

// At is the value of the function at a term: `h(z(i))`.
func (f Function) At(argument Term) Term { return Apply(f.Name, argument) }

// Apply is the value of a function, by its name, at a term: `h(z(i))`.
func Apply(function string, argument Term) Term { return &Application{Function: function, A: argument} }

// Declaration is a function with its place in a text.
type Declaration struct {
	Place
	Function
	FromPlace, ToPlace Place
}

// Application is the value of a function at a term.
type Application struct {
	Place
	Function string
	A        Term
}

func (*Application) term() {}

// Access returns the space as a term without a row.
func (s Space) Access(at Place) *Access {
	return &Access{Place: at, Codes: s.Codes, Name: s.Name, Columns: s.Columns}
}

// ValidFunction reports whether a function can have a name: a name, or a name, a dot and anything.
func ValidFunction(name string) bool {
	head, tail, dotted := strings.Cut(name, ".")
	return IsName(head) && !slices.Contains([]string{"y", "z"}, head) && (!dotted || tail != "")
}

// Move names a transformation that a quantifier has bound, [Domain.Moving], and how it acts.
type Move struct {
	Name      Variable
	Turn      string  // acts by this turn alone, on columns of any name; empty: by all turns, each on the sub-code of its name
	Frequency float64 // of angles; 0: 1
}

// Act moves codes by a transformation: `act(g, z(i))`. A frequency, `act[2](g, z(i))`, multiplies angles. With a turn,
// `act(g.angle, z[0:2](i))`, this turn acts on the columns.
func Act(m Move, a Term) Term { return &Moved{Move: m, A: a} }

// Moving binds the transformation that leads from one row to another, `g(i, j)`. It restricts the rows to pairs with a
// known transformation.
func (d Domain) Moving(name string, from, to Variable) Domain {
	d.Moves = append(slices.Clone(d.Moves), PairMove{Name: name, From: from, To: to})
	return d
}

type (
	// PairMove is a transformation that a quantifier binds.
	PairMove struct {
		Place
		Name     string
		From, To Variable
	}

	// Moved is a term moved by a transformation.
	Moved struct {
		Place
		Move Move
		A    Term
	}
)

func (*Moved) term() {}

// Multiple is the multiple of the angles by which the transformation turns: the frequency, or 1.
func (m Move) Multiple() float64 {
	if m.Frequency == 0 {
		return 1
	}
	return m.Frequency
}

// MaxFrequency bounds the frequency of a transformation.
const MaxFrequency = 1e6

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

// Independence says that sub-codes are independent over the rows of the batch.
type Independence struct {
	Place
	By    Dependence
	Codes []Term // accesses without a row
}

func (*Independence) formula() {}

// Independent says that sub-codes are independent, as random variables of a row of the batch: the terms are [Codes],
// [SubCode] or [CodeColumns] of the row "".
func Independent(by Dependence, a, b Term, more ...Term) Formula {
	return &Independence{By: by, Codes: append([]Term{a, b}, more...)}
}

func (d Domain) position() int { return int(d.Place) }

// ValidWeight reports whether a formula can be multiplied by x.
func ValidWeight(x float64) bool { return x > 0 && x <= 1e30 }

// ValidPeriod reports whether a circle can have the period x.
func ValidPeriod(x float64) bool { return x > 0 && !math.IsInf(x, 0) }
