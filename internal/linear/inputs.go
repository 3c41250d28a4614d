package linear

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// Inputs is a table of inputs, prepared for any number of logistic regressions.
//
// Columns are centred, scaled and whitened: u = R'^-1 (x - centre)/scale, where R'R is their correlation matrix. The
// regressions use u in single precision. This does not reduce the accuracy for any scale and correlation of the
// columns. The penalty on the weights of x becomes a quadratic form in the weights of u. With many columns, u is
// rotated to the principal axes of this form.
type Inputs struct {
	columns  int
	centre   []float64
	scale    []float64 // 0: a constant column
	pivot    []int     // columns in the order of R
	rank     int       // rows of R: linearly independent columns
	factor   *mat.TriDense
	rotation *mat.Dense    // rank x rank rotation of u that makes the penalty diagonal; nil: none
	toInputs *mat.Dense    // columns x rank: maps weights of u to the weights of x - centre with minimum penalty
	penalty  *mat.SymDense // penalty on the weights of u before the rotation
	diagonal []float64     // penalty on rotated weights
	rows     *kernel.Rows

	// A sample of rows, and all products of two columns, for second derivatives; nil if there are too many columns.
	sample, products *kernel.Rows
}

// Limits of the preparation: relative variance of an independent column, sizes of columns, rows of the sample, and
// maximum number of columns for a sample.
const (
	minVariance       = 1e-12
	maxScale          = 1e60
	sampleRows        = 2048
	maxSampledColumns = 32
)

// NewInputs prepares finite inputs, a matrix in row-major order.
func NewInputs(x []float64, columns int) (*Inputs, error) {
	if columns < 1 || len(x) == 0 || len(x)%columns != 0 {
		return nil, fmt.Errorf("logistic regression: %d inputs of %d columns; want whole rows, and at least one",
			len(x), columns)
	}
	in := &Inputs{columns: columns, centre: make([]float64, columns), scale: make([]float64, columns)}
	z := in.standardise(x)
	n := len(z) / columns
	if err := in.whiten(z, n); err != nil {
		return nil, err
	}
	u := in.decorrelate(z, n)
	in.rows = kernel.NewRows(n, in.rank)
	for i := range n {
		in.rows.Set(i, u[i*in.rank:(i+1)*in.rank])
	}
	if in.rank <= maxSampledColumns {
		in.selectSample(u, n)
	}
	return in, nil
}

// standardise computes centres and scales. It returns the standardised columns.
func (in *Inputs) standardise(x []float64) []float64 {
	d := in.columns
	n := len(x) / d
	z := make([]float64, len(x))
	parallel.For(d, func(_, c int) {
		low, high := x[c], x[c]
		for i := c; i < len(x); i += d {
			low, high = min(low, x[i]), max(high, x[i])
		}
		size := high/2 - low/2 // halves, because the range may overflow
		if !(size > 0) {
			return
		}
		var mean, square float64
		for i := c; i < len(x); i += d {
			z[i] = x[i]/size - low/size
			mean += z[i]
		}
		mean /= float64(n)
		for i := c; i < len(x); i += d {
			z[i] -= mean
			square += z[i] * z[i]
		}
		deviation := math.Sqrt(square / float64(n))
		for i := c; i < len(x); i += d {
			z[i] /= deviation
		}
		in.centre[c], in.scale[c] = low+mean*size, deviation*size
	})
	return z
}

// whiten factors the correlation matrix of the columns with pivoting, which preserves the accuracy of small components.
// R excludes columns that depend on earlier columns.
func (in *Inputs) whiten(z []float64, n int) error {
	d := in.columns
	var s mat.SymDense
	s.SymOuterK(1/float64(n), mat.NewDense(n, d, z).T())
	order := numeric.UpTo(d)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(in.scale[b], in.scale[a]) })
	var independent, dependent []int
	columns := make([][]float64, d) // columns of R up to the diagonal
	for _, c := range order {
		column := make([]float64, len(independent), len(independent)+1)
		variance := s.At(c, c)
		for i, k := range independent {
			v := s.At(k, c)
			for l, w := range columns[k][:i] {
				v -= w * column[l]
			}
			column[i] = v / columns[k][i]
			variance -= column[i] * column[i]
		}
		if variance > minVariance {
			independent, column = append(independent, c), append(column, math.Sqrt(variance))
		} else {
			dependent = append(dependent, c)
		}
		columns[c] = column
	}
	in.rank, in.pivot = len(independent), append(independent, dependent...)
	if in.rank == 0 {
		return nil
	}
	in.factor = mat.NewTriDense(in.rank, mat.Upper, nil)
	for j, c := range independent {
		for i, v := range columns[c] {
			in.factor.SetTri(i, j, v)
		}
	}
	return in.computePenalty(dependent, columns)
}

// computePenalty computes the weights of x with minimum penalty for given weights of u, and this penalty.
func (in *Inputs) computePenalty(dependent []int, columns [][]float64) error {
	d, r := in.columns, in.rank
	reciprocals := make([]float64, d) // reciprocals of the scales
	for c, s := range in.scale {
		reciprocals[c] = 1
		if s > 0 {
			reciprocals[c] = min(max(1/s, 1/maxScale), maxScale)
		}
	}
	// R'^-1 u ignores the dependent columns; adding columns of null changes no logit
	toInputs, null := mat.NewDense(d, r, nil), mat.NewDense(d, max(len(dependent), 1), nil)
	var inverseFactor mat.TriDense
	if err := inverseFactor.InverseTri(in.factor); err != nil && !isCondition(err) {
		return fmt.Errorf("logistic regression: %w", err)
	}
	for i, c := range in.pivot[:r] {
		for j := i; j < r; j++ {
			toInputs.Set(c, j, reciprocals[c]*inverseFactor.At(i, j))
		}
		for l, column := range dependent {
			var sum float64
			for j, v := range columns[column] {
				sum -= inverseFactor.At(i, j) * v
			}
			null.Set(c, l, reciprocals[c]*sum)
		}
	}
	if len(dependent) > 0 {
		for l, column := range dependent {
			null.Set(column, l, reciprocals[column])
		}
		if err := subtractProjection(toInputs, null); err != nil {
			return err
		}
	}
	in.penalty, in.toInputs = mat.NewSymDense(r, nil), toInputs
	in.penalty.SymOuterK(1, toInputs.T())
	if r > maxSampledColumns {
		return in.rotate()
	}
	return nil
}

// rotate rotates u to make the penalty diagonal. With many columns, the diagonal metric is then the complete bound,
// even if correlations make the penalty dominate in most directions.
func (in *Inputs) rotate() error {
	var eigen mat.EigenSym
	if !eigen.Factorize(in.penalty, true) {
		return fmt.Errorf("logistic regression: the inputs' columns differ too much in size")
	}
	in.rotation = new(mat.Dense)
	eigen.VectorsTo(in.rotation)
	rotated := new(mat.Dense)
	rotated.Mul(in.toInputs, in.rotation)
	in.toInputs, in.diagonal = rotated, eigen.Values(nil)
	for a, v := range in.diagonal {
		in.diagonal[a] = max(v, 0)
	}
	return nil
}

// subtractProjection subtracts from every column of x its projection on the column space of null.
func subtractProjection(x, null *mat.Dense) error {
	var square mat.SymDense
	square.SymOuterK(1, null.T())
	var cholesky mat.Cholesky
	var t, projection mat.Dense
	if !cholesky.Factorize(&square) {
		return fmt.Errorf("logistic regression: the inputs' columns differ too much in size")
	}
	t.Mul(null.T(), x)
	if err := cholesky.SolveTo(&t, &t); err != nil && !isCondition(err) {
		return fmt.Errorf("logistic regression: %w", err)
	}
	projection.Mul(null, &t)
	x.Sub(x, &projection)
	return nil
}

// isCondition reports whether an error is only a warning about the condition number.
func isCondition(err error) bool {
	_, ok := err.(mat.Condition)
	return ok
}

// decorrelate solves R'u = z for every row.
func (in *Inputs) decorrelate(z []float64, n int) []float64 {
	u := make([]float64, n*in.rank)
	if in.rank == 0 {
		return u
	}
	const blockRows = 256
	parallel.For((n+blockRows-1)/blockRows, func(_, blockIndex int) {
		first := blockIndex * blockRows
		count := min(blockRows, n-first)
		block := u[first*in.rank : (first+count)*in.rank]
		for i := range count {
			row := z[(first+i)*in.columns : (first+i+1)*in.columns]
			for j := range in.rank {
				block[i*in.rank+j] = row[in.pivot[j]]
			}
		}
		blas64.Trsm(blas.Right, blas.NoTrans, 1, in.factor.RawTriangular(),
			blas64.General{Rows: count, Cols: in.rank, Stride: in.rank, Data: block})
		if in.rotation != nil {
			unrotated := blas64.General{Rows: count, Cols: in.rank, Stride: in.rank, Data: append([]float64(nil), block...)}
			blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, unrotated, in.rotation.RawMatrix(), 0,
				blas64.General{Rows: count, Cols: in.rank, Stride: in.rank, Data: block})
		}
	})
	return u
}

// selectSample selects the sample: rows at nearly equal distances, but not on a regular grid.
func (in *Inputs) selectSample(u []float64, n int) {
	m, r := min(n, sampleRows), in.rank
	in.sample, in.products = kernel.NewRows(m, r), kernel.NewRows(m, (r+1)*(r+2)/2)
	extended, products := make([]float64, r+1), make([]float64, 0, (r+1)*(r+2)/2)
	extended[r] = 1
	for i := range m {
		low, high := i*n/m, (i+1)*n/m
		row := low + i*7919%(high-low)
		copy(extended, u[row*r:(row+1)*r])
		in.sample.Set(i, extended[:r])
		products = products[:0]
		for a, v := range extended {
			for _, w := range extended[a:] {
				products = append(products, v*w)
			}
		}
		in.products.Set(i, products)
	}
}
