package logic

import (
	"slices"

	"github.com/unravel-ml/unravel/factor"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// pairs is a quantifier over all pairs of rows of groups whose body is the distance of one term
// of the two: `forall[mean] i, j: y.a(i) = y.a(j) -> z(i) =[euclidean] z(j)`. Sums of
// squared distances follow from the mean of a group; sums of distances come from the
// kernels of package kernel.
type pairs struct {
	*quantifier
	terms   [][]part // of a row, by coordinate
	squares bool
	whole   bool // all groups of a factor: the second row is like the first
	state   int
}

// pairs recognises such a quantifier; it returns nil if it is another one.
func (c *compiler) pairs(q *quantifier) node {
	a, ok := q.body.(*atom)
	if !ok || !q.universal || !q.symmetric || len(q.binders) != 2 || !a.smooth() {
		return nil
	}
	p := &pairs{quantifier: q, state: c.program.pairs}
	switch {
	case a.premetric == Euclidean && (q.aggregate == factor.Mean || q.aggregate == factor.Sum):
	case a.premetric == Euclidean && q.aggregate == factor.MeanSquare, a.premetric == Squared && (q.aggregate == factor.Mean || q.aggregate == factor.Sum):
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

// opposite returns the parts of a coordinate of one row if those of the other row
// are the same with the opposite sign, and there are no others.
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
	if s.offset != 0 || len(own) == 0 || len(own) != len(other) {
		return nil
	}
	for _, p := range own {
		if !slices.Contains(other, part{-p.weight, p.column, j}) {
			return nil
		}
	}
	return own
}

// pairState is what a machine keeps for pairs.
type pairState struct {
	single *pairSums[float32]
	double *pairSums[float64]
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
		if len(rows) < 2 {
			return
		}
		f.gather(m, s, rows)
		switch {
		case f.squares:
			sum += 2 * n * s.deviate(len(f.terms))
		case m.engine.single:
			sum += sumsOf(&s.single, m, len(f.terms)).distances(s.x)
		default:
			sum += sumsOf(&s.double, m, len(f.terms)).distances(s.x)
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
			sumsOf(&s.single, m, len(f.terms)).slopes(s.x)
			f.scatter(m, s.x, rows, 2*scale)
		default:
			sumsOf(&s.double, m, len(f.terms)).slopes(s.x)
			f.scatter(m, s.x, rows, 2*scale)
		}
	})
}

// scatter adds gradients of the terms to those of the codes.
func (f *pairs) scatter(m *evaluator, slope []float64, rows []int32, scale float64) {
	w := len(f.terms)
	for k, parts := range f.terms {
		for _, p := range parts {
			if p.column >= m.data.codes {
				continue
			}
			to := m.codes[p.column]
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

// deviate takes the mean off a group's terms, and returns the sum of their squares.
func (s *pairState) deviate(width int) float64 {
	n := float64(len(s.x) / width)
	s.mean = append(s.mean[:0], s.x[:width]...)
	for k, first := range s.mean {
		sum := 0.0
		for i := k; i < len(s.x); i += width {
			sum += s.x[i] - first // which leaves nothing of equal points
		}
		s.mean[k] = first + sum/n
	}
	sum := 0.0
	for i := range s.x {
		s.x[i] -= s.mean[i%width]
		sum += s.x[i] * s.x[i]
	}
	return sum
}

// pairSums adds up what belongs to all pairs of points, in elements of type T.
type pairSums[T kernel.Float] struct {
	points, slope *kernel.Points[T]
	blocks        []pairBlock[T]
	sums          []float64
	alone         bool // within a part of a larger work
	job, slopeJob func(_, i int)
}

type pairBlock[T kernel.Float] struct{ tile, lanes []T }

// sumsOf makes a machine's sums when they are first needed.
func sumsOf[T kernel.Float](s **pairSums[T], m *evaluator, width int) *pairSums[T] {
	if *s == nil {
		n := m.data.rows
		blocks := (n + kernel.PairLanes - 1) / kernel.PairLanes
		p := &pairSums[T]{
			points: kernel.NewPoints[T](n, width), slope: kernel.NewPoints[T](n, width),
			blocks: make([]pairBlock[T], blocks), sums: make([]float64, blocks), alone: m.piece,
		}
		for i := range p.blocks {
			p.blocks[i] = pairBlock[T]{make([]T, kernel.PairLanes*kernel.PairSources), make([]T, kernel.PairLanes)}
		}
		p.job, p.slopeJob = p.sum, p.slopeOf
		*s = p
	}
	return *s
}

// run does the work of every block of points.
func (p *pairSums[T]) run(job func(_, i int)) {
	n := (p.points.Rows + kernel.PairLanes - 1) / kernel.PairLanes
	if p.alone || n == 1 {
		for i := range n {
			job(0, i)
		}
	} else {
		parallel.For(n, job)
	}
}

func (p *pairSums[T]) set(x []float64) {
	w := p.points.Columns
	p.points.Resize(len(x) / w)
	for k := range w {
		column := p.points.Column(k)
		for r := range column {
			column[r] = T(x[r*w+k])
		}
	}
}

// distances returns the sum of the distances of all ordered pairs of points.
func (p *pairSums[T]) distances(x []float64) float64 {
	p.set(x)
	p.run(p.job)
	sum := 0.0
	for _, s := range p.sums[:(p.points.Rows+kernel.PairLanes-1)/kernel.PairLanes] {
		sum += s
	}
	return sum
}

// sum adds up the distances of a block's points from each other, and twice those
// from later points.
func (p *pairSums[T]) sum(_, block int) {
	b, lo := &p.blocks[block], block*kernel.PairLanes
	hi, sum := min(lo+kernel.PairLanes, p.points.Rows), 0.0
	for source := lo; source < p.points.Rows; source += kernel.PairSources {
		n := min(kernel.PairSources, p.points.Rows-source)
		clear(b.lanes)
		p.points.Squares(b.tile, lo, source, n)
		kernel.SumRoots(b.lanes, b.tile, n)
		part := 0.0
		for _, v := range b.lanes[:hi-lo] {
			part += float64(v)
		}
		if source >= lo+kernel.PairLanes {
			part *= 2
		}
		sum += part
	}
	p.sums[block] = sum
}

// slopes overwrites the points with the sums over all others of the unit vectors
// from them.
func (p *pairSums[T]) slopes(x []float64) {
	p.set(x)
	p.slope.Zero(p.points.Rows)
	p.run(p.slopeJob)
	w := p.points.Columns
	for k := range w {
		for r, v := range p.slope.Column(k) {
			x[r*w+k] = float64(v)
		}
	}
}

func (p *pairSums[T]) slopeOf(_, block int) {
	b, lo := &p.blocks[block], block*kernel.PairLanes
	for source := 0; source < p.points.Rows; source += kernel.PairSources {
		n := min(kernel.PairSources, p.points.Rows-source)
		p.points.Squares(b.tile, lo, source, n)
		kernel.InverseRoots(b.tile, n)
		p.points.AddWeighted(p.slope, b.tile, lo, source, n)
	}
}
