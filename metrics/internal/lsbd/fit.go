package lsbd

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// harmonics holds h harmonics for each level of a factor. Over the group they have mean 0, and the identity as second
// moments. The group is all evenly spaced levels of a circle, the whole circle for other angles, or all rotations.
type harmonics struct {
	h      int
	values []float64 // by level
}

func (u *harmonics) of(level int) []float64 { return u.values[level*u.h : (level+1)*u.h] }

// harmonicsOf returns cosine and sine of w turns, times sqrt(2). For rotations it returns the matrix elements, times
// sqrt(3) (E g_ij g_kl is 1/3 for equal elements, otherwise 0). If w turns leave the levels in place or rotate them by
// half a circle, the sine is 0 and the cosine -1, 0 or 1.
func harmonicsOf(f factor.Factor, w int) *harmonics {
	u := &harmonics{h: 2}
	if f.Rotations != nil {
		u.h = 9
		for _, g := range f.Rotations {
			for _, v := range g {
				u.values = append(u.values, math.Sqrt(3)*v)
			}
		}
		return u
	}
	for l := range f.Size {
		angle := float64(w) * f.Angle(l)
		if f.Angles == nil { // exact at the angles of levels
			angle = f.Angle(w * l % f.Size)
		}
		sin, cos := math.Sincos(angle)
		switch {
		case w == 0 || f.Angles == nil && w%f.Size == 0:
			u.values = append(u.values, 0, 0)
		case f.Angles == nil && 2*w%f.Size == 0:
			u.values = append(u.values, math.Round(cos), 0)
		default:
			u.values = append(u.values, math.Sqrt2*cos, math.Sqrt2*sin)
		}
	}
	return u
}

// undetermined is a fraction of the group's second moment in a direction of the harmonics; with less, the rows do not
// determine the direction.
const undetermined = 1e-10

// orbitFit is the model of an orbit: codes minus the effects of other factors equal B^T u + noise.
type orbitFit struct {
	b       []float64 // h x d
	bounded []float64 // for circles: b with at most the variance that the rows have
	noise   []float64 // rows x d, scaled
	// smallest fraction of the group's moments that the rows have, over the directions that the value needs
	coverage float64
}

// moments are the second moments of the harmonics u of an orbit's rows, after subtracting the effects of other factors,
// divided by the weight of all rows.
type moments struct {
	x      []float64     // rows x h: u minus effects
	own    *mat.SymDense // h x h: of u with itself
	codes  *mat.Dense    // h x d: of u with the codes
	values []float64     // eigenvalues of own, in ascending order
	axes   *mat.Dense    // eigenvectors of own
}

// eigen returns the eigenvalues of a symmetric matrix in ascending order, and its eigenvectors.
func eigen(s mat.Symmetric) (values []float64, axes *mat.Dense, err error) {
	var e mat.EigenSym
	if !e.Factorize(s, true) {
		return nil, nil, errors.New("the harmonics' moments have no eigenvalues")
	}
	axes = new(mat.Dense)
	e.VectorsTo(axes)
	return e.Values(nil), axes, nil
}

func (o *orbit) moments(z []float64, d int, u *harmonics) (*moments, error) {
	n, h := len(o.rows), u.h
	m := &moments{x: make([]float64, 0, n*h), own: mat.NewSymDense(h, nil), codes: mat.NewDense(h, max(d, 1), nil)}
	for _, l := range o.levels {
		m.x = append(m.x, u.of(l)...)
	}
	o.subtract(m.x, h)
	own, codes := m.own.RawSymmetric().Data, m.codes.RawMatrix().Data
	for i, w := range o.weights {
		for a, v := range m.x[i*h : (i+1)*h] {
			v *= w / float64(n)
			for b := a; b < h; b++ {
				own[a*h+b] += v * m.x[i*h+b]
			}
			for j, c := range z[i*d : (i+1)*d] {
				codes[a*d+j] += v * c
			}
		}
	}
	var err error
	m.values, m.axes, err = eigen(m.own)
	return m, err
}

// oneAxis reports whether all rotations have the same axis: their elements then vary in only two directions.
func (o *orbit) oneAxis() bool {
	m, err := o.moments(nil, 0, harmonicsOf(o.factor, 1))
	return err == nil && m.values[6] <= undetermined
}

// fit fits the model to codes z, rows x d, after subtracting the effects of other factors, by least squares in every
// direction of the harmonics. If rows cover a direction less than the group does, noise in its coefficients is
// amplified. [confidence] then shrinks the coefficients towards 0 or, for rotations, towards the coefficients of
// equivariant codes ([orbit.equivariant]). Directions that the rows do not determine get the latter.
func (o *orbit) fit(z []float64, d int, u *harmonics) (*orbitFit, error) {
	n, h := len(o.rows), u.h
	m, err := o.moments(z, d, u)
	if err != nil {
		return nil, err
	}
	coefficients := mat.NewDense(h, d, nil) // least-squares coefficients, by direction
	coefficients.Mul(m.axes.T(), m.codes)
	rank := 0
	for e, s := range m.values {
		row := coefficients.RawRowView(e)
		if s <= undetermined {
			clear(row)
			continue
		}
		rank++
		for j := range row {
			row[j] /= s
		}
	}
	var b mat.Dense
	b.Mul(m.axes, coefficients)
	residuals, residualSum := o.residuals(z, m.x, &b)
	f := &orbitFit{noise: residuals, coverage: 1}
	noise := residualSum / max(float64(n)*o.freedom()-float64(rank), 1) // variance of the noise of a row
	if o.factor.Rotations == nil {
		bounded := mat.DenseCopyOf(coefficients)
		for e, s := range m.values {
			if s > undetermined {
				row := coefficients.RawRowView(e)
				floats.Scale(confidence(s, numeric.Dot(row, row), noise/float64(n)), row)
				floats.Scale(confidence(s, 1, math.Inf(1)), bounded.RawRowView(e))
				f.coverage = min(f.coverage, s)
			}
		}
		b.Mul(m.axes, coefficients)
		bounded.Mul(m.axes, bounded)
		f.bounded = bounded.RawMatrix().Data
	} else if err := o.turnRotations(f, m, coefficients, &b, noise/float64(n)); err != nil {
		return nil, err
	}
	f.b = b.RawMatrix().Data
	kept := math.Sqrt(1 / o.freedom())
	if complete(o.factor) { // otherwise a mean over the group removes no noise
		kept *= math.Sqrt(1 - 1/float64(o.factor.Size))
	}
	if o.redrawn {
		kept /= math.Sqrt(o.freedom())
	}
	floats.Scale(kept, f.noise)
	return f, nil
}

// residuals returns codes z less the products of harmonics x and coefficients b, and the weighted sum of their squares.
func (o *orbit) residuals(z, x []float64, b *mat.Dense) (r []float64, rest float64) {
	h, d := b.Dims()
	r = slices.Clone(z)
	for i, w := range o.weights {
		for a, v := range x[i*h : (i+1)*h] {
			for j, c := range b.RawRowView(a) {
				r[i*d+j] -= v * c
			}
		}
		for _, v := range r[i*d : (i+1)*d] {
			rest += w * v * v
		}
	}
	return r, rest
}

// confidence is the shrinkage factor for the coefficients b of a direction; the rows cover a fraction s of it. square
// is the squared length of b, and noise is the variance of the noise divided by the number of rows. Such noise adds
// noise/s to the square. The more the square exceeds nine times noise/s, the closer is the factor to 1. A smaller
// square keeps only the fraction s, which the rows show.
func confidence(s, square, noise float64) float64 {
	if s >= 1 || square == 0 {
		return 1
	}
	kept := max(0, 1-9*noise/(s*square))
	return math.Sqrt(s + (1-s)*kept)
}

// components returns the principal components of b^T u + noise over the group.
func (o *orbit) components(b, noise []float64, d int) (*geometry.Components, error) {
	n := len(o.rows)
	// Adding the negative of every point makes the mean 0.
	points := make([]float64, 0, 2*(len(noise)+len(b)))
	for i, w := range o.weights {
		scale := math.Sqrt(w / 2)
		for _, v := range noise[i*d : (i+1)*d] {
			points = append(points, scale*v)
		}
	}
	for _, v := range b {
		points = append(points, math.Sqrt(float64(n)/2)*v)
	}
	for _, v := range points[:len(points):len(points)] {
		points = append(points, -v)
	}
	c, err := geometry.PCA(points, d)
	if err != nil {
		return nil, err
	}
	total := float64(len(points)/d - 1)
	for i := range c.Sigma {
		c.Sigma[i] *= math.Sqrt(total / float64(max(n-1, 1)))
	}
	return c, nil
}

// turnRotations sets the coefficients b for a sample of rotations. They are the coefficients of equivariant codes, plus
// the rest of the least-squares fit in the directions that the rows determine.
func (o *orbit) turnRotations(f *orbitFit, m *moments, least, b *mat.Dense, noise float64) error {
	exact, cover, err := equivariant(m, b, noise)
	if err != nil {
		return err
	}
	f.coverage = cover
	var rest mat.Dense // least-squares coefficients, by direction
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
		floats.Scale(confidence(s, numeric.Dot(row, row), noise), row)
	}
	b.Mul(m.axes, &rest)
	b.Add(b, exact)
	return nil
}

// equivariant finds the codes A^T g v closest to the codes of an orbit, by least squares in A (3 x d) and the unit
// vector v. It returns their coefficients, and the smallest fraction of the group's moments that the rows have in the
// three directions of g v.
//
// It alternates: given v, the best A is a linear fit, and given A, so is v. Neither step increases the error. The
// starts are 13 directions and the singular vector of the unconstrained fit b, which is exact if the rows determine b.
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
		floats.Scale(1/s, row)
		floats.Scale(confidence(s, numeric.Dot(row, row), noise), row)
	}
	var a mat.Dense
	a.Mul(fit.axes, &byAxis)
	coefficients = mat.NewDense(9, d, nil)
	coefficients.Mul(fit.v, &a)
	return coefficients, cover, nil
}

// singular returns the right singular vector v of b as a matrix with 3 columns, for coefficients A_i v_j.
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
	_, axes, err := eigen(products)
	if err != nil {
		return [3]float64{1, 0, 0}
	}
	return [3]float64{axes.At(0, 2), axes.At(1, 2), axes.At(2, 2)}
}

// axisFit is the linear fit of codes to the three elements of g v.
type axisFit struct {
	v      *mat.Dense // 9 x 3: maps g to g v
	values []float64  // eigenvalues of the moments of g v
	axes   *mat.Dense
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
	var err error
	f.values, f.axes, err = eigen(mat.NewSymDense(3, own.RawMatrix().Data))
	return f, err
}

// alternate returns the best v for a start, and the fraction of the codes' squares that it explains; codes is the
// product of the codes' moments.
func alternate(m *moments, codes *mat.Dense, v [3]float64) (explained float64, _ [3]float64) {
	const steps = 500
	for step := range steps {
		fit, err := newAxisFit(m, v)
		if err != nil {
			return explained, v
		}
		inverse := pseudoInverse(fit.values, fit.axes)
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
		values, axes, err := eigen(p)
		if err != nil {
			return explained, v
		}
		var next mat.VecDense
		next.MulVec(pseudoInverse(values, axes), q)
		if norm := mat.Norm(&next, 2); norm > 0 {
			v = [3]float64{next.AtVec(0) / norm, next.AtVec(1) / norm, next.AtVec(2) / norm}
		}
	}
	return explained, v
}

// pseudoInverse returns the inverse of a symmetric matrix, restricted to eigenvalues above rounding error.
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
