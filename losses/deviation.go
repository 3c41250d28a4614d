package losses

import (
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph"
)

// deviation is a measure of the spread of points, 0 where all are equal. An instance owns
// its scratch and is used by one goroutine at a time.
type deviation[T graph.Float] interface {
	// value returns the deviation of points x, rows x columns, rows >= 1.
	value(x []T, rows int) float64

	// gradient overwrites dx with scale times the gradient of the value at x; the
	// last call of value was on the same x.
	gradient(x []T, rows int, scale float64, dx []T)
}

// newDeviation returns a deviation for sets of at most maxRows points.
func newDeviation[T graph.Float](d factor.Deviation, maxRows, columns int) deviation[T] {
	switch d {
	case factor.Diameter:
		return newDiameter[T](maxRows, columns)
	case factor.MPD:
		return newMPD[T](maxRows, columns)
	case factor.Radius:
		return newRadius[T](columns)
	case factor.MAD:
		return newMAD[T](columns)
	}
	return newVariance[T](columns)
}
