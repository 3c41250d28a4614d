package cli

import (
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/factor"
	"github.com/unravel-ml/unravel/internal/table"
	"github.com/unravel-ml/unravel/metrics"
)

// maxPeriod is the number of levels of a circle that is counted through.
const maxPeriod = 1 << 16

// periodic takes values as angles in parts of a period. Whole numbers of a whole period are its levels, from
// 0 on, whether or not there are rows of all; other values have angles.
func periodic(values []float64, levels []int, distinct []float64, period float64) ([]int, []float64, []float64) {
	whole := func(v float64) bool { return v == math.Trunc(v) }
	if whole(period) && period <= maxPeriod && !slices.ContainsFunc(values, func(v float64) bool { return !whole(v) }) {
		all := make([]float64, int(period))
		for l := range all {
			all[l] = float64(l)
		}
		levels = slices.Clone(levels)
		for i, v := range values {
			levels[i] = int(math.Mod(math.Mod(v, period)+period, period))
		}
		return levels, all, nil
	}
	angles := make([]float64, len(distinct))
	for l, v := range distinct {
		angles[l] = 2 * math.Pi * math.Mod(v, period) / period
	}
	return levels, distinct, angles
}

// sameRotation is the distance of matrix elements up to which rotations count as the same: float32 and four digits of text.
const sameRotation = 1e-5

// addRotations adds the factor of rotations of a file to an input.
func addRotations(in *metrics.Input, path string) error {
	t, err := table.ReadBlocks(path, "rotations")
	if err != nil {
		return fmt.Errorf("rotations: %w", err)
	}
	if err := t.Finite(); err != nil {
		return fmt.Errorf("rotations: %s: %w", path, err)
	}
	if t.Rows != in.Codes.Rows || t.Cols != 9 && t.Cols != 4 {
		return fmt.Errorf("%s: rotations have shape [%d %d]; want [%d 3 3] or [%d 9], matrices, or [%d 4], quaternions", path, t.Rows, t.Cols, in.Codes.Rows, in.Codes.Rows, in.Codes.Rows)
	}
	f := factor.Factor{Name: "rotation", Kind: factor.Categorical}
	for slices.ContainsFunc(in.Factors, func(other factor.Factor) bool { return other.Name == f.Name }) {
		f.Name += "-2"
	}
	levels, at := make([]int, t.Rows), map[[9]int64]int{}
	for i := range levels {
		g, err := rotation(t.Data[i*t.Cols : (i+1)*t.Cols])
		if err != nil {
			return fmt.Errorf("%s: row %d: %w", path, i, err)
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

// rotation is the matrix of 9 numbers, or of a quaternion of any length.
func rotation(v []float64) (g [9]float64, err error) {
	if len(v) == 9 {
		copy(g[:], v)
		if !factor.IsRotation(&g) {
			return g, fmt.Errorf("the matrix %v is no rotation; want orthonormal rows and determinant 1", v)
		}
		return g, nil
	}
	w, x, y, z := v[0], v[1], v[2], v[3]
	n := w*w + x*x + y*y + z*z
	if !(n > 0) || math.IsInf(n, 0) {
		return g, fmt.Errorf("the quaternion %v has no direction; want one other than 0", v)
	}
	s := 2 / n
	return [9]float64{
		1 - s*(y*y+z*z), s * (x*y - w*z), s * (x*z + w*y),
		s * (x*y + w*z), 1 - s*(x*x+z*z), s * (y*z - w*x),
		s * (x*z - w*y), s * (y*z + w*x), 1 - s*(x*x+y*y),
	}, nil
}
