package raster

import (
	"bytes"
	"flag"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

var update = flag.Bool("update", false, "write the pictures in testdata")

// Tables of images keep every pixel. After an intended change, look at the pictures that -update writes.
func TestPicturesAreTheSame(t *testing.T) {
	small, _ := FromFloats([]float32{0, 0.2, 0.4, 0.6, 0.8, 1}, 2, 3, 1)
	curve := PicturesOf(1, 5, 1, []float32{-1, 0.5, 1, 0.25, 0}).curvesOf([]float32{-1, 0.5, 1, 0.25, 0})
	table := &Tiles{
		Title:    "a title of many words that is far too long for a single line of this table of small images",
		Subtitle: "one\ntwo\tand a tab\n\x1b[31mthree\n– four …\n4\n5\n6\n7\n8", ColumnTitle: "β in degrees",
		Rows:         [][]image.Image{{small, nil, curve}, {small, small}, {nil, small, small}},
		RowLabels:    []string{"first", "the label of this row is far too long to stand beside its images", ""},
		EndLabels:    []string{"0.1", "-2"},
		ColumnLabels: []string{"0", "a column label that is too long", "2"},
		Scale:        2, Gap: 6, GroupRows: 2,
		Captions: [][]string{{"a", "b"}, {"c", "a long caption"}},
		Marks:    [][][]bool{{{true, false}, nil, {false}}, nil, {nil, {true, true, true}}},
		Framed:   [][]bool{{true}, {false, true}},
	}
	ramp := gradient(30, 20, func(x, y int) color.RGBA { return color.RGBA{uint8(x * x / 4), uint8(9 * y), uint8(x * y / 3), 255} })
	colours := image.NewRGBA(image.Rect(0, 0, 11, 1))
	for i, c := range Palette([]*image.RGBA{ramp, small}, 11) {
		colours.Set(i, 0, c)
	}
	for name, got := range map[string]*image.RGBA{
		"table":   table.Draw(),
		"mosaic":  Mosaic([]image.Image{small, nil, small, small}, []string{"z0", "z1", "a label longer than its picture"}, 3, 5, 4),
		"palette": colours,
	} {
		path := "testdata/" + name + ".png"
		if *update {
			var b bytes.Buffer
			must.OK(t, WritePNG(&b, got))
			must.OK(t, os.MkdirAll("testdata", 0o755))
			must.OK(t, os.WriteFile(path, b.Bytes(), 0o644))
		}
		kept := must.Get(png.Decode(bytes.NewReader(must.Read(t, path))))(t)
		want := image.NewRGBA(kept.Bounds())
		draw.Draw(want, want.Bounds(), kept, image.Point{}, draw.Src)
		if got.Bounds() != want.Bounds() || !bytes.Equal(got.Pix, want.Pix) {
			t.Errorf("the picture differs from %s", path)
		}
	}
}
