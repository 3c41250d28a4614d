package losses

import (
	"math"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// Diameter is [Modularity] with the maximum over values of the largest Euclidean distance. It is differentiable if one
// pair is farther apart than all others and the distance is not 0.
//
// Source: Zhang and Sugiyama 2024, example 7, equation 25.
func Diameter(z, groups *gorgonia.Node, blocks ...factor.Block) (*gorgonia.Node, error) {
	return Modularity(factor.Diameter, factor.Max, Plain, z, groups, blocks...)
}

// NewDiameter returns the default settings of [Diameter].
func NewDiameter() *ModularityLoss { return newModularityLoss(factor.Diameter, factor.Max) }

// diameter is the largest Euclidean distance of two points (Zhang and Sugiyama 2024, example 7). Its gradient is the
// gradient of the first farthest pair, in lexicographic order, or 0 if all points are equal.
type diameter[T graph.Float] struct {
	pairs[T]
	search *numeric.Loop
	far    []T    // the largest squared distance of a point from a later one or one of its block
	pair   [2]int // the farthest
	is     float64
}

func newDiameter[T graph.Float](maxRows, columns int) deviation[T] {
	d := &diameter[T]{pairs: newPairs[T](maxRows, columns), far: make([]T, maxRows)}
	d.search = newPairLoop(maxRows, d.searchBlock)
	return d
}

func (d *diameter[T]) value(x []T, rows int) float64 {
	d.pair, d.is = [2]int{}, math.NaN()
	if hasNaN(x[:rows*d.points.Columns]) {
		return d.is
	}
	d.points.Set(x, rows)
	d.search.Resize(rows)
	d.search.Run()
	largest := d.far[0]
	for i, v := range d.far[:rows] {
		if v > largest {
			largest, d.pair[0] = v, i
		}
	}
	d.pair[1] = d.partner(d.pair[0], largest)
	c := d.points.Columns
	d.is = rowDistance(x[d.pair[0]*c:][:c], x[d.pair[1]*c:][:c])
	return d.is
}

func (d *diameter[T]) searchBlock(lo, hi int) float64 {
	b := &d.blocks[lo/kernel.PairLanes]
	clear(b.lanes)
	for t := range d.half(lo) {
		d.points.Squares(b.z, lo, t.source, t.n)
		kernel.MaxLanes(b.lanes, b.z, t.n)
	}
	copy(d.far[lo:hi], b.lanes)
	return 0
}

// partner returns the first point at the squared distance far from point i.
func (d *diameter[T]) partner(i int, far T) int {
	lo := i / kernel.PairLanes * kernel.PairLanes
	b := &d.blocks[lo/kernel.PairLanes]
	for t := range d.all() {
		d.points.Squares(b.z, lo, t.source, t.n)
		for k := range t.n {
			if b.z[k*kernel.PairLanes+i-lo] == far {
				return t.source + k
			}
		}
	}
	return i
}

func (d *diameter[T]) gradient(x []T, rows int, scale float64, dx []T) {
	c := d.points.Columns
	clear(dx[:rows*c])
	if !(d.is > 0) {
		return
	}
	i, j := d.pair[0]*c, d.pair[1]*c
	for k := range c {
		g := T(scale / d.is * (float64(x[i+k]) - float64(x[j+k])))
		dx[i+k], dx[j+k] = g, -g
	}
}
