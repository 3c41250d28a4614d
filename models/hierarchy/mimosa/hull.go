package mimosa

import (
	"math"
	"slices"
)

// hull decides whether the origin is a convex combination of points. It uses Wolfe's algorithm for the point of a
// polytope nearest to the origin ("Finding the nearest point in a polytope", 1976), and reuses its memory.
type hull struct {
	m      int
	corner []int     // indices of the points that span the current simplex
	weight []float64 // positive weights of the corners, with sum 1
	at     []float64 // m: the current nearest point

	// For the nearest point of the plane through the corners:
	goal     []float64 // its weights
	goalAt   []float64 // m
	basis    []float64 // rows of m: orthonormal directions of the plane
	triangle []float64 // the corners minus the first one, in the basis
}

// reach is a fraction of the largest distance of a point. The origin counts as reached within it.
const reach = 1e-13

// inside reports whether the origin is a convex combination of n points of m numbers. If not, all points have
// positive inner products with h.at. Cases too close to decide after rounding count as inside.
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
	for range 20 * (n + m) { // a limit, because rounding could make it cycle
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
			return false // the plane normal to h.at separates
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

// add adds a corner, moves to the nearest point of the simplex and drops corners of weight 0. It returns false if the
// corners would be affinely dependent.
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

// solve finds the point nearest to the origin in the plane through the corners. It sets h.goalAt to the point and
// h.goal to its weights, by a Gram-Schmidt basis of the plane. Orthogonalising twice keeps a short h.goalAt normal to
// the plane. It returns false if the corners are affinely dependent.
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

// clean subtracts from v its components along the first k directions of the basis, and adds them to parts.
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

// flat reports whether points lie in a plane of fewer than m dimensions.
func flat(points []float64, m int) bool {
	n := len(points) / m
	rest := make([]float64, len(points)) // the points without their components along the directions found so far
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
