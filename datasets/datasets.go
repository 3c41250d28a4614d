// Package datasets defines data sets of images with the factors of variation that generated them.
//
// A data set is a list of images. Every image has one level of every factor (row 12, column 40). Most sets are full
// grids: they contain every combination of levels exactly once, in row-major order with the last factor fastest. Other
// sets, such as the sets of package files, contain any combinations, and FactorsAt returns them. In a [Hierarchical]
// set, some images lack some factors; in an [Incomplete] set, some levels are unknown.
//
// Programs create data sets with [FromImages] and [FromPixels], or by implementing [Dataset]. [Register] makes a data
// set available to configs by name. All other data sets are in the packages drawn, public and files, and package
// catalog lists them by name. Package supervision describes the known facts about the images, and provides batches.
package datasets

import (
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/internal/stored"
)

// Dataset is a set of images with known factors. All methods are pure and safe for concurrent use. Indices are 0 to
// Len()-1 and levels are 0 to Size-1; an [Incomplete] set also has [Unknown].
type Dataset interface {
	Name() string
	ImageShape() (h, w, c int) // height, width, channels
	Factors() []factor.Factor  // callers must not change it
	Len() int

	// Image writes image i to dst: h*w*c pixels in row-major order, channels last. Pixels are in [0, 1], unless the set
	// is [RealValued]. Image does not retain dst and does not allocate.
	Image(i int, dst []float32)

	// FactorsAt writes the level of every factor of image i to dst.
	FactorsAt(i int, dst []int)
}

// Builder builds a data set; the settings of a data set implement it. Only sets of random images use the seed.
type Builder interface {
	Build(seed uint64) (Dataset, error)
}

// Noted is implemented by data sets with notes for users, for example on skipped files. Commands print the notes.
type Noted interface {
	Dataset
	Notes() []string
}

// FileNamed is implemented by data sets that consist of image files.
type FileNamed interface {
	// FileName returns the path of an image's file relative to the folder of the data set, or "" if it has none.
	FileName(i int) string
	// FindFile returns the image of a file, or false if there is none.
	FindFile(name string) (i int, ok bool)
}

// FileName returns the path of an image's file relative to the folder of the data set, or "" if it has none.
func FileName(d Dataset, i int) string {
	if named, ok := d.(interface{ FileName(i int) string }); ok {
		return named.FileName(i)
	}
	return ""
}

// RealValued reports whether the images of a data set contain arbitrary real numbers instead of pixels in [0, 1]. The
// decoders of models of such images have no final sigmoid. A data set declares this with a method RealValued() bool.
func RealValued(d Dataset) bool {
	r, ok := d.(interface{ RealValued() bool })
	return ok && r.RealValued()
}

// Levels returns the levels of all images, image by image: Len() x K integers, with [Unknown] for unknown levels.
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
	image []int32       // by grid position; -1: no image; nil: few is used instead
	few   map[int]int32 // by grid position, for a grid with few images
}

// NewIndex uses a map if the grid has more than sparseIndex positions per image.
const sparseIndex = 16

// NewIndex lists the images of a data set by their levels. It skips images with unknown levels. It returns an error if
// two images have the same levels.
func NewIndex(d Dataset) (*Index, error) {
	grid := factor.Grid(d.Factors())
	if err := stored.Countable(grid); err != nil {
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

// at returns the image at a grid position, and whether the position has an image.
func (x *Index) at(position int) (int, bool) {
	if x.few != nil {
		i, ok := x.few[position]
		return int(i), ok
	}
	i := x.image[position]
	return int(i), i >= 0
}

// Find returns the image with the given levels, and whether such an image exists.
func (x *Index) Find(levels []int) (int, bool) {
	at, ok := x.grid.Find(levels)
	if !ok {
		return 0, false
	}
	return x.at(at)
}
