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
	point  []float64 // m: the current nearest point

	// For the nearest point of the plane through the corners:
	planeWeights []float64 // its weights
	planePoint   []float64 // m
	basis        []float64 // rows of m: orthonormal directions of the plane
	triangle     []float64 // the corners minus the first one, in the basis
}

// reach is a fraction of the largest distance of a point. The origin counts as reached within it.
const reach = 1e-13

// containsOrigin reports whether the origin is a convex combination of n points of m numbers. If not, all points have
// positive inner products with h.point. Cases too close to decide after rounding count as inside.
func (h *hull) containsOrigin(points []float64, m int) bool {
	n := len(points) / m
	h.reserve(m)
	nearest, scale := 0, 0.0
	smallest := math.Inf(1)
	for j := range n {
		square := dot(points[j*m:(j+1)*m], points[j*m:(j+1)*m])
		scale = max(scale, square)
		if square < smallest {
			nearest, smallest = j, square
		}
	}
	h.corner, h.weight = append(h.corner[:0], nearest), append(h.weight[:0], 1)
	copy(h.point, points[nearest*m:(nearest+1)*m])
	for range 20 * (n + m) { // a limit, because rounding could make it cycle
		if dot(h.point, h.point) <= reach*reach*scale {
			return true
		}
		candidate, smallest := 0, math.Inf(1)
		for j := range n {
			if v := dot(h.point, points[j*m:(j+1)*m]); v < smallest {
				candidate, smallest = j, v
			}
		}
		if smallest > 0 {
			return false // the plane normal to h.point separates
		}
		if !h.addCorner(points, candidate, math.Sqrt(scale)) {
			return true
		}
	}
	return true
}

func (h *hull) reserve(m int) {
	h.m = m
	if cap(h.point) < m {
		h.point, h.planePoint, h.planeWeights = make([]float64, m), make([]float64, m), make([]float64, m+1)
		h.basis, h.triangle = make([]float64, m*m), make([]float64, m*m)
	}
	h.point, h.planePoint = h.point[:m], h.planePoint[:m]
}

// addCorner adds a corner, moves to the nearest point of the simplex and drops corners of weight 0. It returns false if
// the corners would be affinely dependent.
func (h *hull) addCorner(points []float64, candidate int, scale float64) bool {
	if slices.Contains(h.corner, candidate) || len(h.corner) > h.m {
		return false
	}
	h.corner, h.weight = append(h.corner, candidate), append(h.weight, 0)
	for {
		if !h.solve(points, scale) {
			return false
		}
		target := h.planeWeights[:len(h.corner)]
		step := 1.0
		for i, w := range h.weight {
			if g := target[i]; g <= 0 && w > g {
				step = min(step, w/(w-g))
			}
		}
		if slices.Min(target) > 0 {
			copy(h.weight, target)
			copy(h.point, h.planePoint)
			return true
		}
		k := 0
		for i, w := range h.weight {
			if w += step * (target[i] - w); w > 1e-15 {
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

// solve finds the point nearest to the origin in the plane through the corners. It sets h.planePoint to the point
// and h.planeWeights to its weights, by a Gram-Schmidt basis of the plane. Orthogonalising twice keeps a short
// h.planePoint normal to the plane. It returns false if the corners are affinely dependent.
func (h *hull) solve(points []float64, scale float64) bool {
	m, k := h.m, len(h.corner)-1
	origin := points[h.corner[0]*m : (h.corner[0]+1)*m]
	clear(h.triangle[:k*k])
	for i := range k {
		axis := h.basis[i*m : (i+1)*m]
		for c, v := range points[h.corner[i+1]*m : (h.corner[i+1]+1)*m] {
			axis[c] = v - origin[c]
		}
		h.orthogonalise(axis, i, h.triangle[i*k:])
		length := math.Sqrt(dot(axis, axis))
		if !(length > reach*scale) {
			return false
		}
		h.triangle[i*k+i] = length
		for c := range axis {
			axis[c] /= length
		}
	}
	copy(h.planePoint, origin)
	weights := h.planeWeights[1 : 1+k]
	clear(weights)
	h.orthogonalise(h.planePoint, k, weights)
	total := 0.0
	for i := k - 1; i >= 0; i-- { // from coefficients of the basis to weights of the corners
		w := -weights[i]
		for j := i + 1; j < k; j++ {
			w -= h.triangle[j*k+i] * weights[j]
		}
		weights[i] = w / h.triangle[i*k+i]
		total += weights[i]
	}
	h.planeWeights[0] = 1 - total
	return true
}

// orthogonalise subtracts from v its components along the first k directions of the basis, and adds them to components.
func (h *hull) orthogonalise(v []float64, k int, components []float64) {
	for range 2 {
		for i := range k {
			axis := h.basis[i*h.m : (i+1)*h.m]
			component := dot(axis, v)
			components[i] += component
			for c, u := range axis {
				v[c] -= component * u
			}
		}
	}
}

// isFlat reports whether points lie in a plane of fewer than m dimensions.
func isFlat(points []float64, m int) bool {
	n := len(points) / m
	residuals := make([]float64, len(points)) // the points without their components along the directions found so far
	for i := range residuals {
		residuals[i] = points[i] - points[i%m]
	}
	scale := 0.0
	for range m {
		farthest, square := 0, 0.0
		for j := range n {
			if s := dot(residuals[j*m:(j+1)*m], residuals[j*m:(j+1)*m]); s > square {
				farthest, square = j, s
			}
		}
		scale = max(scale, square)
		if square <= 1e-24*scale {
			return true
		}
		axis := make([]float64, m)
		for c, v := range residuals[farthest*m : (farthest+1)*m] {
			axis[c] = v / math.Sqrt(square)
		}
		for j := range n {
			row := residuals[j*m : (j+1)*m]
			component := dot(axis, row)
			for c := range row {
				row[c] -= component * axis[c]
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
