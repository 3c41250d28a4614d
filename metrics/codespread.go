package metrics

import (
	"context"
	"math"

	"github.com/unravel-ml/unravel/metrics/matrix"
)

// CodeSpread is the collapse diagnostic of Chen and He 2021, section 4.1. Let u = z/|z| be the normalised codes of d
// columns. The value is sqrt(d) times the mean over columns of the standard deviation of u_c over rows. It is 0 if all
// codes have one direction (collapse) and about 1 if directions are uniform. It uses no factors. Models of two views
// log the same number of their batches as spread.
type CodeSpread struct{}

// Needs returns NoLevels.
func (*CodeSpread) Needs() Needs { return NoLevels }

// Better returns HigherIsBetter.
func (*CodeSpread) Better() Direction { return HigherIsBetter }

// Range implements Bounded.
func (*CodeSpread) Range() (least, most float64) { return 0, math.Inf(1) }

// Compute returns the value alone, without parts.
func (m *CodeSpread) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	n, d := in.Codes.Rows, in.Codes.Cols
	mean, square := make([]float64, d), make([]float64, d)
	for i := range n { // Welford: equal rows have a deviation of 0
		if err := stops(ctx, i, 1<<14); err != nil {
			return Result{}, err
		}
		one, _ := Matrix{Rows: 1, Cols: d, Data: in.Codes.Row(i)}.Sized(matrix.LeastSquared, matrix.MostSquared)
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
	return Result{Value: sum / math.Sqrt(float64(d))}, nil
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
