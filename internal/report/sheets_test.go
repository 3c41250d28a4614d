package report

import (
	"bytes"
	"image/color"
	"image/gif"
	"image/png"
	"testing"

	"github.com/unravel-ml/unravel/internal/decode"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models"
)

// A sheet's picture, and each frame of its animation, has the image of each code at its position. Cyclic rows move in
// one direction, other rows move forwards and backwards, and shorter rows move more slowly.
func TestDecodedSheet(t *testing.T) {
	code := []float64{0}
	s := &decode.Sheet{Name: "traversals-0", Moves: true, Columns: []string{"1", "2", "3"}, Rows: []decode.Row{
		{Label: "circle1", Codes: [][]float64{code, code, code}, Cyclic: true},
		{Label: "z2", Codes: [][]float64{code, code, code}},
		{Label: "a0", Codes: [][]float64{code, code}},
	}}
	images := make([]float32, 0, 8*4)
	for i := range 8 { // image i has grey 30 i, except for a white corner
		v := float32(30*i) / 255
		images = append(images, v, v, v, 1)
	}
	d := &Decoded{Sheet: s, Images: images, Height: 2, Width: 2, Channels: 1, Scale: 3}
	var b bytes.Buffer
	must.OK(t, d.WriteGIF(&b))
	g, err := gif.DecodeAll(&b)
	if err != nil || len(g.Image) != 6 || g.LoopCount != 0 {
		t.Fatalf("%v, %d frames", err, len(g.Image))
	}
	grey := func(m interface{ At(x, y int) color.Color }, x, y int) uint8 {
		return color.GrayModel.Convert(m.At(x, y)).(color.Gray).Y
	}
	want := [][]int{{0, 3, 6}, {1, 4, 6}, {2, 5, 7}, {0, 5, 7}, {1, 4, 6}, {2, 3, 6}} // image numbers of frames, row by row
	for f, m := range g.Image {
		for row, i := range want[f] { // two rows of two cells of 56 x 24, 4 apart, with labels above pictures of 6 x 6
			x, y := 4+25+row%2*60, 4+18+row/2*28
			if got := grey(m, x, y); got != uint8(30*i) {
				t.Errorf("frame %d, row %d: grey %d, want image %d", f, row, got, i)
			}
			if grey(m, x+5, y+5) != 255 || grey(m, x+6, y) != 255 {
				t.Errorf("frame %d, row %d: no white corner or gap", f, row)
			}
		}
	}
	var picture bytes.Buffer
	must.OK(t, d.WritePNG(&picture))
	m := must.Get(png.Decode(&picture))(t)
	counts := map[uint8]int{}
	for y := range m.Bounds().Dy() {
		for x := range m.Bounds().Dx() {
			counts[grey(m, x, y)]++
		}
	}
	for i := 1; i < 8; i++ { // three pixels of nine each, at places without letters of this grey
		if counts[uint8(30*i)] < 27 {
			t.Errorf("image %d has %d pixels in the picture, want 27", i, counts[uint8(30*i)])
		}
	}
	s.Moves = false
	if b.Reset(); d.WriteGIF(&b) != nil || b.Len() > 0 {
		t.Error("a sheet that does not move has an animation")
	}
	d.Images = images[:12]
	if err := d.WritePNG(&picture); err == nil {
		t.Error("images for fewer codes: no error")
	}
}

// Vectors, which are drawn as curves larger than they are, are not enlarged further. Images have at most 64 pixels a side.
func TestAnimatedVectors(t *testing.T) {
	codes := &decode.Codes{Spaces: []models.Space{{Name: "plane", Width: 2}}, Known: matrix.Matrix{Rows: 1, Cols: 2, Data: []float64{0, 1}}}
	decoder := Decoder{Height: 1, Width: 1, Channels: 8,
		Decode: func(z []float32) ([]float32, error) { return make([]float32, 4*len(z)), nil }}
	var b bytes.Buffer
	must.OK(t, AnimatedTraversals(&b, codes, decoder))
	g, err := gif.DecodeConfig(&b)
	if err != nil || g.Width > 1000 || g.Height > 1000 {
		t.Errorf("%d x %d pixels, %v; want two small curves", g.Width, g.Height, err)
	}
	for side, drawn := range map[int]int{1: 64, 13: 52, 64: 64, 65: 65} { // the largest multiple up to 64
		decoder = Decoder{Height: side, Width: side, Channels: 1, Decode: func(z []float32) ([]float32, error) {
			return make([]float32, len(z)/2*side*side), nil
		}}
		b.Reset()
		must.OK(t, AnimatedTraversals(&b, codes, decoder))
		if g, err := gif.DecodeConfig(&b); err != nil || g.Height != drawn+26 {
			t.Errorf("images of %d pixels: an animation of %d, %v; want %d and a label", side, g.Height, err, drawn)
		}
	}
}

// Rows play forwards and backwards. Circular rows play forwards, once in all frames or several times.
func TestFrameStep(t *testing.T) {
	for _, c := range []struct {
		steps, frames int
		cyclic        bool
		want          []int
	}{
		{3, 6, false, []int{0, 1, 2, 2, 1, 0}},
		{2, 6, false, []int{0, 0, 1, 1, 0, 0}},
		{2, 5, false, []int{0, 0, 1, 0, 0}},
		{3, 6, true, []int{0, 1, 2, 0, 1, 2}},
		{4, 6, true, []int{0, 0, 1, 2, 2, 3}},
	} {
		var got []int
		for f := range c.frames {
			got = append(got, frameStep(f, c.frames, c.steps, c.cyclic))
		}
		must.EqualSlices(t, got, c.want, c, "steps")
	}
	if period(3, false) != 6 || period(3, true) != 3 {
		t.Errorf("periods %d and %d", period(3, false), period(3, true))
	}
}
