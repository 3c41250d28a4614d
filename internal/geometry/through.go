package geometry

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// criterion is the quantity that a regression minimises.
type criterion uint8

const (
	bySquares criterion = iota
	byAbsolute
	byMinimax
	byJoint
	byNorms
)

// Through overwrites dy and dx with the gradients of a function with respect to targets and points. g is the gradient
// of the function with respect to the residuals. Through propagates it through the fitted map by implicit
// differentiation of the optimality conditions. For LeastSquares without a ridge, these are the normal equations. For
// LeastAbsolute and Minimax, the points of the optimal basis stay on the map or have the largest error. For
// JointMinimax, the conditions are the largest errors of the points with multipliers, and the balance of the
// multipliers. If the conditions do not determine the map in a direction, Through treats the map as constant there.
// Call Through after the fit.
func (r *Regression) Through(g, dy, dx []float64) {
	t := r.targets
	copy(dy, g)
	clear(dx)
	if r.kind == byJoint && r.Largest > 0 && len(r.joint.rows) > 0 {
		r.jointGradient(g, dy, dx)
	} else {
		for k := range t {
			r.targetGradient(k, g, dy, dx)
		}
	}
	for i := range r.rows {
		for j := range r.columns {
			dx[i*r.columns+j] -= dot(r.Weights[j*t:(j+1)*t], dy[i*t:(i+1)*t])
		}
	}
}

// targetGradient adds the term of a target that is fitted separately.
func (r *Regression) targetGradient(k int, g, dy, dx []float64) {
	p, t := 1+r.x.rank, r.targets
	gradient := zeros(r.last, p)
	r.last = gradient
	for i := range r.rows {
		axpy(g[i*t+k], r.x.row(i), gradient)
	}
	if basis := r.bases[k]; len(basis) > 0 && r.basisGradient(basis, gradient, k, dy) {
		return
	}
	for a := range gradient {
		gradient[a] /= float64(r.rows)
	}
	slope := r.toPoints(gradient[1:])
	for i := range r.rows {
		dy[i*t+k] -= dot(r.x.row(i), gradient)
		axpy(-r.Residuals[i*t+k], slope, dx[i*r.columns:(i+1)*r.columns])
	}
}

// basisGradient corrects the gradient for the points that determine the map, with their equations. It reports whether
// the equations determine the map.
func (r *Regression) basisGradient(basis []constraint, gradient []float64, k int, dy []float64) bool {
	n := len(basis)
	matrix, row := make([]float64, n*n), make([]float64, n)
	for b, c := range basis {
		clear(row)
		if c.point < 0 {
			row[-1-c.point] = 1
		} else {
			copy(row, r.x.row(c.point))
		}
		if n > len(gradient) && c.point >= 0 { // the largest error is also an unknown
			row[n-1] = c.side
		}
		for a, v := range row {
			matrix[a*n+b] = v
		}
	}
	var inverse inverse
	if !inverse.compute(matrix, n) {
		return false
	}
	for b, c := range basis {
		if c.point >= 0 {
			dy[c.point*r.targets+k] -= dot(inverse.a[b*n:b*n+len(gradient)], gradient)
		}
	}
	return true
}

// toPoints converts gradients with respect to coordinates to gradients with respect to points.
func (r *Regression) toPoints(slopes []float64) []float64 {
	w := make([]float64, r.columns)
	for a, v := range slopes {
		axpy(v*r.x.unit(a)/r.x.scale, r.x.direction(a), w)
	}
	return w
}

// jointGradient differentiates the conditions of JointMinimax, for the active rows i with multipliers l_i, errors r_i
// and the largest length L:
//
//	sum_i l_i d_i r_i^T = 0,  |r_i| = L,  sum_i l_i = 1.
func (r *Regression) jointGradient(g, dy, dx []float64) {
	j, t, p := &r.joint, r.targets, 1+r.x.rank
	var rows []int
	var multipliers []float64
	for k, i := range j.rows {
		e := r.Residuals[i*t : (i+1)*t]
		if l := j.multipliers[k]; l > max(1-dot(e, e)/(r.Largest*r.Largest), 1e-12) {
			rows, multipliers = append(rows, i), append(multipliers, l)
		}
	}
	m := p * t
	n := m + len(rows) + 1
	system, right := mat.NewSymDense(n, nil), mat.NewVecDense(n, nil)
	add := func(a, b int, v float64) { system.SetSym(a, b, system.At(a, b)+v) }
	for i := range r.rows {
		for a, d := range r.x.row(i) {
			for k, v := range g[i*t : (i+1)*t] {
				right.SetVec(a*t+k, right.AtVec(a*t+k)+d*v)
			}
		}
	}
	for q, i := range rows {
		d, e := r.x.row(i), r.Residuals[i*t:(i+1)*t]
		for a := range p {
			for k := range t {
				for b := a; b < p; b++ {
					add(a*t+k, b*t+k, multipliers[q]*d[a]*d[b])
				}
				add(a*t+k, m+q, -d[a]*e[k]/r.Largest)
			}
		}
		add(m+q, n-1, -1)
	}
	x := minimumNorm(system, right)
	for q, i := range rows {
		d, e := r.x.row(i), r.Residuals[i*t:(i+1)*t]
		slopes := make([]float64, p)
		for a := range p {
			column := x[a*t : (a+1)*t]
			axpy(-multipliers[q]*d[a], column, dy[i*t:(i+1)*t])
			slopes[a] = -multipliers[q] * dot(column, e)
		}
		axpy(x[m+q]/r.Largest, e, dy[i*t:(i+1)*t])
		axpy(1, r.toPoints(slopes[1:]), dx[i*r.columns:(i+1)*r.columns])
	}
}

// minimumNorm solves symmetric equations. If the solution is not unique, it returns the solution with minimum norm.
func minimumNorm(a *mat.SymDense, b *mat.VecDense) []float64 {
	n := b.Len()
	x := mat.NewVecDense(n, nil)
	var lu mat.LU
	if lu.Factorize(a); lu.Cond() < 1e11 && lu.SolveVecTo(x, false, b) == nil {
		return x.RawVector().Data
	}
	var eigen mat.EigenSym
	x.Zero()
	if !eigen.Factorize(a, true) {
		return x.RawVector().Data
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	values := eigen.Values(nil)
	tiny := 1e-11 * max(math.Abs(values[0]), math.Abs(values[n-1]))
	for k, v := range values {
		if math.Abs(v) > tiny {
			column := vectors.ColView(k)
			x.AddScaledVec(x, mat.Dot(column, b)/v, column)
		}
	}
	return x.RawVector().Data
}
