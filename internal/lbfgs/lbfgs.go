// Package lbfgs minimises differentiable functions of many variables (Nocedal and Wright 2006, algorithm 7.5).
package lbfgs

import "math"

// Settings say when the search ends.
type Settings struct {
	Iterations int          // largest number of iterations
	Decrease   float64      // the search ends where Window steps lower the function by less than this part of its value
	Window     int          //
	Floor      float64      // or where the function is at most Floor
	Interrupt  func() error // asked in every step; its error ends the search. nil: never
}

// Minimise changes x to a point where f is smaller, and returns its value there. The function sets g to its gradient.
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
		if len(past.steps) == 0 { // a first step of the length 1 at most
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

// along searches a direction from x, where f has a value and the slope down, for a lower value by halves.
func along(f func(x, g []float64) float64, x, direction []float64, value, down float64, next, slope []float64) (v float64, ok bool) {
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
