package levels

import (
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/datasets/factor"
)

// Validate checks the factors, that levels are in range, and the values of continuous factors (see [Table.validExact]).
func (t Table) Validate(exact [][]float64) error {
	for j, f := range t.Factors {
		if f.Size < 1 {
			return fmt.Errorf("factor %q has %d levels; want at least one", f.Name, f.Size)
		}
		if err := validGroup(f); err != nil {
			return err
		}
		for i := range t.Rows() {
			if level := t.Levels[i*len(t.Factors)+j]; level < factor.Unknown || level >= f.Size {
				return fmt.Errorf("factors: row %d has level %d of factor %q; want 0 to %d, or -1 where it is unknown", i, level, f.Name, f.Size-1)
			}
		}
	}
	return t.validExact(exact)
}

// validGroup checks the angles or rotations of a factor's levels.
func validGroup(f factor.Factor) error {
	if f.Angles != nil && (len(f.Angles) != f.Size || f.Kind != factor.Circular) {
		return fmt.Errorf("factor %q, %s with %d levels, has %d angles; want one for each level of a circular factor", f.Name, f.Kind, f.Size, len(f.Angles))
	}
	if f.Rotations == nil {
		return nil
	}
	if len(f.Rotations) != f.Size || f.Kind != factor.Categorical {
		return fmt.Errorf("factor %q, %s with %d levels, has %d rotations; want one for each level of a categorical factor", f.Name, f.Kind, f.Size, len(f.Rotations))
	}
	for l, g := range f.Rotations {
		if !factor.IsRotation(&g) {
			return fmt.Errorf("factor %q: level %d has the matrix %v; want a rotation, with orthonormal rows and determinant 1", f.Name, l, g)
		}
	}
	return nil
}

// validExact checks the values of continuous factors, one list or nil for each factor.
func (t Table) validExact(exact [][]float64) error {
	if exact == nil {
		return nil
	}
	if len(exact) != len(t.Factors) {
		return fmt.Errorf("there are exact values of %d factors; want one list, or nil, for each of the %d", len(exact), len(t.Factors))
	}
	for j, values := range exact {
		if values != nil && t.Factors[j].Kind != factor.Ordinal {
			return fmt.Errorf("factor %q is %s, but has exact values; want an ordinal factor", t.Factors[j].Name, t.Factors[j].Kind)
		}
		if values != nil && len(values) != t.Rows() {
			return fmt.Errorf("factor %q has %d exact values; want one for each of the %d codes", t.Factors[j].Name, len(values), t.Rows())
		}
		for i, v := range values {
			if unknown := t.Levels[i*len(t.Factors)+j] < 0; unknown && !math.IsNaN(v) || !unknown && v-v != 0 {
				if unknown {
					return fmt.Errorf("factors: row %d has the value %v of factor %q, and an unknown level; want NaN", i, v, t.Factors[j].Name)
				}
				return fmt.Errorf("factors: row %d has the value %v of factor %q; want finite numbers", i, v, t.Factors[j].Name)
			}
		}
	}
	return nil
}
