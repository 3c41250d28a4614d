package program

import (
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

// Node is a part of a sentence with a quantity: a type of this file.
type Node interface {
	// Smooth reports whether the quantity has a gradient in the codes.
	Smooth() bool
}

type (
	// Indicator is 0 where a test is true, and otherwise infinite.
	Indicator struct{ Test Test }

	// Guarded is an implication from a test: 0 if the test is false.
	Guarded struct {
		Test Test
		Body Node
	}

	// Scaled is a multiple of a quantity.
	Scaled struct {
		Weight float64
		Body   Node
	}

	// Negated is a negation.
	Negated struct {
		By   syntax.Negation
		Body Node
	}

	// Connective combines two quantities by an operation of the quantale.
	Connective struct {
		Kind syntax.Kind
		By   syntax.Quantale
		A, B Node
	}

	// Equality is a premetric of the difference of two terms.
	Equality struct {
		Premetric  syntax.Premetric
		Period     float64
		Difference []Coordinate
		Codes      bool // depends on the codes
	}

	// Cosine is the cosine distance of two terms.
	Cosine struct {
		A, B  []Coordinate
		Codes bool
	}

	// Posteriors is the divergence or distance between the Gaussian posteriors of two rows.
	Posteriors struct {
		Premetric   syntax.Premetric
		Differences []Coordinate // differences of the means
		A, B        []Coordinate // log variances
	}

	// Quantifier aggregates the quantities of a body over the tuples of its variables.
	Quantifier struct {
		Universal   bool
		Aggregate   factor.Aggregate // for a universal quantifier without a fold
		Fold        syntax.Fold
		Temperature float64
		Binders     []*Binder
		Tests       []Test // tests of outer variables
		Leaf        bool   // the body contains no quantifiers
		Symmetric   bool   // the last two variables are interchangeable
		Body        Node
	}

	// Centre is the minimum deviation of the rows' codes from a point (Zhang and Sugiyama 2024, definition 25 and
	// examples 2 to 4).
	Centre struct {
		Kind    CentreKind
		Square  bool // square of the radius
		Sum     bool // sum instead of mean
		Columns []int
		Tests   []Test
		Rows    *Binder
	}

	// Fit is the aggregate, over tuples of rows, of the distance between a term and a function's value. The function
	// minimises the aggregate, or another criterion.
	Fit struct {
		*syntax.Function
		FromColumns, ToColumns []int // columns of codes or factors
		Aggregate              factor.Aggregate
		Premetric              syntax.Premetric // premetric of the equality: Euclidean, Squared or Absolute
		Method                 Method
		Binders                []*Binder
		Tests                  []Test
		Source                 []Coordinate // the argument, unless it is levels
		Target                 []Coordinate // the other term
		Codes                  bool         // an argument or target depends on columns that have a gradient
		Row                    int          // for functions of levels: the variable of the row with the levels, or -1
		Level                  *Binder      // or the value
	}

	// Independence is the dependence between blocks of code columns over all rows.
	Independence struct {
		By     syntax.Dependence
		Blocks [][]int
	}
)

// CentreKind is the deviation that a centre minimises.
type CentreKind uint8

// The centres of the smallest enclosing ball, of the minimum mean distance, and of the minimum mean square.
const (
	Ball CentreKind = iota
	Median
	Mean
)

// Method is the criterion that a fitted function minimises.
type Method uint8

// The methods.
const (
	Squares  Method = iota // the mean square of the distances
	Absolute               // the mean absolute deviation in every column
	Norms                  // the mean Euclidean distance
	Max                    // the largest Euclidean distance
)

func (*Indicator) Smooth() bool    { return false }
func (f *Guarded) Smooth() bool    { return f.Body.Smooth() }
func (f *Scaled) Smooth() bool     { return f.Body.Smooth() }
func (f *Negated) Smooth() bool    { return f.Body.Smooth() }
func (f *Connective) Smooth() bool { return f.A.Smooth() || f.B.Smooth() }
func (f *Equality) Smooth() bool   { return f.Codes && f.Premetric != syntax.Discrete }
func (f *Cosine) Smooth() bool     { return f.Codes }
func (*Posteriors) Smooth() bool   { return true }
func (f *Quantifier) Smooth() bool { return f.Body.Smooth() }
func (*Centre) Smooth() bool       { return true }
func (f *Fit) Smooth() bool        { return f.Codes }
func (*Independence) Smooth() bool { return true }

// Binder is a variable of a quantifier with its domain.
type Binder struct {
	Variable  int
	Set       syntax.Set
	Factor    int    // for values
	Members   int    // number of constants
	List      int    // for rows: number of their list
	By        int    // for rows: the factor that must be equal to another variable's, or -1
	Like      int    // the other variable
	LikeValue bool   // the other variable is a value
	Tests     []Test // tests of this variable and of earlier ones
}

// Test is a crisp formula: a type of the group below.
type Test interface{ test() }

type (
	// Not is true where a test is false.
	Not struct{ Test }

	// Joined combines two tests by a connective.
	Joined struct {
		Kind syntax.Kind
		A, B Test
	}

	// Tried is a quantifier that tries all values of its variables.
	Tried struct {
		Universal bool
		Binders   []*Binder
		Body      Test
	}

	// SameRow says that two variables are the same row.
	SameRow struct{ A, B int }

	// SameGroup says that a factor, or a group of rows with known transformations, is known and equal at two rows.
	SameGroup struct{ Factor, A, B int }

	// SameNumbers says that numbers are equal.
	SameNumbers struct {
		A, B   []Entry
		Single bool // compared as float32
	}
)

func (*Not) test()         {}
func (*Joined) test()      {}
func (*Tried) test()       {}
func (*SameRow) test()     {}
func (*SameGroup) test()   {}
func (*SameNumbers) test() {}

// Entry is a number to compare: an entry of a column, or a constant.
type Entry struct {
	Constant         float64
	Column, Variable int // -1: a constant
}

// Coordinate is a coordinate of a numeric term: a constant plus a weighted sum of entries of columns.
type Coordinate struct {
	Offset float64
	Parts  []Part
}

// Part is a linear term: Weight * Column[index of Variable], times constant entries of other columns.
type Part struct {
	Weight           float64
	Column, Variable int
	By               []Where
}

// Where is an entry of a column.
type Where struct{ Column, Variable int }
