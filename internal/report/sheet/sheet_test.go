package sheet

import (
	"image"
	"math"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/catalog"
	"github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// build builds a data set. Without the flag -long, it reduces slow data sets.
func build(t *testing.T, s datasets.Builder) datasets.Dataset {
	t.Helper()
	if !long.Enabled() {
		switch s := s.(type) {
		case *drawn.Spaceshapes:
			s.Samples = min(s.Samples, 500)
		case *drawn.Room:
			s.Scales, s.Orientations = 2, 3
		case *drawn.Cars:
			s.Objects = min(s.Objects, 30)
		}
	}
	return must.Get(s.Build(0))(t)
}

func TestContactSheet(t *testing.T) {
	long.NotShort(t)
	for _, e := range catalog.Registry.All() {
		if _, public := e.New().(datasets.Public); public || e.Name == "grid" || e.Name == "folder" {
			continue
		}
		d := build(t, e.New())
		img := must.Get(Contact(d, Options{}))(t)
		row, column, err := sheetFactors(d, Options{})
		must.OK(t, err)
		rows, columns := min(8, d.Factors()[row].Size), min(12, d.Factors()[column].Size)
		if h, ok := d.(datasets.Hierarchical); ok {
			_, choices := datasets.PathsOf(h, numeric.UpTo(h.Len()))
			rows, columns = min(8, len(choices)), 12
		}
		if b := img.Bounds(); b.Dx() < columns*64 || b.Dy() < rows*64 || b.Dx() > 1400 {
			t.Errorf("%s: the sheet measures %v", e.Name, b)
		}
		if _, ok := img.(*image.RGBA); !ok {
			t.Errorf("%T", img)
		}
	}
	d := build(t, &drawn.Square{Size: 8, Side: 2, Step: 1})
	for _, o := range []Options{
		{Row: "rows"}, {Column: "x"}, {Row: "row", Column: "row"}, {Fixed: map[string]int{"row": 8}}, {Fixed: map[string]int{"z": 0}},
	} {
		if _, err := Contact(d, o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	if _, err := Contact(d, Options{Row: "column", Column: "row", Rows: 2, Columns: 3}); err != nil {
		t.Error(err)
	}
}

// If there are many factors, the sheet shows the two most informative ones. The others have their middle levels.
func TestSheetFactors(t *testing.T) {
	long.NotShort(t)
	for set, want := range map[string]string{
		"square": "row column", "flatland": "row column", "arrow": "hue rotation", "sprites": "shape orientation", "room": "shape floor_hue",
		"cars": "object azimuth", "norb": "category azimuth", "arm": "object_color horizontal_axis",
	} {
		c := must.Get(catalog.Named(set))(t)
		d := build(t, c.Value)
		row, column, err := sheetFactors(d, Options{})
		if got := d.Factors()[row].Name + " " + d.Factors()[column].Name; got != want || err != nil {
			t.Errorf("%s: %s, want %s; %v", set, got, want, err)
		}
		if _, column, err := sheetFactors(d, Options{Column: d.Factors()[0].Name}); column != 0 || err != nil {
			t.Errorf("%s: the first factor in columns: %d, %v", set, column, err)
		}
		if set == "arm" {
			if levels, err := fixedLevels(d, map[string]int{"object_shape": 3}); !slices.Equal(levels, []int{0, 3, 1, 1, 0, 20, 20}) || err != nil {
				t.Errorf("levels %v, %v", levels, err)
			}
		}
	}
	d := build(t, &drawn.Sprites{Size: 32, Scales: 3, Orientations: 1, Positions: 2, Channels: 1})
	for named, want := range map[[2]string]string{{"", "shape"}: "scale shape", {"scale", ""}: "scale shape",
		{"x", "y"}: "x y", {"shape", ""}: "shape scale"} {
		row, column, err := sheetFactors(d, Options{Row: named[0], Column: named[1]})
		if got := d.Factors()[row].Name + " " + d.Factors()[column].Name; got != want || err != nil {
			t.Errorf("%v: %s, want %s; %v", named, got, want, err)
		}
	}
}

// Images with equal levels are shown in their order.
func TestSheetInOrder(t *testing.T) {
	const n = 40
	pixels := make([]uint8, n*4)
	for i := range pixels {
		pixels[i] = uint8(6 * (i / 4))
	}
	levels := make([][]int, n) // of ten images each
	for i := range levels {
		levels[i] = []int{i / 10}
	}
	plain := must.Get(datasets.FromPixels("plain", pixels, 2, 2, 1, nil, nil))(t)
	groups, err := datasets.FromPixels("groups", pixels, 2, 2, 1, []factor.Factor{{Name: "group", Size: 4}}, levels)
	must.OK(t, err)
	for _, d := range []datasets.Dataset{plain, groups} {
		few := must.Get(Contact(d, Options{Rows: 2, Columns: 3, Scale: 4}))(t)
		found := map[uint32]bool{} // the greys of the sheet
		for y := range few.Bounds().Dy() {
			for x := range few.Bounds().Dx() {
				r, _, _, _ := few.At(x, y).RGBA()
				found[r>>8] = true
			}
		}
		for _, image := range []uint32{0, 6, 13, 20, 26, 33} {
			if !found[6*image] {
				t.Errorf("%s: image %d is not shown", d.Name(), image)
			}
		}
		all, err := Contact(d, Options{Rows: math.MaxInt, Columns: math.MaxInt, Scale: 1})
		if err != nil || all.Bounds().Dx() < 2*n {
			t.Errorf("%s: %v, %v", d.Name(), all, err)
		}
	}
	levels[0], levels[10] = []int{datasets.Unknown}, []int{datasets.Unknown}
	gaps := must.Get(datasets.FromPixels("gaps", pixels, 2, 2, 1, []factor.Factor{{Name: "group", Size: 4}}, levels))(t)
	for d, first := range map[datasets.Dataset][]int{groups: {0, 10, 20, 30}, gaps: {1, 11, 20, 30}} {
		if got := firstImages(d, -1, 0, []int{0}, []int{0, 1, 2, 3}, nil); !slices.Equal(got[0], first) {
			t.Errorf("%s: first images %v, want %v", d.Name(), got, first)
		}
		if got := firstImages(d, -1, 0, []int{0}, []int{1, 2}, map[string]int{"group": 2}); !slices.Equal(got[0], []int{-1, 20}) {
			t.Errorf("%s: first images of a fixed group %v", d.Name(), got)
		}
		if _, err := Contact(d, Options{Column: "group"}); err != nil {
			t.Error(err)
		}
	}
	if _, err := Contact(gaps, Options{}); err != nil {
		t.Error(err)
	}
	if _, err := Contact(nil, Options{}); err == nil {
		t.Error("no error about no data set")
	}
}

func TestPathSheet(t *testing.T) {
	d := build(t, &drawn.Chopsticks{Variant: "both", Depth: 3, Samples: 50, Overwrite: "none"})
	if _, err := Contact(d, Options{Row: "inter1"}); err == nil {
		t.Error("a factor is chosen")
	}
	one := build(t, &drawn.Spaceshapes{Samples: 2}) // fewer images than paths and columns
	if _, err := Contact(one, Options{Rows: 1, Columns: 40}); err != nil {
		t.Error(err)
	}
}
