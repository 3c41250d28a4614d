package metrics

import (
	"fmt"
	"math"
)

// The exponents of two between which [Matrix.sized] leaves the largest code of a matrix unchanged.
const (
	leastSquared = -200 // the fourth power of a small part of it is a number, too
	mostSquared  = 200
	leastTrees   = -60           // scikit-learn's trees take numbers that differ by less than 1e-7 for the same, and so do ours down to here
	mostTrees    = math.MaxInt32 // trees refuse what single precision does not hold
)

// exponent returns e such that the largest absolute number lies between 2^(e-1) and 2^e, or 0 if all are 0.
func (m Matrix) exponent() int {
	largest := 0.0
	for _, v := range m.Data {
		largest = math.Max(largest, math.Abs(v))
	}
	_, e := math.Frexp(largest)
	return e
}

// sized returns the matrix divided by 2^e if its exponent e is outside a range; its largest absolute number is then
// from 1/2 to 1. Otherwise it returns the matrix itself, and 0. Values that do not depend on a common factor of the
// codes stay the same, as dividing by 2^e is exact.
func (m Matrix) sized(least, most int) (Matrix, int) {
	e := m.exponent()
	if e >= least && e <= most {
		return m, 0
	}
	s := Matrix{Rows: m.Rows, Cols: m.Cols, Data: make([]float64, len(m.Data))}
	for i, v := range m.Data {
		s.Data[i] = math.Ldexp(v, -e)
	}
	return s, e
}

// sized returns the input with sized codes.
func (in *Input) sized(least, most int) *Input {
	codes, e := in.Codes.sized(least, most)
	if e == 0 {
		return in
	}
	s := *in
	s.Codes, s.counting = codes, nil
	return &s
}

// wantSquares returns an error if the squares of codes overflow or lose digits: a value in squared units would be
// wrongly 0 or infinite.
func (m Matrix) wantSquares() error {
	const least, most = -450, 500
	if e := m.exponent(); e < least || e > most {
		what := "too small"
		if e > most {
			what = "too large"
		}
		return fmt.Errorf("the codes are %s: no number holds the square of the largest, about %.0e; want codes nearer to 1", what, math.Ldexp(1, e-1))
	}
	return nil
}

// tinyForTrees is the end of a note about trees that found nothing in codes too small for them, or "" for other codes.
func (in *Input) tinyForTrees() string {
	const least = -20
	if e := in.Codes.exponent(); e < least {
		return fmt.Sprintf("; trees take codes that differ by less than 1e-7 for the same, and the largest is about %.0e: want codes nearer to 1", math.Ldexp(1, e-1))
	}
	return ""
}
