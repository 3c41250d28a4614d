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
	leans       []float64 // terms of the multipliers from the tilts
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
	bound          = 4
	violation      = 1e-12
	zeroMultiplier = 1e-13
	zeroDual       = 1e-9
)

// maxExchanges is a number of exchanges that no valid computation with p coefficients reaches. Measured maxima are 4 p
// for absolute deviations and 16 p for the maximum error.
func maxExchanges(p int) int { return 200 * (p + 10) }

// zeroExchanges are relative sizes of the multipliers' slopes that count as 0; see solve.
var zeroExchanges = [...]float64{1e-9, 1e-7, 1e-11, 1e-6, 1e-5}

func (m *minimax) solve(x *spread, y, b, s []float64) error {
	m.x, m.y = x, y
	for _, least := range zeroExchanges { // in order: a wrong tolerance can make the method fail
		if m.climb(len(b), least) && m.certify(s) {
			copy(b, m.unknowns)
			return nil
		}
	}
	return errStalled
}

// climb exchanges constraints until all are satisfied. It reports whether it succeeded.
func (m *minimax) climb(p int, least float64) bool {
	m.start(p)
	for n := range maxExchanges(p) {
		if n%8 == 0 && interrupted(m.interrupt) != nil {
			return false
		}
		if !m.inverse.of(m.matrix, p+1) {
			return false
		}
		m.measure()
		enters, ok := m.price()
		if !ok {
			return true
		}
		leaves := m.leaving(enters, least)
		if leaves < 0 {
			return false
		}
		m.put(leaves, enters)
	}
	return false
}

// start chooses the constraint of the point with the largest |y|, and bounds of the coefficients.
func (m *minimax) start(p int) {
	n := p + 1
	m.basis, m.matrix = resize(m.basis, n), resize(m.matrix, n*n)
	m.multipliers, m.leans, m.unknowns = resize(m.multipliers, n), resize(m.leans, n), resize(m.unknowns, n)
	m.column, m.entering = resize(m.column, n), resize(m.entering, n)
	m.tilts = m.tilts[:0]
	m.random.Seed(1, 2) // any fixed seed
	for range n {
		m.tilts = append(m.tilts, float64(m.random.Uint64()>>11)/(1<<53)+0.5)
	}
	far := 0
	for i, v := range m.y {
		if math.Abs(v) > math.Abs(m.y[far]) {
			far = i
		}
	}
	side := math.Copysign(1, m.y[far])
	m.put(p, constraint{far, side})
	for j, v := range m.x.row(far) {
		// The multipliers of the bounds balance the rest of the point and the tilts.
		need := -side * v
		if need == 0 {
			need = m.tilts[j] - side*v*m.tilts[p]
		}
		m.put(j, constraint{-1 - j, math.Copysign(1, need)})
	}
}

// coefficients sets dst to the coefficients of a constraint, side*x_i b + t >= side*y_i or side*b_j >= -bound. It
// returns the right-hand side.
func (m *minimax) coefficients(c constraint, dst []float64) float64 {
	p := len(dst) - 1
	if c.point < 0 {
		clear(dst)
		dst[-1-c.point] = c.side
		return -bound
	}
	for j, v := range m.x.row(c.point) {
		dst[j] = c.side * v
	}
	dst[p] = 1
	return c.side * m.y[c.point]
}

// put makes a constraint element k of the basis.
func (m *minimax) put(k int, c constraint) {
	n := len(m.basis)
	m.basis[k] = c
	m.coefficients(c, m.column)
	for j, v := range m.column {
		m.matrix[j*n+k] = v
	}
}

// measure computes the multipliers and the unknowns of the basis.
func (m *minimax) measure() {
	n := len(m.basis)
	clear(m.unknowns)
	clear(m.multipliers)
	for range 2 { // the second pass corrects rounding errors
		m.balance()
		m.solveBasis()
	}
	for k, v := range m.multipliers {
		if math.Abs(v) <= zeroMultiplier {
			m.multipliers[k] = 0
		}
		m.leans[k] = dot(m.inverse.a[k*n:(k+1)*n], m.tilts)
	}
}

// balance corrects the multipliers: the weighted sum of the basis must be (0, ..., 0, 1).
func (m *minimax) balance() {
	n := len(m.basis)
	for j := range n {
		m.column[j] = -dot(m.matrix[j*n:(j+1)*n], m.multipliers)
	}
	m.column[n-1]++
	for k := range n {
		m.multipliers[k] += dot(m.inverse.a[k*n:(k+1)*n], m.column)
	}
}

// solveBasis corrects the unknowns: they must satisfy the basis.
func (m *minimax) solveBasis() {
	n := len(m.basis)
	copy(m.entering, m.unknowns)
	for k, c := range m.basis {
		side := m.coefficients(c, m.column)
		axpy(side-dot(m.column, m.entering), m.inverse.a[k*n:(k+1)*n], m.unknowns)
	}
}

// price returns the most violated constraint; ok is false if there is none.
func (m *minimax) price() (enters constraint, ok bool) {
	p := len(m.unknowns) - 1
	b, t := m.unknowns[:p], m.unknowns[p]
	most := violation
	for i, y := range m.y {
		r := y - dot(m.x.row(i), b)
		if v := math.Abs(r) - t; v > most {
			enters, most, ok = constraint{i, math.Copysign(1, r)}, v, true
		}
	}
	for j, v := range b {
		if v := math.Abs(v) - bound; v > most {
			enters, most, ok = constraint{-1 - j, -math.Copysign(1, b[j])}, v, true
		}
	}
	return enters, ok
}

// leaving returns the position of the constraint whose multiplier reaches 0 first when the multiplier of the entering
// constraint increases; -1 if there is none.
func (m *minimax) leaving(enters constraint, least float64) int {
	n, leaves := len(m.basis), -1
	m.coefficients(enters, m.column)
	steepest := 0.0
	for k := range n {
		m.entering[k] = dot(m.inverse.a[k*n:(k+1)*n], m.column)
		steepest = max(steepest, m.entering[k])
	}
	for k, d := range m.entering {
		if d > least*steepest && (leaves < 0 || m.first(k, leaves)) {
			leaves = k
		}
	}
	return leaves
}

// first reports whether multiplier i reaches 0 before multiplier j.
func (m *minimax) first(i, j int) bool {
	a, b := m.multipliers[i]/m.entering[i], m.multipliers[j]/m.entering[j]
	if math.Abs(a-b) > zeroMultiplier*max(a, b) {
		return a < b
	}
	return m.leans[i]/m.entering[i] < m.leans[j]/m.entering[j]
}

func (m *minimax) determined(to []constraint) []constraint { return append(to, m.basis...) }

// certify writes the multipliers of the optimum. It reports whether they are valid: not negative, with sum 1, and 0 for
// bounds.
func (m *minimax) certify(s []float64) bool {
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
