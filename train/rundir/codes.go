package rundir

import (
	"io"
	"math"

	"github.com/unravel-ml/unravel/internal/numeric"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// WriteCodes writes codes as a float32 .npy array, [n, d].
func WriteCodes(m matrix.Matrix) func(io.Writer) error {
	return func(w io.Writer) error {
		return npy.Write(w, []int{m.Rows, m.Cols}, numeric.Convert[float32](m.Data))
	}
}

// FactorFiles returns functions that write the factors of all images as .npy arrays [n, k], by file name. FactorsFile
// contains the levels as int64. If the data set has unknown levels, they are float64, with NaN for unknown. For a
// hierarchical data set, FactorsFile contains the true values in float64: 1 + the option of a categorical dimension,
// the value of a continuous dimension, and 0 if an image lacks the dimension. LevelsFile then contains the levels.
func FactorFiles(d datasets.Dataset) map[string]func(io.Writer) error {
	shape := []int{d.Len(), len(d.Factors())}
	levels := func(w io.Writer) error {
		levels := datasets.Levels(d)
		if datasets.Missing(d) != nil {
			return npy.Write(w, shape, withNaN(levels))
		}
		return npy.Write(w, shape, numeric.Convert[int64](levels))
	}
	h, ok := d.(datasets.Hierarchical)
	if !ok {
		return map[string]func(io.Writer) error{FactorsFile: levels}
	}
	return map[string]func(io.Writer) error{LevelsFile: levels, FactorsFile: func(w io.Writer) error {
		return npy.Write(w, shape, datasets.Dimensions(h, numeric.UpTo(d.Len())))
	}}
}

func withNaN(levels []int) []float64 {
	values := make([]float64, len(levels))
	for i, l := range levels {
		values[i] = float64(l)
		if l == datasets.Unknown {
			values[i] = math.NaN()
		}
	}
	return values
}
