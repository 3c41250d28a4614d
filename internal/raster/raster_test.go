package raster

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"testing"

	"github.com/unravel-ml/unravel/internal/colours"
	"github.com/unravel-ml/unravel/internal/must"
)

func TestFromFloats(t *testing.T) {
	nan := float32(math.NaN())
	tests := []struct {
		channels int
		pixel    []float32
		want     color.RGBA
	}{
		{1, []float32{0.5}, color.RGBA{128, 128, 128, 255}},
		{1, []float32{-3}, color.RGBA{0, 0, 0, 255}},
		{1, []float32{float32(math.Inf(1))}, color.RGBA{255, 255, 255, 255}},
		{1, []float32{nan}, color.RGBA{255, 0, 255, 255}},
		{2, []float32{1, 0.2}, color.RGBA{255, 51, 0, 255}},
		{3, []float32{0, 0.4, 2}, color.RGBA{0, 102, 255, 255}},
		{3, []float32{0, nan, 2}, color.RGBA{255, 0, 255, 255}},
	}
	for _, test := range tests {
		img := must.Get(FromFloats(append(make([]float32, test.channels), test.pixel...), 1, 2, test.channels))(t)
		must.Equal(t, img.RGBAAt(1, 0), test.want, test.pixel)
	}
	for _, bad := range [][4]int{{1, 2, 3, 5}, {0, 2, 1, 0}, {1, 1, 4, 4}, {1, 1, 0, 0}} {
		if _, err := FromFloats(make([]float32, bad[3]), bad[0], bad[1], bad[2]); err == nil {
			t.Errorf("%v: no error", bad)
		}
	}
}

func TestEnlarge(t *testing.T) {
	img, _ := FromFloats([]float32{0, 1, 0.2, 0.4, 0.6, 0.8}, 2, 3, 1)
	large := Enlarge(img.SubImage(image.Rect(1, 0, 3, 2)), 3)
	if large.Bounds() != image.Rect(0, 0, 6, 6) {
		t.Fatal(large.Bounds())
	}
	for y := range 6 {
		for x := range 6 {
			if large.RGBAAt(x, y) != img.RGBAAt(1+x/3, y/3) {
				t.Fatalf("pixel %d %d", x, y)
			}
		}
	}
	for _, c := range [][3]int{{64, 64, 1}, {8, 64, 8}, {100, 64, 1}, {30, 64, 2}, {0, 64, 64}} {
		must.Equal(t, FitScale(c[0], c[1]), c[2], "FitScale", c[0], c[1])
	}
}

func TestTiles(t *testing.T) {
	white, _ := FromFloats([]float32{1, 1, 1, 1}, 2, 2, 1)
	table := &Tiles{
		Title: "a title that is longer than the table", Subtitle: "sub", ColumnTitle: "angle",
		Rows:      [][]image.Image{{white, nil, white}, {white, white, white}},
		RowLabels: []string{"first", "second"}, ColumnLabels: []string{"0", "1", "a long label"},
		GroupRows: 1,
	}
	img := table.Draw()
	l := table.fitted().layout()
	if img.Bounds().Dx() < 14*2+TextWidth(table.Title) || l.cellW < TextWidth("a long label") || l.scale != 32 {
		t.Errorf("%v, %+v", img.Bounds(), l)
	}
	x, y := l.left+l.cellW/2, l.rowTop(table, 0)+l.cellH/2
	if img.RGBAAt(x, y) != (color.RGBA{255, 255, 255, 255}) || img.RGBAAt(x-33, y) != border {
		t.Errorf("the first image is not where it belongs: %v, %v", img.RGBAAt(x, y), img.RGBAAt(x-33, y))
	}
	table.Framed = [][]bool{{true}}
	framed := table.Draw()
	for distance, want := range map[int]color.RGBA{1: colours.Light.Accent, 3: colours.Light.Accent, 4: framed.RGBAAt(1, 1)} {
		must.Equal(t, framed.RGBAAt(x-32-distance, y), want, distance, "pixels from a framed image")
	}
	must.Equal(t, l.rowTop(table, 1)-l.rowTop(table, 0), l.cellH+3*l.gap, "rows are", "apart")
	if b := (&Tiles{}).Draw().Bounds(); b.Dx() < 1 || b.Dy() < 1 {
		t.Errorf("an empty table measures %v", b)
	}
}

// Each text and mark makes room for itself. A character is 8 pixels wide, and the images have 64 x 64 pixels.
func TestLayout(t *testing.T) {
	type sizes struct{ left, top, right, below, width, height int }
	for _, c := range []struct {
		name  string
		table Tiles
		want  sizes
	}{
		{"no text", Tiles{}, sizes{14, 14, 78, 0, 92, 92}},
		{"title", Tiles{Title: "a\nb"}, sizes{14, 54, 78, 0, 92, 132}},
		{"long subtitle", Tiles{Subtitle: "0123456789"}, sizes{14, 34, 78, 0, 108, 112}},
		{"long column title", Tiles{ColumnTitle: "0123456789"}, sizes{14, 34, 78, 0, 108, 112}},
		{"column labels", Tiles{ColumnLabels: []string{"0"}}, sizes{14, 34, 78, 0, 92, 112}},
		{"more column labels", Tiles{ColumnLabels: []string{"0123456789", ""}}, sizes{14, 34, 178, 0, 192, 112}},
		{"row labels", Tiles{RowLabels: []string{"ab"}}, sizes{38, 14, 102, 0, 116, 92}},
		{"end labels", Tiles{EndLabels: []string{"ab"}}, sizes{14, 14, 78, 0, 116, 92}},
		{"captions", Tiles{Captions: [][]string{{"0123456789"}}}, sizes{14, 14, 94, 20, 108, 112}},
		{"marks", Tiles{Marks: [][][]bool{{make([]bool, 8)}}}, sizes{14, 14, 102, 14, 116, 106}},
	} {
		c.table.Rows = [][]image.Image{{image.NewRGBA(image.Rect(0, 0, 2, 2))}}
		if l := c.table.layout(); (sizes{l.left, l.top, l.right, l.below, l.width, l.height}) != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, l, c.want)
		}
	}
}

// A caption stands below its image, and the marks below the caption.
func TestBelow(t *testing.T) {
	table := &Tiles{Captions: [][]string{{"x"}}, Marks: [][][]bool{{{true, false}}}}
	got, want := image.NewRGBA(image.Rect(0, 0, 40, 50)), image.NewRGBA(image.Rect(0, 0, 40, 50))
	table.below(got, 0, 0, image.Pt(3, 5))
	Text(want, 3, 18, "x", faint)
	fill(want, image.Rect(3, 24, 11, 32), colours.Light.Accent)
	fill(want, image.Rect(14, 24, 22, 32), colours.Light.Accent)
	fill(want, image.Rect(15, 25, 21, 31), paper)
	if !bytes.Equal(got.Pix, want.Pix) {
		t.Error("the caption or the marks stand elsewhere")
	}
}

func TestPNGBytesAreTheSame(t *testing.T) {
	img := (&Tiles{Title: "x", Rows: [][]image.Image{{image.NewRGBA(image.Rect(0, 0, 3, 3))}}}).Draw()
	var a, b bytes.Buffer
	for _, w := range []*bytes.Buffer{&a, &b} {
		must.OK(t, WritePNG(w, img))
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("bytes differ")
	}
	back, err := png.Decode(&a)
	if err != nil || back.Bounds() != img.Bounds() {
		t.Errorf("%v, %v", back.Bounds(), err)
	}
	if err := WritePNG(full{}, img); err == nil {
		t.Error("a full disk is no error")
	}
}

// full is a writer without space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }
