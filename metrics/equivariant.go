package metrics

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// turnRotations sets the coefficients b of a sample of rotations. They are the coefficients of codes that turn exactly,
// plus the rest of the least-squares fit in the directions that the rows determine.
func (o *orbit) turnRotations(f *fitted, m *moments, least, b *mat.Dense, noise float64) error {
	exact, cover, err := equivariant(m, b, noise)
	if err != nil {
		return err
	}
	f.cover = cover
	var rest mat.Dense // by direction
	rest.Mul(m.axes.T(), exact)
	for e, s := range m.values {
		row := rest.RawRowView(e)
		if s <= undetermined {
			clear(row)
			continue
		}
		for j, v := range least.RawRowView(e) {
			row[j] = v - row[j]
		}
		scale(row, confidence(s, dot(row, row), noise))
	}
	b.Mul(&m.axes, &rest)
	b.Add(b, exact)
	return nil
}

// equivariant finds the codes A^T g v nearest to an orbit's codes, by least squares in A (3 x d) and the unit vector v.
// It returns their coefficients, and the least part of the group's moments that the rows have in the three directions
// of g v.
//
// For v the best A is a linear fit, and for A the best v. Neither step raises the error. They start from 13 directions
// and from the singular vector of b, the unconstrained fit, which is exact if the rows determine b.
func equivariant(m *moments, b *mat.Dense, noise float64) (coefficients *mat.Dense, cover float64, err error) {
	_, d := b.Dims()
	var codes mat.Dense // 9 x 9
	codes.Mul(m.codes, m.codes.T())
	starts := [][3]float64{singular(b)}
	for code := range 13 {
		starts = append(starts, [3]float64{float64(code%3 - 1), float64(code/3%3 - 1), float64(code/9 - 1)})
	}
	best, v := -1.0, starts[0]
	for _, at := range starts {
		explained, turned := alternate(m, &codes, at)
		if explained > best*(1+1e-13) {
			best, v = explained, turned
		}
	}
	fit, err := newAxisFit(m, v)
	if err != nil {
		return nil, 0, err
	}
	var right, byAxis mat.Dense
	right.Mul(fit.v.T(), m.codes)
	byAxis.Mul(fit.axes.T(), &right)
	cover = 1
	for e, s := range fit.values {
		row := byAxis.RawRowView(e)
		if s <= undetermined {
			clear(row)
			continue
		}
		cover = min(cover, s)
		scale(row, 1/s)
		scale(row, confidence(s, dot(row, row), noise))
	}
	var a mat.Dense
	a.Mul(&fit.axes, &byAxis)
	coefficients = mat.NewDense(9, d, nil)
	coefficients.Mul(fit.v, &a)
	return coefficients, cover, nil
}

// singular returns the right singular vector of b as a matrix of 3 columns: v of coefficients A_i v_j.
func singular(b *mat.Dense) (v [3]float64) {
	_, d := b.Dims()
	products := mat.NewSymDense(3, nil)
	for i := range 3 {
		for j := range 3 {
			for l := j; l < 3; l++ {
				sum := products.At(j, l)
				for c := range d {
					sum += b.At(3*i+j, c) * b.At(3*i+l, c)
				}
				products.SetSym(j, l, sum)
			}
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(products, true) {
		return [3]float64{1, 0, 0}
	}
	var axes mat.Dense
	eigen.VectorsTo(&axes)
	return [3]float64{axes.At(0, 2), axes.At(1, 2), axes.At(2, 2)}
}

// axisFit is the linear fit of codes to the three elements of g v.
type axisFit struct {
	v      *mat.Dense // 9 x 3: g v from g
	values []float64  // eigenvalues of the moments of g v
	axes   mat.Dense
}

func newAxisFit(m *moments, v [3]float64) (*axisFit, error) {
	f := &axisFit{v: mat.NewDense(9, 3, nil)}
	norm := math.Sqrt(v[0]*v[0] + v[1]*v[1] + v[2]*v[2])
	for i := range 3 {
		for j := range 3 {
			f.v.Set(3*i+j, i, v[j]/norm)
		}
	}
	var part, own mat.Dense
	part.Mul(m.own, f.v)
	own.Mul(f.v.T(), &part)
	var eigen mat.EigenSym
	if !eigen.Factorize(mat.NewSymDense(3, own.RawMatrix().Data), true) {
		return nil, errNoEigenvalues
	}
	f.values = eigen.Values(nil)
	eigen.VectorsTo(&f.axes)
	return f, nil
}

// alternate returns the best v from a start, and the part of the codes' squares that it explains; codes are the
// products of the codes' moments.
func alternate(m *moments, codes *mat.Dense, v [3]float64) (explained float64, _ [3]float64) {
	const steps = 500
	for step := range steps {
		fit, err := newAxisFit(m, v)
		if err != nil {
			return explained, v
		}
		inverse := pseudoInverse(fit.values, &fit.axes)
		var turned, coefficients, square mat.Dense
		turned.Mul(fit.v.T(), codes)       // 3 x 9
		coefficients.Mul(inverse, &turned) // 3 x 9: of A with the codes' moments
		square.Mul(&coefficients, fit.v)   // 3 x 3
		last := explained
		explained = mat.Trace(&square)
		if step > 0 && explained <= last*(1+1e-15) {
			break
		}
		square.Mul(&square, inverse) // A A^T
		p, q := mat.NewSymDense(3, nil), mat.NewVecDense(3, nil)
		for j := range 3 {
			for i := range 3 {
				q.SetVec(j, q.AtVec(j)+coefficients.At(i, 3*i+j))
				for l := j; l < 3; l++ {
					for other := range 3 {
						p.SetSym(j, l, p.At(j, l)+square.At(i, other)*m.own.At(3*i+j, 3*other+l))
					}
				}
			}
		}
		var eigen mat.EigenSym
		if !eigen.Factorize(p, true) {
			return explained, v
		}
		var axes mat.Dense
		eigen.VectorsTo(&axes)
		var next mat.VecDense
		next.MulVec(pseudoInverse(eigen.Values(nil), &axes), q)
		if norm := mat.Norm(&next, 2); norm > 0 {
			v = [3]float64{next.AtVec(0) / norm, next.AtVec(1) / norm, next.AtVec(2) / norm}
		}
	}
	return explained, v
}

// pseudoInverse returns the inverse of a symmetric matrix in the directions of eigenvalues above rounding.
func pseudoInverse(values []float64, axes *mat.Dense) *mat.Dense {
	n := len(values)
	scaled := mat.NewDense(n, n, nil)
	for e, s := range values {
		if s <= undetermined*values[n-1] {
			continue
		}
		for i := range n {
			scaled.Set(i, e, axes.At(i, e)/s)
		}
	}
	var inverse mat.Dense
	inverse.Mul(scaled, axes.T())
	return &inverse
}
