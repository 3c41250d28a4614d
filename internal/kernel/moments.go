package kernel

import (
	"github.com/unravel-ml/unravel/internal/kernel/simd"
)

const MomentColumns = 16

// RowMoments sums over the chosen rows of a matrix with MomentColumns columns. For each column, it sums the differences
// from the first of these rows, and their squares. For equal numbers, both sums are exactly 0.
func RowMoments(sum, square *[MomentColumns]float64, x []float64, rows []int32) {
	if simd.Vectors() {
		for _, r := range rows {
			_ = x[int(r)*MomentColumns+MomentColumns-1]
		}
		simd.RowMoments(&sum[0], &square[0], &x[0], &rows[0], len(rows))
		return
	}
	clear(sum[:])
	clear(square[:])
	first := x[int(rows[0])*MomentColumns:][:MomentColumns]
	for _, r := range rows[1:] {
		for c, v := range x[int(r)*MomentColumns:][:MomentColumns] {
			d := v - first[c]
			sum[c] += d
			square[c] += d * d
		}
	}
}
