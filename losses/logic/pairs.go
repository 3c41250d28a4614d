package logic

import (
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/losses/logic/syntax"
)

// pairs is a quantifier over all pairs of rows within groups. Its body is the distance of one term at the two rows:
// `forall[mean] i, j: y.a(i) = y.a(j) -> z(i) =[euclidean] z(j)`. Sums of squared distances follow from the mean of a
// group; numeric.Distances computes sums of distances.
type pairs struct {
	*quantifier
	terms   [][]part // of a row, by coordinate
	squares bool
	whole   bool // all groups of a factor: the second row is like the first
	state   int
}

// pairs compiles such a quantifier; it returns nil for others.
func (c *compiler) pairs(q *quantifier) node {
	a, ok := q.body.(*atom)
	if !ok || !q.universal || q.fold != syntax.NoFold || !q.symmetric || len(q.binders) != 2 || !a.smooth() {
		return nil
	}
	p := &pairs{quantifier: q, state: c.program.pairs}
	switch {
	case a.premetric == syntax.Euclidean && (q.aggregate == factor.Mean || q.aggregate == factor.Sum):
	case a.premetric == syntax.Euclidean && q.aggregate == factor.MeanSquare, a.premetric == syntax.Squared && (q.aggregate == factor.Mean || q.aggregate == factor.Sum):
		p.squares = true
	default:
		return nil
	}
	i, j := q.binders[0], q.binders[1]
	switch {
	case len(i.tests) > 0 || len(j.tests) > 0:
		return nil
	case i.by < 0 && j.by >= 0 && j.like == i.variable:
		p.whole = true
	case i.by != j.by || i.by >= 0 && i.like != j.like:
		return nil
	}
	for _, s := range a.coordinates {
		terms := opposite(s, i.variable, j.variable)
		if terms == nil {
			return nil
		}
		p.terms = append(p.terms, terms)
	}
	c.program.pairs++
	return p
}

// opposite returns the parts of a coordinate that belong to row i. It returns nil unless row j has the same parts with
// opposite signs and no other parts exist.
func opposite(s split, i, j int) []part {
	var own, other []part
	for _, p := range slices.Concat(s.slow, s.fast) {
		switch p.variable {
		case i:
			own = append(own, p)
		case j:
			other = append(other, p)
		default:
			return nil
		}
	}
	if s.offset != 0 || len(own) == 0 || len(own) != len(other) || len(s.monomials) > 0 {
		return nil
	}
	for _, p := range own {
		if !slices.ContainsFunc(other, func(o part) bool { return o.weight == -p.weight && o.column == p.column }) {
			return nil
		}
	}
	return own
}

// pairState is an evaluator's state of pairs.
type pairState struct {
	single *numeric.Distances[float32]
	double *numeric.Distances[float64]
	x      []float64 // of a group, row by row
	mean   []float64
	count  float64
}

// groups calls a function with every group of rows.
func (f *pairs) groups(m *evaluator, visit func(rows []int32)) {
	for _, t := range f.tests {
		if !t.holds(m) {
			return
		}
	}
	j := f.binders[1]
	if !f.whole {
		visit(j.candidates(m))
		return
	}
	l := &m.data.lists[j.list]
	for v := range len(l.start) - 1 {
		visit(l.rows[l.start[v]:l.start[v+1]])
	}
}

// gather computes the term of every row of a group.
func (f *pairs) gather(m *evaluator, s *pairState, rows []int32) {
	w := len(f.terms)
	s.x = slices.Grow(s.x[:0], len(rows)*w)[:len(rows)*w]
	for k, parts := range f.terms {
		for t, r := range rows {
			x := 0.0
			for _, p := range parts {
				x += p.weight * m.data.columns[p.column][r]
			}
			s.x[t*w+k] = x
		}
	}
}

func (f *pairs) value(m *evaluator, _ int) []float64 {
	s := &m.pairs[f.state]
	sum := 0.0
	s.count = 0
	f.groups(m, func(rows []int32) {
		n := float64(len(rows))
		s.count += n * n
		if len(rows) < 2 || m.engine.ended() {
			return
		}
		f.gather(m, s, rows)
		switch {
		case f.squares:
			sum += 2 * n * s.deviate(len(f.terms))
		case m.engine.single:
			sum += distancesOf(&s.single, m, s.x, len(f.terms)).Sum()
		default:
			sum += distancesOf(&s.double, m, s.x, len(f.terms)).Sum()
		}
	})
	out := m.values[f.id][:1]
	if out[0] = sum; f.aggregate != factor.Sum && s.count > 0 {
		out[0] /= s.count
	}
	return out
}

func (f *pairs) gradient(m *evaluator, _ int, g []float64) {
	s := &m.pairs[f.state]
	if g[0] == 0 || s.count == 0 {
		return
	}
	scale := g[0]
	if f.aggregate != factor.Sum {
		scale /= s.count
	}
	f.groups(m, func(rows []int32) {
		if len(rows) < 2 {
			return
		}
		f.gather(m, s, rows)
		switch {
		case f.squares:
			s.deviate(len(f.terms))
			f.scatter(m, s.x, rows, 4*float64(len(rows))*scale)
		case m.engine.single:
			slopesOf(&s.single, m, s.x, len(f.terms))
			f.scatter(m, s.x, rows, 2*scale)
		default:
			slopesOf(&s.double, m, s.x, len(f.terms))
			f.scatter(m, s.x, rows, 2*scale)
		}
	})
}

// scatter adds gradients of the terms to the gradients of the codes.
func (f *pairs) scatter(m *evaluator, slope []float64, rows []int32, scale float64) {
	w := len(f.terms)
	for k, parts := range f.terms {
		for _, p := range parts {
			if !m.smooth(p.column) {
				continue
			}
			to := m.slopes[p.column]
			for t, r := range rows {
				to[r] += scale * p.weight * slope[t*w+k]
			}
		}
	}
}

func (f *pairs) cost(e *engine) float64 {
	if f.squares {
		return f.binders[1].most(&e.data)
	}
	return f.quantifier.cost(e)
}

// deviate subtracts the mean from a group's terms, and returns the sum of their squares.
func (s *pairState) deviate(width int) float64 {
	s.mean = meanOf(s.mean, s.x, width)
	sum := 0.0
	for i := range s.x {
		s.x[i] -= s.mean[i%width]
		sum += s.x[i] * s.x[i]
	}
	return sum
}

// distancesOf returns an evaluator's distances, made at first use, set to the points x, row by row.
func distancesOf[T kernel.Float](d **numeric.Distances[T], m *evaluator, x []float64, width int) *numeric.Distances[T] {
	if *d == nil {
		*d = numeric.NewDistances[T](m.data.rows, width, m.piece)
		(*d).Ended = m.engine.ended
	}
	points := (*d).Points
	points.Resize(len(x) / width)
	for k := range width {
		column := points.Column(k)
		for r := range column {
			column[r] = T(x[r*width+k])
		}
	}
	return *d
}

// slopesOf overwrites the points x with the sums of the unit vectors from all others.
func slopesOf[T kernel.Float](d **numeric.Distances[T], m *evaluator, x []float64, width int) {
	of := distancesOf(d, m, x, width)
	of.Slopes()
	for k := range width {
		for r, v := range of.Slope.Column(k) {
			x[r*width+k] = float64(v)
		}
	}
}
