package geometry

import (
	"cmp"
	"math"
	"slices"
)

// Median is the geometric median of a set of points: it minimises the mean distance to the points. If it is not unique,
// for an even number of points on a line, it is the midpoint of the solutions.
type Median struct {
	Centre       []float64
	MeanDistance float64

	// Interrupt, if not nil, is called regularly; its error ends the fit.
	Interrupt func() error

	points   cloud
	centre   []float64 // in the coordinates of the cloud
	distance []float64 // distances of the points from the centre
	nearest  int
	tested   []bool // points that are not the median

	gradient, step, start []float64
	hessian               []float64
	order                 []int
}

const (
	lineTolerance = 1e-13 // relative distance from a line that counts as 0
	minCurvature  = 1e-10 // minimum mean curvature for a Newton step
	closeDistance = 1e-3  // distance below which differences lose precision, for extent 1
	zeroGradient  = 1e-14 // mean slope that counts as 0
	maxMoves      = 2     // maximum number of moves of the origin to the centre, which restore precision
	maxMedianStep = 200
)

// Fit makes m the geometric median of points.
//
// Fit uses Newton steps with a line search. The mean distance is not differentiable at the points. If the centre is
// near a point, Fit tests the point by the criterion of Vardi and Zhang (2000). It leaves the point if it is not the
// median.
func (m *Median) Fit(points []float64, columns int) error {
	if err := m.points.read(points, columns); err != nil {
		return err
	}
	m.Centre, m.centre = resize(m.Centre, columns), zeros(m.centre, columns)
	m.distance = zeros(m.distance, m.points.rows)
	switch {
	case m.points.scale == 0:
	case m.fitLine():
		m.measure()
	default:
		for j := range columns {
			m.centre[j] = 0
			for i := j; i < len(points); i += columns {
				m.centre[j] += m.points.x[i] / float64(m.points.rows)
			}
		}
		m.search()
		for range maxMoves {
			if m.distance[m.nearest] > closeDistance {
				break
			}
			m.points.move(points, m.centre)
			clear(m.centre)
			m.search()
		}
	}
	if err := interrupted(m.Interrupt); err != nil {
		return err
	}
	m.points.original(m.Centre, m.centre)
	sum := 0.0
	for _, d := range m.distance {
		sum += d
	}
	m.MeanDistance = sum / float64(m.points.rows) * m.points.scale
	return nil
}

// Gradient overwrites dx with the gradient of scale * MeanDistance with respect to the points, by the envelope theorem:
// scale/n times the unit vector from the centre to the point. Points at the centre share the negative sum of the other
// gradients equally. The sum of all gradients is 0, and the length of each gradient is at most scale/n.
func (m *Median) Gradient(scale float64, dx []float64) {
	c, rows := m.points.columns, m.points.rows
	m.gradient = zeros(m.gradient, c)
	scale /= float64(rows)
	coincident := 0
	for i := range rows {
		g := dx[i*c : (i+1)*c]
		d := m.distance[i]
		if d == 0 {
			coincident++
			continue
		}
		for j, v := range m.points.point(i) {
			u := (v - m.centre[j]) / d
			g[j] = scale * u
			m.gradient[j] += u
		}
	}
	for i, d := range m.distance {
		if d > 0 {
			continue
		}
		for j, s := range m.gradient {
			dx[i*c+j] = -scale * s / float64(coincident)
		}
	}
}

// fitLine sets the centre of collinear points to the midpoint of the minimisers. It reports whether the points are
// collinear.
func (m *Median) fitLine() bool {
	p := &m.points
	farthest, square := 0, 0.0
	for i := range p.rows {
		if s := dot(p.point(i), p.point(i)); s > square {
			farthest, square = i, s
		}
	}
	direction := p.point(farthest)
	for i := range p.rows {
		x, square2 := p.point(i), 0.0
		t := dot(x, direction) / square
		for j, v := range x {
			d := v - t*direction[j]
			square2 += d * d
		}
		if square2 > square*lineTolerance*lineTolerance {
			return false
		}
		m.distance[i] = t
	}
	m.order = resize(m.order, p.rows)
	for i := range m.order {
		m.order[i] = i
	}
	slices.SortFunc(m.order, func(a, b int) int { return cmp.Compare(m.distance[a], m.distance[b]) })
	a, b := p.point(m.order[(p.rows-1)/2]), p.point(m.order[p.rows/2])
	for j := range m.centre {
		m.centre[j] = a[j] + (b[j]-a[j])/2
	}
	return true
}

// measure computes the distances of the points from the centre, and the gradient of their sum with respect to the
// centre. It returns the sum.
func (m *Median) measure() (sum float64) {
	m.gradient = zeros(m.gradient, m.points.columns)
	m.nearest = 0
	for i := range m.points.rows {
		p := m.points.point(i)
		d := math.Sqrt(squaredDistance(p, m.centre))
		m.distance[i] = d
		sum += d
		if d < m.distance[m.nearest] {
			m.nearest = i
		}
		if d == 0 {
			continue
		}
		for j, v := range p {
			m.gradient[j] -= (v - m.centre[j]) / d
		}
	}
	return sum
}

// search finds the centre of points that are not collinear, from the current centre.
func (m *Median) search() {
	p := &m.points
	m.tested = resize(m.tested, p.rows)
	clear(m.tested)
	m.start, m.step = resize(m.start, p.columns), resize(m.step, p.columns)
	sum := m.measure()
	for range maxMedianStep {
		if interrupted(m.Interrupt) != nil {
			return
		}
		if k := m.nearest; !m.tested[k] {
			m.tested[k] = true
			copy(m.start, m.centre)
			copy(m.centre, p.point(k))
			value := m.measure()
			if m.atOptimum() {
				return
			}
			if value >= sum {
				copy(m.centre, m.start)
				m.measure()
			} else {
				m.leavePoint()
			}
		}
		m.newton()
		if !m.lineSearch() {
			return
		}
		sum = m.measure()
	}
}

// atOptimum reports whether the centre, which is one of the points, is the median. The condition is that the length of
// the other points' gradient is at most the number of points at the centre.
func (m *Median) atOptimum() bool {
	coincident := 0.0
	for _, d := range m.distance {
		if d == 0 {
			coincident++
		}
	}
	return math.Sqrt(dot(m.gradient, m.gradient)) <= coincident*(1+1e-10)
}

// leavePoint moves the centre downhill, away from a point that is not the median.
func (m *Median) leavePoint() {
	coincident, weights := 0.0, 0.0
	for _, d := range m.distance {
		if d == 0 {
			coincident++
		} else {
			weights += 1 / d
		}
	}
	length := math.Sqrt(dot(m.gradient, m.gradient))
	axpy(-max(1-coincident/length, 1e-15)/weights, m.gradient, m.centre)
	m.measure()
}

// newton sets the step to -H^-1 slope with H = sum_i (1 - u_i u_i^T) / d_i.
func (m *Median) newton() {
	c := m.points.columns
	m.hessian = zeros(m.hessian, c*c)
	trace := 0.0
	for i, d := range m.distance {
		if d == 0 {
			continue
		}
		for j, v := range m.points.point(i) {
			m.step[j] = (v - m.centre[j]) / d
		}
		trace += 1 / d
		for j, u := range m.step {
			axpy(-u/d, m.step[:j+1], m.hessian[j*c:j*c+j+1])
		}
	}
	for j := range c {
		m.hessian[j*c+j] += trace + minCurvature*float64(m.points.rows)
	}
	for j, s := range m.gradient {
		m.step[j] = -s
	}
	solveSymmetric(m.hessian, m.step, minCurvature)
	if length := math.Sqrt(dot(m.step, m.step)); length > 2 { // all points are in [-1, 1]
		for j := range m.step {
			m.step[j] *= 2 / length
		}
	}
}

// lineSearch moves along the step until the slope is at most half of the initial slope. It reports whether further
// steps can improve the centre.
func (m *Median) lineSearch() bool {
	slope, length := dot(m.gradient, m.step), math.Sqrt(dot(m.step, m.step))
	if !(slope < 0) || math.Sqrt(dot(m.gradient, m.gradient)) <= zeroGradient*float64(m.points.rows) {
		return false
	}
	copy(m.start, m.centre)
	moveTo := func(t float64) float64 {
		for j, v := range m.start {
			m.centre[j] = v + t*m.step[j]
		}
		m.measure()
		return dot(m.gradient, m.step)
	}
	lo, hi := 0.0, math.Inf(1)
	t, nearest := 1.0, m.distance[m.nearest]
	for range maxMedianStep {
		s := moveTo(t)
		if slices.Equal(m.centre, m.start) {
			return false
		}
		if math.Abs(s) <= -slope/2 {
			return t*length > 1e-10*nearest // the error of a Newton step is about its square
		}
		if s < 0 {
			lo = t
		} else {
			hi = t
		}
		switch {
		case !math.IsInf(hi, 1):
			t = (lo + hi) / 2
		case t < 16:
			t *= 2
		default:
			return true
		}
		if t == lo || t == hi {
			break
		}
	}
	moveTo(lo)
	return lo > 0
}

// solveSymmetric overwrites x with a^-1 x for a symmetric positive definite a. It reads and overwrites the lower
// triangle of a, and replaces smaller pivots by minPivot.
func solveSymmetric(a, x []float64, minPivot float64) {
	n := len(x)
	for j := range n {
		row := a[j*n : j*n+j+1]
		for k := range j {
			row[k] = (row[k] - dot(a[k*n:k*n+k], row)) / a[k*n+k]
		}
		row[j] = math.Sqrt(max(row[j]-dot(row[:j], row), minPivot))
		x[j] = (x[j] - dot(row[:j], x)) / row[j]
	}
	for j := n - 1; j >= 0; j-- {
		x[j] /= a[j*n+j]
		axpy(-x[j], a[j*n:j*n+j], x)
	}
}
