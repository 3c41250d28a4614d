package logic

import "math"

// indicator is a crisp formula: 0 or infinity.
type indicator struct {
	base
	test test
	lane int
}

func (f *indicator) value(m *evaluator, n int) []float64 {
	out := m.values[f.id][:n]
	for t := range out {
		m.enter(f.lane, t)
		if out[t] = 0; !f.test.holds(m) {
			out[t] = math.Inf(1)
		}
	}
	return out
}

func (*indicator) gradient(*evaluator, int, []float64) {}
func (*indicator) smooth() bool                        { return false }
func (f *indicator) cost(e *engine) float64            { return 1 + f.test.costs(e) }

// guarded is an implication from a crisp formula: 0 where that is false.
type guarded struct {
	base
	test test
	lane int
	body node
}

func (f *guarded) value(m *evaluator, n int) []float64 {
	out, body := m.values[f.id][:n], f.body.value(m, n)
	gate := m.gradients[f.id][:n]
	for t := range out {
		m.enter(f.lane, t)
		if out[t], gate[t] = 0, 0; f.test.holds(m) {
			out[t], gate[t] = body[t], 1
		}
	}
	return out
}

func (f *guarded) gradient(m *evaluator, n int, g []float64) {
	gate, to := m.gradients[f.id][:n], m.seconds[f.id][:n]
	for t := range to {
		to[t] = g[t] * gate[t]
	}
	f.body.gradient(m, n, to)
}

func (f *guarded) smooth() bool           { return f.body.smooth() }
func (f *guarded) cost(e *engine) float64 { return f.body.cost(e) + f.test.costs(e) }

// scale is a multiple of a quantity.
type scale struct {
	base
	body   node
	weight float64
}

func (f *scale) value(m *evaluator, n int) []float64 {
	out, body := m.values[f.id][:n], f.body.value(m, n)
	for t := range out {
		out[t] = f.weight * body[t]
	}
	return out
}

func (f *scale) gradient(m *evaluator, n int, g []float64) {
	to := m.gradients[f.id][:n]
	for t := range to {
		to[t] = f.weight * g[t]
	}
	f.body.gradient(m, n, to)
}

func (f *scale) smooth() bool           { return f.body.smooth() }
func (f *scale) cost(e *engine) float64 { return f.body.cost(e) }

// unary is a negation.
type unary struct {
	base
	body   node
	change change
}

func (f *unary) value(m *evaluator, n int) []float64 {
	out, body := m.values[f.id][:n], f.body.value(m, n)
	for t := range out {
		out[t] = f.change.value(body[t])
	}
	return out
}

func (f *unary) gradient(m *evaluator, n int, g []float64) {
	to, body := m.gradients[f.id][:n], m.values[f.body.number()][:n]
	for t := range to {
		to[t] = g[t] * f.change.slope(body[t])
	}
	f.body.gradient(m, n, to)
}

func (f *unary) smooth() bool           { return f.body.smooth() }
func (f *unary) cost(e *engine) float64 { return f.body.cost(e) }

// binary joins two quantities.
type binary struct {
	base
	a, b node
	operation
}

func (f *binary) value(m *evaluator, n int) []float64 {
	a, b, out := f.a.value(m, n), f.b.value(m, n), m.values[f.id][:n]
	switch f.quick {
	case quickAdd:
		for t := range out {
			out[t] = a[t] + b[t]
		}
	case quickMonus:
		for t, x := range a {
			if x >= b[t] { // both may be infinite
				out[t] = 0
			} else {
				out[t] = b[t] - x
			}
		}
	default:
		for t := range out {
			out[t] = f.operation.value(a[t], b[t])
		}
	}
	return out
}

func (f *binary) gradient(m *evaluator, n int, g []float64) {
	a, b := f.a.smooth(), f.b.smooth()
	if f.quick == quickAdd {
		f.a.gradient(m, n, g)
		f.b.gradient(m, n, g)
		return
	}
	da, db := m.gradients[f.id][:n], m.seconds[f.id][:n]
	va, vb, r := m.values[f.a.number()], m.values[f.b.number()], m.values[f.id]
	if f.quick == quickMonus {
		for t := range da {
			if da[t], db[t] = 0, 0; r[t] > 0 && !math.IsInf(r[t], 1) {
				da[t], db[t] = -g[t], g[t]
			}
		}
	} else {
		for t := range da {
			x, y := f.slope(va[t], vb[t], r[t])
			da[t], db[t] = g[t]*x, g[t]*y
		}
	}
	if a {
		f.a.gradient(m, n, da)
	}
	if b {
		f.b.gradient(m, n, db)
	}
}

func (f *binary) smooth() bool           { return f.a.smooth() || f.b.smooth() }
func (f *binary) cost(e *engine) float64 { return max(1, f.a.cost(e)+f.b.cost(e)) }
