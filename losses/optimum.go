package losses

import (
	"math"

	"github.com/unravel-ml/unravel/graph"
)

// optimum is a deviation that minimises a quantity over all centres, in float64. By the envelope theorem its gradient
// is the gradient of the quantity at the optimal centre.
type optimum[T graph.Float] struct {
	columns int
	find    func(x []float64, columns int) (float64, error)
	slope   func(scale float64, dx []float64)

	x      []float64
	failed error // set if the last value met NaN or infinity
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
