package datasets

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/dims"
	"github.com/unravel-ml/unravel/internal/hdf5"
	"github.com/unravel-ml/unravel/internal/npy"
)

// dspritesSizes are the sizes of the published grid: colour, shape, scale, orientation, x and y.
var dspritesSizes = []int{1, 3, 6, 40, 32, 32}

const dspritesImages = 737280

// convertDSprites reads the file that is there.
func convertDSprites(ctx context.Context, dir string, w *cache.Writer) error {
	name, convert := dspritesNPZ, convertDSpritesNPZ
	if _, err := os.Stat(filepath.Join(dir, dspritesNPZ)); errors.Is(err, fs.ErrNotExist) {
		name, convert = dspritesHDF5, convertDSpritesHDF5
	}
	return ofFile(name, convert(filepath.Join(dir, name), w))
}

// convertDSpritesNPZ reads the arrays imgs, latents_classes and, if it is there, latents_values.
func convertDSpritesNPZ(path string, w *cache.Writer) error {
	z, err := npy.OpenNPZ(path)
	if err != nil {
		return err
	}
	defer z.Close() // nothing was written
	r, err := z.Open("imgs")
	if err != nil {
		return err
	}
	defer r.Close()
	if err := checkSpriteImages(r.Shape, r.DType); err != nil {
		return err
	}
	n, side := r.Shape[0], r.Shape[1]
	classes, err := readLatents[int32](z, "latents_classes", n)
	if err != nil {
		return err
	}
	grid, err := gridOfClasses(classes)
	if err != nil {
		return err
	}
	var values []float64
	if slices.Contains(z.Names(), "latents_values") {
		if values, err = readLatents[float64](z, "latents_values", n); err != nil {
			return err
		}
	}
	factors, err := namedDSprites(grid, values)
	if err != nil {
		return err
	}
	return writeSprites(w, n, side, factors, 256, func(_ int, pixels []uint8) error { return npy.Read(r, pixels) })
}

// convertDSpritesHDF5 reads the array imgs, and of grids that are not the published one latents/classes.
func convertDSpritesHDF5(path string, w *cache.Writer) error {
	f, err := hdf5.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() // nothing was written
	a, err := f.Array("imgs")
	if err != nil {
		return err
	}
	if err := checkSpriteImages(a.Shape, a.Type.Name); err != nil {
		return err
	}
	n, side := a.Shape[0], a.Shape[1]
	grid := gridOf(dspritesSizes)
	if n != dspritesImages { // the published file is not known to have classes
		of, err := f.Array("latents/classes")
		if err != nil {
			return fmt.Errorf("imgs has %d images, not the %d of the published grid: %w", n, dspritesImages, err)
		}
		if !slices.Equal(of.Shape, []int{n, 6}) {
			return fmt.Errorf("latents/classes has shape %v, and imgs has %d images; want [%d 6]", of.Shape, n, n)
		}
		classes, err := hdf5.ReadAll[int32](of)
		if err != nil {
			return err
		}
		if grid, err = gridOfClasses(classes); err != nil {
			return err
		}
	}
	factors, err := namedDSprites(grid, nil)
	if err != nil {
		return err
	}
	r, err := a.NewReader()
	if err != nil {
		return err
	}
	return writeSprites(w, n, side, factors, max(1, r.Slab()), func(row int, pixels []uint8) error {
		return r.ReadRows(pixels, row, row+len(pixels)/(side*side))
	})
}

// checkSpriteImages checks the shape and type of imgs.
func checkSpriteImages(shape []int, dtype string) error {
	if len(shape) != 3 || slices.Min(shape) < 1 || shape[1] != shape[2] || dtype != "uint8" {
		return fmt.Errorf("imgs holds %s of shape %v; want uint8 of shape [N H H]", dtype, shape)
	}
	return nil
}

// writeSprites writes n images, of 0 and 1, block by block.
func writeSprites(w *cache.Writer, n, side int, factors []factor.Factor, block int, read func(row int, pixels []uint8) error) error {
	if err := w.Begin(n, side, side, 1, factors); err != nil {
		return err
	}
	size := side * side
	pixels := make([]uint8, min(block, n)*size)
	for row := 0; row < n; row += block {
		part := pixels[:min(block, n-row)*size]
		if err := read(row, part); err != nil {
			return err
		}
		for i, v := range part {
			if v > 1 {
				return fmt.Errorf("imgs: image %d has the value %d; want 0 or 1", row+i/size, v)
			}
			part[i] = 255 * v
		}
		if err := w.WriteAt(row, part); err != nil {
			return err
		}
	}
	return nil
}

// readLatents reads an array of a row of six numbers for each of n images.
func readLatents[T npy.Element](z *npy.NPZ, name string, n int) ([]T, error) {
	r, err := z.Open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if !slices.Equal(r.Shape, []int{n, 6}) {
		return nil, fmt.Errorf("%s has shape %v, and imgs has %d images; want [%d 6]", name, r.Shape, n, n)
	}
	a, err := npy.ReadAll[T](r)
	if err != nil {
		return nil, err
	}
	return a.Data, nil
}

func gridOf(sizes []int) factor.Grid {
	grid := make(factor.Grid, len(sizes))
	for k, size := range sizes {
		grid[k].Size = size
	}
	return grid
}

// gridOfClasses returns the full grid that rows of six classes are, in its order.
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
	for i, at := range grid.All() {
		for k, l := range at {
			if got := classes[6*i+k]; int(got) != l {
				return nil, fmt.Errorf("the classes of image %d have %d in column %d; want %d, as in the grid with the last column fastest", i, got, k, l)
			}
		}
	}
	return grid, nil
}

// namedDSprites names the factors of a grid of colour, shape, scale, orientation, x and y; the colour, which has one level, is left out.
// Without values they are evenly spread, as published.
func namedDSprites(grid factor.Grid, values []float64) ([]factor.Factor, error) {
	of := [][]float64{nil, nil, spread(grid[2].Size, 0.5, 1), spread(grid[3].Size, 0, 2*math.Pi), spread(grid[4].Size, 0, 1), spread(grid[5].Size, 0, 1)}
	if values != nil {
		for i, at := range grid.All() {
			for k := 2; k < len(grid); k++ {
				v, row := values[6*i+k], of[k]
				if i == 0 || at[k] > 0 && i == at[k]*grid[k+1:].Len() { // the first image of the level
					row[at[k]] = v
				}
				if v != row[at[k]] || math.IsNaN(v) || math.IsInf(v, 0) {
					return nil, fmt.Errorf("latents_values of image %d has %v in column %d; want %v, as for others of its class", i, v, k, row[at[k]])
				}
			}
		}
	}
	factors := []factor.Factor{
		{Name: "shape", Kind: factor.Categorical},
		{Name: "scale", Kind: factor.Ordinal, Values: of[2]},
		{Name: "orientation", Kind: factor.Circular, Values: of[3], Angles: of[3]},
		{Name: "x", Kind: factor.Ordinal, Values: of[4]},
		{Name: "y", Kind: factor.Ordinal, Values: of[5]},
	}
	for i := range factors {
		factors[i].Size = grid[1+i].Size
	}
	return factors, nil
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
