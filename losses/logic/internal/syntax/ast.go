// Package syntax has the syntax tree of sentences. It parses, prints and inspects them.
package syntax

import "github.com/unravel-ml/unravel/datasets/factor"

// Sentence is a formula without free variables, and the quantale that converts it to a quantity. The zero values of the
// operations are the operations in the paper's table 1.
type Sentence struct {
	Quantale
	Sampled bool // codes are samples of the rows' posteriors: `with z ~ q:`
	Body    Formula

	text string // the parsed text, for lines and columns in error messages
}

// Part is a node of a sentence's tree: a [Formula], a [Term], a [*Function], a [PairMove] or a [Domain].
type Part interface{ position() int }

// Formula is a part of a sentence that is true or false.
type Formula interface {
	Part
	formula()
}

// Term is a part of a sentence that denotes a row, a number or a vector.
type Term interface {
	Part
	term()
}

// Place is the position of a part in the text: the offset of its first byte plus one, or 0 for a part without a text.
type Place int

func (p Place) position() int { return int(p) }

type (
	// Equality says that two terms are equal.
	Equality struct {
		Place
		A, B      Term
		Premetric Premetric // Crisp: 0 or infinity
		Period    float64   // for Circular
		Not       bool      // the terms differ; crisp equalities only
	}
	// Connective combines two formulas.
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
		Universal   bool
		Aggregate   factor.Aggregate // for a universal quantifier without a fold
		Fold        Fold             // replaces the aggregate of forall, or the minimum of exists
		Temperature float64          // for AnySoft
		Domain      Domain
		Body        Formula
	}
	// Independence says that sub-codes are independent over the rows of the batch.
	Independence struct {
		Place
		By    Dependence
		Codes []*Access // without rows
	}
)

func (*Equality) formula()     {}
func (*Connective) formula()   {}
func (*Negated) formula()      {}
func (*Scaled) formula()       {}
func (*Quantified) formula()   {}
func (*Independence) formula() {}

// Kind is the kind of a binary connective.
type Kind uint8

// The kinds of connectives.
const (
	AndKind Kind = iota
	OrKind
	ImpliesKind
)

func (k Kind) String() string { return [...]string{"and", "or", "->"}[k] }

// Domain is the domain of a quantifier's variables.
type Domain struct {
	Place   // position of the set
	Names   []string
	Set     Set
	Factor  string     // for ValueSet
	Members []Term     // for MemberSet
	Space   *Access    // for PointSet
	Moves   []PairMove // for RowSet

	Functions []*Function // for FunctionSet
}

// Set is the kind of the set that variables range over.
type Set uint8

// The sets.
const (
	RowSet      Set = iota
	ValueSet        // values of a factor that occur in the batch
	MemberSet       // constants
	PointSet        // points of R^k
	MoveSet         // transformations between rows
	FunctionSet     // functions between codes and factors
)

// PairMove is a transformation that a quantifier binds, `g(i, j)`. It transforms row i to row j.
type PairMove struct {
	Place
	Name     string
	From, To Variable
}

type (
	// Variable is the name of a variable that a quantifier binds.
	Variable string

	// Number is a constant. Next to a vector it stands for the vector with this number in every column.
	Number float64

	// Vector is a constant vector.
	Vector []float64

	// Level is the name of a level of a factor.
	Level string

	// placed is a variable or a constant with its position in the text.
	placed struct {
		Place
		Term
	}

	// Access is the code (z) or the factors (y) of a row, or some of their columns. Without a row it is a space.
	Access struct {
		Place
		Codes   bool
		Name    string  // name of a sub-code or a factor
		Columns []Range // instead of a name; without both: all columns
		Row     Variable
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
	// Application is the value of a function at a term.
	Application struct {
		Place
		Function string
		A        Term
	}
	// Moved is a term after a transformation that a quantifier has bound, `act[2](g.angle, z(i))`.
	Moved struct {
		Place
		Name Variable
		// only this turn acts, on columns of any name; empty: all turns, each on the sub-code with its name
		Turn      string
		Frequency float64 // multiplies angles
		A         Term
	}
)

func (Variable) term()     {}
func (Number) term()       {}
func (Vector) term()       {}
func (Level) term()        {}
func (*Access) term()      {}
func (*Arithmetic) term()  {}
func (*Multiple) term()    {}
func (*Application) term() {}
func (*Moved) term()       {}

func (Variable) position() int  { return 0 }
func (Number) position() int    { return 0 }
func (Vector) position() int    { return 0 }
func (Level) position() int     { return 0 }
func (p *placed) position() int { return int(p.Place) }

// Range are the columns from Lo to Hi-1.
type Range struct{ Lo, Hi int }

// Bare returns a term without its position in the text.
func Bare(t Term) Term {
	if p, ok := t.(*placed); ok {
		return p.Term
	}
	return t
}

// Function is a variable for a function, as in `h: z -> y in affine` or `m.shape: y.shape -> z.shape`.
type Function struct {
	Place
	Name     string // a name, or two with a dot between: m.shape
	From, To *Access
	Class    Class
	Layers   []int // for MLP: widths of the hidden layers; nil: the default
	By       Fit
}

// Class is a class of functions; the quantifier takes the best function of the class.
type Class uint8

// The classes of functions. Without a class, any function of levels of factors is possible: it has one point for each
// level, or for each tuple of levels.
const (
	AnyFunction Class = iota
	Affine            // x -> W x + b
	Linear            // x -> W x
	Isometry          // x -> Q x + b, where the columns of Q are orthonormal, so it preserves distances
	MLP               // a neural network
)

// Fit is a criterion for fitting a function. The function is fitted before the quantifier's body is evaluated. The
// quantity is then an upper bound of the minimum.
type Fit uint8

// The criteria. ByBody minimises the quantity of the body itself.
const (
	ByBody         Fit = iota
	ByLeastSquares     // minimum mean squared distance
	ByAbsolute         // minimum mean absolute deviation of each column
	ByMax              // minimum of the largest Euclidean distance
)

// Dependence is a quantity that measures how far sub-codes are from being independent.
type Dependence uint8

// The dependences. They use all rows of a batch.
const (
	// HSIC sums the Hilbert-Schmidt independence criterion between a sub-code and all later sub-codes together. Its
	// Gaussian kernels have the median distance as bandwidth, as in losses.HSIC.
	HSIC Dependence = iota

	// TotalCorrelation is KL(q(z.a, z.b, ...) || q(z.a) q(z.b) ...) in nats. In training with Gaussian posteriors,
	// minibatch weighted sampling estimates it from the posteriors' densities, as in losses.TotalCorrelation; the
	// estimate can be negative. Otherwise it is the total correlation of the normal distribution with the codes'
	// covariance C, 1/2 (sum_b log det C_b - log det C), which is at least 0.
	TotalCorrelation

	// ByDiscriminator is the total correlation by a discriminator that is trained together with the model; see
	// losses.DensityRatio.
	ByDiscriminator
)

// SpaceName is the word for codes or factors in error messages.
func SpaceName(codes bool) string {
	if codes {
		return "codes"
	}
	return "factors"
}
