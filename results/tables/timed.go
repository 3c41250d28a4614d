package tables

import (
	"context"
	"fmt"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// Timed times metrics on random codes of a given shape. The factors of a row are uniform and independent. The first
// code columns, one for each factor and its sub-code, are the factors scaled to [-1, 1] plus Gaussian noise with
// standard deviation 0.1. The other columns are standard normal.
type Timed struct {
	Rows    int   `yaml:"rows" doc:"rows of codes"`
	Columns int   `yaml:"columns" doc:"columns of codes, at least one for each factor"`
	Factors []int `yaml:"factors" doc:"levels of every factor"`
}

// Bounds of the codes.
const (
	maxTimedRows   = 1 << 20
	maxTimedLevels = 1 << 16
)

// Validate checks the settings.
func (s *Timed) Validate() error {
	switch {
	case s.Rows < 2 || s.Rows > maxTimedRows:
		return config.Invalid("rows", "%d is out of range; want 2 to %d", s.Rows, maxTimedRows)
	case len(s.Factors) == 0:
		return config.Invalid("factors", "want the numbers of levels, such as [4, 24, 183]")
	case s.Columns < len(s.Factors) || s.Columns > 1000:
		return config.Invalid("columns", "%d is out of range; want %d, the number of factors, to 1000", s.Columns, len(s.Factors))
	}
	for i, n := range s.Factors {
		if n < 2 || n > maxTimedLevels {
			return config.Invalid(fmt.Sprintf("factors.%d", i), "%d is out of range; want 2 to %d levels", n, maxTimedLevels)
		}
	}
	return nil
}

// Random implements Source.
func (s *Timed) Random() bool { return true }

// timedNoise is the standard deviation of a code around its factor.
const timedNoise = 0.1

// Sample implements Sampled.
func (s *Timed) Sample(_ context.Context, seed uint64) (*Sample, error) {
	stream := rng.New(seed, "table/timed")
	in := &metrics.Input{Codes: matrix.Matrix{Rows: s.Rows, Cols: s.Columns}}
	codes := factor.SubCodes{}
	for i, n := range s.Factors {
		name := fmt.Sprint("factor", i)
		in.Factors = append(in.Factors, factor.Factor{Name: name, Size: n, Kind: factor.Ordinal})
		codes[name] = []int{i}
	}
	noise := make([]float32, s.Columns)
	for range s.Rows {
		stream.Normals(noise)
		for c, e := range noise {
			value := float64(e)
			if c < len(s.Factors) {
				level := stream.IntN(s.Factors[c])
				in.Levels = append(in.Levels, level)
				value = 2*float64(level)/float64(s.Factors[c]-1) - 1 + timedNoise*float64(e)
			}
			in.Codes.Data = append(in.Codes.Data, value)
		}
	}
	return &Sample{Input: in, Codes: codes, Timed: true}, nil
}
