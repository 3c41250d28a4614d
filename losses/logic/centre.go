package logic

import (
	"math"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/losses/logic/syntax"
)

// wantCentre describes the supported quantifiers over the points of R^k, for errors.
const wantCentre = "want exists c in z.name: forall i: ... -> z.name(i) =[euclidean] c, " +
	"with the aggregate max, mean, sum or mean-square, or =[squared] with max, mean or sum"

// centre is the minimal deviation of rows' codes from a point (Zhang and Sugiyama 2024, definition 25 and examples 2 to
// 4). It is the radius of the smallest enclosing ball, the mean distance from the geometric median, or the variance.
type centre struct {
	base
	kind    centreKind
	square  bool // the radius counts squared
	sum     bool // replaces the mean
	columns []int
	tests   []test
	rows    *binder
	state   int
}

type centreKind uint8

const (
	centreBall centreKind = iota
	centreMedian
	centreMean
)

// optimum is an evaluator's state of a centre: the result of its last computation.
type optimum struct {
	ball   geometry.Ball
	median geometry.Median
	mean   []float64
	rows   []int32
	points []float64
	slope  []float64
	failed bool
}

// centre compiles `exists c in z.name: forall i: guard -> z.name(i) =[euclidean] c`.
func (c *compiler) centre(f *syntax.Quantified) (node, error) {
	if err := f.CheckAggregate(); err != nil {
		return nil, c.fail(f, "%v", err)
	}
	columns, err := c.columnsOf(f.Domain.Space)
	if err != nil {
		return nil, err
	}
	inner, ok := f.Body.(*syntax.Quantified)
	if !ok || !inner.Universal || inner.Domain.Set != syntax.RowSet || len(inner.Domain.Names) != 1 || len(f.Domain.Names) != 1 {
		return nil, c.fail(f, "%s", wantCentre)
	}
	if err := c.declare(f, f.Domain.Names[0]); err != nil {
		return nil, err
	}
	guards, rest := inner.Guards()
	point, row := f.Domain.Names[0], inner.Domain.Names[0]
	e, ok := rest.(*syntax.Equality)
	if !ok || slices.ContainsFunc(guards, func(g syntax.Formula) bool { return syntax.Mentions(g, point) }) {
		return nil, c.fail(f, "%s", wantCentre)
	}
	code, other := syntax.Bare(e.A), syntax.Bare(e.B)
	if code == syntax.Variable(point) {
		code, other = other, code
	}
	a, ok := code.(*syntax.Access)
	if !ok || !a.Codes || string(a.Row) != row || other != syntax.Variable(point) || point == row {
		return nil, c.fail(f, "%s", wantCentre)
	}
	if own, err := c.columnsOf(a); err != nil {
		return nil, err
	} else if !slices.Equal(own, columns) {
		return nil, c.fail(e, "%s has other columns than the points of %s: %s", syntax.TextOf(a), syntax.TextOf(f.Domain.Space), wantCentre)
	}
	n := &centre{base: c.program.node(1), columns: columns, sum: inner.Aggregate == factor.Sum, state: c.program.centres}
	if n.kind, n.square, ok = centreOf(inner.Aggregate, e.Premetric); !ok || inner.Fold != syntax.NoFold {
		return nil, c.fail(e, "=[%v] with forall[%s] has no exact solution here: %s", e.Premetric, inner.AggregateName(), wantCentre)
	}
	c.program.centres++
	binders, err := c.bind(inner, inner.Body)
	if err != nil {
		return nil, err
	}
	defer c.unbind(len(binders) + len(inner.Domain.Moves))
	q := quantifier{binders: binders}
	if err := c.guard(&q, guards); err != nil {
		return nil, err
	}
	n.rows, n.tests = binders[0], q.tests
	return n, nil
}

// centreOf returns the centre problem of an aggregate of distances.
func centreOf(a factor.Aggregate, p syntax.Premetric) (kind centreKind, square, ok bool) {
	switch {
	case a == factor.Max && (p == syntax.Euclidean || p == syntax.Squared):
		return centreBall, p == syntax.Squared, true
	case (a == factor.Mean || a == factor.Sum) && p == syntax.Euclidean:
		return centreMedian, false, true
	case a == factor.MeanSquare && p == syntax.Euclidean, (a == factor.Mean || a == factor.Sum) && p == syntax.Squared:
		return centreMean, false, true
	}
	return 0, false, false
}

func (*centre) smooth() bool { return true }

func (f *centre) cost(e *engine) float64 {
	return max(1, costOf(f.tests, e)+f.rows.most(&e.data)*(1+costOf(f.rows.tests, e)))
}

func (f *centre) value(m *evaluator, _ int) []float64 {
	o, out := &m.optima[f.state], m.values[f.id][:1]
	f.gather(m, o)
	if out[0], o.failed = 0, false; len(o.rows) == 0 {
		return out
	}
	var err error
	switch f.kind {
	case centreBall:
		err = o.ball.Enclose(o.points, len(f.columns))
		if out[0] = o.ball.Radius; f.square {
			out[0] *= o.ball.Radius
		}
	case centreMedian:
		err = o.median.Fit(o.points, len(f.columns))
		out[0] = o.median.MeanDistance
	case centreMean:
		out[0] = o.variance(len(f.columns))
	}
	if f.sum {
		out[0] *= float64(len(o.rows))
	}
	if err != nil { // the codes are not finite
		out[0], o.failed = math.NaN(), true
	}
	return out
}

// gather lists the rows of the quantifier's domain, and their codes.
func (f *centre) gather(m *evaluator, o *optimum) {
	o.rows, o.points = o.rows[:0], o.points[:0]
	for _, t := range f.tests {
		if !t.holds(m) {
			return
		}
	}
	for _, r := range f.rows.candidates(m) {
		if m.index[f.rows.variable] = r; !f.rows.passes(m) {
			continue
		}
		o.rows = append(o.rows, r)
		for _, c := range f.columns {
			o.points = append(o.points, m.data.columns[c][r])
		}
	}
}

// variance is the mean squared distance from the mean.
func (o *optimum) variance(width int) float64 {
	o.mean = meanOf(o.mean, o.points, width)
	sum := 0.0
	for i, x := range o.points {
		d := x - o.mean[i%width]
		sum += d * d
	}
	return sum / float64(len(o.rows))
}

// meanOf returns the mean of points, row by row, and reuses the memory of mean. It averages differences from the first
// point, which makes the mean of equal points exact.
func meanOf(mean, points []float64, width int) []float64 {
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

// gradient adds the gradient of the distances from the optimal centre (envelope theorem).
func (f *centre) gradient(m *evaluator, _ int, g []float64) {
	o := &m.optima[f.state]
	n := float64(len(o.rows))
	if n == 0 || g[0] == 0 {
		return
	}
	scale := g[0]
	if f.sum {
		scale *= n
	}
	o.slope = append(o.slope[:0], o.points...)
	d := o.slope
	switch {
	case o.failed:
		for i := range d {
			d[i] = math.NaN()
		}
	case f.kind == centreBall:
		if f.square {
			scale *= 2 * o.ball.Radius
		}
		o.ball.Gradient(scale, d)
	case f.kind == centreMedian:
		o.median.Gradient(scale, d)
	default:
		for i := range d {
			d[i] = 2 * scale / n * (d[i] - o.mean[i%len(f.columns)])
		}
	}
	for i, r := range o.rows {
		for k, c := range f.columns {
			m.slopes[c][r] += d[i*len(f.columns)+k]
		}
	}
}
