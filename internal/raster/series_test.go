package raster

import (
	"image"
	"image/color"
	"math"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// picturesOf draws images with limits chosen by themselves.
func picturesOf(t *testing.T, pixels []float32, h, w, c int) []*image.RGBA {
	t.Helper()
	list, err := PicturesOf(h, w, c, pixels).Of(pixels)
	if err != nil {
		t.Fatalf("%d x %d x %d: %v", h, w, c, err)
	}
	out := make([]*image.RGBA, len(list))
	for i, img := range list {
		out[i] = img.(*image.RGBA)
	}
	return out
}

func TestCurves(t *testing.T) {
	seriesInk := curveInks[0]
	rising := make([]float32, 64)
	for i := range rising {
		rising[i] = float32(i)/31.5 - 1
	}
	for _, shape := range [][3]int{{1, 1, 64}, {1, 64, 1}} { // a vector, a sequence
		img := picturesOf(t, rising, shape[0], shape[1], shape[2])[0]
		if img.Bounds() != image.Rect(0, 0, 64, 64) {
			t.Fatal(img.Bounds())
		}
		for x := range 64 { // the diagonal, each column reaching back to the row before
			for y := range 64 {
				on := y == 63-x || x > 0 && y == 64-x
				if (img.RGBAAt(x, y) == seriesInk) != on {
					t.Fatalf("%v: pixel %d %d", shape, x, y)
				}
			}
		}
	}
	broken := []float32{1, float32(math.NaN()), -5}
	few := picturesOf(t, append(broken, 0, 0, 0), 1, 3, 1)
	if p := few[0]; p.RGBAAt(0, 25) != seriesInk || p.RGBAAt(63, 63) != seriesInk || p.RGBAAt(40, 32) != seriesZero {
		t.Error("a broken curve")
	}
	if few[1].RGBAAt(9, 32) != seriesInk {
		t.Error("a flat curve")
	}
	if p := picturesOf(t, []float32{0, 0, 0}, 1, 3, 1)[0]; p.RGBAAt(63, 32) != seriesInk {
		t.Error("a curve without a scale")
	}
	positive := picturesOf(t, []float32{0, 0, 2, 2}, 1, 2, 1)
	if positive[0].RGBAAt(5, 63) != seriesInk || positive[1].RGBAAt(5, 0) != seriesInk {
		t.Error("curves without negative numbers do not use the whole height")
	}
	two := picturesOf(t, []float32{0, 1, 0, 1, 0, 1}, 1, 3, 2)[0]
	if two.RGBAAt(30, 63) != curveInks[0] || two.RGBAAt(30, 0) != curveInks[1] {
		t.Error("two channels are not two curves")
	}
	must.Equal(t, Largest([]float32{1, -3, float32(math.NaN()), float32(math.Inf(1))}), 3, "largest")
}

func TestPictures(t *testing.T) {
	for _, tt := range []struct {
		h, w, c, width, height int
	}{
		{16, 16, 1, 16, 16}, {16, 48, 2, 48, 16}, {17, 33, 3, 33, 17}, {16, 16, 4, 33, 33}, {16, 16, 5, 50, 33}, {20, 30, 16, 123, 83},
		{256, 256, 1, 128, 128}, {256, 255, 3, 128, 128}, {16, 256, 3, 128, 8}, {256, 256, 16, 151, 151}, {161, 1, 1, 1, 81},
		{1, 16, 1, 64, 64}, {1, 100, 3, 100, 64}, {1, 256, 16, 160, 64}, {1, 1, 3, 1, 1}, {1, 1, 200, 160, 64},
	} {
		pixels := make([]float32, 2*tt.h*tt.w*tt.c)
		for i := range pixels {
			pixels[i] = float32(i%7) / 6
		}
		list := picturesOf(t, pixels, tt.h, tt.w, tt.c)
		if len(list) != 2 || list[0].Bounds() != image.Rect(0, 0, tt.width, tt.height) {
			t.Errorf("%d x %d x %d: %d pictures of %v, want 2 of %d x %d", tt.h, tt.w, tt.c, len(list), list[0].Bounds(), tt.width, tt.height)
		}
	}
	grey := func(v uint8) color.RGBA { return color.RGBA{v, v, v, 255} }
	four := picturesOf(t, []float32{0, 0.2, 0.4, 0.6, 0, 0.2, 0.4, 0.6}, 2, 1, 4)[0] // channels from left to right, then below
	for at, want := range map[image.Point]uint8{{}: 0, {X: 2}: 51, {X: 4, Y: 1}: 102, {Y: 3}: 153, {X: 1}: 255, {Y: 2}: 255, {X: 2, Y: 3}: 255} {
		if got := four.RGBAAt(at.X, at.Y); got != grey(want) {
			t.Errorf("four channels: %v is %v, want %d", at, got, want)
		}
	}
	large := make([]float32, 322*322)
	large[0], large[1] = 1, 1 // two of nine pixels
	must.Equal(t, picturesOf(t, large, 322, 322, 1)[0].RGBAAt(0, 0), grey(57), "reduced")
	real := picturesOf(t, []float32{-2, 0, 2, 1}, 2, 2, 1)[0]
	if real.RGBAAt(0, 0) != grey(0) || real.RGBAAt(1, 0) != grey(128) || real.RGBAAt(0, 1) != grey(255) {
		t.Error("real numbers are not scaled to grey")
	}
	for _, shape := range [][3]int{{0, 4, 1}, {4, 0, 1}, {4, 4, 0}, {3, 4, 1}} {
		if _, err := PicturesOf(shape[0], shape[1], shape[2]).Of(make([]float32, 16)); err == nil {
			t.Errorf("16 numbers are images of %v", shape)
		}
	}
}
