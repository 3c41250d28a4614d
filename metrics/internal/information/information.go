// Package information has the formulas of metrics that compare the mutual information of code columns with factors.
package information

import (
	"math"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/geometry"
)

// Gap returns the index of the largest value, and its difference from the second largest value.
func Gap(values []float64) (best int, gap float64) {
	for i, v := range values {
		if v > values[best] {
			best = i
		}
	}
	second := 0.0
	for i, v := range values {
		if i != best {
			second = max(second, v)
		}
	}
	return best, values[best] - second
}

// Modularity is the score of one code column (Ridgeway and Mozer 2018, section 2). It takes the column's mutual
// information m with K >= 2 factors and also returns the factor t with the largest m:
//
//	1 - sum over j != t of m_j^2 / ((K - 1) m_t^2)
func Modularity(row []float64) (best int, value float64) {
	largest := slices.Max(row)
	best = slices.Index(row, largest)
	if largest == 0 {
		return best, 0
	}
	var others float64
	for j, v := range row {
		if j != best {
			others += v / largest * (v / largest) // ratios first: squares could underflow
		}
	}
	return best, 1 - others/float64(len(row)-1)
}

// cosine is the cosine C_ij of two factors (Cao et al. 2022, equation 4). It compares the mutual information I_i and
// I_j of the two factors with every code column (rows: columns by factors). Neither I_i nor I_j is all zeros:
//
//	C_ij = <I_i, I_j> / (|I_i| |I_j|)
func cosine(rows [][]float64, i, j int) float64 {
	return columnProduct(rows, i, j) / (math.Sqrt(columnProduct(rows, i, i)) * math.Sqrt(columnProduct(rows, j, j)))
}

// columnProduct is the inner product <I_i, I_j> of two columns of a matrix.
func columnProduct(rows [][]float64, i, j int) (sum float64) {
	for _, row := range rows {
		sum += row[i] * row[j]
	}
	return sum
}

// Cosines returns the cosines of all pairs of factors, 0 for factors without information, which it also returns.
func Cosines(rows [][]float64, factors int) (cosines [][]float64, silent []int) {
	cosines = make([][]float64, factors)
	for i := range cosines {
		cosines[i] = make([]float64, factors)
		if columnProduct(rows, i, i) == 0 {
			silent = append(silent, i)
			continue
		}
		cosines[i][i] = 1
		for j := range i {
			if columnProduct(rows, j, j) > 0 {
				v := cosine(rows, i, j)
				cosines[i][j], cosines[j][i] = v, v
			}
		}
	}
	return cosines, silent
}

// Assign gives each factor a block of adjacent code columns with the given width. The assignment maximises the sum over
// factors of the mutual information with the columns of the factor's block. mutual is columns by factors.
func Assign(mutual [][]float64, width int) (blocks []factor.Block) {
	cost := make([][]float64, len(mutual[0]))
	for j := range cost {
		cost[j] = make([]float64, len(mutual)/width)
		for c, row := range mutual {
			cost[j][c/width] -= row[j]
		}
	}
	for j, b := range geometry.Assign(cost) {
		block := factor.Block{Factor: j}
		for c := range width {
			block.Columns = append(block.Columns, b*width+c)
		}
		blocks = append(blocks, block)
	}
	return blocks
}
