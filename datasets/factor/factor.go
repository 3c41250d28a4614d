// Package factor describes factors of variation, grids of their levels, and the sub-codes of factors. It also defines
// the names of the deviations and aggregates in losses and metrics.
package factor

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
)

// Kind is the relation between the levels of a factor.
type Kind uint8

// The kinds of factors.
const (
	Circular    Kind = iota // periodic: level 0 follows the last one (an angle, a hue)
	Ordinal                 // ordered: a size, a position
	Categorical             // unordered: a shape, an object's identity
)

var kindNames = names{"circular", "ordinal", "categorical"}

func (k Kind) String() string { return nameOf(k, kindNames) }

// ParseKind is the inverse of [Kind.String]. It returns an error for an unknown name.
func ParseKind(name string) (Kind, error) { return parseName[Kind](name, "factor kind", kindNames) }

func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

func (k *Kind) UnmarshalText(text []byte) (err error) {
	*k, err = ParseKind(string(text))
	return err
}

// names are the names of the values 0, 1, ... of a type.
type names []string

// nameOf returns the name of a value. For an undefined value, it returns the type and the number.
func nameOf[T ~uint8](v T, known names) string {
	if int(v) < len(known) {
		return known[v]
	}
	return fmt.Sprintf("%s(%d)", reflect.TypeFor[T]().Name(), uint8(v))
}

// parseName returns the value with the given name. what describes the value in errors.
func parseName[T ~uint8](name, what string, known names) (T, error) {
	if value := slices.Index(known, name); value >= 0 {
		return T(value), nil
	}
	return 0, fmt.Errorf("unknown %s %q; known: %s", what, name, strings.Join(known, ", "))
}

// Unknown is the level of a factor for an image with an unknown level.
const Unknown = -1

// Factor is a factor of variation of the images of a data set.
type Factor struct {
	Name   string    `json:"name"`
	Size   int       `json:"size"`             // number of levels; levels are 0 .. Size-1
	Kind   Kind      `json:"kind"`             // relation between the levels
	Values []float64 `json:"values,omitempty"` // value of each level, in the factor's units; nil: the level itself
	Names  []string  `json:"names,omitempty"`  // name of each level, for people; nil: none

	// Angles holds the angles of a circular factor's levels, in radians; nil: evenly spaced over a full turn.
	Angles []float64 `json:"angles,omitempty"`

	// Rotations holds the rotation in space of every level for a categorical factor that is a pose: 3 x 3 matrices in
	// row-major order. nil: the factor is not a pose.
	Rotations [][9]float64 `json:"rotations,omitempty"`
}

// Value returns the value of a level.
func (f Factor) Value(level int) float64 {
	if f.Values == nil {
		return float64(level)
	}
	return f.Values[level]
}

// NameLevels sets Names: a level with value v gets the name words[v]. It does nothing if a value is no index of words.
func (f *Factor) NameLevels(words []string) {
	names := make([]string, f.Size)
	for level := range names {
		v := f.Value(level)
		if v != math.Trunc(v) || v < 0 || v >= float64(len(words)) {
			return
		}
		names[level] = words[int(v)]
	}
	f.Names = names
}

// Angle returns the angle of a level of a circular factor in radians: Angles[level], or 2 pi level/Size without Angles.
func (f Factor) Angle(level int) float64 {
	if f.Angles != nil {
		return f.Angles[level]
	}
	return 2 * math.Pi * float64(level) / float64(f.Size)
}

// LevelName returns the name of a level, or else its value as text.
func (f Factor) LevelName(level int) string {
	if f.Names != nil {
		return f.Names[level]
	}
	return fmt.Sprint(f.Value(level))
}

// LevelsIn returns the number of each level in another factor, or -1 if it lacks the level. Equal levels have the same
// name or, without names, the same rotation, angle or value, except for the rounding of float32.
func (f Factor) LevelsIn(other Factor) []int {
	levels := make([]int, f.Size)
	for l := range levels {
		levels[l] = -1
		if l < other.Size && f.levelsEqual(l, other, l) {
			levels[l] = l
			continue
		}
		for m := range other.Size {
			if f.levelsEqual(l, other, m) {
				levels[l] = m
				break
			}
		}
	}
	return levels
}

// levelsEqual reports whether level l stands for the same as level m of another factor.
func (f Factor) levelsEqual(l int, other Factor, m int) bool {
	named, turned := other.Names != nil, other.Rotations != nil
	switch {
	case f.Kind != other.Kind || f.Names != nil != named || f.Rotations != nil != turned:
		return false
	case f.Names != nil:
		return f.Names[l] == other.Names[m]
	case f.Rotations != nil:
		return slices.EqualFunc(f.Rotations[l][:], other.Rotations[m][:],
			func(a, b float64) bool { return math.Abs(a-b) <= 1e-5 })
	case f.Kind == Circular:
		return math.Abs(math.Remainder(f.Angle(l)-other.Angle(m), 2*math.Pi)) < 2*math.Pi*sameAngle
	}
	a, b := f.Value(l), other.Value(m)
	whole := a == math.Trunc(a) && b == math.Trunc(b)
	return a == b || !whole && math.Abs(a-b) <= roundedUnit*max(math.Abs(a), math.Abs(b))
}

// Turns reports whether the levels of a factor are rotations: angles of a circular factor, or rotations in space. Then
// there is a transformation from each level to every other level.
func (f Factor) Turns() bool { return f.Kind == Circular || f.Rotations != nil }

// IsRotation reports whether a 3 x 3 matrix is a rotation: the inner products of its rows may be off by 1e-4.
func IsRotation(g *[9]float64) bool {
	const tolerance = 1e-4
	for a := range 3 {
		for b := range 3 {
			product := g[3*a]*g[3*b] + g[3*a+1]*g[3*b+1] + g[3*a+2]*g[3*b+2]
			if a == b {
				product--
			}
			if !(math.Abs(product) <= tolerance) {
				return false
			}
		}
	}
	return g[0]*(g[4]*g[8]-g[5]*g[7])-g[1]*(g[3]*g[8]-g[5]*g[6])+g[2]*(g[3]*g[7]-g[4]*g[6]) > 0
}

// FullTurn returns the full turn of a circular factor with evenly spaced values, in the units of these values: the
// number of levels times their step. It is 0 if the factor is not circular, or its values are 0, 1, 2, ...
func (f Factor) FullTurn() float64 {
	if f.Kind != Circular || f.Angles != nil || len(f.Values) < 2 || areIndices(f.Values) {
		return 0
	}
	return float64(f.Size) * (f.Values[f.Size-1] - f.Values[0]) / float64(f.Size-1)
}

// Scaled returns the value of a level, mapped linearly from the range of the factor's values to [0, 1]. For a circular
// factor, it returns the angle in turns, and for a categorical factor level/(Size-1). It is 0 if all values are equal.
func (f Factor) Scaled(level int) float64 {
	switch {
	case f.Size < 2 && f.Angles == nil:
		return 0
	case f.Kind == Circular:
		if f.Angles != nil {
			turns := f.Angles[level] / (2 * math.Pi)
			return turns - math.Floor(turns)
		}
		return float64(level) / float64(f.Size)
	case f.Kind == Categorical || f.Values == nil:
		return float64(level) / float64(f.Size-1)
	}
	low, high := slices.Min(f.Values), slices.Max(f.Values)
	if low == high {
		return 0
	}
	return (f.Values[level] - low) / (high - low)
}

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
	}{{"values", len(f.Values), 0, true}, {"names", len(f.Names), 0, true}, {"angles", len(f.Angles), Circular, false},
		{"rotations", len(f.Rotations), Categorical, false}} {
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
	for l, a := range f.Angles {
		if math.Abs(a) > 8*math.Pi { // hardly radians
			return fmt.Errorf("level %d has the angle %v; want at most four turns in radians", l, a)
		}
	}
	for l := range f.Rotations {
		if !IsRotation(&f.Rotations[l]) {
			return fmt.Errorf("level %d: %v is no rotation", l, f.Rotations[l])
		}
	}
	return nil
}
