package graph

import (
	"math"

	"github.com/unravel-ml/unravel/factor"
	"github.com/unravel-ml/unravel/internal/kernel"
)

// labelTile sets b.y to the distances of labels.
func (c *contraction[T]) labelTile(b *pairBlock[T], lo int, t pairTile) {
	if c.square.Columns > 0 {
		c.square.Squares(b.y, lo, t.source, t.n)
	} else {
		clear(b.y[:t.n*kernel.PairLanes])
	}
	for i, m := range c.premetrics {
		c.others.AddPremetric(b.y, m, !c.add, i, lo, t.source, t.n)
	}
	if !c.add {
		kernel.Roots(b.y, t.n)
	}
}

func (c *contraction[T]) valueBlock(lo, hi int) float64 {
	b, sum := &c.blocks[lo/kernel.PairLanes], 0.0
	for t := range c.half(lo) {
		c.points.Squares(b.z, lo, t.source, t.n)
		c.labelTile(b, lo, t)
		kernel.SumHinges(b.lanes, b.z, b.y, c.aggregate == factor.MeanSquare, t.n)
		sum += t.times * sumLanes(b.lanes, hi-lo)
	}
	return sum
}

func (c *contraction[T]) gradientBlock(lo, _ int) float64 {
	b := &c.blocks[lo/kernel.PairLanes]
	for t := range c.all() {
		c.points.Squares(b.z, lo, t.source, t.n)
		c.labelTile(b, lo, t)
		kernel.HingeSlopes(b.z, b.y, c.aggregate == factor.MeanSquare, t.n)
		c.points.AddWeighted(c.slope, b.z, lo, t.source, t.n)
	}
	return 0
}

func (c *contraction[T]) searchBlock(lo, hi int) float64 {
	b := &c.blocks[lo/kernel.PairLanes]
	clear(b.lanes)
	for t := range c.half(lo) {
		c.points.Squares(b.z, lo, t.source, t.n)
		c.labelTile(b, lo, t)
		kernel.Hinges(b.z, b.y, t.n)
		kernel.MaxLanes(b.lanes, b.z, t.n)
	}
	copy(c.far[lo:hi], b.lanes)
	return 0
}

// findWorst finds the first pair of the maximum, and returns its hinge.
func (c *contraction[T]) findWorst() float64 {
	i := 0
	for r, v := range c.far[:len(c.rows)] {
		if v > c.far[i] {
			i = r
		}
	}
	c.worst = [2]int{i, c.partner(i, c.far[i])}
	h, _ := c.hinge(c.worst[0], c.worst[1])
	return h
}

// partner returns the first partner of row i with a given hinge.
func (c *contraction[T]) partner(i int, far T) int {
	if c.sampled > 0 {
		for s := 1; s <= c.partners(); s++ {
			j := (i + s) % len(c.rows)
			if h, _ := c.hinge(i, j); T(h) == far {
				return j
			}
		}
		return i
	}
	lo := i / kernel.PairLanes * kernel.PairLanes
	b := &c.blocks[lo/kernel.PairLanes]
	for t := range c.all() {
		c.points.Squares(b.z, lo, t.source, t.n)
		c.labelTile(b, lo, t)
		kernel.Hinges(b.z, b.y, t.n)
		for k := range t.n {
			if b.z[k*kernel.PairLanes+i-lo] == far {
				return t.source + k
			}
		}
	}
	return i
}

// hinge returns max(d_Y - d_Z, 0) and d_Z of two rows.
func (c *contraction[T]) hinge(i, j int) (h, distance float64) {
	z, y := 0.0, 0.0
	for k := range c.points.Columns {
		x := c.points.Column(k)
		d := float64(x[i]) - float64(x[j])
		z += d * d
	}
	for k := range c.square.Columns {
		x := c.square.Column(k)
		d := float64(x[i]) - float64(x[j])
		y += d * d
	}
	for k, m := range c.premetrics {
		x := c.others.Column(k)
		d := m.Distance(float64(x[i]), float64(x[j]))
		if !c.add {
			d *= d
		}
		y += d
	}
	if !c.add {
		y = math.Sqrt(y)
	}
	distance = math.Sqrt(z)
	return max(y-distance, 0), distance
}

// partners is how many sampled partners a row has.
func (c *contraction[T]) partners() int { return min(c.sampled, len(c.rows)-1) }

// sampledValue adds up the sampled pairs of the rows from lo to hi, and keeps the
// largest of every row.
func (c *contraction[T]) sampledValue(lo, hi int) float64 {
	n, sum := len(c.rows), 0.0
	for r := lo; r < hi; r++ {
		c.far[r] = 0
		for s := 1; s <= c.partners(); s++ {
			h, _ := c.hinge(r, (r+s)%n)
			c.far[r] = max(c.far[r], T(h))
			if c.aggregate == factor.MeanSquare {
				h *= h
			}
			sum += h
		}
	}
	return sum
}

// sampledGradient sets the slopes of rows: half of what their pairs give, like
// gradientBlock, in which every pair comes in both orders.
func (c *contraction[T]) sampledGradient(lo, hi int) float64 {
	n := len(c.rows)
	for r := lo; r < hi; r++ {
		for s := 1; s <= c.partners(); s++ {
			c.addSlope(r, (r+s)%n, 0.5)
			c.addSlope(r, (r-s+n)%n, 0.5)
		}
	}
	return 0
}

// addSlope adds to row i its share of the slope of a pair, times a factor.
func (c *contraction[T]) addSlope(i, j int, scale float64) {
	h, d := c.hinge(i, j)
	if !(h > 0 && d > 0) {
		return
	}
	scale /= d
	if c.aggregate == factor.MeanSquare {
		scale *= 2 * h
	}
	for k := range c.points.Columns {
		x, to := c.points.Column(k), c.slope.Column(k)
		to[i] += T(scale * (float64(x[i]) - float64(x[j])))
	}
}
