package datasets

import (
	"image"
	"image/color"
	"math"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/must"
)

// two has two levels.
var two = []factor.Factor{{Name: "shade", Size: 2, Kind: factor.Ordinal}}

// painted returns an image of 2 x 1 pixels in a colour model, away from the origin.
func painted(m interface {
	image.Image
	Set(x, y int, c color.Color)
}, left, right color.Color) image.Image {
	at := m.Bounds().Min
	m.Set(at.X, at.Y, left)
	m.Set(at.X+1, at.Y, right)
	return m
}

func TestFromImages(t *testing.T) {
	at := image.Rect(3, 4, 5, 5)
	grey, wine := color.Gray{51}, color.NRGBA{102, 0, 51, 255}
	for name, c := range map[string]struct {
		images []image.Image
		want   []float32 // pixels of the last image
	}{
		"grey":    {[]image.Image{painted(image.NewGray(at), color.Black, grey)}, []float32{0, 0.2}},
		"grey 16": {[]image.Image{painted(image.NewGray16(at), color.White, color.Gray16{0x1999})}, []float32{1, float32(0x1999) / 0xffff}},
		"colour":  {[]image.Image{painted(image.NewNRGBA(at), wine, color.White)}, []float32{0.4, 0, 0.2, 1, 1, 1}},
		"palette": {[]image.Image{painted(image.NewPaletted(at, color.Palette{color.Black, wine}), color.Black, wine)}, []float32{0, 0, 0, 0.4, 0, 0.2}},
		"mixed":   {[]image.Image{painted(image.NewRGBA(at), wine, wine), painted(image.NewGray(at), color.White, grey)}, []float32{1, 1, 1, 0.2, 0.2, 0.2}},
		"rounded": {[]image.Image{painted(image.NewNRGBA(at), color.NRGBA{103, 0, 255, 51}, color.Transparent)},
			[]float32{21. / 255, 0, 0.2, 0, 0, 0}}, // 20.6
		"half transparent": {[]image.Image{painted(image.NewNRGBA(at), color.NRGBA{255, 0, 0, 51}, color.Transparent)},
			[]float32{0.2, 0, 0, 0, 0, 0}},
	} {
		d, err := FromImages("mine", c.images, nil, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := make([]float32, len(c.want))
		d.Image(len(c.images)-1, got)
		for i, v := range got {
			if !(math.Abs(float64(v-c.want[i])) <= 1e-6) {
				t.Errorf("%s: pixels %v, want %v", name, got, c.want)
				break
			}
		}
		if h, w, ch := d.ImageShape(); h != 1 || w != 2 || ch != len(c.want)/2 || d.Len() != len(c.images) ||
			len(d.Factors()) != 1 || d.Factors()[0].Size != 1 {
			t.Errorf("%s: %d images of %d x %d x %d", name, d.Len(), h, w, ch)
		}
	}
}

func TestFromPixels(t *testing.T) {
	levels := [][]int{{1}, {0}}
	d, err := FromPixels("mine", []uint8{0, 51, 102, 255}, 1, 2, 1, two, levels)
	must.OK(t, err)
	levels[0][0] = 0 // the set has copies
	image, level := make([]float32, 2), make([]int, 1)
	d.Image(1, image)
	d.FactorsAt(0, level)
	if d.Len() != 2 || !slices.Equal(image, []float32{0.4, 1}) || level[0] != 1 || d.Name() != "mine" {
		t.Errorf("%s: %d images, the last %v, the first of level %v", d.Name(), d.Len(), image, level)
	}
	if d, err = FromPixels("mine", []float32{0, 0.25, 0.5, 1}, 2, 1, 1, nil, nil); err != nil {
		t.Fatal(err)
	}
	if d.Image(1, image); !slices.Equal(image, []float32{0.5, 1}) {
		t.Errorf("pixels %v", image)
	}
}

func TestFromErrors(t *testing.T) {
	grey := func(w, h int) image.Image { return image.NewGray(image.Rect(0, 0, w, h)) }
	nan := float32(math.NaN())
	images := func(images []image.Image, factors []factor.Factor, levels [][]int) error {
		_, err := FromImages("mine", images, factors, levels)
		return err
	}
	pixels := func(pixels []float32, h, w, c int, factors []factor.Factor, levels [][]int) error {
		_, err := FromPixels("mine", pixels, h, w, c, factors, levels)
		return err
	}
	three := []image.Image{grey(4, 3), grey(4, 3), grey(3, 4)}
	for want, err := range map[string]error{
		"dataset mine: image 2 is 3 x 4 pixels (width x height); want at least 1 x 1, and the size of image 0, 4 x 3": images(three, nil, nil),
		"there are no images; want at least 1":               images(nil, nil, nil),
		"image 1 is nil":                                     images([]image.Image{grey(1, 1), nil}, nil, nil),
		"image 2 is nil":                                     images([]image.Image{grey(1, 1), grey(1, 1), (*image.Gray)(nil)}, nil, nil),
		"image 0 is 0 x 3 pixels":                            images([]image.Image{grey(0, 3)}, nil, nil),
		`image 1 has level 2 of factor "shade"; want 0 to 1`: images(three[:2], two, [][]int{{0}, {2}}),
		`image 0 has level -2`:                               images(three[:2], two, [][]int{{-2}, {0}}),
		"there are levels of 1 images; want a row for each of the 2 images":               images(three[:2], two, [][]int{{0}}),
		"there are levels of 0 images":                                                    images(three[:2], two, nil),
		"image 1 has 2 levels; want one for each of the 1 factors":                        images(three[:2], two, [][]int{{0}, {0, 1}}),
		"there are levels and no factors; want factors":                                   images(three[:1], nil, [][]int{{0}}),
		`factor "shade": size 0 is out of range; want 1 to`:                               images(three[:1], []factor.Factor{{Name: "shade"}}, [][]int{{0}}),
		"image 1 has NaN at row 0, column 1, channel 2; want 0 to 1":                      pixels([]float32{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, nan}, 1, 2, 3, nil, nil),
		"image 0 has 1.5 at row 1, column 0, channel 0":                                   pixels([]float32{0, 1.5}, 2, 1, 1, nil, nil),
		"5 pixels; want a multiple of the 4 of an image of 2 x 2 x 1, at least one image": pixels(make([]float32, 5), 2, 2, 1, nil, nil),
		"0 pixels; want a multiple":                                                       pixels(nil, 2, 2, 1, nil, nil),
		"images of 0 x 2 x 1; want":                                                       pixels(make([]float32, 2), 0, 2, 1, nil, nil),
		"images of 65536 x 65536 x 65536; want":                                           pixels(make([]float32, 2), 1<<16, 1<<16, 1<<16, nil, nil),
		"levels have":                                                                     pixels(make([]float32, 1), 1, 1, 1, []factor.Factor{{Name: "a", Size: 1 << 30}, {Name: "b", Size: 1 << 30}, {Name: "c", Size: 1 << 30}}, [][]int{{0, 0, 0}}),
		"want Set of datasets.Given":                                                      func() error { _, err := (&Given{}).Build(0); return err }(),
	} {
		must.Error(t, err, want)
	}
}
