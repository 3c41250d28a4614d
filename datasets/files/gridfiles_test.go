package files

import (
	"archive/zip"
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/internal/stored"
	"github.com/unravel-ml/unravel/internal/arrays"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
)

// dspritesArrays are the array names in most files of testdata/grid.
var dspritesArrays = GridArrays{Images: "imgs", Factors: "latents_classes"}

// checkGrid compares a data set with the arrays of testdata/grid/make.py.
func checkGrid(t *testing.T, name string, d datasets.Dataset, tolerance float64) {
	t.Helper()
	if h, w, c := d.ImageShape(); h != 9 || w != 8 || c != 3 || d.Len() != 6 {
		t.Errorf("%s: %d images of %d x %d x %d", name, d.Len(), h, w, c)
		return
	}
	pixels := make([]float32, 9*8*3)
	for i := range d.Len() {
		d.Image(i, pixels)
		for p, v := range pixels {
			if want := float64(7*(i*len(pixels)+p)%256) / 255; !(math.Abs(float64(v)-want) <= tolerance) {
				t.Errorf("%s: image %d, number %d is %v; want %v", name, i, p, v, want)
				return
			}
		}
	}
	if len(d.Factors()) == 1 && d.Factors()[0].Name == "unknown" {
		return
	}
	levels := make([]int, 2)
	for i := range d.Len() {
		if d.FactorsAt(i, levels); !slices.Equal(levels, []int{i / 3, i % 3}) {
			t.Errorf("%s: image %d has levels %v", name, i, levels)
		}
	}
}

// gridFiles returns settings for the files of testdata/grid, with the tolerance of pixels.
func gridFiles() map[string]struct {
	set       GridFolder
	tolerance float64
} {
	type entry = struct {
		set       GridFolder
		tolerance float64
	}
	groups := GridArrays{Images: "imgs", Factors: "latents/classes"}
	const exact = 3e-8 // float32 rounding
	return map[string]entry{
		"packed.npz": {GridFolder{Arrays: dspritesArrays}, exact}, "stored.npz": {GridFolder{Arrays: dspritesArrays}, exact},
		"first.npz": {GridFolder{Arrays: dspritesArrays, Channels: "first"}, exact}, "alone.npy": {GridFolder{}, exact},
		"words.npz": {GridFolder{Arrays: dspritesArrays}, exact}, "halves.npz": {GridFolder{Arrays: dspritesArrays}, 3e-4},
		"floats.npz": {GridFolder{Arrays: dspritesArrays, Scale: 255}, exact}, "long.npz": {GridFolder{Arrays: dspritesArrays, Scale: 255, Round: true}, exact},
		"arrays.h5": {GridFolder{Arrays: groups}, exact}, "arrays.hdf5": {GridFolder{Arrays: groups, Channels: "first"}, exact},
		"rows.mat": {GridFolder{Arrays: dspritesArrays, Channels: "last"}, exact}, "last.mat": {GridFolder{Arrays: dspritesArrays, Channels: "last"}, exact},
		"matlab73.mat": {GridFolder{Arrays: dspritesArrays, Rows: "last"}, exact},
	}
}

// Files of every format give the same images: in memory, mapped, and in the cache, which is made once.
func TestGridFiles(t *testing.T) {
	t.Setenv(cache.RootVariable, must.MappedDir(t))
	for file, entry := range gridFiles() {
		entry.set.Path = filepath.Join("testdata/grid", file)
		d, err := entry.set.Build(0)
		if err != nil {
			t.Error(err)
			continue
		}
		checkGrid(t, file, d, entry.tolerance)
		if err := entry.set.Prepare(t.Context(), func(what string, _, _ int64) { t.Errorf("%s: %s, though it is small", file, what) }); err != nil {
			t.Error(err)
		}
		if base, _, _ := strings.Cut(file, "."); d.Name() != base {
			t.Errorf("%s: the data set is called %s", file, d.Name())
		}
		if named := d.Factors()[0].Name; (named == "unknown") != (file == "alone.npy") {
			t.Errorf("%s: factor %s", file, named)
		}
		for range 2 {
			set := entry.set
			set.Round = true
			large, err := set.read(t.Context(), 0)
			if err != nil {
				t.Error(err)
				continue
			}
			checkGrid(t, file+" on disk", large, max(entry.tolerance, 2e-3))
			if large.Mapped == "" {
				t.Errorf("%s: large images are in memory", file)
			}
		}
	}
	sets, err := filepath.Glob(filepath.Join(cache.Root(), "sets", "grid-*", "images.npy"))
	if err != nil || len(sets) != len(gridFiles())-1 { // alone.npy is mapped directly
		t.Errorf("the cache has %v, %v", sets, err)
	}
}

// A replaced file of arrays of equal size and time has new pixels. A copy shares the cached set.
func TestGridReplaced(t *testing.T) {
	t.Setenv(cache.RootVariable, must.MappedDir(t))
	set := GridFolder{Path: filepath.Join(t.TempDir(), "images.npz"), Arrays: GridArrays{Factors: noFactors}}
	fixed := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, level := range []uint8{40, 200, 40} {
		writeNPZ(t, set.Path, "images.npy", []int{2, 3, 3}, bytes.Repeat([]uint8{level}, 18))
		must.OK(t, os.Chtimes(set.Path, fixed, fixed))
		d := must.Get(set.read(t.Context(), 0))(t)
		pixels := make([]float32, 9)
		if d.Image(0, pixels); d.Mapped == "" || pixels[0] != float32(level)/255 {
			t.Errorf("pixel %v; want %d", pixels[0]*255, level)
		}
	}
	must.Equal(t, len(must.Get(cache.List())(t)), 2, "sets")
	other := filepath.Join(t.TempDir(), "other.npz")
	for _, path := range []string{set.Path, other} {
		writeNPZ(t, path, "images.npy", []int{2, 3, 3}, bytes.Repeat([]uint8{uint8(len(path))}, 18))
	}
	rename := sync.OnceValue(func() error { return os.Rename(other, set.Path) })
	ctx := cache.WithProgress(t.Context(), func(string, int64, int64) { _ = rename() })
	_, err := set.read(ctx, 0)
	if err := rename(); err != nil {
		t.Skip(err) // Windows keeps open files
	}
	must.Error(t, err, "images.npz: the file changes while it is read; start again", "a file that changes")
}

// writeNPZ writes a file of one array, uncompressed.
func writeNPZ[T npy.Element](t *testing.T, path, name string, shape []int, data []T) {
	t.Helper()
	f := must.Get(os.Create(path))(t)
	z := zip.NewWriter(f)
	w, err := z.CreateHeader(&zip.FileHeader{Name: name})
	if err == nil {
		err = npy.Write(w, shape, data)
	}
	must.OK(t, errors.Join(err, z.Close(), f.Close()))
}

// Errors ask for facts that a file does not state.
func TestGridAsks(t *testing.T) {
	for _, test := range []struct {
		file string
		set  GridFolder
		want string
	}{
		{"packed.npz", GridFolder{}, `no array "images"; there are imgs, latents_classes, metadata`},
		{"packed.npz", GridFolder{}, "such as arrays: {images: imgs}"},
		{"packed.npz", GridFolder{Arrays: GridArrays{Images: "imgs"}}, "packed.npz: latents_classes ([6 2], int64) may be factors; want arrays: {factors: latents_classes}, or arrays: {factors: none}"},
		{"packed.npz", GridFolder{Arrays: GridArrays{Images: "metadata"}}, "an array of Python objects"},
		{"packed.npz", GridFolder{Arrays: GridArrays{Images: "imgs", Factors: "metadata"}}, "an array of Python objects"},
		{"first.npz", GridFolder{Arrays: dspritesArrays}, "first.npz: imgs has shape [6 3 9 8], which may be images of 3 or of 8 channels; want channels: first or channels: last"},
		{"floats.npz", GridFolder{Arrays: dspritesArrays}, "want 0 to 1, scale: 255 if that is white, or real: true"},
		{"long.npz", GridFolder{Arrays: dspritesArrays}, "holds int64; want uint8, uint16, bool, floats in [0, 1], or the value of white, such as scale: 255"},
		{"arrays.h5", GridFolder{Arrays: GridArrays{Images: "about"}}, "about ([]): holds variable-length strings"},
		{"rows.mat", GridFolder{Arrays: GridArrays{Images: "about"}}, "about ([1 4]) is text"},
		{"matlab73.mat", GridFolder{Arrays: dspritesArrays, Rows: "first"}, "latents_classes has shape [6 2]; want 9 x K"},
	} {
		test.set.Path = filepath.Join("testdata/grid", test.file)
		must.ErrorOf(test.set.Build(0))(t, test.want, test.file)
	}
}

// The shape and the factors determine the axes if only one order is possible.
func TestGridAxes(t *testing.T) {
	for _, test := range []struct {
		path    string
		shape   []int
		factors int
		want    []int // rows, height, width, channels; nil: an error asks for the axes
	}{
		{"x.npz", []int{5, 1, 28, 28}, 0, []int{5, 28, 28, 1}}, {"x.npz", []int{5, 3, 64, 64}, 0, []int{5, 64, 64, 3}}, {"x.npz", []int{5, 64, 64, 3}, 0, []int{5, 64, 64, 3}},
		{"x.npz", []int{5, 3, 64, 9}, 0, nil}, {"x.npz", []int{64, 64, 5}, 5, []int{5, 64, 64, 1}}, {"x.npz", []int{64, 64, 64}, 64, []int{64, 64, 64, 1}},
		{"x.mat", []int{64, 64, 64}, 64, nil}, {"x.mat", []int{64, 64, 5}, 0, []int{5, 64, 64, 1}}, {"x.mat", []int{5, 64, 64}, 0, []int{5, 64, 64, 1}}, {"x.mat", []int{5, 6, 7}, 0, nil},
		{"x.mat", []int{64, 64, 3, 50}, 0, []int{50, 64, 64, 3}}, {"x.mat", []int{50, 64, 64, 3}, 0, []int{50, 64, 64, 3}}, {"x.mat", []int{50, 3, 64, 64}, 0, []int{50, 64, 64, 3}},
		{"x.mat", []int{64, 3, 3, 50}, 0, nil}, {"x.mat", []int{64, 64, 7, 50}, 50, []int{50, 64, 64, 7}}, {"x.MAT", []int{50, 9}, 0, []int{50, 1, 9, 1}},
	} {
		d := &stored.Set{}
		s := &gridSource{GridFolder: &GridFolder{Path: test.path}, images: &arrays.Array{Shape: test.shape}}
		err := s.findAxes(d, test.factors)
		if got := []int{d.Count, d.Shape[0], d.Shape[1], d.Shape[2]}; (err == nil) != (test.want != nil) ||
			err == nil && !slices.Equal(got, test.want) {
			t.Errorf("%s %v, %d rows of factors: %v, %v; want %v", test.path, test.shape, test.factors, got, err, test.want)
		}
	}
}

// NaN is an unknown level.
func TestGridUnknown(t *testing.T) {
	dir := t.TempDir()
	nan := math.NaN()
	for name, write := range map[string]func(f *os.File) error{
		"images": func(f *os.File) error { return npy.Write(f, []int{4, 1, 2}, []uint8{0, 1, 2, 3, 4, 5, 6, 7}) },
		"factors": func(f *os.File) error {
			return npy.Write(f, []int{4, 2}, []float64{0, 5, nan, 7, 1, nan, 0, nan})
		},
		"sizes": func(f *os.File) error { return npy.Write(f, []int{2}, []int32{3, 2}) },
	} {
		f := must.Get(os.Create(filepath.Join(dir, name+".npy")))(t)
		must.OK(t, write(f))
		must.OK(t, f.Close())
	}
	d, err := (&GridFolder{Path: dir, Kinds: factor.ColumnKinds{List: []string{"ordinal", "circular"}}}).Build(0)
	must.OK(t, err)
	if got, want := datasets.Levels(d), []int{0, 0, datasets.Unknown, 1, 1, datasets.Unknown, 0,
		datasets.Unknown}; !slices.Equal(got, want) || !slices.Equal(datasets.Missing(d), []int{1, 2}) {
		t.Errorf("levels %v, missing %v; want %v", got, datasets.Missing(d), want)
	}
}
