package public

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/internal/stored"
	"github.com/unravel-ml/unravel/datasets/source"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/arrays"
	"github.com/unravel-ml/unravel/internal/dims"
	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/dtype"
	"github.com/unravel-ml/unravel/internal/memory"
	"github.com/unravel-ml/unravel/internal/picture"
	"github.com/unravel-ml/unravel/internal/resample"
)

// DSprites is dSprites (Matthey et al. 2017) as published: 737,280 images of a white shape on black, 64 x 64 pixels.
// Its factors are the factors of its twin, drawn.Sprites, in the same order. Orientations are evenly spaced from 0 to 2
// pi including both ends, so the last angle equals the first.
//
// The variants follow Locatello et al. 2019 and have three channels. The random parts of an image only depend on the
// image and the seed of the experiment:
//
//   - color: each channel of the image is multiplied by a random number from 0.5 to 1
//   - noise: a random number from 0 to 1 is added to each pixel and channel; sums above 1 become 1
//   - scream: the background is a random crop of a picture, averaged with a random colour; the shape inverts it
//
// Files with smaller grids of the same factors are also accepted.
type DSprites struct {
	Variant  string `yaml:"variant" doc:"plain, color (a random colour), noise (random pixels) or scream (parts of a picture as background)"`
	Scream   string `yaml:"scream" doc:"picture file for the variant scream; empty: the fetched picture, The Scream by Edvard Munch"`
	Channels int    `yaml:"channels" doc:"channels of the variant plain: 1, or 3 equal channels for models of colour images; other variants have 3"`
}

const (
	dspritesNPZ  = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz"
	dspritesHDF5 = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.hdf5"
	screamFile   = "scream.jpg"
	dspritesURL  = "https://github.com/deepmind/dsprites-dataset/raw/master/"
)

// The variants of dSprites.
const (
	plainSprites  = "plain"
	colourSprites = "color"
	noisySprites  = "noise"
	screamSprites = "scream"
)

var spriteVariants = []string{plainSprites, colourSprites, noisySprites, screamSprites}

// Origin returns the source and the files of dSprites. It includes the picture for scream only if the variant needs it.
func (d *DSprites) Origin() datasets.Origin {
	return datasets.Origin{
		Files: []source.File{
			{Name: dspritesNPZ, URL: dspritesURL + dspritesNPZ},
			{
				Name: dspritesHDF5, URL: dspritesURL + dspritesHDF5, Instead: dspritesNPZ, Size: 28024106,
				SHA256: "729fa22e884c9c500e1f17415d580746b4c5894fbbb780a1319bbcfa39a745bb", MD5: "b331c4447a651c44bf5e8ae09022e230",
			},
			d.screamSource(),
		},
		Licence: "Apache 2.0",
		Citation: "Loic Matthey, Irina Higgins, Demis Hassabis and Alexander Lerchner: dSprites: Disentanglement testing Sprites dataset. " +
			"https://github.com/deepmind/dsprites-dataset, 2017",
		Bytes: 737280 * (64*64 + 5*4), Version: 1,
	}
}

// screamSource is the source of the picture for the variant scream.
func (d *DSprites) screamSource() source.File {
	return source.File{
		Name: screamFile, URL: "https://upload.wikimedia.org/wikipedia/commons/f/f4/The_Scream.jpg",
		Optional: d.variant() != screamSprites || d.Scream != "",
	}
}

// variant returns the variant; the empty string, the zero value in Go code, is plain.
func (d *DSprites) variant() string { return cmp.Or(d.Variant, plainSprites) }

func (d *DSprites) Validate() error {
	switch {
	case !slices.Contains(spriteVariants, d.variant()):
		return config.Invalid("variant", "%q is unknown; want %s", d.Variant, strings.Join(spriteVariants, ", "))
	case d.Channels < 0 || d.Channels > 3 || d.Channels == 2: // 0, the zero value in Go code, means 1, or 3 for variants
		return config.Invalid("channels", "%d is out of range; want 1 or 3, or 0 for the channels of the variant", d.Channels)
	case d.Scream != "" && d.variant() != screamSprites:
		return config.Invalid("scream", "%s: only the variant scream has a picture; want variant: scream", d.Scream)
	}
	return nil
}

func (d *DSprites) Reads() []datasets.Read { return datasets.ReadOf("scream", d.Scream) }

func (d *DSprites) Prepare(ctx context.Context, progress datasets.Progress) error {
	return prepare(ctx, progress, func(ctx context.Context) (datasets.Dataset, error) { return d.build(ctx, 0) })
}

// Build opens the converted set. The seed determines the random parts of the variant.
func (d *DSprites) Build(seed uint64) (datasets.Dataset, error) {
	return d.build(context.Background(), seed)
}

func (d *DSprites) build(ctx context.Context, seed uint64) (datasets.Dataset, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	origin := d.Origin()
	// the scream needs no conversion
	origin.Files = slices.DeleteFunc(origin.Files, func(f source.File) bool { return f.Name == screamFile })
	set, err := buildPublic(ctx, "dsprites", "", origin, convertDSprites)
	if err != nil {
		return nil, err
	}
	shapes := set.(*stored.Set)
	if d.variant() == plainSprites && d.Channels != 3 {
		return shapes, nil
	}
	v := &spriteVariant{Set: shapes, variant: d.variant(), seed: seed}
	if v.variant == screamSprites {
		if v.picture, err = d.openScream(ctx, v.Shape); err != nil {
			return nil, fmt.Errorf("data set dsprites: scream: %w", err)
		}
	}
	return v, nil
}

// dspritesSizes are the sizes of the published grid: colour, shape, scale, orientation, x and y.
var dspritesSizes = []int{1, 3, 6, 40, 32, 32}

const dspritesImages = 737280

// convertDSprites converts the file that exists, NPZ or HDF5.
func convertDSprites(ctx context.Context, dir string, w *cache.Writer) error {
	name := dspritesNPZ
	if _, err := os.Stat(filepath.Join(dir, dspritesNPZ)); errors.Is(err, fs.ErrNotExist) {
		name = dspritesHDF5
	}
	f, err := arrays.Open(filepath.Join(dir, name))
	if err != nil {
		return withFile(name, err)
	}
	defer f.Close() // nothing was written
	return withFile(name, copyDSprites(ctx, f, name == dspritesHDF5, w))
}

// copyDSprites reads the array imgs and the classes of the images. An HDF5 file needs classes only for grids other than
// the published one. An NPZ file may also have latents_values.
func copyDSprites(ctx context.Context, f arrays.File, hdf5 bool, w *cache.Writer) error {
	images, err := f.Open("imgs")
	if err != nil {
		return err
	}
	shape := images.Shape
	if len(shape) != 3 || slices.Min(shape) < 1 || shape[1] != shape[2] || images.Type != dtype.Uint8 {
		return fmt.Errorf("imgs holds %s of shape %v; want uint8 of shape [N H H]", images.Type, shape)
	}
	n, size, grid := shape[0], shape[1]*shape[2], gridOf(dspritesSizes)
	if !hdf5 || n != dspritesImages { // the published HDF5 file may have no classes
		name := map[bool]string{false: "latents_classes", true: "latents/classes"}[hdf5]
		classes, err := readLatents[int32](f, name, n)
		if err != nil {
			return err
		}
		if grid, err = gridOfClasses(classes); err != nil {
			return err
		}
	}
	var values []float64
	if !hdf5 && slices.Contains(f.Names(), "latents_values") {
		if values, err = readLatents[float64](f, "latents_values", n); err != nil {
			return err
		}
	}
	factors, err := namedDSprites(grid, values)
	if err != nil {
		return err
	}
	if err := w.Begin(n, shape[1], shape[2], 1, factors); err != nil {
		return err
	}
	return copyImages(ctx, images, w, func(row int, pixels []byte) error {
		for i, v := range pixels {
			if v > 1 {
				return fmt.Errorf("imgs: image %d has the value %d; want 0 or 1", row+i/size, v)
			}
			pixels[i] = 255 * v
		}
		return nil
	})
}

// readLatents reads an array with six numbers for each of n images.
func readLatents[T dtype.Element](f arrays.File, name string, n int) ([]T, error) {
	a, err := f.Open(name)
	if err != nil {
		return nil, fmt.Errorf("imgs has %d images: %w", n, err)
	}
	if !slices.Equal(a.Shape, []int{n, 6}) {
		return nil, fmt.Errorf("%s has shape %v, and imgs has %d images; want [%d 6]", name, a.Shape, n, n)
	}
	return arrays.ReadAll[T](a)
}

func gridOf(sizes []int) factor.Grid {
	grid := make(factor.Grid, len(sizes))
	for k, size := range sizes {
		grid[k].Size = size
	}
	return grid
}

// gridOfClasses returns the full grid that the rows of six classes form, in grid order.
func gridOfClasses(classes []int32) (factor.Grid, error) {
	n, sizes := len(classes)/6, make([]int, 6)
	for i, c := range classes {
		if c < 0 || int(c) >= n {
			return nil, fmt.Errorf("the classes of image %d have %d in column %d; want 0 to %d", i/6, c, i%6, n-1)
		}
		sizes[i%6] = max(sizes[i%6], int(c)+1)
	}
	if total, err := dims.Count(sizes, 1); err != nil || total != n || sizes[0] != 1 {
		return nil, fmt.Errorf("there are classes of %d images, with %v levels; want one colour, and the full grid", n, sizes)
	}
	if n == dspritesImages && !slices.Equal(sizes, dspritesSizes) {
		return nil, fmt.Errorf("there are classes of %d images, with %v levels; want %v", n, sizes, dspritesSizes)
	}
	grid := gridOf(sizes)
	for i, levels := range grid.All() {
		for k, l := range levels {
			if got := classes[6*i+k]; int(got) != l {
				return nil, fmt.Errorf("the classes of image %d have %d in column %d; want %d, as in the grid with the last column fastest", i, got, k, l)
			}
		}
	}
	return grid, nil
}

// namedDSprites names the factors of a grid of colour, shape, scale, orientation, x and y. It drops the colour, which
// has one level. Without values, the levels are evenly spaced, as published.
func namedDSprites(grid factor.Grid, values []float64) ([]factor.Factor, error) {
	levelValues := [][]float64{nil, nil, evenlySpaced(grid[2].Size, 0.5, 1), evenlySpaced(grid[3].Size, 0, 2*math.Pi),
		evenlySpaced(grid[4].Size, 0, 1), evenlySpaced(grid[5].Size, 0, 1)}
	if values != nil {
		for i, levels := range grid.All() {
			for k := 2; k < len(grid); k++ {
				v, row := values[6*i+k], levelValues[k]
				if i == 0 || levels[k] > 0 && i == levels[k]*grid[k+1:].Len() { // first image of the level
					row[levels[k]] = v
				}
				if v != row[levels[k]] || math.IsNaN(v) || math.IsInf(v, 0) {
					return nil, fmt.Errorf("latents_values of image %d has %v in column %d; want %v, as for others of its class",
						i, v, k, row[levels[k]])
				}
			}
		}
	}
	factors := []factor.Factor{
		{Name: "shape", Kind: factor.Categorical},
		{Name: "scale", Kind: factor.Ordinal, Values: levelValues[2]},
		{Name: "orientation", Kind: factor.Circular, Values: levelValues[3], Angles: levelValues[3]},
		{Name: "x", Kind: factor.Ordinal, Values: levelValues[4]},
		{Name: "y", Kind: factor.Ordinal, Values: levelValues[5]},
	}
	for i := range factors {
		factors[i].Size = grid[1+i].Size
	}
	return factors, nil
}

// evenlySpaced returns n evenly spaced numbers including both ends. If n is 1, it returns the first end.
func evenlySpaced(n int, from, to float64) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = from
		if i > 0 {
			list[i] += (to - from) * float64(i) / float64(n-1)
		}
	}
	return list
}

// spriteVariant is a variant of dSprites with three channels.
type spriteVariant struct {
	*stored.Set
	variant string
	seed    uint64
	picture *background // for the variant scream
}

// background is a picture with three channels.
type background struct {
	h, w   int
	pixels []uint8
}

func (v *spriteVariant) ImageShape() (h, w, c int) { return v.Shape[0], v.Shape[1], 3 }

// Image draws an image of the variant. The random numbers only depend on the seed and the number of the image.
func (v *spriteVariant) Image(i int, dst []float32) {
	size := v.Shape[0] * v.Shape[1]
	shape, dst := v.Bytes[i*size:(i+1)*size], dst[:3*size]
	p := rng.Numbered(v.seed, uint64(i))
	switch v.variant {
	case plainSprites, colourSprites:
		colour := [3]float32{1, 1, 1}
		for k := 0; v.variant == colourSprites && k < len(colour); k++ {
			colour[k] = 0.5 + float32(0.5*unit(&p))
		}
		for pixel, b := range shape {
			x := float32(b) / 255
			dst[3*pixel], dst[3*pixel+1], dst[3*pixel+2] = x*colour[0], x*colour[1], x*colour[2]
		}
	case noisySprites:
		for pixel, b := range shape {
			x, r, g := float32(b)/255, p.Uint64(), p.Uint64() // two draws contain three numbers of 24 bits
			rgb := dst[3*pixel:][:3]
			rgb[0], rgb[1], rgb[2] = min(x+fraction(r), 1), min(x+fraction(g), 1), min(x+fraction(r<<24), 1)
		}
	case screamSprites:
		v.scream(shape, dst, &p)
	}
}

// scream draws a crop of the picture, averaged with a colour; the shape inverts it.
func (v *spriteVariant) scream(shape []uint8, dst []float32, p *rand.PCG) {
	b, h, w := v.picture, v.Shape[0], v.Shape[1]
	top, left := randomBelow(p, b.h-h+1), randomBelow(p, b.w-w+1)
	colour := [3]float32{unit(p), unit(p), unit(p)}
	for y := range h {
		row := b.pixels[3*((top+y)*b.w+left):][:3*w]
		for x, c := range row {
			mixed := (float32(c)/255 + colour[x%3]) / 2
			if shape[y*w+x/3] != 0 {
				mixed = 1 - mixed
			}
			dst[3*y*w+x] = mixed
		}
	}
}

// fraction returns the upper 24 bits of a number as a fraction in [0, 1).
func fraction(bits uint64) float32 { return float32(bits>>40) / (1 << 24) }

func unit(p *rand.PCG) float32 { return fraction(p.Uint64()) }

// randomBelow returns a random number from 0 to n-1, for small n.
func randomBelow(p *rand.PCG, n int) int { return int(p.Uint64() >> 32 * uint64(n) >> 32) }

// The picture for the variant scream is reduced to fit these sides, as in public code.
const (
	screamHeight = 274
	screamWidth  = 350
)

// openScream reads the picture for the variant scream, for images of the given shape.
func (d *DSprites) openScream(ctx context.Context, shape [3]int) (*background, error) {
	path := d.Scream
	if path == "" {
		dir, f := cache.Downloads("dsprites"), d.screamSource()
		path = filepath.Join(dir, f.Name)
		if _, err := source.Verify(ctx, dir, f); errors.Is(err, source.ErrAbsent) {
			absent := &datasets.NotFetchedError{Set: "dsprites variant=scream", Files: []source.File{f}, Dir: dir}
			return nil, fmt.Errorf("%w; or scream=FILE, a picture of your own", absent)
		} else if err != nil {
			return nil, err
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%w; want a picture file", err)
	}
	if err := memory.Check("the picture "+path, float64(info.Size())); err != nil {
		return nil, err
	}
	data, err := disk.ReadFile(path, info.Size())
	if err != nil {
		return nil, err
	}
	var decoder picture.Decoder
	pixels, size, err := decoder.Decode(data, 3)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	b := &background{}
	b.h, b.w = resample.ThumbnailSize(size.H, size.W, screamHeight, screamWidth)
	if b.h < shape[0] || b.w < shape[1] {
		return nil, fmt.Errorf("%s is %d x %d pixels when it fits %d x %d; want at least %d x %d",
			path, b.h, b.w, screamHeight, screamWidth, shape[0], shape[1])
	}
	b.pixels = make([]uint8, 3*b.h*b.w)
	var r resample.Resizer
	r.Thumbnail(b.pixels, pixels, size.H, size.W, screamHeight, screamWidth, 3, resample.Bicubic)
	return b, nil
}
