package conformance

import (
	"math"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
)

// groupRows is the number of transported points, in groups of four.
const groupRows = 32

// move transports points in groups of m. With turns, the transformations are angles of a circular factor.
func (x *latentCheck) move(points, transformations []float64, turns bool, m int) (moved []float64) {
	g := nn.NewGraph(nn.NewParams(seed))
	rows := len(points) / x.width
	z, err := g.Input("points", rows, x.width)
	x.must(err, "points")
	fill(nn.Data(z), points)
	var moves *gorgonia.Node
	if columns := len(transformations) / rows; columns > 0 {
		moves, err = g.Input("transformations", rows, columns)
		x.must(err, "transformations")
		fill(nn.Data(moves), transformations)
		if turns {
			moves, err = x.space.Turn(moves)
			x.must(err, "Turn")
			if want := []int{rows, x.space.Columns()}; !slices.Equal([]int(moves.Shape()), want) {
				x.fatal("Turn returns shape %v; want %v", moves.Shape(), want)
			}
		}
	}
	t, err := x.space.Transport(z, moves, m)
	x.must(err, "Transport")
	if t.Moved == nil || t.Points == nil {
		x.fatal("Transport returns no points; want Points and Moved")
	}
	values := x.results("Transport", t.Moved, t.Points)
	if farApart(values[1], points, 1e-6) >= 0 {
		x.add("Transport returns other Points than it was given")
	}
	x.on("Transport", values[0])
	return values[0]
}

func fill(dst []float32, values []float64) {
	for i, v := range values {
		dst[i] = float32(v)
	}
}

func (x *latentCheck) group() {
	points, s := x.drawn("group", groupRows), rng.New(seed, "group transformations")
	columns := x.space.Columns()
	if x.space.Turns() {
		x.groupOf(points, 1, true, s)
		return
	}
	if columns > 0 {
		x.groupOf(points, columns, false, s)
		return
	}
	moved := x.move(points, nil, false, 4)
	for i := range moved {
		if first := i - i/x.width%4*x.width; math.Abs(moved[i]-moved[first]) > 1e-5 {
			x.fatal("Transport without transformations gives the members of a group different points; want their common one")
		}
	}
	x.fixed(moved, nil, false, 4, "a group without transformations")
}

// groupOf checks groups of four transformations: 0, a, b, and b after a.
func (x *latentCheck) groupOf(points []float64, columns int, turns bool, s *rng.Stream) {
	product := columns == 1 || columns == 4
	transformations, second := drawGroups(columns, product, s)
	moved := x.move(points, transformations, turns, 4)
	moves := false
	for g := range slices.Chunk(moved, 4*x.width) {
		moves = moves || farApart(g[x.width:2*x.width], g[:x.width], 1e-3) >= 0
	}
	if !moves {
		x.add("Transport by transformations that are not 0 moves no point")
	}
	x.fixed(moved, transformations, turns, 4, "a group")
	if product {
		var pairs []float64 // a applied to the common point, then b after a
		for g := range groupRows / 4 {
			at := func(member int) []float64 { return moved[(4*g+member)*x.width : (4*g+member+1)*x.width] }
			pairs = slices.Concat(pairs, at(1), at(3))
		}
		x.fixed(pairs, second, turns, 2, "the points of a, and of b after a, with b between them")
	}
	if turns {
		x.wholeTurns(points)
	}
}

// drawGroups draws the transformations 0, a, b and c of each group, and 0 and b alone. c is b after a if the
// transformations have a product, and b otherwise.
func drawGroups(columns int, product bool, s *rng.Stream) (all, second []float64) {
	for range groupRows / 4 {
		single := make([]float32, 3*columns)
		fillTransformations(single, columns, 3, s)
		t := wide(single)
		if columns == 4 { // axes of any direction
			for _, at := range []int{4, 8} {
				axis(t[at:at+3], s)
			}
		}
		zero, a, b := t[:columns], t[columns:2*columns], t[2*columns:]
		c := b
		if product {
			c = compose(a, b)
		}
		all = slices.Concat(all, zero, a, b, c)
		second = slices.Concat(second, zero, b)
	}
	return all, second
}

// wholeTurns checks that a whole turn of a circular factor does not move points.
func (x *latentCheck) wholeTurns(points []float64) {
	whole := make([]float64, groupRows)
	for i := range whole {
		whole[i] = 2 * math.Pi * float64(i%4)
	}
	round := x.move(points, whole, true, 4)
	for g := range groupRows / 4 {
		common := round[4*g*x.width : (4*g+1)*x.width]
		for member := range 4 {
			if farApart(round[(4*g+member)*x.width:(4*g+member+1)*x.width], common, 1e-4) >= 0 {
				x.fatal("a whole turn of a circular factor moves a point; want it back where it was")
			}
		}
	}
}

// fixed checks that transport does not move a group that consists of transformations of one point.
func (x *latentCheck) fixed(points, transformations []float64, turns bool, m int, what string) {
	again := x.move(points, transformations, turns, m)
	if i := farApart(again, points, 1e-4); i >= 0 {
		x.add("transformations do not act as a group: Transport moves %s, by %.3g; want it to stay", what, math.Abs(again[i]-points[i]))
	}
}

// axis draws a unit vector.
func axis(dst []float64, s *rng.Stream) {
	var square float64
	for i := range dst {
		dst[i] = s.NormFloat64()
		square += dst[i] * dst[i]
	}
	for i := range dst {
		dst[i] /= math.Sqrt(square)
	}
}

// compose returns the transformation b after a: the sum of angles, or the product of rotations given by axes and
// angles.
func compose(a, b []float64) []float64 {
	if len(a) == 1 {
		return []float64{a[0] + b[0]}
	}
	quaternion := func(t []float64) (w float64, v [3]float64) {
		sin, cos := math.Sincos(t[3] / 2)
		return cos, [3]float64{sin * t[0], sin * t[1], sin * t[2]}
	}
	wa, va := quaternion(a)
	wb, vb := quaternion(b)
	w := wa*wb - va[0]*vb[0] - va[1]*vb[1] - va[2]*vb[2]
	var v [3]float64
	for i := range v {
		j, k := (i+1)%3, (i+2)%3
		v[i] = wb*va[i] + wa*vb[i] + vb[j]*va[k] - vb[k]*va[j]
	}
	sin := math.Sqrt(v[0]*v[0] + v[1]*v[1] + v[2]*v[2])
	if sin < 1e-12 {
		return []float64{1, 0, 0, 0}
	}
	return []float64{v[0] / sin, v[1] / sin, v[2] / sin, 2 * math.Atan2(sin, w)}
}
