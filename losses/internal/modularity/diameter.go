package modularity

import (
	"math"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/losses/internal/pairs"
)

// diameter is the largest Euclidean distance between two points (Zhang and Sugiyama 2024, example 7). Its gradient is
// the gradient of the first farthest pair, in lexicographic order, or 0 if all points are equal.
type diameter[T graph.Float] struct {
	points *kernel.Points[T]
	search *pairs.Search[T]
	i, j   int // the pair with the largest distance
	is     float64
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
	d.is = math.NaN()
	if !pairs.HasNaN(x[:rows*c]) {
		d.points.Set(x, rows)
		d.i, d.j = d.search.Run(rows)
		d.is = math.Sqrt(numeric.SquaredError(x[d.i*c:][:c], x[d.j*c:][:c]))
	}
	return d.is
}

func (d *diameter[T]) gradient(x []T, rows int, dx []T) {
	c := d.points.Columns
	clear(dx[:rows*c])
	if !(d.is > 0) {
		return
	}
	for k := range c {
		g := T(1 / d.is * (float64(x[d.i*c+k]) - float64(x[d.j*c+k])))
		dx[d.i*c+k], dx[d.j*c+k] = g, -g
	}
}
