// Package datasets holds the image sets that models are trained and measured on,
// together with the factors of variation that generated them.
//
// A data set is a list of images; every image has one level of every factor
// (row 12, column 40). Most sets are full grids: they hold every combination of
// levels exactly once, in row-major order with the last factor fastest. Others (a folder
// of arrays, see [GridFolder]) hold any combinations, which FactorsAt tells. Sets
// whose images lack some of the factors are [Hierarchical]; sets that do not know all levels are [Incomplete].
//
// A config chooses a data set by name from [Registry], and a form of supervision by
// name from [SupervisionRegistry]; a [Sampler] turns the two into batches, and a
// [Loader] renders them. Programs make data sets of their own with [FromImages] and [FromPixels], or by
// implementing [Dataset], and add them to the registry with [Register].
package datasets

import (
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
)

// Dataset is a set of images with known factors. All methods are pure and safe for
// concurrent use. Indices are 0 .. Len()-1, levels 0 .. Size-1, of an [Incomplete] set also [Unknown].
type Dataset interface {
	Name() string
	ImageShape() (h, w, c int) // height, width, channels
	Factors() []factor.Factor  // not to be changed
	Len() int

	// Image writes image i: h*w*c pixels, row by row, channels last. They are in
	// [0, 1], unless the set is [RealValued]. It keeps nothing of dst and allocates nothing.
	Image(i int, dst []float32)

	// FactorsAt writes the level of every factor of image i.
	FactorsAt(i int, dst []int)
}

// Builder makes a data set; the settings structs in [Registry] are Builders. The seed
// matters only to sets of random images.
type Builder interface {
	Build(seed uint64) (Dataset, error)
}

// Levels returns the levels of all images, image by image: Len() x K integers, [Unknown] where they are not known.
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
	grid  factor.Grid
	image []int32       // by grid position; -1: no such image; nil: few is used
	few   map[int]int32 // by grid position, where most positions have no image
}

// sparseIndex is the number of grid positions for each image from which an Index is a map.
const sparseIndex = 16

// NewIndex lists the images of a data set by their levels; those of unknown levels are in no place. It is an error
// when two images have the same levels.
func NewIndex(d Dataset) (*Index, error) {
	grid := factor.Grid(d.Factors())
	if err := countable(grid); err != nil {
		return nil, fmt.Errorf("dataset %s: its %w", d.Name(), err)
	}
	x := &Index{grid: grid}
	if size := grid.Len(); size/sparseIndex <= d.Len() {
		x.image = make([]int32, size)
		for i := range x.image {
			x.image[i] = -1
		}
	} else {
		x.few = make(map[int]int32, d.Len())
	}
	levels := make([]int, len(grid))
	for i := range d.Len() {
		d.FactorsAt(i, levels)
		if slices.Contains(levels, Unknown) {
			continue
		}
		at := grid.Index(levels)
		if other, ok := x.at(at); ok {
			return nil, fmt.Errorf("dataset %s: images %d and %d both have %s", d.Name(), other, i, factor.Describe(grid, levels))
		}
		if x.few != nil {
			x.few[at] = int32(i)
		} else {
			x.image[at] = int32(i)
		}
	}
	return x, nil
}

// at returns the image at a grid position, and whether there is one.
func (x *Index) at(position int) (int, bool) {
	if x.few != nil {
		i, ok := x.few[position]
		return int(i), ok
	}
	i := x.image[position]
	return int(i), i >= 0
}

// Find returns the image with the given levels, and whether there is one.
func (x *Index) Find(levels []int) (int, bool) {
	at, ok := x.grid.Find(levels)
	if !ok {
		return 0, false
	}
	return x.at(at)
}
