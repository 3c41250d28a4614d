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

	x       *spread
	basis   []int
	inBasis []bool // whether a point is in the basis

	residuals, tiltResiduals []float64 // residuals of y and of the tilts
	matrix                   []float64 // rows of the basis
	inverse                  inverse

	signSum, direction []float64
	multipliers        []float64 // multipliers of the basis
	slopes             []float64 // slopes of the residuals along the step
	crossings          []int     // points whose residuals change sign along the step
	order              []int
	tilts              []float64
	remainder          []float64
	orthonormal        []float64
	coefficients       []float64 // the map of the tilts
}

// Tolerances for residuals, which are at most 1 at the start, and for multipliers.
const (
	zeroResidual        = 1e-12
	multiplierTolerance = 1e-10
)

// zeroSlopes are relative sizes of slopes that count as 0; see descend.
var zeroSlopes = [...]float64{1e-9, 1e-7, 1e-11, 1e-6, 1e-5}

func (l *absolute) solve(x *spread, y, b, s []float64) error {
	l.x = x
	for _, slopeTolerance := range zeroSlopes { // in order: a wrong tolerance can make the method fail
		if l.exchangePoints(y, b, slopeTolerance) {
			l.writeMultipliers(s)
			clear(b)
			l.interpolate(y, b)
			return nil
		}
	}
	return errStalled
}

// exchangePoints exchanges points until no multiplier exceeds 1 in absolute value. It reports whether it succeeded.
func (l *absolute) exchangePoints(y, b []float64, slopeTolerance float64) bool {
	if !l.chooseBasis(y, b) {
		return false
	}
	for n := range maxExchanges(len(b)) {
		if n%8 == 0 && interrupted(l.interrupt) != nil {
			return false
		}
		if !l.inverse.compute(l.matrix, len(b)) {
			return false
		}
		if n%32 == 0 {
			l.computeResiduals(y, b)
		}
		leaving, side := l.worstMultiplier()
		if leaving < 0 {
			return true
		}
		if !l.moveMap(leaving, side, slopeTolerance) {
			return false
		}
	}
	return false
}

// chooseBasis chooses a basis of independent points. Points with small residuals come first.
func (l *absolute) chooseBasis(y, b []float64) bool {
	n, p := len(y), len(b)
	l.inBasis, l.order = resize(l.inBasis, n), resize(l.order, n)
	l.residuals, l.tiltResiduals, l.slopes = resize(l.residuals, n), resize(l.tiltResiduals, n), resize(l.slopes, n)
	l.signSum, l.direction = resize(l.signSum, p), resize(l.direction, p)
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
	clear(l.inBasis)
	l.basis = l.basis[:0]
	for minDistance := 0.3; len(l.basis) < p && minDistance > 1e-13; minDistance /= 10 {
		l.addIndependent(p, minDistance)
	}
	return len(l.basis) == p
}

// addIndependent adds a point to the basis if its distance from the span of the basis is at least minDistance times its
// length.
func (l *absolute) addIndependent(p int, minDistance float64) {
	l.orthonormal, l.remainder = resize(l.orthonormal, p*p), resize(l.remainder, p)
	v := l.remainder
	for _, i := range l.order {
		k := len(l.basis)
		if k == p {
			return
		}
		if l.inBasis[i] {
			continue
		}
		copy(v, l.x.row(i))
		length := math.Sqrt(dot(v, v))
		for range 2 {
			for a := range k {
				q := l.orthonormal[a*p : (a+1)*p]
				axpy(-dot(q, v), q, v)
			}
		}
		distance := math.Sqrt(dot(v, v))
		if distance < minDistance*length {
			continue
		}
		for j, c := range v {
			l.orthonormal[k*p+j] = c / distance
		}
		copy(l.matrix[k*p:(k+1)*p], l.x.row(i))
		l.basis, l.inBasis[i] = append(l.basis, i), true
	}
}

// computeResiduals computes the map through the basis, and all residuals.
func (l *absolute) computeResiduals(y, b []float64) {
	clear(b)
	clear(l.coefficients)
	l.interpolate(y, b)
	l.interpolate(l.tilts, l.coefficients)
	for i := range y {
		row := l.x.row(i)
		l.residuals[i] = roundToZero(y[i] - dot(row, b))
		l.tiltResiduals[i] = l.tilts[i] - dot(row, l.coefficients)
	}
	for _, i := range l.basis {
		l.residuals[i], l.tiltResiduals[i] = 0, 0
	}
}

// interpolate sets b, initially 0, to the map through the values of the basis.
func (l *absolute) interpolate(values, b []float64) {
	p := len(b)
	for range 2 { // the second pass corrects rounding
		copy(l.remainder, b)
		for k, i := range l.basis {
			error := values[i] - dot(l.x.row(i), l.remainder)
			for j := range b {
				b[j] += l.inverse.a[j*p+k] * error
			}
		}
	}
}

func roundToZero(r float64) float64 {
	if math.Abs(r) <= zeroResidual {
		return 0
	}
	return r
}

// worstMultiplier computes the multipliers of the basis. It returns the position and the sign of the multiplier that
// exceeds 1 most; -1 if no multiplier does.
func (l *absolute) worstMultiplier() (leaving int, side float64) {
	p := len(l.basis)
	clear(l.signSum)
	for i, basic := range l.inBasis {
		if !basic {
			axpy(l.sign(i), l.x.row(i), l.signSum)
		}
	}
	leaving = -1
	largest := 1 + multiplierTolerance
	for k := range p {
		s := 0.0
		for j, v := range l.signSum {
			s -= l.inverse.a[j*p+k] * v
		}
		l.multipliers[k] = s
		if a := math.Abs(s); a > largest {
			leaving, side, largest = k, math.Copysign(1, s), a
		}
	}
	return leaving, side
}

// sign returns the sign of the residual of y + epsilon*tilt.
func (l *absolute) sign(i int) float64 {
	r := l.residuals[i]
	if r == 0 {
		r = l.tiltResiduals[i]
	}
	return math.Copysign(1, r)
}

// moveMap moves the map while the sum of absolute residuals decreases. The residual of the leaving point gets the sign
// of side, and the other residuals of the basis stay 0.
func (l *absolute) moveMap(leaving int, side, slopeTolerance float64) bool {
	p := len(l.basis)
	for j := range l.direction {
		l.direction[j] = -side * l.inverse.a[j*p+leaving]
	}
	steepest := 0.0
	for i := range l.slopes {
		l.slopes[i] = dot(l.x.row(i), l.direction)
		steepest = max(steepest, math.Abs(l.slopes[i]))
	}
	l.crossings = l.crossings[:0]
	for i, q := range l.slopes {
		if !l.inBasis[i] && math.Abs(q) > slopeTolerance*steepest && q*l.sign(i) > 0 {
			l.crossings = append(l.crossings, i)
		}
	}
	// The step ends where the sum stops decreasing, so rounding errors do not prolong it.
	entering := l.weightedMedian(math.Abs(l.multipliers[leaving]) - 1 - multiplierTolerance)
	if entering < 0 {
		return false
	}
	t, tilt := l.residuals[entering]/l.slopes[entering], l.tiltResiduals[entering]/l.slopes[entering]
	for i, q := range l.slopes {
		l.residuals[i] = roundToZero(l.residuals[i] - t*q)
		l.tiltResiduals[i] -= tilt * q
	}
	for _, i := range l.basis {
		l.residuals[i], l.tiltResiduals[i] = 0, 0
	}
	left := l.basis[leaving]
	l.residuals[left], l.tiltResiduals[left] = roundToZero(side*t), side*tilt
	l.residuals[entering], l.tiltResiduals[entering] = 0, 0
	l.inBasis[left], l.inBasis[entering] = false, true
	l.basis[leaving] = entering
	copy(l.matrix[leaving*p:(leaving+1)*p], l.x.row(entering))
	return true
}

// weightedMedian returns the first crossing along the step at which twice the cumulative sum of absolute slopes reaches
// excess; -1 if no crossing does. It reorders the crossings.
func (l *absolute) weightedMedian(excess float64) int {
	candidates := l.crossings
	for len(candidates) > 1 {
		pivot := l.medianOfThree(candidates)
		before, after := 0, len(candidates)
		sum := 0.0
		for k := 0; k < after; {
			switch i := candidates[k]; {
			case i != pivot && l.crossesBefore(i, pivot):
				sum += 2 * math.Abs(l.slopes[i])
				candidates[k], candidates[before] = candidates[before], i
				before++
				k++
			case i != pivot:
				after--
				candidates[k], candidates[after] = candidates[after], i
			default:
				k++
			}
		}
		switch slope := 2 * math.Abs(l.slopes[pivot]); {
		case sum >= excess:
			candidates = candidates[:before]
		case sum+slope >= excess:
			return pivot
		case after == len(candidates):
			return pivot // rounding errors: the last one
		default:
			excess -= sum + slope
			candidates = candidates[after:]
		}
	}
	if len(candidates) == 0 {
		return -1
	}
	return candidates[0]
}

// medianOfThree returns the median of the first, middle and last crossing.
func (l *absolute) medianOfThree(candidates []int) int {
	a, b, c := candidates[0], candidates[len(candidates)/2], candidates[len(candidates)-1]
	if l.crossesBefore(b, a) {
		a, b = b, a
	}
	switch {
	case l.crossesBefore(c, a):
		return a
	case l.crossesBefore(c, b):
		return c
	}
	return b
}

// crossesBefore reports whether the step changes the sign of point i before the sign of point j.
func (l *absolute) crossesBefore(i, j int) bool {
	a, b := l.residuals[i]/l.slopes[i], l.residuals[j]/l.slopes[j]
	if a != b {
		return a < b
	}
	a, b = l.tiltResiduals[i]/l.slopes[i], l.tiltResiduals[j]/l.slopes[j]
	return a < b || a == b && i < j
}

func (l *absolute) constraints(list []constraint) []constraint {
	for _, i := range l.basis {
		list = append(list, constraint{i, 1})
	}
	return list
}

// writeMultipliers writes the multipliers of the optimum.
func (l *absolute) writeMultipliers(s []float64) {
	for i := range s {
		s[i] = l.sign(i)
	}
	for k, i := range l.basis {
		s[i] = min(max(l.multipliers[k], -1), 1)
	}
}
