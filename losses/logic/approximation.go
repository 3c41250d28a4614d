package logic

import (
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/losses/logic/syntax"
)

// Fitted is a function that attains the quantity of a sentence for a batch. It is the best function of its class, or
// the minimiser of its criterion (Zhang and Sugiyama 2024, definitions 5 and 8 and equations 15 and 16).
type Fitted struct {
	syntax.Function
	FromColumns, ToColumns []int // of codes or factors

	// For functions in a class:
	Matrix [][]float64 // W, by column of To, then of From
	Offset []float64   // b

	// For functions of levels: the labels of the levels that occur in the domain, and their points.
	Levels, Points [][]float64

	// Values holds the function's value for every row of the batch. It is NaN if a factor in the argument is unknown,
	// or if its level does not occur in the domain. Values is nil if the argument depends on more than one row.
	Values [][]float64
}

// String returns the function with its matrix and offset, or its levels and points.
func (f Fitted) String() string {
	switch {
	case f.Matrix != nil:
		return fmt.Sprintf("%v, matrix %v, offset %v", f.Function, f.Matrix, f.Offset)
	case f.Levels != nil:
		return fmt.Sprintf("%v, levels %v, points %v", f.Function, f.Levels, f.Points)
	}
	return f.Function.String()
}

// Approximation returns the functions of the sentence's quantifiers for a batch, in their order. A function that is
// fitted for each of several values comes several times. A function with an empty domain is left out. Functions in mlp
// come last, with their values alone. An infinite number or NaN in the domain of a function is an error.
func (q *Quantity) Approximation(b Batch) ([]Fitted, error) {
	e, err := q.load(b)
	if err != nil {
		return nil, err
	}
	found, err := e.Functions(b.Stream, b.Labels != nil)
	var all []Fitted
	for _, f := range found {
		all = append(all, Fitted(f))
	}
	return all, err
}

// Product returns the codes with the functions' values in the columns that the functions map to. Other columns keep
// their codes. For a product function m.a: y.a -> z.a, m.b: y.b -> z.b, ... it is m*, the best product approximation.
// Product ignores rows and columns that only the functions or only the codes have.
func Product(functions []Fitted, codes [][]float64) [][]float64 {
	rows := make([][]float64, len(codes))
	for i, z := range codes {
		rows[i] = slices.Clone(z)
		for _, f := range functions {
			if !f.To.Codes || i >= len(f.Values) {
				continue
			}
			for k, c := range f.ToColumns {
				if c < len(z) {
					rows[i][c] = f.Values[i][k]
				}
			}
		}
	}
	return rows
}
