package geometry

import (
	"math"
	"math/rand/v2"
)

// minimax computes the minimum largest error t with Stiefel's exchange algorithm (1959), the dual simplex method for
//
//	min t  with  side*(y_i - x_i b) <= t  for all points and sides 1 and -1.
//
// A basis is a set of these constraints as equations, one for each unknown in (b, t). Its multipliers are not negative.
// In each step, the most violated constraint joins, the constraint whose multiplier reaches 0 first leaves, and t
// increases.
//
// Multipliers may be 0 at the start, as on grids. They then count as the multipliers of a problem with an infinitesimal
// random tilt of the right-hand side. With this tilt, every exchange increases t.
type minimax struct {
	interrupt func() error

	x     *spread
	y     []float64
	basis []constraint

	matrix      []float64 // column k: coefficients of constraint k
	inverse     inverse
	random      rand.PCG
	tilts       []float64
	tiltTerms   []float64 // terms of the multipliers from the tilts
	multipliers []float64
	unknowns    []float64 // b, t
	column      []float64
	entering    []float64
}

// constraint is an inequality. For a point >= 0, t is an upper bound of side * residual. For a point below 0, side
// times coefficient -1-point has a lower bound. The optimum does not reach this bound: the fitted values differ from y
// by at most the largest error (1 or less), |y| <= 1, and |b| is the root mean square of the fitted values, so |b| <=
// 2.
type constraint struct {
	point int
	side  float64
}

const (
	coefficientBound = 4
	violation        = 1e-12
	zeroMultiplier   = 1e-13
	zeroDual         = 1e-9
)

// maxExchanges is a number of exchanges that no valid computation with p coefficients reaches. Measured maxima are 4 p
// for absolute deviations and 16 p for the maximum error.
func maxExchanges(p int) int { return 200 * (p + 10) }

// zeroExchanges are relative sizes of the multipliers' slopes that count as 0; see solve.
var zeroExchanges = [...]float64{1e-9, 1e-7, 1e-11, 1e-6, 1e-5}

func (m *minimax) solve(x *spread, y, b, s []float64) error {
	m.x, m.y = x, y
	for _, slopeTolerance := range zeroExchanges { // in order: a wrong tolerance can make the method fail
		if m.exchangeConstraints(len(b), slopeTolerance) && m.writeMultipliers(s) {
			copy(b, m.unknowns)
			return nil
		}
	}
	return errStalled
}

// exchangeConstraints exchanges constraints until all are satisfied. It reports whether it succeeded.
func (m *minimax) exchangeConstraints(p int, slopeTolerance float64) bool {
	m.chooseBasis(p)
	for n := range maxExchanges(p) {
		if n%8 == 0 && interrupted(m.interrupt) != nil {
			return false
		}
		if !m.inverse.compute(m.matrix, p+1) {
			return false
		}
		m.solveUnknowns()
		entering, ok := m.mostViolated()
		if !ok {
			return true
		}
		leaving := m.leavingConstraint(entering, slopeTolerance)
		if leaving < 0 {
			return false
		}
		m.setConstraint(leaving, entering)
	}
	return false
}

// chooseBasis chooses the constraint of the point with the largest |y|, and bounds of the coefficients.
func (m *minimax) chooseBasis(p int) {
	n := p + 1
	m.basis, m.matrix = resize(m.basis, n), resize(m.matrix, n*n)
	m.multipliers, m.tiltTerms, m.unknowns = resize(m.multipliers, n), resize(m.tiltTerms, n), resize(m.unknowns, n)
	m.column, m.entering = resize(m.column, n), resize(m.entering, n)
	m.tilts = m.tilts[:0]
	m.random.Seed(1, 2) // any fixed seed
	for range n {
		m.tilts = append(m.tilts, float64(m.random.Uint64()>>11)/(1<<53)+0.5)
	}
	farthest := 0
	for i, v := range m.y {
		if math.Abs(v) > math.Abs(m.y[farthest]) {
			farthest = i
		}
	}
	side := math.Copysign(1, m.y[farthest])
	m.setConstraint(p, constraint{farthest, side})
	for j, v := range m.x.row(farthest) {
		// The multipliers of the bounds balance the rest of the point and the tilts.
		multiplier := -side * v
		if multiplier == 0 {
			multiplier = m.tilts[j] - side*v*m.tilts[p]
		}
		m.setConstraint(j, constraint{-1 - j, math.Copysign(1, multiplier)})
	}
}

// coefficients sets dst to the coefficients of a constraint, side*x_i b + t >= side*y_i or side*b_j >= -bound. It
// returns the right-hand side.
func (m *minimax) coefficients(c constraint, dst []float64) float64 {
	p := len(dst) - 1
	if c.point < 0 {
		clear(dst)
		dst[-1-c.point] = c.side
		return -coefficientBound
	}
	for j, v := range m.x.row(c.point) {
		dst[j] = c.side * v
	}
	dst[p] = 1
	return c.side * m.y[c.point]
}

// setConstraint makes a constraint element k of the basis.
func (m *minimax) setConstraint(k int, c constraint) {
	n := len(m.basis)
	m.basis[k] = c
	m.coefficients(c, m.column)
	for j, v := range m.column {
		m.matrix[j*n+k] = v
	}
}

// solveUnknowns computes the multipliers and the unknowns of the basis.
func (m *minimax) solveUnknowns() {
	n := len(m.basis)
	clear(m.unknowns)
	clear(m.multipliers)
	for range 2 { // the second pass corrects rounding errors
		m.correctMultipliers()
		m.correctUnknowns()
	}
	for k, v := range m.multipliers {
		if math.Abs(v) <= zeroMultiplier {
			m.multipliers[k] = 0
		}
		m.tiltTerms[k] = dot(m.inverse.a[k*n:(k+1)*n], m.tilts)
	}
}

// correctMultipliers corrects the multipliers: the weighted sum of the basis must be (0, ..., 0, 1).
func (m *minimax) correctMultipliers() {
	n := len(m.basis)
	for j := range n {
		m.column[j] = -dot(m.matrix[j*n:(j+1)*n], m.multipliers)
	}
	m.column[n-1]++
	for k := range n {
		m.multipliers[k] += dot(m.inverse.a[k*n:(k+1)*n], m.column)
	}
}

// correctUnknowns corrects the unknowns: they must satisfy the basis.
func (m *minimax) correctUnknowns() {
	n := len(m.basis)
	copy(m.entering, m.unknowns)
	for k, c := range m.basis {
		rightSide := m.coefficients(c, m.column)
		axpy(rightSide-dot(m.column, m.entering), m.inverse.a[k*n:(k+1)*n], m.unknowns)
	}
}

// mostViolated returns the most violated constraint; ok is false if there is none.
func (m *minimax) mostViolated() (entering constraint, ok bool) {
	p := len(m.unknowns) - 1
	b, t := m.unknowns[:p], m.unknowns[p]
	largest := violation
	for i, y := range m.y {
		r := y - dot(m.x.row(i), b)
		if v := math.Abs(r) - t; v > largest {
			entering, largest, ok = constraint{i, math.Copysign(1, r)}, v, true
		}
	}
	for j, v := range b {
		if v := math.Abs(v) - coefficientBound; v > largest {
			entering, largest, ok = constraint{-1 - j, -math.Copysign(1, b[j])}, v, true
		}
	}
	return entering, ok
}

// leavingConstraint returns the position of the constraint whose multiplier reaches 0 first when the multiplier of the
// entering constraint increases; -1 if there is none.
func (m *minimax) leavingConstraint(entering constraint, slopeTolerance float64) int {
	n, leaving := len(m.basis), -1
	m.coefficients(entering, m.column)
	steepest := 0.0
	for k := range n {
		m.entering[k] = dot(m.inverse.a[k*n:(k+1)*n], m.column)
		steepest = max(steepest, m.entering[k])
	}
	for k, d := range m.entering {
		if d > slopeTolerance*steepest && (leaving < 0 || m.reachesZeroBefore(k, leaving)) {
			leaving = k
		}
	}
	return leaving
}

// reachesZeroBefore reports whether multiplier i reaches 0 before multiplier j.
func (m *minimax) reachesZeroBefore(i, j int) bool {
	a, b := m.multipliers[i]/m.entering[i], m.multipliers[j]/m.entering[j]
	if math.Abs(a-b) > zeroMultiplier*max(a, b) {
		return a < b
	}
	return m.tiltTerms[i]/m.entering[i] < m.tiltTerms[j]/m.entering[j]
}

func (m *minimax) constraints(list []constraint) []constraint { return append(list, m.basis...) }

// writeMultipliers writes the multipliers of the optimum. It reports whether they are valid: not negative, with sum 1,
// and 0 for bounds.
func (m *minimax) writeMultipliers(s []float64) bool {
	clear(s)
	sum := 0.0
	for k, c := range m.basis {
		v := m.multipliers[k]
		if v < -zeroDual || c.point < 0 && v > zeroDual {
			return false
		}
		if c.point >= 0 {
			sum += max(v, 0)
		}
	}
	for k, c := range m.basis {
		if c.point >= 0 {
			s[c.point] += c.side * max(m.multipliers[k], 0) / sum
		}
	}
	return true
}
