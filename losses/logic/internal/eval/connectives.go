package eval

import (
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/losses/logic/internal/program"
	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

// indicator is a crisp formula: 0 or infinity.
type indicator struct {
	base
	*program.Indicator
	innermost int
}

func (f *indicator) value(m *evaluator, n int) []float64 {
	out := f.values[:n]
	for t := range out {
		m.setTuple(f.innermost, t)
		if out[t] = 0; !m.holds(f.Test) {
			out[t] = math.Inf(1)
		}
	}
	return out
}

func (*indicator) gradient(*evaluator, int, []float64) {}
func (f *indicator) cost(d *data) float64              { return 1 + testCost(d, f.Test) }

// guarded is an implication from a crisp formula: 0 if that formula is false.
type guarded struct {
	base
	*program.Guarded
	over      *domain
	innermost int
	body      node
}

func (f *guarded) value(m *evaluator, n int) []float64 {
	out, body := f.values[:n], f.body.value(m, n)
	gate, count := f.gradients[:n], 0.0
	for t := range out {
		m.setTuple(f.innermost, t)
		if out[t], gate[t] = 0, 0; m.holds(f.Test) {
			out[t], gate[t] = body[t], 1
			count++
		}
	}
	f.over.visit(count)
	return out
}

func (f *guarded) gradient(m *evaluator, n int, g []float64) {
	gate, dbody := f.gradients[:n], f.operandGradients[:n]
	for t := range dbody {
		dbody[t] = g[t] * gate[t]
	}
	f.body.gradient(m, n, dbody)
}

func (f *guarded) cost(d *data) float64 { return f.body.cost(d) + testCost(d, f.Test) }

// unary is an operation on one quantity: a negation or a multiple.
type unary struct {
	base
	program.Node
	body      node
	operation unaryOperation
}

func (f *unary) value(m *evaluator, n int) []float64 {
	out, body := f.values[:n], f.body.value(m, n)
	for t := range out {
		out[t] = f.operation.value(body[t])
	}
	return out
}

func (f *unary) gradient(m *evaluator, n int, g []float64) {
	dbody, body := f.gradients[:n], f.body.last()[:n]
	for t := range dbody {
		dbody[t] = g[t] * f.operation.slope(body[t])
	}
	f.body.gradient(m, n, dbody)
}

func (f *unary) cost(d *data) float64 { return f.body.cost(d) }

// connective combines two quantities.
type connective struct {
	base
	*program.Connective
	a, b node
	operation
}

func (f *connective) value(m *evaluator, n int) []float64 {
	a, b, out := f.a.value(m, n), f.b.value(m, n), f.values[:n]
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

func (f *connective) gradient(m *evaluator, n int, g []float64) {
	a, b := f.a.Smooth(), f.b.Smooth()
	if f.quick == quickAdd {
		f.a.gradient(m, n, g)
		f.b.gradient(m, n, g)
		return
	}
	da, db := f.gradients[:n], f.operandGradients[:n]
	va, vb, r := f.a.last(), f.b.last(), f.values
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

func (f *connective) cost(d *data) float64 { return max(1, f.a.cost(d)+f.b.cost(d)) }

func (m *evaluator) passAll(tests []program.Test) bool {
	for _, t := range tests {
		if !m.holds(t) {
			return false
		}
	}
	return true
}

// holds reports whether a test is true for the current values of the variables.
func (m *evaluator) holds(t program.Test) bool {
	switch t := t.(type) {
	case *program.SameNumbers:
		for i := range t.A {
			x, y := m.entry(t.A[i]), m.entry(t.B[i])
			if x != y && !(t.Single && float32(x) == float32(y)) {
				return false
			}
		}
		return true
	case *program.SameRow:
		return m.index[t.A] == m.index[t.B]
	case *program.SameGroup:
		groups := m.data.levels[t.Factor]
		return groups[m.index[t.A]] >= 0 && groups[m.index[t.A]] == groups[m.index[t.B]]
	case *program.Not:
		return !m.holds(t.Test)
	case *program.Joined:
		switch t.Kind {
		case syntax.AndKind:
			return m.holds(t.A) && m.holds(t.B)
		case syntax.OrKind:
			return m.holds(t.A) || m.holds(t.B)
		}
		return !m.holds(t.A) || m.holds(t.B)
	case *program.Tried:
		return m.checkAll(t, t.Binders)
	}
	panic(fmt.Sprintf("logic: %T is not a test", t))
}

// checkAll tries all values of variables.
func (m *evaluator) checkAll(t *program.Tried, binders []*program.Binder) bool {
	if len(binders) == 0 {
		return m.holds(t.Body)
	}
	for _, v := range m.data.domain(binders[0]) {
		m.index[binders[0].Variable] = v
		if m.checkAll(t, binders[1:]) != t.Universal {
			return !t.Universal
		}
	}
	return t.Universal
}

func (m *evaluator) entry(e program.Entry) float64 {
	if e.Column < 0 {
		return e.Constant
	}
	return m.data.columns[e.Column][m.index[e.Variable]]
}

// testsCost returns an upper bound for the number of tuples that the quantifiers of tests visit.
func testsCost(d *data, tests []program.Test) (cost float64) {
	for _, t := range tests {
		cost += testCost(d, t)
	}
	return cost
}

func testCost(d *data, t program.Test) float64 {
	switch t := t.(type) {
	case *program.Not:
		return testCost(d, t.Test)
	case *program.Joined:
		return testCost(d, t.A) + testCost(d, t.B)
	case *program.Tried:
		tuples, _ := maxTuples(d, nil, t.Binders)
		return (1 + testCost(d, t.Body)) * tuples
	}
	return 0
}
