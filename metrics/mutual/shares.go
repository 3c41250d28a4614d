package mutual

import (
	"cmp"
	"math"
	"slices"
)

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
