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
	turn     *mat.Dense    // rank x rank rotation of u that makes the penalty diagonal; nil: none
	back     *mat.Dense    // columns x rank: maps weights of u to the weights of x - centre with minimum penalty
	penalty  *mat.SymDense // penalty on the weights of u before the rotation
	diagonal []float64     // penalty on rotated weights
	rows     *kernel.Rows

	// A sample of rows, and all products of two columns, for second derivatives; nil if there are too many columns.
	sample, products *kernel.Rows
}

// Limits of the preparation: relative variance of an independent column, sizes of columns, rows of the sample, and
// maximum number of columns for a sample.
const (
	leastVariance = 1e-12
	extreme       = 1e60
	sampleRows    = 2048
	sharpest      = 32
)

// NewInputs prepares finite inputs, a matrix in row-major order.
func NewInputs(x []float64, columns int) (*Inputs, error) {
	if columns < 1 || len(x) == 0 || len(x)%columns != 0 {
		return nil, fmt.Errorf("logistic regression: %d inputs of %d columns; want whole rows, and at least one", len(x), columns)
	}
	in := &Inputs{columns: columns, centre: make([]float64, columns), scale: make([]float64, columns)}
	z := in.standardise(x)
	n := len(z) / columns
	if err := in.whiten(z, n); err != nil {
		return nil, err
	}
	u := in.uncorrelated(z, n)
	in.rows = kernel.NewRows(n, in.rank)
	for i := range n {
		in.rows.Set(i, u[i*in.rank:(i+1)*in.rank])
	}
	if in.rank <= sharpest {
		in.choose(u, n)
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
	var kept, others []int
	columns := make([][]float64, d) // columns of R up to the diagonal
	for _, c := range order {
		column := make([]float64, len(kept), len(kept)+1)
		rest := s.At(c, c)
		for i, k := range kept {
			v := s.At(k, c)
			for l, w := range columns[k][:i] {
				v -= w * column[l]
			}
			column[i] = v / columns[k][i]
			rest -= column[i] * column[i]
		}
		if rest > leastVariance {
			kept, column = append(kept, c), append(column, math.Sqrt(rest))
		} else {
			others = append(others, c)
		}
		columns[c] = column
	}
	in.rank, in.pivot = len(kept), append(kept, others...)
	if in.rank == 0 {
		return nil
	}
	in.factor = mat.NewTriDense(in.rank, mat.Upper, nil)
	for j, c := range kept {
		for i, v := range columns[c] {
			in.factor.SetTri(i, j, v)
		}
	}
	return in.weigh(others, columns)
}

// weigh computes the weights of x with minimum penalty for given weights of u, and this penalty.
func (in *Inputs) weigh(others []int, columns [][]float64) error {
	d, r := in.columns, in.rank
	inverse := make([]float64, d) // reciprocals of the scales
	for c, s := range in.scale {
		inverse[c] = 1
		if s > 0 {
			inverse[c] = min(max(1/s, 1/extreme), extreme)
		}
	}
	// R'^-1 u ignores the dependent columns; adding columns of null changes no logit
	back, null := mat.NewDense(d, r, nil), mat.NewDense(d, max(len(others), 1), nil)
	var solved mat.TriDense
	if err := solved.InverseTri(in.factor); err != nil && !isCondition(err) {
		return fmt.Errorf("logistic regression: %w", err)
	}
	for i, c := range in.pivot[:r] {
		for j := i; j < r; j++ {
			back.Set(c, j, inverse[c]*solved.At(i, j))
		}
		for l, other := range others {
			var sum float64
			for j, v := range columns[other] {
				sum -= solved.At(i, j) * v
			}
			null.Set(c, l, inverse[c]*sum)
		}
	}
	if len(others) > 0 {
		for l, other := range others {
			null.Set(other, l, inverse[other])
		}
		if err := leastSquares(back, null); err != nil {
			return err
		}
	}
	in.penalty, in.back = mat.NewSymDense(r, nil), back
	in.penalty.SymOuterK(1, back.T())
	if r > sharpest {
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
	in.turn = new(mat.Dense)
	eigen.VectorsTo(in.turn)
	back := new(mat.Dense)
	back.Mul(in.back, in.turn)
	in.back, in.diagonal = back, eigen.Values(nil)
	for a, v := range in.diagonal {
		in.diagonal[a] = max(v, 0)
	}
	return nil
}

// leastSquares subtracts from every column of x its projection on the column space of null.
func leastSquares(x, null *mat.Dense) error {
	var square mat.SymDense
	square.SymOuterK(1, null.T())
	var cholesky mat.Cholesky
	var t, part mat.Dense
	if !cholesky.Factorize(&square) {
		return fmt.Errorf("logistic regression: the inputs' columns differ too much in size")
	}
	t.Mul(null.T(), x)
	if err := cholesky.SolveTo(&t, &t); err != nil && !isCondition(err) {
		return fmt.Errorf("logistic regression: %w", err)
	}
	part.Mul(null, &t)
	x.Sub(x, &part)
	return nil
}

// isCondition reports whether an error is only a warning about the condition number.
func isCondition(err error) bool {
	_, ok := err.(mat.Condition)
	return ok
}

// uncorrelated solves R'u = z for every row.
func (in *Inputs) uncorrelated(z []float64, n int) []float64 {
	u := make([]float64, n*in.rank)
	if in.rank == 0 {
		return u
	}
	const together = 256
	parallel.For((n+together-1)/together, func(_, part int) {
		first := part * together
		count := min(together, n-first)
		block := u[first*in.rank : (first+count)*in.rank]
		for i := range count {
			row := z[(first+i)*in.columns : (first+i+1)*in.columns]
			for j := range in.rank {
				block[i*in.rank+j] = row[in.pivot[j]]
			}
		}
		blas64.Trsm(blas.Right, blas.NoTrans, 1, in.factor.RawTriangular(),
			blas64.General{Rows: count, Cols: in.rank, Stride: in.rank, Data: block})
		if in.turn != nil {
			whole := blas64.General{Rows: count, Cols: in.rank, Stride: in.rank, Data: append([]float64(nil), block...)}
			blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, whole, in.turn.RawMatrix(), 0, blas64.General{Rows: count, Cols: in.rank, Stride: in.rank, Data: block})
		}
	})
	return u
}

// choose selects the sample: rows at nearly equal distances, but not on a regular grid.
func (in *Inputs) choose(u []float64, n int) {
	m, r := min(n, sampleRows), in.rank
	in.sample, in.products = kernel.NewRows(m, r), kernel.NewRows(m, (r+1)*(r+2)/2)
	extended, products := make([]float64, r+1), make([]float64, 0, (r+1)*(r+2)/2)
	extended[r] = 1
	for i := range m {
		low, high := i*n/m, (i+1)*n/m
		at := low + i*7919%(high-low)
		copy(extended, u[at*r:(at+1)*r])
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
