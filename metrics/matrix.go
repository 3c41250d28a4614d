package metrics

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// Matrix holds codes, row by row.
type Matrix = matrix.Matrix

// NewMatrix converts float32 codes, rows x cols, row by row.
func NewMatrix(rows, cols int, data []float32) Matrix {
	m := Matrix{Rows: rows, Cols: cols, Data: make([]float64, len(data))}
	for i, v := range data {
		m.Data[i] = float64(v)
	}
	return m
}

// FromRows copies rows. They must have equal lengths and finite numbers.
func FromRows(rows [][]float64) (Matrix, error) {
	if len(rows) == 0 || len(rows[0]) == 0 {
		return Matrix{}, fmt.Errorf("there are no numbers; want at least one row and one column")
	}
	m := Matrix{Rows: len(rows), Cols: len(rows[0])}
	for i, row := range rows {
		if len(row) != m.Cols {
			return Matrix{}, fmt.Errorf("row %d has %d columns, and row 0 has %d; want as many in every row", i, len(row), m.Cols)
		}
		m.Data = append(m.Data, row...)
	}
	return m, m.Finite("row %d, column %d is %v")
}

// FromMat copies a gonum matrix. It must have finite numbers.
func FromMat(a mat.Matrix) (Matrix, error) {
	if isNil(a) {
		return Matrix{}, errors.New("the matrix is nil; want at least one row and one column")
	}
	rows, cols := a.Dims()
	if rows == 0 || cols == 0 {
		return Matrix{}, fmt.Errorf("the matrix is %d x %d; want at least one row and one column", rows, cols)
	}
	m := Matrix{Rows: rows, Cols: cols, Data: make([]float64, rows*cols)}
	for i := range rows {
		for j := range cols {
			m.Data[i*cols+j] = a.At(i, j)
		}
	}
	return m, m.Finite("row %d, column %d is %v")
}

// FromTensor copies a tensor, or a view, of shape [rows, columns] and type float32 or float64. It must have finite
// numbers.
func FromTensor(t tensor.Tensor) (Matrix, error) {
	if isNil(t) {
		return Matrix{}, errors.New("the tensor is nil; want two dimensions, rows and columns")
	}
	shape := t.Shape()
	switch {
	case len(shape) != 2:
		return Matrix{}, fmt.Errorf("the tensor has the shape %v; want two dimensions, rows and columns", shape)
	case shape[0] == 0 || shape[1] == 0:
		return Matrix{}, fmt.Errorf("the tensor has the shape %v; want at least one row and one column", shape)
	case t.Dtype() != tensor.Float32 && t.Dtype() != tensor.Float64:
		return Matrix{}, fmt.Errorf("the tensor holds numbers of type %v; want float32 or float64", t.Dtype())
	}
	m := Matrix{Rows: shape[0], Cols: shape[1], Data: make([]float64, shape[0]*shape[1])}
	for i := range m.Rows {
		for j := range m.Cols {
			v, err := t.At(i, j)
			if err != nil {
				return Matrix{}, fmt.Errorf("row %d, column %d: %w", i, j, err)
			}
			if single, ok := v.(float32); ok {
				m.Data[i*m.Cols+j] = float64(single)
			} else {
				m.Data[i*m.Cols+j] = v.(float64)
			}
		}
	}
	return m, m.Finite("row %d, column %d is %v")
}

// isNil says whether an interface holds nothing, or a nil pointer.
func isNil(v any) bool {
	r := reflect.ValueOf(v)
	return v == nil || r.Kind() == reflect.Pointer && r.IsNil()
}

// NewInput joins codes with the levels of their factors, one row for each image. If factors is nil, they are ordinal,
// named y0, y1, ..., with the levels from 0 to the largest that occurs. An unknown level is [factor.Unknown]. Errors:
// shapes that differ, and the errors of [Input.Validate].
func NewInput(codes Matrix, levels [][]int, factors []factor.Factor) (*Input, error) {
	if len(levels) != codes.Rows {
		return nil, fmt.Errorf("there are levels of %d images and codes of %d; want as many", len(levels), codes.Rows)
	}
	in := &Input{Codes: codes, Factors: factors}
	for i, row := range levels {
		if factors == nil && i == 0 {
			for j := range row {
				in.Factors = append(in.Factors, factor.Factor{Name: fmt.Sprint("y", j), Kind: factor.Ordinal})
			}
		}
		if len(row) != len(in.Factors) {
			return nil, fmt.Errorf("image %d has levels of %d factors; want %d", i, len(row), len(in.Factors))
		}
		in.Levels = append(in.Levels, row...)
		for j, level := range row {
			if factors == nil {
				in.Factors[j].Size = max(in.Factors[j].Size, level+1)
			}
		}
	}
	return in, in.Validate()
}

// AddContinuous adds a continuous ordinal factor, with a value for every image. Metrics of levels see its bins ([Bin]).
// Errors: the errors of [Bin], and a number of values that differs from the number of images.
func (in *Input) AddContinuous(name string, values []float64, bins int) error {
	if len(values) != in.Codes.Rows {
		return fmt.Errorf("factor %q has %d values; want one for each of the %d codes", name, len(values), in.Codes.Rows)
	}
	if slices.ContainsFunc(in.Factors, func(f factor.Factor) bool { return f.Name == name }) {
		return fmt.Errorf("there is a factor %q already; want another name", name)
	}
	levels, centres, err := Bin(values, bins)
	if err != nil {
		return fmt.Errorf("factor %q: %w", name, err)
	}
	k := len(in.Factors)
	joined := make([]int, 0, len(in.Levels)+len(levels))
	for i, level := range levels {
		joined = append(append(joined, in.Levels[i*k:(i+1)*k]...), level)
	}
	exact := make([][]float64, k, k+1)
	copy(exact, in.Exact)
	in.Levels, in.Exact = joined, append(exact, values)
	in.Factors = append(in.Factors[:k:k], factor.Factor{Name: name, Kind: factor.Ordinal, Size: len(centres), Values: centres})
	return nil
}
