package eval

import (
	"math"
	"slices"

	"github.com/unravel-ml/unravel/losses/logic/internal/program"
)

// normalTC is the total correlation of blocks of columns, for the normal distribution with their covariance C,
//
//	1/2 (sum_b log det C_b - log det C)
//
// in nats. It is 0 if and only if the blocks are uncorrelated, and infinite if a column is a linear function of columns
// of other blocks. A constant column, or a linear function of earlier columns in the same block, has no effect and is
// left out.
type normalTC struct {
	base
	*program.Independence
	columns    []int       // the columns that count
	block      []int       // of each column
	x          [][]float64 // deviations from the mean
	covariance [][]float64
	whole, own [][]float64 // Cholesky factors of C and of the C_b
	limit      float64     // infinite if the blocks are linearly dependent, NaN if the codes are not finite; otherwise 0
}

// collinear is a fraction of a column's variance; if less than that remains, the column counts as a linear function of
// others.
const collinear = 1e-12

func (f *normalTC) cost(data *data) float64 {
	d := 0.0
	for _, b := range f.Blocks {
		d += float64(len(b))
	}
	return max(1, float64(data.rows)*d)
}

func (f *normalTC) value(m *evaluator, _ int) []float64 {
	out := f.values[:1]
	f.set(m, f.Blocks)
	if out[0] = f.limit; f.limit != 0 {
		return out
	}
	for i := range f.columns {
		out[0] += math.Log(f.own[i][i]) - math.Log(f.whole[i][i])
	}
	if out[0] < rounding {
		out[0] = 0
	}
	return out
}

// set computes the covariance of the columns that count.
func (f *normalTC) set(m *evaluator, blocks [][]int) {
	f.columns, f.block, f.x, f.limit = f.columns[:0], f.block[:0], f.x[:0], 0
	f.covariance, f.own = f.covariance[:0], f.own[:0]
	for b, columns := range blocks {
		for _, column := range columns {
			f.add(m.data.columns[column], column, b)
		}
	}
	f.whole = f.whole[:0]
	for i := range f.columns {
		row, left := cholesky(f.whole, f.covariance[i], func(int) bool { return true })
		f.whole = append(f.whole, row)
		switch {
		case math.IsNaN(left):
			f.limit = left
			return
		case left <= collinear*f.covariance[i][i]:
			f.limit = math.Inf(1)
			return
		}
	}
}

// add adds a column with its covariances, unless earlier columns of its block determine it.
func (f *normalTC) add(column []float64, c, block int) {
	n := float64(len(column))
	mean := meanOf(nil, column, 1)[0]
	x := make([]float64, len(column))
	for i, v := range column {
		x[i] = v - mean
	}
	var row []float64
	for _, other := range append(slices.Clone(f.x), x) {
		sum := 0.0
		for i, v := range x {
			sum += v * other[i]
		}
		row = append(row, sum/n)
	}
	own, left := cholesky(f.own, row, func(k int) bool { return f.block[k] == block })
	if variance := row[len(row)-1]; variance == 0 || left <= collinear*variance {
		return
	}
	f.columns, f.block, f.x = append(f.columns, c), append(f.block, block), append(f.x, x)
	f.covariance, f.own = append(f.covariance, row), append(f.own, own)
}

// cholesky takes a row of a matrix up to the diagonal. It returns the next row of the matrix's lower Cholesky factor,
// and the square of the row's last entry. Rows that do not belong to it count as uncorrelated.
func cholesky(factor [][]float64, row []float64, belongs func(k int) bool) (next []float64, left float64) {
	next = make([]float64, len(row))
	n := len(row) - 1
	left = row[n]
	for k := range n {
		if !belongs(k) {
			continue
		}
		sum := row[k]
		for j := range k {
			sum -= next[j] * factor[k][j]
		}
		next[k] = sum / factor[k][k]
		left -= next[k] * next[k]
	}
	next[n] = math.Sqrt(left)
	return next, left
}

// gradient adds 1/n (sum_b C_b^-1 - C^-1) x.
func (f *normalTC) gradient(m *evaluator, _ int, g []float64) {
	if g[0] == 0 || f.limit != 0 {
		return
	}
	d, scale := len(f.columns), g[0]/float64(m.data.rows)
	own, whole := make([]float64, d), make([]float64, d)
	for r := range m.data.rows {
		for k, x := range f.x {
			own[k], whole[k] = x[r], x[r]
		}
		solve(f.own, own)
		solve(f.whole, whole)
		for k, c := range f.columns {
			m.slopes[c][r] += scale * (own[k] - whole[k])
		}
	}
}

// solve overwrites x with (L L^T)^-1 x.
func solve(factor [][]float64, x []float64) {
	for i, row := range factor {
		for k := range i {
			x[i] -= row[k] * x[k]
		}
		x[i] /= row[i]
	}
	for i := len(factor) - 1; i >= 0; i-- {
		for k := i + 1; k < len(factor); k++ {
			x[i] -= factor[k][i] * x[k]
		}
		x[i] /= factor[i][i]
	}
}
