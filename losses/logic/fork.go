package logic

import (
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/losses/logic/syntax"
)

// pieces bounds the number of parts of a quantifier's work. The parts do not depend on the
// number of threads, and their results are joined in order.
const pieces = 16

// pieceSize is the approximate number of tuples of a part.
const pieceSize = 1 << 14

// parts returns the number of parts of a quantifier's work if its first variable has n
// candidates.
func (q *quantifier) parts(m *evaluator, n int) int {
	if m.piece || m.engine.record != nil || q.binders[0].set != syntax.RowSet || n < 2 {
		return 1
	}
	work := float64(n) * q.body.cost(m.engine)
	for _, b := range q.binders[1:] {
		work *= b.most(m.data)
	}
	return int(min(max(work/pieceSize, 1), pieces, float64(n)))
}

// fork computes each part on a separate evaluator.
func (q *quantifier) fork(m *evaluator, n int) {
	e, s := m.engine, &m.states[q.state]
	for len(e.pieces) < n {
		p := e.newMachine()
		p.piece = true
		if m.slopes != nil {
			p.wantGradients()
		}
		e.pieces = append(e.pieces, p)
	}
	if s.job == nil {
		s.job = func(_, i int) { q.part(m, s, i) }
	}
	s.pieces = n
	parallel.For(n, s.job)
	for i := range n {
		if s.forward {
			q.merge(s, &e.pieces[i].states[q.state])
		}
	}
}

// part computes part i of the first variable's candidates.
func (q *quantifier) part(m *evaluator, s *state, i int) {
	p := m.engine.pieces[i]
	copy(p.index, m.index)
	own := &p.states[q.state]
	own.clear()
	own.forward, own.g = s.forward, s.g
	own.gathered, own.result = s.gathered, s.result
	first := q.binders[0].candidates(p)
	lo, hi := i*len(first)/s.pieces, (i+1)*len(first)/s.pieces
	q.walk(p, own, 0, first[lo:hi])
}

// merge joins the result of a part.
func (q *quantifier) merge(s, part *state) {
	s.sum += part.sum
	s.count += part.count
	if q.fold != syntax.NoFold {
		if s.gathered.zeros == 0 && part.gathered.zeros > 0 {
			copy(s.best, part.best)
		}
		s.gathered.merge(part.gathered)
		return
	}
	if part.found && (!s.found || q.better(part.least, s.least)) {
		s.found, s.least = true, part.least
		copy(s.best, part.best)
	}
}
