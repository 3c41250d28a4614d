package mimosa

import (
	"math"
	"slices"
)

// Plane is the tangent plane of points: their mean and their leading principal axes.
type Plane struct {
	Mean   []float64 // d
	Dim    int       // m, the dimension
	Axes   []float64 // m x d, orthonormal rows, by decreasing variance
	Ratios []float64 // d: fraction of the variance along every axis, decreasing; all 0 for equal points
}

// localSVD fits a plane to n points of d numbers, row by row (Ross and Doshi-Velez 2021, algorithm 3). It runs a PCA of
// all points, keeps the points with the least error, and fits again. The error of a point is sqrt(sum_k e_k^2). e_k is
// its distance to the mean plus the first k axes, k = 0..d-1. Points with an error up to the [Options.RansacFraction]
// quantile are kept. With r the ratios of the second fit, the dimension is the least m below d with
//
//	r_1 + ... + r_m >= [Options.MinVariance]  and  r_m >= [Options.MinDecay] r_(m+1),
//
// and otherwise d. (k begins with 0 as in the paper's code, not with 1 as in its text.)
func localSVD(points []float64, d int, o Options) Plane {
	f := newFitter(d, len(points)/d, o)
	f.points = append(f.points[:0], points...)
	p := Plane{Mean: make([]float64, d), Axes: make([]float64, d*d), Ratios: make([]float64, d)}
	p.Dim = f.fit(p.Axes, p.Ratios)
	p.Axes = p.Axes[:p.Dim*d]
	copy(p.Mean, f.mean)
	return p
}

// cosine returns |det(U V^T)| of m axes each (algorithm 4), the product of cosines of principal angles.
func cosine(u, v []float64, m, d int, scratch []float64) float64 {
	if m == d {
		return 1
	}
	a := scratch[:m*m]
	for i := range m {
		for j := range m {
			a[i*m+j] = dot(u[i*d:(i+1)*d], v[j*d:])
		}
	}
	return math.Abs(determinant(a, m))
}

// determinant returns the determinant of an m x m matrix, up to sign, and overwrites the matrix.
func determinant(a []float64, m int) float64 {
	det := 1.0
	for k := range m {
		pivot := k
		for i := k + 1; i < m; i++ {
			if math.Abs(a[i*m+k]) > math.Abs(a[pivot*m+k]) {
				pivot = i
			}
		}
		if a[pivot*m+k] == 0 {
			return 0
		}
		if pivot != k {
			for j := k; j < m; j++ {
				a[pivot*m+j], a[k*m+j] = a[k*m+j], a[pivot*m+j]
			}
		}
		det *= a[k*m+k]
		for i := k + 1; i < m; i++ {
			f := a[i*m+k] / a[k*m+k]
			for j := k + 1; j < m; j++ {
				a[i*m+j] -= f * a[k*m+j]
			}
		}
	}
	return det
}

// fitter fits planes and reuses its memory.
type fitter struct {
	d            int
	o            Options
	points       []float64 // n x d
	inliers      []float64 // points of the second fit
	mean         []float64
	cov          []float64 // d x d; after diagonalise: eigenvalues on the diagonal
	axes         []float64 // d x d: eigenvectors in rows
	errors       []float64
	sortedErrors []float64
}

func newFitter(d, n int, o Options) *fitter {
	return &fitter{
		d: d, o: o, points: make([]float64, 0, n*d), inliers: make([]float64, 0, n*d), mean: make([]float64, d),
		cov: make([]float64, d*d), axes: make([]float64, d*d), errors: make([]float64, n), sortedErrors: make([]float64, n),
	}
}

// fit returns the dimension of the plane of f.points, and sets all d axes and ratios.
func (f *fitter) fit(axes, ratios []float64) (dim int) {
	d := f.d
	f.principalAxes(f.points)
	if f.o.RansacFraction < 1 {
		f.selectInliers()
		f.principalAxes(f.inliers)
	}
	copy(axes, f.axes)
	total := 0.0
	for j := range d {
		ratios[j] = max(f.cov[j*d+j], 0)
		total += ratios[j]
	}
	if total == 0 {
		return d // equal points have no direction
	}
	for j := range ratios {
		ratios[j] /= total
	}
	sum := 0.0
	for m := 1; m < d; m++ {
		if sum += ratios[m-1]; sum >= f.o.MinVariance && ratios[m-1] >= f.o.MinDecay*ratios[m] {
			return m
		}
	}
	return d
}

// principalAxes sets the mean and the principal axes of points.
func (f *fitter) principalAxes(points []float64) {
	d := f.d
	n := float64(len(points) / d)
	clear(f.mean)
	for i := 0; i < len(points); i += d {
		for c, v := range points[i : i+d] {
			f.mean[c] += v
		}
	}
	for c := range f.mean {
		f.mean[c] /= n
	}
	clear(f.cov)
	for i := 0; i < len(points); i += d {
		row := points[i : i+d]
		for a, v := range row {
			v -= f.mean[a]
			for b := 0; b <= a; b++ {
				f.cov[a*d+b] += v * (row[b] - f.mean[b])
			}
		}
	}
	for a := range d {
		for b := range a {
			f.cov[b*d+a] = f.cov[a*d+b]
		}
	}
	diagonalise(f.cov, f.axes, d)
}

// selectInliers selects the points of the second fit. With c_j the coordinates along the axes, the squared error sum_k
// e_k^2 is sum_j j c_j^2, j = 1..d.
func (f *fitter) selectInliers() {
	d, n := f.d, len(f.points)/f.d
	for i := range n {
		row := f.points[i*d : (i+1)*d]
		sum := 0.0
		for j := range d {
			a := coordinate(f.axes[j*d:(j+1)*d], row, f.mean)
			sum += float64(j+1) * a * a
		}
		f.errors[i] = math.Sqrt(sum)
	}
	sorted := f.sortedErrors[:n]
	copy(sorted, f.errors[:n])
	slices.Sort(sorted)
	limit := sorted[int(f.o.RansacFraction*float64(n-1))] // an interpolated quantile would keep the same points
	f.inliers = f.inliers[:0]
	for i, e := range f.errors[:n] {
		if e <= limit {
			f.inliers = append(f.inliers, f.points[i*d:(i+1)*d]...)
		}
	}
}

// coordinate returns the coordinate of a point along an axis from an origin.
func coordinate(axis, point, origin []float64) float64 {
	sum := 0.0
	for c, u := range axis {
		sum += u * (point[c] - origin[c])
	}
	return sum
}

// Principal returns all d principal axes of n points of d numbers, row by row.
func Principal(points []float64, d int) Plane {
	o := Options{RansacFraction: 1, MinVariance: 2} // MinVariance 2 is out of reach, so the plane gets all d axes
	return localSVD(points, d, o)
}

// negligible is a fraction of the largest standard deviation. Axes with a smaller standard deviation are not scaled.
const negligible = 1e-6

// equalizeAxes returns n codes of d numbers in their principal axes. It divides each axis by a power of its standard
// deviation relative to the largest one. Power 0 keeps all distances, and 1 whitens. The longest axis keeps its scale.
//
// Without this scaling, neighbourhoods cross between manifolds that differ only along an axis of small variance. The
// paper does not scale codes.
func equalizeAxes(codes []float64, d int, power float64) []float64 {
	if power == 0 {
		return codes
	}
	p := Principal(codes, d)
	scale := make([]float64, d)
	for a := range d {
		scale[a] = 1
		if r := p.Ratios[a] / p.Ratios[0]; r > negligible*negligible {
			scale[a] = math.Pow(r, -power/2)
		}
	}
	scaled := make([]float64, len(codes))
	for i := 0; i < len(codes); i += d {
		for a := range d {
			scaled[i+a] = scale[a] * coordinate(p.Axes[a*d:(a+1)*d], codes[i:i+d], p.Mean)
		}
	}
	return scaled
}

// diagonalise replaces a symmetric d x d matrix by its eigenvalues on the diagonal, the largest first, by Jacobi
// rotations. Row j of vectors becomes the eigenvector of eigenvalue j.
func diagonalise(a, vectors []float64, d int) {
	clear(vectors)
	norm := 0.0
	for i := range d {
		vectors[i*d+i] = 1
		for j := range d {
			norm += a[i*d+j] * a[i*d+j]
		}
	}
	const sweeps = 60 // fewer than ten are enough: convergence is quadratic
	for range sweeps {
		offDiagonal := 0.0
		for i := range d {
			for j := range i {
				offDiagonal += a[i*d+j] * a[i*d+j]
			}
		}
		if offDiagonal <= 1e-34*norm {
			break
		}
		for p := range d {
			for q := p + 1; q < d; q++ {
				rotate(a, vectors, d, p, q)
			}
		}
	}
	sortEigenvalues(a, vectors, d)
}

// sortEigenvalues sorts the eigenvalues of a diagonal matrix in descending order, with their eigenvectors.
func sortEigenvalues(a, vectors []float64, d int) {
	for j := range d { // selection sort
		top := j
		for i := j + 1; i < d; i++ {
			if a[i*d+i] > a[top*d+top] {
				top = i
			}
		}
		if top != j {
			a[j*d+j], a[top*d+top] = a[top*d+top], a[j*d+j]
			for c := range d {
				vectors[j*d+c], vectors[top*d+c] = vectors[top*d+c], vectors[j*d+c]
			}
		}
	}
}

// rotate makes a[p][q] zero by a Jacobi rotation.
func rotate(a, vectors []float64, d, p, q int) {
	apq := a[p*d+q]
	if apq == 0 {
		return
	}
	theta := (a[q*d+q] - a[p*d+p]) / (2 * apq)
	t := 1 / (math.Abs(theta) + math.Sqrt(theta*theta+1)) // the smaller root; 0 if theta overflows
	if theta < 0 {
		t = -t
	}
	cos := 1 / math.Sqrt(t*t+1)
	sin := t * cos
	app, aqq := a[p*d+p]-t*apq, a[q*d+q]+t*apq
	for k := range d {
		if k != p && k != q {
			x, y := a[k*d+p], a[k*d+q]
			x, y = cos*x-sin*y, sin*x+cos*y
			a[k*d+p], a[p*d+k], a[k*d+q], a[q*d+k] = x, x, y, y
		}
		x, y := vectors[p*d+k], vectors[q*d+k]
		vectors[p*d+k], vectors[q*d+k] = cos*x-sin*y, sin*x+cos*y
	}
	a[p*d+p], a[q*d+q], a[p*d+q], a[q*d+p] = app, aqq, 0, 0
}
