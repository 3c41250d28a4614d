package predict

import (
	"context"
	"fmt"

	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/metrics/internal/deviation"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// Affine returns the predictions h_j(z) of k values y_j of each row, row by row. The affine map h_j from all code columns
// has the least mean squared error,
//
//	min_h 1/n sum_i (y_ij - h_j(z_i))^2
//
// explained is the fraction of each value's variance that h_j explains, 0 of a value without variance.
func Affine(ctx context.Context, codes matrix.Matrix, y []float64, k int) (predicted, explained []float64, err error) {
	fit := geometry.Regression{Interrupt: ctx.Err}
	if err := fit.LeastSquares(codes.Data, codes.Cols, y, k, 0); err != nil {
		return nil, nil, fmt.Errorf("affine map from codes to factors: %w", err)
	}
	predicted, explained = make([]float64, len(y)), make([]float64, k)
	for at, v := range y {
		predicted[at] = v - fit.Residuals[at]
	}
	values := matrix.Matrix{Rows: codes.Rows, Cols: k, Data: y}
	for j := range k {
		if total := deviation.Variance(values.Columns([]int{j}).Data, 1); total > 0 {
			explained[j] = 1 - fit.Errors[j]/total
		}
	}
	return predicted, explained, nil
}
