package eval

import (
	"math"

	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/losses/logic/internal/program"
)

// centre is the minimum deviation of the rows' codes from a point (Zhang and Sugiyama 2024, definition 25 and examples
// 2 to 4). It is the radius of the smallest enclosing ball, the mean distance from the geometric median, or the
// variance.
type centre struct {
	base
	*program.Centre
	ball   geometry.Ball
	median geometry.Median
	mean   []float64
	rows   []int32
	points []float64
	slope  []float64
	failed bool
}

func newCentre(b *builder, p *program.Centre) *centre {
	f := &centre{base: b.base(), Centre: p}
	f.ball.Interrupt, f.median.Interrupt = b.engine.interrupt, b.engine.interrupt
	return f
}

func (f *centre) cost(d *data) float64 {
	return max(1, costsOf(d, f.Tests)+d.most(f.Rows)*(1+costsOf(d, f.Rows.Tests)))
}

func (f *centre) value(m *evaluator, _ int) []float64 {
	out := f.values[:1]
	f.gather(m)
	if out[0], f.failed = 0, false; len(f.rows) == 0 {
		return out
	}
	var err error
	switch f.Kind {
	case program.Ball:
		err = f.ball.Enclose(f.points, len(f.Columns))
		if out[0] = f.ball.Radius; f.Square {
			out[0] *= f.ball.Radius
		}
	case program.Median:
		err = f.median.Fit(f.points, len(f.Columns))
		out[0] = f.median.MeanDistance
	case program.Mean:
		out[0] = f.variance(len(f.Columns))
	}
	if f.Sum {
		out[0] *= float64(len(f.rows))
	}
	if err != nil { // the codes are not finite
		out[0], f.failed = math.NaN(), true
	}
	return out
}

// gather lists the rows of the quantifier's domain, and their codes.
func (f *centre) gather(m *evaluator) {
	f.rows, f.points = f.rows[:0], f.points[:0]
	if !m.pass(f.Tests) {
		return
	}
	for _, r := range m.candidates(f.Rows) {
		if m.index[f.Rows.Variable] = r; !m.pass(f.Rows.Tests) {
			continue
		}
		f.rows = append(f.rows, r)
		for _, c := range f.Columns {
			f.points = append(f.points, m.data.columns[c][r])
		}
	}
}

// variance is the mean squared distance from the mean.
func (f *centre) variance(width int) float64 {
	f.mean = meanOf(f.mean, f.points, width)
	sum := 0.0
	for i, x := range f.points {
		d := x - f.mean[i%width]
		sum += d * d
	}
	return sum / float64(len(f.rows))
}

// meanOf returns the mean of points, row by row, in the memory of mean. It averages differences from the first point,
// so the mean of equal points is exact.
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
	n := float64(len(f.rows))
	if n == 0 || g[0] == 0 {
		return
	}
	scale := g[0]
	if f.Sum {
		scale *= n
	}
	f.slope = append(f.slope[:0], f.points...)
	d := f.slope
	switch {
	case f.failed:
		for i := range d {
			d[i] = math.NaN()
		}
	case f.Kind == program.Ball:
		if f.Square {
			scale *= 2 * f.ball.Radius
		}
		f.ball.Gradient(scale, d)
	case f.Kind == program.Median:
		f.median.Gradient(scale, d)
	default:
		for i := range d {
			d[i] = 2 * scale / n * (d[i] - f.mean[i%len(f.Columns)])
		}
	}
	for i, r := range f.rows {
		for k, c := range f.Columns {
			m.slopes[c][r] += d[i*len(f.Columns)+k]
		}
	}
}
