package logic

import (
	"math"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/losses/logic/syntax"
)

// lanes computes many tuples at once that differ in the last variable.
func (q *quantifier) lanes(m *evaluator, s *state, b *binder, candidates []int32) {
	for len(candidates) > 0 && !m.engine.ended() {
		rows := candidates[:min(chunk, len(candidates))]
		if len(b.tests) == 0 {
			candidates = candidates[len(rows):]
		} else {
			rows, candidates = q.pick(m, s, b, candidates)
		}
		if len(rows) > 0 {
			m.rows = rows
			q.tuples(m, s, rows)
		}
	}
}

// pick collects candidates that pass the tests.
func (q *quantifier) pick(m *evaluator, s *state, b *binder, candidates []int32) (rows, rest []int32) {
	n := 0
	for i, v := range candidates {
		if m.index[b.variable] = v; b.passes(m) {
			s.picked[n] = v
			if n++; n == chunk {
				return s.picked, candidates[i+1:]
			}
		}
	}
	return s.picked[:n], nil
}

func (q *quantifier) tuples(m *evaluator, s *state, rows []int32) {
	v := q.body.value(m, len(rows))
	switch {
	case s.forward && q.fold != syntax.NoFold:
		for t, x := range v {
			q.addFold(m, s, x, q.weight(m, rows[t]), rows[t])
		}
		return
	case s.forward:
		if !q.universal || q.aggregate == factor.Max {
			t := q.bestOf(v)
			s.count += float64(len(v) - 1)
			q.join(m, s, v[t], 1, rows[t])
			return
		}
		q.add(m, s, v, rows)
		return
	}
	g := s.handed[:len(rows)]
	for t := range g {
		g[t] = q.share(s, v[t])
	}
	if q.symmetric {
		before := m.index[q.binders[len(q.binders)-2].variable]
		for t, r := range rows {
			if r != before {
				g[t] *= 2
			}
		}
	}
	q.body.gradient(m, len(rows), g)
}

// bestOf returns the first of the best quantities.
func (q *quantifier) bestOf(v []float64) int {
	best, is := 0, v[0]
	if q.universal {
		for t, x := range v {
			if x > is {
				best, is = t, x
			}
		}
	} else {
		for t, x := range v {
			if x < is {
				best, is = t, x
			}
		}
	}
	for t, x := range v {
		if x != x {
			return t // a NaN must reach the result
		}
	}
	return best
}

// add adds up quantities.
func (q *quantifier) add(m *evaluator, s *state, v []float64, rows []int32) {
	sum, count, weight := 0.0, float64(len(rows)), 1.0
	if q.symmetric {
		weight = 2
	}
	square := q.aggregate == factor.MeanSquare
	for _, x := range v {
		if square {
			x *= x
		}
		sum += x
	}
	if q.symmetric { // the pair of a row with itself counts once
		before := m.index[q.binders[len(q.binders)-2].variable]
		count *= 2
		for t, r := range rows {
			if r == before {
				x := v[t]
				if square {
					x *= x
				}
				if !math.IsInf(x, 1) { // otherwise the sum is infinite
					sum -= x / 2
				}
				count--
			}
		}
	}
	s.sum += weight * sum
	s.count += count
}
