package geometry

import "math"

// Ball is the smallest enclosing ball of a set of points.
type Ball struct {
	Centre []float64
	Radius float64

	// Multipliers has a weight l_i >= 0 for each point. The sum of the weights is 1, weights are 0 inside the ball, and
	// centre = sum_i l_i p_i. The weights need not be unique.
	Multipliers []float64

	// Interrupt, if not nil, is called regularly; its error ends the search.
	Interrupt func() error

	points  cloud
	support []int     // affinely independent points with positive multipliers
	weights []float64 // their multipliers
	centre  []float64 // in the coordinates of the cloud

	basis, triangle []float64 // an orthonormal basis of the support's span; the edges in this basis
	lengths         []float64 // squared lengths of the edges
	direction       []float64 // search direction of the multipliers
}

// Relative tolerances for rounding errors.
const (
	ballTolerance   = 1e-14 // relative excess of a squared radius
	affineTolerance = 1e-13 // distance of a point from the span of other points, relative to its length
)

// Enclose makes b the smallest enclosing ball of all points.
//
// Enclose maximises the dual problem, max sum_i l_i |p_i|^2 - |sum_i l_i p_i|^2. The optimum is the squared radius. The
// farthest point outside joins the support, and a point leaves the support before its multiplier becomes negative. The
// value increases with every point that joins, so no support occurs twice.
func (b *Ball) Enclose(points []float64, columns int) error {
	if err := b.points.read(points, columns); err != nil {
		return err
	}
	b.Centre, b.Multipliers = resize(b.Centre, columns), zeros(b.Multipliers, b.points.rows)
	b.centre = zeros(b.centre, columns)
	b.support, b.weights = append(b.support[:0], 0), append(b.weights[:0], 1)
	far, square := b.farthest()
	for last := -1.0; square > 0; {
		value := b.value()
		if square <= value*(1+ballTolerance) || !(value > last) {
			break
		}
		if err := interrupted(b.Interrupt); err != nil {
			return err
		}
		last = value
		b.support, b.weights = append(b.support, far), append(b.weights, 0)
		for !b.moveWeights() {
		}
		b.recentre()
		far, square = b.farthest()
	}
	for k, i := range b.support {
		b.Multipliers[i] += b.weights[k]
	}
	b.points.original(b.Centre, b.centre)
	b.Radius = math.Sqrt(square) * b.points.scale
	return nil
}

// Gradient overwrites dx with the gradient of scale * Radius with respect to the points: scale * l_i (p_i - centre) /
// radius, by the envelope theorem; 0 if the radius is 0. The sum over the points is 0.
func (b *Ball) Gradient(scale float64, dx []float64) {
	clear(dx)
	c, square := b.points.columns, b.value()
	if square == 0 {
		return
	}
	for k, i := range b.support {
		f := scale * b.weights[k] / math.Sqrt(square)
		for j, v := range b.points.point(i) {
			dx[i*c+j] += f * (v - b.centre[j])
		}
	}
}

// farthest returns the first of the points with the largest distance from the centre.
func (b *Ball) farthest() (farthest int, square float64) {
	square = -1
	for i := range b.points.rows {
		if s := squaredDistance(b.points.point(i), b.centre); s > square {
			farthest, square = i, s
		}
	}
	return farthest, square
}

// value returns the value of the dual problem, sum_i l_i |p_i - centre|^2.
func (b *Ball) value() float64 {
	sum := 0.0
	for k, i := range b.support {
		sum += b.weights[k] * squaredDistance(b.points.point(i), b.centre)
	}
	return sum
}

// recentre sets the centre to the weighted mean of the support.
func (b *Ball) recentre() {
	sum := 0.0
	for _, w := range b.weights {
		sum += w
	}
	clear(b.centre)
	for k, i := range b.support {
		b.weights[k] /= sum
		axpy(b.weights[k], b.points.point(i), b.centre)
	}
}

// moveWeights moves the multipliers towards the centre of the sphere through the support. It reports whether it reached
// them; otherwise a point has left the support.
func (b *Ball) moveWeights() (done bool) {
	if len(b.support) == 1 {
		b.weights[0] = 1
		return true
	}
	step, removed := 1.0, -1
	k := b.orthogonalise()
	if k < 0 {
		b.circumcentreDirection()
	} else {
		b.exchangeDirection(k)
		step = math.Inf(1)
	}
	for i, t := range b.direction {
		if t < 0 && b.weights[i] < -t*step {
			step, removed = b.weights[i]/-t, i
		}
	}
	if removed < 0 && k >= 0 { // rounding errors hide the direction
		removed, step = k, 0
	}
	for i, t := range b.direction {
		b.weights[i] = max(b.weights[i]+step*t, 0)
	}
	if removed < 0 {
		return true
	}
	last := len(b.support) - 1
	copy(b.support[removed:], b.support[removed+1:])
	copy(b.weights[removed:], b.weights[removed+1:])
	b.support, b.weights = b.support[:last], b.weights[:last]
	return false
}

// orthogonalise writes the edges from the support's first point to the other points as combinations of orthonormal
// vectors. It returns the first point in the span of the points before it, or -1.
func (b *Ball) orthogonalise() int {
	d, n := b.points.columns, len(b.support)-1
	b.basis, b.triangle, b.lengths = resize(b.basis, n*d), zeros(b.triangle, n*n), resize(b.lengths, n)
	origin := b.points.point(b.support[0])
	for k := range n {
		v, r := b.basis[k*d:(k+1)*d], b.triangle[k*n:(k+1)*n]
		for j, p := range b.points.point(b.support[k+1]) {
			v[j] = p - origin[j]
		}
		b.lengths[k] = dot(v, v)
		for range 2 { // two passes give orthogonality up to rounding errors
			for l := range k {
				f := dot(b.basis[l*d:(l+1)*d], v)
				r[l] += f
				axpy(-f, b.basis[l*d:(l+1)*d], v)
			}
		}
		length := math.Sqrt(dot(v, v))
		if length <= affineTolerance*math.Sqrt(b.lengths[k]) {
			return k + 1
		}
		r[k] = length
		for j := range v {
			v[j] /= length
		}
	}
	return -1
}

// circumcentreDirection sets the direction to the multipliers of the support's circumcentre. This point in the
// support's span has equal distances from all support points.
func (b *Ball) circumcentreDirection() {
	n := len(b.support) - 1
	b.direction = resize(b.direction, n+1)
	y := b.direction[1:]
	for k := range n { // edge k . centre = |edge k|^2 / 2
		r := b.triangle[k*n : (k+1)*n]
		y[k] = (b.lengths[k]/2 - dot(r[:k], y)) / r[k]
	}
	b.direction[0] = b.edgeMultipliers(y)
	for i, w := range b.weights {
		b.direction[i] -= w
	}
}

// edgeMultipliers converts coordinates in the orthonormal basis to multipliers of edges. It returns the remainder, the
// multiplier of the first point.
func (b *Ball) edgeMultipliers(y []float64) (rest float64) {
	n := len(b.support) - 1
	rest = 1
	for k := len(y) - 1; k >= 0; k-- {
		for l := k + 1; l < len(y); l++ {
			y[k] -= b.triangle[l*n+k] * y[l]
		}
		y[k] /= b.triangle[k*n+k]
		rest -= y[k]
	}
	return rest
}

// exchangeDirection sets a direction in which point k replaces the points before it. Point k is an affine combination
// of these points, so the centre stays.
func (b *Ball) exchangeDirection(k int) {
	n := len(b.support) - 1
	b.direction = zeros(b.direction, n+1)
	y := b.direction[1:k]
	copy(y, b.triangle[(k-1)*n:])
	b.direction[0] = b.edgeMultipliers(y)
	for i := range k {
		b.direction[i] *= -1
	}
	b.direction[k] = 1
	slope := 0.0
	for i, t := range b.direction {
		slope += t * squaredDistance(b.points.point(b.support[i]), b.centre)
	}
	for i, t := range b.direction {
		switch {
		case math.Abs(t) < 1e-12:
			b.direction[i] = 0
		case slope < 0:
			b.direction[i] = -t
		}
	}
}
