package bins

import (
	"fmt"
	"math"
	"slices"
)

// Distant says that a few distant rows leave nearly all rows of a column in one of 20 bins of equal width, or returns
// "". NaN does not count.
func Distant(values []float64) string {
	const n, nearlyAll = 20, 0.98
	known := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	levels, centres := Levels(known, n)
	if len(centres) < 2 {
		return ""
	}
	count := make([]int, len(centres))
	for _, l := range levels {
		count[l]++
	}
	most := slices.Max(count)
	low, high := math.Inf(1), math.Inf(-1)
	for i, v := range known {
		if count[levels[i]] == most {
			low, high = min(low, v), max(high, v)
		}
	}
	if float64(most) < nearlyAll*float64(len(known)) || low == high {
		return ""
	}
	least, largest := slices.Min(known), slices.Max(known)
	return fmt.Sprintf("is %.4g to %.4g in %d rows, and %.4g to %.4g in all", low, high, most, least, largest)
}
