// Package lbfgs minimises functions of many variables by their gradients (Nocedal and Wright 2006, algorithm 7.5).
package lbfgs

import "math"

// memory is the number of steps that are kept.
const memory = 20

// Settings say when the search ends.
type Settings struct {
	Iterations int          // largest number of iterations
	Decrease   float64      // the search ends where Window steps lower the function by less than this part of its value
	Window     int          //
	Floor      float64      // or where the function is at most Floor
	Interrupt  func() error // asked in every step; its error ends the search. nil: never
}

// step is a change of the point and of the gradient.
type step struct{ s, y []float64 }

// Minimise changes x to a point where f is smaller, and returns its value there. The function sets g to its gradient.
func Minimise(f func(x, g []float64) float64, x []float64, set Settings) (float64, error) {
	n := len(x)
	g, next, slope := make([]float64, n), make([]float64, n), make([]float64, n)
	value := f(x, g)
	values := []float64{value}
	var steps []step
	for i := range set.Iterations {
		if set.Interrupt != nil {
			if err := set.Interrupt(); err != nil {
				return value, err
			}
		}
		if value <= set.Floor || i >= set.Window && values[i-set.Window]-value <= set.Decrease*value {
			break
		}
		direction := descent(g, steps)
		v, ok := along(f, x, direction, value, dot(g, direction), next, slope)
		if !ok {
			if len(steps) == 0 {
				break
			}
			steps = nil // the next direction is steepest descent
			values = append(values, value)
			continue
		}
		t := step{make([]float64, n), make([]float64, n)}
		for k := range x {
			t.s[k], t.y[k] = next[k]-x[k], slope[k]-g[k]
		}
		if dot(t.s, t.y) > 1e-14*math.Sqrt(dot(t.s, t.s)*dot(t.y, t.y)) {
			if len(steps) == memory {
				steps = steps[1:]
			}
			steps = append(steps, t)
		}
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

// descent returns minus the approximate inverse of the second derivatives times the gradient. Its first step has the length 1 at
// most.
func descent(g []float64, steps []step) []float64 {
	q := append([]float64(nil), g...)
	a := make([]float64, len(steps))
	for i := len(steps) - 1; i >= 0; i-- {
		t := steps[i]
		a[i] = dot(t.s, q) / dot(t.s, t.y)
		add(q, -a[i], t.y)
	}
	scale := 1 / max(1, math.Sqrt(dot(g, g)))
	if n := len(steps); n > 0 {
		scale = dot(steps[n-1].s, steps[n-1].y) / dot(steps[n-1].y, steps[n-1].y)
	}
	for i := range q {
		q[i] *= -scale
	}
	for i, t := range steps {
		b := -dot(t.y, q) / dot(t.s, t.y)
		add(q, b-a[i], t.s)
	}
	return q
}

func dot(a, b []float64) (sum float64) {
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

// add adds c b to a.
func add(a []float64, c float64, b []float64) {
	for i, v := range b {
		a[i] += c * v
	}
}
