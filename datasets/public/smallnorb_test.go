package public

import (
	"bytes"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/internal/datatest"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// norbFiles returns the files of SmallNORB's sample by name, with replacements.
func norbFiles(instead map[string]string) map[string]string {
	files := map[string]string{}
	for _, p := range norbParts {
		for _, kind := range []string{"dat", "cat", "info"} {
			name := p.prefix + kind + ".mat.gz"
			files[name] = filepath.Join("smallnorb", name)
		}
	}
	maps.Copy(files, instead)
	return files
}

func TestSmallNORB(t *testing.T) {
	files, _ := datatest.ReadGolden(t, "smallnorb")
	want := files["training_then_testing_64_lanczos"]
	publicFiles(t, "smallnorb", norbFiles(nil))
	d := must.Get((&SmallNORB{Part: "all", Instance: true, Size: datasets.PictureSize{64, 64}}).Build(0))(t)
	checkRows(t, d, want)
	native := must.Get((&SmallNORB{Part: "training", Instance: true}).Build(0))(t)
	if f := d.Factors(); !slices.Equal(f[2].Values, []float64{30, 35, 40, 45, 50, 55, 60, 65, 70}) ||
		f[3].Values[1] != 20 || f[3].Values[17] != 340 {
		t.Errorf("elevations and azimuths are %v, %v degrees", f[2].Values, f[3].Values)
	}
	if h, _, _ := native.ImageShape(); h != norbSide || native.Len() != 120 {
		t.Errorf("training: %d images of side %d; want 120 of %d", native.Len(), h, norbSide)
	}
	testing := must.Get((&SmallNORB{Part: "testing", Size: datasets.PictureSize{64, 64}}).Build(0))(t)
	if got := factorNames(testing); !slices.Equal(got, []string{"category", "elevation", "azimuth", "lighting"}) || testing.Len() != 120 {
		t.Errorf("%d images of %v", testing.Len(), got)
	}
	a, b := make([]float32, 64*64), make([]float32, 64*64)
	d.Image(121, a)
	testing.Image(1, b)
	levels, part := make([]int, 5), make([]int, 4)
	d.FactorsAt(121, levels)
	testing.FactorsAt(1, part)
	if !slices.Equal(a, b) || !slices.Equal(part, slices.Delete(levels, 1, 2)) {
		t.Error("image 1 of testing is not image 121 of all")
	}
}

func factorNames(d datasets.Dataset) []string {
	var names []string
	for _, f := range d.Factors() {
		names = append(names, f.Name)
	}
	return names
}

// checkRows compares names, sizes, all pixels and some levels.
func checkRows(t *testing.T, d datasets.Dataset, want datatest.Golden) {
	t.Helper()
	h, w, c := d.ImageShape()
	must.EqualSlices(t, []int{d.Len(), h, w, c}, want.Shape, "shape")
	must.Equal(t, datatest.PixelHash(d, 1), want.Hash, "pixels have the hash")
	checkLevels(t, d, want)
}

func checkLevels(t *testing.T, d datasets.Dataset, want datatest.Golden) {
	t.Helper()
	must.EqualSlices(t, factorNames(d), want.Names, "factors")
	if err := factor.Validate(d.Factors()); err != nil {
		t.Error(err)
	}
	for k, f := range d.Factors() {
		must.Equal(t, f.Size, want.Sizes[k], f.Name, "levels")
	}
	levels := datasets.Levels(d)
	k := len(want.Sizes)
	for row, of := range want.Labels {
		i := rowOf(t, row)
		must.EqualSlices(t, levels[i*k:][:k], of, "row", i, "has levels")
	}
}

func TestSmallNORBBroken(t *testing.T) {
	long.NotShort(t)
	training := norbParts[0].prefix
	for file, words := range map[string]string{
		"magic-dat.mat.gz": "packed", "bigendian-dat.mat.gz": "byte order", "dims-dat.mat.gz": "dimensions [4 96 96]; want [120 2 96 96]",
		"huge-dat.mat.gz": "2147483647", "negative-cat.mat.gz": "-5", "short-dat.mat.gz": "dimensions [4 2 96 96]; want [120", "long-cat.mat.gz": "after the data",
		"info3-info.mat.gz": "3]", "category-cat.mat.gz": "category 5", "azimuth-info.mat.gz": "azimuth 7", "truncated-dat.mat.gz": "ends early",
	} {
		kind, _, _ := strings.Cut(file[strings.Index(file, "-")+1:], ".")
		name := training + kind + ".mat.gz"
		publicFiles(t, "smallnorb", norbFiles(map[string]string{name: filepath.Join("smallnorb", "broken", file)}))
		_, err := (&SmallNORB{Part: "all", Size: datasets.PictureSize{64, 64}}).Build(0)
		must.Error(t, err, words, file)
		must.Error(t, err, name, file)
	}
}

// TestNORBFile checks only the parser: truncated data, and a file without gzip.
func TestNORBFile(t *testing.T) {
	folder := filepath.Join("testdata", "smallnorb", "broken")
	n, err := openNORB(filepath.Join(folder, "short-dat.mat.gz"), norbBytes)
	must.OK(t, err)
	defer n.close()
	pair := make([]uint8, 2*norbSide*norbSide)
	for i := range 4 {
		if err = n.read(pair); (err == nil) != (i < 3) {
			t.Fatalf("pair %d: %v", i, err)
		}
	}
	if !strings.Contains(err.Error(), "ends early") {
		t.Error(err)
	}
	if dims, values, err := readNORBInts(filepath.Join(folder, "plain-cat.mat")); err != nil || len(dims) != 1 || len(values) != dims[0] {
		t.Errorf("plain: %v, %v, %v", dims, values, err)
	}
}

func FuzzNORB(f *testing.F) {
	f.Add([]byte("\x54\x4c\x3d\x1e\x01\x00\x00\x00\x03\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00"), true)
	f.Add([]byte("\x55\x4c\x3d\x1e\x04\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x60\x00\x00\x00\x60\x00\x00\x00"), false)
	f.Fuzz(func(t *testing.T, data []byte, ints bool) {
		magic := uint32(norbBytes)
		if ints {
			magic = norbInts
		}
		n, err := newNORB("a", bytes.NewReader(data), int64(len(data)), magic)
		if err != nil {
			return
		}
		total := n.width
		for _, d := range n.dims {
			total *= d
		}
		if int64(total) > n.packed {
			t.Errorf("dimensions %v of %d bytes", n.dims, len(data))
		}
		if ints {
			if values, err := n.all(); err == nil && len(values)*n.width != total {
				t.Errorf("%d values of %v", len(values), n.dims)
			}
		}
	})
}
