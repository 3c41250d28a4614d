package eval

import (
	"math"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/losses/logic/internal/program"
	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

// quantifier aggregates the quantities of a body over the tuples of its variables, and stores its last results.
type quantifier struct {
	base
	*program.Quantifier
	body node
	over *domain

	sum     float64
	extreme float64 // the best quantity: the largest for forall, the smallest for exists
	count   float64 // number of tuples
	found   bool
	best    []int32 // the first tuple with the best quantity or, for a fold, with the quantity 0

	folded foldSum // for a fold
	result float64 // for a fold

	bodyGradients []float64      // gradients with respect to the body
	passing       []int32        // tuples that passed tests
	forward       bool           // true: compute quantities; false: compute gradients
	gradientScale float64        // the gradient that is passed to the body
	copies        []*quantifier  // copies for parts of the work, in a fixed order
	partJob       func(_, i int) // computes a part
	parts         int
}

// domain returns the values of a variable without groups.
func (d *data) domain(b *program.Binder) []int32 {
	switch b.Set {
	case syntax.ValueSet:
		return d.ascending[:d.counts[b.Factor]]
	case syntax.MemberSet:
		return d.ascending[:b.Members]
	}
	return d.lists[b.List].rows
}

// candidates returns the values of a variable, given the variables before it.
func (m *evaluator) candidates(b *program.Binder) []int32 {
	if b.By < 0 {
		return m.data.domain(b)
	}
	l, level := &m.data.lists[b.List], m.index[b.Like]
	if !b.LikeValue {
		level = m.data.levels[b.By][level]
	}
	if level < 0 {
		return nil
	}
	return l.rows[l.starts[level]:l.starts[level+1]]
}

// maxCandidates returns an upper bound for the number of candidates of a variable.
func (d *data) maxCandidates(b *program.Binder) float64 {
	if b.By >= 0 {
		return float64(d.lists[b.List].largest)
	}
	if b.Set == syntax.ValueSet {
		return float64(max(d.counts[b.Factor], 1))
	}
	return float64(len(d.domain(b)))
}

func (q *quantifier) cost(d *data) float64 {
	tuples, cost := maxTuples(d, q.Tests, q.Binders)
	if q.Symmetric {
		tuples /= 2
	}
	return max(cost+tuples*q.body.cost(d), 1)
}

// maxTuples returns upper bounds for the number of tuples of variables, and for the cost of the tests that select them.
func maxTuples(d *data, tests []program.Test, binders []*program.Binder) (tuples, cost float64) {
	tuples, cost = 1, testsCost(d, tests)
	for _, b := range binders {
		tuples *= d.maxCandidates(b)
		cost += tuples * testsCost(d, b.Tests)
	}
	return tuples, cost
}

func (q *quantifier) value(m *evaluator, _ int) []float64 {
	q.forward = true
	q.visitTuples(m)
	out := q.values[:1]
	switch {
	case q.Fold != syntax.NoFold:
		q.result = q.folded.result()
		q.count, out[0] = q.folded.count(), q.result
	case !q.Universal && !q.found:
		out[0] = math.Inf(1)
	case !q.Universal:
		out[0] = q.extreme
	case q.count == 0:
		out[0] = 0
	case q.Aggregate == factor.Max:
		out[0] = q.extreme
	case q.Aggregate == factor.Sum:
		out[0] = q.sum
	default:
		out[0] = q.sum / q.count
	}
	q.over.visit(q.count)
	return out
}

func (q *quantifier) gradient(m *evaluator, _ int, g []float64) {
	switch {
	case g[0] == 0 || !q.Smooth() || q.count == 0:
	case q.Fold != syntax.NoFold:
		q.gradientOfFold(m, g[0])
	case !q.Universal || q.Aggregate == factor.Max:
		if q.found && !math.IsInf(q.extreme, 1) {
			q.gradientOfBest(m, g)
		}
	default:
		scale := g[0]
		if q.Aggregate != factor.Sum {
			scale /= q.count
		}
		q.passGradient(m, scale)
	}
}

// passGradient visits all tuples again to pass a gradient to the body.
func (q *quantifier) passGradient(m *evaluator, g float64) {
	q.forward, q.gradientScale = false, g
	count := q.count
	q.visitTuples(m)
	q.count = count
}

// gradientOfBest computes the best tuple again.
func (q *quantifier) gradientOfBest(m *evaluator, g []float64) {
	for k, b := range q.Binders {
		m.index[b.Variable] = q.best[k]
	}
	rows := m.rows
	if q.Leaf {
		q.passing[0] = q.best[len(q.best)-1]
		m.rows = q.passing[:1]
	}
	q.body.value(m, 1)
	q.body.gradient(m, 1, g)
	m.rows = rows
}

// visitTuples visits all tuples, to compute the quantity or its gradients.
func (q *quantifier) visitTuples(m *evaluator) {
	q.sum, q.count, q.extreme, q.found = 0, 0, 0, false
	if q.forward {
		q.folded = foldSum{fold: q.Fold, temperature: q.Temperature}
	}
	if !m.passAll(q.Tests) {
		return
	}
	first := m.candidates(q.Binders[0])
	if n := q.countParts(m, len(first)); n > 1 {
		q.runParts(m, n)
		return
	}
	q.visitVariable(m, 0, first)
}

// visitVariable lets variable k run over its candidates.
func (q *quantifier) visitVariable(m *evaluator, k int, candidates []int32) {
	b, last := q.Binders[k], k == len(q.Binders)-1
	if last {
		candidates = q.dropMirrored(m, k, candidates)
		if q.Leaf {
			q.visitBatches(m, b, candidates)
			return
		}
	}
	for i, v := range candidates {
		m.index[b.Variable] = v
		switch {
		case m.engine.stopped():
			return
		case !m.passAll(b.Tests):
		case last:
			q.visitBatch(m, candidates[i:i+1])
		default:
			q.visitVariable(m, k+1, m.candidates(q.Binders[k+1]))
		}
	}
}

// dropMirrored drops pairs that come after their mirror images.
func (q *quantifier) dropMirrored(m *evaluator, k int, candidates []int32) []int32 {
	if !q.Symmetric {
		return candidates
	}
	earlier := m.index[q.Binders[k-1].Variable]
	first, _ := slices.BinarySearch(candidates, earlier)
	return candidates[first:]
}

// weight returns the number of tuples that the current tuple represents.
func (q *quantifier) weight(m *evaluator, last int32) float64 {
	if q.Symmetric && m.index[q.Binders[len(q.Binders)-2].Variable] != last {
		return 2
	}
	return 1
}

// bodyGradient returns the gradient with respect to a quantity of the body.
func (q *quantifier) bodyGradient(v float64) float64 {
	switch {
	case q.Fold != syntax.NoFold:
		return q.gradientScale * q.folded.slope(v, q.result)
	case q.Aggregate != factor.MeanSquare:
		return q.gradientScale
	}
	if math.IsInf(v, 1) {
		return 0
	}
	return 2 * v * q.gradientScale
}

// better reports whether a quantity is the new best one; NaN stays the best.
func (q *quantifier) better(v, best float64) bool {
	if math.IsNaN(v) {
		return !math.IsNaN(best)
	}
	return q.Universal && v > best || !q.Universal && v < best
}

// visitBatches computes tuples of a body without quantifiers, which differ in the last variable, many at once.
func (q *quantifier) visitBatches(m *evaluator, b *program.Binder, candidates []int32) {
	for len(candidates) > 0 && !m.engine.stopped() {
		rows := candidates[:min(chunk, len(candidates))]
		if len(b.Tests) == 0 {
			candidates = candidates[len(rows):]
		} else {
			rows, candidates = q.selectPassing(m, b, candidates)
		}
		if len(rows) > 0 {
			m.rows = rows
			q.visitBatch(m, rows)
		}
	}
}

// selectPassing collects candidates that pass the tests.
func (q *quantifier) selectPassing(m *evaluator, b *program.Binder, candidates []int32) (rows, rest []int32) {
	n := 0
	for i, v := range candidates {
		if m.index[b.Variable] = v; m.passAll(b.Tests) {
			q.passing[n] = v
			if n++; n == chunk {
				return q.passing, candidates[i+1:]
			}
		}
	}
	return q.passing[:n], nil
}

func (q *quantifier) visitBatch(m *evaluator, rows []int32) {
	v := q.body.value(m, len(rows))
	switch {
	case q.forward && q.Fold != syntax.NoFold:
		for t, x := range v {
			if q.folded.add(x, q.weight(m, rows[t])) {
				q.storeTuple(m, rows[t])
			}
		}
	case q.forward && (!q.Universal || q.Aggregate == factor.Max):
		q.count += float64(len(v))
		for t, x := range v {
			if !q.found || q.better(x, q.extreme) {
				q.found, q.extreme = true, x
				q.storeTuple(m, rows[t])
			}
		}
	case q.forward:
		q.addBatch(m, v, rows)
	default:
		g := q.bodyGradients[:len(rows)]
		for t := range g {
			g[t] = q.bodyGradient(v[t]) * q.weight(m, rows[t])
		}
		q.body.gradient(m, len(rows), g)
	}
}

func (q *quantifier) addBatch(m *evaluator, v []float64, rows []int32) {
	sum, count, weight := 0.0, float64(len(rows)), 1.0
	if q.Symmetric {
		weight = 2
	}
	square := q.Aggregate == factor.MeanSquare
	for _, x := range v {
		if square {
			x *= x
		}
		sum += x
	}
	if q.Symmetric { // a pair of a row with itself counts once
		earlier := m.index[q.Binders[len(q.Binders)-2].Variable]
		count *= 2
		for t, r := range rows {
			if r == earlier {
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
	q.sum += weight * sum
	q.count += count
}

// storeTuple stores the current tuple.
func (q *quantifier) storeTuple(m *evaluator, last int32) {
	for k, b := range q.Binders {
		q.best[k] = m.index[b.Variable]
	}
	q.best[len(q.best)-1] = last
}

// gradientOfFold passes the gradient of a fold to the body.
func (q *quantifier) gradientOfFold(m *evaluator, g float64) {
	switch {
	case math.IsInf(q.result, 1):
	case q.folded.zeros > 0 && !math.IsNaN(q.result):
		q.bodyGradients[0] = g * q.folded.slopeOfZero()
		q.gradientOfBest(m, q.bodyGradients[:1])
	default:
		q.passGradient(m, g)
	}
}

// maxParts is the maximum number of parts of a quantifier's work. The parts do not depend on the number of threads, and
// their results are merged in a fixed order.
const maxParts = 16

// partSize is the approximate number of tuples of a part.
const partSize = 1 << 14

// countParts returns the number of parts of a quantifier's work, if its first variable has n candidates.
func (q *quantifier) countParts(m *evaluator, n int) int {
	if m.isPart || m.engine.recordFit != nil || q.Binders[0].Set != syntax.RowSet {
		return 1
	}
	work := float64(n) * q.body.cost(m.data)
	for _, b := range q.Binders[1:] {
		work *= m.data.maxCandidates(b)
	}
	return int(min(max(work/partSize, 1), maxParts, float64(n)))
}

// runParts computes each part with a copy of the quantifier on its own evaluator.
func (q *quantifier) runParts(m *evaluator, n int) {
	m.engine.makeParts(n)
	for i := len(q.copies); i < n; i++ {
		b := builder{m.engine.parts[i], -1, 1}
		q.copies = append(q.copies, b.newQuantifier(q.Quantifier))
	}
	if q.partJob == nil {
		q.partJob = func(_, i int) { q.runPart(m, i) }
	}
	q.parts = n
	parallel.For(n, q.partJob)
	for _, c := range q.copies[:n] {
		if q.forward {
			q.merge(c)
		}
	}
}

// runPart computes part i of the first variable's candidates.
func (q *quantifier) runPart(m *evaluator, i int) {
	p, copied := m.engine.parts[i], q.copies[i]
	copy(p.index, m.index)
	copied.sum, copied.count, copied.extreme, copied.found = 0, 0, 0, false
	copied.forward, copied.gradientScale = q.forward, q.gradientScale
	copied.folded, copied.result = q.folded, q.result
	first := p.candidates(q.Binders[0])
	lo, hi := i*len(first)/q.parts, (i+1)*len(first)/q.parts
	copied.visitVariable(p, 0, first[lo:hi])
}

// merge adds the result of a part.
func (q *quantifier) merge(part *quantifier) {
	q.sum += part.sum
	q.count += part.count
	if q.Fold != syntax.NoFold {
		if q.folded.zeros == 0 && part.folded.zeros > 0 {
			copy(q.best, part.best)
		}
		q.folded.merge(part.folded)
		return
	}
	if part.found && (!q.found || q.better(part.extreme, q.extreme)) {
		q.found, q.extreme = true, part.extreme
		copy(q.best, part.best)
	}
}
