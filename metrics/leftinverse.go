package metrics

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/geometry"
)

// LeftInverse is the informativeness metric of Zhang and Sugiyama 2024, equation 26 and table 2. It is the error, 0 or
// more, of the best affine map h from whole codes z to factors y over all rows.
//
//   - mse: the least mean over rows and factors of (y - h(z))^2.
//   - mae: the least mean over rows and factors of |y - h(z)|.
//   - me: the largest error. As the paper computes it (Fit least-squares), it is the radius of the smallest ball around
//     the vectors y - h(z), with h from least squares. By its definition 8 (Fit minimax), h minimises the largest
//     length of y - h(z). With Fit minimax-by-factor, h_i minimises the largest |y_i - h_i(z)| of every factor i. The
//     value is the root of the sum of these largest errors' squares: an upper bound of minimax.
//
// All fits are exact optima with an intercept and without a penalty. Continuous factors are in the [Units] of the
// settings. Ordinal values, circular turns (which no affine map recovers from a circle) and categorical levels are
// mapped to [0, 1]. Errors have the units of the factors, and squared errors their squares; a mean over factors mixes
// the units of different factors. The part score is e^-value.
type LeftInverse struct {
	eachLevel
	loss

	Error   FitError `yaml:"-"`
	Samples int      `yaml:"samples" doc:"largest number of rows to measure, chosen at random; 0: all rows"`
	Units   Units    `yaml:"units" doc:"units of continuous factors: as-given, or range (maps the range over all rows to [0, 1]); levels are always mapped to [0, 1]"`
}

// MaxError is the metric me of [LeftInverse], with the fit as a setting.
type MaxError struct {
	allLevels
	loss

	Fit     Fit   `yaml:"fit" doc:"fit of the affine map: least-squares (value: radius of the smallest ball around its errors), minimax (least maximum error vector) or minimax-by-factor (least maximum error of each factor)"`
	Samples int   `yaml:"samples" doc:"largest number of rows to measure, chosen at random; 0: all rows"`
	Units   Units `yaml:"units" doc:"units of continuous factors: as-given, or range (maps the range over all rows to [0, 1]); levels are always mapped to [0, 1]"`
}

// FitError is the error that a fit minimises.
type FitError uint8

// The errors.
const (
	MeanSquaredError FitError = iota
	MeanAbsoluteError
)

// Fit says how MaxError fits the affine map.
type Fit string

// The fits.
const (
	FitLeastSquares    Fit = "least-squares"
	FitMinimax         Fit = "minimax"
	FitMinimaxByFactor Fit = "minimax-by-factor"
)

// Validate checks the settings.
func (l *LeftInverse) Validate() error {
	return cmp.Or(l.Units.validate(), notNegative("samples", l.Samples, "all"))
}

// Validate checks the settings.
func (m *MaxError) Validate() error {
	return cmp.Or(
		oneOf("fit", "fit", m.Fit, FitLeastSquares, FitMinimax, FitMinimaxByFactor),
		m.Units.validate(),
		notNegative("samples", m.Samples, "all"),
	)
}

// Compute returns the part per_factor: the error of each factor.
func (l *LeftInverse) Compute(ctx context.Context, in *Input) (Result, error) {
	return recovered(ctx, l, in, l.Samples, l.Units, func(p *recovery) (float64, []float64, error) { return p.meanError(l.Error) })
}

// Compute returns the part per_factor: the largest error of each factor. With the fit minimax, the part lower_bound is
// a proven lower bound of the optimum.
func (m *MaxError) Compute(ctx context.Context, in *Input) (Result, error) {
	var bound float64
	r, err := recovered(ctx, m, in, m.Samples, m.Units, func(p *recovery) (float64, []float64, error) {
		value, perFactor, err := p.largestError(m.Fit)
		bound = p.fit.Largest - p.fit.Gap
		return value, perFactor, err
	})
	if err == nil && m.Fit == FitMinimax {
		r.Parts = append(r.Parts, Part{Name: "lower_bound", Values: []float64{bound}})
	}
	return r, err
}

// recovery holds the regression of factors y, rows of k numbers, on codes x, rows of d numbers.
type recovery struct {
	fit  geometry.Regression
	x, y []float64
	d, k int
}

// recovered fits an affine map from codes to factors, and returns the error that fit finds.
func recovered(
	ctx context.Context, m Metric, in *Input, samples int, u Units,
	fit func(p *recovery) (value float64, perFactor []float64, err error),
) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	in, drawn, err := in.reduced(samples)
	if err != nil {
		return Result{}, err
	}
	p := &recovery{x: in.Codes.Data, d: in.Codes.Cols, y: in.factorRows(u), k: len(in.Factors)}
	p.fit.Interrupt = ctx.Err
	value, errors, err := fit(p)
	if err != nil {
		return Result{}, fmt.Errorf("affine map from codes to factors: %w", err)
	}
	r := Result{Value: value, Parts: []Part{in.perFactor(errors)}, Basis: Basis{Rows: drawn, Shared: true}}
	r.Basis.affine(in.Codes.Rows, in.Codes.Cols)
	return r.scored()
}

// meanError is the error of the best affine map h from codes z to factors y (Zhang and Sugiyama 2024, equation 26),
// over n rows and k factors, and the error of every factor:
//
//	min_h 1/(nk) sum_ij |y_ij - h_j(z_i)|^p,  p = 2 (mse) or 1 (mae)
func (p *recovery) meanError(e FitError) (float64, []float64, error) {
	var err error
	if e == MeanSquaredError {
		err = p.fit.LeastSquares(p.x, p.d, p.y, p.k, 0)
	} else {
		err = p.fit.LeastAbsolute(p.x, p.d, p.y, p.k)
	}
	return factor.Mean.Of(p.fit.Errors), p.fit.Errors, err
}

// largestError is the largest error of an affine map h (Zhang and Sugiyama 2024, definition 8), and the largest error of
// every factor:
//
//	least-squares:     min_c max_i |y_i - h(z_i) - c|,  h from least squares
//	minimax:           min_h max_i |y_i - h(z_i)|
//	minimax-by-factor: (sum_j e_j^2)^(1/2),  e_j = min_h max_i |y_ij - h_j(z_i)|
func (p *recovery) largestError(how Fit) (largest float64, perFactor []float64, err error) {
	switch how {
	case FitMinimax:
		err := p.fit.JointMinimax(p.x, p.d, p.y, p.k)
		return p.fit.Largest, p.fit.Errors, err
	case FitMinimaxByFactor:
		err := p.fit.Minimax(p.x, p.d, p.y, p.k)
		var square float64
		for _, e := range p.fit.Errors {
			square += e * e
		}
		return math.Sqrt(square), p.fit.Errors, err
	}
	if err := p.fit.LeastSquares(p.x, p.d, p.y, p.k, 0); err != nil {
		return 0, nil, err
	}
	ball := geometry.Ball{Interrupt: p.fit.Interrupt}
	if err := ball.Enclose(p.fit.Residuals, p.k); err != nil {
		return 0, nil, fmt.Errorf("ball around the errors: %w", err)
	}
	perFactor = make([]float64, p.k)
	for i, e := range p.fit.Residuals {
		j := i % p.k
		perFactor[j] = max(perFactor[j], math.Abs(e-ball.Centre[j])) // the centre c joins the intercept of h
	}
	return ball.Radius, perFactor, nil
}
