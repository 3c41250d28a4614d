package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/browser"
	"github.com/unravel-ml/unravel/internal/decode"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/raster"
	"github.com/unravel-ml/unravel/internal/report/web"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/models/hierarchy"
	"github.com/unravel-ml/unravel/train/weights"
)

// explored has codes of some spaces, and a decoder that copies the first columns to pixels.
func explored(spaces []models.Space) Explored {
	c := &decode.Codes{Spaces: spaces, Known: matrix.Matrix{Rows: 50}}
	c.Known.Cols = c.Width()
	r := rng.New(1, "codes")
	for range 50 * c.Width() {
		c.Known.Data = append(c.Known.Data, r.Float64())
	}
	return Explored{
		Codes: c, Starts: []int{3, 7}, At: matrix.Matrix{Rows: 2, Cols: c.Width(), Data: c.Known.Data[:2*c.Width()]},
		Pixels: make([]float32, 2*16),
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

// The total size of incompressible pictures remains below the limit of sheets, because pairs of controls have fewer
// steps.
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
	e := must.Get(Explore(x))(t)
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

// A page shows the picture of the nearest step for a code, also if only some steps have pictures, and at the end of a
// circle.
func TestCoarseSheetsInBrowser(t *testing.T) {
	x := explored([]models.Space{{Width: 2, Circle: true, Unit: true}, {First: 2, Width: 1}})
	e := must.Get(Explore(x))(t)
	s := must.Get(x.sheets(raster.PicturesOf(4, 4, 1, x.Pixels)))(t)
	controls := x.Codes.Controls()
	s.out.Maps = nil
	must.OK(t, s.add(&steppedControl{Control: controls[0], values: stepsOf(controls[0])},
		&steppedControl{Control: controls[1], values: stepsOf(controls[1])}, coarse))
	e.Sheets.Maps = append(e.Sheets.Maps[:2], s.out.Maps...)
	p := browser.Open(t).Page(save(t, Page{Title: "x", Explore: e}))
	low, high := controls[1].Low, controls[1].High
	for _, c := range []struct{ turn, line, wantTurn, wantLine float64 }{{0, 0, 0, 0}, {0.19, 0.99, 0.2, 1},
		{0.4, 0.26, 0.4, 0.25}, {0.9, 0.5, 0, 0.5}} {
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
			if want = 255 * min(max(want, 0), 1); !(math.Abs(got[i]-want) <= 1) {
				t.Errorf("%+v: column %d is shown as %v, want %.1f", c, i, got[i], want)
			}
		}
	}
}

// Figures that do not fit into the page are dropped. The order is: first figures with widgets, then by decreasing size.
func TestLargeFigures(t *testing.T) {
	figures := []Figure{{Name: "codes", PNG: make([]byte, 900)}, {Name: "traversals", PNG: make([]byte, 300)},
		{Name: "losses", PNG: make([]byte, 600)}, {Name: "x", PNG: make([]byte, 30)}}
	live := func(f Figure) bool { return f.Name == "traversals" || f.Name == "losses" }
	for room, want := range map[int]string{10000: "[]", 2440: "[]", 2439: "[2]", 1640: "[2]", 1639: "[1 2]", 1000: "[0 1 2]", 0: "[0 1 2 3]"} {
		must.Equal(t, fmt.Sprint(slices.Sorted(maps.Keys(droppedFigures(figures, live, room)))), want, "room for", room, "left out")
	}
	var b strings.Builder
	if err := WritePage(&b, Page{Figures: []Figure{{Name: "codes", Caption: "Codes.",
		PNG: make([]byte, pageBytes)}}}); err != nil || b.Len() > figureBytes || !strings.Contains(b.String(), "figures/codes.png in the run") {
		t.Errorf("%v, %d bytes", err, b.Len())
	}
}

func names(list []web.Control) (s string) {
	for _, c := range list {
		s += " " + c.Name
	}
	return strings.TrimSpace(s)
}

// Sheets contain each control alone, and as many pairs as there is space for. A control without space for its sheet is
// missing.
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
		e := must.Get(Explore(explored(x.spaces)))(t)
		if got := names(e.Controls); got != x.controls || len(e.Sheets.Maps) != x.maps || e.Decoder != nil ||
			e.Note != "it is of another module" {
			t.Errorf("controls %s and %d sheets; want %s and %d", got, len(e.Sheets.Maps), x.controls, x.maps)
		}
	}
	e := must.Get(Explore(explored([]models.Space{{Width: 300}})))(t)
	pictures := 0
	for _, m := range e.Sheets.Maps {
		pictures += m.Pictures.Count
	}
	if pictures > maxSheetPictures || len(e.Controls) != len(e.Sheets.Maps) || len(e.Controls) < 100 {
		t.Errorf("of 300 columns %d controls, %d sheets and %d pictures; want at most %d pictures",
			len(e.Controls), len(e.Sheets.Maps), pictures, maxSheetPictures)
	}
	bad := explored([]models.Space{{Width: 2}})
	bad.Decoder.Decode = func([]float32) ([]float32, error) { return nil, fmt.Errorf("no decoder today") }
	if _, err := Explore(bad); err == nil || err.Error() != "no decoder today" {
		t.Errorf("error %v", err)
	}
}

// A page computes small decoders itself. For a large decoder, it names the reason for not computing it.
func TestExploreReason(t *testing.T) {
	network := func(size, products int) *weights.Operations {
		half := size / 2
		return &weights.Operations{Constants: []weights.Constant{{Floats: make([]float32, half)},
			{Floats: make([]float32, size-half)}}, Products: products}
	}
	for want, n := range map[string]*weights.Operations{
		"": network(2_000_000, 40_000_000),
		"the decoder has 2.1 million weights, and a page holds at most 2":                             network(2_100_000, 0),
		"the decoder has 2.0 million weights, and a page holds at most 2":                             network(2_000_001, 40_000_001),
		"the decoder takes 40 million multiplications for an image, and a page computes at most 40":   network(0, 40_000_001),
		"the decoder takes 1234 million multiplications for an image, and a page computes at most 40": network(2_000_000, 1_234_000_000),
	} {
		x := Explored{Network: n, Reason: "none"}
		must.Equal(t, x.whyNoDecoder(), want)
	}
	if x := (Explored{Reason: "it is of another module"}); x.whyNoDecoder() != x.Reason {
		t.Errorf("without a network: %q", x.whyNoDecoder())
	}
}

// A control names the factor with the strongest dependence on its columns. A control of several spheres names none.
func TestFollowedControls(t *testing.T) {
	x := explored([]models.Space{{Width: 3, Sphere: true, Unit: true}, {First: 3, Width: 3, Sphere: true, Unit: true}, {First: 6, Width: 2}})
	x.Followed = map[int]Followed{0: {"size", 0.3}, 2: {"hue", 0.7}, 1: {"x", 0.5}, 7: {"y", 0.2}}
	var got []string
	for _, c := range x.controls(x.Codes.Controls()) {
		got = append(got, fmt.Sprint(c.Name, " ", c.Factor, " ", float64(c.Share)))
	}
	must.EqualSlices(t, got, []string{"sphere1 hue 0.7", "sphere2  0", "z6  0", "z7 y 0.2", "spheres  0"})
}

// Options have separate controls, steps of their own numbers, and known codes with values to borrow.
func TestExploreOptions(t *testing.T) {
	x := explored([]models.Space{{Width: 3}})
	x.Codes.Hierarchy = hierarchy.Hierarchy{{Options: []hierarchy.Hierarchy{{{}}, {}}}, {}}
	for i := range x.Codes.Known.Rows {
		copy(x.Codes.Known.Row(i), []float64{1, float64(i), 50})
		if i >= 48 {
			copy(x.Codes.Known.Row(i), []float64{2, 0, 50})
		}
	}
	for option, pictures := range map[float64][]int{1: {2, 9, 9, 18, 18, 81}, 2: {2, 9, 9, 18, 18, 81}} {
		x.At.Data = slices.Repeat([]float64{option, 3, 4}, 2)
		e := must.Get(Explore(x))(t)
		if names(e.Controls) != "a0 z1" || len(e.Controls[0].Options) != 2 ||
			names(e.Controls[0].Options[0].Controls) != "z0" || len(e.Controls[0].Options[1].Controls) != 0 || e.Controls[0].Options[0].Share != 0.96 {
			t.Errorf("controls %+v", e.Controls)
		}
		var counts []int
		for _, m := range e.Sheets.Maps {
			counts = append(counts, m.Pictures.Count)
		}
		if slices.Sort(counts); !slices.Equal(counts, pictures) {
			t.Errorf("option %v: pictures %v, want %v", option, counts, pictures)
		}
	}
	codes := decode.Codes{Spaces: []models.Space{{Width: 2}}, Hierarchy: hierarchy.Hierarchy{{Options: make([]hierarchy.Hierarchy, 400)}, {}}}
	var want []float32
	add := func(option, n int) {
		for i := range n {
			codes.Known.Rows++
			codes.Known.Data = append(codes.Known.Data, float64(option), float64(i))
		}
		for i := range min(n, 24) {
			want = append(want, float32(option), float32(i*n/min(n, 24)))
		}
	}
	codes.Known.Cols = 2
	add(1, 48) // every second one
	add(2, 30)
	add(300, 24)
	add(44, 23) // 300 - 256
	if got, want := knownCodes(&codes), web.Floats(want, len(want)/2, 2); !slices.Equal(got.Shape, want.Shape) ||
		string(got.Data) != string(want.Data) {
		t.Errorf("%d borrowed codes, want %d", got.Shape[0], want.Shape[0])
	}
}
