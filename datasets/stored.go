package datasets

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"reflect"

	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/pages"
)

// FromImages returns a data set of images of one size. The images have one channel if all of them have a grey colour
// model, and three channels (red, green, blue) otherwise. Transparent pixels are blended with black. Images of 8-bit
// colour models stay 8-bit in memory, and others, such as [image.Gray16], become float32.
//
// levels has a row for each image with the level of every factor, 0 to Size-1, or [Unknown]. The images need not form a
// full grid. Without factors (nil, nil) the images have one factor of one level, "unknown". Models can then train
// without supervision, and metrics that need factors refuse the set. [Given] makes such a data set available to a
// config by name.
func FromImages(name string, images []image.Image, factors []factor.Factor, levels [][]int) (Dataset, error) {
	d := &stored{name: name, n: len(images)}
	if err := d.setFactors(factors, levels); err != nil {
		return nil, fmt.Errorf("dataset %s: %w", name, err)
	}
	if err := d.setImages(images); err != nil {
		return nil, fmt.Errorf("dataset %s: %w", name, err)
	}
	return d, nil
}

// FromPixels returns a data set of images of h x w pixels with c channels. pixels holds the images one after another,
// row by row and channels last, as numbers from 0 to 255 or float32 from 0 to 1. It does not copy the slice, which must
// not change afterwards. Factors and levels are as in [FromImages].
func FromPixels[T uint8 | float32](name string, pixels []T, h, w, c int, factors []factor.Factor, levels [][]int) (Dataset, error) {
	d := &stored{name: name, shape: [3]int{h, w, c}}
	if err := d.setPixels(any(pixels), len(pixels)); err != nil {
		return nil, fmt.Errorf("dataset %s: %w", name, err)
	}
	if err := d.setFactors(factors, levels); err != nil {
		return nil, fmt.Errorf("dataset %s: %w", name, err)
	}
	return d, nil
}

// Given builds a data set that a program has made, and lets a config name it:
//
//	datasets.Register(registry.Entry[datasets.Builder]{
//		Name: "mine", Doc: "my images", New: func() datasets.Builder { return &datasets.Given{Set: d} },
//	})
//
// A command that opens a run of it must belong to a program that has registered it too.
type Given struct {
	Set Dataset `yaml:"-"`
}

// Build returns the data set.
func (g *Given) Build(uint64) (Dataset, error) {
	if g.Set == nil {
		return nil, errors.New("there is no data set; want Set of datasets.Given")
	}
	return g.Set, nil
}

// stored is a data set in memory.
type stored struct {
	name    string
	n       int
	shape   [3]int
	bytes   []uint8   // the images, if they are 8-bit
	floats  []float32 // otherwise
	real    bool      // floats are real numbers
	factors []factor.Factor
	levels  []int32    // n x K
	missing []int      // images with an unknown level, by factor; nil: none
	cached  *cache.Set // in whose files the images are; nil: the set is only in memory
	labels  string     // SHA-256 of factors, levels and rows that are not the cached ones; empty: unknown
	rows    []int32    // index of each image in bytes; nil: the image's number
	notes   []string
	mapped  string // the file behind mapped bytes; empty: no file

	mappedLevels string // likewise of levels
}

func (d *stored) Name() string              { return d.name }
func (d *stored) ImageShape() (h, w, c int) { return d.shape[0], d.shape[1], d.shape[2] }
func (d *stored) Factors() []factor.Factor  { return d.factors }
func (d *stored) Len() int                  { return d.n }
func (d *stored) RealValued() bool          { return d.real }
func (d *stored) Missing() []int            { return d.missing }
func (d *stored) Notes() []string           { return d.notes }

// Cached returns the cached set behind the data set, or nil, and the hash of labels that the cache lacks.
func (d *stored) Cached() (set *cache.Set, labels string) { return d.cached, d.labels }

func (d *stored) Image(i int, dst []float32) {
	if d.mapped != "" {
		defer pages.Watch(d.mapped, pages.Faults())
	}
	size := d.shape[0] * d.shape[1] * d.shape[2]
	if d.bytes == nil {
		copy(dst, d.floats[i*size:(i+1)*size])
		return
	}
	if d.rows != nil {
		i = int(d.rows[i])
	}
	dst = dst[:size]
	for p, b := range d.bytes[i*size : (i+1)*size] {
		dst[p] = shades[b]
	}
}

// shades holds b/255 for every byte b.
var shades = func() (list [256]float32) {
	for b := range list {
		list[b] = float32(b) / 255
	}
	return list
}()

// Expect reads mapped images ahead.
func (d *stored) Expect(first, count int) {
	size := d.shape[0] * d.shape[1] * d.shape[2]
	switch {
	case d.mapped == "":
	case d.rows == nil:
		pages.Expect(d.bytes[first*size : (first+count)*size])
	default:
		for _, row := range d.rows[first : first+count] {
			pages.Expect(d.bytes[int(row)*size : (int(row)+1)*size])
		}
	}
}

func (d *stored) FactorsAt(i int, dst []int) {
	if d.mappedLevels != "" {
		defer pages.Watch(d.mappedLevels, pages.Faults())
	}
	k := len(d.factors)
	for j, l := range d.levels[i*k : (i+1)*k] {
		dst[j] = int(l)
	}
}

// setImages converts images to pixels.
func (d *stored) setImages(images []image.Image) error {
	if len(images) == 0 {
		return errors.New("there are no images; want at least 1")
	}
	channels, deep := 1, false
	var size image.Point
	for i, m := range images {
		if v := reflect.ValueOf(m); m == nil || v.Kind() == reflect.Pointer && v.IsNil() {
			return fmt.Errorf("image %d is nil", i)
		}
		at := m.Bounds().Size()
		if i == 0 {
			size = at
		}
		if at != size || at.X < 1 || at.Y < 1 {
			return fmt.Errorf("image %d is %d x %d pixels (width x height); want at least 1 x 1, and the size of image 0, %d x %d", i, at.X, at.Y, size.X, size.Y)
		}
		switch m.ColorModel() {
		case color.GrayModel:
		case color.Gray16Model:
			deep = true
		case color.RGBA64Model, color.NRGBA64Model:
			channels, deep = 3, true
		default:
			channels = 3
		}
	}
	d.shape = [3]int{size.Y, size.X, channels}
	length := size.X * size.Y * channels
	if deep {
		d.floats = make([]float32, length*len(images))
	} else {
		d.bytes = make([]uint8, length*len(images))
	}
	for i, m := range images {
		d.convert(m, i*length)
	}
	return nil
}

// convert writes an image at the position of its first pixel.
func (d *stored) convert(m image.Image, at int) {
	bounds := m.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			r, g, b, _ := m.At(x, y).RGBA()
			colour := [3]uint32{r, g, b}
			for _, v := range colour[:d.shape[2]] {
				if d.bytes == nil {
					d.floats[at] = float32(v) / 0xffff
				} else {
					d.bytes[at] = uint8(v >> 8)
				}
				at++
			}
		}
	}
}

// setPixels takes a []uint8 or []float32 of a length.
func (d *stored) setPixels(pixels any, length int) error {
	h, w, c := d.shape[0], d.shape[1], d.shape[2]
	if h < 1 || w < 1 || c < 1 || h > maxPixels/w || h*w > maxPixels/c {
		return fmt.Errorf("images of %d x %d x %d; want a height, a width and channels of at least 1, and at most %d numbers", h, w, c, maxPixels)
	}
	size := h * w * c
	if length == 0 || length%size != 0 {
		return fmt.Errorf("%d pixels; want a multiple of the %d of an image of %d x %d x %d, at least one image", length, size, h, w, c)
	}
	d.n = length / size
	d.bytes, _ = pixels.([]uint8)
	d.floats, _ = pixels.([]float32)
	for i, v := range d.floats {
		if !(v >= 0 && v <= 1) {
			at := i % size
			return fmt.Errorf("image %d has %v at row %d, column %d, channel %d; want 0 to 1", i/size, v, at/(w*c), at/c%w, at%c)
		}
	}
	return nil
}

// maxPixels bounds the numbers of an image.
const maxPixels = 1 << 30

// setFactors checks and copies factors and the levels of the n images.
func (d *stored) setFactors(factors []factor.Factor, levels [][]int) error {
	if err := factor.Validate(factors); err != nil {
		return err
	}
	if err := countable(factors); err != nil {
		return err
	}
	if len(factors) == 0 && levels == nil {
		d.factors, d.levels = []factor.Factor{{Name: "unknown", Size: 1, Kind: factor.Categorical}}, make([]int32, d.n)
		return nil
	}
	if len(factors) == 0 {
		return errors.New("there are levels and no factors; want factors, or neither of them")
	}
	if len(levels) != d.n {
		return fmt.Errorf("there are levels of %d images; want a row for each of the %d images", len(levels), d.n)
	}
	k := len(factors)
	d.factors, d.levels = append([]factor.Factor(nil), factors...), make([]int32, d.n*k)
	for i, row := range levels {
		if len(row) != k {
			return fmt.Errorf("image %d has %d levels; want one for each of the %d factors", i, len(row), k)
		}
		for j, l := range row {
			if l != Unknown && (l < 0 || l >= factors[j].Size) {
				return fmt.Errorf("image %d has level %d of factor %q; want 0 to %d, or -1 where it is unknown", i, l, factors[j].Name, factors[j].Size-1)
			}
			d.levels[i*k+j] = int32(l)
		}
	}
	d.missing = countMissing(d.levels, k)
	return nil
}

// countable reports factors with too many combinations to number.
func countable(factors []factor.Factor) error {
	combinations := 1.0
	for _, f := range factors {
		combinations *= float64(f.Size)
	}
	if combinations > 1<<62 {
		return fmt.Errorf("levels have %g combinations; want at most 2^62", combinations)
	}
	return nil
}
