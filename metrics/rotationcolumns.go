package metrics

import (
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/factor/rotation"
)

// sameRotation is the largest distance of matrix elements between equal rotations, for float32 and text with few
// digits.
const sameRotation = 1e-5

// AddRotations adds a categorical factor of rotations in space, one for each row of the codes. A row has 9 numbers (a
// matrix, row by row) or 4 (a quaternion of any length, real part first). Equal rotations share a level. Errors:
// another shape, a matrix that is no rotation, and a quaternion of zeros.
func (in *Input) AddRotations(m Matrix) error {
	if m.Rows != in.Codes.Rows || m.Cols != 9 && m.Cols != 4 {
		return fmt.Errorf("rotations have shape [%d %d]; want [%d 3 3] or [%d 9], matrices, or [%d 4], quaternions", m.Rows, m.Cols, in.Codes.Rows, in.Codes.Rows, in.Codes.Rows)
	}
	f := factor.Factor{Name: "rotation", Kind: factor.Categorical}
	for slices.ContainsFunc(in.Factors, func(other factor.Factor) bool { return other.Name == f.Name }) {
		f.Name += "-2"
	}
	levels, at := make([]int, m.Rows), map[[9]int64]int{}
	for i := range levels {
		g, err := rotationOf(m.Row(i))
		if err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
		var key [9]int64
		for e, v := range g {
			key[e] = int64(math.Round(v / sameRotation))
		}
		level, known := at[key]
		if !known {
			level, at[key] = f.Size, f.Size
			f.Rotations, f.Size = append(f.Rotations, g), f.Size+1
		}
		levels[i] = level
	}
	k := len(in.Factors)
	all := make([]int, 0, len(levels)*(k+1))
	for i, level := range levels {
		all = append(append(all, in.Levels[i*k:(i+1)*k]...), level)
	}
	in.Levels, in.Factors = all, append(in.Factors, f)
	if in.Exact != nil {
		in.Exact = append(in.Exact, nil)
	}
	return nil
}

// rotationOf returns the matrix of 9 numbers, or of a quaternion of any length.
func rotationOf(v []float64) (g [9]float64, err error) {
	if len(v) == 9 {
		copy(g[:], v)
		if !factor.IsRotation(&g) {
			return g, fmt.Errorf("the matrix %v is no rotation; want orthonormal rows and determinant 1", v)
		}
		return g, nil
	}
	g, ok := rotation.FromQuaternion([4]float64(v))
	if !ok {
		return g, fmt.Errorf("the quaternion %v has no direction; want one other than 0", v)
	}
	return g, nil
}
