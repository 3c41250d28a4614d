package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/models/decode"
	"github.com/unravel-ml/unravel/report/web"
	"github.com/unravel-ml/unravel/rng"
)

// explored has codes of some spaces and a decoder whose pixels are the first columns.
func explored(spaces []models.Space) Explored {
	c := &decode.Codes{Spaces: spaces, Known: metrics.Matrix{Rows: 50}}
	c.Known.Cols = c.Width()
	r := rng.New(1, "codes")
	for range 50 * c.Width() {
		c.Known.Data = append(c.Known.Data, r.Float64())
	}
	return Explored{
		Codes: c, Starts: []int{3, 7}, At: metrics.Matrix{Rows: 2, Cols: c.Width(), Data: c.Known.Data[:2*c.Width()]}, Pixels: make([]float32, 2*16),
		Reason: "it is of another module", Decoder: Decoder{Height: 4, Width: 4, Channels: 1, Decode: func(codes []float32) (pixels []float32, err error) {
			for i := range len(codes) / c.Width() {
				row := make([]float32, 16)
				copy(row, codes[i*c.Width():(i+1)*c.Width()])
				pixels = append(pixels, row...)
			}
			return pixels, nil
		}},
	}
}

func names(list []web.Control) (s string) {
	for _, c := range list {
		s += " " + c.Name
	}
	return strings.TrimSpace(s)
}

// Sheets have every control alone and the pairs for which there is room; what has none has no control.
func TestExploreSheets(t *testing.T) {
	sphere := func(first int) models.Space { return models.Space{First: first, Width: 3, Sphere: true, Unit: true} }
	for _, x := range []struct {
		spaces   []models.Space
		controls string
		maps     int
	}{
		{[]models.Space{{Width: 2, Circle: true, Unit: true}, {First: 2, Width: 2}}, "circle1 z2 z3", 3 + 3},
		{[]models.Space{sphere(0), sphere(3), {First: 6, Width: 1}}, "sphere1 sphere2 z6", 3},
		{[]models.Space{{Width: 4, Unit: true}, {First: 4, Width: 1}}, "sphere1 z4", 2},
		{[]models.Space{{Width: 20}}, "z0 z1 z2 z3 z4 z5 z6 z7 z8 z9 z10 z11 z12 z13 z14 z15 z16 z17 z18 z19", 20 + 10}, // 180 pictures, and pairs of 81
	} {
		e, err := Explore(explored(x.spaces))
		if err != nil {
			t.Fatal(err)
		}
		if got := names(e.Controls); got != x.controls || len(e.Sheets.Maps) != x.maps || e.Decoder != nil || e.Note != "it is of another module" {
			t.Errorf("controls %s and %d sheets; want %s and %d", got, len(e.Sheets.Maps), x.controls, x.maps)
		}
	}
	e, err := Explore(explored([]models.Space{{Width: 300}}))
	if err != nil {
		t.Fatal(err)
	}
	pictures := 0
	for _, m := range e.Sheets.Maps {
		pictures += m.Pictures.Count
	}
	if pictures > maxSheetPictures || len(e.Controls) != len(e.Sheets.Maps) || len(e.Controls) < 100 {
		t.Errorf("of 300 columns %d controls, %d sheets and %d pictures; want at most %d pictures", len(e.Controls), len(e.Sheets.Maps), pictures, maxSheetPictures)
	}
	bad := explored([]models.Space{{Width: 2}})
	bad.Decoder.Decode = func([]float32) ([]float32, error) { return nil, fmt.Errorf("no decoder today") }
	if _, err := Explore(bad); err == nil || err.Error() != "no decoder today" {
		t.Errorf("error %v", err)
	}
}
