// Package factor holds what data sets, losses and metrics share: factors of variation, grids of their
// levels, sub-codes of codes, and the ways to join quantities into one.
package factor

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Kind says how the levels of a factor relate to each other.
type Kind uint8

// The kinds of factors.
const (
	Circular    Kind = iota // periodic: level 0 follows the last one (an angle, a hue)
	Ordinal                 // ordered: a size, a position
	Categorical             // unordered: a shape, an object's identity
)

var kindNames = [...]string{"circular", "ordinal", "categorical"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// ParseKind is the inverse of Kind.String.
func ParseKind(name string) (Kind, error) {
	for k, known := range kindNames {
		if name == known {
			return Kind(k), nil
		}
	}
	return 0, fmt.Errorf("unknown factor kind %q; known: %s", name, strings.Join(kindNames[:], ", "))
}

// MarshalText makes a Kind its name in YAML and JSON.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText accepts a Kind's name.
func (k *Kind) UnmarshalText(text []byte) (err error) {
	*k, err = ParseKind(string(text))
	return err
}

// Factor is one way in which the images of a data set vary.
type Factor struct {
	Name   string
	Size   int       // number of levels; levels are 0 .. Size-1
	Kind   Kind      // how the levels relate to each other
	Values []float64 // the value that a level stands for; nil: the level itself

	// Angles holds the angles of a circular factor's levels, in radians, where these are only
	// some of a circle; nil: they go evenly around.
	Angles []float64

	// Rotations holds the rotation in space, a 3 x 3 matrix row by row, of every level of a
	// categorical factor that is a pose; nil: it is none.
	Rotations [][9]float64
}

// Value is what a level stands for.
func (f Factor) Value(level int) float64 {
	if f.Values == nil {
		return float64(level)
	}
	return f.Values[level]
}

// Angle is the angle of a level of a circular factor, 2 pi level/Size unless Angles says
// otherwise, in radians.
func (f Factor) Angle(level int) float64 {
	if f.Angles != nil {
		return f.Angles[level]
	}
	return 2 * math.Pi * float64(level) / float64(f.Size)
}

// IsRotation says whether a matrix is a rotation, to the precision of float32.
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

// Scaled is the value of a level, scaled linearly so that the least value of the
// factor is 0 and the largest 1. Of a circular factor it is the part of a full turn,
// level/Size, of a categorical one level/(Size-1), and 0 if all values are equal.
func (f Factor) Scaled(level int) float64 {
	switch {
	case f.Size < 2:
		return 0
	case f.Kind == Circular:
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
