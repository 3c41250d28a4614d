package metrics

import (
	"context"
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/metrics/internal/dependence"
	"github.com/unravel-ml/unravel/metrics/mutual"
)

// MutualInformation is the mutual information score of disentanglement_lib (Locatello et al. 2019, section 5.2). It is
// the mean over pairs of different code columns of the mutual information, in nats, of their bins. It uses no factors.
// Time grows with the square of the number of columns.
type MutualInformation struct {
	noLevels
	loss

	mutual.Histogram `yaml:",inline"`
}

// TotalCorrelation is the total correlation of a normal distribution with the
// covariance S of the codes (Locatello et al. 2019, section 5.2), in nats:
//
//	1/2 (sum ln S_ii - ln det S)
//
// It is 0 for uncorrelated columns. Constant columns are left out. A column that is a linear function of the others
// makes it infinite, which is an error.
type TotalCorrelation struct {
	noLevels
	loss
}

// WassersteinCorrelation is the squared 2-Wasserstein distance of two normal distributions, as disentanglement_lib
// computes it, in squared units of the codes. Their covariances are the codes' covariance S and its diagonal D:
//
//	2 tr S - 2 tr (D S)^(1/2)
//
// The part normalised is the value divided by tr S.
type WassersteinCorrelation struct {
	noLevels
	loss
}

// Validate checks the settings.
func (m *MutualInformation) Validate() error { return m.Histogram.Check() }

// Suits implements Selective.
func (*MutualInformation) Suits(in *Input) error {
	if in.Codes.Cols < 2 {
		return fmt.Errorf("there is %d code column; want at least two, to have a pair", in.Codes.Cols)
	}
	return nil
}

// Suits implements Selective.
func (*TotalCorrelation) Suits(in *Input) error {
	if n, d := in.Codes.Rows, in.Codes.Cols; n <= d {
		return fmt.Errorf("there are %d codes of %d columns; want at least %d, or their covariance has no inverse", n, d, d+1)
	}
	return nil
}

// Suits implements Selective.
func (*WassersteinCorrelation) Suits(in *Input) error {
	if in.Codes.Rows < 2 {
		return fmt.Errorf("there is %d code; want at least two, to have a covariance", in.Codes.Rows)
	}
	return nil
}

// Compute returns the part per_column (mean mutual information with the other columns) and the grid mutual_information
// of columns, with entropies on the diagonal.
func (m *MutualInformation) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	information, err := mutual.Between(ctx, in.Codes, m.Histogram, in.shared)
	if err != nil {
		return Result{}, err
	}
	names := in.columnNames(nil)
	g := Grid{Name: "mutual_information", Rows: names, Columns: names, Values: information}
	part := Part{Name: "per_column", Labels: names}
	for c, row := range g.Values {
		var sum float64
		for b, v := range row {
			if b != c {
				sum += v
			}
		}
		part.Values = append(part.Values, sum/float64(len(row)-1))
	}
	return Result{Value: factor.Mean.Of(part.Values), Parts: []Part{part}, Grids: []Grid{g}}, nil
}

// Compute returns the grid correlation of the non-constant columns.
func (t *TotalCorrelation) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, t, in); err != nil {
		return Result{}, err
	}
	value, columns, correlations, err := dependence.TotalCorrelation(in.Codes)
	if err != nil {
		return Result{}, err
	}
	r := Result{Value: value}
	if d := in.Codes.Cols; len(columns) < d {
		r.Notes = append(r.Notes, fmt.Sprintf("%d of %d columns are constant and left out", d-len(columns), d))
	}
	if len(columns) > 0 {
		names := in.columnNames(columns)
		r.Grids = []Grid{{Name: "correlation", Rows: names, Columns: names, Values: correlations}}
	}
	return r, nil
}

// Compute returns the part normalised and the grid covariance (n-1 degrees of freedom).
func (w *WassersteinCorrelation) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, w, in); err != nil {
		return Result{}, err
	}
	if err := in.Codes.WantSquares(); err != nil {
		return Result{}, err
	}
	codes, exponent := in.Codes.ForSquares() // D S has fourth powers of them
	value, trace, covariance, err := dependence.WassersteinCorrelation(codes)
	if err != nil {
		return Result{}, err
	}
	names := in.columnNames(nil)
	g := Grid{Name: "covariance", Rows: names, Columns: names, Values: covariance}
	normalised := Part{Name: "normalised", Values: []float64{0}}
	r := Result{Value: math.Ldexp(value, 2*exponent), Grids: []Grid{g}}
	for _, row := range g.Values {
		for c := range row {
			row[c] = math.Ldexp(row[c], 2*exponent)
		}
	}
	if trace > 0 {
		normalised.Values[0] = value / trace
	} else {
		r.Notes = append(r.Notes, "all columns are constant")
	}
	r.Parts = []Part{normalised}
	return r, nil
}

// CodeSpread is the collapse diagnostic of Chen and He 2021, section 4.1. Let u = z/|z| be the normalised codes of d
// columns. The value is sqrt(d) times the mean over columns of the standard deviation of u_c over rows. It is 0 if all
// codes have one direction (collapse) and about 1 if directions are uniform. It uses no factors. Models of two views
// log the same number of their batches as spread.
type CodeSpread struct {
	noLevels
}

// Better returns HigherIsBetter.
func (*CodeSpread) Better() Direction { return HigherIsBetter }

// Range implements Bounded.
func (*CodeSpread) Range() (least, most float64) { return 0, math.Inf(1) }

// Compute returns the value alone, without parts.
func (m *CodeSpread) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	value, err := dependence.Spread(ctx, in.Codes)
	return Result{Value: value}, err
}
