package metrics

import (
	"math"
)

// entropyFloor is added to importances before they become frequencies, as in
// disentanglement_lib: a row of zeros counts as uniform.
const entropyFloor = 1e-11

// concentration is 1 - H(p), where p are non-negative importances over their sum, and H
// is their entropy in logarithms of the base that makes 1 its maximum. It is 1 if one
// importance has all, and 0 if all are equal.
func concentration(importances []float64) float64 {
	sum := 0.0
	for _, v := range importances {
		sum += v + entropyFloor
	}
	var h float64
	for _, v := range importances {
		p := (v + entropyFloor) / sum
		h -= p * math.Log(p)
	}
	return 1 - h/math.Log(float64(len(importances)))
}

// naturalConcentration is 1 - H(p) with H in nats: at least 1 - ln K. It is 0 if all
// importances are.
func naturalConcentration(importances []float64) float64 {
	sum := 0.0
	for _, v := range importances {
		sum += v
	}
	if sum == 0 {
		return 0
	}
	var h float64
	for _, v := range importances {
		if p := v / sum; p > 0 {
			h -= p * math.Log(p)
		}
	}
	return 1 - h
}

// weighted is the mean of values with non-negative weights; if these are all 0, the mean.
func weighted(values, weights []float64) float64 {
	var sum, total float64
	for i, v := range values {
		sum += v * weights[i]
		total += weights[i]
	}
	if total == 0 {
		return Mean.of(values)
	}
	return sum / total
}
