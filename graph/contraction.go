package graph

import (
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/factor"
	"github.com/unravel-ml/unravel/internal/kernel"
)

// ContractionSettings say what [Contraction] measures.
type ContractionSettings struct {
	Aggregate factor.Aggregate
	Columns   []int            // of z; nil: all
	Factors   []FactorDistance // nil: all, with absolute distances
	Add       bool             // the distances of factors are summed; else they are joined by the Euclidean norm
	Pairs     int              // partners of a row; 0: all
}

// FactorDistance is a column of labels and how far apart its values are.
type FactorDistance struct {
	Factor int
	Kind   DistanceKind
	Period float64 // of circular values; 0: 1
}

// DistanceKind is a distance of numbers.
type DistanceKind uint8

// The distances of numbers.
const (
	AbsoluteDistance DistanceKind = iota // |a - b|
	DiscreteDistance                     // 0 if a = b, else 1
	CircularDistance                     // the arc min(t, P - t), t = |a - b| mod P
)

// Contraction returns how much closer codes are than the factors that they stand
// for (Zhang and Sugiyama 2024, definition 9), a scalar: the aggregate over pairs of
// rows of
//
//	max(d_Y(y, y') - d_Z(z, z'), 0)
//
// for codes z [n, D] and labels y [n, K] or [n]. d_Z is the Euclidean distance of
// the chosen columns; d_Y joins the distances of the chosen factors. It is 0 where
// no pair is closer in the codes than in the labels. With groups, of the shape of
// y, rows with a negative number for a chosen factor take no part.
//
// All n^2 ordered pairs count, a row and itself too. With s.Pairs > 0 only the
// pairs (r, r+1) .. (r, r+Pairs) of rows that take part count, cyclically, at most
// n-1 for a row: batches come in random order, so that these are random pairs.
//
// The gradient is that of z; a pair with d_Z = 0 has none, and the largest of equal
// ones is the first. Less than two rows have the value 0.
func Contraction(s ContractionSettings, z, y, groups *gorgonia.Node) (*gorgonia.Node, error) {
	s.Columns, s.Factors = slices.Clone(s.Columns), slices.Clone(s.Factors)
	in := []*gorgonia.Node{z, y}
	if groups != nil {
		in = append(in, groups)
	}
	return Apply(Spec{
		Name: "contraction",
		Key:  keyOf(s.Aggregate, s.Columns, s.Factors, s.Add, s.Pairs),
		Diff: []bool{true, false, false}[:len(in)],
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			return tensor.ScalarShape(), s.check(in)
		},
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (Func, error) {
			if dt == tensor.Float32 {
				return newFunc[float32](newContraction[float32](s, in[0], in[1])), nil
			}
			return newFunc[float64](newContraction[float64](s, in[0], in[1])), nil
		},
	}, in...)
}

func (s ContractionSettings) check(in []tensor.Shape) error {
	n, width, err := rowsOf("codes", in[0])
	if err != nil {
		return err
	}
	factors, err := labelsOf("labels", in[1], n)
	if err != nil {
		return err
	}
	if len(in) > 2 && !slices.Equal(in[2], in[1]) {
		return wanted(fmt.Sprintf("groups of the shape of the labels, %v,", in[1]), in[2])
	}
	if err := distinct("columns", s.Columns, width); err != nil {
		return err
	}
	chosen := make([]int, len(s.Factors))
	for i, f := range s.Factors {
		chosen[i] = f.Factor
		if f.Kind > CircularDistance || !(f.Period >= 0) || math.IsInf(f.Period, 1) {
			return wanted("absolute, discrete and circular distances with finite periods", f)
		}
	}
	if s.Pairs < 0 || s.Aggregate > factor.MeanSquare {
		return wanted("an aggregate and a number of pairs from 0 on", []any{s.Aggregate, s.Pairs})
	}
	return distinct("factors", chosen, factors)
}

// labelsOf checks that a shape is [rows, K] or [rows], and returns K.
func labelsOf(name string, s tensor.Shape, rows int) (int, error) {
	switch {
	case s.Dims() == 1 && s[0] == rows:
		return 1, nil
	case s.Dims() == 2 && s[0] == rows && s[1] >= 1:
		return s[1], nil
	}
	return 0, wanted(fmt.Sprintf("%s of shape [%d] or [%d, factors]", name, rows, rows), s)
}

// distinct checks that indices are different and below a bound.
func distinct(name string, indices []int, bound int) error {
	for i, v := range indices {
		if v < 0 || v >= bound || slices.Contains(indices[:i], v) {
			return wanted(fmt.Sprintf("different %s from 0 to %d", name, bound-1), indices)
		}
	}
	return nil
}

// contraction has the rows that take part as points: the codes in pairs, the labels in
// square, factors whose distances are joined as the coordinates of a point, and in
// others, factors each with a premetric.
type contraction[T float] struct {
	pairs[T]
	aggregate      factor.Aggregate
	add            bool
	sampled        int
	width, factors int
	columns        []int

	square, others               *kernel.Points[T]
	squareFactors, othersFactors []FactorDistance
	premetrics                   []kernel.Premetric

	rows              []int // those that take part
	far               []T   // the largest hinge of a row and a later one or one of its block
	values, gradients *loop
	worst             [2]int // the pair of the maximum
}

func newContraction[T float](s ContractionSettings, z, y tensor.Shape) *contraction[T] {
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

func upTo(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

func (c *contraction[T]) forward(in [][]T, out []T) {
	c.choose(in)
	n := len(c.rows)
	out[0], c.worst = 0, [2]int{}
	if n < 2 {
		return
	}
	c.values.resize(n)
	if c.aggregate != factor.Max {
		out[0] = T(c.values.run() * c.share())
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
	c.values.run()
	out[0] = T(c.findWorst())
}

// share is the factor of a pair in the aggregate.
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

// choose makes the rows that take part the points.
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

// gather makes every stride-th element of x, for the rows that take part, a coordinate.
func (c *contraction[T]) gather(p *kernel.Points[T], coordinate int, x []T, stride int) {
	if coordinate == 0 {
		p.Resize(len(c.rows))
	}
	to := p.Column(coordinate)
	for i, r := range c.rows {
		to[i] = x[r*stride]
	}
}

func (c *contraction[T]) backward(_ [][]T, _, dout []T, din [][]T) {
	dz, n := din[0], len(c.rows)
	if dz == nil {
		return
	}
	clear(dz)
	if n < 2 {
		return
	}
	c.slope.Zero(n)
	scale := -2 * float64(dout[0]) * c.share() // of the two orders of a pair
	if c.aggregate == factor.Max {
		scale = -float64(dout[0])
		c.addSlope(c.worst[0], c.worst[1], 1)
		c.addSlope(c.worst[1], c.worst[0], 1)
	} else {
		c.gradients.resize(n)
		c.gradients.run()
	}
	for k, column := range c.columns {
		for i, v := range c.slope.Column(k) {
			dz[c.rows[i]*c.width+column] = T(scale * float64(v))
		}
	}
}
