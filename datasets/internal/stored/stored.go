// Package stored has the data set of images in memory or in cached files. User files and public sets build on it.
package stored

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"reflect"
	"slices"

	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/pages"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/internal/wording"
)

// Set is a data set in memory. The methods of datasets.Dataset return its fields: Name returns Title, Len Count,
// ImageShape Shape, Factors Columns, Missing Unknown, and Notes Remarks.
type Set struct {
	Title   string
	Count   int
	Shape   [3]int
	Bytes   []uint8   // images, if they are 8-bit
	Floats  []float32 // images, if they are not 8-bit
	Real    bool      // Floats are real numbers
	Rows    []int32   // index of each image in Bytes; nil: the image's number
	Columns []factor.Factor
	Levels  []int32 // Count x len(Columns)
	Unknown []int   // images with an unknown level for each factor; nil: none
	Remarks []string

	Mapped       string     // file of memory-mapped Bytes; empty: none
	mappedLevels string     // file of memory-mapped Levels; empty: none
	cached       *cache.Set // has the images in its files; nil: the set is only in memory
	LabelsHash   string     // SHA-256 of Columns, Levels and Rows if they differ from the cached ones; empty: unknown
}

func (d *Set) Name() string              { return d.Title }
func (d *Set) ImageShape() (h, w, c int) { return d.Shape[0], d.Shape[1], d.Shape[2] }
func (d *Set) Factors() []factor.Factor  { return d.Columns }
func (d *Set) Len() int                  { return d.Count }
func (d *Set) RealValued() bool          { return d.Real }
func (d *Set) Missing() []int            { return d.Unknown }
func (d *Set) Notes() []string           { return d.Remarks }

// Cached returns the cached set of the data set, or nil, and the hash of labels missing from the cache.
func (d *Set) Cached() (set *cache.Set, labels string) { return d.cached, d.LabelsHash }

func (d *Set) Image(i int, dst []float32) {
	if d.Mapped != "" {
		defer pages.Watch(d.Mapped, pages.Faults())
	}
	size := d.Shape[0] * d.Shape[1] * d.Shape[2]
	if d.Bytes == nil {
		copy(dst, d.Floats[i*size:(i+1)*size])
		return
	}
	if d.Rows != nil {
		i = int(d.Rows[i])
	}
	dst = dst[:size]
	for p, b := range d.Bytes[i*size : (i+1)*size] {
		dst[p] = shades[b]
	}
}

func (d *Set) FactorsAt(i int, dst []int) {
	if d.mappedLevels != "" {
		defer pages.Watch(d.mappedLevels, pages.Faults())
	}
	k := len(d.Columns)
	for j, l := range d.Levels[i*k : (i+1)*k] {
		dst[j] = int(l)
	}
}

// FromCache returns the data set of a cached set. Pixels and levels stay in the cached files.
func FromCache(s *cache.Set) *Set {
	pages.Random(s.Images)
	return &Set{
		Title: s.Name, Count: s.Count, Shape: [3]int{s.H, s.W, s.C}, Bytes: s.Images, Mapped: s.File(cache.ImagesFile),
		Columns: slices.Clone(s.Factors), Levels: s.Levels, Unknown: s.Missing, mappedLevels: s.File(cache.FactorsFile),
		cached: s,
	}
}

// shades holds b/255 for every byte b.
var shades = func() (list [256]float32) {
	for b := range list {
		list[b] = float32(b) / 255
	}
	return list
}()

// PixelNotes returns notes on images that can hardly train a model: all are equal, nearly black, or the last ones are
// black. It reads the last images, and a sample of the others.
func (d *Set) PixelNotes() []string {
	const few, sample, dark = 10, 64, 0.1 // 12-bit numbers in 16 bits are below dark, also after resizing
	if d.Count < few {
		return nil
	}
	first := make([]float32, d.Shape[0]*d.Shape[1]*d.Shape[2])
	d.Image(0, first)
	pixels, largest, equal := slices.Clone(first), slices.Max(first), true
	n := min(sample, d.Count)
	for i := 1; i < n; i++ {
		d.Image(i*(d.Count-1)/(n-1), pixels)
		largest = max(largest, slices.Max(pixels))
		equal = equal && slices.Equal(pixels, first)
	}
	seen := fmt.Sprintf("all %d images are", d.Count)
	if n < d.Count {
		seen = fmt.Sprintf("%d of %d images, seen as a sample, are", n, d.Count)
	}
	switch {
	case equal && largest == 0 && !d.Real:
		return []string{seen + " black; a model learns nothing from them"}
	case equal:
		return []string{seen + " equal; a model learns nothing from them"}
	case largest < dark && !d.Real:
		const want = "want lighter pixels, such as each times"
		return []string{fmt.Sprintf("%s nearly black, with pixels up to %.2g of white; %s %.0f",
			seen, largest, want, 1/largest)}
	}
	black := 0
	for black < d.Count {
		if d.Image(d.Count-1-black, pixels); slices.ContainsFunc(pixels, func(v float32) bool { return v != 0 }) {
			break
		}
		black++
	}
	if black > 1 && black*100 >= d.Count {
		const want = "leave them out if they were never filled"
		return []string{fmt.Sprintf("the last %d of %d images are 0 in all pixels; %s", black, d.Count, want)}
	}
	return nil
}

// Expect reads memory-mapped images ahead.
func (d *Set) Expect(first, count int) {
	size := d.Shape[0] * d.Shape[1] * d.Shape[2]
	switch {
	case d.Mapped == "":
	case d.Rows == nil:
		pages.Expect(d.Bytes[first*size : (first+count)*size])
	default:
		for _, row := range d.Rows[first : first+count] {
			pages.Expect(d.Bytes[int(row)*size : (int(row)+1)*size])
		}
	}
}

// SetImages converts images to pixels.
func (d *Set) SetImages(images []image.Image) error {
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
	d.Shape = [3]int{size.Y, size.X, channels}
	length := size.X * size.Y * channels
	if deep {
		d.Floats = make([]float32, length*len(images))
	} else {
		d.Bytes = make([]uint8, length*len(images))
	}
	for i, m := range images {
		d.convert(m, i*length)
	}
	return nil
}

// convert writes an image at the position of its first pixel.
func (d *Set) convert(m image.Image, at int) {
	bounds := m.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			r, g, b, alpha := m.At(x, y).RGBA()
			colour := [3]uint32{r, g, b}
			for _, v := range colour[:d.Shape[2]] {
				switch {
				case d.Bytes == nil:
					d.Floats[at] = float32(v) / 0xffff
				case alpha == 0xffff:
					d.Bytes[at] = uint8(v >> 8)
				default: // a blend with black has lower bits of its own
					d.Bytes[at] = uint8((v + 128) / 257)
				}
				at++
			}
		}
	}
}

// SetPixels sets a []uint8 or []float32 of a length as the pixels.
func (d *Set) SetPixels(pixels any, length int) error {
	h, w, c := d.Shape[0], d.Shape[1], d.Shape[2]
	if h < 1 || w < 1 || c < 1 || h > MaxPixels/w || h*w > MaxPixels/c {
		return fmt.Errorf("images of %d x %d x %d; want a height, a width and channels of at least 1, and at most %d numbers",
			h, w, c, MaxPixels)
	}
	size := h * w * c
	if length == 0 || length%size != 0 {
		return fmt.Errorf("%d pixels; want a multiple of the %d of an image of %d x %d x %d, at least one image",
			length, size, h, w, c)
	}
	d.Count = length / size
	d.Bytes, _ = pixels.([]uint8)
	d.Floats, _ = pixels.([]float32)
	for i, v := range d.Floats {
		if !(v >= 0 && v <= 1) {
			at := i % size
			return fmt.Errorf("image %d has %v at row %d, column %d, channel %d; want 0 to 1", i/size, v, at/(w*c), at/c%w, at%c)
		}
	}
	return nil
}

// MaxPixels is the maximum number of values of an image.
const MaxPixels = 1 << 30

// SetFactors checks and copies factors and the levels of the n images.
func (d *Set) SetFactors(factors []factor.Factor, levels [][]int) error {
	if err := factor.Validate(factors); err != nil {
		return err
	}
	if err := Countable(factors); err != nil {
		return err
	}
	if len(factors) == 0 && levels == nil {
		d.Columns, d.Levels = []factor.Factor{{Name: "unknown", Size: 1, Kind: factor.Categorical}}, make([]int32, d.Count)
		return nil
	}
	if len(factors) == 0 {
		return errors.New("there are levels and no factors; want factors, or neither of them")
	}
	if len(levels) != d.Count {
		return fmt.Errorf("there are levels of %d images; want a row for each of the %d images", len(levels), d.Count)
	}
	k := len(factors)
	d.Columns, d.Levels = append([]factor.Factor(nil), factors...), make([]int32, d.Count*k)
	for i, row := range levels {
		if len(row) != k {
			return fmt.Errorf("image %d has %s; want one for each of the %d factors", i, wording.Count(len(row), "level"), k)
		}
		for j, l := range row {
			if l != factor.Unknown && (l < 0 || l >= factors[j].Size) {
				return fmt.Errorf("image %d has level %d of factor %q; want 0 to %d, or -1 where it is unknown",
					i, l, factors[j].Name, factors[j].Size-1)
			}
			d.Levels[i*k+j] = int32(l)
		}
	}
	d.Unknown = CountMissing(d.Levels, k)
	return nil
}

// CountMissing returns the number of unknown levels for each factor, or nil if all levels are known.
func CountMissing[T int | int32](levels []T, k int) []int {
	var missing []int
	for at, l := range levels {
		if l == factor.Unknown {
			if missing == nil {
				missing = make([]int, k)
			}
			missing[at%k]++
		}
	}
	return missing
}

// Countable returns an error if the factors have too many combinations to number.
func Countable(factors []factor.Factor) error {
	if n := factor.Grid(factors).Combinations(); n > 1<<62 {
		return fmt.Errorf("levels have %g combinations; want at most 2^62", n)
	}
	return nil
}

// expecter is a data set with its images on disk. Expect reads count images ahead in the background.
type expecter interface{ Expect(first, count int) }

// Expect reads images ahead if the data set is on disk. Consecutive images are read together.
func Expect(d any, indices []int) {
	on, ok := d.(expecter)
	if !ok {
		return
	}
	for at := 0; at < len(indices); {
		end := at + 1
		for end < len(indices) && indices[end] == indices[end-1]+1 {
			end++
		}
		on.Expect(indices[at], end-at)
		at = end
	}
}

// WriteImages writes images of size bytes each, starting at a row, on all processors.
func WriteImages(ctx context.Context, w *cache.Writer, from int, pixels []byte, size int) error {
	const most = 1 << 20 // maximum bytes per call
	per := max(1, most/size)
	n := (len(pixels)/size-1)/per + 1
	errs := make([]error, n)
	parallel.For(n, func(_, i int) {
		errs[i] = w.WriteAt(ctx, from+i*per, pixels[i*per*size:min((i+1)*per*size, len(pixels))])
	})
	return cmp.Or(errs...)
}
