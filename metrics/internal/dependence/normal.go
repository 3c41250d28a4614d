// Package dependence measures how code columns depend on each other or on factors: by kernels, or by the correlations of
// normal distributions.
package dependence

import (
	"errors"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/metrics/matrix"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

var errSingular = errors.New("the codes' covariance has no inverse: a column is a linear function of the others, and total correlation infinite" +
	"; want columns without linear dependence")

// fromEigenvalues is the total correlation of a normal distribution with correlation matrix R, from the eigenvalues
// lambda of R (Watanabe 1960), in nats:
//
//	-1/2 ln det R = -1/2 sum ln lambda
func fromEigenvalues(eigenvalues []float64) (sum float64) {
	for _, v := range eigenvalues {
		sum -= math.Log(v) / 2
	}
	return max(sum, 0) // rounding
}

// wassersteinDistance is the squared 2-Wasserstein distance of two normal distributions with covariances S and D,
// the diagonal of S. It takes the trace of S and the eigenvalues lambda of D S:
//
//	2 tr S - 2 sum sqrt lambda
func wassersteinDistance(trace float64, eigenvalues []float64) float64 {
	var root float64
	for _, v := range eigenvalues {
		root += math.Sqrt(max(v, 0)) // rounding may make it negative
	}
	return max(2*trace-2*root, 0)
}

func symmetricRows(s *mat.SymDense) [][]float64 {
	d := s.SymmetricDim()
	rows := make([][]float64, d)
	for a := range rows {
		for b := range d {
			rows[a] = append(rows[a], s.At(a, b))
		}
	}
	return rows
}

// TotalCorrelation returns the total correlation, in nats, of a normal distribution with the covariance of the codes
// (Locatello et al. 2019, section 5.2), the columns that vary, and their correlations.
func TotalCorrelation(codes matrix.Matrix) (value float64, columns []int, correlations [][]float64, err error) {
	n := codes.Rows
	var unit []float64 // column by column
	column := make([]float64, n)
	for c := range codes.Cols {
		if codes.UnitColumn(c, column) > 0 {
			unit, columns = append(unit, column...), append(columns, c)
		}
	}
	if columns == nil {
		return 0, nil, nil, nil
	}
	x := mat.NewDense(len(columns), n, unit)
	var s mat.SymDense
	s.SymOuterK(1/float64(n), x)
	var eigen mat.EigenSym
	if !eigen.Factorize(&s, false) {
		return 0, nil, nil, errors.New("the eigenvalues of the codes' correlation do not converge")
	}
	values := eigen.Values(nil)
	if slices.Min(values) < 1e-13*float64(len(columns)) {
		return 0, nil, nil, errSingular
	}
	return fromEigenvalues(values), columns, symmetricRows(&s), nil
}

// WassersteinCorrelation returns the squared 2-Wasserstein distance of a normal distribution with the covariance of the
// codes from one without correlations (Locatello et al. 2019, section 5.2), the trace of the covariance, and the
// covariance, n-1 degrees of freedom.
func WassersteinCorrelation(codes matrix.Matrix) (value, trace float64, covariance [][]float64, err error) {
	d := codes.Cols
	var s mat.SymDense
	stat.CovarianceMatrix(&s, mat.NewDense(codes.Rows, d, codes.Data), nil)
	// D S has the eigenvalues of the symmetric D^(1/2) S D^(1/2).
	similar := mat.NewSymDense(d, nil)
	for a := range d {
		trace += s.At(a, a)
		for b := a; b < d; b++ {
			similar.SetSym(a, b, math.Sqrt(s.At(a, a))*s.At(a, b)*math.Sqrt(s.At(b, b)))
		}
	}
	if norm := mat.Norm(similar, 1); math.IsNaN(norm) || math.IsInf(norm, 0) {
		return 0, 0, nil, errors.New("the codes' covariance is not finite: the codes are too large")
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(similar, false) {
		return 0, 0, nil, errors.New("the eigenvalues of the codes' covariance do not converge")
	}
	return wassersteinDistance(trace, eigen.Values(nil)), trace, symmetricRows(&s), nil
}
