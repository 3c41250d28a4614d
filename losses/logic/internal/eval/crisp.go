package eval

import (
	"fmt"

	"github.com/unravel-ml/unravel/losses/logic/internal/program"
	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

func (m *evaluator) pass(tests []program.Test) bool {
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
		of := m.data.levels[t.Factor]
		return of[m.index[t.A]] >= 0 && of[m.index[t.A]] == of[m.index[t.B]]
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
		return m.try(t, t.Binders)
	}
	panic(fmt.Sprintf("logic: %T is not a test", t))
}

// try tries all values of variables.
func (m *evaluator) try(t *program.Tried, binders []*program.Binder) bool {
	if len(binders) == 0 {
		return m.holds(t.Body)
	}
	for _, v := range m.data.all(binders[0]) {
		m.index[binders[0].Variable] = v
		if m.try(t, binders[1:]) != t.Universal {
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

// costsOf returns an upper bound for the number of tuples that the quantifiers of tests visit.
func costsOf(d *data, tests []program.Test) (cost float64) {
	for _, t := range tests {
		cost += costOf(d, t)
	}
	return cost
}

func costOf(d *data, t program.Test) float64 {
	switch t := t.(type) {
	case *program.Not:
		return costOf(d, t.Test)
	case *program.Joined:
		return costOf(d, t.A) + costOf(d, t.B)
	case *program.Tried:
		tuples, _ := tuplesOf(d, nil, t.Binders)
		return (1 + costOf(d, t.Body)) * tuples
	}
	return 0
}
