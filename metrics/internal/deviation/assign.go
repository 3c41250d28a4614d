package deviation

import (
	"context"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/metrics/internal/levels"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// Assign returns one column for each factor. The assignment minimises the sum over factors of the share of the
// column's variance that remains while the factor is fixed, over the rows where the factor is known. A column that is
// constant there costs 1, the most, and so does any column of a factor without a known level.
func Assign(ctx context.Context, codes matrix.Matrix, t levels.Table) ([]factor.Block, error) {
	cost := make([][]float64, len(t.Factors))
	for i := range cost {
		cost[i] = make([]float64, codes.Cols)
	}
	column := make([]float64, codes.Rows)
	for c := range codes.Cols {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		scale := codes.UnitColumn(c, column)
		for i, f := range t.Factors {
			if cost[i][c] = 1; scale > 0 {
				cost[i][c] = fractionLeft(column, t.Levels[i:], len(t.Factors), f.Size)
			}
		}
	}
	blocks := make([]factor.Block, len(cost))
	for i, c := range geometry.Assign(cost) {
		blocks[i] = factor.Block{Factor: i, Columns: []int{c}}
	}
	return blocks, nil
}

// fractionLeft takes the rows with known level. It returns the sum of squared distances from the mean of the level,
// over the sum of squared distances from the mean. It returns 1 if the latter is 0. levels has stride k.
func fractionLeft(x []float64, levels []int, k, size int) float64 {
	sums, counts := make([]float64, size), make([]float64, size)
	first, known := 0.0, false // differences of a constant are exactly 0
	for i, v := range x {
		if l := levels[i*k]; l >= 0 {
			if !known {
				first, known = v, true
			}
			sums[l] += v - first
			counts[l]++
		}
	}
	mean := factor.Sum.Of(sums) / factor.Sum.Of(counts)
	var left, all float64
	for i, v := range x {
		if l := levels[i*k]; l >= 0 {
			v -= first
			all += (v - mean) * (v - mean)
			v -= sums[l] / counts[l]
			left += v * v
		}
	}
	if all == 0 {
		return 1
	}
	return left / all
}
