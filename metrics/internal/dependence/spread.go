package dependence

import (
	"context"
	"math"

	"github.com/unravel-ml/unravel/metrics/matrix"
)

// Spread returns sqrt(d) times the mean over the d columns of the standard deviation of the normalised codes (Chen and
// He 2021, section 4.1).
func Spread(ctx context.Context, codes matrix.Matrix) (float64, error) {
	n, d := codes.Rows, codes.Cols
	mean, square := make([]float64, d), make([]float64, d)
	for i := range n { // Welford: equal rows have a deviation of 0
		if i%(1<<14) == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		one, _ := matrix.Matrix{Rows: 1, Cols: d, Data: codes.Row(i)}.ForSquares()
		row, scale, part := one.Data, 0.0, 1/float64(i+1)
		if norm := norm2(row); norm > 0 {
			scale = 1 / norm
		}
		for c, v := range row {
			unit := v * scale
			change := unit - mean[c]
			mean[c] += change * part
			square[c] += change * (unit - mean[c])
		}
	}
	sum := 0.0
	for _, s := range square {
		sum += math.Sqrt(math.Max(s, 0) / float64(n))
	}
	return sum / math.Sqrt(float64(d)), nil
}

// norm2 returns the Euclidean norm of finite numbers, without overflow.
func norm2(x []float64) float64 {
	largest := 0.0
	for _, v := range x {
		largest = math.Max(largest, math.Abs(v))
	}
	if largest == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range x {
		sum += v / largest * (v / largest)
	}
	return largest * math.Sqrt(sum)
}
