package train

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/unravel-ml/unravel/internal/browser"
	"github.com/unravel-ml/unravel/internal/decode"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/report/web"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models"
)

// numbers reads an array f32.
func numbers(a web.Array) (values []float64) {
	for raw := a.Data; len(raw) > 0; raw = raw[4:] {
		values = append(values, float64(math.Float32frombits(binary.LittleEndian.Uint32(raw))))
	}
	return values
}

// code returns the widget's code after the next frames.
func code(p *browser.Page) (code []float64) {
	p.Eval(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))`, nil)
	p.Eval(widget+".code", &code)
	return code
}

func near(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) <= 1e-6 })
}

// A choice opens the dimensions of its option, with values from decode.Codes. Curves are drawn.
func TestExploreOptions(t *testing.T) {
	e := playedExperiment(t, "cofhae/chopsticks", "dataset={chopsticks: {variant: both, depth: 2, samples: 400}}", "metrics=[]")
	x := must.Get(e.explorer(context.Background(), 150))(t)
	known := slices.Concat(numbers(x.Known), numbers(x.Starts.Codes))
	codes := &decode.Codes{Spaces: e.Model.Spaces(), Hierarchy: models.HierarchyOf(e.Model),
		Known: matrix.Matrix{Rows: len(known) / x.Columns, Cols: x.Columns, Data: known}}
	p := opened(t, browser.Open(t), e)
	tried := 0
	for range 4 {
		for i := range codes.Hierarchy.Categoricals() {
			radio := fmt.Sprintf(`[data-control="a%d"] input:not(:checked)`, i)
			var there bool
			if p.Eval(fmt.Sprintf(`document.querySelector('%s').offsetParent !== null`, radio), &there); !there {
				continue
			}
			before := code(p)
			p.Click(radio)
			after := code(p)
			if want := codes.Options(before, i)[int(after[i])-1]; !near(after, want) || after[i] == before[i] {
				t.Errorf("option %v of a%d makes of %v the code\n%v, want\n%v", after[i], i, before, after, want)
			}
			tried++
		}
	}
	if tried < 4 {
		t.Errorf("%d choices were open; want 4 at least", tried)
	}
	p.Shot("explore-curves")
	var colours int
	p.Eval(`(() => { const c = document.querySelector(".explore-picture"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, s = new Set();
		for (let i = 0; i < d.length; i += 4) s.add((d[i] << 16) + (d[i + 1] << 8) + d[i + 2]); return s.size; })()`, &colours)
	if colours < 3 {
		t.Errorf("the picture of curves has %d colours; want paper, axis and curve", colours)
	}
}

// Keys go to the ends, and buttons to start images and back. A playing control moves until stopped.
func TestExploreButtons(t *testing.T) {
	x := played["circle and plane"]
	e := playedExperiment(t, x.config, x.overrides...)
	p := opened(t, browser.Open(t), e)
	first := code(p)
	p.Click(".explore-starts button:nth-child(2)")
	second := code(p)
	if near(first, second) {
		t.Error("another start image has the same code")
	}
	p.Press(`[data-control="circle1"] .dial`, kb.Home)
	p.Press(`[data-control="z3"] input`, kb.Home)
	moved := code(p)
	p.Press(`[data-control="z3"] input`, kb.End)
	if end := code(p); !(math.Abs(moved[0]-1) <= 1e-9) || !(math.Abs(moved[1]) <= 1e-9) || !(moved[3] < end[3]) || moved[2] != second[2] {
		t.Errorf("Home of the dial and of z3 make of %v the code %v, and End of z3 %v", second, moved, end)
	}
	p.Press(`[data-control="circle1"] .dial`, kb.ArrowUp)
	code(p)
	var said string
	p.Eval(`document.querySelector('[data-control="circle1"] .dial').getAttribute("aria-valuetext")`, &said)
	must.Equal(t, said, "5 degrees", "the dial says")
	p.Click(".explore .reset")
	if got := code(p); !near(got, second) {
		t.Errorf("reset goes to %v; want %v", got, second)
	}
	p.Click(`[data-control="z2"] .play`)
	p.Wait(frames + " > 12 && " + widget + ".code[2] !== " + fmt.Sprint(second[2]))
	p.Click(`[data-control="z2"] .play`)
	stopped := code(p)
	if got := code(p); !near(got, stopped) || stopped[3] != second[3] {
		t.Errorf("a stopped control moves from %v to %v; the start was %v", stopped, got, second)
	}
	p.Still() // step by step from here on
	p.Click(`[data-control="circle1"] .play`)
	p.Wait(widget + ".code[0] !== " + fmt.Sprint(stopped[0]))
	a := code(p)
	if turned := math.Acos(a[0]*stopped[0]+a[1]*stopped[1]) * 180 / math.Pi; !(math.Mod(turned+0.01, 30) <= 0.02) {
		t.Errorf("a step of a turn is %v degrees; want 30", turned)
	}
}

// A decoder with more training replaces the earlier decoder and keeps the code.
func TestExploreUpdate(t *testing.T) {
	x := played["circles"]
	e := playedExperiment(t, x.config, x.overrides...)
	p := opened(t, browser.Open(t), e)
	p.Press(`[data-control="circle1"] .dial`, kb.Home)
	before, picture := code(p), shows(t, p, e, "the start")
	for _, name := range e.Model.Params().Names() {
		if values := e.Model.Params().Get(name).Float32s(); strings.HasPrefix(name, "decoder/") {
			slices.Reverse(values)
		}
	}
	learned := must.Get(e.explorer(context.Background(), 150))(t)
	text, err := json.Marshal(learned)
	must.OK(t, err)
	p.Eval(widget+".update("+string(text)+")", nil)
	if after := code(p); !near(before, after) {
		t.Errorf("the code %v becomes %v", before, after)
	}
	if slices.Equal(picture, shows(t, p, e, "the update")) {
		t.Error("another decoder shows the same picture")
	}
	var focused bool
	if p.Eval(`document.activeElement.matches('[data-control="circle1"] .dial')`, &focused); !focused {
		t.Error("the dial has lost the focus")
	}
	x = played["lines"]
	other := playedExperiment(t, x.config, x.overrides...)
	if learned, err = other.explorer(context.Background(), 150); err != nil {
		t.Fatal(err)
	}
	if text, err = json.Marshal(learned); err != nil {
		t.Fatal(err)
	}
	p.Eval(widget+".update("+string(text)+")", nil)
	must.Equal(t, len(code(p)), 6, "columns of the code of another model")
	shows(t, p, other, "the update to another model")
}

// A large decoder uses sheets. Two controls move within a sheet, and a third control starts a new sheet.
func TestExploreSheets(t *testing.T) {
	x := played["circle and plane"]
	e := playedExperiment(t, x.config, append(x.overrides, "model.delta-vae.encoder={mlp: {hidden: [600, 3000]}}")...)
	p := opened(t, browser.Open(t), e)
	start := code(p)
	p.Wait(`Array.from(document.images).every((i) => i.complete)`)
	p.Press(`[data-control="z2"] input`, kb.Home)
	p.Press(`[data-control="circle1"] .dial`, kb.Home)
	two := code(p)
	if two[0] != 1 || two[2] == start[2] || two[3] != start[3] {
		t.Errorf("two controls make of %v the code %v", start, two)
	}
	shows(t, p, e, "two controls have moved") // both at a step of the sheet
	p.Shot("explore-sheets")
	p.Press(`[data-control="z3"] input`, kb.End)
	three := code(p)
	if three[0] != 1 || three[2] != start[2] || three[3] == start[3] {
		t.Errorf("a third control makes of %v the code %v; want the first one to begin anew", two, three)
	}
	shows(t, p, e, "a third control has moved")
	var said string
	p.Eval(`document.querySelector(".note").textContent`, &said)
	if !strings.Contains(said, "million weights, and a page holds at most 2") {
		t.Errorf("the note says %q", said)
	}
}

// On sheets of spheres and options, a moved control changes the picture.
func TestExploreSheetsOfAllKinds(t *testing.T) {
	b := browser.Open(t)
	for _, c := range long.Sample([]struct{ name, model string }{{"hierarchy", "cofhae"}, {"spheres", "delta-vae"}}, 1) {
		name, x := c.name, played[c.name]
		p := opened(t, b, playedExperiment(t, x.config, append(x.overrides, "model."+c.model+".encoder={mlp: {hidden: [600, 3000]}}")...))
		p.Wait(`Array.from(document.images).every((i) => i.complete)`)
		var list []string
		p.Eval(`Array.from(document.querySelectorAll("[data-control]"), (r) => r.dataset.control)`, &list)
		if slices.Contains(list, "spheres") {
			t.Errorf("%s: sheets have a control of all spheres", name)
		}
		const drawn = `document.querySelector(".explore-picture").toDataURL()`
		changed := 0
		for _, c := range list {
			row := fmt.Sprintf(`[data-control=%q] `, c)
			var there bool
			if p.Eval(fmt.Sprintf("document.querySelector(%q).offsetParent !== null", row), &there); !there {
				continue
			}
			var before, after string
			code(p)
			p.Eval(drawn, &before)
			move(p, c, row)
			code(p)
			if p.Eval(drawn, &after); before != after {
				changed++
			}
		}
		if changed < 2 {
			t.Errorf("%s: %d controls change the picture", name, changed)
		}
	}
}

// BenchmarkExploreFrame measures the time of Chromium to decode and draw a picture of the quickstart.
func BenchmarkExploreFrame(b *testing.B) {
	for _, name := range []string{"circles", "sphere"} {
		b.Run(name, func(b *testing.B) {
			x := played[name]
			e := playedExperiment(b, x.config, x.overrides...)
			p := opened(b, browser.Open(b), e)
			p.Eval(`window.times = []; addEventListener("unravel-frame", (e) => times.push(e.detail.milliseconds))`, nil)
			for b.Loop() {
				p.Eval(`times.length = 0; new Promise((done) => {
					let i = 0;
					addEventListener("unravel-frame", function next() {
						if (++i === 120) { removeEventListener("unravel-frame", next); done(); } else `+widget+`.set(`+widget+`.code);
					});
					`+widget+`.set(`+widget+`.code);
				})`, nil)
			}
			var middle float64
			p.Eval(`times.sort((a, b) => a - b)[60]`, &middle)
			b.ReportMetric(middle, "ms/frame")
		})
	}
}
