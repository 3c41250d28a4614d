package predict

import (
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/geometry"
)

// Recovery predicts factors y, rows of k numbers, from codes z by an affine map h (Zhang and Sugiyama 2024, equation 26
// and definition 8). Its methods return an error of the best map, and this error for every factor.
type Recovery struct {
	Fit              geometry.Regression
	X, Y             []float64 // codes and factors, in row-major order
	Columns, Factors int
}

// MeanError is the mean over n rows and k factors of the squared (mse) or absolute (mae) error:
//
//	min_h 1/(nk) sum_ij |y_ij - h_j(z_i)|^p,  p = 2 (mse) or 1 (mae)
func (r *Recovery) MeanError(squared bool) (mean float64, perFactor []float64, err error) {
	if squared {
		err = r.Fit.LeastSquares(r.X, r.Columns, r.Y, r.Factors, 0)
	} else {
		err = r.Fit.LeastAbsolute(r.X, r.Columns, r.Y, r.Factors)
	}
	return factor.Mean.Of(r.Fit.Errors), r.Fit.Errors, err
}

// MinimaxError is the minimum over h of the largest length of an error:
//
//	min_h max_i |y_i - h(z_i)|
func (r *Recovery) MinimaxError() (largest float64, perFactor []float64, err error) {
	err = r.Fit.JointMinimax(r.X, r.Columns, r.Y, r.Factors)
	return r.Fit.Largest, r.Fit.Errors, err
}

// MinimaxByFactor is the root of the sum of the squares of the factors' largest errors:
//
//	(sum_j e_j^2)^(1/2),  e_j = min_h max_i |y_ij - h_j(z_i)|
func (r *Recovery) MinimaxByFactor() (largest float64, perFactor []float64, err error) {
	err = r.Fit.Minimax(r.X, r.Columns, r.Y, r.Factors)
	var square float64
	for _, e := range r.Fit.Errors {
		square += e * e
	}
	return math.Sqrt(square), r.Fit.Errors, err
}

// BallError is the radius of the smallest ball around the errors of least squares:
//
//	min_c max_i |y_i - h(z_i) - c|
func (r *Recovery) BallError() (radius float64, perFactor []float64, err error) {
	if err := r.Fit.LeastSquares(r.X, r.Columns, r.Y, r.Factors, 0); err != nil {
		return 0, nil, err
	}
	ball := geometry.Ball{Interrupt: r.Fit.Interrupt}
	if err := ball.Enclose(r.Fit.Residuals, r.Factors); err != nil {
		return 0, nil, fmt.Errorf("ball around the errors: %w", err)
	}
	perFactor = make([]float64, r.Factors)
	for i, e := range r.Fit.Residuals {
		j := i % r.Factors
		// the ball's centre becomes part of the intercept of h
		perFactor[j] = max(perFactor[j], math.Abs(e-ball.Centre[j]))
	}
	return ball.Radius, perFactor, nil
}
