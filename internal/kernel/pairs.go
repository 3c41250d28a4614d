package kernel

import (
	"math"

	"github.com/unravel-ml/unravel/internal/kernel/simd"
)

// The functions of this file work on all pairs of points in tiles of PairSources by PairLanes. A tile has sources s..
// and lanes l..; element k*PairLanes+i is a value for the points s+k and l+i. Distances are computed from differences
// of coordinates, never from products, which cancel for close points. The value of a pair does not depend on the tile
// or on the order of both points. The assembly has the functions for losses in float32 and the functions for metrics in
// float64; Go code computes the rest.

const (
	PairLanes   = 64 // points along the vector registers of a tile
	PairSources = 32 // points that a tile pairs with each lane
)

type Float interface{ float32 | float64 }

// Points are points stored by coordinate, padded with zeros to a multiple of PairLanes. Columns may be reduced.
type Points[T Float] struct {
	Rows, Columns int
	stride        int
	x             []T
}

// NewPoints returns memory for up to rows points.
func NewPoints[T Float](rows, columns int) *Points[T] {
	// an odd number of cache lines: the coordinates of a point are then in different cache sets
	stride := (rows+PairLanes-1)/PairLanes*PairLanes + 16
	return &Points[T]{Columns: columns, stride: stride, x: make([]T, stride*columns)}
}

// Set sets the points to unit times x, a matrix of rows by Columns. unit is 1, or a power of two if squares of x would
// overflow or vanish in single precision.
func (p *Points[T]) Set(x []T, rows int) (unit float64) {
	p.Resize(rows)
	var largest T
	for _, v := range x[:rows*p.Columns] {
		largest = max(largest, v, -v)
	}
	unit = Unit(float64(largest))
	for c := range p.Columns {
		to := p.x[c*p.stride:][:rows]
		for r := range to {
			to[r] = T(unit) * x[r*p.Columns+c]
		}
	}
	return unit
}

// Unit returns the factor of [Points.Set] for numbers of at most a size.
func Unit(size float64) float64 {
	const squares = 50 // exponents whose squares, and sums of them, are ordinary numbers
	if _, e := math.Frexp(size); e < -squares || e > squares {
		return math.Ldexp(1, -max(e, -100))
	}
	return 1
}

// Resize sets the number of points, and sets the padding to 0.
func (p *Points[T]) Resize(rows int) {
	p.Rows = rows
	for c := range p.Columns {
		clear(p.x[c*p.stride+rows : (c+1)*p.stride])
	}
}

// Zero sets all coordinates to 0.
func (p *Points[T]) Zero(rows int) {
	p.Rows = rows
	clear(p.x[:p.Columns*p.stride])
}

// Column returns one coordinate of all points.
func (p *Points[T]) Column(c int) []T { return p.x[c*p.stride:][:p.Rows] }

// lanesFrom returns the number of lanes that a tile starting at a lane computes.
func (p *Points[T]) lanesFrom(lane int) int {
	return (min(PairLanes, p.Rows-lane) + pairStep - 1) / pairStep * pairStep
}

// pairStep is the minimum number of lanes in a computation.
const pairStep = 32

// Squares sets a tile with n sources to squared Euclidean distances.
func (p *Points[T]) Squares(tile []T, lane, source, n int) {
	lanes := p.lanesFrom(lane)
	if t, ok := Singles(tile); ok && simd.Vectors() {
		x, _ := Singles(p.x)
		_ = t[(n+3)/4*4*PairLanes-1] // four sources are computed together
		simd.PairSquares(&t[0], &x[lane], &x[source], p.Columns, p.stride, (n+3)/4, lanes)
		return
	}
	if t, ok := double(tile); ok && simd.Vectors() {
		x, _ := double(p.x)
		_ = t[(n+3)/4*4*PairLanes-1]
		simd.PairSquares64(&t[0], &x[lane], &x[source], p.Columns, p.stride, (n+3)/4, lanes)
		return
	}
	pairSquaresGo(tile, p.x, lane, source, p.Columns, p.stride, n, lanes)
}

// AddWeighted adds the weighted sum of differences from n sources to the lanes of g, which has the same points: g_l +=
// sum_k w_kl (x_l - x_k).
func (p *Points[T]) AddWeighted(g *Points[T], weights []T, lane, source, n int) {
	lanes := p.lanesFrom(lane)
	if w, ok := Singles(weights); ok && simd.Vectors() {
		x, _ := Singles(p.x)
		to, _ := Singles(g.x)
		simd.PairWeighted(&to[lane], &x[lane], &x[source], &w[0], p.Columns, p.stride, n, lanes)
		return
	}
	pairWeightedGo(g.x, p.x, weights, lane, source, p.Columns, p.stride, n, lanes)
}

// Premetric is a premetric on numbers, min(Slope u, Limit - Fall u) with u = |a - b|.
type Premetric struct{ Slope, Limit, Fall float64 }

// Absolute is |a - b|.
func Absolute() Premetric { return Premetric{1, math.Inf(1), 0} }

// Discrete is 0 for equal numbers, and 1 otherwise.
func Discrete() Premetric { return Premetric{math.MaxFloat32, 1, 0} }

// Circular is the arc length between numbers in [0, period).
func Circular(period float64) Premetric { return Premetric{1, period, 1} }

// Distance returns the premetric for two numbers.
func (m Premetric) Distance(a, b float64) float64 {
	u := math.Abs(a - b)
	return min(m.Slope*u, m.Limit-m.Fall*u)
}

// AddPremetric adds the premetric of a column, or its square, to a tile with n sources.
func (p *Points[T]) AddPremetric(tile []T, m Premetric, square bool, column, lane, source, n int) {
	x := p.x[column*p.stride:][:p.stride]
	if t, ok := Singles(tile); ok && simd.Vectors() {
		s, _ := Singles(x)
		_ = s[lane+PairLanes-1]
		pairPremetric(&t[0], &s[lane], &s[source], n, [3]float32{float32(m.Slope), float32(m.Limit), float32(m.Fall)}, square)
		return
	}
	if t, ok := double(tile); ok && simd.Vectors() && square {
		s, _ := double(x)
		_ = s[lane+PairLanes-1]
		simd.PairPremetricSquare64(&t[0], &s[lane], &s[source], n, &[3]float64{m.Slope, m.Limit, m.Fall})
		return
	}
	pairPremetricGo(tile, x[lane:], x[source:], m, square, n)
}

// Roots replaces every element of a tile with n sources by its square root.
func Roots[T Float](tile []T, n int) {
	if t, ok := Singles(tile); ok && simd.Vectors() {
		simd.PairRoots(&t[0], n*PairLanes)
		return
	}
	pairRootsGo(tile[:n*PairLanes])
}

// InverseRoots replaces every element of a tile with n sources by 1 over its square root, or 0 for an element of 0.
func InverseRoots[T Float](tile []T, n int) {
	if t, ok := Singles(tile); ok && simd.Vectors() {
		simd.PairInverseRoots(&t[0], n*PairLanes)
		return
	}
	pairInverseRootsGo(tile[:n*PairLanes])
}

// SumRoots adds the square roots of the elements of a tile with n sources to their lanes.
func SumRoots[T Float](lanes, tile []T, n int) {
	if t, ok := Singles(tile); ok && simd.Vectors() {
		l, _ := Singles(lanes)
		simd.PairSumRoots(&l[0], &t[0], n)
		return
	}
	if t, ok := double(tile); ok && simd.Vectors() {
		l, _ := double(lanes)
		simd.PairSumRoots64(&l[0], &t[0], n)
		return
	}
	pairSumRootsGo(lanes, tile, n)
}

// MaxLanes sets every lane to the maximum of itself and its elements in a tile with n sources.
func MaxLanes[T Float](lanes, tile []T, n int) {
	if t, ok := Singles(tile); ok && simd.Vectors() {
		l, _ := Singles(lanes)
		simd.PairMax(&l[0], &t[0], n)
		return
	}
	if t, ok := double(tile); ok && simd.Vectors() {
		l, _ := double(lanes)
		simd.PairMax64(&l[0], &t[0], n)
		return
	}
	pairMaxGo(lanes, tile, n)
}

// Hinges replaces the squares z in a tile by h = max(y - sqrt z, 0), for n sources.
func Hinges[T Float](z, y []T, n int) {
	if s, ok := Singles(z); ok && simd.Vectors() {
		t, _ := Singles(y)
		simd.PairHinges(&s[0], &t[0], n*PairLanes)
		return
	}
	pairHingesGo(z[:n*PairLanes], y)
}

// SumHinges adds h = max(y - sqrt z, 0), or h^2, to the lanes, for tiles with n sources.
func SumHinges[T Float](lanes, z, y []T, square bool, n int) {
	if s, ok := Singles(z); ok && simd.Vectors() {
		t, _ := Singles(y)
		l, _ := Singles(lanes)
		pairSumHinges(&l[0], &s[0], &t[0], square, n)
		return
	}
	pairSumHingesGo(lanes, z, y, square, n)
}

// HingeSlopes replaces the squares z of a tile with n sources by slopes. With h = max(y - sqrt z, 0), a slope is minus
// the derivative of h, or of h^2, with respect to sqrt z, divided by sqrt z. It is 1/sqrt z, or 2h/sqrt z, if h and z
// are positive, and 0 otherwise.
func HingeSlopes[T Float](z, y []T, square bool, n int) {
	if s, ok := Singles(z); ok && simd.Vectors() {
		t, _ := Singles(y)
		pairHingeSlopes(&s[0], &t[0], square, n*PairLanes)
		return
	}
	pairHingeSlopesGo(z[:n*PairLanes], y, square)
}

// SumShrinks adds max(sqrt y - sqrt z, 0) to the lanes, for tiles with n sources.
func SumShrinks(lanes, z, y []float64, n int) {
	if simd.Vectors() {
		_, _, _ = lanes[PairLanes-1], z[n*PairLanes-1], y[n*PairLanes-1]
		simd.PairSumShrinks64(&lanes[0], &z[0], &y[0], n)
		return
	}
	for i, v := range z[:n*PairLanes] {
		lanes[i%PairLanes] += max(math.Sqrt(y[i])-math.Sqrt(v), 0)
	}
}

// MaxShrinks sets every lane to the maximum of itself and sqrt y - sqrt z over n sources.
func MaxShrinks(lanes, z, y []float64, n int) {
	if simd.Vectors() {
		_, _, _ = lanes[PairLanes-1], z[n*PairLanes-1], y[n*PairLanes-1]
		simd.PairMaxShrinks64(&lanes[0], &z[0], &y[0], n)
		return
	}
	for i, v := range z[:n*PairLanes] {
		lanes[i%PairLanes] = max(lanes[i%PairLanes], math.Sqrt(y[i])-math.Sqrt(v))
	}
}

// PairTiles calls f for the tiles that pair the lanes lane.. with all points before them and with each other. Each tile
// has n sources. Tiles within the lanes contain every pair twice, and the distance 0 of each point from itself.
func PairTiles(lane, rows int, f func(source, n int, within bool)) {
	for source := 0; source < min(lane+PairLanes, rows); source += PairSources {
		f(source, min(PairSources, rows-source), source >= lane)
	}
}

// Singles returns x as a slice of float32, if it has this type.
func Singles[T Float](x []T) ([]float32, bool) { return as[float32](x) }

func double[T Float](x []T) ([]float64, bool) { return as[float64](x) }

func as[E, T Float](x []T) ([]E, bool) {
	if p, ok := any(&x).(*[]E); ok {
		return *p, true
	}
	return nil, false
}

// The functions below select the assembly for tiles of pairs; the instruction set is not go.

func pairPremetric(dst, x, s *float32, n int, c [3]float32, square bool) {
	if square {
		simd.PairPremetricSquare(dst, x, s, n, &c)
	} else {
		simd.PairPremetricSum(dst, x, s, n, &c)
	}
}

func pairSumHinges(lanes, z, y *float32, square bool, n int) {
	if square {
		simd.PairSumSquaredHinges(lanes, z, y, n)
	} else {
		simd.PairSumHinges(lanes, z, y, n)
	}
}

func pairHingeSlopes(z, y *float32, square bool, n int) {
	if square {
		simd.PairSquaredHingeSlopes(z, y, n)
	} else {
		simd.PairHingeSlopes(z, y, n)
	}
}
