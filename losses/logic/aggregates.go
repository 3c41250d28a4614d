package logic

import (
	"math"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/datasets/factor"
)

// parseAggregate reads what follows [ in `forall[mean]` and `exists[soft 0.1]`.
func (p *parser) parseAggregate(q *quantified) error {
	t := p.peek()
	name, err := p.hyphenated("an aggregate")
	if err != nil {
		return err
	}
	own, others, quantifier, other := anyNames(), allAggregates(), "exists", "forall"
	if q.universal {
		own, others, quantifier, other = others, own, other, quantifier
	}
	if !slices.Contains(own, name) {
		if slices.Contains(others, name) {
			return errorAt(p.text, t.offset, "%s is an aggregate of %s, want one of %s: %s", name, other, quantifier, strings.Join(own, ", "))
		}
		return errorAt(p.text, t.offset, "unknown aggregate %q of %s%s", name, quantifier, suggest(name, own))
	}
	if q.universal {
		if q.aggregate, err = factor.ParseAggregate(name); err != nil {
			q.aggregate, q.fold = 0, allLogExp+fold(slices.Index(allNames(), name))
		}
		return p.expect("]", " after an aggregate")
	}
	if q.fold = fold(slices.Index(own, name)); q.fold == anySoft {
		t := p.next()
		if t.kind != numeral || !validTemperature(t.value) {
			return p.found(t, "the temperature of a soft minimum, a number of more than 0, such as soft 0.1")
		}
		q.temperature = t.value
	}
	return p.expect("]", " after an aggregate")
}

// allAggregates lists the aggregates of forall.
func allAggregates() []string { return append(aggregateNames(), allNames()...) }

func validTemperature(t float64) bool { return t >= 1e-30 && t <= 1e30 }

// checkAggregate returns an error if the aggregate of a quantifier does not exist, or does not
// suit its domain.
func (c *compiler) checkAggregate(f *quantified) error {
	switch {
	case f.fold == noFold && (!f.universal || int(f.aggregate) < len(aggregateNames())):
		return nil
	case f.fold == noFold:
		return c.fail(f, "unknown aggregate %v", f.aggregate)
	case f.fold >= wrongFold || f.fold.universal() != f.universal:
		return c.fail(f, "unknown aggregate of a quantifier")
	case f.fold == anySoft && !validTemperature(f.temperature):
		return c.fail(f, "the soft minimum has the temperature %v, want a number of more than 0", f.temperature)
	case f.domain.set == pointSet:
		return c.fail(f, "exists[%v] is an aggregate of finitely many, not of all points of %s; want exists without an aggregate", f.fold, textOf(f.domain.space))
	}
	return nil
}

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
