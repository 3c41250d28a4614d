package public

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/internal/datatest"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// checkGolden compares a data set with another program's arrays.
func checkGolden(t *testing.T, name string, d datasets.Dataset, want datatest.Golden) {
	t.Helper()
	h, w, c := d.ImageShape()
	must.EqualSlices(t, []int{d.Len(), h, w, c}, want.Shape, name, "shape")
	sizes := make([]int, len(d.Factors()))
	for k, f := range d.Factors() {
		sizes[k] = f.Size
	}
	must.EqualSlices(t, sizes, want.Sizes, name, "sizes")
	must.Equal(t, datatest.PixelHash(d, 1), want.Hash, name, "hash of the pixels")
	levels := make([]int, len(sizes))
	for i, at := range factor.Grid(d.Factors()).All() {
		if d.FactorsAt(i, levels); !slices.Equal(levels, at) {
			t.Errorf("%s: image %d has levels %v; want %v", name, i, levels, at)
			return
		}
	}
}

// 3D Shapes of smaller grids has the pixels of h5py, and the factors of the twin.
func TestShapes3D(t *testing.T) {
	long.NotShort(t)
	files, _ := datatest.ReadGolden(t, "3dshapes")
	files["broken/lzf.h5"] = files["3dshapes_fletcher.h5"] // the same images
	twin := must.Get((&drawn.Room{Size: 16, Hues: 10, Scales: 8, Orientations: 15}).Build(0))(t)
	for _, file := range []string{"3dshapes.h5", "3dshapes_extensible.h5", "3dshapes_btree2.h5", "3dshapes_fletcher.h5",
		"3dshapes_latest_single.h5", "broken/lzf.h5"} {
		publicFiles(t, "shapes3d", map[string]string{shapes3DFile: filepath.Join("3dshapes", file)})
		d, err := (&Shapes3D{}).Build(0)
		if err != nil {
			t.Error(err)
			continue
		}
		checkGolden(t, file, d, files[file])
		for k, f := range twin.Factors() {
			g := d.Factors()[k]
			if g.Name != f.Name || g.Kind != f.Kind || (g.Values == nil) != (f.Values == nil) {
				t.Errorf("%s: factor %v; want that of the twin, %v", file, g, f)
			}
			for l, v := range g.Values {
				if diff := v - f.Values[l]; !(diff <= 1e-9) || diff < -1e-9 {
					t.Errorf("%s: %s is %v at level %d; want that of the twin, %v", file, g.Name, v, l, f.Values[l])
				}
			}
		}
	}
}

// Errors for broken files give the reason, and leave no files.
func TestShapes3DBroken(t *testing.T) {
	half := filepath.Join(t.TempDir(), "half.h5")
	whole := must.Read(t, "testdata/3dshapes/3dshapes.h5")
	must.Write(t, half, whole[:len(whole)/2])
	relative, err := filepath.Rel(filepath.Join(must.Get(os.Getwd())(t), "testdata"), half)
	if err != nil {
		t.Skip(err) // folders on two drives of Windows
	}
	for file, words := range map[string]string{
		relative:                       "cut off",
		"3dshapes/broken/deflate.h5":   "images ([480 64 64 3], uint8): rows 0 to 480: chunk 0: deflate: ",
		"3dshapes/broken/dims.h5":      "images ([16 12288], uint8); want uint8 of shape [N 64 64 3]",
		"3dshapes/broken/rows.h5":      "labels ([15 6], float64), and ",
		"3dshapes/broken/float.h5":     "images ([16 64 64 3], float32); want uint8",
		"3dshapes/broken/noimages.h5":  `no array "images"; there are labels`,
		"3dshapes/broken/grid.h5":      "labels ([15 6], float64): 15 rows, and [2 2 2 1 2 1] distinct values by column; want the full grid of them",
		"3dshapes/broken/strings.h5":   "images ([16]): holds variable-length strings",
		"3dshapes/broken/magic.h5":     "not an HDF5 file",
		"3dshapes/broken/npz_named.h5": "not a .npz file",
	} {
		publicFiles(t, "shapes3d", map[string]string{shapes3DFile: file})
		if _, err := (&Shapes3D{}).Build(0); err == nil || !strings.Contains(err.Error(), words) || !strings.Contains(err.Error(), shapes3DFile) {
			t.Errorf("%s: %v; want %q and the name of the file", file, err, words)
		}
		if sets, err := filepath.Glob(filepath.Join(cache.Root(), "sets", "*3d*", "*")); len(sets) > 0 || err != nil {
			t.Errorf("%s: %v are left, %v", file, sets, err)
		}
	}
}
