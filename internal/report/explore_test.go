package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/decode"
	"github.com/unravel-ml/unravel/internal/raster"
	"github.com/unravel-ml/unravel/internal/report/web"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models"
)

// explored has codes of some spaces and a decoder that copies the first columns into pixels.
func explored(spaces []models.Space) Explored {
	c := &decode.Codes{Spaces: spaces, Known: matrix.Matrix{Rows: 50}}
	c.Known.Cols = c.Width()
	r := rng.New(1, "codes")
	for range 50 * c.Width() {
		c.Known.Data = append(c.Known.Data, r.Float64())
	}
	return Explored{
		Codes: c, Starts: []int{3, 7}, At: matrix.Matrix{Rows: 2, Cols: c.Width(), Data: c.Known.Data[:2*c.Width()]}, Pixels: make([]float32, 2*16),
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

// Pictures that no file format makes smaller stay within the bytes of sheets: pairs of controls have fewer steps.
func TestSheetBytes(t *testing.T) {
	x := explored([]models.Space{{Width: 10}})
	x.Pixels = make([]float32, 2*64*64*3)
	x.Decoder = Decoder{Height: 64, Width: 64, Channels: 3, Decode: func(codes []float32) ([]float32, error) {
		pixels := make([]float32, len(codes)/10*64*64*3)
		stream := rng.New(0, "noise")
		for i := range pixels {
			pixels[i] = float32(stream.Float64())
		}
		return pixels, nil
	}}
	e, err := Explore(x)
	if err != nil {
		t.Fatal(err)
	}
	size, pairs := 0, 0
	for _, m := range e.Sheets.Maps {
		if size += len(m.Pictures.Source); m.Columns != "" {
			if pairs++; m.Every != coarse || m.Pictures.Count != 25 {
				t.Errorf("%d pictures of a pair, every %d", m.Pictures.Count, m.Every)
			}
		}
	}
	if size > maxSheetBytes || pairs == 0 || len(e.Controls) != 10 {
		t.Errorf("%d bytes, %d pairs, %d controls", size, pairs, len(e.Controls))
	}
}

// A code is shown by the picture of its nearest step also where only some steps have one, past the end of a circle, too.
func TestCoarseSheetsInBrowser(t *testing.T) {
	x := explored([]models.Space{{Width: 2, Circle: true, Unit: true}, {First: 2, Width: 1}})
	e, err := Explore(x)
	if err != nil {
		t.Fatal(err)
	}
	s, err := x.sheets(raster.PicturesOf(4, 4, 1, x.Pixels))
	if err != nil {
		t.Fatal(err)
	}
	controls := x.Codes.Controls()
	s.out.Maps = nil
	if err := s.add(&stepped{Control: controls[0], values: stepsOf(controls[0])}, &stepped{Control: controls[1], values: stepsOf(controls[1])}, coarse); err != nil {
		t.Fatal(err)
	}
	e.Sheets.Maps = append(e.Sheets.Maps[:2], s.out.Maps...)
	p := openBrowser(t).Page(save(t, Page{Title: "x", Explore: e}))
	low, high := controls[1].Low, controls[1].High
	for _, c := range []struct{ turn, line, wantTurn, wantLine float64 }{{0, 0, 0, 0}, {0.19, 0.99, 0.2, 1}, {0.4, 0.26, 0.4, 0.25}, {0.9, 0.5, 0, 0.5}} {
		code := func(turn, line float64) []float64 {
			return []float64{math.Cos(2 * math.Pi * turn), math.Sin(2 * math.Pi * turn), low + (high-low)*line}
		}
		var got []float64
		p.Eval(fmt.Sprintf(`new Promise((done) => {
			const data = Unravel.data("explore"), canvas = document.createElement("canvas");
			const picture = Unravel.picture(canvas, data, new Map(data.controls.map((c) => [c.name, c])), () => {
				picture.draw([%s], ["circle1", "z2"]);
				const seen = canvas.getContext("2d").getImageData(0, 0, 3, 1).data;
				if (seen[3]) done([0, 4, 8].map((at) => seen[at]));
			});
		})`, strings.Trim(strings.Join(strings.Fields(fmt.Sprint(code(c.turn, c.line))), ","), "[]")), &got)
		for i, want := range code(c.wantTurn, c.wantLine) {
			if want = 255 * min(max(want, 0), 1); math.Abs(got[i]-want) > 1 {
				t.Errorf("%+v: column %d is shown as %v, want %.1f", c, i, got[i], want)
			}
		}
	}
}

// Figures that do not fit into the page are dropped, figures with widgets first, and the largest first.
func TestLargeFigures(t *testing.T) {
	figures := []Figure{{Name: "codes", PNG: make([]byte, 900)}, {Name: "traversals", PNG: make([]byte, 300)}, {Name: "losses", PNG: make([]byte, 600)}, {Name: "x", PNG: make([]byte, 30)}}
	live := func(f Figure) bool { return f.Name == "traversals" || f.Name == "losses" }
	for room, want := range map[int]string{10000: "[]", 2440: "[]", 2439: "[2]", 1640: "[2]", 1639: "[1 2]", 1000: "[0 1 2]", 0: "[0 1 2 3]"} {
		if got := fmt.Sprint(slices.Sorted(maps.Keys(large(figures, live, room)))); got != want {
			t.Errorf("room for %d: %s left out, want %s", room, got, want)
		}
	}
	var b strings.Builder
	if err := WritePage(&b, Page{Figures: []Figure{{Name: "codes", Caption: "Codes.", PNG: make([]byte, pageBytes)}}}); err != nil || b.Len() > figureBytes || !strings.Contains(b.String(), "figures/codes.png in the run") {
		t.Errorf("%v, %d bytes", err, b.Len())
	}
}

func names(list []web.Control) (s string) {
	for _, c := range list {
		s += " " + c.Name
	}
	return strings.TrimSpace(s)
}

// Sheets have every control alone, and as many pairs as fit. Without space for its sheet, a control is missing.
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
