package mutual

import (
	"math"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
)

// entropyFloor is the Floor of disentanglement_lib, which turns a row of zeros into a uniform distribution.
const entropyFloor = 1e-11

// Entropy sets how the concentration 1 - H(p) of K importances is computed, where p are the importances plus Floor,
// divided by their sum. With logarithms to base K it is 1 if only one importance is positive, and 0 if all are equal.
// With natural logarithms its minimum is 1 - ln K.
type Entropy struct {
	Log   LogBase `yaml:"log" doc:"base of the entropy's logarithm: factors (their number, as in the authors' code) or natural (as in the paper's text)"`
	Floor float64 `yaml:"floor" doc:"with base factors: constant added to every importance before normalising, as in the authors' code; 0: none"`
}

// LogBase is the base of the logarithms of an entropy.
type LogBase string

// The bases.
const (
	LogFactors LogBase = "factors" // the number of factors, so entropies are at most 1
	LogNatural LogBase = "natural"
)

// LibraryEntropy returns the settings of disentanglement_lib, which the authors' code for MED also uses.
func LibraryEntropy() Entropy { return Entropy{Log: LogFactors, Floor: entropyFloor} }

// maxFloor keeps the floor small relative to importances.
const maxFloor = 1e-3

// Check checks the settings.
func (e Entropy) Check() error {
	switch {
	case e.Log != LogFactors && e.Log != LogNatural && e.Log != "":
		return config.Invalid("log", "unknown base %q; want factors or natural", string(e.Log))
	case !(e.Floor >= 0 && e.Floor <= maxFloor):
		return config.Invalid("floor", "%v is out of range; want 0 to %v", e.Floor, maxFloor)
	}
	return nil
}

// Least returns the lower bound of the concentration.
func (e Entropy) Least() float64 {
	if e.Log == LogNatural {
		return math.Inf(-1)
	}
	return 0
}

// Of returns the concentration 1 - H(p) of non-negative importances, or 0 if all of them and the floor are 0.
func (e Entropy) Of(importances []float64) float64 {
	floor, base := e.Floor, math.Log(float64(len(importances)))
	if e.Log == LogNatural {
		floor, base = 0, 1
	}
	sum := 0.0
	for _, v := range importances {
		sum += v + floor
	}
	if sum == 0 {
		return 0
	}
	var h float64
	for _, v := range importances {
		if p := (v + floor) / sum; p > 0 {
			h -= p * math.Log(p)
		}
	}
	return max(1-h/base, e.Least()) // rounding of equal importances can make it smaller
}

// OfRows returns the disentanglement of Eastwood and Williams 2018, section 2, and the disentanglement of every code
// column. R is the importance of code column c (row) for factor j (column):
//
//	D   = sum_c w_c D_c,  w_c = sum_j R_cj / sum_cj R_cj
//	D_c = 1 - H(P_c),     P_cj = R_cj / sum_j R_cj
//
// with the entropy H of [Entropy.Of]. If R is 0, the w_c are equal. Completeness is the disentanglement of R
// transposed.
func (e Entropy) OfRows(importance [][]float64) (mean float64, rows []float64) {
	weights := make([]float64, len(importance))
	for c, row := range importance {
		rows = append(rows, e.Of(row))
		weights[c] = factor.Sum.Of(row)
	}
	return WeightedMean(rows, weights), rows
}

// WeightedMean returns the mean of values with non-negative weights, or the plain mean if all weights are 0.
func WeightedMean(values, weights []float64) float64 {
	var sum, total float64
	for i, v := range values {
		sum += v * weights[i]
		total += weights[i]
	}
	if total == 0 {
		return factor.Mean.Of(values)
	}
	return sum / total
}
