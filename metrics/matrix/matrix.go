// Package matrix has the dense matrices that metrics measure: one row for each image, one column for each dimension of
// the code.
package matrix

import (
	"fmt"
	"math"
	"slices"
)

// Matrix is a dense matrix in row-major order.
type Matrix struct {
	Rows, Cols int
	Data       []float64 // Rows*Cols
}

// Row returns row i, without copying.
func (m Matrix) Row(i int) []float64 { return m.Data[i*m.Cols : (i+1)*m.Cols] }

// Columns returns the columns with the given numbers, in this order (nil: all).
func (m Matrix) Columns(list []int) Matrix {
	if list == nil {
		return m
	}
	some := Matrix{Rows: m.Rows, Cols: len(list), Data: make([]float64, 0, m.Rows*len(list))}
	for i := range m.Rows {
		row := m.Row(i)
		for _, c := range list {
			some.Data = append(some.Data, row[c])
		}
	}
	return some
}

// Take copies the given rows.
func (m Matrix) Take(rows []int) []float64 {
	data := make([]float64, 0, len(rows)*m.Cols)
	for _, i := range rows {
		data = append(data, m.Row(i)...)
	}
	return data
}

// Column copies column c of the given rows.
func (m Matrix) Column(c int, rows []int) []float64 {
	x := make([]float64, len(rows))
	for at, i := range rows {
		x[at] = m.Data[i*m.Cols+c]
	}
	return x
}

// Finite returns an error for the first NaN or infinite number; the format gets its row, its column and the number.
func (m Matrix) Finite(format string) error {
	for i, v := range m.Data {
		if v-v != 0 { // faster than math.IsNaN and math.IsInf
			return fmt.Errorf(format+"; want finite numbers", i/m.Cols, i%m.Cols, v)
		}
	}
	return nil
}

// Exponent returns e such that the largest absolute number is between 2^(e-1) and 2^e, or 0 if all numbers are 0.
func (m Matrix) Exponent() int {
	largest := 0.0
	for _, v := range m.Data {
		largest = max(largest, math.Abs(v))
	}
	_, e := math.Frexp(largest)
	return e
}

// ForSquares returns the matrix divided by 2^e, and e, if the fourth power of the largest number, or of a small
// fraction of it, would overflow or vanish. The largest absolute number is then between 1/2 and 1. Otherwise it returns
// the matrix unchanged, and 0. Dividing by 2^e is exact, so values that do not depend on the scale of the codes stay
// the same.
func (m Matrix) ForSquares() (Matrix, int) { return m.sized(-200, 200) }

// ForTrees is [Matrix.ForSquares] for boosted trees, and divides only tiny numbers. Like the trees of scikit-learn,
// these trees treat numbers that differ by less than 1e-7 as equal, and reject numbers that exceed single precision.
func (m Matrix) ForTrees() (Matrix, int) { return m.sized(-60, math.MaxInt32) }

// sized divides by 2^e if the exponent e is outside a range.
func (m Matrix) sized(least, most int) (Matrix, int) {
	e := m.Exponent()
	if e >= least && e <= most {
		return m, 0
	}
	s := Matrix{Rows: m.Rows, Cols: m.Cols, Data: make([]float64, len(m.Data))}
	for i, v := range m.Data {
		s.Data[i] = math.Ldexp(v, -e)
	}
	return s, e
}

// WantSquares returns an error if squares of the codes overflow or lose digits, because a value in squared units would
// be wrongly 0 or infinite.
func (m Matrix) WantSquares() error {
	const least, most = -450, 500
	if e := m.Exponent(); e < least || e > most {
		what := "too small"
		if e > most {
			what = "too large"
		}
		return fmt.Errorf("the codes are %s: the square of the largest, about %.0e, does not fit a float64; want codes nearer to 1", what, math.Ldexp(1, e-1))
	}
	return nil
}

// UnitColumn sets dst to code column c minus its mean, divided by its standard deviation, and returns the deviation. A
// constant column becomes 0, and its deviation is 0.
func (m Matrix) UnitColumn(c int, dst []float64) (scale float64) {
	deviation, largest := m.centre(c, dst)
	if largest == 0 {
		return 0
	}
	for i := range dst {
		dst[i] /= deviation
	}
	return deviation * largest
}

// centre sets dst to code column c minus its mean, divided by the largest distance from the first number. It returns
// the standard deviation of dst and this largest distance. A constant column becomes 0.
func (m Matrix) centre(c int, dst []float64) (deviation, largest float64) {
	first := m.Data[c]
	for i, at := 0, c; i < len(dst); i, at = i+1, at+m.Cols {
		dst[i] = m.Data[at] - first
		largest = max(largest, math.Abs(dst[i]))
	}
	if largest == 0 {
		return 0, 0
	}
	var mean, square float64
	n := float64(len(dst))
	for i, v := range dst {
		v /= largest // squares neither overflow nor vanish
		dst[i] = v
		mean += v / n
	}
	for i, v := range dst {
		v -= mean
		dst[i] = v
		square += v * v
	}
	return math.Sqrt(square / n), largest
}

// Scale is the root of the mean variance of the code columns, 0 for constant codes.
func (m Matrix) Scale() float64 {
	deviations, column := make([]float64, m.Cols), make([]float64, m.Rows)
	for c := range deviations {
		deviation, largest := m.centre(c, column)
		deviations[c] = deviation * largest
	}
	largest, square := slices.Max(deviations), 0.0
	if largest == 0 {
		return 0
	}
	for _, d := range deviations {
		square += d / largest * (d / largest) // squares neither overflow nor vanish
	}
	return largest * math.Sqrt(square/float64(m.Cols))
}

// Mean returns the mean. It sums differences from the first number, which avoids overflow and cancellation.
func Mean(x []float64) float64 {
	first, mean := x[0], 0.0
	for _, v := range x {
		mean += (v - first) / float64(len(x))
	}
	return first + mean
}
