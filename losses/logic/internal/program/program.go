// Package program has typed programs: sentences with resolved names. Package logic compiles sentences to programs, and
// package eval computes them.
package program

import (
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

// Program is a typed sentence. All its numbers are entries of columns:
//
//	0 ..            codes, by row
//	Values ..       values of factors, by row
//	Labels ..       labels of factors, by row
//	LevelValues ..  values of the levels of factors, by level
//	LevelLabels ..  labels of the levels of factors, by level
//	First ..        More: constants, by member, and further arrays of a batch (Inputs) and matrices, by row
type Program struct {
	Codes, Factors                           int
	Values, Labels, LevelValues, LevelLabels int

	First int
	More  [][]float64 // nil: a column of an input, or computed from one

	Inputs      []Input
	Turns       []int // first columns of the turns that are used
	Matrices    []Matrix
	NeedsValues bool
	NeedsLabels bool
	Leveled     []bool // factors that group rows by level, then groups of rows with known transformations
	Variables   int
	Lists       []List
	Learned     string // a part that is trained together with the model
	Networks    []*Network
	Fits        []*Fit // by function, in the order of their quantifiers
	Compared    []Compared
	Root        Node
}

// Compared is the comparison of a factor with a constant: a number, or the number of a level.
type Compared struct {
	Factor int
	Number float64
	Level  bool
	Text   string
}

// List describes a list of rows: the rows where some factors are known, sorted by the level of factor By, or in the
// order of the batch if By is -1.
type List struct {
	Known []int
	By    int
}

// InputKind is a kind of array of a batch, in addition to codes, values and labels.
type InputKind uint8

// The kinds of inputs.
const (
	LogVariances InputKind = iota
	Means                  // means of the posteriors, if the codes are samples
	Moves
	Computed // computed from the other columns
)

// Input is such an array, [rows, Width], stored in the columns from At on.
type Input struct {
	Kind      InputKind
	At, Width int
	Smooth    bool // it has a gradient
}

func (k InputKind) String() string {
	return [...]string{"log variances", "posterior means", "moves", "computed numbers"}[k]
}

// Matrix is the matrix of a turn for each row, stored in the columns from At on: cos and sin of a multiple of the
// angle, or the nine entries of a rotation in space.
type Matrix struct {
	Turn  int
	Space bool
	By    float64 // the multiple
	From  int     // first column of the turn
	At    int
}

// New returns a program without nodes for batches with the given numbers of columns.
func New(codes, factors int) *Program {
	p := &Program{Codes: codes, Factors: factors, Values: codes, Leveled: make([]bool, factors+1)}
	p.Labels = p.Values + factors
	p.LevelValues = p.Labels + factors
	p.LevelLabels = p.LevelValues + factors
	p.First = p.LevelLabels + factors
	return p
}

// Constants adds a column of constants.
func (p *Program) Constants(numbers []float64) int {
	p.More = append(p.More, numbers)
	return p.First + len(p.More) - 1
}

// columns adds columns that an engine computes, and returns the first.
func (p *Program) columns(n int) int {
	at := p.First + len(p.More)
	p.More = append(p.More, make([][]float64, n)...)
	return at
}

// Input returns the first column of an array of the batch, and requests the array when first used.
func (p *Program) Input(kind InputKind, width int) int {
	if kind != Computed {
		if i := slices.IndexFunc(p.Inputs, func(in Input) bool { return in.Kind == kind }); i >= 0 {
			return p.Inputs[i].At
		}
	}
	in := Input{Kind: kind, At: p.columns(width), Width: width, Smooth: kind != Moves}
	p.Inputs = append(p.Inputs, in)
	return in.At
}

// Needs reports whether the program uses an array.
func (p *Program) Needs(kind InputKind) bool {
	return slices.ContainsFunc(p.Inputs, func(in Input) bool { return in.Kind == kind })
}

// Matrix returns the first column of the matrix of a turn; the turn's angles start at column from.
func (p *Program) Matrix(turn, from int, space bool, by float64) int {
	if i := slices.IndexFunc(p.Matrices, func(m Matrix) bool { return m.Turn == turn && m.By == by }); i >= 0 {
		return p.Matrices[i].At
	}
	columns := 2
	if space {
		columns = 9
	}
	m := Matrix{turn, space, by, from, p.columns(columns)}
	p.Matrices = append(p.Matrices, m)
	return m.At
}

// List returns the number of a list of rows.
func (p *Program) List(known []int, by int) int {
	if by >= 0 {
		p.Leveled[by] = true
	}
	i := slices.IndexFunc(p.Lists, func(l List) bool { return l.By == by && slices.Equal(l.Known, known) })
	if i < 0 {
		i = len(p.Lists)
		p.Lists = append(p.Lists, List{known, by})
	}
	return i
}

// Smooth reports whether a column has a gradient.
func (p *Program) Smooth(column int) bool {
	return column < p.Codes || slices.ContainsFunc(p.Inputs, func(in Input) bool {
		return in.Smooth && column >= in.At && column < in.At+in.Width
	})
}

// Varies reports whether terms depend on columns that have a gradient.
func (p *Program) Varies(terms ...[]Coordinate) bool {
	for _, x := range slices.Concat(terms...) {
		if slices.ContainsFunc(x.Parts, func(a Part) bool { return p.Smooth(a.Column) }) {
			return true
		}
	}
	return false
}

// Network is a function in mlp. Its values for all rows are columns of the program.
type Network struct {
	*syntax.Function
	Layers  []int // widths of the hidden layers
	Columns []int // columns of the codes or factors in its argument
	To      []int // columns of the codes or factors in its values
	At      int   // first column of its values
}

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
		Text string // of the implication
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
		Text        string // of the formula
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

	// Fit is the aggregate, over tuples of rows, of the distance between a term and a function's value. The function
	// minimises the aggregate, or another criterion. A point of the codes is a function without an argument (Zhang and
	// Sugiyama 2024, definition 25 and examples 2 to 4).
	Fit struct {
		*syntax.Function
		Text                   string // of the quantified formula
		FromColumns, ToColumns []int  // columns of codes or factors
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
func (f *Fit) Smooth() bool        { return f.Codes }
func (*Independence) Smooth() bool { return true }

// IsPoint reports whether the function has no argument, so its value is one point for all rows.
func (f *Fit) IsPoint() bool { return f.Class == syntax.AnyFunction && len(f.FromColumns) == 0 }

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
