package report

import (
	"bytes"
	"encoding/base64"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics"
)

// drawnTwice has the first words of the names of figures that show has drawn twice.
var drawnTwice = map[string]bool{}

// show draws a figure. The PNG file must be reproducible and have a sensible size, and nothing may be cut off at its
// edges. To look at the figures, set UNRAVEL_FIGURES to a folder.
func show(t *testing.T, name string, figure func(w io.Writer) error) image.Image {
	t.Helper()
	var a, b bytes.Buffer
	if err := figure(&a); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	differ := func() bool { return figure(&b) != nil || !bytes.Equal(a.Bytes(), b.Bytes()) }
	kind, _, _ := strings.Cut(name, " ")
	once := kind == "curves" && name != "curves losses" || drawnTwice[kind] && !long.Enabled() // these differ only in data
	drawnTwice[kind] = drawnTwice[kind] || !once
	if !once && differ() {
		t.Errorf("%s: the same data give other bytes", name)
	}
	if dir := os.Getenv("UNRAVEL_FIGURES"); dir != "" {
		must.Write(t, filepath.Join(dir, name+".png"), a.Bytes())
	}
	img := must.Get(png.Decode(&a))(t)
	if s := img.Bounds().Size(); s.X < 100 || s.Y < 60 || s.X > 4000 || s.Y > 6000 {
		t.Errorf("%s measures %v", name, s)
	}
	checkMargin(t, name, img)
	checkThumbnail(t, name, img)
	return img
}

var update = flag.Bool("update", false, "write the thumbnails of figures; with -long for all of them")

// pinned holds one figure per line: the name, a tab, and the brightness of its fields in base64.
const pinned = "testdata/thumbnails.txt"

const fieldsX, fieldsY = 48, 36 // of a thumbnail

// checkThumbnail compares a figure with its stored thumbnail. Other machines round the edges of shapes differently.
func checkThumbnail(t *testing.T, name string, img image.Image) {
	t.Helper()
	text := must.Read(t, pinned)
	got, all := thumbnail(img), map[string]string{}
	for line := range strings.Lines(string(text)) {
		of, fields, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		all[of] = fields
	}
	if *update {
		all[name] = base64.StdEncoding.EncodeToString(got)
		var lines strings.Builder
		for _, of := range slices.Sorted(maps.Keys(all)) {
			lines.WriteString(of + "\t" + all[of] + "\n")
		}
		must.Write(t, pinned, lines.String())
		return
	}
	want, err := base64.StdEncoding.DecodeString(all[name])
	if err != nil || len(want) != len(got) {
		t.Fatalf("%s has no thumbnail, %v; want one: look at the figure, then -update", name, err)
	}
	for i := range want {
		if v := got[i]; max(v, want[i])-min(v, want[i]) > 5 { // two or three pixels of a field
			t.Errorf("%s: field %d of row %d has brightness %d, want %d; look at the figure, then -update", name, i%fieldsX, i/fieldsX, v, want[i])
			return
		}
	}
}

// thumbnail returns the mean brightness of the fields, row by row.
func thumbnail(img image.Image) []byte {
	size, cells := img.Bounds().Size(), make([]byte, 0, fieldsX*fieldsY)
	for y := range fieldsY {
		for x := range fieldsX {
			sum, n := 0.0, 0.0
			for j := y * size.Y / fieldsY; j < (y+1)*size.Y/fieldsY; j++ {
				for i := x * size.X / fieldsX; i < (x+1)*size.X/fieldsX; i++ {
					r, g, b, _ := img.At(img.Bounds().Min.X+i, img.Bounds().Min.Y+j).RGBA()
					sum += (0.25*float64(r) + 0.5*float64(g) + 0.25*float64(b)) / 257
					n++
				}
			}
			cells = append(cells, byte(sum/n))
		}
	}
	return cells
}

// checkMargin checks that no text is cut off, because such a text would touch the edge.
func checkMargin(t *testing.T, name string, img image.Image) {
	t.Helper()
	b := img.Bounds()
	white := color.RGBAModel.Convert(color.White)
	for x := range b.Dx() {
		for y := range b.Dy() {
			if x > 1 && x < b.Dx()-2 && y > 1 && y < b.Dy()-2 {
				continue
			}
			if color.RGBAModel.Convert(img.At(x, y)) != white {
				t.Errorf("%s: something is drawn at the edge, at %d %d", name, x, y)
				return
			}
		}
	}
}

func losses() []Series {
	s := rng.New(0, "losses")
	all := []Series{{Name: "total"}, {Name: "reconstruction"}, {Name: "kl"}, {Name: "lsbd"}}
	for i := range 5000 {
		x := float64(i) / 4
		y := []float64{0, 900*math.Exp(-x/100) + 10 + s.NormFloat64(), 9.8 + 0.01*s.NormFloat64(), 2*math.Exp(-x/50) + 1e-4*s.Float64()}
		y[0] = y[1] + y[2] + y[3]
		for j := range all {
			all[j].X, all[j].Y = append(all[j].X, x), append(all[j].Y, y[j])
		}
	}
	return all
}

func TestCurves(t *testing.T) {
	long.NotShort(t)
	many := make([]Series, 12)
	for i := range many {
		many[i] = Series{Name: fmt.Sprint("a series with a long name, number ", i), X: []float64{0, 1}, Y: []float64{float64(i), 1}}
	}
	inf, nan := math.Inf(1), math.NaN()
	tests := []struct {
		name   string
		o      CurveOptions
		series []Series
	}{
		{"losses", CurveOptions{Title: "Losses", XLabel: "step", YLabel: "loss", Log: true}, losses()},
		{"linear", CurveOptions{Title: "Losses", XLabel: "epoch", YLabel: "loss"}, []Series{{"kl", []float64{1, 2, 3}, []float64{9.81, 9.83, 9.82}}}},
		{"gaps", CurveOptions{Title: "Gaps", Log: true}, []Series{{"a", []float64{0, 1, 2, 3, 4, 5, 6}, []float64{1, 0.5, 0, -1, 0.2, nan, inf}}}},
		{"never positive", CurveOptions{Log: true}, []Series{{"a", []float64{0, 1, 2}, []float64{0, -1, 0}}}},
		{"never finite", CurveOptions{Log: true}, []Series{{"a", []float64{0, 1}, []float64{nan, inf}}}},
		{"constant", CurveOptions{Log: true}, []Series{{"a", []float64{5, 5}, []float64{3, 3}}}},
		{"one point", CurveOptions{}, []Series{{"a", []float64{5}, []float64{0}}}},
		{"no points", CurveOptions{Log: true}, []Series{{Name: "a"}}},
		{"no series", CurveOptions{Title: "nothing"}, nil},
		{"huge and tiny", CurveOptions{Log: true}, []Series{{"a", []float64{0, 1e9}, []float64{1e-300, 1e300}}}},
		{"many", CurveOptions{Title: "Many"}, many},
		{"marked", CurveOptions{XLabel: "columns", YLabel: "score", LogX: true, Marked: true}, []Series{{"a", []float64{3, 10, 100, 1000}, []float64{1, 4, 2, 3}}, {"b", []float64{8, 1000}, []float64{2, 2}}}},
		{"places", CurveOptions{LogX: true, Marks: []Mark{{"here", 10}, {"there", 300}}}, []Series{{"many", hundred(1.07), hundred(1.01)}}},
		{"ranks", CurveOptions{YLabel: "rank", Names: []string{"MIG", "SAP", "a name that is much too long for a tick of an axis", "DCI"}, Down: true, Marked: true}, []Series{{"a", []float64{0, 1, 2, 3}, []float64{1, 2, 1.5, 1}}, {"b", []float64{0, 1, 2, 3}, []float64{2, 1, 1.5, nan}}}},
		{"one rank", CurveOptions{Names: []string{"MIG"}, Down: true}, []Series{{"a", []float64{0}, []float64{1}}}},
		{"one marked point", CurveOptions{LogX: true, Marked: true}, []Series{{"a", []float64{5}, []float64{0}}}},
	}
	for _, test := range tests {
		show(t, "curves "+test.name, func(w io.Writer) error { return Curves(w, test.o, test.series) })
	}
	if err := Curves(io.Discard, CurveOptions{}, []Series{{"a", []float64{1}, nil}}); err == nil {
		t.Error("lengths that differ are no error")
	}
	for _, x := range []float64{0, -1, nan} {
		if err := Curves(io.Discard, CurveOptions{LogX: true}, []Series{{"a", []float64{1, x}, []float64{1, 1}}}); err == nil {
			t.Errorf("%v on a logarithmic axis is no error", x)
		}
	}
}

func TestTicks(t *testing.T) {
	label := func(ticks []plot.Tick) (s []string) {
		for _, tick := range ticks {
			if tick.Label != "" {
				s = append(s, tick.Label)
			}
		}
		return s
	}
	tests := []struct {
		ticker plot.Ticker
		lo, hi float64
		want   string
	}{
		{linearTicks{}, 0, 1, "[0 0.2 0.4 0.6 0.8 1]"},
		{linearTicks{}, -3, 17, "[0 5 10 15]"},
		{linearTicks{}, 9.806, 9.834, "[9.81 9.815 9.82 9.825 9.83]"},
		{linearTicks{}, -0.01, 1, "[0 0.2 0.4 0.6 0.8 1]"},
		{sparseTicks{}, 1.7e9, 1.7e9 + 7.8e5, "[1.7001e+09 1.7004e+09 1.7007e+09]"},
		{sparseTicks{}, -3, 17, "[0 5 10 15]"},
		{sparseTicks{}, -1e-13, 3e-8, "[0 1e-08 2e-08 3e-08]"},
		{linearTicks{}, 0, 1e7, "[0 2e+06 4e+06 6e+06 8e+06 1e+07]"},
		{logTicks{}, 0.001, 1000, "[0.001 0.01 0.1 1 10 100 1000]"},
		{logTicks{}, 0.9, 30, "[1 2 5 10 20]"},
		{logTicks{}, 2, 3, "[2 2.2 2.4 2.6 2.8 3]"},
		{logTicks{}, 1e-20, 1, "[1e-20 1e-18 1e-16 1e-14 1e-12 1e-10 1e-08 1e-06 0.0001 0.01 1]"},
	}
	for _, test := range tests {
		must.Equal(t, fmt.Sprint(label(test.ticker.Ticks(test.lo, test.hi))), test.want, test.ticker, test.lo, "to", test.hi)
	}
}

// torus makes angles that depend on two factors by rotation, reflection and bending.
func torus(n int) (circles, factors []Column) {
	s := rng.New(0, "torus")
	circles, factors = []Column{{Name: "circle 1"}, {Name: "circle 2"}}, []Column{{Name: "row"}, {Name: "column"}}
	for i := range n * n {
		a, b := 2*math.Pi*float64(i/n)/float64(n), 2*math.Pi*float64(i%n)/float64(n)
		factors[0].Values, factors[1].Values = append(factors[0].Values, a), append(factors[1].Values, b)
		circles[0].Values = append(circles[0].Values, math.Mod(1-b+0.05*s.NormFloat64(), 2*math.Pi))
		circles[1].Values = append(circles[1].Values, a+2+0.3*math.Sin(a))
	}
	return circles, factors
}

func TestTorus(t *testing.T) {
	long.NotShort(t)
	circles, factors := torus(24)
	show(t, "torus", func(w io.Writer) error { return drawTorus(w, "Latent torus", circles, factors) })
	show(t, "torus one circle", func(w io.Writer) error { return drawTorus(w, "", circles[:1], factors[1:]) })
	three := append(append([]Column(nil), circles...), factors[0])
	show(t, "torus three circles", func(w io.Writer) error { return drawTorus(w, "Three circles", three, factors) })
}

// The key of the colours is 180 points wide. Each of its labels stands below the colour of its angle.
func TestHueBar(t *testing.T) {
	var pen recorder.Canvas
	hueBar(draw.NewCanvas(&pen, 200, 40))
	style := draw.TextStyle{Font: sans(9), Handler: plot.DefaultTextHandler}
	found := 0
	for _, a := range pen.Actions {
		text, ok := a.(*recorder.FillString)
		if !ok || strings.HasPrefix(text.String, "colour") {
			continue
		}
		found++
		angle, err := strconv.ParseFloat(text.String, 64)
		middle := float64(text.Point.X + style.Width(text.String)/2)
		if err != nil || !(math.Abs(middle-(10+angle/2)) <= 0.01) {
			t.Errorf("%q stands at %v: %v", text.String, middle, err)
		}
	}
	must.Equal(t, found, 5, "labels")
	for _, tick := range circleTicks {
		must.Equal(t, tick.Label, fmt.Sprint(tick.Value), tick)
	}
}

func TestAlign(t *testing.T) {
	circles, factors := torus(16)
	for c, want := range []int{1, 0} {
		aligned, match := align(circles[c].Values, factors)
		if match != want {
			t.Fatalf("circle %d follows factor %d", c, match)
		}
		for i, a := range aligned {
			if d := math.Remainder(a-factors[match].Values[i], 2*math.Pi); !(math.Abs(d) <= 0.4) {
				t.Fatalf("circle %d, image %d is off by %v", c, i, d)
			}
		}
	}
	for _, d := range []float64{-720, -1, 0, 359, 360, 1000} {
		if w := wrap(d); !(w >= 0 && w < 360) || !(math.Abs(math.Remainder(w-d, 360)) <= 1e-9) {
			t.Errorf("wrap(%v) = %v", d, w)
		}
	}
}

func TestCodesAgainstFactors(t *testing.T) {
	long.NotShort(t)
	circles, factors := torus(16)
	show(t, "codes", func(w io.Writer) error {
		return CodesAgainstFactors(w, "Codes", circles, factors)
	})
	var wide []Column
	for i := range 14 {
		wide = append(wide, Column{fmt.Sprint("z", i), []float64{1, math.NaN(), 3}})
	}
	show(t, "codes wide", func(w io.Writer) error {
		return CodesAgainstFactors(w, "Wide", wide, []Column{{"f", []float64{0, 0, 0}}})
	})
	if err := CodesAgainstFactors(io.Discard, "", wide, factors[:1]); err == nil {
		t.Error("lengths that differ are no error")
	}
	if err := CodesAgainstFactors(io.Discard, "", nil, nil); err == nil {
		t.Error("nothing to show is no error")
	}
}

func TestImages(t *testing.T) {
	in, out := make([]float32, 20*16*16*3), make([]float32, 20*16*16*3)
	for i := range in {
		in[i] = float32(i%48) / 48
		out[i] = in[i] + 0.1
	}
	show(t, "reconstructions", func(w io.Writer) error { return Reconstructions(w, "Reconstructions", in, out, 16, 16, 3) })
	same := Decoder{func(codes []float32) ([]float32, error) { return codes, nil }, 16, 16, 3} // the images are their codes
	show(t, "traversals", func(w io.Writer) error {
		return traversalSheet(w, "Traversals", "degrees", []string{"circle 1", "circle 2"},
			strings.Split("0 36 72 108 144 180 216 252 288 324", " "), in, same)
	})
	for i, err := range []error{
		Reconstructions(io.Discard, "", in, out[1:], 16, 16, 3),
		Reconstructions(io.Discard, "", in[1:], out[1:], 16, 16, 3),
		Reconstructions(io.Discard, "", in, out, 16, 13, 4),
		traversalSheet(io.Discard, "", "", []string{"a"}, make([]string, 12), in, same),
		traversalSheet(io.Discard, "", "", nil, make([]string, 12), nil, same),
	} {
		if err == nil {
			t.Errorf("case %d: no error", i)
		}
	}
}

func TestReport(t *testing.T) {
	var figure bytes.Buffer
	circles, factors := torus(8)
	must.OK(t, drawTorus(&figure, "torus", circles, factors))
	r := Page{
		Title:   "lsbd-vae-square <1>",
		Summary: []Fact{{"seed", "0"}, {"time", "52 s"}},
		Config:  "name: \"lsbd & vae\"\nlosses:\n  - kl: {}\n",
		Metrics: []metrics.Result{{Name: "dlsbd", Value: 0.000912345, Better: metrics.LowerIsBetter,
			Parts: []metrics.Part{{Name: "per_subgroup", Labels: []string{"row", "column"},
				Values: []float64{0.0009, 0.0009246}}, {Name: "many", Values: make([]float64, 40)}},
			Notes: []string{"codes do not depend on <row>"}}},
		Figures: []Figure{{Name: "torus", Caption: "latent torus", PNG: figure.Bytes()}},
	}
	var b bytes.Buffer
	must.OK(t, WritePage(&b, r))
	for _, want := range []string{
		"<h1>lsbd-vae-square &lt;1&gt;</h1>", "0.0009123", "row 0.0009, column 0.0009246", "and 16 more",
		"&lt;row&gt;", "lsbd &amp; vae", `src="data:image/png;base64,iVBORw0KGgo`, "52 s",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in the report", want)
		}
	}
	if regexp.MustCompile(`(src|href)="[^#d]`).MatchString(b.String()) { // only anchors and data: URLs
		t.Error("the report needs other files")
	}
	if dir := os.Getenv("UNRAVEL_FIGURES"); dir != "" {
		os.WriteFile(filepath.Join(dir, "report.html"), b.Bytes(), 0o600)
	}
	b.Reset()
	if err := WritePage(&b, Page{Title: "empty"}); err != nil || strings.Contains(b.String(), "<h2") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

func BenchmarkTorus(b *testing.B) {
	circles, factors := torus(64)
	for b.Loop() {
		must.OK(b, drawTorus(io.Discard, "", circles, factors))
	}
}

// hundred returns the first hundred powers of a number.
func hundred(base float64) (list []float64) {
	for i := range 100 {
		list = append(list, math.Pow(base, float64(i)))
	}
	return list
}
