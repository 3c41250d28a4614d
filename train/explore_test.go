package train

import (
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/internal/browser"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/report"
)

// played are experiments with every kind of control, on small data sets.
var played = map[string]struct {
	config    string
	overrides []string
	controls  string // their names
}{
	"circles":          {"quickstart", []string{"dataset={square: {size: 64, side: 16}}"}, "circle1 circle2"},
	"lines":            {"sprites/vae", []string{"metrics=[]"}, "z0 z1 z2 z3 z4 z5"},
	"hierarchy":        {"cofhae/spaceshapes", []string{"dataset={spaceshapes: {samples: 200}}", "metrics=[]"}, "z0 z1 a0 z2 z3 z4 a1 z5"},
	"circle and plane": {"delta-vae/square", []string{"model.delta-vae.latent=[{sphere: {dim: 1}}, {euclidean: {dim: 2}}]"}, "circle1 z2 z3"},
	"sphere":           {"delta-vae/poses", []string{"dataset={poses: {object: cone, rotations: hopf, count: 72, hues: 2}}"}, "sphere1 circle1"},
	"spheres":          {"delta-vae/square", []string{"model.delta-vae.latent=[{sphere: {dim: 2}}, {sphere: {dim: 3}}, {sphere: {dim: 2}}]"}, "sphere1 sphere2 sphere3 spheres"},
	"choices":          {"joint-vae/spaceshapes", []string{"dataset={spaceshapes: {samples: 200}}", "metrics=[]"}, "a0 a1 z0 z1 z2 z3 z4 z5 z6"},
}

// playedExperiment builds an experiment with decoder weights as large as after training.
func playedExperiment(t testing.TB, name string, overrides ...string) *Experiment {
	t.Helper()
	text := must.Get(configs.Read(name))(t)
	c := must.Get(Load(name, text, overrides...))(t)
	e := must.Get(NewExperiment(c))(t)
	for _, name := range e.Model.Params().Names() {
		times := float32(1)
		switch {
		case strings.HasPrefix(name, "latent/"):
			times = 10
		case strings.HasPrefix(name, "decoder/") && strings.HasSuffix(name, "weight"):
			times = 3.5
		}
		values := e.Model.Params().Get(name).Float32s()
		for i := range values {
			values[i] *= times
		}
	}
	return e
}

// opened writes the page of an experiment and opens it.
func opened(t testing.TB, b *browser.Browser, e *Experiment) *browser.Page {
	t.Helper()
	x := must.Get(e.explorer(context.Background(), 150))(t)
	path := filepath.Join(t.TempDir(), "report.html")
	f := must.Get(os.Create(path))(t)
	defer f.Close()
	must.OK(t, report.WritePage(f, report.Page{Title: e.Config.Name, Explore: x}))
	p := b.Page(browser.File(path))
	p.Wait(frames + " > 0")
	return p
}

// JavaScript expressions for the page's widget.
const (
	widget = `document.querySelector("[data-widget=explore]").widget`
	frames = widget + ".frames"
)

// shows checks that the picture equals the decoder's within 2 of 255, and returns its pixels.
func shows(t testing.TB, p *browser.Page, e *Experiment, after string) []int {
	t.Helper()
	p.Eval(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))`, nil)
	var code []float32
	p.Eval(widget+".code", &code)
	var got []int
	p.Eval(`(() => { const c = document.querySelector(".explore-picture"); return Array.from(c.getContext("2d").getImageData(0, 0, c.width, c.height).data); })()`, &got)
	want := must.Get(e.Coder.Decode(code))(t)
	h, w, c := e.Data.ImageShape()
	if len(got) != 4*h*w {
		t.Fatalf("a picture of %d numbers; want %d", len(got), 4*h*w)
	}
	if contrast := slices.Max(want) - slices.Min(want); !(contrast >= 0.5) {
		t.Errorf("after %s: pixels between %v and %v; want pictures that show something", after, slices.Min(want), slices.Max(want))
	}
	worst := 0.0
	for i := range h * w {
		for k := range 3 {
			worst = max(worst, math.Abs(float64(got[4*i+k])-255*float64(want[i*c+k%c])))
		}
	}
	if !(worst <= 2) {
		t.Errorf("after %s: the picture differs by %.2f of 255, want at most 2", after, worst)
	}
	return got
}

// Every control of every kind of latent space changes the picture, with keyboard, pointer and buttons. The picture
// comes from the decoder.
func TestExploreInBrowser(t *testing.T) {
	b := browser.Open(t)
	for _, name := range long.Sample(slices.Sorted(maps.Keys(played)), 3) {
		x := played[name]
		t.Run(name, func(t *testing.T) {
			e := playedExperiment(t, x.config, x.overrides...)
			p := opened(t, b, e)
			before := shows(t, p, e, "the start")
			var names []string
			p.Eval(`Array.from(document.querySelectorAll("[data-control]"), (r) => r.dataset.control)`, &names)
			must.Equal(t, strings.Join(names, " "), x.controls, "controls")
			for _, c := range slices.Backward(names) { // dimensions of options before the options
				row := fmt.Sprintf(`[data-control=%q] `, c)
				var there bool
				if p.Eval(fmt.Sprintf("document.querySelector(%q).offsetParent !== null", row), &there); !there {
					continue // under an unchosen option
				}
				move(p, c, row)
				after := shows(t, p, e, c+" has moved")
				if slices.Equal(before, after) {
					t.Errorf("%s does not change the picture", c)
				}
				before = after
			}
			if list := p.Unnamed(); len(list) > 0 {
				t.Errorf("controls without names: %q", list)
			}
			for _, width := range []int64{390, 1280, 3840} {
				p.Resize(width, 900)
				if wider := p.Overflow(); wider > 0 {
					t.Errorf("%d pixels too wide at %d", wider, width)
				}
				p.Shot(fmt.Sprintf("explore-%s-%d", name, width))
			}
			p.Resize(1280, 800)
			p.Dark(true)
			p.Shot("explore-" + name + "-dark")
		})
	}
}

// move moves a control with the keyboard, the pointer or a button.
func move(p *browser.Page, name, row string) {
	switch {
	case name[0] == 'z':
		p.Press(row+"input", kb.End)
	case name == "sphere2": // four columns
		p.Press(row+"input", kb.PageUp)
	case name[0] == 'a':
		p.Click(row + "input:not(:checked)")
	case name[0] == 'c':
		p.Drag(row+".dial", 5, 30)
		p.Press(row+".dial", kb.ArrowLeft)
	default:
		p.Drag(row+".ball", 30, 20)
		p.Press(row+".ball", kb.ArrowUp)
	}
}
