package kernel

import (
	"math"

	"github.com/unravel-ml/unravel/internal/kernel/simd"
)

// The functions of this file compute mixtures of Gaussians with diagonal covariances. The components are the sources of
// tiles. A tile has the densities at the points of the lanes; see Points.

// Gaussians are the components of a mixture.
type Gaussians[T Float] struct {
	Mean      *Points[T]
	Precision *Points[T] // half the precision: 1/(2 sigma^2)
	Constant  []T        // by component: logarithm of its density at its mean; has the length of NewConstants's result
}

// NewConstants returns memory for the constants of up to rows components.
func NewConstants[T Float](rows int) []T { return make([]T, (rows+PairLanes-1)/PairLanes*PairLanes) }

// LogDensities sets a tile to the log densities of n components at PairLanes points of x.
func (g *Gaussians[T]) LogDensities(tile []T, x *Points[T], lane, source, n int) {
	if t, ok := Singles(tile); ok && simd.Vectors() {
		a, _ := Singles(x.x)
		m, _ := Singles(g.Mean.x)
		h, _ := Singles(g.Precision.x)
		c, _ := Singles(g.Constant)
		_, _, _ = t[(n+3)/4*4*PairLanes-1], a[lane+PairLanes-1], c[source+(n+3)/4*4-1]
		simd.PairDensities(&t[0], &a[lane], &m[source], x.Columns, x.stride, (n+3)/4, PairLanes, &h[source], &c[source])
		return
	}
	for k := range n {
		row := tile[k*PairLanes:][:PairLanes]
		for i := range row {
			row[i] = g.Constant[source+k]
		}
		for c := range x.Columns {
			offset := c * x.stride
			m, h := g.Mean.x[offset+source+k], g.Precision.x[offset+source+k]
			for i, v := range x.x[offset+lane:][:PairLanes] {
				d := v - m
				row[i] -= h * (d * d)
			}
		}
	}
}

// AddMoments adds the terms of a mixture's gradient in one column, for a tile of weights w of n components and q = mean
// - x. It adds sum_k precision w q to the lanes of dx. It adds sum_lanes w q and sum_lanes w q^2 to the first and
// second moments of the components.
func (g *Gaussians[T]) AddMoments(dx, x *Points[T], first, second, weights []T, column, lane, source, n int) {
	offset := column * x.stride
	to, from := dx.x[offset+lane:][:PairLanes], x.x[offset+lane:][:PairLanes]
	mean, precision := g.Mean.x[offset+source:][:n], g.Precision.x[offset+source:][:n]
	first, second = first[source:][:n], second[source:][:n]
	if w, ok := Singles(weights); ok && simd.Vectors() {
		d, _ := Singles(to)
		a, _ := Singles(from)
		m, _ := Singles(mean)
		p, _ := Singles(precision)
		s, _ := Singles(first)
		u, _ := Singles(second)
		simd.PairMoments(&d[0], &a[0], &m[0], &p[0], &s[0], &u[0], &w[0], n)
		return
	}
	for k, m := range mean {
		var s1, s2 T
		for i, w := range weights[k*PairLanes:][:PairLanes] {
			q := m - from[i]
			a := w * q
			to[i] += precision[k] * a
			s1 += a
			s2 += a * q
		}
		first[k] += s1
		second[k] += s2
	}
}

// SumExp adds e^(x - shift) to the lanes, for the elements x of a tile with n sources. shift has one element per lane.
func SumExp[T Float](lanes, tile, shift []T, n int) {
	if t, ok := Singles(tile); ok && simd.Vectors() {
		l, _ := Singles(lanes)
		s, _ := Singles(shift)
		simd.PairSumExp(&l[0], &t[0], &s[0], n)
		return
	}
	for k := range n {
		for i, v := range tile[k*PairLanes:][:PairLanes] {
			lanes[i] += exp1(v - shift[i])
		}
	}
}

// ScaledExp sets the elements x of a tile with n sources to factor e^(x - shift). factor and shift have one element per
// lane.
func ScaledExp[T Float](tile, shift, factor []T, n int) {
	if t, ok := Singles(tile); ok && simd.Vectors() {
		s, _ := Singles(shift)
		f, _ := Singles(factor)
		simd.PairScaledExp(&t[0], &s[0], &f[0], n)
		return
	}
	for k := range n {
		row := tile[k*PairLanes:][:PairLanes]
		for i, v := range row {
			row[i] = factor[i] * exp1(v-shift[i])
		}
	}
}

// SumRows adds the row sums of a tile with n sources to sums.
func SumRows[T Float](sums, tile []T, n int) {
	if t, ok := Singles(tile); ok && simd.Vectors() {
		s, _ := Singles(sums)
		simd.PairSumRows(&s[0], &t[0], n)
		return
	}
	for k := range n {
		var sum T
		for _, v := range tile[k*PairLanes:][:PairLanes] {
			sum += v
		}
		sums[k] += sum
	}
}

// GaussianKernel sets the elements x of a tile with n sources to e^(-a x).
func GaussianKernel[T Float](tile []T, a float64, n int) {
	if t, ok := Singles(tile); ok && simd.Vectors() {
		simd.PairGaussian(&t[0], n*PairLanes, float32(a))
		return
	}
	for i, v := range tile[:n*PairLanes] {
		tile[i] = T(math.Exp(-a * float64(v)))
	}
}

// SumLanes adds the elements of a tile with n sources to their lanes.
func SumLanes[T Float](lanes, tile []T, n int) {
	if t, ok := Singles(tile); ok && simd.Vectors() {
		l, _ := Singles(lanes)
		simd.PairSum(&l[0], &t[0], n)
		return
	}
	for k := range n {
		for i, v := range tile[k*PairLanes:][:PairLanes] {
			lanes[i] += v
		}
	}
}

// SumProducts adds the products x y of two tiles with n sources to their lanes.
func SumProducts[T Float](lanes, x, y []T, n int) {
	if a, ok := Singles(x); ok && simd.Vectors() {
		b, _ := Singles(y)
		l, _ := Singles(lanes)
		simd.PairSumProducts(&l[0], &a[0], &b[0], n)
		return
	}
	for k := range n {
		b := y[k*PairLanes:][:PairLanes]
		for i, v := range x[k*PairLanes:][:PairLanes] {
			lanes[i] += v * b[i]
		}
	}
}

// CentredProduct sets a tile with n sources to x (a y - lane - source).
func CentredProduct[T Float](tile, x, y []T, a float64, lanes, sources []T, n int) {
	if t, ok := Singles(tile); ok && simd.Vectors() {
		u, _ := Singles(x)
		v, _ := Singles(y)
		l, _ := Singles(lanes)
		s, _ := Singles(sources)
		simd.PairCentred(&t[0], &u[0], &v[0], &l[0], &s[0], n, float32(a))
		return
	}
	for k := range n {
		row, b := tile[k*PairLanes:][:PairLanes], y[k*PairLanes:][:PairLanes]
		for i, v := range x[k*PairLanes:][:PairLanes] {
			row[i] = v * (T(a)*b[i] - lanes[i] - sources[k])
		}
	}
}
