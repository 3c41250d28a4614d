package logic

// Variable is the name of a variable that a quantifier binds.
type Variable string

// Number is a constant. Next to a vector it denotes the vector with that number in every column.
type Number float64

// Vector is a constant vector.
type Vector []float64

// Level is the name of a level of a factor: a constant that can be compared with
// values of that factor.
type Level string

func (Variable) term()         {}
func (Variable) position() int { return 0 }
func (Number) term()           {}
func (Number) position() int   { return 0 }
func (Vector) term()           {}
func (Vector) position() int   { return 0 }
func (Level) term()            {}
func (Level) position() int    { return 0 }

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

func (*access) term()     {}
func (*arithmetic) term() {}
func (*multiple) term()   {}

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
