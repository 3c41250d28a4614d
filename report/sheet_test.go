package report

import (
	"image"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
)

func build(t *testing.T, s datasets.Builder) datasets.Dataset {
	t.Helper()
	d, err := s.Build(0)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func seq(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

func TestContactSheet(t *testing.T) {
	for _, e := range datasets.Registry.Entries {
		if e.Name == "grid" {
			continue
		}
		d := build(t, e.New())
		img, err := ContactSheet(d, SheetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		rows, columns := min(8, d.Factors()[0].Size), min(12, d.Factors()[1].Size)
		if h, ok := d.(datasets.Hierarchical); ok {
			_, choices := datasets.PathsOf(h, seq(h.Len()))
			rows, columns = min(8, len(choices)), 12
		}
		if b := img.Bounds(); b.Dx() < columns*64 || b.Dy() < rows*64 || b.Dx() > 1400 {
			t.Errorf("%s: the sheet measures %v", e.Name, b)
		}
		if _, ok := img.(*image.RGBA); !ok {
			t.Errorf("%T", img)
		}
	}
	d := build(t, &datasets.Square{Size: 8, Side: 2, Step: 1})
	for _, o := range []SheetOptions{
		{Row: "rows"}, {Column: "x"}, {Row: "row", Column: "row"}, {Fixed: map[string]int{"row": 8}}, {Fixed: map[string]int{"z": 0}},
	} {
		if _, err := ContactSheet(d, o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	if _, err := ContactSheet(d, SheetOptions{Row: "column", Column: "row", Rows: 2, Columns: 3}); err != nil {
		t.Error(err)
	}
}

func TestPathSheet(t *testing.T) {
	d := build(t, &datasets.Chopsticks{Variant: "both", Depth: 3, Samples: 50, Overwrite: "none"})
	if _, err := ContactSheet(d, SheetOptions{Row: "inter1"}); err == nil {
		t.Error("a factor is chosen")
	}
	one := build(t, &datasets.Spaceshapes{Samples: 2}) // fewer images than paths and columns
	if _, err := ContactSheet(one, SheetOptions{Rows: 1, Columns: 40}); err != nil {
		t.Error(err)
	}
}
