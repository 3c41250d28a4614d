package lbfgs

import "math"

// kept is the maximum number of steps in a memory.
const kept = 20

// Memory approximates the inverse Hessian from the last steps of a search (Nocedal and Wright 2006, algorithm 7.4).
type Memory struct{ steps []step }

// step is a change of the point s, and the change of the gradient y.
type step struct{ s, y []float64 }

// Add adds the step from x, with gradient g, to next, with gradient slope. It skips a step with no positive curvature.
func (m *Memory) Add(x, next, g, slope []float64) {
	t := step{make([]float64, len(x)), make([]float64, len(x))}
	for i := range x {
		t.s[i], t.y[i] = next[i]-x[i], slope[i]-g[i]
	}
	if !(dot(t.s, t.y) > 1e-14*math.Sqrt(dot(t.s, t.s)*dot(t.y, t.y))) {
		return
	}
	if len(m.steps) == kept {
		m.steps = m.steps[1:]
	}
	m.steps = append(m.steps, t)
}

// Direction returns minus the approximate inverse Hessian times the gradient g. precondition multiplies a vector by an
// initial approximation of the inverse Hessian; nil means the identity.
func (m *Memory) Direction(g []float64, precondition func(v []float64)) []float64 {
	if precondition == nil {
		precondition = func([]float64) {}
	}
	q := append([]float64(nil), g...)
	a := make([]float64, len(m.steps))
	for i := len(m.steps) - 1; i >= 0; i-- {
		t := m.steps[i]
		a[i] = dot(t.s, q) / dot(t.s, t.y)
		add(q, -a[i], t.y)
	}
	precondition(q)
	if n := len(m.steps); n > 0 {
		t := m.steps[n-1]
		y := append([]float64(nil), t.y...)
		precondition(y)
		scale := dot(t.s, t.y) / dot(t.y, y)
		for i := range q {
			q[i] *= scale
		}
	}
	for i, t := range m.steps {
		add(q, a[i]-dot(t.y, q)/dot(t.s, t.y), t.s)
	}
	for i := range q {
		q[i] = -q[i]
	}
	return q
}

func dot(a, b []float64) (sum float64) {
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

func add(a []float64, c float64, b []float64) {
	for i, v := range b {
		a[i] += c * v
	}
}
