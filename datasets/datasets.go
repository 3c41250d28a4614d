// Package datasets holds the image sets that models are trained and measured on,
// together with the factors of variation that generated them.
//
// A data set is a list of images; every image has one level of every factor
// (row 12, column 40). Most sets are full grids: they hold every combination of
// levels exactly once, in row-major order with the last factor fastest. Sets that
// are not (a folder of arrays, see [GridFolder]) only differ in what FactorsAt says. Sets
// whose images lack some of the factors are [Hierarchical].
//
// A config chooses a data set by name from [Table], and a form of supervision by
// name from [SupervisionRegistry]; a [Sampler] turns the two into batches, and a
// [Loader] renders them.
package datasets

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

// Dataset is a set of images with known factors. All methods are pure and safe for
// concurrent use. Indices are 0 .. Len()-1, levels 0 .. Size-1.
type Dataset interface {
	Name() string
	ImageShape() (h, w, c int) // height, width, channels
	Factors() []Factor         // not to be changed
	Len() int

	// Image writes image i: h*w*c pixels, row by row, channels last. They are in
	// [0, 1], unless the set's documentation says otherwise.
	Image(i int, dst []float32)

	// FactorsAt writes the level of every factor of image i.
	FactorsAt(i int, dst []int)
}

// Builder makes a data set; the settings structs in Registry are Builders. The seed
// only matters to sets that draw random images.
type Builder interface {
	Build(seed uint64) (Dataset, error)
}

// Grid is a full product of factors. Its items are numbered in row-major order,
// the last factor fastest.
type Grid []Factor

// Len is the number of combinations of levels.
func (g Grid) Len() int {
	n := 1
	for _, f := range g {
		n *= f.Size
	}
	return n
}

// At writes the levels of item i.
func (g Grid) At(i int, dst []int) {
	for k := len(g) - 1; k >= 0; k-- {
		dst[k] = i % g[k].Size
		i /= g[k].Size
	}
}

// Index is the inverse of At.
func (g Grid) Index(levels []int) int {
	i := 0
	for k, f := range g {
		i = i*f.Size + levels[k]
	}
	return i
}

// Levels returns the levels of all images, image by image: Len() x K integers.
func Levels(d Dataset) []int {
	k := len(d.Factors())
	levels := make([]int, d.Len()*k)
	for i := range d.Len() {
		d.FactorsAt(i, levels[i*k:(i+1)*k])
	}
	return levels
}

// Index finds images by their levels.
type Index struct {
	grid  Grid
	image []int32 // by grid position; -1: no such image
}

// maxIndex bounds the table of an Index (int32 each).
const maxIndex = 1 << 28

// NewIndex lists the images of a data set by their levels. It is an error when two
// images have the same levels.
func NewIndex(d Dataset) (*Index, error) {
	grid := Grid(d.Factors())
	size := 1
	for _, f := range grid {
		if size *= f.Size; size > maxIndex {
			return nil, fmt.Errorf("dataset %s: its factors have more than %d combinations of levels", d.Name(), maxIndex)
		}
	}
	x := &Index{grid: grid, image: make([]int32, size)}
	for i := range x.image {
		x.image[i] = -1
	}
	levels := make([]int, len(grid))
	for i := range d.Len() {
		d.FactorsAt(i, levels)
		at := &x.image[grid.Index(levels)]
		if *at >= 0 {
			return nil, fmt.Errorf("dataset %s: images %d and %d both have %s", d.Name(), *at, i, Describe(grid, levels))
		}
		*at = int32(i)
	}
	return x, nil
}

// Find returns the image with the given levels, and whether there is one.
func (x *Index) Find(levels []int) (int, bool) {
	i := x.image[x.grid.Index(levels)]
	return int(i), i >= 0
}

// Describe writes levels for people: "row 3, column 5".
func Describe(factors []Factor, levels []int) string {
	var b strings.Builder
	for k, f := range factors {
		if k > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %d", f.Name, levels[k])
	}
	return b.String()
}
