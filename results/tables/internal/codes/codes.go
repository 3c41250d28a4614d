// Package codes generates codes with known properties without training: by formulas, from a seed. Tables use its types
// as sources.
package codes

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	drawnsets "github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// Sample holds codes and factors.
type Sample struct {
	Input *metrics.Input
	Codes factor.SubCodes // columns of each factor's sub-code; nil: the metrics' default
	Timed bool            // the table shows the computation time of metrics
}

// Entangled computes the codes of an encoder of Zhang and Sugiyama 2024, appendix F.1, in double precision. Without a
// subset, only the encoder random gives different codes for different seeds.
type Entangled struct {
	drawnsets.Entangled `yaml:",inline"`
	Subset              int `yaml:"subset" doc:"number of random rows of the codes to measure, drawn anew for every seed; 0: all"`
}

func (e *Entangled) Validate() error {
	if err := e.Entangled.Validate(); err != nil {
		return err
	}
	if n := e.Levels * e.Levels * e.Levels; e.Subset < 0 || e.Subset > n {
		return config.Invalid("subset", "%d is out of range; want 0 (all rows) to %d, the rows of codes", e.Subset, n)
	}
	return nil
}

func (e *Entangled) Random() bool { return e.Encoder == "random" || e.Subset > 0 }

func (e *Entangled) Sample(_ context.Context, seed uint64) (*Sample, error) {
	codes, columns, err := e.Codes(seed)
	if err != nil {
		return nil, err
	}
	set, err := e.Build(seed)
	if err != nil {
		return nil, err
	}
	s := &Sample{Codes: factor.SubCodes{}, Input: &metrics.Input{
		Codes:  matrix.Matrix{Rows: set.Len(), Cols: columns, Data: codes},
		Levels: datasets.Levels(set), Factors: set.Factors(),
	}}
	for _, known := range drawnsets.AnalyticEncoders() {
		if known.Name != e.Encoder {
			continue
		}
		for i, f := range set.Factors() {
			s.Codes[f.Name] = known.SubCodes[i]
		}
	}
	if e.Subset > 0 {
		s.takeRows(e.Subset, seed)
	}
	return s, nil
}

// takeRows keeps a random subset of rows. It is the same subset for all samples with the same number of rows.
func (s *Sample) takeRows(rows int, seed uint64) {
	in, k := s.Input, len(s.Input.Factors)
	rowIndices := rng.New(seed, "table/subset").Perm(in.Codes.Rows)[:rows]
	slices.Sort(rowIndices)
	subset := &metrics.Input{Factors: in.Factors, Codes: matrix.Matrix{Rows: rows, Cols: in.Codes.Cols}}
	for _, i := range rowIndices {
		subset.Codes.Data = append(subset.Codes.Data, in.Codes.Row(i)...)
		subset.Levels = append(subset.Levels, in.Levels[i*k:(i+1)*k]...)
	}
	s.Input = subset
}

// Linear computes codes with an exactly known joint distribution with the factors. The factors take every combination
// of 0, 1/(Levels-1), ..., 1 once. Column i of the codes is the sum of the factors, weighted by row i of First. For the
// remaining columns, the rows of Rest repeat.
type Linear struct {
	First   [][]float64 `yaml:"first" doc:"weights of the factors for each of the first columns"`
	Rest    [][]float64 `yaml:"rest" doc:"weights for the remaining columns, repeated in turn"`
	Columns int         `yaml:"columns" doc:"columns of the codes"`
	Levels  int         `yaml:"levels" doc:"levels of every factor"`
}

// Limits of Linear.
const maxKnownRows, maxKnownColumns = 1 << 20, 1 << 16

func (l *Linear) Validate() error {
	switch {
	case l.Columns < 1 || l.Columns > maxKnownColumns:
		return config.Invalid("columns", "%d is out of range; want 1 to %d", l.Columns, maxKnownColumns)
	case l.Levels < 2 || l.Levels > maxKnownRows:
		return config.Invalid("levels", "%d is out of range; want 2 to %d", l.Levels, maxKnownRows)
	case len(l.First) > l.Columns:
		return config.Invalid("first", "there are weights of %d columns; want at most the %d that there are",
			len(l.First), l.Columns)
	case len(l.Rest) == 0 && len(l.First) < l.Columns:
		return config.Invalid("rest", "there are weights of %d columns; want weights of the other %d",
			len(l.First), l.Columns-len(l.First))
	}
	k := len(l.weights(0))
	if err := validWeights("first", l.First, k); err != nil {
		return err
	}
	if err := validWeights("rest", l.Rest, k); err != nil {
		return err
	}
	if rows := math.Pow(float64(l.Levels), float64(k)); rows*float64(l.Columns) > maxKnownRows*64 || rows > maxKnownRows {
		return config.Invalid("levels", "%d levels of %d factors and %d columns are too many numbers", l.Levels, k, l.Columns)
	}
	return nil
}

func validWeights(key string, rows [][]float64, k int) error {
	for i, row := range rows {
		if len(row) != k || k == 0 {
			return config.Invalid(fmt.Sprintf("%s.%d", key, i),
				"there are %d weights; want %d, one for every factor, and at least one", len(row), k)
		}
		for j, v := range row {
			if v-v != 0 {
				return config.Invalid(fmt.Sprintf("%s.%d.%d", key, i, j), "%v is not a finite number", v)
			}
		}
	}
	return nil
}

func (l *Linear) weights(column int) []float64 {
	if column < len(l.First) {
		return l.First[column]
	}
	return l.Rest[(column-len(l.First))%len(l.Rest)]
}

func (l *Linear) Random() bool { return false }

func (l *Linear) Sample(_ context.Context, _ uint64) (*Sample, error) {
	var grid factor.Grid
	for j := range l.weights(0) {
		grid = append(grid, factor.Factor{Name: fmt.Sprint("v", j), Size: l.Levels, Kind: factor.Ordinal})
	}
	n := grid.Len()
	in := &metrics.Input{Factors: grid, Codes: matrix.Matrix{Rows: n, Cols: l.Columns, Data: make([]float64, n*l.Columns)}}
	levels := make([]int, len(grid))
	for i := range n {
		grid.At(i, levels)
		in.Levels = append(in.Levels, levels...)
		for c := range l.Columns {
			sum := 0.0
			for j, w := range l.weights(c) {
				sum += w * float64(levels[j]) / float64(l.Levels-1)
			}
			in.Codes.Data[i*l.Columns+c] = sum
		}
	}
	return &Sample{Input: in}, nil
}

// Importances specifies a matrix of importances of code columns (rows) for factors (columns), or several matrices with
// probabilities. The result of [metrics.DCI] is the mean over the matrices.
type Importances struct {
	Cases []ImportanceCase `yaml:"cases" doc:"possible importance matrices"`
}

// ImportanceCase is a matrix of importances with its weight.
type ImportanceCase struct {
	Weight float64     `yaml:"weight" doc:"probability of this case, relative to the sum of all weights"`
	Rows   [][]float64 `yaml:"rows" doc:"importances of each code column for every factor; columns without importance need no row"`
}

func (c *ImportanceCase) SetDefaults() { c.Weight = 1 }

func (m *Importances) Validate() error {
	sum := 0.0
	for i, c := range m.Cases {
		key := fmt.Sprintf("cases.%d.", i)
		if !(c.Weight >= 0) || math.IsInf(c.Weight, 0) {
			return config.Invalid(key+"weight", "%v is not a number from 0 on", c.Weight)
		}
		sum += c.Weight
		if len(c.Rows) == 0 || len(m.Cases[0].Rows[0]) < 2 {
			return config.Invalid(key+"rows", "want a row for at least one column, of at least two factors")
		}
		if err := validWeights(key+"rows", c.Rows, len(m.Cases[0].Rows[0])); err != nil {
			return err
		}
		for j, row := range c.Rows {
			for _, v := range row {
				if v < 0 {
					return config.Invalid(fmt.Sprintf("%srows.%d", key, j), "%v is negative", v)
				}
			}
		}
	}
	if !(sum > 0) {
		return config.Invalid("cases", "no case has a weight greater than 0; want at least one")
	}
	return nil
}

func (m *Importances) Random() bool { return false }

// Score returns the result of dci, with disentanglement only.
func (m *Importances) Score(_ context.Context, c metrics.Choice, _ uint64) (r metrics.Result, err error) {
	dci, ok := c.Value.(*metrics.DCI)
	if !ok || dci.Score != metrics.Disentanglement {
		return r, fmt.Errorf("importances are assumed here, and there are no codes to measure")
	}
	var sum float64
	for _, one := range m.Cases {
		value, _ := dci.OfRows(one.Rows)
		r.Value += one.Weight * value
		sum += one.Weight
	}
	r.Value /= sum
	r.Name, r.Better = c.Name, dci.Better()
	return r, nil
}

// Timed measures the time of metrics on random codes with a given shape. The factors of a row are independent and
// uniform. The first code columns, one per factor and its sub-code, are the factors scaled to [-1, 1] plus Gaussian
// noise with standard deviation 0.1. The other columns are standard normal.
type Timed struct {
	Rows    int   `yaml:"rows" doc:"rows of codes"`
	Columns int   `yaml:"columns" doc:"columns of codes, at least one for each factor"`
	Factors []int `yaml:"factors" doc:"levels of every factor"`
}

// Limits of Timed.
const maxTimedRows, maxTimedLevels = 1 << 20, 1 << 16

func (s *Timed) Validate() error {
	switch {
	case s.Rows < 2 || s.Rows > maxTimedRows:
		return config.Invalid("rows", "%d is out of range; want 2 to %d", s.Rows, maxTimedRows)
	case len(s.Factors) == 0:
		return config.Invalid("factors", "want the numbers of levels, such as [4, 24, 183]")
	case s.Columns < len(s.Factors) || s.Columns > 1000:
		return config.Invalid("columns", "%d is out of range; want %d, the number of factors, to 1000",
			s.Columns, len(s.Factors))
	}
	for i, n := range s.Factors {
		if n < 2 || n > maxTimedLevels {
			return config.Invalid(fmt.Sprintf("factors.%d", i), "%d is out of range; want 2 to %d levels", n, maxTimedLevels)
		}
	}
	return nil
}

func (s *Timed) Random() bool { return true }

const timedNoise = 0.1

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
