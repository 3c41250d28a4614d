package datasets

import (
	"context"
	"fmt"
	"math"
	"path/filepath"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/fetch"
	"github.com/unravel-ml/unravel/factor"
	"github.com/unravel-ml/unravel/internal/dims"
	"github.com/unravel-ml/unravel/internal/npy"
)

// DSprites is dSprites (Matthey et al. 2017), 737,280 images of a white shape on black, 64 x 64 pixels, as published. Its factors are
// those of [Sprites], in the same order. Orientations are evenly spread from 0 to 2 pi with both ends: the last angle is the first
// one again.
type DSprites struct {
	Channels int `yaml:"channels" doc:"1, or 3 equal channels for models of colour images"`
}

const (
	dspritesFile = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz"
	dspritesURL  = "https://github.com/deepmind/dsprites-dataset/raw/master/"
)

// Origin says where dSprites comes from.
func (*DSprites) Origin() Origin {
	return Origin{
		Files: []fetch.File{{Name: dspritesFile, URL: dspritesURL + dspritesFile}},

		Licence: "Apache 2.0",
		Citation: "Loic Matthey, Irina Higgins, Demis Hassabis and Alexander Lerchner: dSprites: Disentanglement testing Sprites dataset. " +
			"https://github.com/deepmind/dsprites-dataset, 2017",
		Bytes: 737280 * (64*64 + 5*4), Version: 1,
	}
}

// Validate checks the settings.
func (d *DSprites) Validate() error {
	if d.Channels < 0 || d.Channels > 3 || d.Channels == 2 { // 0, in Go code that says nothing, is 1
		return config.Invalid("channels", "%d is out of range; want 1 or 3", d.Channels)
	}
	return nil
}

// Prepare converts the files.
func (d *DSprites) Prepare(ctx context.Context, progress Progress) error {
	return prepare(ctx, progress, d.build)
}

// Build opens the converted set.
func (d *DSprites) Build(uint64) (Dataset, error) { return d.build(context.Background()) }

func (d *DSprites) build(ctx context.Context) (Dataset, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	return buildPublic(ctx, "dsprites", "", d.Origin(), convertDSprites)
}

// convertDSprites reads the npz file.
func convertDSprites(ctx context.Context, dir string, w *cache.Writer) error {
	z, err := npy.OpenNPZ(filepath.Join(dir, dspritesFile))
	if err != nil {
		return err
	}
	defer z.Close() // nothing was written
	r, err := z.Open("imgs")
	if err != nil {
		return err
	}
	defer r.Close()
	if s := r.Shape; len(s) != 3 || s[0] < 1 || s[1] < 1 || s[1] != s[2] || r.DType != "uint8" {
		return fmt.Errorf("%s: imgs holds %s of shape %v; want uint8 of shape [N H H]", dspritesFile, r.DType, s)
	}
	n := r.Shape[0]
	factors, err := dspritesFactors(z, n)
	if err != nil {
		return fmt.Errorf("%s: %w", dspritesFile, err)
	}
	h := r.Shape[1]
	if err := w.Begin(n, h, h, 1, factors); err != nil {
		return err
	}
	const block = 256
	pixels := make([]uint8, block*h*h)
	for row := 0; row < n; row += block {
		part := pixels[:min(block, n-row)*h*h]
		if err := npy.Read(r, part); err != nil {
			return err
		}
		for i, v := range part {
			if v > 1 {
				return fmt.Errorf("%s: imgs: image %d has the value %d; want 0 or 1", dspritesFile, row+i/(h*h), v)
			}
			part[i] = 255 * v
		}
		if err := w.WriteAt(row, part); err != nil {
			return err
		}
	}
	return nil
}

// dspritesFactors reads the factors of n images, whose sizes are those of the grid of classes; the colour, of one level, is left out.
func dspritesFactors(z *npy.NPZ, n int) ([]factor.Factor, error) {
	r, err := z.Open("latents_classes")
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if s := r.Shape; len(s) != 2 || s[0] != n || s[1] != 6 {
		return nil, fmt.Errorf("latents_classes has shape %v, and imgs has %d images; want [%d 6]", s, n, n)
	}
	classes, err := npy.ReadAll[int32](r)
	if err != nil {
		return nil, err
	}
	grid := make(factor.Grid, 6)
	for i, c := range classes.Data {
		if c < 0 || c > 1<<20 {
			return nil, fmt.Errorf("latents_classes: row %d, column %d is %d; want levels from 0", i/6, i%6, c)
		}
		grid[i%6].Size = max(grid[i%6].Size, int(c)+1)
	}
	sizes := make([]int, 6)
	for k, f := range grid {
		sizes[k] = f.Size
	}
	if total, err := dims.Count(sizes, 1); err != nil || total != n || sizes[0] != 1 {
		return nil, fmt.Errorf("latents_classes has %d rows, and up to %v classes; want one colour, and the full grid", n, sizes)
	}
	for i, at := range grid.All() {
		for k, l := range at {
			if got := classes.Data[6*i+k]; int(got) != l {
				return nil, fmt.Errorf("latents_classes: row %d, column %d is %d; want %d, the grid with the last column fastest", i, k, got, l)
			}
		}
	}
	return namedDSprites(grid), nil
}

// namedDSprites names the factors of a grid of colour, shape, scale, orientation, x and y.
func namedDSprites(grid factor.Grid) []factor.Factor {
	factors := []factor.Factor{
		{Name: "shape", Kind: factor.Categorical},
		{Name: "scale", Kind: factor.Ordinal, Values: spread(grid[2].Size, 0.5, 1)},
		{Name: "orientation", Kind: factor.Circular, Values: spread(grid[3].Size, 0, 2*math.Pi), Angles: spread(grid[3].Size, 0, 2*math.Pi)},
		{Name: "x", Kind: factor.Ordinal, Values: spread(grid[4].Size, 0, 1)},
		{Name: "y", Kind: factor.Ordinal, Values: spread(grid[5].Size, 0, 1)},
	}
	for i := range factors {
		factors[i].Size = grid[1+i].Size
	}
	return factors
}

// spread returns n evenly spread numbers with both ends; of one it is the first.
func spread(n int, from, to float64) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = from
		if i > 0 {
			list[i] += (to - from) * float64(i) / float64(n-1)
		}
	}
	return list
}
