package sheet

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
	"math"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/internal/report/web"
)

// Thumbnails of any images remain within their bounds.
func TestThumbnails(t *testing.T) {
	long.NotShort(t)
	for _, size := range long.Sample([]struct{ h, w, c int }{{200, 100, 3}, {64, 64, 1}, {1, 50, 2}, {1, 1, 7}, {8, 8, 5}}, 3) {
		d := noise{size.h, size.w, size.c}
		s, err := Thumbnails(d, numeric.UpTo(500))
		if err != nil {
			t.Fatal(size, err)
		}
		text, ok := strings.CutPrefix(s.Source, "data:image/png;base64,")
		file, err := base64.StdEncoding.DecodeString(text)
		if !ok || err != nil || len(file) > thumbnailBytes {
			t.Errorf("%v: %d bytes, %v", size, len(file), err)
		}
		sheet, err := png.Decode(bytes.NewReader(file))
		if err != nil {
			t.Fatal(size, err)
		}
		if b := sheet.Bounds(); b.Dx() != s.Across*s.Width || b.Dy() != (s.Count+s.Across-1)/s.Across*s.Height ||
			s.Count < 20 || s.Count > maxThumbnails || max(s.Width, s.Height) > thumbnailSide {
			t.Errorf("%v: sheet %v of %d pictures %d x %d, %d in a row", size, b, s.Count, s.Width, s.Height, s.Across)
		}
		if fewer := s.Across - 1; fewer*fewer*s.Width >= s.Count*s.Height || s.Across*s.Across*s.Width < s.Count*s.Height {
			t.Errorf("%v: %d of %d pictures in a row do not make a square", size, s.Across, s.Count)
		}
	}
	if s, err := Thumbnails(nil, []int{0}); s != nil || err != nil {
		t.Errorf("%v, %v", s, err)
	}
}

// A thumbnail has the mean colour of each block of pixels, rounded. A block at the edge has fewer pixels.
func TestThumbnailColours(t *testing.T) {
	p := image.NewRGBA(image.Rect(5, 5, 8, 7)) // 3 x 2 pixels
	for x := range 3 {
		for y := range 2 {
			p.SetRGBA(5+x, 5+y, color.RGBA{uint8(10 * (x + y)), uint8(x), uint8(50 * y), 255})
		}
	}
	sheet, thumbnails := thumbnailSheet([]image.Image{p, p}, 2)
	must.Equal(t, thumbnails, web.Thumbnails{Width: 2, Height: 1, Across: 1, Count: 2}, "layout")
	for _, y := range []int{0, 1} { // one row for each picture
		must.Equal(t, color.RGBAModel.Convert(sheet.At(0, y)), color.Color(color.RGBA{10, 1, 25, 255}), "four pixels")
		must.Equal(t, color.RGBAModel.Convert(sheet.At(1, y)), color.Color(color.RGBA{25, 2, 25, 255}), "two pixels")
	}
}

// noise is a set of incompressible images.
type noise struct{ h, w, c int }

func (noise) Name() string                { return "noise" }
func (n noise) ImageShape() (h, w, c int) { return n.h, n.w, n.c }
func (noise) Factors() []factor.Factor    { return nil }
func (noise) Len() int                    { return 1000 }
func (noise) FactorsAt(int, []int)        {}
func (n noise) Image(i int, dst []float32) {
	for k := range dst {
		v := math.Sin(float64(i*len(dst)+k)) * 43758.5453
		dst[k] = float32(v - math.Floor(v))
	}
}
