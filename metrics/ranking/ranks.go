package ranking

import (
	"cmp"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/metrics"
)

// KendallTau returns Kendall's rank correlation tau-b (1938) of two lists of equal length, as in table 6 of Zhang and
// Sugiyama 2024. It counts the pairs of positions with the same order in both lists, subtracts the pairs with opposite
// orders, and divides by
//
//	sqrt((pairs not equal in a) (pairs not equal in b))
//
// It is 1 if the orders agree, -1 if they are opposite, and NaN if all values of a list are equal. Positions where
// either list has NaN are left out.
func KendallTau(a, b []float64) float64 {
	// pairs with the same order minus pairs with opposite orders; pairs that differ in a; pairs that differ in b
	var same, left, right int
	for i := range a {
		if math.IsNaN(a[i]) || math.IsNaN(b[i]) {
			continue
		}
		for j := range i {
			if math.IsNaN(a[j]) || math.IsNaN(b[j]) {
				continue
			}
			x, y := cmp.Compare(a[i], a[j]), cmp.Compare(b[i], b[j])
			same += x * y
			left += x * x
			right += y * y
		}
	}
	if left == 0 || right == 0 {
		return math.NaN()
	}
	return float64(same) / math.Sqrt(float64(left)*float64(right))
}

// Ranks returns the rank of every value, 1 for the best. Equal values share the mean of their ranks; NaN has rank NaN.
func Ranks(values []float64, better metrics.Direction) []float64 {
	ranks := slices.Clone(values)
	var places []int
	var known []float64
	for i, v := range values {
		if math.IsNaN(v) {
			continue
		}
		if better == metrics.HigherIsBetter {
			v = -v
		}
		places, known = append(places, i), append(known, v)
	}
	for at, rank := range averageRanks(known) {
		ranks[places[at]] = rank
	}
	return ranks
}

// averageRanks returns [Ranks] from the smallest value on, in time n log n.
func averageRanks(values []float64) []float64 {
	places := numeric.UpTo(len(values))
	slices.SortFunc(places, func(i, j int) int { return cmp.Compare(values[i], values[j]) })
	ranks := make([]float64, len(values))
	for low := 0; low < len(places); {
		high := low + 1
		for high < len(places) && values[places[high]] == values[places[low]] {
			high++
		}
		for _, i := range places[low:high] {
			ranks[i] = float64(low+high+1) / 2
		}
		low = high
	}
	return ranks
}
