package geometry

import (
	"fmt"
	"math"
	"slices"
)

// joint computes the map b of coordinates d that minimises the maximum length of the error vectors r_i = y_i - b^T d_i.
// It uses an interior-point method for
//
//	min s  with  |r_i|^2 <= s  for all rows i.
//
// Its multipliers l_i >= 0 have sum 1. Any such multipliers give a lower bound. Let c be the weighted least-squares map
// with weights l_i. Because squares are convex, the largest squared length of any map within a distance R of c is at
// least
//
//	sum_i l_i |y_i - c^T d_i|^2 - 2 R |sum_i l_i d_i (y_i - c^T d_i)^T|,
//
// where the second term accounts for rounding errors. The y are residuals of least squares with length at most 1, and
// the d have mean square 1. Therefore |b| <= 1 at the optimum, and R = 1 + |c|.
//
// The method uses a working set of rows. Rows with larger errors than all rows in the set join the set, until there are
// no such rows.
type joint struct {
	interrupt func() error

	x          *spread
	y          []float64 // rows x targets
	p, targets int

	b, c    []float64 // p x targets
	s       float64
	rows    []int // the working set
	chosen  []bool
	lengths []float64 // squared lengths of the errors of all rows

	// for each row of the working set
	multipliers, slacks []float64
	errors              []float64 // r_i
	steps               []float64 // decrease of r_i by the step of b
	falls, turns        []float64 // steps of slacks (first order) and multipliers
	aims                []float64 // targets of the multipliers for fixed slacks

	system, factor  []float64 // Newton's equations for (s, b)
	square, corner  []float64 // p x p: sum_i l_i d_i d_i^T, and its factor
	right, move     []float64
	rest, outer     []float64
	best            []float64 // b with the smallest gap for this working set
	bestMultipliers []float64
	bestSquare      float64
	bestGap         float64
}

const (
	jointGap      = 1e-10 // relative gap above which the method tries again
	jointAccepted = 1e-6  // accepted as an optimum: with many ties, rounding errors may exceed jointGap
	jointEnough   = 1e-14 // relative gap at which the method ends
	jointSoon     = 1e-3  // relative gap at which the method ends while rows may still join
	jointSteps    = 100   // maximum number of interior-point steps; most fits need 10 to 20
	jointPatience = 15    // number of steps without a smaller gap

	// MaxJoint is the maximum number of coefficients for JointMinimax and LeastNorms.
	MaxJoint = 2000
)

// improveJointly minimises the maximum length of a row of residuals.
func (r *Regression) improveJointly() error {
	r.kind, r.Largest, r.Gap = byJoint, 0, 0
	r.joint.rows = r.joint.rows[:0]
	scale := largest(r.Residuals)
	if scale <= 1e-14*r.scale { // an exact fit
		r.Largest = scale * longest(r.Residuals, r.targets, scale)
		return nil
	}
	scale *= longest(r.Residuals, r.targets, scale)
	for i := range r.Residuals {
		r.Residuals[i] /= scale
	}
	j, targets := &r.joint, r.targets
	square, bound, err := j.solve(&r.x, r.Residuals, targets)
	if err != nil {
		return err
	}
	length := math.Sqrt(square)
	r.Largest, r.Gap = scale*length, scale*(square-bound)/(length+math.Sqrt(max(bound, 0)))
	for k, i := range j.rows {
		for t, v := range j.error(k) {
			r.Signs[i*targets+t] = j.multipliers[k] * v / length
		}
	}
	for i := range r.rows {
		e := r.Residuals[i*targets : (i+1)*targets]
		j.residual(j.b, i, e)
		for t := range e {
			e[t] *= scale
		}
	}
	for a, v := range j.b {
		r.fits[a%targets*j.p+a/targets] += scale * v
	}
	return nil
}

// longest returns the maximum length of a row, divided by scale. The largest element is scale.
func longest(rows []float64, columns int, scale float64) (most float64) {
	if scale == 0 {
		return 0
	}
	for row := range slices.Chunk(rows, columns) {
		most = max(most, squareOver(row, scale))
	}
	return math.Sqrt(most)
}

// squareOver returns the squared length of a row divided by scale.
func squareOver(row []float64, scale float64) (square float64) {
	for _, v := range row {
		square += v / scale * (v / scale)
	}
	return square
}

// solve sets b, the multipliers of the working set and the errors of c. It returns the largest squared length and the
// lower bound from the multipliers.
func (j *joint) solve(x *spread, y []float64, targets int) (square, bound float64, err error) {
	j.x, j.y, j.p, j.targets = x, y, 1+x.rank, targets
	n := j.p*targets + 1
	if n > MaxJoint {
		return 0, 0, tooManyUnknowns(x.rank, targets, n-1)
	}
	j.b, j.c = zeros(j.b, n-1), resize(j.c, n-1)
	j.system, j.factor = resize(j.system, n*n), resize(j.factor, n*n)
	j.square, j.corner = resize(j.square, j.p*j.p), resize(j.corner, j.p*j.p)
	j.right, j.move, j.rest, j.outer = resize(j.right, n), resize(j.move, n), resize(j.rest, n), resize(j.outer, n)
	j.chosen, j.lengths = resize(j.chosen, x.rows), resize(j.lengths, x.rows)
	clear(j.chosen)
	j.rows = j.rows[:0]
	j.measure()
	j.join(4*n, -1)
	enough, attempt := jointSoon, 0
	for attempt < len(leastCentral) && interrupted(j.interrupt) == nil {
		j.begin()
		j.descend(enough, leastCentral[attempt])
		square = j.measure()
		switch {
		case j.join(max(2*n, len(j.rows)), j.bestSquare*(1+1e-14)):
		case enough == jointSoon:
			enough = jointEnough
		case j.bestGap <= jointGap*square:
			attempt = len(leastCentral)
		default:
			attempt++
		}
	}
	if err := interrupted(j.interrupt); err != nil {
		return 0, 0, err
	}
	bound = min(j.bestSquare-j.bestGap, square)
	if !(square-bound <= jointAccepted*square) {
		return square, bound, errStalled
	}
	return square, bound, nil
}

func tooManyUnknowns(rank, targets, numbers int) error {
	return fmt.Errorf("geometry: a joint map of %d independent columns and %d targets has %d numbers; want %d at most", rank, targets, numbers, MaxJoint-1)
}

// residual sets dst to y_i - m^T d_i.
func (j *joint) residual(m []float64, i int, dst []float64) {
	copy(dst, j.y[i*j.targets:(i+1)*j.targets])
	for a, v := range j.x.row(i) {
		axpy(-v, m[a*j.targets:(a+1)*j.targets], dst)
	}
}

// addOuter adds f d_i v^T to dst.
func (j *joint) addOuter(f float64, i int, v, dst []float64) {
	for a, d := range j.x.row(i) {
		axpy(f*d, v, dst[a*j.targets:(a+1)*j.targets])
	}
}

// measure computes the squared lengths of the errors of all rows, and returns the largest.
func (j *joint) measure() (most float64) {
	r := j.rest[:j.targets]
	for i := range j.lengths {
		j.residual(j.b, i, r)
		j.lengths[i] = dot(r, r)
		most = max(most, j.lengths[i])
	}
	return most
}

// join adds up to count rows to the working set: the rows with the largest errors, if their squared lengths are larger
// than above. It reports whether any row joined.
func (j *joint) join(count int, above float64) (joined bool) {
	for range count {
		far := -1
		for i, v := range j.lengths {
			if !j.chosen[i] && v > above && (far < 0 || v > j.lengths[far]) {
				far = i
			}
		}
		if far < 0 {
			break
		}
		j.chosen[far], joined = true, true
		j.rows = append(j.rows, far)
	}
	return joined
}

func (j *joint) error(k int) []float64 { return j.errors[k*j.targets : (k+1)*j.targets] }
func (j *joint) step(k int) []float64  { return j.steps[k*j.targets : (k+1)*j.targets] }

// begin starts the interior-point method at the current map with equal multipliers. The initial s is well above the
// squared errors.
func (j *joint) begin() {
	m := len(j.rows)
	j.multipliers, j.slacks = resize(j.multipliers, m), resize(j.slacks, m)
	j.errors, j.steps = resize(j.errors, m*j.targets), resize(j.steps, m*j.targets)
	j.falls, j.turns, j.aims = resize(j.falls, m), resize(j.turns, m), resize(j.aims, m)
	j.best, j.bestMultipliers = resize(j.best, len(j.b)), resize(j.bestMultipliers, m)
	j.bestGap = math.Inf(1)
	j.s = 1.5 * j.update(j.b)
	for k := range j.rows {
		r := j.error(k)
		j.multipliers[k], j.slacks[k] = 1/float64(m), j.s-dot(r, r)
	}
}

// update sets the errors of the working set for a map, and returns the largest squared length.
func (j *joint) update(m []float64) (most float64) {
	for k, i := range j.rows {
		r := j.error(k)
		j.residual(m, i, r)
		most = max(most, dot(r, r))
	}
	return most
}

// descend follows the central path until the gap is small enough. The results are the map and the multipliers with the
// smallest gap, and the errors of c.
func (j *joint) descend(enough, central float64) {
	worse := 0
	for range jointSteps {
		if interrupted(j.interrupt) != nil {
			break
		}
		square, bound := j.update(j.b), j.bound()
		if gap := square - bound; gap < j.bestGap {
			j.bestGap, j.bestSquare, worse = gap, square, 0
			copy(j.best, j.b)
			copy(j.bestMultipliers, j.multipliers)
		} else if worse++; worse > jointPatience {
			break
		}
		if j.bestGap <= enough*square || !j.newton(central) {
			break
		}
	}
	copy(j.b, j.best)
	copy(j.multipliers, j.bestMultipliers)
	j.bound()
	j.update(j.c)
}

// bound normalises the multipliers to sum 1, sets c to the weighted least-squares map, and returns the lower bound. The
// errors afterwards are the errors of b.
func (j *joint) bound() float64 {
	sum := 0.0
	for _, v := range j.multipliers {
		sum += v
	}
	clear(j.square)
	for k, i := range j.rows {
		j.multipliers[k] /= sum
		d := j.x.row(i)
		for a, v := range d {
			axpy(j.multipliers[k]*v, d[a:], j.square[a*j.p+a:(a+1)*j.p])
		}
	}
	decompose(j.corner, j.square, j.p, 1e-14)
	copy(j.c, j.b)
	pull, column, r := j.rest[:len(j.b)], j.outer[:j.p], j.right[:j.targets]
	for round := 0; ; round++ {
		value := 0.0
		clear(pull)
		for k, i := range j.rows {
			j.residual(j.c, i, r)
			value += j.multipliers[k] * dot(r, r)
			j.addOuter(j.multipliers[k], i, r, pull)
		}
		if round == 3 {
			return value - 2*(1+math.Sqrt(dot(j.c, j.c)))*math.Sqrt(dot(pull, pull))
		}
		for t := range j.targets {
			for a := range column {
				column[a] = pull[a*j.targets+t]
			}
			substitute(j.corner, column)
			for a, v := range column {
				j.c[a*j.targets+t] += v
			}
		}
	}
}

// leastCentral are lower limits for the products of multipliers and slacks, relative to their mean. The method tries
// them in order, because many ties can make it fail.
var leastCentral = [...]float64{1e-3, 0.1, 1e-2, 0.3, 1e-4}

// newton makes a step of Mehrotra's predictor-corrector method. It reports whether the step succeeded.
func (j *joint) newton(central float64) bool {
	j.assemble()
	if !decompose(j.factor, j.system, len(j.right), 1e-16) {
		return false
	}
	m, mean := len(j.rows), 0.0
	for k := range m {
		mean += j.multipliers[k] * j.slacks[k] / float64(m)
	}
	clear(j.aims) // for the predictor, the target of the products is 0
	clear(j.right)
	j.direction()
	reach, left := j.reach(1), 0.0
	for k := range m {
		left += (j.multipliers[k] + reach*j.turns[k]) * j.slack(k, reach) / float64(m)
	}
	centre := left / mean
	j.correct(mean*centre*centre*centre, reach*reach)
	j.direction()
	j.advance(j.central(j.reach(0.99), central))
	return true
}

// assemble sets the matrix of Newton's equations, with q = d_i r_i^T and w = l_i/slack_i:
//
//	sum_i w_i / 2    sum_i w_i q^T
//	sum_i w_i q      sum_i (l_i d_i d_i^T, for every target) + 2 w_i q q^T
//
// for (s, b). s is the first unknown, which protects it from rounding errors of nearly irrelevant directions of b.
func (j *joint) assemble() {
	n, p := len(j.right), j.p
	clear(j.system)
	clear(j.square)
	q := j.outer
	for k, i := range j.rows {
		d, w := j.x.row(i), j.multipliers[k]/j.slacks[k]
		clear(q)
		j.addOuter(1, i, j.error(k), q[1:])
		q[0] = 0.5
		for a, v := range q {
			axpy(2*w*v, q[a:], j.system[a*n+a:(a+1)*n])
		}
		for a, v := range d {
			axpy(j.multipliers[k]*v, d[a:], j.square[a*p+a:(a+1)*p])
		}
	}
	for a := range p {
		for c := a; c < p; c++ {
			for t := range j.targets {
				j.system[(1+a*j.targets+t)*n+1+c*j.targets+t] += j.square[a*p+c]
			}
		}
	}
}

// decompose sets factor to the upper triangle R with R^T R = matrix (n x n). A pivot at the level of rounding errors
// means a direction without effect, and the solution is 0 along this direction. decompose reports whether the numbers
// are finite.
func decompose(factor, matrix []float64, n int, rounding float64) bool {
	copy(factor, matrix)
	for a := range n {
		row := factor[a*n : (a+1)*n]
		for c := range a {
			above := factor[c*n : (c+1)*n]
			if v := above[a]; v != 0 {
				axpy(-v, above[a:], row[a:])
			}
		}
		pivot := row[a]
		if math.IsNaN(pivot) || math.IsInf(pivot, 0) {
			return false
		}
		if pivot <= rounding*matrix[a*n+a] {
			clear(row[a:])
			continue
		}
		pivot = math.Sqrt(pivot)
		for c := a; c < n; c++ {
			row[c] /= pivot
		}
	}
	return true
}

// direction solves Newton's equations for the aims, with iterative refinement: each round solves for the residual,
// which is computed row by row. This removes rounding errors of the assembled matrix, which rows with small slacks
// dominate.
func (j *joint) direction() {
	clear(j.move)
	clear(j.steps)
	for k, v := range j.aims {
		j.turns[k] = v - j.multipliers[k]
	}
	for range 3 {
		copy(j.rest, j.right)
		for k, i := range j.rows {
			l := j.multipliers[k] + j.turns[k]
			j.addOuter(l, i, j.error(k), j.rest[1:])
			j.addOuter(-j.multipliers[k], i, j.step(k), j.rest[1:])
			j.rest[0] += l / 2
		}
		j.rest[0] -= 0.5
		substitute(j.factor, j.rest)
		axpy(1, j.rest, j.move)
		for k, i := range j.rows {
			u := j.step(k)
			clear(u)
			for a, d := range j.x.row(i) {
				axpy(d, j.move[1+a*j.targets:1+(a+1)*j.targets], u)
			}
			j.falls[k] = j.move[0] + 2*dot(j.error(k), u)
			j.turns[k] = j.aims[k] - j.multipliers[k] - j.multipliers[k]/j.slacks[k]*j.falls[k]
		}
	}
}

// substitute solves R^T R x = b in place.
func substitute(factor, x []float64) {
	n := len(x)
	for a := range n {
		row := factor[a*n : (a+1)*n]
		if row[a] == 0 {
			x[a] = 0
			continue
		}
		x[a] /= row[a]
		axpy(-x[a], row[a+1:], x[a+1:])
	}
	for a := n - 1; a >= 0; a-- {
		row := factor[a*n : (a+1)*n]
		if row[a] != 0 {
			x[a] = (x[a] - dot(row[a+1:], x[a+1:])) / row[a]
		}
	}
}

// correct sets the aims for a given product, minus the second-order term of the predictor's step. It sets the
// right-hand side to the corresponding part of b's gradient.
func (j *joint) correct(product, part float64) {
	clear(j.right)
	for k, i := range j.rows {
		u := j.step(k)
		second := part * (j.turns[k]*j.falls[k] - j.multipliers[k]*dot(u, u))
		j.aims[k] = (product - second) / j.slacks[k]
		j.addOuter(-part*j.turns[k], i, u, j.right[1:])
	}
}

// slack returns a slack after a fraction of the step.
func (j *joint) slack(k int, reach float64) float64 {
	u := j.step(k)
	return j.slacks[k] + reach*(j.falls[k]-reach*dot(u, u))
}

// reach returns a fraction of the step, at most 1: the given part of the distance to the first zero of a slack or a
// multiplier.
func (j *joint) reach(part float64) float64 {
	least := 1.0
	for k, v := range j.turns {
		if v < 0 {
			least = min(least, -part*j.multipliers[k]/v)
		}
		// slack + t fall - t^2 square = 0
		u := j.step(k)
		square, fall := dot(u, u), j.falls[k]
		if root := math.Sqrt(fall*fall + 4*square*j.slacks[k]); root > fall {
			least = min(least, part*2*j.slacks[k]/(root-fall))
		}
	}
	return least
}

// central returns a fraction of the step, at most reach, after which no product of multiplier and slack is far below
// the mean product. After a step that leaves the central path, only short steps would be possible.
func (j *joint) central(reach, part float64) float64 {
	for range 40 {
		least, mean := math.Inf(1), 0.0
		for k, v := range j.turns {
			product := (j.multipliers[k] + reach*v) * j.slack(k, reach)
			least, mean = min(least, product), mean+product/float64(len(j.turns))
		}
		if least >= part*mean {
			break
		}
		reach *= 0.9
	}
	return reach
}

func (j *joint) advance(reach float64) {
	axpy(reach, j.move[1:], j.b)
	j.s += reach * j.move[0]
	for k, i := range j.rows {
		j.multipliers[k] += reach * j.turns[k]
		j.slacks[k] = j.slack(k, reach)
		r := j.error(k)
		j.residual(j.b, i, r)
		if exact := j.s - dot(r, r); exact > 1e-8*j.s { // a smaller difference is a rounding error
			j.slacks[k] = exact
		}
	}
}
