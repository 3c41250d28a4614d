package geometry

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Isometry is the isometry h(x) = Q^T x + b from points to targets that minimises the mean squared residual (orthogonal
// Procrustes problem). The columns of Q^T are orthonormal.
type Isometry struct {
	Matrix    []float64 // Q, columns x targets
	Offset    []float64 // b, one per target
	Residuals []float64 // rows x targets: y_i - h(x_i)
	Error     float64   // mean squared length of a row of residuals

	rows, columns, targets int

	x, y                  []float64 // centred points and targets
	pointMean, targetMean []float64 // means of points and targets
	u, v                  mat.Dense // singular vectors of sum_i y_i x_i^T: targets x columns, columns x columns
	values                []float64
}

// Fit computes the isometry. It exists if the number of targets is at least the number of columns. If the optimum is
// not unique, as for points in a plane, Fit returns one of the optima.
func (s *Isometry) Fit(x []float64, columns int, y []float64, targets int) error {
	rows, err := pairedRows(x, columns, y, targets)
	switch {
	case err != nil:
		return err
	case targets < columns:
		return fmt.Errorf("geometry: want as many targets as columns or more, got %d and %d", targets, columns)
	}
	s.rows, s.columns, s.targets = rows, columns, targets
	s.x, s.pointMean = subtractMeans(s.x, s.pointMean, x, columns)
	s.y, s.targetMean = subtractMeans(s.y, s.targetMean, y, targets)
	cross := make([]float64, targets*columns)
	for i := range rows {
		p := s.x[i*columns : (i+1)*columns]
		for k, v := range s.y[i*targets : (i+1)*targets] {
			axpy(v, p, cross[k*columns:(k+1)*columns])
		}
	}
	if maximum := largest(cross); math.IsInf(maximum, 0) || math.IsNaN(maximum) {
		return errTooLarge
	}
	var svd mat.SVD
	if !svd.Factorize(mat.NewDense(targets, columns, cross), mat.SVDThin) {
		return errors.New("geometry: no singular values were found")
	}
	s.values = svd.Values(nil)
	s.u.Reset()
	s.v.Reset()
	svd.UTo(&s.u)
	svd.VTo(&s.v)
	s.computeMap()
	return nil
}

// subtractMeans sets dst to points minus their mean.
func subtractMeans(dst, mean, x []float64, columns int) (d, m []float64) {
	dst, mean = resize(dst, len(x)), resize(mean, columns)
	for j := range columns {
		mean[j] = centreColumn(dst[j:], x[j:], columns)
	}
	return dst, mean
}

// computeMap computes the map and the residuals.
func (s *Isometry) computeMap() {
	c, t := s.columns, s.targets
	s.Matrix, s.Offset, s.Residuals = resize(s.Matrix, c*t), resize(s.Offset, t), resize(s.Residuals, s.rows*t)
	q := mat.NewDense(c, t, s.Matrix)
	q.Mul(&s.v, s.u.T())
	copy(s.Offset, s.targetMean)
	for j, m := range s.pointMean {
		axpy(-m, s.Matrix[j*t:(j+1)*t], s.Offset)
	}
	s.Error = 0
	copy(s.Residuals, s.y)
	for i := range s.rows {
		r := s.Residuals[i*t : (i+1)*t]
		for j, v := range s.x[i*c : (i+1)*c] {
			axpy(-v, s.Matrix[j*t:(j+1)*t], r)
		}
		s.Error += dot(r, r) / float64(s.rows)
	}
}

// Through overwrites dy and dx with the gradients of a function with respect to targets and points. g is the gradient
// of the function with respect to the residuals, and Through propagates it through the optimal map. With the singular
// values s_i and singular vectors u_i, v_i of M = sum_i y_i x_i^T,
//
//	dQ^T = U ((U^T dM V - V^T dM^T U) / (s_i + s_j)) V^T + (1 - U U^T) dM V S^-1 V^T.
//
// If s_i + s_j = 0, the map is not unique in that direction, and Through treats the map as constant there.
func (s *Isometry) Through(g, dy, dx []float64) {
	rows, c, t := s.rows, s.columns, s.targets
	copy(dy, g)
	subtractMean(dy, t) // gradient through the offset
	gradQ := mat.NewDense(t, c, nil)
	for i := range rows { // gradient with respect to Q^T
		for k, v := range dy[i*t : (i+1)*t] {
			axpy(-v, s.x[i*c:(i+1)*c], gradQ.RawRowView(k))
		}
	}
	var product, inner, outside, gradM mat.Dense
	product.Mul(gradQ, &s.v)     // targets x columns
	inner.Mul(s.u.T(), &product) // columns x columns
	outside.Mul(&s.u, &inner)
	outside.Sub(&product, &outside) // (1 - U U^T) gradQ V
	minSum := 1e-13 * s.values[0]
	divide := func(v, divisor float64) float64 {
		if divisor > minSum {
			return v / divisor
		}
		return 0
	}
	skew := mat.NewDense(c, c, nil)
	for j, value := range s.values[:c] {
		for i := range c {
			skew.Set(i, j, divide(inner.At(i, j)-inner.At(j, i), s.values[i]+value))
		}
		for k := range t {
			outside.Set(k, j, divide(outside.At(k, j), value))
		}
	}
	product.Mul(&s.u, skew)
	product.Add(&product, &outside)
	gradM.Mul(&product, s.v.T()) // gradient with respect to M
	for i := range rows {
		p, y, gradX := s.x[i*c:(i+1)*c], s.y[i*t:(i+1)*t], dx[i*c:(i+1)*c]
		clear(gradX)
		for k := range t {
			axpy(y[k], gradM.RawRowView(k), gradX)
		}
		for j := range gradX {
			gradX[j] -= dot(s.Matrix[j*t:(j+1)*t], dy[i*t:(i+1)*t])
		}
		for k := range t {
			dy[i*t+k] += dot(gradM.RawRowView(k), p)
		}
	}
}

func subtractMean(x []float64, columns int) {
	n := float64(len(x) / columns)
	for j := range columns {
		sum := 0.0
		for i := j; i < len(x); i += columns {
			sum += x[i]
		}
		for i := j; i < len(x); i += columns {
			x[i] -= sum / n
		}
	}
}
