package modularity

import (
	"math"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/losses/internal/pairs"
)

// deviation measures the spread of points; it is 0 if all points are equal. An instance owns its scratch memory, and
// only one goroutine uses it at a time.
type deviation[T graph.Float] interface {
	// value returns the deviation of points x, rows x columns, rows >= 1.
	value(x []T, rows int) float64

	// gradient overwrites dx with the gradient of the value at x; the last call of value must have been for the same x.
	gradient(x []T, rows int, dx []T)
}

func newDeviation[T graph.Float](d factor.Deviation, maxRows, columns int) deviation[T] {
	switch d {
	case factor.Diameter:
		return newDiameter[T](maxRows, columns)
	case factor.MPD:
		return newMPD[T](maxRows, columns)
	case factor.Radius:
		return newRadius[T](columns)
	case factor.MAD:
		return newMAD[T](columns)
	}
	return newVariance[T](columns)
}

// variance is the total population variance, 1/n sum_i |x_i - mean|^2.
type variance[T graph.Float] struct {
	columns int
	mean    []float64 // mean minus the first point
}

func (v *variance[T]) value(x []T, rows int) float64 {
	c := v.columns
	origin := x[:c] // subtracted, so equal points give exactly 0
	clear(v.mean)
	for i := c; i < rows*c; i += c {
		for j, e := range x[i : i+c] {
			v.mean[j] += float64(e) - float64(origin[j])
		}
	}
	for j := range v.mean {
		v.mean[j] /= float64(rows)
	}
	sum := 0.0
	for i := 0; i < rows*c; i += c {
		for j, e := range x[i : i+c] {
			d := float64(e) - float64(origin[j]) - v.mean[j]
			sum += d * d
		}
	}
	return sum / float64(rows)
}

func (v *variance[T]) gradient(x []T, rows int, dx []T) {
	c, f := v.columns, 2/float64(rows)
	origin := x[:c]
	for i := 0; i < rows*c; i += c {
		for j, e := range x[i : i+c] {
			dx[i+j] = T(f * (float64(e) - float64(origin[j]) - v.mean[j]))
		}
	}
}

func newVariance[T graph.Float](columns int) deviation[T] {
	return &variance[T]{columns, make([]float64, columns)}
}

// mpd is half the mean Euclidean distance over all ordered pairs of points, including each point paired with itself:
//
//	1/(2 n^2) sum_ij |x_i - x_j|
//
// (Zhang and Sugiyama 2024, equation 24 with the mean; the paper's tables include the half). The gradient of a distance
// of 0 is 0.
type mpd[T graph.Float] struct{ *numeric.Distances[T] }

func (m mpd[T]) value(x []T, rows int) float64 {
	unit := m.Points.Set(x, rows)
	return m.Sum() / unit / 2 / float64(rows) / float64(rows)
}

func (m mpd[T]) gradient(_ []T, rows int, dx []T) {
	m.Slopes()
	columns, weight := m.Slope.Columns, 1/float64(rows)/float64(rows)
	for c := range columns {
		for r, v := range m.Slope.Column(c) {
			dx[r*columns+c] = T(weight * float64(v))
		}
	}
}

func newMPD[T graph.Float](maxRows, columns int) deviation[T] {
	return mpd[T]{numeric.NewDistances[T](maxRows, columns, false)}
}

// optimum is a deviation minimised over all centres, in float64. The gradient holds the centre (envelope theorem).
type optimum[T graph.Float] struct {
	columns int
	fit     func(x []float64, columns int) (float64, error)
	slope   func(scale float64, dx []float64)

	x   []float64
	err error // set if the last value contained NaN or infinity
}

func (o *optimum[T]) value(x []T, rows int) float64 {
	o.x = o.x[:0]
	for _, v := range x[:rows*o.columns] {
		o.x = append(o.x, float64(v))
	}
	var v float64
	if v, o.err = o.fit(o.x, o.columns); o.err != nil {
		return math.NaN()
	}
	return v
}

func (o *optimum[T]) gradient(_ []T, rows int, dx []T) {
	g := o.x[:rows*o.columns]
	if o.err == nil {
		o.slope(1, g)
	}
	for i, v := range g {
		if o.err != nil {
			v = math.NaN()
		}
		dx[i] = T(v)
	}
}

// newRadius returns the radius of the smallest enclosing ball. If several sets of points determine the ball, one of
// them gives the gradient.
func newRadius[T graph.Float](columns int) deviation[T] {
	b := new(geometry.Ball)
	return &optimum[T]{columns: columns, slope: b.Gradient, fit: func(x []float64, columns int) (float64, error) {
		err := b.Enclose(x, columns)
		return b.Radius, err
	}}
}

// newMAD returns the mean distance from the geometric median.
func newMAD[T graph.Float](columns int) deviation[T] {
	m := new(geometry.Median)
	return &optimum[T]{columns: columns, slope: m.Gradient, fit: func(x []float64, columns int) (float64, error) {
		err := m.Fit(x, columns)
		return m.MeanDistance, err
	}}
}

// diameter is the largest Euclidean distance between two points (Zhang and Sugiyama 2024, example 7). Its gradient is
// the gradient of the first farthest pair, in lexicographic order, or 0 if all points are equal.
type diameter[T graph.Float] struct {
	points   *kernel.Points[T]
	search   *pairs.Search[T]
	i, j     int // the pair with the largest distance
	distance float64
}

func newDiameter[T graph.Float](maxRows, columns int) deviation[T] {
	d := &diameter[T]{points: kernel.NewPoints[T](maxRows, columns)}
	d.search = pairs.NewSearch(pairs.NewBlocks[T](maxRows), maxRows, func(b *pairs.Block[T], lo int, t pairs.Tile) {
		d.points.Squares(b.Z, lo, t.Source, t.N)
	})
	return d
}

func (d *diameter[T]) value(x []T, rows int) float64 {
	c := d.points.Columns
	d.distance = math.NaN()
	if !pairs.HasNaN(x[:rows*c]) {
		d.points.Set(x, rows)
		d.i, d.j = d.search.Run(rows)
		d.distance = math.Sqrt(numeric.SquaredError(x[d.i*c:][:c], x[d.j*c:][:c]))
	}
	return d.distance
}

func (d *diameter[T]) gradient(x []T, rows int, dx []T) {
	c := d.points.Columns
	clear(dx[:rows*c])
	if !(d.distance > 0) {
		return
	}
	for k := range c {
		g := T(1 / d.distance * (float64(x[d.i*c+k]) - float64(x[d.j*c+k])))
		dx[d.i*c+k], dx[d.j*c+k] = g, -g
	}
}
