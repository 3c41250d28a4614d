// Package informative computes losses for how well codes distinguish factors: contraction, separation, and the error of
// a left inverse.
package informative

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/losses/internal/check"
	"github.com/unravel-ml/unravel/losses/internal/pairs"
)

// Settings are losses.ContractionSettings.
type Settings struct {
	Aggregate factor.Aggregate
	Columns   []int
	Factors   []Distance
	Add       bool
	Pairs     int
}

// Distance is a losses.FactorDistance.
type Distance struct {
	Factor int
	Kind   Kind
	Period float64
}

// Kind is a losses.DistanceKind.
type Kind uint8

// The distances between numbers.
const (
	Absolute Kind = iota
	Discrete
	Circular
)

// Contraction adds the node that losses.Contraction documents.
func Contraction(s Settings, z, y, groups *gorgonia.Node) (*gorgonia.Node, error) {
	s.Columns = slices.Clone(s.Columns)
	in := check.Optional(z, y, groups)
	return graph.Apply(graph.Spec{
		Name: "contraction",
		Key:  graph.Key(s.Aggregate, s.Columns, s.Factors, s.Add, s.Pairs),
		Diff: []bool{true, false, false}[:len(in)],
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			return tensor.ScalarShape(), s.check(in)
		},
		New:    graph.Bodies(newContraction[float32](s), newContraction[float64](s)),
		Device: s.record,
	}, in...)
}

func (s Settings) record(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
	s = s.withDefaults(in)
	h := kernels.Hinges{Rows: in[0][0], Width: in[0][1], Factors: check.Factors(in[1]), Aggregate: int(s.Aggregate),
		Columns: s.Columns, Add: s.Add, Pairs: s.Pairs}
	for _, f := range s.Factors {
		h.Distances = append(h.Distances, kernels.LabelDistance{Factor: f.Factor, Kind: int(f.Kind), Period: f.Period})
	}
	return graph.Recording{
		Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
			kernels.Contraction(t, in[0], in[1], check.Buffer(in, 2), out, h)
		},
		Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
			kernels.ContractionGradient(t, in[0], in[1], check.Buffer(in, 2), dout, din[0], h)
		},
	}, nil
}

// withDefaults replaces unset columns and factors by all of them, and the period 0 by 1.
func (s Settings) withDefaults(in []tensor.Shape) Settings {
	if len(s.Columns) == 0 {
		s.Columns = numeric.UpTo(in[0][1])
	}
	s.Factors = slices.Clone(s.Factors)
	if len(s.Factors) == 0 {
		for i := range check.Factors(in[1]) {
			s.Factors = append(s.Factors, Distance{Factor: i})
		}
	}
	for i := range s.Factors {
		s.Factors[i].Period = cmp.Or(s.Factors[i].Period, 1)
	}
	return s
}

func (s Settings) check(in []tensor.Shape) error {
	n, width, err := graph.Matrix("codes", in[0])
	if err != nil {
		return err
	}
	factors, err := check.Labels("labels", in[1], n)
	if err != nil {
		return err
	}
	if len(in) > 2 && !slices.Equal(in[2], in[1]) {
		return graph.Wanted(fmt.Sprintf("groups of the shape %v of the labels", in[1]), in[2])
	}
	if err := check.Distinct("columns", s.Columns, width); err != nil {
		return err
	}
	indices := make([]int, len(s.Factors))
	for i, f := range s.Factors {
		indices[i] = f.Factor
		if f.Kind > Circular || !(f.Period >= 0) || math.IsInf(f.Period, 1) {
			return graph.Wanted("absolute, discrete and circular distances with finite periods", f)
		}
	}
	if s.Pairs < 0 || s.Aggregate > factor.MeanSquare {
		return graph.Wanted("an aggregate and a number of pairs from 0 on", []any{s.Aggregate, s.Pairs})
	}
	return check.Distinct("factors", indices, factors)
}

// contraction is the operation of [Contraction]. Rows with known factors are points. points holds their codes, square
// the factors whose differences are combined by the Euclidean norm, and remaining the other factors, each with a
// premetric.
type contraction[T graph.Float] struct {
	Settings
	width, factors int

	points, slope, square, remaining *kernel.Points[T]
	squareFactors, remainingFactors  []Distance
	premetrics                       []kernel.Premetric
	blocks                           []pairs.Block[T]

	rows              []int // rows with known chosen factors
	values, gradients *numeric.Loop
	search            *pairs.Search[T] // for the largest hinge
	largestHinges     []T              // by row: the largest hinge with a sampled partner
	worstPair         [2]int           // the pair with the maximum
}

func newContraction[T graph.Float](s Settings) func(in []tensor.Shape) *contraction[T] {
	return func(in []tensor.Shape) *contraction[T] {
		n := in[0][0]
		c := &contraction[T]{Settings: s.withDefaults(in), width: in[0][1], factors: check.Factors(in[1]),
			blocks: pairs.NewBlocks[T](n)}
		for _, f := range c.Factors {
			if f.Kind == Absolute && !s.Add {
				c.squareFactors = append(c.squareFactors, f)
				continue
			}
			c.remainingFactors = append(c.remainingFactors, f)
			premetrics := []kernel.Premetric{kernel.Absolute(), kernel.Discrete(), kernel.Circular(f.Period)}
			c.premetrics = append(c.premetrics, premetrics[f.Kind])
		}
		c.points, c.slope = kernel.NewPoints[T](n, len(c.Columns)), kernel.NewPoints[T](n, len(c.Columns))
		c.square, c.remaining = kernel.NewPoints[T](n, len(c.squareFactors)), kernel.NewPoints[T](n, len(c.remainingFactors))
		c.rows, c.largestHinges = make([]int, 0, n), make([]T, n)
		c.values, c.gradients = pairs.NewLoop(n, c.valueBlock), pairs.NewLoop(n, c.gradientBlock)
		if s.Pairs > 0 {
			c.values, c.gradients = pairs.NewLoop(n, c.sampledValue), pairs.NewLoop(n, c.sampledGradient)
		}
		c.search = pairs.NewSearch(c.blocks, n, func(b *pairs.Block[T], lo int, t pairs.Tile) {
			c.tile(b, lo, t)
			kernel.Hinges(b.Z, b.Y, t.N)
		})
		return c
	}
}

func (c *contraction[T]) Forward(in [][]T, out []T) {
	c.selectRows(in)
	out[0], c.worstPair = 0, [2]int{}
	if len(c.rows) < 2 {
		return
	}
	if c.Aggregate != factor.Max {
		c.values.Resize(len(c.rows))
		out[0] = T(c.values.Run() * c.share())
		return
	}
	for _, p := range []*kernel.Points[T]{c.points, c.square, c.remaining} {
		for k := range p.Columns {
			if pairs.HasNaN(p.Column(k)) {
				out[0] = T(math.NaN())
				return
			}
		}
	}
	c.worstPair = c.findWorst()
	h, _ := c.hinge(c.worstPair[0], c.worstPair[1])
	out[0] = T(h)
}

// share returns the weight of one pair in the aggregate.
func (c *contraction[T]) share() float64 {
	n, partners := len(c.rows), len(c.rows)
	if c.Pairs > 0 {
		partners = c.partners()
	}
	if c.Aggregate == factor.Sum {
		return 1
	}
	return 1 / float64(n) / float64(partners)
}

// selectRows copies the rows with known factors to the points.
func (c *contraction[T]) selectRows(in [][]T) {
	z, y := in[0], in[1]
	c.rows = c.rows[:0]
	for r := range len(z) / c.width {
		if len(in) < 3 || c.allKnown(in[2][r*c.factors:]) {
			c.rows = append(c.rows, r)
		}
	}
	for i, column := range c.Columns {
		c.copyColumn(c.points, i, z[column:], c.width)
	}
	for i, f := range c.squareFactors {
		c.copyColumn(c.square, i, y[f.Factor:], c.factors)
	}
	for i, f := range c.remainingFactors {
		c.copyColumn(c.remaining, i, y[f.Factor:], c.factors)
		if f.Kind == Circular {
			values := c.remaining.Column(i)
			for r, v := range values {
				values[r] = T(float64(v) - f.Period*math.Floor(float64(v)/f.Period))
			}
		}
	}
}

// allKnown reports whether all chosen factors of a row are known.
func (c *contraction[T]) allKnown(groups []T) bool {
	return !slices.ContainsFunc(c.Factors, func(f Distance) bool { return groups[f.Factor] < 0 })
}

// copyColumn copies every stride-th element of x, for the selected rows, to a coordinate.
func (c *contraction[T]) copyColumn(p *kernel.Points[T], coordinate int, x []T, stride int) {
	if coordinate == 0 {
		p.Resize(len(c.rows))
	}
	dst := p.Column(coordinate)
	for i, r := range c.rows {
		dst[i] = x[r*stride]
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
	scale := -2 * float64(dout[0]) * c.share() // each pair occurs in both orders
	if c.Aggregate == factor.Max {
		scale = -float64(dout[0])
		c.addSlope(c.worstPair[0], c.worstPair[1], 1)
		c.addSlope(c.worstPair[1], c.worstPair[0], 1)
	} else {
		c.gradients.Resize(n)
		c.gradients.Run()
	}
	for k, column := range c.Columns {
		for i, v := range c.slope.Column(k) {
			dz[c.rows[i]*c.width+column] = T(scale * float64(v))
		}
	}
}

// tile sets b.Z to the squared distances of codes and b.Y to the distances of labels.
func (c *contraction[T]) tile(b *pairs.Block[T], lo int, t pairs.Tile) {
	c.points.Squares(b.Z, lo, t.Source, t.N)
	if c.square.Columns > 0 {
		c.square.Squares(b.Y, lo, t.Source, t.N)
	} else {
		clear(b.Y[:t.N*kernel.PairLanes])
	}
	for i, m := range c.premetrics {
		c.remaining.AddPremetric(b.Y, m, !c.Add, i, lo, t.Source, t.N)
	}
	if !c.Add {
		kernel.Roots(b.Y, t.N)
	}
}

func (c *contraction[T]) valueBlock(lo, hi int) float64 {
	b, sum := &c.blocks[lo/kernel.PairLanes], 0.0
	for t := range pairs.Half(len(c.rows), lo) {
		c.tile(b, lo, t)
		kernel.SumHinges(b.Lanes, b.Z, b.Y, c.Aggregate == factor.MeanSquare, t.N)
		sum += t.Times * pairs.SumLanes(b.Lanes, hi-lo)
	}
	return sum
}

func (c *contraction[T]) gradientBlock(lo, _ int) float64 {
	b := &c.blocks[lo/kernel.PairLanes]
	for t := range pairs.All(len(c.rows)) {
		c.tile(b, lo, t)
		kernel.HingeSlopes(b.Z, b.Y, c.Aggregate == factor.MeanSquare, t.N)
		c.points.AddWeighted(c.slope, b.Z, lo, t.Source, t.N)
	}
	return 0
}

// findWorst returns the first pair with the maximum.
func (c *contraction[T]) findWorst() [2]int {
	n := len(c.rows)
	if c.Pairs == 0 {
		i, j := c.search.Run(n)
		return [2]int{i, j}
	}
	c.values.Resize(n)
	c.values.Run()
	i := 0
	for r, v := range c.largestHinges[:n] {
		if v > c.largestHinges[i] {
			i = r
		}
	}
	for s := 1; s <= c.partners(); s++ {
		if h, _ := c.hinge(i, (i+s)%n); T(h) == c.largestHinges[i] {
			return [2]int{i, (i + s) % n}
		}
	}
	return [2]int{i, i}
}

// hinge returns max(d_Y - d_Z, 0) and d_Z for two rows.
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
		x := c.remaining.Column(k)
		d := m.Distance(float64(x[i]), float64(x[j]))
		if !c.Add {
			d *= d
		}
		y += d
	}
	if !c.Add {
		y = math.Sqrt(y)
	}
	distance = math.Sqrt(z)
	return max(y-distance, 0), distance
}

// partners returns the number of sampled partners of each row.
func (c *contraction[T]) partners() int { return min(c.Pairs, len(c.rows)-1) }

// sampledValue sums over the sampled pairs of the rows from lo to hi, and stores the largest hinge of every row.
func (c *contraction[T]) sampledValue(lo, hi int) float64 {
	n, sum := len(c.rows), 0.0
	for r := lo; r < hi; r++ {
		c.largestHinges[r] = 0
		for s := 1; s <= c.partners(); s++ {
			h, _ := c.hinge(r, (r+s)%n)
			c.largestHinges[r] = max(c.largestHinges[r], T(h))
			if c.Aggregate == factor.MeanSquare {
				h *= h
			}
			sum += h
		}
	}
	return sum
}

// sampledGradient sets the slopes of rows to half the pairs' slopes: gradientBlock visits every pair in both orders.
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

// addSlope adds a pair's slope, times a factor, to row i.
func (c *contraction[T]) addSlope(i, j int, scale float64) {
	h, d := c.hinge(i, j)
	if !(h > 0 && d > 0) {
		return
	}
	scale /= d
	if c.Aggregate == factor.MeanSquare {
		scale *= 2 * h
	}
	for k := range c.points.Columns {
		x, slope := c.points.Column(k), c.slope.Column(k)
		slope[i] += T(scale * (float64(x[i]) - float64(x[j])))
	}
}
