package logic

import (
	"math"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/losses/logic/syntax"
)

// fitted is the aggregate, over tuples of rows, of the distance of a term from a function's value. The function
// minimises the aggregate, or another criterion.
type fitted struct {
	base
	mapping   *mapping
	aggregate factor.Aggregate
	premetric syntax.Premetric
	method    method
	binders   []*binder
	tests     []test
	source    []coordinate // the argument, unless it is levels
	target    []coordinate // the other term
	codes     bool         // an argument or target depends on what has a gradient
	variable  int          // for functions of levels: the row with the levels as argument, or -1
	level     *binding     // or the value
	state     int
}

// method is the criterion that the function of a fit minimises.
type method uint8

const (
	fitSquares  method = iota // the mean square of the distances
	fitAbsolute               // the mean absolute deviation of every column
	fitNorms                  // the mean Euclidean distance
	fitMax                    // the largest Euclidean distance
)

// fitState is an evaluator's state of a fit: the result of its last computation. For a function of levels, tuples are
// in the order of their levels.
type fitState struct {
	tuples, sorted []int32 // values of the binders' variables
	starts, counts []int32 // tuples of one level
	group          int     // the group of the last fit
	x, t           []float64

	regression geometry.Regression
	isometry   geometry.Isometry
	ball       geometry.Ball
	median     geometry.Median
	column     []float64
	centre     []float64 // of the last group of levels

	rest   []float64 // t - h(x), for functions with a criterion
	given  []float64 // gradient of the quantity in rest
	g      []float64 // gradient in t of the minimised quantity
	dt, dx []float64
	failed bool // the numbers are not finite
}

func (f *fitted) smooth() bool { return f.codes }

func (f *fitted) cost(e *engine) float64 {
	tuples, cost := 1.0, costOf(f.tests, e)
	for _, b := range f.binders {
		tuples *= b.most(&e.data)
		cost += tuples * costOf(b.tests, e)
	}
	return max(1, cost+tuples*float64(1+len(f.source)))
}

// of reports how many tuples there are.
func (f *fitted) of(s *fitState) int { return len(s.tuples) / len(f.binders) }

func (f *fitted) value(m *evaluator, _ int) []float64 {
	s, out := &m.fits[f.state], m.values[f.id][:1]
	f.gather(m, s)
	var err error
	out[0], err = f.quantity(m, s)
	if s.failed = err != nil; s.failed {
		out[0] = math.NaN()
	}
	if e := m.engine; e.record != nil && e.fault == nil {
		e.fault = f.fault(m, s, err)
	}
	return out
}

// quantity fits the function and returns the aggregate of the distances.
func (f *fitted) quantity(m *evaluator, s *fitState) (float64, error) {
	switch {
	case f.of(s) == 0:
		return 0, nil
	case f.mapping.By != syntax.ByBody:
		return f.measured(m, s)
	case f.mapping.Class == syntax.AnyFunction:
		return f.centres(m, s)
	}
	v, err := f.fit(m, s, 0, f.of(s))
	if err != nil {
		return 0, err
	}
	f.keep(m, s)
	return f.scaled(s, v), nil
}

// keep hands the function to the caller that asked for it.
func (f *fitted) keep(m *evaluator, s *fitState) {
	if m.engine.record != nil {
		m.engine.record(m, f, s)
	}
}

// gather lists the tuples of the domain, by levels if levels are the argument, and computes their arguments and
// targets.
func (f *fitted) gather(m *evaluator, s *fitState) {
	s.tuples = s.tuples[:0]
	pass := true
	for _, t := range f.tests {
		pass = pass && t.holds(m)
	}
	if pass {
		f.walk(m, s, 0)
	}
	s.starts = append(s.starts[:0], 0, int32(f.of(s)))
	if f.mapping.Class == syntax.AnyFunction && f.level == nil {
		f.sort(m, s)
	}
	s.x, s.t = f.compute(m, s, f.source, s.x), f.compute(m, s, f.target, s.t)
}

// compute returns a term of all tuples, row by row, and reuses the memory of x.
func (f *fitted) compute(m *evaluator, s *fitState, term []coordinate, x []float64) []float64 {
	n, width := f.of(s), len(term)
	x = sized(x, n*width)
	for k := range term {
		if p, ok := f.plain(&term[k]); ok {
			column, offset := m.data.columns[p.column], term[k].offset
			for i, r := range s.tuples {
				x[i*width+k] = offset + p.weight*column[r]
			}
			continue
		}
		for i := range n {
			f.enter(m, s, i)
			x[i*width+k] = term[k].at(m)
		}
	}
	return x
}

// plain returns the part of a coordinate that is an entry of the only variable's row.
func (f *fitted) plain(c *coordinate) (part, bool) {
	if len(f.binders) != 1 || len(c.parts) != 1 || c.parts[0].variable != f.binders[0].variable {
		return part{}, false
	}
	return c.parts[0], true
}

// walk lets variable k run over its candidates.
func (f *fitted) walk(m *evaluator, s *fitState, k int) {
	b := f.binders[k]
	for _, v := range b.candidates(m) {
		m.index[b.variable] = v
		switch {
		case !b.passes(m):
		case k < len(f.binders)-1:
			f.walk(m, s, k+1)
		default:
			for _, b := range f.binders {
				s.tuples = append(s.tuples, m.index[b.variable])
			}
		}
	}
}

// enter sets the variables to a tuple.
func (f *fitted) enter(m *evaluator, s *fitState, tuple int) {
	for k, b := range f.binders {
		m.index[b.variable] = s.tuples[tuple*len(f.binders)+k]
	}
}

// at computes a coordinate of the present tuple.
func (c *coordinate) at(m *evaluator) float64 {
	x := c.offset
	for _, p := range c.parts {
		x += p.weight * m.data.columns[p.column][m.index[p.variable]]
	}
	return x
}

// sort puts tuples into the order of their levels, and notes where levels start. It sorts by the last factor first and
// keeps the order of equals.
func (f *fitted) sort(m *evaluator, s *fitState) {
	width, n := len(f.binders), f.of(s)
	own := slices.IndexFunc(f.binders, func(b *binder) bool { return b.variable == f.variable })
	if own < 0 { // a row of a quantifier around
		return
	}
	for _, k := range slices.Backward(f.mapping.from) {
		levels := m.data.levels[k]
		s.counts = append(s.counts[:0], make([]int32, m.data.counts[k]+1)...)
		for i := range n {
			s.counts[levels[s.tuples[i*width+own]]+1]++
		}
		for l := range m.data.counts[k] {
			s.counts[l+1] += s.counts[l]
		}
		s.sorted = slices.Grow(s.sorted[:0], len(s.tuples))[:len(s.tuples)]
		for i := range n {
			l := levels[s.tuples[i*width+own]]
			copy(s.sorted[int(s.counts[l])*width:], s.tuples[i*width:(i+1)*width])
			s.counts[l]++
		}
		s.tuples, s.sorted = s.sorted, s.tuples
	}
	s.starts = s.starts[:1]
	for i := range n {
		if i > 0 && slices.ContainsFunc(f.mapping.from, func(k int) bool {
			return m.data.levels[k][s.tuples[i*width+own]] != m.data.levels[k][s.tuples[(i-1)*width+own]]
		}) {
			s.starts = append(s.starts, int32(i))
		}
	}
	s.starts = append(s.starts, int32(n))
}

// gradient adds the gradient of the quantity. If the function minimises the quantity, the gradient holds the function
// fixed (envelope theorem); otherwise it goes through the function.
func (f *fitted) gradient(m *evaluator, _ int, g []float64) {
	s := &m.fits[f.state]
	if f.of(s) == 0 || g[0] == 0 || !f.codes {
		return
	}
	dt, dx := f.slopes(m, s)
	f.push(m, s, f.target, dt, g[0])
	f.push(m, s, f.source, dx, g[0])
}

// push adds the gradient of a term, times g.
func (f *fitted) push(m *evaluator, s *fitState, term []coordinate, d []float64, g float64) {
	width := len(term)
	for k := range term {
		if p, ok := f.plain(&term[k]); ok {
			if m.smooth(p.column) {
				to, weight := m.slopes[p.column], g*p.weight
				for i, r := range s.tuples {
					to[r] += weight * d[i*width+k]
				}
			}
			continue
		}
		for i := range f.of(s) {
			f.enter(m, s, i)
			for _, p := range term[k].parts {
				if m.smooth(p.column) {
					m.slopes[p.column][m.index[p.variable]] += p.weight * g * d[i*width+k]
				}
			}
		}
	}
}
