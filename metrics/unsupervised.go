package metrics

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/metrics/mutual"
)

var errSingular = errors.New("the codes' covariance has no inverse: a column is a linear function of the others, and total correlation infinite" +
	"; want columns without linear dependence")

// totalCorrelation is the total correlation of a normal distribution with correlation matrix R, from the eigenvalues
// lambda of R (Watanabe 1960), in nats:
//
//	-1/2 ln det R = -1/2 sum ln lambda
func totalCorrelation(eigenvalues []float64) (sum float64) {
	for _, v := range eigenvalues {
		sum -= math.Log(v) / 2
	}
	return max(sum, 0) // rounding
}

// wassersteinCorrelation is the squared 2-Wasserstein distance of two normal distributions with covariances S and D,
// the diagonal of S. It takes the trace of S and the eigenvalues lambda of D S:
//
//	2 tr S - 2 sum sqrt lambda
func wassersteinCorrelation(trace float64, eigenvalues []float64) float64 {
	var root float64
	for _, v := range eigenvalues {
		root += math.Sqrt(max(v, 0)) // rounding may make it negative
	}
	return max(2*trace-2*root, 0)
}

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
	d := in.Codes.Cols
	g := Grid{Name: "mutual_information", Values: information}
	for c := range d {
		g.Rows = append(g.Rows, in.columnName(c))
	}
	g.Columns = g.Rows
	part := Part{Name: "per_column", Labels: g.Rows}
	for c, row := range g.Values {
		var sum float64
		for b, v := range row {
			if b != c {
				sum += v
			}
		}
		part.Values = append(part.Values, sum/float64(d-1))
	}
	return Result{Value: factor.Mean.Of(part.Values), Parts: []Part{part}, Grids: []Grid{g}}, nil
}

// Compute returns the grid correlation of the non-constant columns.
func (t *TotalCorrelation) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, t, in); err != nil {
		return Result{}, err
	}
	n, d := in.Codes.Rows, in.Codes.Cols
	g := Grid{Name: "correlation"}
	var unit []float64 // column by column
	column := make([]float64, n)
	for c := range d {
		if in.Codes.UnitColumn(c, column) > 0 {
			unit = append(unit, column...)
			g.Rows = append(g.Rows, in.columnName(c))
		}
	}
	var r Result
	if len(g.Rows) < d {
		r.Notes = append(r.Notes, fmt.Sprintf("%d of %d columns are constant and left out", d-len(g.Rows), d))
	}
	if len(g.Rows) == 0 {
		return r, nil
	}
	x := mat.NewDense(len(g.Rows), n, unit)
	var s mat.SymDense
	s.SymOuterK(1/float64(n), x)
	var eigen mat.EigenSym
	if !eigen.Factorize(&s, false) {
		return Result{}, fmt.Errorf("the eigenvalues of the codes' correlation do not converge")
	}
	values := eigen.Values(nil)
	if slices.Min(values) < 1e-13*float64(len(g.Rows)) {
		return Result{}, errSingular
	}
	r.Value = totalCorrelation(values)
	g.Columns, g.Values = g.Rows, symmetricRows(&s)
	r.Grids = []Grid{g}
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
	d := codes.Cols
	var s mat.SymDense
	stat.CovarianceMatrix(&s, mat.NewDense(codes.Rows, d, codes.Data), nil)
	// D S has the eigenvalues of the symmetric D^(1/2) S D^(1/2).
	similar := mat.NewSymDense(d, nil)
	g := Grid{Name: "covariance", Values: symmetricRows(&s)}
	var trace float64
	for a := range d {
		g.Rows = append(g.Rows, in.columnName(a))
		trace += s.At(a, a)
		for b := a; b < d; b++ {
			similar.SetSym(a, b, math.Sqrt(s.At(a, a))*s.At(a, b)*math.Sqrt(s.At(b, b)))
		}
	}
	g.Columns = g.Rows
	if norm := mat.Norm(similar, 1); math.IsNaN(norm) || math.IsInf(norm, 0) {
		return Result{}, fmt.Errorf("the codes' covariance is not finite: the codes are too large")
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(similar, false) {
		return Result{}, fmt.Errorf("the eigenvalues of the codes' covariance do not converge")
	}
	value := wassersteinCorrelation(trace, eigen.Values(nil))
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

func symmetricRows(s *mat.SymDense) [][]float64 {
	d := s.SymmetricDim()
	rows := make([][]float64, d)
	for a := range rows {
		for b := range d {
			rows[a] = append(rows[a], s.At(a, b))
		}
	}
	return rows
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
	n, d := in.Codes.Rows, in.Codes.Cols
	mean, square := make([]float64, d), make([]float64, d)
	for i := range n { // Welford: equal rows have a deviation of 0
		if err := stops(ctx, i, 1<<14); err != nil {
			return Result{}, err
		}
		one, _ := matrix.Matrix{Rows: 1, Cols: d, Data: in.Codes.Row(i)}.ForSquares()
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
