package linear

import (
	"context"
	"math"

	"github.com/unravel-ml/unravel/internal/lbfgs"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// patience is the number of steps without a smaller gradient that ends the search: later steps follow rounding only.
const patience = 50

// minimise runs L-BFGS (Nocedal and Wright 2006, algorithm 7.5) from x until the size of the gradient, from steepest,
// is at most tolerance. It reports whether it got there.
func minimise(ctx context.Context, f *logisticLoss, x []float64, iterations int, tolerance float64) ([]float64, bool) {
	x = append([]float64(nil), x...)
	g, next, slope := make([]float64, len(x)), make([]float64, len(x)), make([]float64, len(x))
	value, _ := f.at(ctx, x, g)
	best, flattest, since := append([]float64(nil), x...), math.Inf(1), 0
	stuck := false // rounding hides the descent
	var past lbfgs.Memory
	for i := range iterations {
		if ctx.Err() != nil {
			return x, false
		}
		if most := f.steepest(g); most < flattest {
			copy(best, x)
			flattest, since = most, i
		}
		if stuck = i-since > patience; stuck || flattest <= tolerance {
			break
		}
		if i >= 4 && i&(i-1) == 0 { // not in the first steps, which are too far from the minimum
			f.sharpen(x)
		}
		direction := past.Direction(g, f.precondition)
		along := numeric.Dot(g, direction)
		v, ok := f.along(ctx, x, direction, value, along, next, slope)
		if stuck = !ok; stuck {
			break
		}
		past.Add(x, next, g, slope)
		copy(x, next)
		copy(g, slope)
		value = v
	}
	if most := f.steepest(g); most < flattest {
		best, flattest = x, most
	}
	return best, flattest <= tolerance || stuck && flattest <= 100*tolerance
}

// along searches a direction from x, where the objective has a value and a slope, for a lower objective. It returns the
// value at the new point, and whether it has found one.
func (f *logisticLoss) along(ctx context.Context, x, direction []float64, value, down float64, next, slope []float64) (v float64, ok bool) {
	for length := 1.0; length > 1e-10 && down < 0; length /= 2 {
		for i := range x {
			next[i] = x[i] + length*direction[i]
		}
		var noise float64
		if v, noise = f.at(ctx, next, slope); v <= value+1e-4*length*down {
			return v, true
		}
		// near the minimum rounding hides the decrease, but slopes still show it (Hager and Zhang
		// 2005, section 4)
		if v <= value+noise && numeric.Dot(slope, direction) <= -0.9*down {
			return v, true
		}
	}
	return value, false
}
