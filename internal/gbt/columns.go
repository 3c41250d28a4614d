package gbt

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/internal/parallel"
)

// Columns is a table for fitting trees. It stores the columns in single precision, as in scikit-learn, and the sorted
// row order of each column.
type Columns struct {
	rows   int
	values [][]float32
	order  [][]int32 // row indices in ascending order of each column; with bins: a single list of all rows

	bins  [][]uint8   // by column and row; nil: exact splits
	edges [][]float64 // by column and bin: the upper threshold of the bin
}

// NewColumns sorts the columns of a rows x cols table in row-major order.
func NewColumns(rows, cols int, data []float64) (*Columns, error) {
	if rows < 1 || cols < 1 || rows > math.MaxInt32 || len(data) != rows*cols {
		return nil, fmt.Errorf("gbt: %d numbers are no table of %d x %d; want rows x columns numbers", len(data), rows, cols)
	}
	for i, v := range data {
		if !(math.Abs(v) <= math.MaxFloat32) {
			return nil, fmt.Errorf("gbt: row %d, column %d is %v; want numbers within single precision", i/cols, i%cols, v)
		}
	}
	c := &Columns{rows: rows, values: make([][]float32, cols), order: make([][]int32, cols)}
	parallel.For(cols, func(_, j int) {
		values, order := make([]float32, rows), make([]int32, rows)
		for i := range values {
			values[i], order[i] = float32(data[i*cols+j]), int32(i)
		}
		slices.SortFunc(order, func(a, b int32) int {
			if d := cmp.Compare(values[a], values[b]); d != 0 {
				return d
			}
			return cmp.Compare(a, b)
		})
		c.values[j], c.order[j] = values, order
	})
	return c, nil
}

// NewBinned is NewColumns for large tables. It divides each column into at most the given number of bins (2 to 256),
// and trees split only between bins. Bins have equal numbers of rows, as far as equal values allow. A column with at
// most as many distinct values as bins is split exactly.
func NewBinned(rows, cols int, data []float64, bins int) (*Columns, error) {
	if bins < 2 || bins > 256 {
		return nil, fmt.Errorf("gbt: %d bins; want 2 to 256", bins)
	}
	c, err := NewColumns(rows, cols, data)
	if err != nil {
		return nil, err
	}
	c.bins, c.edges = make([][]uint8, cols), make([][]float64, cols)
	parallel.For(cols, func(_, j int) { c.bins[j], c.edges[j] = cutBins(c.order[j], c.values[j], bins) })
	c.order = [][]int32{make([]int32, rows)}
	for i := range c.order[0] {
		c.order[0][i] = int32(i)
	}
	return c, nil
}

// cutBins assigns a bin to every row, and an upper threshold to every bin except the last.
func cutBins(order []int32, values []float32, maxBins int) (bins []uint8, edges []float64) {
	groups := 1 // number of groups of equal values
	for position := 1; position < len(order); position++ {
		if values[order[position]] > values[order[position-1]]+tieTolerance {
			groups++
		}
	}
	bins = make([]uint8, len(order))
	binRows := 0
	for position, i := range order {
		if position > 0 && values[i] > values[order[position-1]]+tieTolerance && len(edges)+1 < maxBins {
			// A bin is full if it has its share of the rows that remained at its start.
			if binsLeft := maxBins - len(edges); groups <= maxBins || binRows*binsLeft >= len(order)-position+binRows {
				edges = append(edges, threshold(values[order[position-1]], values[i]))
				binRows = 0
			}
		}
		bins[i] = uint8(len(edges))
		binRows++
	}
	return bins, edges
}

// threshold returns the midpoint of two values. After rounding, it must be less than the larger value.
func threshold(low, high float32) float64 {
	middle := float64(low)/2 + float64(high)/2
	if middle == float64(high) {
		return float64(low)
	}
	return middle
}
