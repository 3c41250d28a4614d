// Package lbfgs minimises differentiable functions of many variables (Nocedal and Wright 2006, algorithm 7.5).
package lbfgs

import "math"

// Settings are the stopping criteria of a search.
type Settings struct {
	Iterations int          // maximum number of iterations
	Decrease   float64      // the search stops if Window steps decrease the function by a smaller fraction than this
	Window     int          //
	Floor      float64      // the search stops if the function is at most Floor
	Interrupt  func() error // called in every step; its error ends the search. nil: never
}

// Minimise moves x to a point with a smaller value of f, and returns this value. f sets g to its gradient.
func Minimise(f func(x, g []float64) float64, x []float64, set Settings) (float64, error) {
	n := len(x)
	g, next, slope := make([]float64, n), make([]float64, n), make([]float64, n)
	value := f(x, g)
	values := []float64{value}
	var past Memory
	for i := range set.Iterations {
		if set.Interrupt != nil {
			if err := set.Interrupt(); err != nil {
				return value, err
			}
		}
		if value <= set.Floor || i >= set.Window && values[i-set.Window]-value <= set.Decrease*value {
			break
		}
		direction := past.Direction(g, nil)
		if len(past.steps) == 0 { // the length of the first step is at most 1
			scale := 1 / max(1, math.Sqrt(dot(g, g)))
			for k := range direction {
				direction[k] *= scale
			}
		}
		v, ok := along(f, x, direction, value, dot(g, direction), next, slope)
		if !ok {
			if len(past.steps) == 0 {
				break
			}
			past = Memory{} // the next direction is steepest descent
			values = append(values, value)
			continue
		}
		past.Add(x, next, g, slope)
		copy(x, next)
		copy(g, slope)
		value = v
		values = append(values, value)
	}
	return value, nil
}

// along is a backtracking line search from x, where f has the given value and slope. It halves the step until the value
// is lower.
func along(f func(x, g []float64) float64, x, direction []float64, value, down float64,
	next, slope []float64) (v float64, ok bool) {
	if !(down < 0) {
		return value, false
	}
	for length := 1.0; length > 1e-12; length /= 2 {
		for i := range x {
			next[i] = x[i] + length*direction[i]
		}
		if v = f(next, slope); v <= value+1e-4*length*down {
			return v, true
		}
	}
	return value, false
}
