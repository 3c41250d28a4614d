package eval

import (
	"math"
	"slices"

	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/losses/logic/internal/program"
	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

// fit is the aggregate, over tuples of rows, of the distance between a term and a function's value. The function
// minimises the aggregate, or another criterion.
type fit struct {
	base
	*program.Fit
	over *domain

	tuples, sorted []int32 // values of the binders' variables; for a function of levels, sorted by level
	starts, counts []int32 // tuples of each level
	group          int     // the group of the last fit
	x, t           []float64

	regression geometry.Regression
	isometry   geometry.Isometry
	ball       geometry.Ball
	median     geometry.Median
	column     []float64
	centre     []float64 // centre of the last group of levels

	residuals        []float64 // the residuals t - h(x), for functions with a criterion
	residualGradient []float64 // gradient of the quantity with respect to the residuals
	targetGradient   []float64 // gradient of the minimised quantity with respect to the targets
	dt, dx           []float64
	failed           bool // the numbers are not finite
}

func newFit(b *builder, p *program.Fit) *fit {
	f, i := &fit{base: b.base(), Fit: p, over: b.domain(p, p.Text)}, b.engine.interrupt
	f.regression.Interrupt, f.ball.Interrupt, f.median.Interrupt = i, i, i
	return f
}

func (f *fit) cost(d *data) float64 {
	tuples, cost := maxTuples(d, f.Tests, f.Binders)
	return max(1, cost+tuples*float64(1+len(f.Source)))
}

func (f *fit) count() int { return len(f.tuples) / len(f.Binders) }

func (f *fit) value(m *evaluator, _ int) []float64 {
	out := f.values[:1]
	f.listTuples(m)
	f.over.visit(float64(f.count()))
	var err error
	out[0], err = f.quantity(m)
	if f.failed = err != nil; f.failed {
		out[0] = math.NaN()
	}
	if e := m.engine; e.recordFit != nil && e.fault == nil && !f.IsPoint() {
		e.fault = f.fitError(m, err)
	}
	return out
}

// quantity fits the function and returns the aggregate of the distances.
func (f *fit) quantity(m *evaluator) (float64, error) {
	switch {
	case f.count() == 0:
		return 0, nil
	case f.By != syntax.ByBody:
		return f.fitCriterion(m)
	case f.IsPoint():
		return f.fitPoint()
	case f.Class == syntax.AnyFunction:
		return f.fitLevels(m)
	}
	v, err := f.fit(m, 0, f.count())
	if err != nil {
		return 0, err
	}
	f.recordFunction(m)
	return f.scaleMinimum(v), nil
}

// recordFunction passes the function to the caller that requested it.
func (f *fit) recordFunction(m *evaluator) {
	if m.engine.recordFit != nil {
		m.engine.recordFit(f)
	}
}

// listTuples lists the tuples of the domain, by level if levels are the argument, and computes their arguments and
// targets.
func (f *fit) listTuples(m *evaluator) {
	f.tuples = f.tuples[:0]
	if m.passAll(f.Tests) {
		f.walk(m, 0)
	}
	f.starts = append(f.starts[:0], 0, int32(f.count()))
	if f.Class == syntax.AnyFunction && f.Level == nil {
		f.sortByLevel(m)
	}
	f.x, f.t = f.compute(m, f.Source, f.x), f.compute(m, f.Target, f.t)
}

// compute returns the values of a term for all tuples, row by row, in the memory of x.
func (f *fit) compute(m *evaluator, term []program.Coordinate, x []float64) []float64 {
	n, width := f.count(), len(term)
	x = resize(x, n*width)
	for k := range term {
		if p, ok := f.singleEntry(&term[k]); ok {
			column, offset := m.data.columns[p.Column], term[k].Offset
			for i, r := range f.tuples {
				x[i*width+k] = offset + p.Weight*column[r]
			}
			continue
		}
		for i := range n {
			f.setTuple(m, i)
			x[i*width+k] = m.coordinateValue(&term[k])
		}
	}
	return x
}

// singleEntry returns the part of a coordinate that is a single entry of the only variable's row.
func (f *fit) singleEntry(c *program.Coordinate) (program.Part, bool) {
	if len(f.Binders) != 1 || len(c.Parts) != 1 || c.Parts[0].Variable != f.Binders[0].Variable {
		return program.Part{}, false
	}
	return c.Parts[0], true
}

// walk lets variable k run over its candidates.
func (f *fit) walk(m *evaluator, k int) {
	b := f.Binders[k]
	for _, v := range m.candidates(b) {
		m.index[b.Variable] = v
		switch {
		case !m.passAll(b.Tests):
		case k < len(f.Binders)-1:
			f.walk(m, k+1)
		default:
			for _, b := range f.Binders {
				f.tuples = append(f.tuples, m.index[b.Variable])
			}
		}
	}
}

// setTuple sets the variables to a tuple.
func (f *fit) setTuple(m *evaluator, tuple int) {
	for k, b := range f.Binders {
		m.index[b.Variable] = f.tuples[tuple*len(f.Binders)+k]
	}
}

// coordinateValue computes a coordinate of the current tuple.
func (m *evaluator) coordinateValue(c *program.Coordinate) float64 {
	x := c.Offset
	for _, p := range c.Parts {
		x += p.Weight * m.data.columns[p.Column][m.index[p.Variable]]
	}
	return x
}

// sortByLevel sorts tuples by level, and records where each level starts. It sorts by the last factor first, stably.
func (f *fit) sortByLevel(m *evaluator) {
	width, n := len(f.Binders), f.count()
	position := slices.IndexFunc(f.Binders, func(b *program.Binder) bool { return b.Variable == f.Row })
	if position < 0 { // a row of an outer quantifier
		return
	}
	for _, k := range slices.Backward(f.FromColumns) {
		levels := m.data.levels[k]
		f.counts = append(f.counts[:0], make([]int32, m.data.counts[k]+1)...)
		for i := range n {
			f.counts[levels[f.tuples[i*width+position]]+1]++
		}
		for l := range m.data.counts[k] {
			f.counts[l+1] += f.counts[l]
		}
		f.sorted = slices.Grow(f.sorted[:0], len(f.tuples))[:len(f.tuples)]
		for i := range n {
			l := levels[f.tuples[i*width+position]]
			copy(f.sorted[int(f.counts[l])*width:], f.tuples[i*width:(i+1)*width])
			f.counts[l]++
		}
		f.tuples, f.sorted = f.sorted, f.tuples
	}
	f.starts = f.starts[:1]
	for i := range n {
		if i > 0 && slices.ContainsFunc(f.FromColumns, func(k int) bool {
			return m.data.levels[k][f.tuples[i*width+position]] != m.data.levels[k][f.tuples[(i-1)*width+position]]
		}) {
			f.starts = append(f.starts, int32(i))
		}
	}
	f.starts = append(f.starts, int32(n))
}

// gradient adds the gradient of the quantity. If the function minimises the quantity, the gradient holds the function
// fixed (envelope theorem); otherwise it goes through the function.
func (f *fit) gradient(m *evaluator, _ int, g []float64) {
	if f.count() == 0 || g[0] == 0 || !f.Codes {
		return
	}
	if f.IsPoint() && !f.failed {
		f.addGradient(m, f.Target, f.pointGradient(g[0]), 1)
		return
	}
	dt, dx := f.gradients(m)
	f.addGradient(m, f.Target, dt, g[0])
	f.addGradient(m, f.Source, dx, g[0])
}

// addGradient adds g times the gradient with respect to a term.
func (f *fit) addGradient(m *evaluator, term []program.Coordinate, d []float64, g float64) {
	width := len(term)
	for k := range term {
		if p, ok := f.singleEntry(&term[k]); ok {
			if m.hasGradient(p.Column) {
				gradient, weight := m.gradients[p.Column], g*p.Weight
				for i, r := range f.tuples {
					gradient[r] += weight * d[i*width+k]
				}
			}
			continue
		}
		for i := range f.count() {
			f.setTuple(m, i)
			for _, p := range term[k].Parts {
				if m.hasGradient(p.Column) {
					m.gradients[p.Column][m.index[p.Variable]] += p.Weight * g * d[i*width+k]
				}
			}
		}
	}
}

// pointMean returns the mean of points in the memory of mean. It averages differences, so equal points have an exact
// mean.
func pointMean(mean, points []float64, width int) []float64 {
	mean = append(mean[:0], points[:width]...)
	n := float64(len(points) / width)
	for k, first := range mean {
		sum := 0.0
		for i := k; i < len(points); i += width {
			sum += points[i] - first
		}
		mean[k] = first + sum/n
	}
	return mean
}
