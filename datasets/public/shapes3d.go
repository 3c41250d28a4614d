package public

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/source"
	"github.com/unravel-ml/unravel/internal/arrays"
	"github.com/unravel-ml/unravel/internal/dims"
)

// Shapes3D is 3D Shapes (Burgess and Kim 2018) as published: 480,000 images of an object in the corner of a room, with
// 64 x 64 pixels and three channels. Its factors are the factors of its twin, drawn.Room, in the same order.
type Shapes3D struct{}

const shapes3DFile = "3dshapes.h5"

func (*Shapes3D) Origin() datasets.Origin {
	return datasets.Origin{
		Files: []source.File{{
			Name: shapes3DFile, URL: "https://storage.googleapis.com/3d-shapes/" + shapes3DFile, Size: 267573662,
			SHA256: "0a0f6ed98baff276a50f3a081a7434d788da63cb135a98189b2a5b5769be1785", MD5: "099a2078d58cec4daad0702c55d06868",
		}},
		Licence:  "Apache 2.0",
		Citation: "Chris Burgess and Hyunjik Kim: 3D Shapes Dataset. https://github.com/deepmind/3dshapes-dataset, 2018",
		Bytes:    480000 * (64*64*3 + 6*4), Version: 1,
	}
}

func (s *Shapes3D) Prepare(ctx context.Context, progress datasets.Progress) error {
	return prepare(ctx, progress, s.build)
}

func (s *Shapes3D) Build(uint64) (datasets.Dataset, error) { return s.build(context.Background()) }

func (s *Shapes3D) build(ctx context.Context) (datasets.Dataset, error) {
	return buildPublic(ctx, "shapes3d", "", s.Origin(), convertShapes3D)
}

// convertShapes3D reads images and labels from the HDF5 file.
func convertShapes3D(ctx context.Context, dir string, w *cache.Writer) error {
	f, err := arrays.Open(filepath.Join(dir, shapes3DFile))
	if err != nil {
		return err
	}
	defer f.Close() // nothing was written
	images, err := openImages(f, "images", 64, 64, 3)
	if err != nil {
		return err
	}
	labels, err := f.Open("labels")
	if err != nil {
		return err
	}
	n := images.Shape[0]
	if s := labels.Shape; len(s) != 2 || s[0] != n || s[1] != 6 {
		return fmt.Errorf("%v, and %v; want a row of 6 labels for each image", labels, images)
	}
	values, err := arrays.ReadAll[float64](labels)
	if err != nil {
		return err
	}
	factors := []factor.Factor{
		{Name: "floor_hue", Kind: factor.Circular}, {Name: "wall_hue", Kind: factor.Circular},
		{Name: "object_hue", Kind: factor.Circular},
		{Name: "scale", Kind: factor.Ordinal}, {Name: "shape", Kind: factor.Categorical},
		{Name: "orientation", Kind: factor.Ordinal},
	}
	if err := gridOfValues(factors, values); err != nil {
		return fmt.Errorf("%v: %w", labels, err)
	}
	for k := range factors {
		if factors[k].Kind == factor.Categorical {
			factors[k].Values = nil // the values are numbers of shapes, not quantities
		}
	}
	if err := w.Begin(n, 64, 64, 3, factors); err != nil {
		return err
	}
	return copyImages(ctx, images, w, nil)
}

// gridOfValues sets the sizes and values of factors to the distinct values of the columns of a table, in ascending
// order. It returns an error if the rows are not the full grid of these values with the last column fastest.
func gridOfValues(factors []factor.Factor, table []float64) error {
	k := len(factors)
	n := len(table) / k
	sizes := make([]int, k)
	for j := range factors {
		seen := map[float64]bool{}
		for i := range n {
			v := table[i*k+j]
			if v-v != 0 || !seen[v] && len(seen) == factor.MaxSize {
				return fmt.Errorf("row %d, column %d is %v; want one of at most %d finite numbers", i, j, v, factor.MaxSize)
			}
			seen[v] = true
		}
		for v := range seen {
			factors[j].Values = append(factors[j].Values, v)
		}
		slices.Sort(factors[j].Values)
		factors[j].Size, sizes[j] = len(seen), len(seen)
	}
	if total, err := dims.Count(sizes, 1); err != nil || total != n {
		return fmt.Errorf("%d rows, and %v distinct values by column; want the full grid of them", n, sizes)
	}
	for i, levels := range factor.Grid(factors).All() {
		for j, l := range levels {
			if want := factors[j].Values[l]; table[i*k+j] != want {
				return fmt.Errorf("row %d, column %d is %v; want %v, the grid with the last column fastest",
					i, j, table[i*k+j], want)
			}
		}
	}
	return nil
}
