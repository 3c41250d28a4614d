package eval

import (
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/losses/logic/internal/program"
	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

// pairs is a quantifier over all pairs of rows within groups. Its body is the distance between a term at one row and
// the same term at the other: `forall[mean] i, j: y.a(i) = y.a(j) -> z(i) =[euclidean] z(j)`. Sums of squared distances
// are computed from the mean of a group; numeric.Distances computes sums of distances.
type pairs struct {
	base
	*program.Quantifier
	over    *domain
	terms   [][]program.Part // the term of a row, by coordinate
	squares bool
	whole   bool // all groups of a factor: the second row is in the group of the first

	single *numeric.Distances[float32]
	double *numeric.Distances[float64]
	x      []float64 // terms of a group, row by row
	mean   []float64
	count  float64
}

// newPairs returns the quantifier as pairs, or nil if it has another form.
func (b *builder) newPairs(q *program.Quantifier) *pairs {
	e, ok := q.Body.(*program.Equality)
	if !ok || !q.Universal || q.Fold != syntax.NoFold || !q.Symmetric || len(q.Binders) != 2 || !e.Smooth() {
		return nil
	}
	p := &pairs{Quantifier: q}
	sums := q.Aggregate == factor.Mean || q.Aggregate == factor.Sum
	switch {
	case e.Premetric == syntax.Euclidean && sums:
	case e.Premetric == syntax.Euclidean && q.Aggregate == factor.MeanSquare, e.Premetric == syntax.Squared && sums:
		p.squares = true
	default:
		return nil
	}
	i, j := q.Binders[0], q.Binders[1]
	switch {
	case len(i.Tests) > 0 || len(j.Tests) > 0:
		return nil
	case i.By < 0 && j.By >= 0 && j.Like == i.Variable:
		p.whole = true
	case i.By != j.By || i.By >= 0 && i.Like != j.Like:
		return nil
	}
	for _, x := range e.Difference {
		terms := ownParts(x, i.Variable, j.Variable)
		if terms == nil {
			return nil
		}
		p.terms = append(p.terms, terms)
	}
	p.base, p.over = b.base(), b.domain(q, q.Text)
	return p
}

// ownParts returns the parts of a coordinate that belong to row i. It returns nil unless row j has the same parts with
// opposite signs and there are no other parts.
func ownParts(x program.Coordinate, i, j int) []program.Part {
	var own, other []program.Part
	for _, p := range x.Parts {
		switch {
		case len(p.By) > 0:
			return nil
		case p.Variable == i:
			own = append(own, p)
		case p.Variable == j:
			other = append(other, p)
		default:
			return nil
		}
	}
	if x.Offset != 0 || len(own) == 0 || len(own) != len(other) {
		return nil
	}
	for _, p := range own {
		if !slices.ContainsFunc(other, func(o program.Part) bool { return o.Weight == -p.Weight && o.Column == p.Column }) {
			return nil
		}
	}
	return own
}

// groups calls a function for every group of rows.
func (f *pairs) groups(m *evaluator, visit func(rows []int32)) {
	if !m.passAll(f.Tests) {
		return
	}
	j := f.Binders[1]
	if !f.whole {
		visit(m.candidates(j))
		return
	}
	l := &m.data.lists[j.List]
	for v := range len(l.starts) - 1 {
		visit(l.rows[l.starts[v]:l.starts[v+1]])
	}
}

// gather computes the term of every row of a group.
func (f *pairs) gather(m *evaluator, rows []int32) {
	w := len(f.terms)
	f.x = slices.Grow(f.x[:0], len(rows)*w)[:len(rows)*w]
	for k, parts := range f.terms {
		for t, r := range rows {
			x := 0.0
			for _, p := range parts {
				x += p.Weight * m.data.columns[p.Column][r]
			}
			f.x[t*w+k] = x
		}
	}
}

func (f *pairs) value(m *evaluator, _ int) []float64 {
	sum := 0.0
	f.count = 0
	f.groups(m, func(rows []int32) {
		n := float64(len(rows))
		f.count += n * n
		if len(rows) < 2 || m.engine.stopped() {
			return
		}
		f.gather(m, rows)
		switch {
		case f.squares:
			sum += 2 * n * f.deviate(len(f.terms))
		case m.engine.Single:
			sum += distancesOf(&f.single, m, f.x, len(f.terms)).Sum()
		default:
			sum += distancesOf(&f.double, m, f.x, len(f.terms)).Sum()
		}
	})
	out := f.values[:1]
	if out[0] = sum; f.Aggregate != factor.Sum && f.count > 0 {
		out[0] /= f.count
	}
	f.over.visit(f.count)
	return out
}

func (f *pairs) gradient(m *evaluator, _ int, g []float64) {
	if g[0] == 0 || f.count == 0 {
		return
	}
	scale := g[0]
	if f.Aggregate != factor.Sum {
		scale /= f.count
	}
	f.groups(m, func(rows []int32) {
		if len(rows) < 2 {
			return
		}
		f.gather(m, rows)
		switch {
		case f.squares:
			f.deviate(len(f.terms))
			f.scatter(m, f.x, rows, 4*float64(len(rows))*scale)
		case m.engine.Single:
			slopesOf(&f.single, m, f.x, len(f.terms))
			f.scatter(m, f.x, rows, 2*scale)
		default:
			slopesOf(&f.double, m, f.x, len(f.terms))
			f.scatter(m, f.x, rows, 2*scale)
		}
	})
}

// scatter adds the gradients with respect to the terms to the gradients of the codes.
func (f *pairs) scatter(m *evaluator, slope []float64, rows []int32, scale float64) {
	w := len(f.terms)
	for k, parts := range f.terms {
		for _, p := range parts {
			if !m.hasGradient(p.Column) {
				continue
			}
			to := m.gradients[p.Column]
			for t, r := range rows {
				to[r] += scale * p.Weight * slope[t*w+k]
			}
		}
	}
}

func (f *pairs) cost(d *data) float64 {
	if f.squares {
		return d.maxCandidates(f.Binders[1])
	}
	tuples, cost := maxTuples(d, f.Tests, f.Binders)
	return max(cost+tuples/2, 1)
}

// deviate subtracts the mean from a group's terms, and returns the sum of their squares.
func (f *pairs) deviate(width int) float64 {
	f.mean = pointMean(f.mean, f.x, width)
	sum := 0.0
	for i := range f.x {
		f.x[i] -= f.mean[i%width]
		sum += f.x[i] * f.x[i]
	}
	return sum
}

// distancesOf returns the evaluator's distances for the points x, row by row; it allocates them when first used.
func distancesOf[T kernel.Float](d **numeric.Distances[T], m *evaluator, x []float64, width int) *numeric.Distances[T] {
	if *d == nil {
		*d = numeric.NewDistances[T](m.data.rows, width, m.isPart)
		(*d).Ended = m.engine.stopped
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

// slopesOf overwrites each point of x with the sum of the unit vectors that point to it from all other points.
func slopesOf[T kernel.Float](d **numeric.Distances[T], m *evaluator, x []float64, width int) {
	of := distancesOf(d, m, x, width)
	of.Slopes()
	for k := range width {
		for r, v := range of.Slope.Column(k) {
			x[r*width+k] = float64(v)
		}
	}
}
