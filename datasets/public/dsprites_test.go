package public

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/datasets/internal/datatest"
	"github.com/unravel-ml/unravel/datasets/source"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
)

// dSprites of smaller grids has the pixels and levels of NumPy and h5py, and the factors of its twin.
func TestDSprites(t *testing.T) {
	files, _ := datatest.ReadGolden(t, "dsprites")
	for file, want := range files {
		name := dspritesNPZ
		if filepath.Ext(file) == ".hdf5" {
			name = dspritesHDF5
		}
		publicFiles(t, "dsprites", map[string]string{name: filepath.Join("dsprites", file)})
		d := must.Get((&DSprites{}).Build(0))(t)
		h, w, c := d.ImageShape()
		must.EqualSlices(t, []int{d.Len(), h, w, c}, want.Shape, file, "shape")
		must.Equal(t, datatest.PixelHash(d, 255), want.Hash, file, "hash")
		sizes, levels := want.Sizes[1:], make([]int, 5)
		for row, of := range want.Labels {
			i := must.Get(strconv.Atoi(row))(t)
			if d.FactorsAt(i, levels); !slices.Equal(levels, of[1:]) {
				t.Errorf("%s: levels of image %d are %v; want %v", file, i, levels, of[1:])
			}
			for k, v := range want.Values[row] {
				if k >= 2 && d.Factors()[k-1].Value(levels[k-1]) != v {
					t.Errorf("%s: image %d has the value %v of %s; want %v", file, i, d.Factors()[k-1].Value(levels[k-1]), d.Factors()[k-1].Name, v)
				}
			}
		}
		twin, err := (&drawn.Sprites{Size: 64, Scales: sizes[1], Orientations: sizes[2], Positions: sizes[3]}).Build(0)
		must.OK(t, err)
		for k, f := range twin.Factors() {
			if g := d.Factors()[k]; g.Name != f.Name || g.Kind != f.Kind || g.Size != f.Size {
				t.Errorf("%s: factor %d is %v; want that of the twin, %v", file, k, g, f)
			}
		}
	}
}

// smallSprites places the small npz file and builds a variant of the set.
func smallSprites(t *testing.T, d DSprites, seed uint64) datasets.Dataset {
	t.Helper()
	publicFiles(t, "dsprites", map[string]string{dspritesNPZ: filepath.Join("dsprites", dspritesNPZ)})
	return must.Get(d.Build(seed))(t)
}

// writePicture writes a PNG of random colours.
func writePicture(t *testing.T, h, w int) (path string, m *image.NRGBA) {
	t.Helper()
	m = image.NewNRGBA(image.Rect(0, 0, w, h))
	p := rng.Numbered(1)
	for i := range m.Pix {
		m.Pix[i] = uint8(p.Uint64() >> 56)
		if i%4 == 3 {
			m.Pix[i] = 255
		}
	}
	path = filepath.Join(t.TempDir(), "picture.png")
	f := must.Get(os.Create(path))(t)
	must.OK(t, errors.Join(png.Encode(f, m), f.Close()))
	return path, m
}

// Variants have pixels by definition, equal for one seed, and different for other images and seeds.
func TestDSpritesVariants(t *testing.T) {
	path, picture := writePicture(t, 70, 80)
	plain := smallSprites(t, DSprites{Channels: 3}, 0)
	const size = 64 * 64
	shape, image := make([]float32, 3*size), make([]float32, 3*size)
	for variant, check := range map[string]func(i int){
		"color": func(i int) {
			for c := range 3 {
				colour := float32(-1)
				for at := c; at < 3*size; at += 3 {
					switch {
					case shape[at] == 0 && image[at] != 0:
						t.Fatalf("image %d: the background is %v", i, image[at])
					case shape[at] == 1 && colour < 0:
						colour = image[at]
					case shape[at] == 1 && image[at] != colour:
						t.Fatalf("image %d: two colours %v and %v", i, colour, image[at])
					}
				}
				if !(colour >= 0.5 && colour < 1) {
					t.Errorf("image %d: channel %d has %v; want 0.5 to 1", i, c, colour)
				}
			}
		},
		"noise": func(i int) {
			sum, n := 0.0, 0.0
			for at, v := range image {
				if shape[at] == 1 && v != 1 {
					t.Fatalf("image %d: the shape has %v; want 1", i, v)
				}
				if shape[at] == 0 {
					sum, n = sum+float64(v), n+1
				}
			}
			if mean := sum / n; !(math.Abs(mean-0.5) <= 5*math.Sqrt(1/(12*n))) {
				t.Errorf("image %d: the noise has the mean %v", i, mean)
			}
		},
		"scream": func(i int) {
			if !partOf(picture, shape, image) {
				t.Errorf("image %d is no part of the picture", i)
			}
		},
	} {
		settings := DSprites{Variant: variant}
		if variant == "scream" {
			settings.Scream = path
		}
		d := smallSprites(t, settings, 7)
		seen := map[[32]byte]bool{}
		for i := 0; i < d.Len(); i += 41 {
			plain.Image(i, shape)
			d.Image(i, image)
			check(i)
			sum := hashFloats(image)
			d.Image((i+1)%d.Len(), image)
			if d.Image(i, image); hashFloats(image) != sum {
				t.Errorf("%s: image %d differs when it is drawn again", variant, i)
			}
			seen[sum] = true
		}
		must.Equal(t, len(seen), (d.Len()+40)/41, variant, "different images of")
		again, other := smallSprites(t, settings, 7), smallSprites(t, settings, 8)
		again.Image(5, image)
		a := hashFloats(image)
		d.Image(5, image)
		b := hashFloats(image)
		other.Image(5, image)
		if a != b || hashFloats(image) == a {
			t.Errorf("%s: the seed does not decide", variant)
		}
		if err := conformant(d); err != nil {
			t.Error(err)
		}
	}
}

// partOf reports whether an image is part of a picture, averaged with a colour and inverted inside the shape.
func partOf(m *image.NRGBA, shape, image []float32) bool {
	at := func(y, x, c int) float32 { return float32(m.Pix[m.PixOffset(x, y)+c]) / 255 }
	back := func(p int) float32 {
		if shape[p] == 1 {
			return 1 - image[p]
		}
		return image[p]
	}
	size := m.Bounds().Size()
	for top := range size.Y - 63 {
	next:
		for left := range size.X - 63 {
			for c := range 3 {
				colour := 2*back(c) - at(top, left, c)
				for p := range 64 * 64 {
					if !(math.Abs(float64(2*back(3*p+c)-at(top+p/64, left+p%64, c)-colour)) <= 1e-5) {
						continue next
					}
				}
				if !(colour >= 0 && colour <= 1) {
					return false
				}
			}
			return true
		}
	}
	return false
}

// conformant reports faults of a data set of pixels: pixels out of range, and allocations.
func conformant(d datasets.Dataset) error {
	h, w, c := d.ImageShape()
	image := make([]float32, h*w*c)
	if n := testing.AllocsPerRun(10, func() { d.Image(1, image) }); n > 0 {
		return fmt.Errorf("Image allocates %v times", n)
	}
	for _, v := range image {
		if !(v >= 0 && v <= 1) {
			return fmt.Errorf("a pixel of %v", v)
		}
	}
	return nil
}

func hashFloats(x []float32) [32]byte {
	var b []byte
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return sha256.Sum256(b)
}

// Invalid settings and unsuitable background pictures are errors.
func TestDSpritesMistakes(t *testing.T) {
	publicFiles(t, "dsprites", map[string]string{dspritesNPZ: filepath.Join("dsprites", dspritesNPZ)})
	small, _ := writePicture(t, 63, 200)
	for _, c := range []struct {
		settings DSprites
		words    string
	}{
		{DSprites{Variant: "colour"}, "want plain, color, noise, scream"},
		{DSprites{Channels: 2}, "want 1 or 3, or 0 for"},
		{DSprites{Scream: small}, "want variant: scream"},
		{DSprites{Variant: "scream"}, "scream=FILE"},
		{DSprites{Variant: "scream", Scream: filepath.Join(t.TempDir(), "none.jpg")}, "none.jpg"},
		{DSprites{Variant: "scream", Scream: filepath.Join("testdata", "README.md")}, "README.md"},
		{DSprites{Variant: "scream", Scream: small}, "want at least 64 x 64"},
	} {
		must.ErrorOf(c.settings.Build(0))(t, c.words, c.settings)
	}
}

// Errors for broken files give the reason.
func TestDSpritesBroken(t *testing.T) {
	for file, words := range map[string]string{
		"nokey.npz": "imgs", "object.npz": "object", "pixels.npz": "value 255", "rgb.npz": "shape [48 3 64 64]",
		"rows.npz": "latents_classes has shape [47 6], and imgs has 48 images", "shortmember.npz": "imgs", "truncated.npz": "not a .npz file",
	} {
		publicFiles(t, "dsprites", map[string]string{dspritesNPZ: filepath.Join("dsprites", "broken", file)})
		if _, err := (&DSprites{}).Build(0); err == nil || !strings.Contains(err.Error(), words) || !strings.Contains(err.Error(), dspritesNPZ) {
			t.Errorf("%s: %v; want %q and the name of the file", file, err, words)
		}
	}
}

// BenchmarkDSprites draws images of the variants.
func BenchmarkDSprites(b *testing.B) {
	b.Setenv(cache.RootVariable, b.TempDir())
	file := source.File{Name: dspritesNPZ}
	must.OK(b, source.Place(b.Context(), cache.Downloads("dsprites"), file, filepath.Join("testdata", "dsprites", dspritesNPZ), true))
	for _, variant := range []string{"plain", "color", "noise"} {
		b.Run(variant, func(b *testing.B) {
			d := must.Get((&DSprites{Variant: variant, Channels: 3}).Build(0))(b)
			image, i := make([]float32, 64*64*3), 0
			for b.Loop() {
				d.Image(i%d.Len(), image)
				i++
			}
		})
	}
}

// The classes form the full grid, with the last column fastest and one colour.
func TestGridOfClasses(t *testing.T) {
	whole := []int32{0, 0, 0, 0, 0, 0 /**/, 0, 0, 0, 0, 0, 1 /**/, 0, 0, 1, 0, 0, 0 /**/, 0, 0, 1, 0, 0, 1}
	if g, err := gridOfClasses(whole); err != nil || g.Len() != 4 || g[2].Size != 2 || g[5].Size != 2 {
		t.Errorf("%+v, %v", g, err)
	}
	for want, change := range map[string]map[int]int32{
		"the classes of image 1 have -1 in column 5; want 0 to 3":                                      {11: -1},
		"the classes of image 3 have 4 in column 2; want 0 to 3":                                       {20: 4},
		"there are classes of 4 images, with [1 1 2 1 1 1] levels; want one colour, and the full grid": {11: 0, 23: 0},
		"there are classes of 4 images, with [2 1 1 1 1 2] levels; want one colour, and the full grid": {12: 1, 18: 1, 14: 0, 20: 0},
		"the classes of image 0 have 1 in column 5; want 0, as in the grid with the last column":       {5: 1, 11: 0},
	} {
		c := slices.Clone(whole)
		for at, v := range change {
			c[at] = v
		}
		must.ErrorOf(gridOfClasses(c))(t, want, change)
	}
}

// Images of a level have equal values.
func TestNamedDSprites(t *testing.T) {
	grid := gridOf([]int{1, 1, 2, 1, 1, 2})
	whole := []float64{0, 0, 0.5, 0, 0.25, 3 /**/, 0, 0, 0.5, 0, 0.25, 4 /**/, 0, 0, 1, 0, 0.25, 3 /**/, 0, 0, 1, 0, 0.25, 4}
	f, err := namedDSprites(grid, whole)
	if err != nil || len(f) != 5 || !slices.Equal(f[1].Values, []float64{0.5, 1}) || !slices.Equal(f[4].Values, []float64{3, 4}) {
		t.Errorf("%+v, %v", f, err)
	}
	for want, change := range map[string]map[int]float64{
		"image 2 has 3.5 in column 5; want 3, as for others of its class":  {17: 3.5},
		"image 3 has 0.5 in column 2; want 1, as for others of its class":  {20: 0.5},
		"image 1 has 0 in column 4; want 0.25, as for others of its class": {10: 0},
		"image 0 has NaN in column 3":                                      {3: math.NaN()},
		"image 2 has +Inf in column 2":                                     {14: math.Inf(1), 20: math.Inf(1)},
	} {
		v := slices.Clone(whole)
		for at, x := range change {
			v[at] = x
		}
		must.ErrorOf(namedDSprites(grid, v))(t, "latents_values of "+want, change, want)
	}
}
