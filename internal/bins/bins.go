// Package bins cuts ranges of numbers into bins.
package bins

import (
	"math"
	"slices"
	"sort"
)

// EqualWidth returns the left edges of n bins of equal width from low to high. It rounds like NumPy's histogram (edge j
// at j*step + low), because numbers on a grid lie exactly on edges. If low and high are equal, the range is 1 around them.
func EqualWidth(low, high float64, n int) []float64 {
	if low == high {
		low, high = low-0.5, high+0.5
	}
	left, step := make([]float64, n), (high-low)/float64(n)
	for j := range left {
		left[j] = float64(float64(j)*step) + low // two roundings on every machine, no fused multiply-add
		if math.IsInf(step, 0) {
			t := float64(j) / float64(n)
			left[j] = low*(1-t) + high*t
		}
	}
	return left
}

// Assign sets the id of each value to the last bin with a left edge at most the value; a value below all edges gets 0.
func Assign(ids []int32, values, left []float64) {
	n, low := len(left), left[0]
	scale := 0.0
	if width := left[n-1] - low; width > 0 && !math.IsInf(width, 0) {
		scale = float64(n-1) / width
	}
	for i, v := range values {
		b := 0
		if scale > 0 && !math.IsInf(scale, 0) {
			// correct up to rounding for equal widths, otherwise a first guess
			b = int(min((v-low)*scale, float64(n-1)))
		}
		if b+1 < n && v >= left[b+1] || v < left[b] {
			if b+2 < n && v >= left[b+2] || b > 0 && v < left[b-1] {
				b = sort.Search(n, func(j int) bool { return left[j] > v }) - 1
			} else if v < left[b] {
				b--
			} else {
				b++
			}
		}
		ids[i] = int32(max(b, 0))
	}
}

// Levels cuts the range of values into n bins of equal width. It returns the level of each value, counting non-empty
// bins only, and the centres of these bins. The level of NaN is -1.
func Levels(values []float64, n int) (levels []int, centres []float64) {
	known := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	levels = slices.Repeat([]int{-1}, len(values))
	if len(known) == 0 {
		return levels, nil
	}
	low, high := slices.Min(known), slices.Max(known)
	ids, level := make([]int32, len(known)), make([]int, n)
	Assign(ids, known, EqualWidth(low, high, n))
	for _, b := range ids {
		level[b] = 1
	}
	for b, used := range level {
		level[b] = len(centres)
		if used == 1 {
			t := (float64(b) + 0.5) / float64(n)
			centres = append(centres, low*(1-t)+high*t) // the range itself may overflow
		}
	}
	for i, v := range values {
		if !math.IsNaN(v) {
			levels[i], ids = level[ids[0]], ids[1:]
		}
	}
	return levels, centres
}
