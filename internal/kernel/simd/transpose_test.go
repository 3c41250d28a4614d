package simd

import (
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// Transpose sets only the elements of the transposed matrix, also for empty matrices.
func TestTranspose(t *testing.T) {
	sizes := []int{0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 50}
	for _, rows := range sizes {
		for _, columns := range sizes {
			from, to := columns+3, rows+2 // strides
			src, want := make([]float32, rows*from), make([]float32, columns*to)
			for i := range src {
				src[i] = float32(i + 1)
			}
			for i := range rows {
				for j := range columns {
					want[j*to+i] = float32(i*from + j + 1)
				}
			}
			dst := make([]float32, len(want))
			Transpose(dst, src, to, from, rows, columns)
			must.EqualSlices(t, dst, want, rows, "rows of", columns, "columns")
		}
	}
	Transpose(nil, make([]float32, 20), 20, 1, 20, 0)
}
