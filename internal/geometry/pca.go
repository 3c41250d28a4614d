package geometry

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

type Components struct {
	Mean  []float64   // mean of the points
	Axes  [][]float64 // unit vectors by descending Sigma; the coordinate of largest absolute value is positive
	Sigma []float64   // standard deviation along each axis, with n-1 degrees of freedom
}

// PCA computes the principal components of n finite points, the rows of a matrix. The number of components is the
// smaller of the numbers of points and columns. The axes are right singular vectors of the triangular factor of the
// centred points, because a covariance matrix would square the condition number.
func PCA(x []float64, columns int) (*Components, error) {
	if columns < 1 || len(x) == 0 || len(x)%columns != 0 {
		return nil, fmt.Errorf("principal components: %d numbers in %d columns; want whole points, and at least one",
			len(x), columns)
	}
	n := len(x) / columns
	c := &Components{Mean: make([]float64, columns)}
	z := append([]float64(nil), x...)
	for j := range columns {
		var sum float64
		for i := range n {
			sum += z[i*columns+j]
		}
		c.Mean[j] = sum / float64(n)
		for i := range n {
			z[i*columns+j] -= c.Mean[j]
		}
	}
	small := mat.NewDense(n, columns, z)
	if n > columns {
		small = triangle(z, n, columns)
	}
	var svd mat.SVD
	if !svd.Factorize(small, mat.SVDThinV) {
		return nil, errors.New("principal components: the singular value decomposition does not converge")
	}
	var v mat.Dense
	svd.VTo(&v)
	for k, s := range svd.Values(nil) {
		axis, largest := mat.Col(nil, k, &v), 0.0
		for _, w := range axis {
			if math.Abs(w) > math.Abs(largest) {
				largest = w
			}
		}
		if largest < 0 {
			for j := range axis {
				axis[j] = -axis[j]
			}
		}
		c.Axes = append(c.Axes, axis)
		c.Sigma = append(c.Sigma, s/math.Sqrt(float64(max(n-1, 1))))
	}
	return c, nil
}

// Project returns the first k principal coordinates of points, row by row.
func (c *Components) Project(x []float64, k int) []float64 {
	d := len(c.Mean)
	n := len(x) / d
	y := make([]float64, n*k)
	for i := range n {
		point := x[i*d : (i+1)*d]
		for a := range min(k, len(c.Axes)) {
			var sum float64
			for j, w := range c.Axes[a] {
				sum += (point[j] - c.Mean[j]) * w
			}
			y[i*k+a] = sum
		}
	}
	return y
}

// triangle returns R of the QR decomposition of z, for n > d.
func triangle(z []float64, n, d int) *mat.Dense {
	a := blas64.General{Rows: n, Cols: d, Stride: d, Data: append([]float64(nil), z...)}
	tau, size := make([]float64, d), make([]float64, 1)
	lapack64.Geqrf(a, tau, size, -1)
	work := make([]float64, int(size[0]))
	lapack64.Geqrf(a, tau, work, len(work))
	r := mat.NewDense(d, d, nil)
	for i := range d {
		for j := i; j < d; j++ {
			r.Set(i, j, a.Data[i*d+j])
		}
	}
	return r
}
