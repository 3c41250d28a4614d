package geometry_test

import (
	"os"
	"testing"

	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/internal/long"
)

func TestMain(m *testing.M) { os.Exit(long.Run(m)) }

func enclosingBall(points []float64, columns int) (*geometry.Ball, error) {
	b := new(geometry.Ball)
	return b, b.Enclose(points, columns)
}

func geometricMedian(points []float64, columns int) (*geometry.Median, error) {
	m := new(geometry.Median)
	return m, m.Fit(points, columns)
}

func diameter(points []float64, columns int) (distance float64, i, j int, err error) {
	var p geometry.Pairs
	if err := p.Set(points, columns); err != nil {
		return 0, 0, 0, err
	}
	return p.Diameter()
}

func leastSquares(x []float64, columns int, y []float64, targets int, ridge float64) (*geometry.Regression, error) {
	r := new(geometry.Regression)
	return r, r.LeastSquares(x, columns, y, targets, ridge)
}

var (
	leastNorms    = regression((*geometry.Regression).LeastNorms)
	leastAbsolute = regression((*geometry.Regression).LeastAbsolute)
	minimax       = regression((*geometry.Regression).Minimax)
	jointMinimax  = regression((*geometry.Regression).JointMinimax)
)

// regression returns a function that creates a regression and fits it with a method.
func regression(fit func(r *geometry.Regression, x []float64, columns int, y []float64,
	targets int) error) func(x []float64, columns int, y []float64, targets int) (*geometry.Regression, error) {
	return func(x []float64, columns int, y []float64, targets int) (*geometry.Regression, error) {
		r := new(geometry.Regression)
		return r, fit(r, x, columns, y, targets)
	}
}
