package geometry

import "math"

// leastCentral are lower limits of the products of multipliers and slacks, relative to their mean.
// They are tried in turn, in case many ties mislead the method.
var leastCentral = [...]float64{1e-3, 0.1, 1e-2, 0.3, 1e-4}

// newton takes a step of Mehrotra's predictor-corrector method. It reports whether it succeeded.
func (j *joint) newton(central float64) bool {
	j.assemble()
	if !decompose(j.factor, j.system, len(j.right), 1e-16) {
		return false
	}
	m, mean := len(j.rows), 0.0
	for k := range m {
		mean += j.multipliers[k] * j.slacks[k] / float64(m)
	}
	clear(j.aims) // the predictor aims at products 0 of multipliers and slacks
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

// assemble sets the matrix of Newton's equations, with q = d_i r_i^T, w = l_i/slack_i:
//
//	sum_i w_i / 2    sum_i w_i q^T
//	sum_i w_i q      sum_i (l_i d_i d_i^T, for every target) + 2 w_i q q^T
//
// for (s, b). The value comes first. This keeps rounding in nearly irrelevant directions of b away from it.
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

// decompose sets factor to R with R^T R = matrix, n x n upper triangles. A pivot at the level of
// rounding stands for a direction without effect, along which nothing is solved. It reports whether
// the numbers are finite.
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

// direction solves Newton's equations for the aims. Each round solves for the remainder of the rounds before, row by
// row. This cancels the rounding in the assembled system, to which rows with small slacks contribute most.
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

// correct sets the aims to a given product, less the second-order remainder of the predictor's step. It sets the right
// side to the corresponding part of b's slope.
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

// reach returns the fraction of the step, at most 1, at which it has gone the given part of the way to the first zero
// of a slack or a multiplier.
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

// central returns a fraction of the step, at most reach. After this fraction no product of a multiplier and its slack
// is far below their mean. A step that left the central path would be the last long step.
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

// advance takes a fraction of the step.
func (j *joint) advance(reach float64) {
	axpy(reach, j.move[1:], j.b)
	j.s += reach * j.move[0]
	for k, i := range j.rows {
		j.multipliers[k] += reach * j.turns[k]
		j.slacks[k] = j.slack(k, reach)
		r := j.error(k)
		j.residual(j.b, i, r)
		if exact := j.s - dot(r, r); exact > 1e-8*j.s { // a smaller difference is rounding
			j.slacks[k] = exact
		}
	}
}
