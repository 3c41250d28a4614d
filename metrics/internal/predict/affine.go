package predict

import (
	"context"
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/metrics/internal/deviation"
	"github.com/unravel-ml/unravel/metrics/internal/levels"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// Projection returns a column h_j(z) for each factor j. The affine map h_j from all code columns has the least mean
// squared error over the rows in which the factor is known,
//
//	min_h 1/n sum_i (y_ij - h_j(z_i))^2
//
// with the values y of the factors, row by row. explained is the fraction of each factor's variance that h_j explains, 0
// of a factor without variance.
func Projection(
	ctx context.Context, codes matrix.Matrix, t levels.Table, values []float64,
) (projected matrix.Matrix, explained []float64, err error) {
	k := len(t.Factors)
	projected = matrix.Matrix{Rows: codes.Rows, Cols: k, Data: make([]float64, codes.Rows*k)}
	fit := geometry.Regression{Interrupt: ctx.Err}
	for from, width := 0, k; from < k; from += width {
		x, y, rows := codes.Data, values, []int(nil)
		if t.Unknown() != nil { // each factor has separate rows
			width = 1
			if rows, y = t.Groups(from, nil).Order, nil; len(rows) == 0 {
				explained = append(explained, 0)
				continue
			}
			slices.Sort(rows)
			for _, i := range rows {
				y = append(y, values[i*k+from])
			}
			x = codes.Take(rows)
		}
		if err := fit.LeastSquares(x, codes.Cols, y, width, 0); err != nil {
			return projected, nil, fmt.Errorf("affine map from codes to factors: %w", err)
		}
		for j := range width {
			own := make([]float64, len(y)/width)
			for at := range own {
				i := at
				if rows != nil {
					i = rows[at]
				}
				own[at] = y[at*width+j]
				projected.Data[i*k+from+j] = own[at] - fit.Residuals[at*width+j]
			}
			share := 0.0
			if total := deviation.Variance(own, 1); total > 0 {
				share = 1 - fit.Errors[j]/total
			}
			explained = append(explained, share)
		}
	}
	return projected, explained, nil
}
