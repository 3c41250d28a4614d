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
)

// Product returns the matrix product a b: the rotation b followed by a. It fuses no product with a sum, so its bits do
// not depend on the machine.
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
	back := Inverse(from)
	return Product(to, &back)
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

// still is the sine of the angle below which a rotation counts as the identity, because its axis is only rounding
// error.
const still = 1e-12

// AxisAngle returns the unit axis and the angle of a rotation, in radians from 0 to pi. For the identity, both are 0. A
// half turn has two axes; the result is the axis with a positive largest component.
//
// The antisymmetric part of g is the axis times the sine, which vanishes near a half turn. There, AxisAngle takes the
// axis from the largest column of the symmetric part, cos I + (1 - cos) k k^T.
func AxisAngle(g *[9]float64) (axis [3]float64, angle float64) {
	w := [3]float64{(g[7] - g[5]) / 2, (g[2] - g[6]) / 2, (g[3] - g[1]) / 2}
	sin, cos := math.Sqrt(dot(w, w)), (g[0]+g[4]+g[8]-1)/2
	switch {
	case sin < still && cos > 0:
		return axis, 0
	case cos > 0:
		axis = w
	default:
		axis = squareColumn(g, cos)
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

// squareColumn returns the largest column of (1 - cos) k k^T, which is parallel to the axis k.
func squareColumn(g *[9]float64, cos float64) (column [3]float64) {
	best := 0
	for j := range 3 {
		if g[4*j] > g[4*best] {
			best = j
		}
	}
	for i := range column {
		column[i] = (g[3*i+best] + g[3*best+i]) / 2
	}
	column[best] -= cos
	return column
}

func dot(a, b [3]float64) float64 { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }

// FromQuaternion returns the rotation of a quaternion of any length, real part first. It returns false for a quaternion
// without a direction: 0, or one with NaN or infinity.
func FromQuaternion(q [4]float64) (g [9]float64, ok bool) {
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
	best, at := math.Inf(-1), 0
	for i := range table {
		if t := trace(&table[i], g); t > best+1e-12 {
			best, at = t, i
		}
	}
	return at
}

// Neighbours returns the indices of the rotations in a table that are nearest to rotation i, without rotations equal to
// it. It returns count of them, and also all others that are as near as the last. Indices are in the order of the
// table.
func Neighbours(table [][9]float64, i, count int) []int {
	const same = 3 - 1e-9               // minimum trace of the rotation between equal rotations
	near := make([]float64, 0, count+1) // traces, descending
	for j := range table {
		if t := trace(&table[i], &table[j]); t < same {
			near = insert(near, t, count)
		}
	}
	if len(near) == 0 {
		return nil
	}
	var list []int
	for j := range table {
		if t := trace(&table[i], &table[j]); t < same && t > near[len(near)-1]-1e-9 {
			list = append(list, j)
		}
	}
	return list
}

// insert adds t to a descending list of at most count numbers.
func insert(list []float64, t float64, count int) []float64 {
	at, _ := slices.BinarySearchFunc(list, t, func(a, b float64) int { return cmp.Compare(b, a) })
	if at == count {
		return list
	}
	return slices.Insert(list, at, t)[:min(len(list)+1, count)]
}

// trace returns the trace of a b^-1, 1 + 2 cos of the angle between a and b.
func trace(a, b *[9]float64) (sum float64) {
	for i, v := range a {
		sum += float64(v * b[i])
	}
	return sum
}
