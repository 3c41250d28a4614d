package metrics

import (
	"context"
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/geometry"
)

// meanError is the error of the best affine map h from codes z to factors y (Zhang and Sugiyama 2024, equation 26),
// over n rows and k factors. It writes the errors of every factor to fit.Errors:
//
//	min_h 1/(nk) sum_ij |y_ij - h_j(z_i)|^p,  p = 2 (mse) or 1 (mae)
func (p *recovery) meanError(fit *geometry.Regression, e FitError) (float64, error) {
	least := fit.LeastAbsolute
	if e == MeanSquaredError {
		least = func(x []float64, d int, y []float64, k int) error { return fit.LeastSquares(x, d, y, k, 0) }
	}
	if err := least(p.codes, p.columns, p.targets, p.factors); err != nil {
		return 0, err
	}
	return factor.Mean.Of(fit.Errors), nil
}

// largestError is the largest error of an affine map h (Zhang and Sugiyama 2024, definition 8). It also returns the
// largest error of every factor:
//
//	least-squares:     min_c max_i |y_i - h(z_i) - c|,  h from least squares
//	minimax:           min_h max_i |y_i - h(z_i)|
//	minimax-by-factor: (sum_j e_j^2)^(1/2),  e_j = min_h max_i |y_ij - h_j(z_i)|
func (p *recovery) largestError(fit *geometry.Regression, how Fit) (largest float64, perFactor []float64, err error) {
	switch how {
	case FitMinimax:
		err := fit.JointMinimax(p.codes, p.columns, p.targets, p.factors)
		return fit.Largest, fit.Errors, err
	case FitMinimaxByFactor:
		err := fit.Minimax(p.codes, p.columns, p.targets, p.factors)
		var square float64
		for _, e := range fit.Errors {
			square += e * e
		}
		return math.Sqrt(square), fit.Errors, err
	}
	if err := fit.LeastSquares(p.codes, p.columns, p.targets, p.factors, 0); err != nil {
		return 0, nil, err
	}
	ball := geometry.Ball{Interrupt: fit.Interrupt}
	if err := ball.Enclose(fit.Residuals, p.factors); err != nil {
		return 0, nil, fmt.Errorf("ball around the errors: %w", err)
	}
	perFactor = make([]float64, p.factors)
	for i, e := range fit.Residuals {
		j := i % p.factors
		perFactor[j] = max(perFactor[j], math.Abs(e-ball.Centre[j])) // the centre c joins the intercept of h
	}
	return ball.Radius, perFactor, nil
}

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
func (l *LeftInverse) Validate() error { return validRecovery(l.Samples, l.Units) }

// Validate checks the settings.
func (m *MaxError) Validate() error {
	switch m.Fit {
	case FitLeastSquares, FitMinimax, FitMinimaxByFactor:
		return validRecovery(m.Samples, m.Units)
	}
	return config.Invalid("fit", "unknown fit %q; want least-squares, minimax or minimax-by-factor", string(m.Fit))
}

func validRecovery(samples int, u Units) error {
	if err := u.validate(); err != nil {
		return err
	}
	return validSamples(samples)
}

func validSamples(n int) error {
	if n < 0 {
		return config.Invalid("samples", "%d is negative; want 0 (all) or more", n)
	}
	return nil
}

// Compute returns the part per_factor: the error of each factor.
func (l *LeftInverse) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := l.Validate(); err != nil {
		return Result{}, err
	}
	p, err := newRecovery(ctx, in, l.Samples, l.Units)
	if err != nil {
		return Result{}, err
	}
	fit := geometry.Regression{Interrupt: ctx.Err}
	value, err := p.meanError(&fit, l.Error)
	if err != nil {
		return Result{}, fmt.Errorf("affine map from codes to factors: %w", err)
	}
	return p.result(in, value, fit.Errors)
}

// Compute returns the part per_factor: the largest error of each factor. With the fit minimax, the part lower_bound is
// a proven lower bound of the optimum.
func (m *MaxError) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := m.Validate(); err != nil {
		return Result{}, err
	}
	p, err := newRecovery(ctx, in, m.Samples, m.Units)
	if err != nil {
		return Result{}, err
	}
	fit := geometry.Regression{Interrupt: ctx.Err}
	value, perFactor, err := p.largestError(&fit, m.Fit)
	if err != nil {
		return Result{}, fmt.Errorf("affine map from codes to factors: %w", err)
	}
	r, err := p.result(in, value, perFactor)
	if m.Fit == FitMinimax {
		r.Parts = append(r.Parts, Part{Name: "lower_bound", Values: []float64{fit.Largest - fit.Gap}})
	}
	return r, err
}

// recovery holds the data of the regression of factors on codes.
type recovery struct {
	codes, targets   []float64
	columns, factors int
	rows             int // drawn; 0: all
}

func newRecovery(ctx context.Context, in *Input, samples int, u Units) (*recovery, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	if err := in.wantKnown(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	k := len(in.Factors)
	p := &recovery{codes: in.Codes.Data, columns: in.Codes.Cols, factors: k}
	p.targets = in.factorRows(u)
	if samples > 0 && in.Codes.Rows > samples {
		rows, err := in.sample(samples)
		if err != nil {
			return nil, err
		}
		all := p.targets
		p.rows = samples
		p.codes, p.targets = nil, nil
		for _, i := range rows {
			p.codes = append(p.codes, in.Codes.Row(i)...)
			p.targets = append(p.targets, all[i*k:(i+1)*k]...)
		}
	}
	return p, nil
}

func (p *recovery) result(in *Input, value float64, errors []float64) (Result, error) {
	part := Part{Name: "per_factor", Values: errors}
	for _, f := range in.Factors {
		part.Labels = append(part.Labels, f.Name)
	}
	r := Result{Value: value, Parts: []Part{part}, Basis: Basis{Rows: p.rows, Shared: true}}
	r.Basis.affine(len(p.targets)/p.factors, p.columns)
	return r.scored()
}
