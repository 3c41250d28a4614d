// Package geometry computes properties of sets of points: smallest enclosing balls, geometric medians, diameters, mean
// distances and principal components. It also fits maps from points to targets: isometries, and affine maps that
// minimise squared errors, absolute deviations, mean Euclidean lengths, or the maximum error.
//
// Points are rows in a slice: point i of a set with c columns is points[i*c : (i+1)*c]. All optima are exact up to
// rounding, for any position and scale of the points. Points may be equal, and may lie on a line or in a plane. Each
// optimum has a gradient.
//
// Methods such as [Ball.Enclose] reuse the memory of the previous call.
package geometry

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

var (
	errStalled  = errors.New("geometry: no optimum was found")
	errTooLarge = errors.New("geometry: want finite numbers, with finite differences")
)

// rowsOf checks a set of points and returns their number.
func rowsOf(what string, points []float64, columns int) (int, error) {
	switch {
	case columns < 1:
		return 0, fmt.Errorf("geometry: want 1 column or more, got %d", columns)
	case len(points) == 0:
		return 0, fmt.Errorf("geometry: no %s", what)
	case len(points)%columns != 0:
		return 0, fmt.Errorf("geometry: %d numbers are no %s of %d columns", len(points), what, columns)
	}
	for i, v := range points {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return 0, fmt.Errorf("geometry: want finite numbers, got %v in row %d of the %s", v, i/columns, what)
		}
	}
	return len(points) / columns, nil
}

// pairedRows checks points and targets with the same number of rows, and returns this number.
func pairedRows(x []float64, columns int, y []float64, targets int) (int, error) {
	rows, err := rowsOf("points", x, columns)
	if err != nil {
		return 0, err
	}
	n, err := rowsOf("targets", y, targets)
	if err == nil && n != rows {
		err = fmt.Errorf("geometry: want as many targets as points, got %d and %d", n, rows)
	}
	return rows, err
}

// cloud is a set of points, shifted and scaled to [-1, 1] around its first point. This prevents overflow, underflow and
// cancellation in sums of squares.
type cloud struct {
	rows, columns int
	x             []float64
	origin        []float64
	scale         float64 // 0: all points are equal
}

func (c *cloud) read(points []float64, columns int) error {
	rows, err := rowsOf("points", points, columns)
	if err != nil {
		return err
	}
	c.rows, c.columns, c.scale = rows, columns, 0
	c.x, c.origin = resize(c.x, len(points)), resize(c.origin, columns)
	copy(c.origin, points)
	for i := range rows {
		for j, o := range c.origin {
			d := points[i*columns+j] - o
			c.x[i*columns+j] = d
			c.scale = max(c.scale, math.Abs(d))
		}
	}
	if math.IsInf(c.scale, 0) {
		return errTooLarge
	}
	if c.scale > 0 {
		for i := range c.x {
			c.x[i] /= c.scale
		}
	}
	return nil
}

// move shifts the cloud to a new origin, in the coordinates of the cloud.
func (c *cloud) move(points, origin []float64) {
	c.original(c.origin, origin)
	for i, v := range points {
		c.x[i] = (v - c.origin[i%c.columns]) / c.scale
	}
}

func (c *cloud) point(i int) []float64 { return c.x[i*c.columns : (i+1)*c.columns] }

// original converts point p from the coordinates of the cloud to the original coordinates, in dst.
func (c *cloud) original(dst, p []float64) {
	for j, v := range p {
		dst[j] = c.origin[j] + v*c.scale
	}
}

// interrupted calls an Interrupt function, which may be nil.
func interrupted(interrupt func() error) error {
	if interrupt == nil {
		return nil
	}
	return interrupt()
}

// resize returns a slice of n arbitrary elements, in the memory of s if it is large enough.
func resize[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }

// zeros returns n zeros, in the memory of s if it is large enough.
func zeros(s []float64, n int) []float64 {
	s = resize(s, n)
	clear(s)
	return s
}

func dot(a, b []float64) float64 {
	b = b[:len(a)]
	sum := 0.0
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

func squaredDistance(a, b []float64) float64 {
	b = b[:len(a)]
	sum := 0.0
	for i, v := range a {
		d := v - b[i]
		sum += d * d
	}
	return sum
}

func axpy(f float64, x, y []float64) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += f * v
	}
}
