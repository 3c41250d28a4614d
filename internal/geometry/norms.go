package geometry

import (
	"math"
	"slices"
)

// norms computes the map b of coordinates d that minimises the sum of the lengths of the error vectors r_i = y_i - b^T
// d_i. It uses the primal-dual Newton method of Chan, Golub and Mulet (1999) for
//
//	min sum_i s_i,  s_i = sqrt(|r_i|^2 + e^2),  u_i = r_i / s_i,
//
// with e going to 0. Let the u_i have length at most 1 and be orthogonal to the coordinates, sum_i d_i u_i^T = 0. They
// give a lower bound: every map has a sum of lengths of at least sum_i u_i y_i.
type norms struct {
	interrupt func() error

	x          *spread
	y          []float64 // rows x targets, with mean length 1
	p, targets int

	b, step, previous     []float64 // p x targets, target by target
	errors                []float64 // r_i
	multipliers, feasible []float64 // u_i, and the nearest vectors that give a lower bound
	lengths               []float64 // s_i
	system, factor        []float64
	gradient, scratch     []float64

	best, bestMultipliers []float64
	sum, bound            float64 // of the best map and its multipliers
}

const (
	normsGap          = 1e-10 // gap relative to the sum; a larger gap means that the fit has failed
	normsFinalGap     = 1e-12 // relative gap at which the method ends
	normsSteps        = 25    // for one e; most need 7
	normsMinSmoothing = 1e-15 // smallest e
)

// LeastNorms makes r the affine map that minimises the mean Euclidean length of the rows of residuals. Mean is this
// mean length; it exceeds the minimum by at most Gap. Row i of Signs is row i of the residuals divided by its length,
// or a vector of length at most 1 where the length is 0. The gradient of Mean is the sum over targets of -s_i w / rows.
func (r *Regression) LeastNorms(x []float64, columns int, y []float64, targets int) error {
	return r.withTolerance(x, columns, y, targets, func() error {
		if err := r.solveTargets(y, 0, nil); err != nil {
			return err
		}
		return r.improveNorms()
	})
}

func (r *Regression) improveNorms() error {
	r.kind, r.Mean, r.Gap = byNorms, 0, 0
	if largest(r.Residuals) <= 1e-14*r.scale { // an exact fit
		r.Mean = meanLength(r.Residuals, r.targets)
		return nil
	}
	scale := meanLength(r.Residuals, r.targets)
	for i := range r.Residuals {
		r.Residuals[i] /= scale
	}
	s, t, n := &r.norms, r.targets, float64(r.rows)
	s.interrupt = r.Interrupt
	if err := s.solve(&r.x, r.Residuals, t); err != nil {
		return err
	}
	r.Mean, r.Gap = scale*s.sum/n, scale*(s.sum-s.bound)/n
	copy(r.Signs, s.bestMultipliers)
	for i := range r.rows {
		e := r.Residuals[i*t : (i+1)*t]
		s.residual(s.best, i, e)
		for k := range e {
			e[k] *= scale
		}
	}
	axpy(scale, s.best, r.fits)
	return nil
}

func meanLength(rows []float64, columns int) float64 {
	sum, scale := 0.0, largest(rows)
	if scale == 0 {
		return 0
	}
	for row := range slices.Chunk(rows, columns) {
		sum += math.Sqrt(scaledSquare(row, scale))
	}
	return sum * scale / float64(len(rows)/columns)
}

func (s *norms) solve(x *spread, y []float64, targets int) error {
	s.x, s.y, s.p, s.targets = x, y, 1+x.rank, targets
	n := s.p * targets
	if n >= MaxJoint {
		return tooManyUnknowns(x.rank, targets, n)
	}
	s.b, s.step, s.previous = zeros(s.b, n), resize(s.step, n), resize(s.previous, n)
	s.gradient, s.system, s.factor = resize(s.gradient, n), resize(s.system, n*n), resize(s.factor, n*n)
	s.scratch = resize(s.scratch, targets*targets)
	s.errors, s.lengths = resize(s.errors, len(y)), resize(s.lengths, x.rows)
	s.multipliers, s.feasible = zeros(s.multipliers, len(y)), resize(s.feasible, len(y))
	s.best, s.bestMultipliers = zeros(s.best, n), resize(s.bestMultipliers, len(y))
	s.sum, s.bound = math.Inf(1), math.Inf(-1)
	for e := 0.1; e > normsMinSmoothing; e /= 1000 {
		s.newtonSteps(e)
		if e < 1e-6 {
			s.fullSteps(e)
		}
		if err := interrupted(s.interrupt); err != nil {
			return err
		}
		if s.updateBest(); s.sum-s.bound <= normsFinalGap*s.sum {
			break
		}
	}
	if !(s.sum-s.bound <= normsGap*s.sum) {
		return errStalled
	}
	return nil
}

// residual sets dst to y_i - m^T d_i.
func (s *norms) residual(m []float64, i int, dst []float64) {
	for t := range s.targets {
		dst[t] = s.y[i*s.targets+t] - dot(s.x.row(i), m[t*s.p:(t+1)*s.p])
	}
}

// measure sets the errors and lengths of a map, and returns the sum of lengths.
func (s *norms) measure(m []float64, e float64) (sum float64) {
	for i := range s.lengths {
		r := s.errors[i*s.targets : (i+1)*s.targets]
		s.residual(m, i, r)
		s.lengths[i] = math.Sqrt(dot(r, r) + e*e)
		sum += s.lengths[i]
	}
	return sum
}

// newtonSteps makes Newton steps for one e, until the gain is smaller than the effect of e on the sum.
func (s *norms) newtonSteps(e float64) {
	sum := s.measure(s.b, e)
	for range normsSteps {
		gain := s.newtonStep()
		if interrupted(s.interrupt) != nil || !(gain > 0) {
			return
		}
		copy(s.previous, s.b)
		fraction := 1.0
		for ; fraction > 1e-6; fraction /= 2 {
			copy(s.b, s.previous)
			axpy(fraction, s.step, s.b)
			if value := s.measure(s.b, e); value <= sum-1e-4*fraction*gain {
				sum = value
				break
			}
		}
		if fraction <= 1e-6 {
			copy(s.b, s.previous)
			s.measure(s.b, e)
			return
		}
		if gain <= 1e-3*e {
			return
		}
	}
}

// fullSteps makes full Newton steps as long as they halve the gradient, because the bound depends on the gradient. It
// is for the end, where rounding errors hide the gain of a step.
func (s *norms) fullSteps(e float64) {
	square := math.Inf(1)
	for range normsSteps {
		gain := s.newtonStep()
		nextSquare := dot(s.gradient, s.gradient)
		if !(gain > 0) || !(nextSquare < square/4) {
			return
		}
		square = nextSquare
		axpy(1, s.step, s.b)
		s.measure(s.b, e)
	}
}

// newtonStep sets the step and updates the pulls. It returns the predicted gain of the step; 0 if the numbers are not
// finite.
func (s *norms) newtonStep() (gain float64) {
	s.assembleSystem()
	if !decompose(s.factor, s.system, len(s.step), 1e-16) {
		return 0
	}
	copy(s.step, s.gradient)
	substitute(s.factor, s.step)
	s.updateMultipliers()
	return dot(s.step, s.gradient)
}

// assembleSystem sets Newton's equations. The gradient is sum_i r_i/s_i d_i^T. The matrix is sum_i (1 - (u_i r_i^T +
// r_i u_i^T) / 2 s_i) / s_i, for every pair of targets, times d_i d_i^T.
func (s *norms) assembleSystem() {
	n, p, t := len(s.step), s.p, s.targets
	clear(s.system)
	clear(s.gradient)
	for i, length := range s.lengths {
		d, r, u := s.x.row(i), s.errors[i*t:(i+1)*t], s.multipliers[i*t:(i+1)*t]
		for a := range t {
			axpy(r[a]/length, d, s.gradient[a*p:(a+1)*p])
			for b := a; b < t; b++ {
				curvature := -(u[a]*r[b] + r[a]*u[b]) / (2 * length)
				if a == b {
					curvature++
				}
				curvature /= length
				for c, v := range d {
					start := 0
					if a == b {
						start = c
					}
					axpy(curvature*v, d[start:], s.system[(a*p+c)*n+b*p+start:(a*p+c)*n+(b+1)*p])
				}
			}
		}
	}
}

// updateMultipliers updates the pulls for the step.
func (s *norms) updateMultipliers() {
	t := s.targets
	for i, length := range s.lengths {
		d, r, u := s.x.row(i), s.errors[i*t:(i+1)*t], s.multipliers[i*t:(i+1)*t]
		product := 0.0
		errorStep := s.scratch[:t]
		for k := range errorStep {
			errorStep[k] = -dot(d, s.step[k*s.p:(k+1)*s.p])
			product += r[k] * errorStep[k]
		}
		square := 0.0
		for k := range u {
			u[k] = (r[k] + errorStep[k] - u[k]*product/length) / length
			square += u[k] * u[k]
		}
		if square > 1 {
			for k := range u {
				u[k] /= math.Sqrt(square)
			}
		}
	}
}

// updateBest computes the sum of the map and the lower bound from its pulls, and keeps the best sum and bound.
func (s *norms) updateBest() {
	t, n := s.targets, float64(s.x.rows)
	if sum := s.measure(s.b, 0); sum < s.sum {
		s.sum = sum
		copy(s.best, s.b)
	}
	copy(s.feasible, s.multipliers)
	longest := 1.0
	for range 2 { // the coordinates are orthogonal up to rounding errors; a second pass corrects them
		clear(s.gradient)
		for i := range s.lengths {
			for k, v := range s.feasible[i*t : (i+1)*t] {
				axpy(v/n, s.x.row(i), s.gradient[k*s.p:(k+1)*s.p])
			}
		}
		for i := range s.lengths {
			for k := range t {
				s.feasible[i*t+k] -= dot(s.x.row(i), s.gradient[k*s.p:(k+1)*s.p])
			}
		}
	}
	for i := range s.lengths {
		u := s.feasible[i*t : (i+1)*t]
		longest = max(longest, math.Sqrt(dot(u, u)))
	}
	if bound := dot(s.feasible, s.y) / longest; bound > s.bound {
		s.bound = bound
		for i, v := range s.feasible {
			s.bestMultipliers[i] = v / longest
		}
	}
}
