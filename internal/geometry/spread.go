package geometry

import (
	"cmp"
	"math"
	"slices"
)

// spread is a set of points in coordinates for regression: orthogonal directions, with mean 0 and mean square 1 in each
// direction.
type spread struct {
	rows, columns, rank int

	mean  []float64
	scale float64 // common scale of the columns

	values     []float64 // singular values of the centred points, divided by scale
	directions []float64 // rank unit vectors with the given number of columns

	// design has the coordinates, rows x (1 + rank), after a column of ones.
	design []float64

	interrupt func() error

	centredPoints, columnMajor, rightVectors, correlations []float64
	order                                                  []int
}

// read decomposes points. It ignores directions with singular values below tolerance times the largest singular value.
func (s *spread) read(points []float64, columns int, tolerance float64) error {
	s.rows, s.columns = len(points)/columns, columns
	s.centredPoints, s.mean = resize(s.centredPoints, len(points)), resize(s.mean, columns)
	for j := range columns {
		s.mean[j] = centreColumn(s.centredPoints[j:], points[j:], columns)
	}
	s.scale = largest(s.centredPoints)
	if math.IsInf(s.scale, 0) || math.IsNaN(s.scale) {
		return errTooLarge
	}
	s.rank = 0
	if s.scale > 0 {
		for i := range s.centredPoints {
			s.centredPoints[i] /= s.scale
		}
		if err := s.decompose(tolerance); err != nil {
			return err
		}
	}
	s.computeDesign()
	return nil
}

// centreColumn sets dst to x minus its mean, for every stride-th element. It returns the mean. Equal elements become
// exactly 0.
func centreColumn(dst, x []float64, stride int) float64 {
	mean, n := 0.0, float64((len(x)+stride-1)/stride)
	for i := 0; i < len(x); i += stride {
		mean += (x[i] - x[0]) / n
	}
	for i := 0; i < len(x); i += stride {
		dst[i] = x[i] - x[0] - mean
	}
	return x[0] + mean
}

// decompose computes singular values and right singular vectors with a QR decomposition by Householder reflections and
// one-sided Jacobi rotations of R.
func (s *spread) decompose(tolerance float64) error {
	n, c := s.rows, s.columns
	s.columnMajor = resize(s.columnMajor, n*c)
	for i := range n {
		for j := range c {
			s.columnMajor[j*n+i] = s.centredPoints[i*c+j]
		}
	}
	m := min(n, c)
	for k := range m {
		if err := interrupted(s.interrupt); err != nil {
			return err
		}
		reflect(s.columnMajor[k*n:], n, k)
	}
	s.rightVectors = zeros(s.rightVectors, c*c)
	for j := range c {
		clear(s.columnMajor[j*n+min(j+1, n) : (j+1)*n])
		s.rightVectors[j*c+j] = 1
	}
	for sweep := 0; sweep < 60 && s.orthogonalise(m); sweep++ {
	}
	if err := interrupted(s.interrupt); err != nil {
		return err
	}
	s.order, s.values = resize(s.order, c), resize(s.values, c)
	for j := range c {
		r := s.columnMajor[j*n : j*n+m]
		s.order[j], s.columnMajor[j*n] = j, math.Sqrt(dot(r, r))
	}
	slices.SortStableFunc(s.order, func(a, b int) int { return cmp.Compare(s.columnMajor[b*n], s.columnMajor[a*n]) })
	s.directions = resize(s.directions, c*c)
	for _, j := range s.order[:min(c, n-1)] {
		v := s.columnMajor[j*n]
		if v <= tolerance*s.columnMajor[s.order[0]*n] {
			break
		}
		s.values[s.rank] = v
		copy(s.directions[s.rank*c:], s.rightVectors[j*c:(j+1)*c])
		s.rank++
	}
	return nil
}

// reflect applies a Householder reflection to columns of length n. It sets the first column to 0 below element k.
func reflect(columns []float64, n, k int) {
	v := columns[k:n]
	norm := math.Sqrt(dot(v, v))
	if norm == 0 {
		return
	}
	if v[0] > 0 {
		norm = -norm
	}
	first := v[0] - norm // the reflection maps v - norm e_1 to its negative
	v[0] = first
	halfSquare := -first * norm // half the square of its length
	for offset := n; offset < len(columns); offset += n {
		x := columns[offset+k : offset+n]
		axpy(-dot(v, x)/halfSquare, v, x)
	}
	v[0] = norm
}

// orthogonalise makes every pair of columns of R orthogonal. It reports whether it changed any pair.
func (s *spread) orthogonalise(m int) (turned bool) {
	n, c := s.rows, s.columns
	for i := range c {
		if interrupted(s.interrupt) != nil {
			return false
		}
		for j := i + 1; j < c; j++ {
			x, y := s.columnMajor[i*n:i*n+m], s.columnMajor[j*n:j*n+m]
			xx, yy, xy := dot(x, x), dot(y, y), dot(x, y)
			if math.Abs(xy) <= 1e-15*math.Sqrt(xx)*math.Sqrt(yy) || math.Abs(xy) < 1e-300 {
				continue
			}
			turned = true
			zeta := (yy - xx) / (2 * xy)
			t := math.Copysign(1, zeta) / (math.Abs(zeta) + math.Hypot(1, zeta))
			cos := 1 / math.Hypot(1, t)
			rotateColumns(x, y, cos, cos*t)
			rotateColumns(s.rightVectors[i*c:(i+1)*c], s.rightVectors[j*c:(j+1)*c], cos, cos*t)
		}
	}
	return turned
}

func rotateColumns(x, y []float64, cos, sin float64) {
	for i, v := range x {
		x[i], y[i] = cos*v-sin*y[i], sin*v+cos*y[i]
	}
}

// computeDesign computes the design matrix.
func (s *spread) computeDesign() {
	p := 1 + s.rank
	s.design = resize(s.design, s.rows*p)
	for i := range s.rows {
		row, x := s.design[i*p:(i+1)*p], s.centredPoints[i*s.columns:(i+1)*s.columns]
		row[0] = 1
		for a := range s.rank {
			row[1+a] = dot(x, s.direction(a)) * s.unit(a)
		}
	}
}

func (s *spread) direction(a int) []float64 { return s.directions[a*s.columns : (a+1)*s.columns] }

// unit returns the factor that converts a point's component along a direction to the coordinate.
func (s *spread) unit(a int) float64 { return math.Sqrt(float64(s.rows)) / s.values[a] }

// row returns the coordinates of a point after a leading 1.
func (s *spread) row(i int) []float64 {
	p := 1 + s.rank
	return s.design[i*p : (i+1)*p]
}

// addLeastSquares adds to the map b the minimiser of sum rest^2 + penalty |w|^2. Here rest is the residuals at b, and w
// is b for centred points. The coordinates are orthogonal up to rounding errors, which a second call corrects.
func (s *spread) addLeastSquares(b, rest []float64, penalty float64) {
	s.correlations = zeros(s.correlations, len(b))
	for i, r := range rest {
		axpy(r/float64(s.rows), s.row(i), s.correlations)
	}
	b[0] += s.correlations[0]
	for a, v := range s.values[:s.rank] {
		if q := penalty / (v * v); !math.IsInf(q, 1) {
			b[1+a] += (s.correlations[1+a] - q*b[1+a]) / (1 + q)
		}
	}
}
