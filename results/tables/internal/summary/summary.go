// Package summary reduces the values behind a cell to one number.
package summary

import (
	"math"
	"slices"

	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/metrics/ranking"
)

// Mean returns the mean of values, or NaN for no values.
func Mean(values []float64) float64 {
	return numeric.Sum(values) / float64(len(values))
}

func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Deviation returns the standard deviation of values (n-1 degrees of freedom), or 0 for a single value.
func Deviation(values []float64) float64 {
	if len(values) < 2 {
		return 0
	}
	_, deviation := numeric.MeanDeviation(values)
	return deviation
}

// MeanTau returns the mean of Kendall's tau-b over data sets where both orders differ; NaN without one.
func MeanTau(a, b [][]float64) float64 {
	var all []float64
	for i := range a {
		if v := ranking.KendallTau(a[i], b[i]); !math.IsNaN(v) {
			all = append(all, v)
		}
	}
	return Mean(all)
}

// Split divides values, which are in the order of rows and then of data sets, by data set.
func Split(values []float64, sets int) [][]float64 {
	list := make([][]float64, sets)
	for i, v := range values {
		list[i%sets] = append(list[i%sets], v)
	}
	return list
}
