package mutual

import (
	"cmp"
	"math"
	"slices"

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

// Shares returns R (Cao et al. 2022, section 3.2), computed from the mutual information m of code columns i and factors
// j:
//
//	R_ij = m_ij / sum over i of m_ij
//
// Factors without information in any column have R_ij = 0 and are returned as silent.
func Shares(m [][]float64) (shares [][]float64, silent []int) {
	sums := make([]float64, len(m[0]))
	for _, row := range m {
		for j, v := range row {
			sums[j] += v
		}
	}
	for j, s := range sums {
		if s == 0 {
			silent = append(silent, j)
			sums[j] = 1
		}
	}
	shares = make([][]float64, len(m))
	for i, row := range m {
		shares[i] = make([]float64, len(row))
		for j, v := range row {
			shares[i][j] = v / sums[j]
		}
	}
	return shares, silent
}

// Transposed returns the transpose of a matrix.
func Transposed(matrix [][]float64) [][]float64 {
	t := make([][]float64, len(matrix[0]))
	for _, row := range matrix {
		for j, v := range row {
			t[j] = append(t[j], v)
		}
	}
	return t
}

// Best selects up to k columns for every factor by their shares. Of the columns with their largest share in the factor,
// it takes those with the largest concentration. The result is in ascending order. With whole it keeps all columns that
// tie. Columns without information are never selected. tied reports whether ties decided.
func Best(shares [][]float64, e Entropy, k int, whole bool) (columns []int, tied bool) {
	const rounding = 1e-12
	scores := make([]float64, len(shares))
	owned := make([][]int, len(shares[0])) // columns, by factor
	for c, row := range shares {
		scores[c] = e.Of(row)
		largest := slices.Max(row)
		if largest == 0 {
			continue
		}
		factor := slices.Index(row, largest)
		owned[factor] = append(owned[factor], c)
		for j := factor + 1; j < len(row); j++ {
			if row[j] > largest-rounding {
				if tied = true; whole {
					owned[j] = append(owned[j], c)
				}
			}
		}
	}
	for _, own := range owned {
		slices.SortStableFunc(own, func(a, b int) int {
			return cmp.Compare(math.Round(scores[b]/rounding), math.Round(scores[a]/rounding))
		})
		count := min(k, len(own))
		for count < len(own) && scores[own[count-1]]-scores[own[count]] <= rounding {
			tied = true
			if !whole {
				break
			}
			count++
		}
		columns = append(columns, own[:count]...)
	}
	slices.Sort(columns)
	return slices.Compact(columns), tied && !whole
}
