// Package rotation computes with rotations in space, the group SO(3): products, axes and angles, quaternions, finite
// groups and uniform grids. Groups and grids are tables for factors of poses (factor.Factor.Rotations).
//
// A rotation is a 3 x 3 matrix in row-major order that acts on column vectors: p -> g p. Groups and grids have the same
// bits on every machine.
package rotation

import (
	"cmp"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/graph/rng"
)

// Product returns the matrix product a b: rotation b, then a. Its bits do not depend on the machine.
func Product(a, b *[9]float64) (c [9]float64) {
	for i := range 3 {
		for j := range 3 {
			c[3*i+j] = float64(a[3*i]*b[j]) + float64(a[3*i+1]*b[3+j]) + float64(a[3*i+2]*b[6+j])
		}
	}
	return c
}

// Inverse returns the inverse of a rotation, which is its transpose.
func Inverse(g *[9]float64) [9]float64 {
	return [9]float64{g[0], g[3], g[6], g[1], g[4], g[7], g[2], g[5], g[8]}
}

// Between returns the rotation that takes an object from one pose to another, in world axes: to from^-1. The product in
// the other order is in the axes of the object.
func Between(from, to *[9]float64) [9]float64 {
	inverse := Inverse(from)
	return Product(to, &inverse)
}

// Apply returns the point g p.
func Apply(g *[9]float64, p [3]float64) (q [3]float64) {
	for i := range q {
		q[i] = float64(g[3*i]*p[0]) + float64(g[3*i+1]*p[1]) + float64(g[3*i+2]*p[2])
	}
	return q
}

// Angle returns the angle of a rotation in radians, 0 to pi.
func Angle(g *[9]float64) float64 {
	_, angle := AxisAngle(g)
	return angle
}

// AboutAxis returns the rotation about an axis of any length by an angle in radians, counter-clockwise as seen from the
// tip of the axis (Rodrigues' formula). For the axis 0, it returns the identity.
//
//	cos I + sin [k]x + (1 - cos) k k^T
func AboutAxis(k [3]float64, angle float64) [9]float64 {
	length := math.Sqrt(k[0]*k[0] + k[1]*k[1] + k[2]*k[2])
	if length == 0 {
		return [9]float64{1, 0, 0, 0, 1, 0, 0, 0, 1}
	}
	for i := range k {
		k[i] /= length
	}
	sin, cos := math.Sincos(angle)
	x, y, z, v := k[0], k[1], k[2], 1-cos
	return [9]float64{
		cos + v*x*x, v*x*y - sin*z, v*x*z + sin*y,
		v*y*x + sin*z, cos + v*y*y, v*y*z - sin*x,
		v*z*x - sin*y, v*z*y + sin*x, cos + v*z*z,
	}
}

// minSine is the sine of the angle below which a rotation counts as the identity: its axis is only rounding error.
const minSine = 1e-12

// AreQuaternions reports whether rows of four numbers look like unit quaternions instead of axes and angles: all have
// norm 1, and some have a last number other than 0. A unit axis with an angle other than 0 has a larger norm.
func AreQuaternions(rows []float32) bool {
	nonzero := false
	for r := range slices.Chunk(rows, 4) {
		square := 0.0
		for _, v := range r {
			square += float64(v) * float64(v)
		}
		if math.Abs(square-1) > 1e-3 {
			return false
		}
		nonzero = nonzero || r[len(r)-1] != 0
	}
	return nonzero
}

// AxisAngle returns the unit axis and the angle of a rotation, in radians from 0 to pi. For the identity, both are 0. A
// half turn has two axes; the result is the axis with a positive largest component.
//
// The antisymmetric part of g is the axis times the sine, which vanishes near a half turn. There, AxisAngle takes the
// axis from the largest column of the symmetric part, cos I + (1 - cos) k k^T.
func AxisAngle(g *[9]float64) (axis [3]float64, angle float64) {
	w := [3]float64{(g[7] - g[5]) / 2, (g[2] - g[6]) / 2, (g[3] - g[1]) / 2}
	sin, cos := math.Sqrt(dot(w, w)), (g[0]+g[4]+g[8]-1)/2
	switch {
	case sin < minSine && cos > 0:
		return axis, 0
	case cos > 0:
		axis = w
	default:
		axis = axisColumn(g, cos)
		if dot(axis, w) < 0 {
			axis = [3]float64{-axis[0], -axis[1], -axis[2]}
		}
	}
	length := math.Sqrt(dot(axis, axis))
	for i := range axis {
		axis[i] /= length
	}
	return axis, math.Atan2(sin, cos)
}

// axisColumn returns the largest column of (1 - cos) k k^T, which is parallel to the axis k.
func axisColumn(g *[9]float64, cos float64) (column [3]float64) {
	largest := 0
	for j := range 3 {
		if g[4*j] > g[4*largest] {
			largest = j
		}
	}
	for i := range column {
		column[i] = (g[3*i+largest] + g[3*largest+i]) / 2
	}
	column[largest] -= cos
	return column
}

func dot(a, b [3]float64) float64 { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }

// FromQuaternion returns the rotation of a quaternion of any length, real part first. It returns false for a quaternion
// without a direction: 0, or one with NaN or infinity.
func FromQuaternion(q [4]float64) (g [9]float64, ok bool) {
	_, e := math.Frexp(max(math.Abs(q[0]), math.Abs(q[1]), math.Abs(q[2]), math.Abs(q[3])))
	for i, v := range q {
		q[i] = math.Ldexp(v, -e) // squares neither overflow nor vanish
	}
	w, x, y, z := q[0], q[1], q[2], q[3]
	n := float64(w*w) + float64(x*x) + float64(y*y) + float64(z*z)
	if !(n > 0) || math.IsInf(n, 0) {
		return g, false
	}
	s := 2 / n
	xx, yy, zz := float64(x*x), float64(y*y), float64(z*z)
	xy, xz, yz := float64(x*y), float64(x*z), float64(y*z)
	wx, wy, wz := float64(w*x), float64(w*y), float64(w*z)
	return [9]float64{
		1 - float64(s*(yy+zz)), s * (xy - wz), s * (xz + wy),
		s * (xy + wz), 1 - float64(s*(xx+zz)), s * (yz - wx),
		s * (xz - wy), s * (yz + wx), 1 - float64(s*(xx+yy)),
	}, true
}

// Nearest returns the index of the rotation in a table with the smallest angle to g; ties go to the first.
func Nearest(table [][9]float64, g *[9]float64) int {
	largest, nearest := math.Inf(-1), 0
	for i := range table {
		if t := trace(&table[i], g); t > largest+1e-12 {
			largest, nearest = t, i
		}
	}
	return nearest
}

// Neighbours returns the indices of the rotations in a table that are nearest to rotation i, without rotations equal to
// it. It returns count of them, and others as near as the last. Indices are in the order of the table.
func Neighbours(table [][9]float64, i, count int) []int {
	const sameTrace = 3 - 1e-9            // minimum trace of the rotation between equal rotations
	traces := make([]float64, 0, count+1) // traces, descending
	for j := range table {
		if t := trace(&table[i], &table[j]); t < sameTrace {
			traces = insert(traces, t, count)
		}
	}
	if len(traces) == 0 {
		return nil
	}
	var list []int
	for j := range table {
		if t := trace(&table[i], &table[j]); t < sameTrace && t > traces[len(traces)-1]-1e-9 {
			list = append(list, j)
		}
	}
	return list
}

// insert adds t to a descending list of at most count numbers.
func insert(list []float64, t float64, count int) []float64 {
	i, _ := slices.BinarySearchFunc(list, t, func(a, b float64) int { return cmp.Compare(b, a) })
	if i == count {
		return list
	}
	return slices.Insert(list, i, t)[:min(len(list)+1, count)]
}

// trace returns the trace of a b^-1, 1 + 2 cos of the angle between a and b.
func trace(a, b *[9]float64) (sum float64) {
	for i, v := range a {
		sum += float64(v * b[i])
	}
	return sum
}

// Octahedral returns the 24 rotations of a cube, identity first: the signed permutation matrices with determinant 1.
func Octahedral() [][9]float64 {
	var list [][9]float64
	for _, p := range [][3]int{{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}} {
		for signs := range 8 {
			var g [9]float64
			for row, column := range p {
				g[3*row+column] = float64(1 - signs>>row&1*2)
			}
			if determinant(&g) > 0 {
				list = append(list, g)
			}
		}
	}
	return list
}

func determinant(g *[9]float64) float64 {
	return g[0]*(g[4]*g[8]-g[5]*g[7]) - g[1]*(g[3]*g[8]-g[5]*g[6]) + g[2]*(g[3]*g[7]-g[4]*g[6])
}

// Icosahedral returns the 60 rotations of an icosahedron, starting with the identity. Their quaternions are the
// vertices of the 600-cell, one of each opposite pair: 4 on the axes, 8 of (1, 1, 1, 1)/2 with signs, and 48 even
// permutations of (phi, 1, 1/phi, 0)/2 with signs, where phi is the golden ratio.
func Icosahedral() [][9]float64 {
	list := []([4]float64){{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}
	for signs := range 8 {
		list = append(list, [4]float64{1, signOfBit(signs, 0), signOfBit(signs, 1), signOfBit(signs, 2)})
	}
	for a := range 4 {
		for b := range 4 {
			for c := range 4 {
				p := [4]int{a, b, c, 6 - a - b - c}
				if a == b || a == c || b == c || !isEven(p) {
					continue
				}
				for signs := range 4 { // the sign of phi is arbitrary: q and -q are the same rotation
					var q [4]float64
					q[p[0]], q[p[1]], q[p[2]] = math.Phi, signOfBit(signs, 0), signOfBit(signs, 1)/math.Phi
					list = append(list, q)
				}
			}
		}
	}
	return fromQuaternions(list)
}

func signOfBit(bits, bit int) float64 { return float64(1 - bits>>bit&1*2) }

func isEven(p [4]int) bool {
	inversions := 0
	for i := range p {
		for j := i + 1; j < len(p); j++ {
			if p[i] > p[j] {
				inversions++
			}
		}
	}
	return inversions%2 == 0
}

func fromQuaternions(list [][4]float64) [][9]float64 {
	table := make([][9]float64, len(list))
	for i, q := range list {
		table[i], _ = FromQuaternion(q)
	}
	return table
}

// HopfSize returns the number of rotations of a Hopf grid, 72 * 8^level.
func HopfSize(level int) int { return 72 << (3 * level) }

// Hopf returns the uniform grid of 72 * 8^level rotations of Yershova et al. 2010 (Generating uniform incremental grids
// on SO(3) using the Hopf fibration). It has 12 * 4^level directions of the object's z axis: the centres of a HEALPix
// grid of the sphere (Gorski et al. 2005) from north to south. Each direction has 6 * 2^level rotations about that
// axis, which vary fastest. Neighbours are about 60 / 2^level degrees apart. level is 0 to 5; level 5 has 2,359,296
// rotations.
func Hopf(level int) [][9]float64 {
	side := 1 << level
	var list [][4]float64
	for ring := 1; ring < 4*side; ring++ {
		count, shift := 4*side, (ring-side+1)&1 // points on the ring, and whether they are shifted by half a step
		z := (4 - 2*float64(ring)/float64(side)) / 3
		if cap := min(ring, 4*side-ring); cap < side {
			count, shift = 4*cap, 1
			z = 1 - float64(cap*cap)/float64(3*side*side)
			if ring > 2*side {
				z = -z
			}
		}
		c, s := math.Sqrt((1+z)/2), math.Sqrt((1-z)/2) // cosine and sine of half the angle to the z axis
		for j := range count {
			sinPhi, cosPhi := sincos(2*j+shift, 2*count)
			for k := range 6 * side {
				sinHalf, cosHalf := sincos(2*k+1, 24*side)
				list = append(list, multiply(
					[4]float64{c, -float64(s * sinPhi), float64(s * cosPhi), 0}, // shortest rotation from the z axis to the direction
					[4]float64{cosHalf, 0, 0, sinHalf}))
			}
		}
	}
	return fromQuaternions(list)
}

func multiply(a, b [4]float64) [4]float64 {
	return [4]float64{
		float64(a[0]*b[0]) - float64(a[1]*b[1]) - float64(a[2]*b[2]) - float64(a[3]*b[3]),
		float64(a[0]*b[1]) + float64(a[1]*b[0]) + float64(a[2]*b[3]) - float64(a[3]*b[2]),
		float64(a[0]*b[2]) - float64(a[1]*b[3]) + float64(a[2]*b[0]) + float64(a[3]*b[1]),
		float64(a[0]*b[3]) + float64(a[1]*b[2]) - float64(a[2]*b[1]) + float64(a[3]*b[0]),
	}
}

// sincos returns sine and cosine of n/d of a full turn, for integers 0 <= n < d. math.Sincos has other bits on machines
// that fuse products and sums. This series, after a reduction in integers, has the same bits on every machine.
func sincos(n, d int) (sin, cos float64) {
	octant, rest := 8*n/d, 8*n%d
	if octant&1 == 1 {
		rest = d - rest
	}
	x := math.Pi / 4 * (float64(rest) / float64(d))
	square := float64(x * x)
	sin, cos = 1, 1
	for k := 20; k > 0; k -= 2 { // Horner's scheme of x - x^3/6 + ..., 1 - x^2/2 + ...
		sin = 1 - float64(square*sin)/float64(k*(k+1))
		cos = 1 - float64(square*cos)/float64(k*(k-1))
	}
	sin *= x
	if octant == 1 || octant == 2 || octant == 5 || octant == 6 {
		sin, cos = cos, sin
	}
	if octant > 3 {
		sin = -sin
	}
	if octant > 1 && octant < 6 {
		cos = -cos
	}
	return sin, cos
}

// Random returns n rotations drawn from the Haar measure: normalised quaternions of four Gaussian numbers.
func Random(s *rng.Stream, n int) [][9]float64 {
	table := make([][9]float64, 0, n)
	for len(table) < n {
		q := [4]float64{s.NormFloat64(), s.NormFloat64(), s.NormFloat64(), s.NormFloat64()}
		if g, ok := FromQuaternion(q); ok {
			table = append(table, g)
		}
	}
	return table
}
