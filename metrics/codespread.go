package metrics

import (
	"context"
	"math"
)

// CodeSpread is how far codes are from being all the same: the standard deviation over the rows of every
// column of codes/|codes|, mean over the columns, times the root of their number (Chen and He 2021, section 4.1). It is
// 0 if all codes have one direction, where methods without negatives have collapsed, and about 1 if directions are
// uniform. It looks at no factor, and models of two views show the same of their batches during training.
type CodeSpread struct{}

// Better says that higher values are better.
func (*CodeSpread) Better() Direction { return HigherIsBetter }

// Range implements Bounded.
func (*CodeSpread) Range() (least, most float64) { return 0, math.Inf(1) }

// Compute returns no parts.
func (*CodeSpread) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := in.Validate(); err != nil {
		return Result{}, err
	}
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	n, d := in.Codes.Rows, in.Codes.Cols
	mean, square := make([]float64, d), make([]float64, d)
	for i := range n { // Welford: equal rows have a deviation of 0
		if err := stops(ctx, i, 1<<14); err != nil {
			return Result{}, err
		}
		row, scale, part := in.Codes.Row(i), 0.0, 1/float64(i+1)
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

// norm2 is the Euclidean norm, of finite numbers of any size.
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
