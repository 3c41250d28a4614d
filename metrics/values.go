package metrics

import (
	"math"

	"github.com/unravel-ml/unravel/configs/config"
)

// Units are the units of a continuous factor, a factor with Exact values (see [Input]), in informativeness metrics.
// Codes are taken as given. Ordinal levels are always mapped to [0, 1] and circular levels to turns
// ([factor.Factor.Scaled]); the metric defines the distance of categorical levels.
type Units string

// The units. The zero value is unitsAsGiven.
const (
	unitsAsGiven Units = "as-given" // exact values unchanged
	unitsRange   Units = "range"    // exact values mapped to [0, 1] by their range over all rows
)

func (u Units) validate() error {
	switch u {
	case "", unitsAsGiven, unitsRange:
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
			if u == unitsRange {
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

// FactorValues returns the value of a factor for every image: the Exact value, or otherwise the value of the level. An
// unknown level gives NaN.
func (in *Input) FactorValues(factor int) []float64 {
	if in.Exact != nil && in.Exact[factor] != nil {
		return in.Exact[factor]
	}
	f, k := in.Factors[factor], len(in.Factors)
	values := make([]float64, in.Codes.Rows)
	for i := range values {
		if l := in.Levels[i*k+factor]; l >= 0 {
			values[i] = f.Value(l)
		} else {
			values[i] = math.NaN()
		}
	}
	return values
}
