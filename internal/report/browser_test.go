package report

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/unravel-ml/unravel/internal/browser"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

func TestMain(m *testing.M) { os.Exit(browser.Main(m)) }

// open opens an empty tab in the browser of the package's tests.
func open(t *testing.T) *browser.Page {
	t.Helper()
	return browser.Open(t).Tab()
}

// changes checks that an action changes the canvases of a section.
func changes(t *testing.T, p *browser.Page, section, what string, act func()) {
	t.Helper()
	var before, after string
	p.Eval(canvases(section), &before)
	act()
	p.Eval(canvases(section), &after)
	if before == after {
		t.Errorf("%s: %s changes nothing", section, what)
	}
}

// set chooses the entry of a list by its number.
func set(p *browser.Page, selector string, entry int) {
	p.Eval(fmt.Sprintf(`(() => { const s = document.querySelector(%q); s.selectedIndex = %d; s.dispatchEvent(new Event("change")); })()`, selector, entry), nil)
}

// fits checks that the page is not wider than its window at any width, and that all controls have names.
func fits(t *testing.T, p *browser.Page, name string) {
	t.Helper()
	for _, size := range long.Sample([][2]int64{{390, 844}, {3840, 2160}, {1280, 800}}, 2) {
		p.Resize(size[0], size[1])
		p.Eval(`new Promise((done) => setTimeout(done, 100))`, nil) // the page is redrawn a frame later
		if wider := p.Overflow(); wider > 0 {
			t.Errorf("%s: %d pixels too wide at %d", name, wider, size[0])
		}
		if words := p.Broken(); len(words) > 0 && name == "page" {
			t.Errorf("%s: broken words at %d: %q", name, size[0], words)
		}
		p.Shot(fmt.Sprint(name, "-", size[0]))
	}
	if list := p.Unnamed(); len(list) > 0 {
		t.Errorf("%s: controls without names: %q", name, list)
	}
}

func TestPageInBrowser(t *testing.T) {
	p := open(t)
	p.Still()
	p.Go(save(t, wholePage(t, 5, nil)))
	p.Wait(`document.querySelectorAll("#heat canvas").length >= 3`)
	changes(t, p, "curves", "a linear axis", func() { p.Click("#curves input[type=checkbox]") })
	changes(t, p, "curves", "zoom", func() { p.Drag("#curves .u-over", 60, 0) })
	var shown bool
	p.Eval(`!document.querySelector("#curves .corner button").hidden`, &shown)
	if !shown {
		t.Error("a zoomed panel has no button to show all")
	}
	changes(t, p, "curves", "all again", func() { p.Click("#curves .corner button") })
	changes(t, p, "curves", "a key on a name", func() { p.Press("#curves .u-legend tr:nth-child(2) th", kb.Enter) })

	for i, what := range []string{"across", "up", "colour"} {
		changes(t, p, "codes", what, func() { set(p, fmt.Sprintf("#codes .controls label:nth-child(%d) select", i+1), 4) })
	}
	changes(t, p, "codes", "arrow keys", func() { p.Press("#codes canvas", kb.ArrowRight) })
	var tip, said string
	p.Eval(`document.querySelector("#codes .tip:not([hidden])").textContent`, &tip)
	p.Eval(`document.querySelector("#codes output").textContent`, &said)
	if !strings.HasPrefix(tip, "image ") || !strings.HasPrefix(said, "image ") || !strings.Contains(tip, "row") {
		t.Errorf("arrow keys show %q and say %q", tip, said)
	}
	changes(t, p, "codes", "dragging the torus", func() { p.Drag("#codes canvas.turning", 40, 20) })
	changes(t, p, "codes", "turning by keys", func() { p.Press("#codes canvas.turning", kb.ArrowLeft) })
	changes(t, p, "codes", "turning by itself", func() {
		p.Click("#codes .cloud button")
		p.Eval(`new Promise((done) => setTimeout(done, 300))`, nil)
		p.Click("#codes .cloud button")
	})
	var before, after string
	p.Eval(`document.querySelector("#neighbours h3").textContent`, &before)
	p.Press("#codes canvas", kb.ArrowRight+kb.ArrowRight+kb.Enter)
	p.Eval(`document.querySelector("#neighbours h3").textContent`, &after)
	if before == after {
		t.Error("Enter on a point does not show its neighbours")
	}
	changes(t, p, "neighbours", "a picture", func() { p.Click("#neighbours .pictures button:nth-child(5)") })
	changes(t, p, "neighbours", "other pictures", func() { p.Click("#neighbours .controls > button") })
	for i, what := range []string{"rows", "columns"} {
		changes(t, p, "heat", what+" sorted", func() { set(p, fmt.Sprintf("#heat .controls label:nth-child(%d) select", i+1), 3) })
	}
	p.Press("#heat canvas", kb.ArrowRight)
	p.Eval(`document.querySelector("#heat output").textContent`, &said)
	if !strings.Contains(said, ": ") {
		t.Errorf("the cell reads %q", said)
	}
	var paper, dark string
	p.Eval(`getComputedStyle(document.body).backgroundColor`, &paper)
	for _, section := range []string{"curves", "codes", "heat"} {
		changes(t, p, section, "dark colours", func() { p.Click(".theme") })
	}
	p.Eval(`getComputedStyle(document.body).backgroundColor`, &dark)
	if paper == dark {
		t.Error("the theme's button changes no colours")
	}
	var printed, restored string
	p.Eval(`(() => { dispatchEvent(new Event("beforeprint")); const c = getComputedStyle(document.body).backgroundColor; dispatchEvent(new Event("afterprint")); return c; })()`, &printed)
	p.Eval(`getComputedStyle(document.body).backgroundColor`, &restored)
	if printed != "rgb(255, 255, 255)" || restored != dark {
		t.Errorf("printed on %s, then on %s; want white, then %s", printed, restored, dark)
	}
	fits(t, p, "page")
}

// The ticks of few epochs are whole numbers.
func TestTicksInBrowser(t *testing.T) {
	p := open(t)
	p.Go(save(t, Page{Title: "a run", Curves: RunCurves(nil, trained(20))}))
	for epochs := 1; epochs <= 4; epochs++ {
		var ticks []float64
		p.Eval(fmt.Sprintf(`(() => {
			const panel = { title: "a", x: "epoch", y: "b", log: false, series: [{ name: "c", x: [1, 2, 3, 4].slice(0, %d), y: [4, 3, 2, 1].slice(0, %[1]d) }] };
			const table = Unravel.curvesTable(panel.series);
			const plot = new uPlot(Unravel.curvesOptions(panel, 900, false, table[0], {}), table, (new_, init) => { document.body.append(new_.root); init(); });
			return new Promise((done) => setTimeout(() => done(plot.axes[0]._splits)));
		})()`, epochs), &ticks)
		if len(ticks) == 0 || slices.ContainsFunc(ticks, func(v float64) bool { return v != math.Trunc(v) }) {
			t.Errorf("ticks of %d epochs: %v", epochs, ticks)
		}
	}
	var texts []string
	p.Eval(`Unravel.formatTicks([34560.2, 34560.4, 34560.6])`, &texts)
	must.EqualSlices(t, texts, []string{"34560.2", "34560.4", "34560.6"}, "texts of ticks")
}

// Names are plain text, even if they look like markup or have any length and direction.
func TestHostileNamesInBrowser(t *testing.T) {
	p := open(t)
	p.Still()
	page := wholePage(t, 4, hostile)
	p.Go(save(t, page))
	p.Wait(`document.querySelectorAll("#heat canvas").length >= 3`)
	p.Eval(`document.querySelector("#heat details")?.setAttribute("open", "")`, nil)
	var title, config string
	p.Eval(`document.querySelector("h1").textContent`, &title)
	p.Eval(`document.querySelector("#yaml").textContent`, &config)
	if title != page.Title || config != page.Config {
		t.Errorf("title %q, config %q", title, config)
	}
	fits(t, p, "hostile")
}

// Pages have no sections for missing parts of a run.
func TestPartialPagesInBrowser(t *testing.T) {
	b := browser.Open(t)
	whole := wholePage(t, 4, nil)
	one, wide, still := wholePage(t, 1, nil), wholePage(t, 1000, nil), wholePage(t, 4, nil)
	still.Codes.Thumbnails, still.Codes.Factors = nil, nil
	for i := range one.Codes.Codes.Data {
		one.Codes.Codes.Data[i] = 0xff // NaN
	}
	for _, c := range []struct {
		name string
		page Page
		want string // ids of sections
	}{
		{"nothing", Page{Title: "x"}, ""},
		{"no epoch", Page{Title: "x", Curves: RunCurves(nil, nil), Config: "a: b"}, "config"},
		{"no codes", Page{Title: "x", Curves: whole.Curves, Metrics: whole.Metrics}, "metrics curves"},
		{"one column without numbers", Page{Title: "x", Codes: one.Codes}, "codes neighbours"},
		{"a thousand columns", Page{Title: "x", Codes: wide.Codes, Heat: wide.Heat}, "codes neighbours heat"},
		{"neither pictures nor factors", Page{Title: "x", Codes: still.Codes}, "codes neighbours"},
	} {
		p := b.Tab()
		p.Still()
		p.Go(save(t, c.page))
		p.Wait(`document.documentElement.classList.contains("live")`)
		var got, failures string
		p.Eval(`[...document.querySelectorAll("section")].map((s) => s.id).join(" ")`, &got)
		p.Eval(`[...document.querySelectorAll(".failure")].map((s) => s.textContent).join(" ")`, &failures)
		if got != c.want || failures != "" {
			t.Errorf("%s: sections %q, want %q; %s", c.name, got, c.want, failures)
		}
		if wider := p.Overflow(); wider > 0 {
			t.Errorf("%s: %d pixels too wide", c.name, wider)
		}
	}
}

// Every text has the contrast of WCAG's level AA against its background, in both themes, also while hovered or pressed.
func TestContrastInBrowser(t *testing.T) {
	p := open(t)
	p.Still()
	p.Go(save(t, wholePage(t, 4, nil)))
	p.Wait(`document.querySelectorAll("#heat canvas").length >= 3`)
	p.Eval(`document.querySelectorAll("details").forEach((d) => { d.open = true; })`, nil)
	p.Press("#codes canvas", kb.ArrowRight) // shows a tip
	for _, dark := range []bool{false, true} {
		p.Dark(dark)
		var faint []string
		var texts int
		p.Eval(contrasts, &faint)
		p.Eval(`[...document.querySelectorAll("body *")].filter((e) => e.checkVisibility()).length`, &texts)
		if len(faint) > 0 || texts < 100 {
			t.Errorf("dark %v: of %d elements, %q", dark, texts, faint)
		}
	}
}

// contrasts is a script that lists texts with too little contrast.
const contrasts = `(() => {
  const rgb = (text) => text.match(/[\d.]+/g).map(Number);
  const light = (c) => c.slice(0, 3).map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] === 1) return c;
    }
    return [255, 255, 255];
  };
  const list = [];
  for (const e of document.querySelectorAll("body *")) {
    if (!e.checkVisibility() || ![...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.data.trim() !== "") || e.closest(":disabled")) continue;
    const [a, b] = [light(rgb(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) list.push(e.tagName + "." + e.className + " " + ratio.toFixed(2) + " " + e.textContent.slice(0, 30));
  }
  return list;
})()`

var scripts = regexp.MustCompile(`(?s)<script.*?</script>`)

// Without scripts, a page has its text and all figures, and nothing that waits for scripts.
func TestWithoutScripts(t *testing.T) {
	var b bytes.Buffer
	must.OK(t, WritePage(&b, wholePage(t, 4, nil)))
	path := must.Write(t, filepath.Join(t.TempDir(), "report.html"), scripts.ReplaceAll(b.Bytes(), nil))
	p := browser.Open(t).Page(browser.File(path))
	var sections, figures string
	p.Eval(`[...document.querySelectorAll("section")].filter((s) => s.checkVisibility()).map((s) => s.id).join(" ")`, &sections)
	p.Eval(`[...document.querySelectorAll("figure")].filter((s) => s.checkVisibility()).map((s) => s.textContent).join(" ")`, &figures)
	if sections != "metrics figures config" || figures != "Losses. Others." {
		t.Errorf("sections %q, figures %q", sections, figures)
	}
}
