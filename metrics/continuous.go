package metrics

import (
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/metrics/mutual"
)

// Bin cuts the range of values into bins of equal width, for metrics of levels. It returns the level of every value,
// counting non-empty bins only, and the centres of these bins. Errors: no values, values that are NaN or infinite, and
// bins out of range.
func Bin(values []float64, bins int) (levels []int, centres []float64, err error) {
	if len(values) == 0 {
		return nil, nil, fmt.Errorf("there are no values to bin")
	}
	for i, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, nil, fmt.Errorf("value %d is %v; want finite numbers", i, v)
		}
	}
	if bins < 1 || bins > mutual.MaxBins {
		return nil, nil, config.Invalid("bins", "%d is out of range; want 1 to %d", bins, mutual.MaxBins)
	}
	ids, used := mutual.Bin(values, bins), make([]int, bins)
	for _, b := range ids {
		used[b] = 1
	}
	low, high := slices.Min(values), slices.Max(values)
	for b, found := range used {
		if used[b] = len(centres); found == 1 {
			t := (float64(b) + 0.5) / float64(bins)
			centres = append(centres, low*(1-t)+high*t) // the range itself may overflow
		}
	}
	levels = make([]int, len(ids))
	for i, b := range ids {
		levels[i] = used[b]
	}
	return levels, centres, nil
}

func (in *Input) validExact() error {
	if in.Exact == nil {
		return nil
	}
	if len(in.Exact) != len(in.Factors) {
		return fmt.Errorf("there are exact values of %d factors; want one list, or nil, for each of the %d", len(in.Exact), len(in.Factors))
	}
	for j, values := range in.Exact {
		if values != nil && in.Factors[j].Kind != factor.Ordinal {
			return fmt.Errorf("factor %q is %s, but has exact values; want an ordinal factor", in.Factors[j].Name, in.Factors[j].Kind)
		}
		if values != nil && len(values) != in.Codes.Rows {
			return fmt.Errorf("factor %q has %d exact values; want one for each of the %d codes", in.Factors[j].Name, len(values), in.Codes.Rows)
		}
		for i, v := range values {
			if unknown := in.Levels[i*len(in.Factors)+j] < 0; unknown && !math.IsNaN(v) || !unknown && v-v != 0 {
				if unknown {
					return fmt.Errorf("factors: row %d has the value %v of factor %q, and an unknown level; want NaN", i, v, in.Factors[j].Name)
				}
				return fmt.Errorf("factors: row %d has the value %v of factor %q; want finite numbers", i, v, in.Factors[j].Name)
			}
		}
	}
	return nil
}

// Units are the units of a continuous factor, a factor with Exact values (see [Input]), in informativeness metrics.
// Codes are taken as given. Ordinal levels are always mapped to [0, 1] and circular levels to turns
// ([factor.Factor.Scaled]); the metric defines the distance of categorical levels.
type Units string

// The units. The zero value is UnitsAsGiven.
const (
	UnitsAsGiven Units = "as-given" // exact values unchanged
	UnitsRange   Units = "range"    // exact values mapped to [0, 1] by their range over all rows
)

func (u Units) validate() error {
	switch u {
	case "", UnitsAsGiven, UnitsRange:
		return nil
	}
	return config.Invalid("units", "unknown units %q; want as-given or range", string(u))
}

// factorRows returns the values of all factors in units u, rows x factors; 0 where a level is unknown.
func (in *Input) factorRows(u Units) []float64 {
	k := len(in.Factors)
	rows := make([]float64, len(in.Levels))
	for j, f := range in.Factors {
		if in.Exact != nil && in.Exact[j] != nil {
			values := in.Exact[j]
			if u == UnitsRange {
				s := spanOf(values)
				if in.spans != nil {
					s = in.spans[j]
				}
				values = s.unit(values)
			}
			for i, v := range values {
				if in.Levels[i*k+j] >= 0 {
					rows[i*k+j] = v
				}
			}
			continue
		}
		levels := make([]float64, f.Size)
		for l := range levels {
			levels[l] = f.Scaled(l)
		}
		for i := j; i < len(in.Levels); i += k {
			if l := in.Levels[i]; l >= 0 {
				rows[i] = levels[l]
			}
		}
	}
	return rows
}

// span is the range of values.
type span struct{ low, high float64 }

// spanOf returns the range of the known values, or low > high without known values.
func spanOf(values []float64) span {
	s := span{math.Inf(1), math.Inf(-1)}
	for _, v := range values {
		if v == v {
			s.low, s.high = min(s.low, v), max(s.high, v)
		}
	}
	return s
}

// unit maps values to [0, 1] by their range, or to 0 if all are equal. Unknown values, NaN, stay.
func (s span) unit(values []float64) []float64 {
	scaled := make([]float64, len(values))
	if s.low >= s.high {
		return scaled
	}
	for i, v := range values {
		scaled[i] = (v/2 - s.low/2) / (s.high/2 - s.low/2) // halves, as the range may overflow
	}
	return scaled
}
