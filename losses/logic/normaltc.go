package logic

import (
	"math"
	"slices"
)

// correlation is the total correlation of blocks of columns under the normal distribution with their covariance C,
//
//	1/2 (sum_b log det C_b - log det C)
//
// in nats. It is 0 exactly if the blocks are uncorrelated, and infinite if a column is a linear function of columns of
// other blocks. A constant column, or a linear function of earlier columns in its block, changes nothing and is left
// out.
type correlation struct {
	base
	blocks [][]int
	state  int
}

// normal is the state of a correlation: the columns that count, their deviations from their means, and inverses of
// covariances.
type normal struct {
	columns    []int
	block      []int // of each column
	x          [][]float64
	covariance [][]float64
	whole, own [][]float64 // Cholesky factors of C and of the C_b
	limit      float64     // infinite if the blocks are linearly dependent, NaN if the codes are not finite; otherwise 0
}

// collinear is the remaining fraction of a column's variance below which the column counts as a linear function of
// others.
const collinear = 1e-12

func (*correlation) smooth() bool { return true }

func (f *correlation) cost(e *engine) float64 {
	d := 0.0
	for _, b := range f.blocks {
		d += float64(len(b))
	}
	return max(1, float64(e.data.rows)*d)
}

func (f *correlation) value(m *evaluator, _ int) []float64 {
	s, out := &m.dependence[f.state].normal, m.values[f.id][:1]
	s.set(m, f.blocks)
	if out[0] = s.limit; s.limit != 0 {
		return out
	}
	for i := range s.columns {
		out[0] += math.Log(s.own[i][i]) - math.Log(s.whole[i][i])
	}
	if out[0] < rounding {
		out[0] = 0
	}
	return out
}

// set computes the covariance of the columns that count.
func (s *normal) set(m *evaluator, blocks [][]int) {
	s.columns, s.block, s.x, s.covariance, s.own, s.limit = s.columns[:0], s.block[:0], s.x[:0], s.covariance[:0], s.own[:0], 0
	for b, columns := range blocks {
		for _, column := range columns {
			s.add(m.data.columns[column], column, b)
		}
	}
	s.whole = s.whole[:0]
	for i := range s.columns {
		row, left := cholesky(s.whole, s.covariance[i], func(int) bool { return true })
		s.whole = append(s.whole, row)
		switch {
		case math.IsNaN(left):
			s.limit = left
			return
		case left <= collinear*s.covariance[i][i]:
			s.limit = math.Inf(1)
			return
		}
	}
}

// add takes a column with its covariances, unless earlier columns of its block determine it.
func (s *normal) add(column []float64, c, block int) {
	n := float64(len(column))
	mean := meanOf(nil, column, 1)[0]
	x := make([]float64, len(column))
	for i, v := range column {
		x[i] = v - mean
	}
	var row []float64
	for _, other := range append(slices.Clone(s.x), x) {
		sum := 0.0
		for i, v := range x {
			sum += v * other[i]
		}
		row = append(row, sum/n)
	}
	own, left := cholesky(s.own, row, func(k int) bool { return s.block[k] == block })
	if variance := row[len(row)-1]; variance == 0 || left <= collinear*variance {
		return
	}
	s.columns, s.block, s.x = append(s.columns, c), append(s.block, block), append(s.x, x)
	s.covariance, s.own = append(s.covariance, row), append(s.own, own)
}

// cholesky takes a row of a matrix, up to the diagonal. It returns the next row of the matrix's lower Cholesky factor,
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
func (f *correlation) gradient(m *evaluator, _ int, g []float64) {
	s := &m.dependence[f.state].normal
	if g[0] == 0 || s.limit != 0 {
		return
	}
	d, scale := len(s.columns), g[0]/float64(m.data.rows)
	own, whole := make([]float64, d), make([]float64, d)
	for r := range m.data.rows {
		for k, x := range s.x {
			own[k], whole[k] = x[r], x[r]
		}
		solve(s.own, own)
		solve(s.whole, whole)
		for k, c := range s.columns {
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
