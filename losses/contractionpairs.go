package losses

import (
	"math"

	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// contraction is the operation of [Contraction]. Rows with known factors are points. pairs holds their codes, square
// the factors joined by the Euclidean norm as coordinates, and others the factors with a premetric each.
type contraction[T graph.Float] struct {
	pairs[T]
	aggregate      factor.Aggregate
	add            bool
	sampled        int
	width, factors int
	columns        []int

	square, others               *kernel.Points[T]
	squareFactors, othersFactors []FactorDistance
	premetrics                   []kernel.Premetric

	rows              []int // rows with known chosen factors
	far               []T   // the largest hinge of a row and a later one or one of its block
	values, gradients *numeric.Loop
	worst             [2]int // the pair of the maximum
}

func newContraction[T graph.Float](s ContractionSettings, z, y tensor.Shape) *contraction[T] {
	n := z[0]
	c := &contraction[T]{aggregate: s.Aggregate, add: s.Add, sampled: s.Pairs, width: z[1], factors: y.TotalSize() / n, columns: s.Columns}
	if len(c.columns) == 0 {
		c.columns = upTo(c.width)
	}
	if len(s.Factors) == 0 {
		for i := range c.factors {
			s.Factors = append(s.Factors, FactorDistance{Factor: i})
		}
	}
	for _, f := range s.Factors {
		if f.Period == 0 {
			f.Period = 1
		}
		if f.Kind == AbsoluteDistance && !s.Add {
			c.squareFactors = append(c.squareFactors, f)
			continue
		}
		c.othersFactors = append(c.othersFactors, f)
		c.premetrics = append(c.premetrics, []kernel.Premetric{kernel.Absolute(), kernel.Discrete(), kernel.Circular(f.Period)}[f.Kind])
	}
	c.pairs = newPairs[T](n, len(c.columns))
	c.square = kernel.NewPoints[T](n, len(c.squareFactors))
	c.others = kernel.NewPoints[T](n, len(c.othersFactors))
	c.rows, c.far = make([]int, 0, n), make([]T, n)
	value, gradient := c.valueBlock, c.gradientBlock
	switch {
	case s.Pairs > 0:
		value, gradient = c.sampledValue, c.sampledGradient
	case s.Aggregate == factor.Max:
		value = c.searchBlock
	}
	c.values, c.gradients = newPairLoop(n, value), newPairLoop(n, gradient)
	return c
}

func (c *contraction[T]) Forward(in [][]T, out []T) {
	c.choose(in)
	n := len(c.rows)
	out[0], c.worst = 0, [2]int{}
	if n < 2 {
		return
	}
	c.values.Resize(n)
	if c.aggregate != factor.Max {
		out[0] = T(c.values.Run() * c.share())
		return
	}
	for _, p := range []*kernel.Points[T]{c.points, c.square, c.others} {
		for k := range p.Columns {
			if hasNaN(p.Column(k)) {
				out[0] = T(math.NaN())
				return
			}
		}
	}
	c.values.Run()
	out[0] = T(c.findWorst())
}

// share returns the weight of a pair in the aggregate.
func (c *contraction[T]) share() float64 {
	n, partners := len(c.rows), len(c.rows)
	if c.sampled > 0 {
		partners = c.partners()
	}
	if c.aggregate == factor.Sum {
		return 1
	}
	return 1 / float64(n) / float64(partners)
}

// choose copies the rows with known factors to the points.
func (c *contraction[T]) choose(in [][]T) {
	z, y := in[0], in[1]
	c.rows = c.rows[:0]
	for r := range len(z) / c.width {
		if len(in) < 3 || c.known(in[2][r*c.factors:]) {
			c.rows = append(c.rows, r)
		}
	}
	for i, column := range c.columns {
		c.gather(c.points, i, z[column:], c.width)
	}
	for i, f := range c.squareFactors {
		c.gather(c.square, i, y[f.Factor:], c.factors)
	}
	for i, f := range c.othersFactors {
		c.gather(c.others, i, y[f.Factor:], c.factors)
		if f.Kind == CircularDistance {
			values := c.others.Column(i)
			for r, v := range values {
				values[r] = T(float64(v) - f.Period*math.Floor(float64(v)/f.Period))
			}
		}
	}
}

func (c *contraction[T]) known(groups []T) bool {
	for _, f := range c.squareFactors {
		if groups[f.Factor] < 0 {
			return false
		}
	}
	for _, f := range c.othersFactors {
		if groups[f.Factor] < 0 {
			return false
		}
	}
	return true
}

// gather copies every stride-th element of x, for the chosen rows, to a coordinate.
func (c *contraction[T]) gather(p *kernel.Points[T], coordinate int, x []T, stride int) {
	if coordinate == 0 {
		p.Resize(len(c.rows))
	}
	to := p.Column(coordinate)
	for i, r := range c.rows {
		to[i] = x[r*stride]
	}
}

func (c *contraction[T]) Backward(_ [][]T, _, dout []T, din [][]T) {
	dz, n := din[0], len(c.rows)
	if dz == nil {
		return
	}
	clear(dz)
	if n < 2 {
		return
	}
	c.slope.Zero(n)
	scale := -2 * float64(dout[0]) * c.share() // for both orders of a pair
	if c.aggregate == factor.Max {
		scale = -float64(dout[0])
		c.addSlope(c.worst[0], c.worst[1], 1)
		c.addSlope(c.worst[1], c.worst[0], 1)
	} else {
		c.gradients.Resize(n)
		c.gradients.Run()
	}
	for k, column := range c.columns {
		for i, v := range c.slope.Column(k) {
			dz[c.rows[i]*c.width+column] = T(scale * float64(v))
		}
	}
}

func upTo(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

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

// partners returns the number of sampled partners of a row.
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

// sampledGradient sets the slopes of rows to half the slopes of their pairs: gradientBlock visits every pair in both
// orders.
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
