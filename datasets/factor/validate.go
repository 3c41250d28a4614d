package factor

import (
	"fmt"
	"math"
)

// MaxSize is the maximum number of levels of a factor.
const MaxSize = 1 << 30

// Validate returns an error for an empty or repeated name, a Size out of range, and an unknown Kind. If Values, Names,
// Angles and Rotations are set, they must have one entry per level and match the Kind. Numbers must be finite, and all
// Rotations must be rotations.
func Validate(factors []Factor) error {
	names := map[string]bool{}
	for k, f := range factors {
		if f.Name == "" {
			return fmt.Errorf("factor %d has no name", k)
		}
		if names[f.Name] {
			return fmt.Errorf("two factors have the name %q", f.Name)
		}
		names[f.Name] = true
		if err := f.validate(); err != nil {
			return fmt.Errorf("factor %q: %w", f.Name, err)
		}
	}
	return nil
}

func (f Factor) validate() error {
	if f.Size < 1 || f.Size > MaxSize {
		return fmt.Errorf("size %d is out of range; want 1 to %d levels", f.Size, MaxSize)
	}
	if int(f.Kind) >= len(kindNames) {
		return fmt.Errorf("kind %v is unknown", f.Kind)
	}
	for _, list := range []struct {
		name string
		n    int
		of   Kind
		any  bool
	}{{"values", len(f.Values), 0, true}, {"names", len(f.Names), 0, true}, {"angles", len(f.Angles), Circular, false}, {"rotations", len(f.Rotations), Categorical, false}} {
		if list.n != 0 && list.n != f.Size {
			return fmt.Errorf("%d %s; want none, or one for each of the %d levels", list.n, list.name, f.Size)
		}
		if list.n != 0 && !list.any && f.Kind != list.of {
			return fmt.Errorf("it is %v and has %s; want a factor that is %v", f.Kind, list.name, list.of)
		}
	}
	for _, list := range [][]float64{f.Values, f.Angles} {
		for l, v := range list {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("level %d stands for %v; want finite numbers", l, v)
			}
		}
	}
	for l := range f.Rotations {
		if !IsRotation(&f.Rotations[l]) {
			return fmt.Errorf("level %d: %v is no rotation", l, f.Rotations[l])
		}
	}
	return nil
}
