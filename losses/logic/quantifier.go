package logic

import (
	"math"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/losses/logic/syntax"
)

// quantifier aggregates the quantities of a body over the tuples of its variables.
type quantifier struct {
	base
	universal bool
	aggregate factor.Aggregate // of a universal quantifier without a fold
	binders   []*binder
	tests     []test // of the variables around
	leaf      bool   // the body has no quantifiers: many tuples are computed at once
	symmetric bool   // the last two variables are interchangeable: half of the pairs suffice
	body      node
	state     int

	fold        syntax.Fold
	temperature float64
}

// binder is a variable of a quantifier with its domain.
type binder struct {
	*binding
	variable  int
	list      int    // of rows: where they are listed
	members   int    // of constants
	by        int    // for rows: the factor that they must share with another variable, or -1
	like      int    // the other variable
	likeValue bool   // it stands for a value
	tests     []test // of this variable and earlier ones
}

// state is an evaluator's state of a quantifier: the results of its last computation.
type state struct {
	sum   float64
	least float64 // the best quantity: the largest of forall, the least of exists
	count float64 // tuples
	found bool
	best  []int32 // the first tuple with the best quantity, or, of a fold, of 0

	gathered gathered // of a fold
	result   float64  // of a fold

	handed  []float64      // gradients of the body
	picked  []int32        // tuples that passed tests
	job     func(_, i int) // a part of the work
	pieces  int
	g       float64 // the gradient that is handed down; ignored while quantities are computed
	forward bool
}

// all returns the values of the variable without groups.
func (b *binder) all(d *data) []int32 {
	switch b.set {
	case syntax.ValueSet:
		return d.ascending[:d.counts[b.factor]]
	case syntax.MemberSet:
		return d.ascending[:b.members]
	}
	return d.lists[b.list].rows
}

// candidates returns the values of the variable, given the variables before it.
func (b *binder) candidates(m *evaluator) []int32 {
	if b.by < 0 {
		return b.all(m.data)
	}
	l, level := &m.data.lists[b.list], m.index[b.like]
	if !b.likeValue {
		level = m.data.levels[b.by][level]
	}
	if level < 0 {
		return nil
	}
	return l.rows[l.start[level]:l.start[level+1]]
}

// most bounds the number of candidates.
func (b *binder) most(d *data) float64 {
	if b.by >= 0 {
		return float64(d.lists[b.list].largest)
	}
	if b.set == syntax.ValueSet {
		return float64(max(d.counts[b.factor], 1))
	}
	return float64(len(b.all(d)))
}

func (q *quantifier) smooth() bool { return q.body.smooth() }

func (q *quantifier) cost(e *engine) float64 {
	tuples, cost := 1.0, costOf(q.tests, e)
	for _, b := range q.binders {
		tuples *= b.most(&e.data)
		cost += tuples * costOf(b.tests, e)
	}
	if q.symmetric {
		tuples /= 2
	}
	return max(cost+tuples*q.body.cost(e), 1)
}

func costOf(tests []test, e *engine) (cost float64) {
	for _, t := range tests {
		cost += t.costs(e)
	}
	return cost
}

func (q *quantifier) value(m *evaluator, _ int) []float64 {
	s := &m.states[q.state]
	s.forward = true
	q.run(m)
	out := m.values[q.id][:1]
	switch {
	case q.fold != syntax.NoFold:
		s.result = s.gathered.result()
		s.count, out[0] = s.gathered.count(), s.result
	case !q.universal && !s.found:
		out[0] = math.Inf(1)
	case !q.universal:
		out[0] = s.least
	case s.count == 0:
		out[0] = 0
	case q.aggregate == factor.Max:
		out[0] = s.least
	case q.aggregate == factor.Sum:
		out[0] = s.sum
	default:
		out[0] = s.sum / s.count
	}
	return out
}

func (q *quantifier) gradient(m *evaluator, _ int, g []float64) {
	s := &m.states[q.state]
	switch {
	case g[0] == 0 || !q.smooth() || s.count == 0:
	case q.fold != syntax.NoFold:
		q.gradientOfFold(m, s, g[0])
	case !q.universal || q.aggregate == factor.Max:
		if s.found && !math.IsInf(s.least, 1) {
			q.gradientOfBest(m, s, g)
		}
	default:
		s.forward = false
		if s.g = g[0]; q.aggregate != factor.Sum {
			s.g /= s.count
		}
		count := s.count
		q.run(m)
		s.count = count
	}
}

// gradientOfBest computes the best tuple again.
func (q *quantifier) gradientOfBest(m *evaluator, s *state, g []float64) {
	for k, b := range q.binders {
		m.index[b.variable] = s.best[k]
	}
	rows := m.rows
	if q.leaf {
		s.picked[0] = s.best[len(s.best)-1]
		m.rows = s.picked[:1]
	}
	q.body.value(m, 1)
	q.body.gradient(m, 1, g)
	m.rows = rows
}

// run goes through all tuples: to compute the quantity, or its gradients.
func (q *quantifier) run(m *evaluator) {
	s := &m.states[q.state]
	s.clear()
	if s.forward {
		s.gathered.clear()
		s.gathered.fold, s.gathered.temperature = q.fold, q.temperature
	}
	for _, t := range q.tests {
		if !t.holds(m) {
			return
		}
	}
	first := q.binders[0].candidates(m)
	if n := q.parts(m, len(first)); n > 1 {
		q.fork(m, n)
		return
	}
	q.walk(m, s, 0, first)
}

func (s *state) clear() {
	s.sum, s.count, s.least, s.found = 0, 0, 0, false
}

// walk lets variable k run over candidates.
func (q *quantifier) walk(m *evaluator, s *state, k int, candidates []int32) {
	b, last := q.binders[k], k == len(q.binders)-1
	if last && q.leaf {
		q.lanes(m, s, b, q.half(m, k, candidates))
		return
	}
	if last {
		candidates = q.half(m, k, candidates)
	}
	for _, v := range candidates {
		m.index[b.variable] = v
		switch {
		case m.engine.ended():
			return
		case !b.passes(m):
		case last:
			q.single(m, s, b)
		default:
			q.walk(m, s, k+1, q.binders[k+1].candidates(m))
		}
	}
}

func (b *binder) passes(m *evaluator) bool {
	for _, t := range b.tests {
		if !t.holds(m) {
			return false
		}
	}
	return true
}

// half drops pairs that follow their mirror images.
func (q *quantifier) half(m *evaluator, k int, candidates []int32) []int32 {
	if !q.symmetric {
		return candidates
	}
	before := m.index[q.binders[k-1].variable]
	lo, hi := 0, len(candidates)
	for lo < hi {
		if mid := (lo + hi) / 2; candidates[mid] < before {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return candidates[lo:]
}

// single computes the body of one tuple, which may have quantifiers.
func (q *quantifier) single(m *evaluator, s *state, b *binder) {
	v := q.body.value(m, 1)
	weight := q.weight(m, m.index[b.variable])
	if s.forward {
		q.join(m, s, v[0], weight, m.index[b.variable])
		return
	}
	g := s.handed[:1]
	g[0] = q.share(s, v[0]) * weight
	q.body.gradient(m, 1, g)
}

// weight returns the number of tuples that a tuple represents.
func (q *quantifier) weight(m *evaluator, last int32) float64 {
	if q.symmetric && m.index[q.binders[len(q.binders)-2].variable] != last {
		return 2
	}
	return 1
}

// share returns the gradient in a quantity of the body.
func (q *quantifier) share(s *state, v float64) float64 {
	switch {
	case q.fold != syntax.NoFold:
		return s.g * s.gathered.slope(v, s.result)
	case q.aggregate != factor.MeanSquare:
		return s.g
	}
	if math.IsInf(v, 1) {
		return 0
	}
	return 2 * v * s.g
}

// join adds the quantity of a tuple.
func (q *quantifier) join(m *evaluator, s *state, v, weight float64, last int32) {
	s.count += weight
	switch {
	case q.fold != syntax.NoFold:
		q.addFold(m, s, v, weight, last)
	case q.universal && q.aggregate == factor.MeanSquare:
		s.sum += weight * v * v
	case q.universal && q.aggregate != factor.Max:
		s.sum += weight * v
	case !s.found || q.better(v, s.least):
		s.found, s.least = true, v
		s.keep(q, m, last)
	}
}

// better reports whether a quantity is the new best one; a NaN stays.
func (q *quantifier) better(v, than float64) bool {
	if math.IsNaN(v) {
		return !math.IsNaN(than)
	}
	return q.universal && v > than || !q.universal && v < than
}
