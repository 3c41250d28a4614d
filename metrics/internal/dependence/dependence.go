// Package dependence measures how code columns depend on each other or on factors. It uses kernels, or the correlations
// of normal distributions.
package dependence

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// centred is the criterion for two kernel matrices K and L of n rows (Gretton et al. 2005, definition 2, with 1/n^2),
// computed from the sum of their products and the sums of their rows:
//
//	1/n^2 trace(K H L H) = 1/n^2 sum_ij K_ij L_ij - 2/n^3 sum_i k_i l_i + 1/n^4 sum_i k_i sum_i l_i
func centred(products float64, k, l []float64) float64 {
	n := float64(len(k))
	var both, ks, ls float64
	for i := range k {
		both += k[i] / n * (l[i] / n)
		ks += k[i] / n
		ls += l[i] / n
	}
	return max(products/(n*n)-2*both/n+ks/n*(ls/n), 0) // rounding can make it negative
}

// Kernel is a kernel of rows of points. It is Gaussian, exp(-|a - b|^2/(2 s^2)), or 1 for equal points.
type Kernel struct {
	points []float64 // rows x width
	width  int
	equal  bool    // 1 for equal points, otherwise 0
	s      float64 // bandwidth of the Gaussian kernel
}

// NewKernel returns the Gaussian kernel of some columns; the bandwidth 0 is the median distance.
func NewKernel(codes matrix.Matrix, columns []int, bandwidth float64) *Kernel {
	selected := codes.Columns(columns)
	k := &Kernel{points: selected.Data, width: selected.Cols, s: bandwidth}
	if k.s == 0 {
		k.s = k.median(selected.Rows)
	}
	return k
}

// FactorKernel returns the kernel of a factor with values in [0, 1]: equality for a categorical factor, otherwise
// Gaussian. A circular factor lies on a circle of circumference 1.
func FactorKernel(kind factor.Kind, values []float64) *Kernel {
	k := &Kernel{points: values, width: 1, equal: kind == factor.Categorical}
	if kind == factor.Circular {
		var circle []float64
		for _, v := range k.points {
			s, c := math.Sincos(2 * math.Pi * v)
			circle = append(circle, c/(2*math.Pi), s/(2*math.Pi))
		}
		k.points, k.width = circle, 2
	}
	k.s = k.median(len(values))
	return k
}

// medianRows is the number of rows whose pairs give the median.
const medianRows = 362

// median returns the lower median of the distances between rows, or 1 if it is 0.
func (k *Kernel) median(n int) float64 {
	m := min(n, medianRows)
	var squares []float64
	for a := range m {
		for b := range a {
			squares = append(squares, k.square(a*n/m, b*n/m))
		}
	}
	if len(squares) == 0 {
		return 1
	}
	slices.Sort(squares)
	if s := math.Sqrt(squares[(len(squares)-1)/2]); s > 0 {
		return s
	}
	return 1
}

// square returns the squared distance of two rows.
func (k *Kernel) square(a, b int) (sum float64) {
	for c := range k.width {
		d := k.points[a*k.width+c] - k.points[b*k.width+c]
		sum += d * d
	}
	return sum
}

// row sets dst to the Kernel of row i with all rows, and returns their sum.
func (k *Kernel) row(i int, dst []float64) (sum float64) {
	scale := 1 / (2 * k.s * k.s)
	for j := range dst {
		switch square := k.square(i, j); {
		case k.equal && square > 0:
			dst[j] = 0
		case k.equal:
			dst[j] = 1
		default:
			dst[j] = math.Exp(-square * scale)
		}
		sum += dst[j]
	}
	return sum
}

// HSIC returns the criterion of n rows for each wanted pair of kernels.
func HSIC(ctx context.Context, n int, sides []*Kernel, wanted func(i, j int) bool) ([][]float64, error) {
	k := len(sides)
	sums := numeric.Zeros(k, n)      // by side and row
	products := make([][]float64, n) // by row: of pairs of sides
	err := parallel.Each(ctx, n, func(row int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		kernelRows := make([][]float64, k)
		for i, side := range sides {
			kernelRows[i] = make([]float64, n)
			sums[i][row] = side.row(row, kernelRows[i])
		}
		products[row] = make([]float64, k*k)
		for i := range k {
			for j := range k {
				if wanted(i, j) {
					products[row][i*k+j] = numeric.Dot(kernelRows[i], kernelRows[j])
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	values := numeric.Zeros(k, k)
	for i := range k {
		for j := range k {
			if !wanted(i, j) {
				continue
			}
			var sum float64
			for _, row := range products {
				sum += row[i*k+j]
			}
			values[i][j] = centred(sum, sums[i], sums[j])
		}
	}
	return values, nil
}

var errSingular = errors.New("the codes' covariance has no inverse: a column is a linear function of the others, and total correlation infinite" +
	"; want columns without linear dependence")

// fromEigenvalues is the total correlation of a normal distribution with correlation matrix R, from the eigenvalues
// lambda of R (Watanabe 1960), in nats:
//
//	-1/2 ln det R = -1/2 sum ln lambda
func fromEigenvalues(eigenvalues []float64) (sum float64) {
	for _, v := range eigenvalues {
		sum -= math.Log(v) / 2
	}
	return max(sum, 0) // rounding can make it negative
}

// wassersteinDistance is the squared 2-Wasserstein distance between two normal distributions with covariances S and D,
// the diagonal of S. It is computed from the trace of S and the eigenvalues lambda of D S:
//
//	2 tr S - 2 sum sqrt lambda
func wassersteinDistance(trace float64, eigenvalues []float64) float64 {
	var root float64
	for _, v := range eigenvalues {
		root += math.Sqrt(max(v, 0)) // rounding may make it negative
	}
	return max(2*trace-2*root, 0)
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

// TotalCorrelation returns the total correlation, in nats, of a normal distribution with the covariance of the codes
// (Locatello et al. 2019, section 5.2), the columns that vary, and their correlations.
func TotalCorrelation(codes matrix.Matrix) (value float64, columns []int, correlations [][]float64, err error) {
	n := codes.Rows
	var unit []float64 // column by column
	column := make([]float64, n)
	for c := range codes.Cols {
		if codes.UnitColumn(c, column) > 0 {
			unit, columns = append(unit, column...), append(columns, c)
		}
	}
	if columns == nil {
		return 0, nil, nil, nil
	}
	x := mat.NewDense(len(columns), n, unit)
	var s mat.SymDense
	s.SymOuterK(1/float64(n), x)
	var eigen mat.EigenSym
	if !eigen.Factorize(&s, false) {
		return 0, nil, nil, errors.New("the eigenvalues of the codes' correlation do not converge")
	}
	values := eigen.Values(nil)
	if slices.Min(values) < 1e-13*float64(len(columns)) {
		return 0, nil, nil, errSingular
	}
	return fromEigenvalues(values), columns, symmetricRows(&s), nil
}

// WassersteinCorrelation returns the squared 2-Wasserstein distance between two normal distributions: one with the
// covariance of the codes, and one without correlations (Locatello et al. 2019, section 5.2). It also returns the trace
// of the covariance, and the covariance with n-1 degrees of freedom.
func WassersteinCorrelation(codes matrix.Matrix) (value, trace float64, covariance [][]float64, err error) {
	d := codes.Cols
	x, column := mat.NewDense(codes.Rows, d, slices.Clone(codes.Data)), make([]float64, codes.Rows)
	for c := range d {
		if codes.UnitColumn(c, column) == 0 { // rounded means would give constant columns a covariance
			x.SetCol(c, column)
		}
	}
	var s mat.SymDense
	stat.CovarianceMatrix(&s, x, nil)
	// D S has the same eigenvalues as the symmetric D^(1/2) S D^(1/2).
	similar := mat.NewSymDense(d, nil)
	for a := range d {
		trace += s.At(a, a)
	}
	_, e := math.Frexp(trace)
	for a := range d {
		for b := a; b < d; b++ {
			v := math.Ldexp(math.Sqrt(s.At(a, a))*s.At(a, b)*math.Sqrt(s.At(b, b)), -2*e)
			if !(math.Abs(v) < 1e-60) { // EigenSym panics if eigenvalues are below 1e-122
				similar.SetSym(a, b, v)
			}
		}
	}
	if norm := mat.Norm(similar, 1); math.IsNaN(norm) || math.IsInf(norm, 0) {
		return 0, 0, nil, errors.New("the codes' covariance is not finite: the codes are too large")
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(similar, false) {
		return 0, 0, nil, errors.New("the eigenvalues of the codes' covariance do not converge")
	}
	value = math.Ldexp(wassersteinDistance(math.Ldexp(trace, -e), eigen.Values(nil)), e)
	return value, trace, symmetricRows(&s), nil
}

// Spread returns sqrt(d) times the mean over the d columns of the standard deviation of the normalised codes (Chen and
// He 2021, section 4.1).
func Spread(ctx context.Context, codes matrix.Matrix) (float64, error) {
	n, d := codes.Rows, codes.Cols
	mean, square := make([]float64, d), make([]float64, d)
	for i := range n { // Welford's algorithm: equal rows have a deviation of exactly 0
		if i%(1<<14) == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		scaled, _ := matrix.Matrix{Rows: 1, Cols: d, Data: codes.Row(i)}.ForSquares()
		row, scale, share := scaled.Data, 0.0, 1/float64(i+1)
		if norm := norm2(row); norm > 0 {
			scale = 1 / norm
		}
		for c, v := range row {
			unit := v * scale
			change := unit - mean[c]
			mean[c] += change * share
			square[c] += change * (unit - mean[c])
		}
	}
	sum := 0.0
	for _, s := range square {
		sum += math.Sqrt(math.Max(s, 0) / float64(n))
	}
	return sum / math.Sqrt(float64(d)), nil
}

// norm2 returns the Euclidean norm of finite numbers without overflow.
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

// Pattern is the total correlation of the rows with the same active columns.
type Pattern struct {
	Name  string // names the active columns
	Rows  int
	Value float64
}

// ConditionalTC returns the total correlation of the rows of each set of active columns (Ross and Doshi-Velez 2021,
// section 5.2). Sets with fewer than two varying columns are left out. It also counts the rows left out because their
// set has at most as many rows as varying columns. active says, for each row, which columns are active.
func ConditionalTC(
	ctx context.Context, codes matrix.Matrix, active [][]bool, name func(c int) string,
) (patterns []Pattern, excluded int, err error) {
	units := activeUnits(codes, active)
	members, names := map[string][]int{}, []string(nil)
	for i, on := range active {
		if i%(1<<10) == 0 && ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		var columns []string
		for c := range on {
			if on[c] {
				columns = append(columns, name(c))
			}
		}
		set := strings.Join(columns, " ")
		if members[set] == nil {
			names = append(names, set)
		}
		members[set] = append(members[set], i)
	}
	for _, set := range names {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		rows := members[set]
		var columns []int // columns that are active and vary
		for c, on := range active[rows[0]] {
			if on && slices.ContainsFunc(rows, func(i int) bool { return units.Row(i)[c] != units.Row(rows[0])[c] }) {
				columns = append(columns, c)
			}
		}
		switch {
		case len(rows) <= len(columns):
			excluded += len(rows)
			continue
		case len(columns) < 2:
			continue
		}
		tc, err := patternTC(units, rows, columns)
		if err != nil {
			return nil, 0, fmt.Errorf("where %s are active: %w", set, err)
		}
		patterns = append(patterns, Pattern{Name: set, Rows: len(rows), Value: tc})
	}
	return patterns, excluded, nil
}

// activeUnits divides each column by its standard deviation over its active rows. Constant columns become 0.
func activeUnits(codes matrix.Matrix, active [][]bool) matrix.Matrix {
	units := matrix.Matrix{Rows: codes.Rows, Cols: codes.Cols, Data: make([]float64, len(codes.Data))}
	for c := range codes.Cols {
		var column []float64
		var rows []int
		for i := range codes.Rows {
			if active[i][c] {
				column, rows = append(column, codes.Row(i)[c]), append(rows, i)
			}
		}
		if len(rows) == 0 {
			continue
		}
		unit := make([]float64, len(rows))
		matrix.Matrix{Rows: len(rows), Cols: 1, Data: column}.UnitColumn(0, unit)
		for n, i := range rows {
			units.Data[i*codes.Cols+c] = unit[n]
		}
	}
	return units
}

// patternTC is the contribution of one set of active columns to the total correlation of codes with inactive columns
// (Ross and Doshi-Velez 2021, section 5.2):
//
//	(sum over d of mean u_d^2 - |A| - ln det cov u) / 2
func patternTC(units matrix.Matrix, rows, columns []int) (float64, error) {
	k, n := len(columns), len(rows)
	x := mat.NewDense(k, n, nil)
	var sum float64
	for a, c := range columns {
		column := make([]float64, n)
		for row, i := range rows {
			v := units.Row(i)[c]
			column[row] = v
			sum += v * v / float64(n)
		}
		mean := matrix.Mean(column)
		for row, v := range column {
			x.Set(a, row, v-mean)
		}
	}
	var s mat.SymDense
	s.SymOuterK(1/float64(n), x)
	var cholesky mat.Cholesky
	if !cholesky.Factorize(&s) || cholesky.Cond() > 1e13 {
		return 0, errSingular
	}
	return (sum - float64(k) - cholesky.LogDet()) / 2, nil
}
