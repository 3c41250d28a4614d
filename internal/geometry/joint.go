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
	inSet   []bool
	lengths []float64 // squared lengths of the errors of all rows

	// for each row of the working set
	multipliers, slacks         []float64
	errors                      []float64 // r_i
	errorSteps                  []float64 // decrease of r_i by the step of b
	slackSteps, multiplierSteps []float64 // steps of slacks (first order) and multipliers
	multiplierTargets           []float64 // targets of the multipliers for fixed slacks

	system, factor      []float64 // Newton's equations for (s, b)
	gram, gramFactor    []float64 // p x p: sum_i l_i d_i d_i^T, and its factor
	rightSide, solution []float64
	residuals, outer    []float64
	best                []float64 // b with the smallest gap for this working set
	bestMultipliers     []float64
	bestSquare          float64
	bestGap             float64
}

const (
	jointGap      = 1e-10 // relative gap above which the method tries again
	jointMaxGap   = 1e-6  // largest accepted relative gap: with many ties, rounding errors may exceed jointGap
	jointFinalGap = 1e-14 // relative gap at which the method ends
	jointEarlyGap = 1e-3  // relative gap at which the method ends while the working set may still grow
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
		r.Largest = scale * longestRow(r.Residuals, r.targets, scale)
		return nil
	}
	scale *= longestRow(r.Residuals, r.targets, scale)
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
		for t, v := range j.errorOf(k) {
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

// longestRow returns the maximum length of a row, divided by scale. The largest element is scale.
func longestRow(rows []float64, columns int, scale float64) (longest float64) {
	if scale == 0 {
		return 0
	}
	for row := range slices.Chunk(rows, columns) {
		longest = max(longest, scaledSquare(row, scale))
	}
	return math.Sqrt(longest)
}

// scaledSquare returns the squared length of a row divided by scale.
func scaledSquare(row []float64, scale float64) (square float64) {
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
	j.gram, j.gramFactor = resize(j.gram, j.p*j.p), resize(j.gramFactor, j.p*j.p)
	j.rightSide, j.solution = resize(j.rightSide, n), resize(j.solution, n)
	j.residuals, j.outer = resize(j.residuals, n), resize(j.outer, n)
	j.inSet, j.lengths = resize(j.inSet, x.rows), resize(j.lengths, x.rows)
	clear(j.inSet)
	j.rows = j.rows[:0]
	j.measureRows()
	j.addRows(4*n, -1)
	gap, attempt := jointEarlyGap, 0
	for attempt < len(minCentral) && interrupted(j.interrupt) == nil {
		j.startInterior()
		j.followPath(gap, minCentral[attempt])
		square = j.measureRows()
		switch {
		case j.addRows(max(2*n, len(j.rows)), j.bestSquare*(1+1e-14)):
		case gap == jointEarlyGap:
			gap = jointFinalGap
		case j.bestGap <= jointGap*square:
			attempt = len(minCentral)
		default:
			attempt++
		}
	}
	if err := interrupted(j.interrupt); err != nil {
		return 0, 0, err
	}
	bound = min(j.bestSquare-j.bestGap, square)
	if !(square-bound <= jointMaxGap*square) {
		return square, bound, errStalled
	}
	return square, bound, nil
}

func tooManyUnknowns(rank, targets, numbers int) error {
	return fmt.Errorf("geometry: a joint map of %d independent columns and %d targets has %d numbers; want %d at most",
		rank, targets, numbers, MaxJoint-1)
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

// measureRows computes the squared lengths of the errors of all rows, and returns the largest.
func (j *joint) measureRows() (largest float64) {
	r := j.residuals[:j.targets]
	for i := range j.lengths {
		j.residual(j.b, i, r)
		j.lengths[i] = dot(r, r)
		largest = max(largest, j.lengths[i])
	}
	return largest
}

// addRows adds up to count rows to the working set: rows with the largest errors, if their squared lengths are
// larger than minimum. It reports whether it added a row.
func (j *joint) addRows(count int, minimum float64) (added bool) {
	for range count {
		farthest := -1
		for i, v := range j.lengths {
			if !j.inSet[i] && v > minimum && (farthest < 0 || v > j.lengths[farthest]) {
				farthest = i
			}
		}
		if farthest < 0 {
			break
		}
		j.inSet[farthest], added = true, true
		j.rows = append(j.rows, farthest)
	}
	return added
}

func (j *joint) errorOf(k int) []float64   { return j.errors[k*j.targets : (k+1)*j.targets] }
func (j *joint) errorStep(k int) []float64 { return j.errorSteps[k*j.targets : (k+1)*j.targets] }

// startInterior starts the interior-point method at the current map with equal multipliers. The initial s is well above
// the squared errors.
func (j *joint) startInterior() {
	m := len(j.rows)
	j.multipliers, j.slacks = resize(j.multipliers, m), resize(j.slacks, m)
	j.errors, j.errorSteps = resize(j.errors, m*j.targets), resize(j.errorSteps, m*j.targets)
	j.slackSteps, j.multiplierSteps = resize(j.slackSteps, m), resize(j.multiplierSteps, m)
	j.multiplierTargets = resize(j.multiplierTargets, m)
	j.best, j.bestMultipliers = resize(j.best, len(j.b)), resize(j.bestMultipliers, m)
	j.bestGap = math.Inf(1)
	j.s = 1.5 * j.setErrors(j.b)
	for k := range j.rows {
		r := j.errorOf(k)
		j.multipliers[k], j.slacks[k] = 1/float64(m), j.s-dot(r, r)
	}
}

// setErrors sets the errors of the working set for a map, and returns the largest squared length.
func (j *joint) setErrors(m []float64) (largest float64) {
	for k, i := range j.rows {
		r := j.errorOf(k)
		j.residual(m, i, r)
		largest = max(largest, dot(r, r))
	}
	return largest
}

// followPath follows the central path until the relative gap is at most minGap. The results are the map and the
// multipliers with the smallest gap, and the errors of c.
func (j *joint) followPath(minGap, central float64) {
	noGain := 0
	for range jointSteps {
		if interrupted(j.interrupt) != nil {
			break
		}
		square, bound := j.setErrors(j.b), j.bound()
		if gap := square - bound; gap < j.bestGap {
			j.bestGap, j.bestSquare, noGain = gap, square, 0
			copy(j.best, j.b)
			copy(j.bestMultipliers, j.multipliers)
		} else if noGain++; noGain > jointPatience {
			break
		}
		if j.bestGap <= minGap*square || !j.newtonStep(central) {
			break
		}
	}
	copy(j.b, j.best)
	copy(j.multipliers, j.bestMultipliers)
	j.bound()
	j.setErrors(j.c)
}

// bound normalises the multipliers to sum 1, sets c to the weighted least-squares map, and returns the lower bound. The
// errors afterwards are the errors of b.
func (j *joint) bound() float64 {
	sum := 0.0
	for _, v := range j.multipliers {
		sum += v
	}
	clear(j.gram)
	for k, i := range j.rows {
		j.multipliers[k] /= sum
		d := j.x.row(i)
		for a, v := range d {
			axpy(j.multipliers[k]*v, d[a:], j.gram[a*j.p+a:(a+1)*j.p])
		}
	}
	decompose(j.gramFactor, j.gram, j.p, 1e-14)
	copy(j.c, j.b)
	gradient, column, r := j.residuals[:len(j.b)], j.outer[:j.p], j.rightSide[:j.targets]
	for pass := 0; ; pass++ {
		value := 0.0
		clear(gradient)
		for k, i := range j.rows {
			j.residual(j.c, i, r)
			value += j.multipliers[k] * dot(r, r)
			j.addOuter(j.multipliers[k], i, r, gradient)
		}
		if pass == 3 {
			return value - 2*(1+math.Sqrt(dot(j.c, j.c)))*math.Sqrt(dot(gradient, gradient))
		}
		for t := range j.targets {
			for a := range column {
				column[a] = gradient[a*j.targets+t]
			}
			substitute(j.gramFactor, column)
			for a, v := range column {
				j.c[a*j.targets+t] += v
			}
		}
	}
}

// minCentral are lower limits for the products of multipliers and slacks, relative to their mean. The method tries
// them in order, because many ties can make it fail.
var minCentral = [...]float64{1e-3, 0.1, 1e-2, 0.3, 1e-4}

// newtonStep makes a step of Mehrotra's predictor-corrector method. It reports whether the step succeeded.
func (j *joint) newtonStep(central float64) bool {
	j.assembleSystem()
	if !decompose(j.factor, j.system, len(j.rightSide), 1e-16) {
		return false
	}
	m, mean := len(j.rows), 0.0
	for k := range m {
		mean += j.multipliers[k] * j.slacks[k] / float64(m)
	}
	clear(j.multiplierTargets) // for the predictor, the target of the products is 0
	clear(j.rightSide)
	j.solveDirection()
	fraction, product := j.stepFraction(1), 0.0
	for k := range m {
		product += (j.multipliers[k] + fraction*j.multiplierSteps[k]) * j.slackAfter(k, fraction) / float64(m)
	}
	centring := product / mean
	j.correctTargets(mean*centring*centring*centring, fraction*fraction)
	j.solveDirection()
	j.advance(j.centralFraction(j.stepFraction(0.99), central))
	return true
}

// assembleSystem sets the matrix of Newton's equations, with q = d_i r_i^T and w = l_i/slack_i:
//
//	sum_i w_i / 2    sum_i w_i q^T
//	sum_i w_i q      sum_i (l_i d_i d_i^T, for every target) + 2 w_i q q^T
//
// for (s, b). s is the first unknown, which protects it from rounding errors of nearly irrelevant directions of b.
func (j *joint) assembleSystem() {
	n, p := len(j.rightSide), j.p
	clear(j.system)
	clear(j.gram)
	q := j.outer
	for k, i := range j.rows {
		d, w := j.x.row(i), j.multipliers[k]/j.slacks[k]
		clear(q)
		j.addOuter(1, i, j.errorOf(k), q[1:])
		q[0] = 0.5
		for a, v := range q {
			axpy(2*w*v, q[a:], j.system[a*n+a:(a+1)*n])
		}
		for a, v := range d {
			axpy(j.multipliers[k]*v, d[a:], j.gram[a*p+a:(a+1)*p])
		}
	}
	for a := range p {
		for c := a; c < p; c++ {
			for t := range j.targets {
				j.system[(1+a*j.targets+t)*n+1+c*j.targets+t] += j.gram[a*p+c]
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

// solveDirection solves Newton's equations for multiplierTargets, with iterative refinement: each round solves for the
// residual, which is computed row by row. This removes rounding errors of the assembled matrix, which rows with small
// slacks dominate.
func (j *joint) solveDirection() {
	clear(j.solution)
	clear(j.errorSteps)
	for k, v := range j.multiplierTargets {
		j.multiplierSteps[k] = v - j.multipliers[k]
	}
	for range 3 {
		copy(j.residuals, j.rightSide)
		for k, i := range j.rows {
			l := j.multipliers[k] + j.multiplierSteps[k]
			j.addOuter(l, i, j.errorOf(k), j.residuals[1:])
			j.addOuter(-j.multipliers[k], i, j.errorStep(k), j.residuals[1:])
			j.residuals[0] += l / 2
		}
		j.residuals[0] -= 0.5
		substitute(j.factor, j.residuals)
		axpy(1, j.residuals, j.solution)
		for k, i := range j.rows {
			u := j.errorStep(k)
			clear(u)
			for a, d := range j.x.row(i) {
				axpy(d, j.solution[1+a*j.targets:1+(a+1)*j.targets], u)
			}
			j.slackSteps[k] = j.solution[0] + 2*dot(j.errorOf(k), u)
			l := j.multipliers[k]
			j.multiplierSteps[k] = j.multiplierTargets[k] - l - l/j.slacks[k]*j.slackSteps[k]
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

// correctTargets sets multiplierTargets for a given product, minus the second-order term of the predictor's step. It
// sets the right-hand side to the corresponding term of b's gradient, for the given fraction of the step.
func (j *joint) correctTargets(product, fraction float64) {
	clear(j.rightSide)
	for k, i := range j.rows {
		u := j.errorStep(k)
		secondOrder := fraction * (j.multiplierSteps[k]*j.slackSteps[k] - j.multipliers[k]*dot(u, u))
		j.multiplierTargets[k] = (product - secondOrder) / j.slacks[k]
		j.addOuter(-fraction*j.multiplierSteps[k], i, u, j.rightSide[1:])
	}
}

// slackAfter returns a slack after a fraction of the step.
func (j *joint) slackAfter(k int, fraction float64) float64 {
	u := j.errorStep(k)
	return j.slacks[k] + fraction*(j.slackSteps[k]-fraction*dot(u, u))
}

// stepFraction returns a fraction of the step, at most 1: the given share of the distance to the first zero of a slack
// or a multiplier.
func (j *joint) stepFraction(share float64) float64 {
	fraction := 1.0
	for k, v := range j.multiplierSteps {
		if v < 0 {
			fraction = min(fraction, -share*j.multipliers[k]/v)
		}
		// slack + t decrease - t^2 square = 0
		u := j.errorStep(k)
		square, decrease := dot(u, u), j.slackSteps[k]
		if root := math.Sqrt(decrease*decrease + 4*square*j.slacks[k]); root > decrease {
			fraction = min(fraction, share*2*j.slacks[k]/(root-decrease))
		}
	}
	return fraction
}

// centralFraction returns a fraction of the step, at most the given one, after which no product of multiplier and slack
// is far below the mean product. After a step that leaves the central path, only short steps would be possible.
func (j *joint) centralFraction(fraction, ratio float64) float64 {
	for range 40 {
		smallest, mean := math.Inf(1), 0.0
		for k, v := range j.multiplierSteps {
			product := (j.multipliers[k] + fraction*v) * j.slackAfter(k, fraction)
			smallest, mean = min(smallest, product), mean+product/float64(len(j.multiplierSteps))
		}
		if smallest >= ratio*mean {
			break
		}
		fraction *= 0.9
	}
	return fraction
}

func (j *joint) advance(fraction float64) {
	axpy(fraction, j.solution[1:], j.b)
	j.s += fraction * j.solution[0]
	for k, i := range j.rows {
		j.multipliers[k] += fraction * j.multiplierSteps[k]
		j.slacks[k] = j.slackAfter(k, fraction)
		r := j.errorOf(k)
		j.residual(j.b, i, r)
		if exact := j.s - dot(r, r); exact > 1e-8*j.s { // a smaller difference is a rounding error
			j.slacks[k] = exact
		}
	}
}
