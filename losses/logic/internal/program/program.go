// Package program has typed programs: sentences with resolved names. Package logic compiles sentences to programs, and
// package eval computes them.
package program

import (
	"slices"

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
	Root        Node
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
