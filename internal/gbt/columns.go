package gbt

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/internal/kernel"
)

// Columns is a table of numbers that trees split: its columns in single precision,
// to which scikit-learn rounds them too, and the rows of each in ascending order.
type Columns struct {
	rows   int
	values [][]float32
	order  [][]int32
}

// NewColumns sorts the columns of a rows x cols table that is stored row by row.
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
	kernel.For(cols, func(_, j int) {
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
