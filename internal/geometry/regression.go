package geometry

import (
	"cmp"
	"fmt"
	"math"
)

// Regression is the best affine map from points to targets, h(x) = W^T x + b, for one of five criteria. Row i of the
// residuals is y_i - h(x_i).
//
// The fit ignores a direction if the spread of the points in it is less than Tolerance times the largest spread, as for
// constant or repeated columns. (Rounding errors may hide the optimum from LeastAbsolute or Minimax, for example for
// numbers of very different sizes. They then increase the tolerance until they find an optimum.)
type Regression struct {
	Weights   []float64 // W, columns x targets
	Intercept []float64 // b, one per target
	Residuals []float64 // rows x targets
	Errors    []float64 // minimised error of each target

	// Signs has the multipliers s of the optimum, rows x targets: for every target, sum_i s_i = 0 and sum_i s_i x_i =
	// 0. By the envelope theorem, the gradient of the optimum with respect to x_i is -s_i w times a constant; see the
	// methods.
	Signs []float64

	Largest float64 // set by JointMinimax
	Mean    float64 // set by LeastNorms
	Gap     float64 // set by both

	Tolerance float64 // default 1e-12

	// Interrupt, if not nil, is called regularly; its error ends the fit.
	Interrupt func() error

	rows, columns, targets int

	x         spread
	fit, last []float64 // maps of one target in the coordinates of spread
	fits      []float64 // maps of all targets
	means     []float64 // means of the targets
	scaled    []float64 // scaled residuals of the current target
	sign      []float64 // multipliers of the current target
	absolute  absolute
	minimax   minimax
	joint     joint
	norms     norms
	kind      criterion
	bases     [][]constraint // constraints that determine the map of each target; empty for least squares
	scale     float64        // largest distance of a target from its mean
}

// exchange is an algorithm that exchanges points of a set. Each set determines a map.
type exchange interface {
	// solve sets b to the best map of coordinates x for y, |y| <= 1, and s to the multipliers.
	solve(x *spread, y, b, s []float64) error

	// constraints appends the constraints that hold with equality and determine the map.
	constraints(list []constraint) []constraint
}

// LeastSquares makes r the affine map that minimises, over all rows and targets,
//
//	mean (y - h(x))^2 + ridge |W|^2
//
// where |W|^2 is the sum of all squared weights. If there are several such maps, it returns the one with minimum |W|.
// Errors are the mean squared residuals without the ridge penalty, and Signs are the residuals. The gradient of the
// minimised error is -2/(rows*targets) times the sum over targets of s_i w.
func (r *Regression) LeastSquares(x []float64, columns int, y []float64, targets int, ridge float64) error {
	if !(ridge >= 0) || math.IsInf(ridge, 0) {
		return fmt.Errorf("geometry: want a ridge of 0 or more, got %v", ridge)
	}
	if err := r.solve(x, columns, y, targets, ridge, nil); err != nil {
		return err
	}
	copy(r.Signs, r.Residuals)
	for i := 0; i < len(r.Residuals); i += targets {
		for k, v := range r.Residuals[i : i+targets] {
			r.Errors[k] += v * v / float64(r.rows)
		}
	}
	return nil
}

// LeastAbsolute makes r the affine map that minimises the mean over the rows of |y - h(x)|, for every target. Errors
// are the mean absolute residuals. Signs are the signs of the residuals, and numbers in [-1, 1] where the residual is
// 0. The gradient of Errors[k] is -s_i w / rows.
func (r *Regression) LeastAbsolute(x []float64, columns int, y []float64, targets int) error {
	if err := r.solve(x, columns, y, targets, 0, &r.absolute); err != nil {
		return err
	}
	for i, v := range r.Residuals {
		r.Errors[i%targets] += math.Abs(v) / float64(r.rows)
	}
	return nil
}

// Minimax makes r the affine map that minimises the maximum of |y - h(x)|, for every target (Chebyshev approximation).
// Errors are the maximum absolute residuals. Signs have the sign of the residual where its absolute value is the
// maximum, and are 0 elsewhere. The sum of their absolute values is 1, or 0 if the error is 0. The gradient of
// Errors[k] is -s_i w.
func (r *Regression) Minimax(x []float64, columns int, y []float64, targets int) error {
	if err := r.solve(x, columns, y, targets, 0, &r.minimax); err != nil {
		return err
	}
	for i, v := range r.Residuals {
		r.Errors[i%targets] = max(r.Errors[i%targets], math.Abs(v))
	}
	return nil
}

// JointMinimax makes r the affine map that minimises the maximum Euclidean length of a row of residuals, y_i - h(x_i),
// for all targets together. Errors are the maximum absolute residuals. Largest is the maximum length of a row; it
// exceeds the minimum by at most Gap. Signs are l_i r_i / Largest, where r_i is a row of residuals and the multipliers
// l_i >= 0 have sum 1. The gradient of Largest is the sum over targets of -s_i w. For an exact fit up to rounding,
// Signs are 0.
func (r *Regression) JointMinimax(x []float64, columns int, y []float64, targets int) error {
	return r.withTolerance(x, columns, y, targets, func() error {
		if err := r.solveTargets(y, 0, nil); err != nil {
			return err
		}
		if err := r.improveJointly(); err != nil {
			return err
		}
		for i, v := range r.Residuals {
			r.Errors[i%targets] = max(r.Errors[i%targets], math.Abs(v))
		}
		return nil
	})
}

// solve fits all targets separately.
func (r *Regression) solve(x []float64, columns int, y []float64, targets int, ridge float64, then exchange) error {
	return r.withTolerance(x, columns, y, targets, func() error { return r.solveTargets(y, ridge, then) })
}

// withTolerance reads and fits points and targets. If rounding errors prevent an optimum, for points nearly in a plane,
// it increases the tolerance and ignores more directions.
func (r *Regression) withTolerance(x []float64, columns int, y []float64, targets int, fit func() error) error {
	tolerance := r.Tolerance
	tolerance = cmp.Or(tolerance, 1e-12)
	for {
		if err := r.read(x, columns, y, targets, tolerance); err != nil {
			return err
		}
		err := fit()
		if err == nil {
			r.write()
		}
		if stop := interrupted(r.Interrupt); stop != nil {
			return stop
		}
		if err != errStalled || r.x.rank == 0 {
			return err
		}
		tolerance *= 100
	}
}

// solveTargets fits each target separately: first by least squares, then the residuals by the other algorithm.
func (r *Regression) solveTargets(y []float64, ridge float64, then exchange) error {
	p, targets := 1+r.x.rank, r.targets
	r.fit, r.sign, r.scaled = resize(r.fit, p), resize(r.sign, r.rows), resize(r.scaled, r.rows)
	r.fits, r.means, r.scale = resize(r.fits, targets*p), resize(r.means, targets), 0
	r.kind, r.bases = bySquares, resize(r.bases, targets)
	for k := range targets {
		r.bases[k] = r.bases[k][:0]
		mean := r.target(y, k)
		scale := largest(r.scaled)
		r.scale = max(r.scale, scale)
		if math.IsInf(scale, 0) || math.IsNaN(scale) {
			return errTooLarge
		}
		r.project(ridge * float64(r.rows*targets))
		if rest := largest(r.scaled); then != nil && rest > 1e-14*scale { // otherwise the fit is exact
			if err := r.improve(then, rest); err != nil {
				return err
			}
			r.bases[k] = then.constraints(r.bases[k])
			for i, s := range r.sign {
				r.Signs[i*targets+k] = s
			}
		}
		for i, v := range r.scaled {
			r.Residuals[i*targets+k] = v
		}
		copy(r.fits[k*p:], r.fit)
		r.means[k] = mean
	}
	return nil
}

// improve fits the residuals with another algorithm. scale is the largest absolute residual.
func (r *Regression) improve(then exchange, scale float64) error {
	for i := range r.scaled {
		r.scaled[i] /= scale
	}
	r.last = resize(r.last, len(r.fit))
	if err := then.solve(&r.x, r.scaled, r.last, r.sign); err != nil {
		return err
	}
	axpy(scale, r.last, r.fit)
	for i, v := range r.scaled {
		r.scaled[i] = scale * (v - dot(r.x.row(i), r.last))
	}
	return nil
}

// read checks points and targets, and decomposes the points.
func (r *Regression) read(x []float64, columns int, y []float64, targets int, tolerance float64) error {
	rows, err := pairedRows(x, columns, y, targets)
	if err != nil {
		return err
	}
	r.rows, r.columns, r.targets = rows, columns, targets
	r.Weights, r.Intercept = zeros(r.Weights, columns*targets), zeros(r.Intercept, targets)
	r.Residuals, r.Signs = zeros(r.Residuals, rows*targets), zeros(r.Signs, rows*targets)
	r.Errors = zeros(r.Errors, targets)
	r.x.interrupt, r.joint.interrupt = r.Interrupt, r.Interrupt
	r.absolute.interrupt, r.minimax.interrupt = r.Interrupt, r.Interrupt
	return r.x.read(x, columns, tolerance)
}

// target sets the residuals to a target minus its mean. It returns the mean.
func (r *Regression) target(y []float64, k int) float64 {
	mean := 0.0
	for i := range r.scaled {
		r.scaled[i] = y[i*r.targets+k] - y[k]
		mean += r.scaled[i] / float64(r.rows)
	}
	for i := range r.scaled {
		r.scaled[i] -= mean
	}
	return y[k] + mean
}

// project sets the fit to the least-squares map with a penalty on the weights for unscaled points, and subtracts it
// from the residuals.
func (r *Regression) project(penalty float64) {
	b := r.fit
	clear(b)
	r.last = resize(r.last, len(b))
	for range 3 {
		copy(r.last, b)
		r.x.addLeastSquares(b, r.scaled, penalty/r.x.scale/r.x.scale)
		for a, v := range b {
			r.last[a] -= v
		}
		for i := range r.scaled {
			r.scaled[i] += dot(r.x.row(i), r.last)
		}
	}
}

// write converts the fits of all targets to maps of the points.
func (r *Regression) write() {
	p := 1 + r.x.rank
	for k, mean := range r.means {
		fit := r.fits[k*p : (k+1)*p]
		offset := mean + fit[0]
		for a := range r.x.rank {
			f := fit[1+a] * r.x.unit(a) / r.x.scale
			for j, v := range r.x.direction(a) {
				r.Weights[j*r.targets+k] += f * v
				offset -= f * v * r.x.mean[j]
			}
		}
		r.Intercept[k] = offset
	}
}

func largest(x []float64) float64 {
	most := 0.0
	for _, v := range x {
		if a := math.Abs(v); a > most || math.IsNaN(a) {
			most = a
		}
	}
	return most
}
