package geometry

import "math"

type inverse struct {
	a      []float64
	pivots []int
}

// compute sets a to the inverse of an n x n matrix, by Gauss-Jordan elimination in place. It reports whether the matrix
// is regular up to rounding.
func (v *inverse) compute(matrix []float64, n int) bool {
	v.a, v.pivots = resize(v.a, n*n), resize(v.pivots, n)
	a := v.a
	copy(a, matrix[:n*n])
	minPivot := 1e-15 * largest(a)
	for k := range n {
		best := pivotRow(a, n, k)
		v.pivots[k] = best
		row := a[k*n : (k+1)*n]
		if best != k {
			for j, x := range a[best*n : (best+1)*n] {
				a[best*n+j], row[j] = row[j], x
			}
		}
		pivot := row[k]
		if !(math.Abs(pivot) > minPivot) {
			return false
		}
		row[k] = 1
		for j := range row {
			row[j] /= pivot
		}
		for i := range n {
			if i == k {
				continue
			}
			f := a[i*n+k]
			if f == 0 {
				continue
			}
			a[i*n+k] = 0
			axpy(-f, row, a[i*n:(i+1)*n])
		}
	}
	for k := n - 1; k >= 0; k-- { // row swaps of the matrix are column swaps of its inverse
		if p := v.pivots[k]; p != k {
			for i := range n {
				a[i*n+k], a[i*n+p] = a[i*n+p], a[i*n+k]
			}
		}
	}
	return true
}

// pivotRow returns the row with the largest absolute value in column k, from row k on.
func pivotRow(a []float64, n, k int) int {
	best := k
	for i := k + 1; i < n; i++ {
		if math.Abs(a[i*n+k]) > math.Abs(a[best*n+k]) {
			best = i
		}
	}
	return best
}
