package raster

import (
	"bytes"
	"image"
	"image/color"
	"image/gif"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// gradient has as many colours as pixels, up to 256 of them grey.
func gradient(w, h int, at func(x, y int) color.RGBA) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			m.SetRGBA(x, y, at(x, y))
		}
	}
	return m
}

// Animations with at most 256 colours are exact in every frame, and the bytes are reproducible.
func TestWriteGIF(t *testing.T) {
	grey := func(x, y int) color.RGBA { v := uint8(16*y + x); return color.RGBA{v, v, v, 255} }
	few := func(x, y int) color.RGBA {
		return color.RGBA{uint8(40 * (x % 6)), uint8(60 * (y % 4)), uint8(90 * (x % 2)), 255}
	}
	for name, at := range map[string]func(x, y int) color.RGBA{"grey": grey, "few": few} {
		frames := []*image.RGBA{gradient(16, 16, at), gradient(16, 16, func(x, y int) color.RGBA { return at(15-x, y) })}
		var a, b bytes.Buffer
		for _, w := range []*bytes.Buffer{&a, &b} {
			must.OK(t, WriteGIF(w, frames, 9))
		}
		if !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Errorf("%s: bytes differ", name)
		}
		g, err := gif.DecodeAll(&a)
		if err != nil || len(g.Image) != 2 || g.LoopCount != 0 || g.Delay[0] != 9 {
			t.Fatalf("%s: %v, %+v", name, err, g)
		}
		for f, m := range g.Image {
			for i := range 256 {
				x, y := i%16, i/16
				if got := color.RGBAModel.Convert(m.At(x, y)); got != frames[f].RGBAAt(x, y) {
					t.Fatalf("%s: frame %d, pixel %d %d: %v, want %v", name, f, x, y, got, frames[f].RGBAAt(x, y))
				}
			}
		}
	}
	if err := WriteGIF(&bytes.Buffer{}, nil, 9); err == nil {
		t.Error("no frames: no error")
	}
	if err := WriteGIF(&bytes.Buffer{}, []*image.RGBA{gradient(2, 2, grey), gradient(3, 2, grey)}, 9); err == nil {
		t.Error("frames of two sizes: no error")
	}
	if err := WriteGIF(full{}, []*image.RGBA{gradient(2, 2, grey)}, 9); err == nil {
		t.Error("a full disk is no error")
	}
}

// With too many colours, the palette adapts to the picture: a smooth picture has small errors, and a rare colour far
// from all others is preserved.
func TestPalette(t *testing.T) {
	smooth := gradient(64, 64, func(x, y int) color.RGBA { return color.RGBA{uint8(4 * x), uint8(4 * y), uint8(2 * (x + y)), 255} })
	rare := color.RGBA{255, 0, 255, 255}
	smooth.SetRGBA(5, 5, rare)
	p := Palette([]*image.RGBA{smooth}, 256)
	if len(p) != 256 {
		t.Fatalf("%d colours", len(p))
	}
	off := func(c color.RGBA) (worst int) {
		q := color.RGBAModel.Convert(p.Convert(c)).(color.RGBA)
		for _, d := range []int{int(c.R) - int(q.R), int(c.G) - int(q.G), int(c.B) - int(q.B)} {
			worst = max(worst, d, -d)
		}
		return worst
	}
	for y := range 64 {
		for x := range 64 {
			if c := smooth.RGBAAt(x, y); c != rare && off(c) > 16 {
				t.Fatalf("%v is off by %d", c, off(c))
			}
		}
	}
	if off(rare) > 50 {
		t.Errorf("the rare colour is off by %d", off(rare))
	}
	must.Equal(t, len(Palette([]*image.RGBA{smooth}, 7)), 7, "colours")
}

// A cut leaves the median pixel in the lower box, and a colour in each box.
func TestCut(t *testing.T) {
	for _, c := range []struct {
		pixels []int // by level of green
		low    int   // colours of the lower box
	}{{[]int{1, 1}, 1}, {[]int{1, 1, 1}, 2}, {[]int{1, 1, 1, 1, 1, 1}, 4}, {[]int{10, 1, 1, 1}, 1}, {[]int{1, 1, 1, 10}, 3}} {
		var b colorBox
		for i, n := range c.pixels {
			b = append(b, weighedColor{[3]uint8{0, uint8(10 * i), 0}, n})
		}
		if low, high := b.cut(); len(low) != c.low || len(low)+len(high) != len(b) {
			t.Errorf("%v: cut after %d colours, want %d", c.pixels, len(low), c.low)
		}
	}
}

// The colour of a box is the mean of its pixels, rounded.
func TestMean(t *testing.T) {
	b := colorBox{{[3]uint8{0, 1, 2}, 1}, {[3]uint8{1, 2, 3}, 1}}
	must.Equal(t, b.mean(), (color.RGBA{1, 2, 3, 255}))
}

func TestMosaic(t *testing.T) {
	dot := func(v uint8) image.Image {
		return gradient(1, 1, func(int, int) color.RGBA { return color.RGBA{v, v, v, 255} })
	}
	m := Mosaic([]image.Image{dot(1), nil, dot(3)}, nil, 2, 4, 3)
	if m.Bounds() != image.Rect(0, 0, 17, 17) || m.RGBAAt(3, 3).R != 1 || m.RGBAAt(6, 6).R != 1 ||
		m.RGBAAt(7, 7) != paper || m.RGBAAt(10, 3) != paper || m.RGBAAt(3, 10).R != 3 {
		t.Errorf("%v: %v", m.Bounds(), m.Pix)
	}
}

// If all pictures are nil, each blank is one pixel.
func TestMosaicOfNothing(t *testing.T) {
	if m := Mosaic(make([]image.Image, 3), nil, 2, 4, 3); m.Bounds() != image.Rect(0, 0, 2+3*3, 2+3*3) {
		t.Errorf("%v", m.Bounds())
	}
}

// Labels are above the pictures, and widen their cells up to a limit.
func TestMosaicLabels(t *testing.T) {
	grey := gradient(10, 10, func(int, int) color.RGBA { return color.RGBA{9, 9, 9, 255} })
	m := Mosaic([]image.Image{grey, grey}, []string{"z0", "a part with a name that is too long\x1b[31m"}, 2, 1, 2)
	must.Equal(t, m.Bounds(), image.Rect(0, 0, 2*(mosaicLabel+2)+2, 10+2*2+lineHeight-2))
	inked := func(r image.Rectangle) (n int) {
		for y := r.Min.Y; y < r.Max.Y; y++ {
			for x := r.Min.X; x < r.Max.X; x++ {
				if m.RGBAAt(x, y) != paper {
					n++
				}
			}
		}
		return n
	}
	if inked(image.Rect(40, 2, 60, 20)) == 0 || inked(image.Rect(100, 2, 110, 20)) == 0 || inked(image.Rect(96, 0, 100, 20)) > 0 {
		t.Error("labels are not where they belong")
	}
}
