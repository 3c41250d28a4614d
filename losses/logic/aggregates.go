package logic

import "math"

// addFold adds the quantity of a tuple to a fold.
func (q *quantifier) addFold(m *evaluator, s *state, v, weight float64, last int32) {
	if s.gathered.add(v, weight) {
		s.keep(q, m, last)
	}
}

// keep remembers the current tuple.
func (s *state) keep(q *quantifier, m *evaluator, last int32) {
	for k, b := range q.binders {
		s.best[k] = m.index[b.variable]
	}
	s.best[len(s.best)-1] = last
}

// gradientOfFold hands down the gradient of a fold.
func (q *quantifier) gradientOfFold(m *evaluator, s *state, g float64) {
	switch {
	case math.IsInf(s.result, 1):
	case s.gathered.zeros > 0 && !math.IsNaN(s.result):
		s.handed[0] = g * s.gathered.slopeOfZero()
		q.gradientOfBest(m, s, s.handed[:1])
	default:
		s.forward, s.g = false, g
		count := s.count
		q.run(m)
		s.count = count
	}
}
