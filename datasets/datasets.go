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
	"reflect"
	"slices"
	"sync"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/internal/stored"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/models/hierarchy"
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
	grid   factor.Grid
	image  []int32       // by grid position; -1: no image; nil: sparse is used instead
	sparse map[int]int32 // by grid position, for a grid with few images
}

// sparseIndex is the number of grid positions per image above which NewIndex uses a map.
const sparseIndex = 16

// NewIndex lists images by their levels, without unknown ones. Two images with the same levels are an error.
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
		x.sparse = make(map[int]int32, d.Len())
	}
	levels := make([]int, len(grid))
	for i := range d.Len() {
		d.FactorsAt(i, levels)
		if slices.Contains(levels, Unknown) {
			continue
		}
		position := grid.Index(levels)
		if other, ok := x.lookup(position); ok {
			return nil, fmt.Errorf("dataset %s: images %d and %d both have %s",
				d.Name(), other, i, factor.Describe(grid, levels))
		}
		if x.sparse != nil {
			x.sparse[position] = int32(i)
		} else {
			x.image[position] = int32(i)
		}
	}
	return x, nil
}

// lookup returns the image at a grid position, and whether the position has an image.
func (x *Index) lookup(position int) (int, bool) {
	if x.sparse != nil {
		i, ok := x.sparse[position]
		return int(i), ok
	}
	i := x.image[position]
	return int(i), i >= 0
}

// Find returns the image with the given levels, and whether such an image exists.
func (x *Index) Find(levels []int) (int, bool) {
	position, ok := x.grid.Find(levels)
	if !ok {
		return 0, false
	}
	return x.lookup(position)
}

// Unknown is the level of a factor with an unknown value, [factor.Unknown].
const Unknown = factor.Unknown

// Incomplete is implemented by data sets with unknown levels: FactorsAt writes [Unknown] for them. An unknown level
// differs from every level, including other unknown levels, and is not a label. Metrics skip an image if a level that
// they need is unknown. In all other data sets, every level is known.
type Incomplete interface {
	Dataset

	// Missing returns the number of images with an unknown level for each factor, or nil if all levels are known.
	// Callers must not change the slice.
	Missing() []int
}

// Missing returns the number of images with an unknown level for each factor, or nil if all levels are known.
func Missing(d Dataset) []int {
	if i, ok := d.(Incomplete); ok {
		for _, n := range i.Missing() {
			if n > 0 {
				return i.Missing()
			}
		}
	}
	return nil
}

// Sample returns the subset of the given images, in the given order.
func Sample(d Dataset, indices []int) Dataset {
	s := sample{Dataset: d, indices: indices}
	if Missing(d) != nil {
		s.missing = stored.CountMissing(Levels(s), len(d.Factors()))
	}
	if h, ok := d.(Hierarchical); ok {
		return hierarchicalSample{s, h}
	}
	return s
}

// sample implements Dataset, Incomplete, and the methods behind Expect, FileName and RealValued.
type sample struct {
	Dataset
	indices []int
	missing []int // unknown levels by factor; nil: none
}

func (s sample) Len() int                   { return len(s.indices) }
func (s sample) Image(i int, dst []float32) { s.Dataset.Image(s.indices[i], dst) }
func (s sample) FactorsAt(i int, dst []int) { s.Dataset.FactorsAt(s.indices[i], dst) }
func (s sample) Missing() []int             { return s.missing }
func (s sample) Expect(first, count int)    { stored.Expect(s.Dataset, s.indices[first:first+count]) }
func (s sample) FileName(i int) string      { return FileName(s.Dataset, s.indices[i]) }
func (s sample) RealValued() bool           { return RealValued(s.Dataset) }

// hierarchicalSample is the sample of a Hierarchical set.
type hierarchicalSample struct {
	sample
	source Hierarchical
}

func (s hierarchicalSample) Hierarchy() hierarchy.Hierarchy { return s.source.Hierarchy() }
func (s hierarchicalSample) Choices(i int, dst []int)       { s.source.Choices(s.indices[i], dst) }
func (s hierarchicalSample) Values(i int, dst []float64)    { s.source.Values(s.indices[i], dst) }

// Like returns a data set of the same images with the levels of other factors: each of the given names stands for the
// same factor in both sets. Levels are equal if their names, angles or values are. It returns an error for an image
// with a level that the other factor lacks.
func Like(d Dataset, factors []factor.Factor, names []string) (Dataset, error) {
	same, own := true, d.Factors()
	s := likeSample{sample{d, numeric.UpTo(d.Len()), Missing(d)}, slices.Clone(own), make([][]int, len(own))}
	for j, f := range own {
		k := slices.IndexFunc(factors, func(other factor.Factor) bool { return other.Name == f.Name })
		if k < 0 || !slices.Contains(names, f.Name) || reflect.DeepEqual(f, factors[k]) {
			continue
		}
		s.factors[j], s.levels[j], same = factors[k], f.LevelsIn(factors[k]), false
	}
	if _, ok := d.(Hierarchical); ok || same {
		return d, nil
	}
	levels := make([]int, len(s.factors))
	for i := range d.Len() {
		d.FactorsAt(i, levels)
		for j, level := range levels {
			if level >= 0 && s.levels[j] != nil && s.levels[j][level] < 0 {
				return nil, fmt.Errorf("image %d has a level of factor %s, %s, that the other data set lacks",
					i, own[j].Name, own[j].LevelName(level))
			}
		}
	}
	return s, nil
}

// likeSample is a data set with the levels of other factors.
type likeSample struct {
	sample
	factors []factor.Factor
	levels  [][]int // by factor: the number of each level in the other factor, or -1; nil: the same numbers
}

func (s likeSample) Factors() []factor.Factor { return s.factors }

func (s likeSample) FactorsAt(i int, dst []int) {
	s.sample.FactorsAt(i, dst)
	for j, levels := range s.levels {
		if levels != nil && dst[j] >= 0 {
			dst[j] = levels[dst[j]]
		}
	}
}

// Fill writes images to dst, len(indices) x H x W x C, on all processors. It does not allocate.
func Fill(d Dataset, indices []int, dst []float32) {
	stored.Expect(d, indices)
	h, w, c := d.ImageShape()
	f := fills.Get().(*fill)
	f.set, f.indices, f.dst, f.size = d, indices, dst, h*w*c
	parallel.For(len(indices), f.body)
	f.set, f.indices, f.dst = nil, nil, nil
	fills.Put(f)
}

// fill is a call of Fill. It stores the body of the parallel loop, because a new closure would allocate.
type fill struct {
	set     Dataset
	indices []int
	dst     []float32
	size    int // values per image
	body    func(worker, n int)
}

var fills = sync.Pool{New: func() any {
	f := &fill{}
	f.body = func(_, n int) { f.set.Image(f.indices[n], f.dst[n*f.size:(n+1)*f.size]) }
	return f
}}

// Registered lists the data sets that programs have added with [Register]. Package catalog lists all sets.
var Registered = &registry.Registry[Builder]{Kind: "dataset"}

// Register adds a data set that configs can name. Call it before reading a config. It returns an error if the name is
// already registered. If a built-in set has the same name, reading a config with this name fails.
func Register(e registry.Entry[Builder]) error { return Registered.Register(e) }
