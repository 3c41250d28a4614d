package graph

import (
	"math"

	"github.com/unravel-ml/unravel/internal/geometry"
)

// optimum is a deviation that is the least of some quantity over all centres, found
// in float64. Its gradient is that of the quantity at the centre found, by the
// envelope theorem.
type optimum[T float] struct {
	columns int
	find    func(x []float64, columns int) (float64, error)
	slope   func(scale float64, dx []float64)

	x      []float64
	failed error // of the last value: numbers were not finite
}

// newRadius returns the radius of the smallest enclosing ball. Where several choices
// of points hold the ball, its gradient is that of one of them.
func newRadius[T float](columns int) deviation[T] {
	b := new(geometry.Ball)
	return &optimum[T]{columns: columns, slope: b.Gradient, find: func(x []float64, columns int) (float64, error) {
		err := b.Enclose(x, columns)
		return b.Radius, err
	}}
}

// newMAD returns the mean distance from the geometric median.
func newMAD[T float](columns int) deviation[T] {
	m := new(geometry.Median)
	return &optimum[T]{columns: columns, slope: m.Gradient, find: func(x []float64, columns int) (float64, error) {
		err := m.Fit(x, columns)
		return m.MeanDistance, err
	}}
}

func (o *optimum[T]) value(x []T, rows int) float64 {
	o.x = o.x[:0]
	for _, v := range x[:rows*o.columns] {
		o.x = append(o.x, float64(v))
	}
	var v float64
	if v, o.failed = o.find(o.x, o.columns); o.failed != nil {
		return math.NaN()
	}
	return v
}

func (o *optimum[T]) gradient(_ []T, rows int, scale float64, dx []T) {
	g := o.x[:rows*o.columns]
	if o.failed == nil {
		o.slope(scale, g)
	}
	for i, v := range g {
		if o.failed != nil {
			v = math.NaN()
		}
		dx[i] = T(v)
	}
}
