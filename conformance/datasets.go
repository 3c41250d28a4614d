package conformance

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/race"
)

// CheckDataset returns the faults of an entry of the registry of data sets: of its settings, of its images
// ([CheckImages]), and of a second build with the same seed.
func CheckDataset(e registry.Entry[datasets.Builder]) error {
	return faultsOfEntry("dataset", e, func(f *findings, b datasets.Builder) {
		d, err := b.Build(seed)
		if errors.Is(err, datasets.ErrNotFetched) {
			f.errs = append(f.errs, fmt.Errorf("%s: %w: %w", f.part, ErrNeedsSettings, err))
			return
		}
		f.must(err, "Build")
		x := newImages(f, d)
		x.check()
		if !race.Enabled { // slow under the race detector, and without goroutines
			x.secondBuild(e)
		}
	})
}

// CheckImages returns the faults of a data set, from 64 of its images:
//
//   - an invalid shape or invalid factors; levels out of range; unknown levels without [datasets.Incomplete], or
//     unknown levels that differ from its counts;
//   - unwritten pixels; pixels outside [0, 1] unless the set is [datasets.RealValued];
//   - impure methods; methods that are unsafe for concurrent use, or that keep their arguments; allocation in
//     Image;
//   - two images with the same levels in a full grid;
//   - choices and values of a [datasets.Hierarchical] set that contradict its levels.
func CheckImages(d datasets.Dataset) error {
	return faultsOf("dataset "+d.Name(), func(f *findings) { newImages(f, d).check() })
}

// images checks one data set, and has the images to check.
type images struct {
	*findings
	dataset datasets.Dataset
	size    int   // numbers per image
	list    []int // indices
	factors []factor.Factor
	pixels  [][]float32
	levels  [][]int
}

func newImages(f *findings, d datasets.Dataset) *images {
	const maxImages = 64
	h, w, c := d.ImageShape()
	x := &images{findings: f, dataset: d, size: h * w * c, factors: d.Factors()}
	switch {
	case d.Name() == "":
		f.add("Name is empty")
	case h < 1 || w < 1 || c < 1:
		f.add("ImageShape is %d x %d x %d; want 1 or more of each", h, w, c)
	case d.Len() < 1:
		f.add("Len is %d; want 1 or more", d.Len())
	case len(x.factors) == 0:
		f.add("there are no factors; want at least one, of one level if nothing is known about the images")
	}
	f.must(factor.Validate(x.factors), "Factors")
	if len(f.errs) > 0 {
		panic(stopped{})
	}
	for n := range min(d.Len(), maxImages) {
		x.list = append(x.list, n*d.Len()/min(d.Len(), maxImages))
	}
	if last := d.Len() - 1; !slices.Contains(x.list, last) {
		x.list = append(x.list, last)
	}
	var rendered [][]float32
	for _, i := range x.list {
		rendered = append(rendered, x.image(d, i))
		x.pixels, x.levels = append(x.pixels, slices.Clone(rendered[len(rendered)-1])), append(x.levels, x.levelsAt(d, i))
	}
	for n, i := range x.list {
		if !sameBits(rendered[n], x.pixels[n]) {
			f.fatal("Image retains its argument: the slice of image %d has changed after later calls", i)
		}
	}
	return x
}

// seed is the seed of all random numbers in the tests.
const seed = 1

// guardValue is the value after the memory that a method may write. It detects writes beyond this memory.
const guardValue = 1234

// image renders an image into memory filled with NaN.
func (x *images) image(d datasets.Dataset, i int) []float32 {
	buffer := slices.Repeat([]float32{float32(math.NaN())}, x.size+1)
	buffer[x.size] = guardValue
	d.Image(i, buffer[:x.size])
	if buffer[x.size] != guardValue {
		x.add("Image writes more than the %d numbers of image %d", x.size, i)
	}
	return buffer[:x.size:x.size]
}

// levelsAt reads the levels of an image into memory filled with impossible levels.
func (x *images) levelsAt(d datasets.Dataset, i int) []int {
	k := len(x.factors)
	buffer := slices.Repeat([]int{-guardValue}, k+1)
	d.FactorsAt(i, buffer[:k])
	if buffer[k] != -guardValue {
		x.add("FactorsAt writes more than the %d levels of image %d", k, i)
	}
	return buffer[:k:k]
}

func (x *images) check() {
	if factors := x.dataset.Factors(); !reflect.DeepEqual(factors, x.factors) {
		x.add("Factors returns other factors at a second call")
	}
	x.run(x.ranges, x.incomplete, x.repeatable)
	if len(x.errs) > 0 {
		return // several goroutines would fail in the same way
	}
	x.run(x.concurrent, x.complete)
	if h, ok := x.dataset.(datasets.Hierarchical); ok {
		x.run(func() { x.hierarchical(h) })
	}
	if !race.Enabled {
		dst, n := make([]float32, x.size), 0
		if a := testing.AllocsPerRun(len(x.list), func() { x.dataset.Image(x.list[n%len(x.list)], dst); n++ }); a >= 1 {
			x.add("Image allocates %v times; want 0, as every image of every step is rendered by it", a)
		}
	}
}

func (x *images) ranges() {
	realValued := datasets.RealValued(x.dataset)
	for n, i := range x.list {
		for p, v := range x.pixels[n] {
			if v != v {
				x.add("Image leaves number %d of image %d unwritten, or NaN", p, i)
				break
			}
			if !realValued && !(v >= 0 && v <= 1) || math.IsInf(float64(v), 0) {
				x.add("image %d has %v at number %d; want 0 to 1, or the method RealValued", i, v, p)
				break
			}
		}
		for k, l := range x.levels[n] {
			if _, incomplete := x.dataset.(datasets.Incomplete); l == datasets.Unknown && incomplete {
				continue
			}
			if l < 0 || l >= x.factors[k].Size {
				x.add("image %d has level %d of factor %q; want 0 to %d, or -1 where it is unknown in a set that is datasets.Incomplete", i, l, x.factors[k].Name, x.factors[k].Size-1)
			}
		}
	}
}

// incomplete compares the counts of unknown levels with the levels of all images, or of the checked images in a large
// set.
func (x *images) incomplete() {
	const maxLevels = 1 << 22
	i, ok := x.dataset.(datasets.Incomplete)
	if !ok {
		return
	}
	missing := i.Missing()
	if missing == nil {
		missing = make([]int, len(x.factors))
	}
	if len(missing) != len(x.factors) {
		x.fatal("Missing has %d numbers; want one for each of the %d factors, or nil", len(missing), len(x.factors))
	}
	n, allImages := x.dataset.Len(), x.dataset.Len() <= maxLevels/len(x.factors)
	if !allImages {
		n = len(x.list)
	}
	unknown, levels := make([]int, len(x.factors)), make([]int, len(x.factors))
	for image := range n {
		if allImages {
			x.dataset.FactorsAt(image, levels)
		} else {
			levels = x.levels[image]
		}
		for k, l := range levels {
			if l == datasets.Unknown {
				unknown[k]++
			}
		}
	}
	for k, f := range x.factors {
		if u, m := unknown[k], missing[k]; allImages && u != m || u > m || m < 0 || m > x.dataset.Len()-n+u {
			x.add("Missing counts %d images of unknown %q; %d of %d have level -1", m, f.Name, u, n)
		}
	}
}

func (x *images) repeatable() {
	for n := len(x.list) - 1; n >= 0; n-- {
		i := x.list[n]
		got := x.image(x.dataset, i)
		if !sameBits(got, x.pixels[n]) {
			x.fatal("image %d changes when it is rendered again; want the same pixels after any other calls", i)
		}
		if !slices.Equal(x.levelsAt(x.dataset, i), x.levels[n]) {
			x.fatal("image %d has other levels at a second call of FactorsAt", i)
		}
		for p := range got { // the caller owns the result
			got[p] = guardValue
		}
		if !sameBits(x.image(x.dataset, i), x.pixels[n]) {
			x.fatal("image %d changes with the slice that it was rendered into; want a copy", i)
		}
	}
}

func (x *images) concurrent() {
	x.checkConcurrently(len(x.list), func(f *findings, order []int) {
		pixels, levels := make([]float32, x.size), make([]int, len(x.factors))
		for _, n := range order {
			x.dataset.Image(x.list[n], pixels)
			x.dataset.FactorsAt(x.list[n], levels)
			if !sameBits(pixels, x.pixels[n]) || !slices.Equal(levels, x.levels[n]) {
				f.fatal("image %d differs when several goroutines render at once", x.list[n])
			}
		}
	})
}

// complete checks a set with equal numbers of images and level combinations. It must have one image per combination.
func (x *images) complete() {
	const maxCombinations = 1 << 24
	combinations := 1
	for _, f := range x.factors {
		if combinations *= f.Size; combinations > maxCombinations {
			return
		}
	}
	if _, hierarchical := x.dataset.(datasets.Hierarchical); hierarchical || datasets.Missing(x.dataset) != nil ||
		combinations != x.dataset.Len() || len(x.errs) > 0 {
		return
	}
	if _, err := datasets.NewIndex(x.dataset); err != nil {
		x.add("it has as many images as combinations of levels, but not one image for each combination: %w", err)
	}
}

func (x *images) hierarchical(h datasets.Hierarchical) {
	categorical := h.Hierarchy().Categoricals()
	c, v := len(categorical), h.Hierarchy().Continuous()
	if c+v != len(x.factors) {
		x.fatal("its hierarchy has %d categorical and %d continuous dimensions, and there are %d factors; want a factor for each", c, v, len(x.factors))
	}
	choices, values := make([]int, c), make([]float64, v)
	for n, i := range x.list {
		for j := range choices {
			choices[j] = -guardValue
		}
		for j := range values {
			values[j] = math.NaN()
		}
		h.Choices(i, choices)
		h.Values(i, values)
		for j, o := range choices {
			if o < -1 || o != x.levels[n][j]-1 {
				x.add("image %d has option %d of %q and level %d; want level 1 + option, 0 where it has none",
					i, o, x.factors[j].Name, x.levels[n][j])
			}
		}
		for j, value := range values {
			if math.IsNaN(value) || math.IsInf(value, 0) {
				x.add("image %d has the value %v of %q; want a finite number", i, value, x.factors[c+j].Name)
			}
		}
	}
}

func (x *images) secondBuild(e registry.Entry[datasets.Builder]) {
	d, err := e.New().Build(seed)
	x.must(err, "a second Build")
	h, w, c := x.dataset.ImageShape()
	if h2, w2, c2 := d.ImageShape(); h != h2 || w != w2 || c != c2 || d.Len() != x.dataset.Len() ||
		!reflect.DeepEqual(d.Factors(), x.factors) {
		x.fatal("a second build with the same seed has another shape, number of images or factors")
	}
	for n, i := range x.list {
		if !sameBits(x.image(d, i), x.pixels[n]) || !slices.Equal(x.levelsAt(d, i), x.levels[n]) {
			x.fatal("image %d differs in a second build with the same seed", i)
		}
	}
}

// sameBits reports whether numbers have equal bits. NaN then equals NaN.
func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}
