package geometry

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// absolute computes least absolute deviations with the method of Barrodale and Roberts (1973). A basis determines a
// map: it has as many points as the map has coefficients. A point leaves the basis if the absolute value of its
// multiplier exceeds 1. The map then moves to the weighted median of the positions where residuals change sign, and the
// other points of the basis stay on the map. The point at the median joins the basis.
//
// If many points lie on one map, as on grids, the map may not move for many steps. Therefore every y counts as y +
// epsilon*tilt, with an infinitesimal epsilon and random tilts. Then only the points of the basis lie on their map, and
// every step decreases the sum. The signs that the tilts give to zero residuals prove the optimum for y.
type absolute struct {
	interrupt func() error

	x     *spread
	basis []int
	in    []bool // whether a point is in the basis

	rest, lean []float64 // residuals of y and of the tilts
	matrix     []float64 // rows of the basis
	inverse    inverse

	pull, step   []float64
	multipliers  []float64 // multipliers of the basis
	slopes       []float64 // slopes of the residuals along the step
	breaks       []int     // points whose residuals change sign along the step
	order        []int
	tilts        []float64
	remainder    []float64
	orthonormal  []float64
	coefficients []float64 // the map of the tilts
}

// Tolerances for residuals, which are at most 1 at the start, and for multipliers.
const (
	zeroRest = 1e-12
	zeroSign = 1e-10
)

// zeroSlopes are relative sizes of slopes that count as 0; see descend.
var zeroSlopes = [...]float64{1e-9, 1e-7, 1e-11, 1e-6, 1e-5}

func (l *absolute) solve(x *spread, y, b, s []float64) error {
	l.x = x
	for _, least := range zeroSlopes { // in order: a wrong tolerance can make the method fail
		if l.descend(y, b, least) {
			l.certify(s)
			clear(b)
			l.interpolate(y, b)
			return nil
		}
	}
	return errStalled
}

// descend exchanges points until no multiplier exceeds 1 in absolute value. It reports whether it succeeded.
func (l *absolute) descend(y, b []float64, least float64) bool {
	if !l.start(y, b) {
		return false
	}
	for n := range maxExchanges(len(b)) {
		if n%8 == 0 && interrupted(l.interrupt) != nil {
			return false
		}
		if !l.inverse.of(l.matrix, len(b)) {
			return false
		}
		if n%32 == 0 {
			l.measure(y, b)
		}
		leaves, side := l.price()
		if leaves < 0 {
			return true
		}
		if !l.slide(leaves, side, least) {
			return false
		}
	}
	return false
}

// start chooses a basis of independent points. Points with small residuals come first.
func (l *absolute) start(y, b []float64) bool {
	n, p := len(y), len(b)
	l.in, l.order = resize(l.in, n), resize(l.order, n)
	l.rest, l.lean, l.slopes = resize(l.rest, n), resize(l.lean, n), resize(l.slopes, n)
	l.pull, l.step = resize(l.pull, p), resize(l.step, p)
	l.multipliers, l.coefficients = resize(l.multipliers, p), resize(l.coefficients, p)
	l.matrix = resize(l.matrix, p*p)
	for i := range l.order {
		l.order[i] = i
	}
	slices.SortStableFunc(l.order, func(i, j int) int { return cmp.Compare(math.Abs(y[i]), math.Abs(y[j])) })
	if len(l.tilts) < n {
		l.tilts = l.tilts[:0]
		random := rand.New(rand.NewPCG(1, 2)) // any fixed seed
		for range n {
			l.tilts = append(l.tilts, random.Float64()-0.5)
		}
	}
	clear(l.in)
	l.basis = l.basis[:0]
	for far := 0.3; len(l.basis) < p && far > 1e-13; far /= 10 {
		l.gather(p, far)
	}
	return len(l.basis) == p
}

// gather adds a point to the basis if its distance from the span of the basis is at least far times its length.
func (l *absolute) gather(p int, far float64) {
	l.orthonormal, l.remainder = resize(l.orthonormal, p*p), resize(l.remainder, p)
	v := l.remainder
	for _, i := range l.order {
		k := len(l.basis)
		if k == p {
			return
		}
		if l.in[i] {
			continue
		}
		copy(v, l.x.row(i))
		size := math.Sqrt(dot(v, v))
		for range 2 {
			for a := range k {
				q := l.orthonormal[a*p : (a+1)*p]
				axpy(-dot(q, v), q, v)
			}
		}
		rest := math.Sqrt(dot(v, v))
		if rest < far*size {
			continue
		}
		for j, c := range v {
			l.orthonormal[k*p+j] = c / rest
		}
		copy(l.matrix[k*p:(k+1)*p], l.x.row(i))
		l.basis, l.in[i] = append(l.basis, i), true
	}
}

// measure computes the map through the basis, and all residuals.
func (l *absolute) measure(y, b []float64) {
	clear(b)
	clear(l.coefficients)
	l.interpolate(y, b)
	l.interpolate(l.tilts, l.coefficients)
	for i := range y {
		row := l.x.row(i)
		l.rest[i] = snap(y[i] - dot(row, b))
		l.lean[i] = l.tilts[i] - dot(row, l.coefficients)
	}
	for _, i := range l.basis {
		l.rest[i], l.lean[i] = 0, 0
	}
}

// interpolate sets b, initially 0, to the map through the values of the basis.
func (l *absolute) interpolate(values, b []float64) {
	p := len(b)
	for range 2 { // the second pass corrects rounding
		copy(l.remainder, b)
		for k, i := range l.basis {
			rest := values[i] - dot(l.x.row(i), l.remainder)
			for j := range b {
				b[j] += l.inverse.a[j*p+k] * rest
			}
		}
	}
}

func snap(r float64) float64 {
	if math.Abs(r) <= zeroRest {
		return 0
	}
	return r
}

// price computes the multipliers of the basis. It returns the position and the sign of the multiplier that exceeds 1
// most; -1 if no multiplier does.
func (l *absolute) price() (leaves int, side float64) {
	p := len(l.basis)
	clear(l.pull)
	for i, in := range l.in {
		if !in {
			axpy(l.sign(i), l.x.row(i), l.pull)
		}
	}
	leaves = -1
	most := 1 + zeroSign
	for k := range p {
		s := 0.0
		for j, v := range l.pull {
			s -= l.inverse.a[j*p+k] * v
		}
		l.multipliers[k] = s
		if a := math.Abs(s); a > most {
			leaves, side, most = k, math.Copysign(1, s), a
		}
	}
	return leaves, side
}

// sign returns the sign of the residual of y + epsilon*tilt.
func (l *absolute) sign(i int) float64 {
	r := l.rest[i]
	if r == 0 {
		r = l.lean[i]
	}
	return math.Copysign(1, r)
}

// slide moves the map while the sum of absolute residuals decreases. The residual of point leaves gets the sign of
// side, and the other residuals of the basis stay 0.
func (l *absolute) slide(leaves int, side, least float64) bool {
	p := len(l.basis)
	for j := range l.step {
		l.step[j] = -side * l.inverse.a[j*p+leaves]
	}
	steepest := 0.0
	for i := range l.slopes {
		l.slopes[i] = dot(l.x.row(i), l.step)
		steepest = max(steepest, math.Abs(l.slopes[i]))
	}
	l.breaks = l.breaks[:0]
	for i, q := range l.slopes {
		if !l.in[i] && math.Abs(q) > least*steepest && q*l.sign(i) > 0 {
			l.breaks = append(l.breaks, i)
		}
	}
	// The step ends where the sum stops decreasing, so rounding errors do not prolong it.
	enters := l.median(math.Abs(l.multipliers[leaves]) - 1 - zeroSign)
	if enters < 0 {
		return false
	}
	t, tilt := l.rest[enters]/l.slopes[enters], l.lean[enters]/l.slopes[enters]
	for i, q := range l.slopes {
		l.rest[i] = snap(l.rest[i] - t*q)
		l.lean[i] -= tilt * q
	}
	for _, i := range l.basis {
		l.rest[i], l.lean[i] = 0, 0
	}
	out := l.basis[leaves]
	l.rest[out], l.lean[out] = snap(side*t), side*tilt
	l.rest[enters], l.lean[enters] = 0, 0
	l.in[out], l.in[enters] = false, true
	l.basis[leaves] = enters
	copy(l.matrix[leaves*p:(leaves+1)*p], l.x.row(enters))
	return true
}

// median returns the first break along the step at which twice the cumulative sum of absolute slopes reaches fall; -1
// if no break does. It reorders the breaks.
func (l *absolute) median(fall float64) int {
	all := l.breaks
	for len(all) > 1 {
		pivot := l.middle(all)
		before, after := 0, len(all)
		sum := 0.0
		for k := 0; k < after; {
			switch i := all[k]; {
			case i != pivot && l.meets(i, pivot):
				sum += 2 * math.Abs(l.slopes[i])
				all[k], all[before] = all[before], i
				before++
				k++
			case i != pivot:
				after--
				all[k], all[after] = all[after], i
			default:
				k++
			}
		}
		switch own := 2 * math.Abs(l.slopes[pivot]); {
		case sum >= fall:
			all = all[:before]
		case sum+own >= fall:
			return pivot
		case after == len(all):
			return pivot // rounding errors: the last one
		default:
			fall -= sum + own
			all = all[after:]
		}
	}
	if len(all) == 0 {
		return -1
	}
	return all[0]
}

// middle returns the median of three breaks.
func (l *absolute) middle(all []int) int {
	a, b, c := all[0], all[len(all)/2], all[len(all)-1]
	if l.meets(b, a) {
		a, b = b, a
	}
	switch {
	case l.meets(c, a):
		return a
	case l.meets(c, b):
		return c
	}
	return b
}

// meets reports whether the step changes the sign of point i before the sign of point j.
func (l *absolute) meets(i, j int) bool {
	a, b := l.rest[i]/l.slopes[i], l.rest[j]/l.slopes[j]
	if a != b {
		return a < b
	}
	a, b = l.lean[i]/l.slopes[i], l.lean[j]/l.slopes[j]
	return a < b || a == b && i < j
}

func (l *absolute) determined(to []constraint) []constraint {
	for _, i := range l.basis {
		to = append(to, constraint{i, 1})
	}
	return to
}

// certify writes the multipliers of the optimum.
func (l *absolute) certify(s []float64) {
	for i := range s {
		s[i] = l.sign(i)
	}
	for k, i := range l.basis {
		s[i] = min(max(l.multipliers[k], -1), 1)
	}
}
