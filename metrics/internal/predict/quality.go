package predict

import (
	"slices"

	"github.com/unravel-ml/unravel/metrics/matrix"
)

// Accuracy is the fraction of n predictions that are right:
//
//	1/n sum_i [predicted_i = levels_i]
func Accuracy(predicted, levels []int) float64 {
	right := 0
	for i, l := range levels {
		if predicted[i] == l {
			right++
		}
	}
	return float64(right) / float64(len(levels))
}

// Determination is the joint R^2 of predictions of some columns of arrays, from first to before last:
//
//	1 - sum (y - predicted)^2 / sum (y - mean)^2
//
// If y is constant it is 1 for perfect predictions, otherwise 0.
func Determination(y, predicted []float64, columns, first, last int) float64 {
	var rest, all float64
	for c := first; c < last; c++ {
		var mean float64
		for i := c; i < len(y); i += columns {
			mean += y[i] / float64(len(y)/columns)
		}
		for i := c; i < len(y); i += columns {
			rest += (y[i] - predicted[i]) * (y[i] - predicted[i])
			all += (y[i] - mean) * (y[i] - mean)
		}
	}
	if all == 0 {
		if rest == 0 {
			return 1
		}
		return 0
	}
	return 1 - rest/all
}

// squaredCorrelation is the score cov(x, y)^2 / (var x var y) of numbers x and y with var y above 0. It is 0 if var x
// (n-1 degrees of freedom) is at most 1e-12.
func squaredCorrelation(x, y []float64) float64 {
	column := make([]float64, len(x))
	n := float64(len(x))
	scale := matrix.Matrix{Rows: len(x), Cols: 1, Data: x}.UnitColumn(0, column)
	if scale*scale*n/(n-1) <= 1e-12 {
		return 0
	}
	var mean, square, product float64
	for _, v := range y {
		mean += v / n
	}
	for i, v := range y {
		v -= mean
		square += v * v
		product += v * column[i]
	}
	return product / square * product / n
}

// Vary reports whether labels differ.
func Vary(labels []int) bool {
	for _, l := range labels {
		if l != labels[0] {
			return true
		}
	}
	return false
}

// Majority is the fraction of test levels that equal the most frequent train level, or the smallest of several.
func Majority(train, test []int, levels int) float64 {
	count := make([]int, levels)
	for _, l := range train {
		count[l]++
	}
	best := slices.Index(count, slices.Max(count))
	right := 0
	for _, l := range test {
		if l == best {
			right++
		}
	}
	return float64(right) / float64(len(test))
}
