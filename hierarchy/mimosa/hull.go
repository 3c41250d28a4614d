package mimosa

import (
	"math"
	"slices"
)

// hull decides whether the origin is a convex combination of points, by Wolfe's algorithm for
// the point of a polytope nearest to the origin ("Finding the nearest point in a polytope",
// 1976). It keeps the memory for that.
type hull struct {
	m      int
	corner []int     // points that span the simplex with the nearest point so far
	weight []float64 // of the corners, positive, of sum 1
	at     []float64 // m: the nearest point so far

	// For the nearest point of the plane through the corners:
	goal     []float64 // its weights
	goalAt   []float64 // m
	basis    []float64 // orthonormal directions of the plane, in rows of m
	triangle []float64 // the corners less the first one, in the basis
}

// reach is the distance, as a part of the largest one to a point, below which the origin counts
// as met.
const reach = 1e-13

// inside says whether the origin is a convex combination of n points of m numbers. If it is not,
// h.at is a direction along which all of them lie. Where rounding leaves it open, it is.
func (h *hull) inside(points []float64, m int) bool {
	n := len(points) / m
	h.reserve(m)
	first, scale := 0, 0.0
	least := math.Inf(1)
	for j := range n {
		square := dot(points[j*m:(j+1)*m], points[j*m:(j+1)*m])
		scale = max(scale, square)
		if square < least {
			first, least = j, square
		}
	}
	h.corner, h.weight = append(h.corner[:0], first), append(h.weight[:0], 1)
	copy(h.at, points[first*m:(first+1)*m])
	for range 20 * (n + m) { // rounding could make it turn in circles
		if dot(h.at, h.at) <= reach*reach*scale {
			return true
		}
		next, least := 0, math.Inf(1)
		for j := range n {
			if v := dot(h.at, points[j*m:(j+1)*m]); v < least {
				next, least = j, v
			}
		}
		if least > 0 {
			return false // the plane across h.at separates
		}
		if !h.add(points, next, math.Sqrt(scale)) {
			return true
		}
	}
	return true
}

func (h *hull) reserve(m int) {
	h.m = m
	if cap(h.at) < m {
		h.at, h.goalAt, h.goal = make([]float64, m), make([]float64, m), make([]float64, m+1)
		h.basis, h.triangle = make([]float64, m*m), make([]float64, m*m)
	}
	h.at, h.goalAt = h.at[:m], h.goalAt[:m]
}

// add takes a further corner, moves to the nearest point of the simplex, and drops the
// corners that it does not need. It reports whether that was possible: the corners are
// to be affinely independent.
func (h *hull) add(points []float64, next int, scale float64) bool {
	if slices.Contains(h.corner, next) || len(h.corner) > h.m {
		return false
	}
	h.corner, h.weight = append(h.corner, next), append(h.weight, 0)
	for {
		if !h.solve(points, scale) {
			return false
		}
		goal := h.goal[:len(h.corner)]
		step := 1.0
		for i, w := range h.weight {
			if g := goal[i]; g <= 0 && w > g {
				step = min(step, w/(w-g))
			}
		}
		if slices.Min(goal) > 0 {
			copy(h.weight, goal)
			copy(h.at, h.goalAt)
			return true
		}
		k := 0
		for i, w := range h.weight {
			if w += step * (goal[i] - w); w > 1e-15 {
				h.corner[k], h.weight[k] = h.corner[i], w
				k++
			}
		}
		if k == len(h.corner) || k == 0 {
			return false
		}
		h.corner, h.weight = h.corner[:k], h.weight[:k]
	}
}

// solve finds the point nearest to the origin of the plane through the corners, and its weights, by
// Gram and Schmidt's orthonormal basis of the plane. Everything is made orthogonal twice, so
// that h.goalAt is across the plane even if it is short.
func (h *hull) solve(points []float64, scale float64) bool {
	m, k := h.m, len(h.corner)-1
	origin := points[h.corner[0]*m : (h.corner[0]+1)*m]
	clear(h.triangle[:k*k])
	for i := range k {
		axis := h.basis[i*m : (i+1)*m]
		for c, v := range points[h.corner[i+1]*m : (h.corner[i+1]+1)*m] {
			axis[c] = v - origin[c]
		}
		h.clean(axis, i, h.triangle[i*k:])
		length := math.Sqrt(dot(axis, axis))
		if !(length > reach*scale) {
			return false
		}
		h.triangle[i*k+i] = length
		for c := range axis {
			axis[c] /= length
		}
	}
	copy(h.goalAt, origin)
	rest := h.goal[1 : 1+k]
	clear(rest)
	h.clean(h.goalAt, k, rest)
	total := 0.0
	for i := k - 1; i >= 0; i-- { // the goal is origin - sum_i rest_i basis_i
		w := -rest[i]
		for j := i + 1; j < k; j++ {
			w -= h.triangle[j*k+i] * rest[j]
		}
		rest[i] = w / h.triangle[i*k+i]
		total += rest[i]
	}
	h.goal[0] = 1 - total
	return true
}

// clean takes the first k directions of the basis out of a vector, and adds what they were.
func (h *hull) clean(v []float64, k int, parts []float64) {
	for range 2 {
		for i := range k {
			axis := h.basis[i*h.m : (i+1)*h.m]
			along := dot(axis, v)
			parts[i] += along
			for c, u := range axis {
				v[c] -= along * u
			}
		}
	}
}

// flat says whether points lie in a plane of fewer than m dimensions.
func flat(points []float64, m int) bool {
	n := len(points) / m
	rest := make([]float64, len(points)) // what is left without the directions found
	for i := range rest {
		rest[i] = points[i] - points[i%m]
	}
	scale := 0.0
	for range m {
		far, square := 0, 0.0
		for j := range n {
			if s := dot(rest[j*m:(j+1)*m], rest[j*m:(j+1)*m]); s > square {
				far, square = j, s
			}
		}
		scale = max(scale, square)
		if square <= 1e-24*scale {
			return true
		}
		axis := make([]float64, m)
		for c, v := range rest[far*m : (far+1)*m] {
			axis[c] = v / math.Sqrt(square)
		}
		for j := range n {
			row := rest[j*m : (j+1)*m]
			along := dot(axis, row)
			for c := range row {
				row[c] -= along * axis[c]
			}
		}
	}
	return false
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}
