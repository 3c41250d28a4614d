package serve

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/unravel-ml/unravel/internal/browser"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/interval"
	"github.com/unravel-ml/unravel/train/rundir"
)

// varied makes a folder of finished runs that differ in seed and weight of the loss lsbd. Results are invented: dlsbd
// is weight/1000 + seed/100.
func varied(t testing.TB, seeds int, weights ...int) string {
	t.Helper()
	var names []string
	for _, w := range weights {
		for seed := range seeds {
			names = append(names, fmt.Sprintf("weight%d_seed%d", w, seed))
		}
	}
	dir := folder(t, names...)
	for _, name := range names {
		var w, seed int
		must.Get(fmt.Sscanf(name, "weight%d_seed%d", &w, &seed))(t)
		edit(t, filepath.Join(dir, name, rundir.Config), func(s string) string {
			return strings.Replace(strings.Replace(s, "weight: 100", fmt.Sprint("weight: ", w), 1), "seed: 1", fmt.Sprint("seed: ", seed), 1)
		})
		config := must.Read(t, filepath.Join(dir, name, rundir.Config))
		edit(t, filepath.Join(dir, name, rundir.RecordFile), func(s string) string {
			var r rundir.Record
			must.OK(t, json.Unmarshal([]byte(s), &r))
			r.Config, r.Files, r.Before, r.Sum = rundir.FileHash(config), nil, nil, "" // it came from JSON
			text, _ := json.Marshal(r)                                                 // it came from JSON
			return string(text)
		})
		edit(t, filepath.Join(dir, name, rundir.MetricsFile), func(s string) string {
			var list []metrics.Result
			must.OK(t, json.Unmarshal([]byte(s), &list))
			list[0].Value = float64(w)/1000 + float64(seed)/100
			if w == weights[0] && seed == 0 {
				list[0].Interval = &interval.Interval{Percent: 95, Low: list[0].Value - 0.003, High: list[0].Value + 0.001}
			}
			text, _ := json.Marshal(list)
			return string(text)
		})
	}
	return dir
}

// edit changes a file.
func edit(t testing.TB, path string, change func(string) string) {
	t.Helper()
	text := must.Read(t, path)
	must.Write(t, path, change(string(text)))
}

// A copy of a run does not count in the mean of its group.
func TestCompareCopies(t *testing.T) {
	long.NotShort(t)
	dir := varied(t, 2, 10)

	must.OK(t, os.CopyFS(filepath.Join(dir, "zcopy"), os.DirFS(filepath.Join(dir, "weight10_seed0"))))
	_, h := started(t, dir, Options{})
	v := value[comparison](t, h.URL+"/api/compare?by=-seed")
	if len(v.Runs) != 3 || len(v.Groups) != 1 || v.Groups[0].Runs != 2 || !slices.Equal(v.Repeats, []string{"zcopy"}) {
		t.Fatalf("groups %+v, repeats %q", v.Groups, v.Repeats)
	}
	if e := v.Groups[0].Results[0]; e.Runs != 2 || !(math.Abs(float64(e.Value)-0.015) <= 1e-12) {
		t.Errorf("mean %+v, want 0.015 of 2 runs", e)
	} else if half := 12.706204736174694 * 0.005; e.Low == nil || !(math.Abs(float64(*e.High-*e.Low)-2*half) <= 1e-9) { // t with 1 degree of freedom
		t.Errorf("interval %v to %v, want a width of %v", e.Low, e.High, 2*half)
	}
}

func TestCompare(t *testing.T) {
	long.NotShort(t)
	_, h := started(t, varied(t, 3, 10, 20), Options{})
	all := value[comparison](t, h.URL+"/api/compare?by=-seed&colour=losses.2.lsbd.weight")
	if all.Matched != 6 || len(all.Runs) != 6 || !slices.Equal(all.Settings, []string{"losses.2.lsbd.weight", "seed"}) ||
		!slices.Equal(all.Colours, []string{"10.0", "20.0"}) {
		t.Fatalf("%+v", all)
	}
	if len(all.Groups) != 2 || all.Groups[0].Name != "weight 10.0" || all.Groups[1].Runs != 3 || all.Runs[5].Group != 1 ||
		all.Runs[5].Colour != 1 {
		t.Fatalf("groups %+v, runs %+v", all.Groups, all.Runs)
	}
	if len(all.Metrics) == 0 || all.Metrics[0] != (measuredMetric{"dlsbd", "lower"}) {
		t.Fatalf("metrics %+v", all.Metrics)
	}
	// 0.01, 0.02, 0.03 have mean 0.02 and standard deviation 0.01, and t with 2 degrees of freedom is
	// 4.302652729911275.
	e := all.Groups[0].Results[0]
	if half := 4.302652729911275 * 0.01 / math.Sqrt(3); !(math.Abs(float64(e.Value)-0.02) <= 1e-12) ||
		!(math.Abs(float64(*e.Low)-(0.02-half)) <= 1e-9) ||
		!(math.Abs(float64(*e.High)-(0.02+half)) <= 1e-9) || e.Runs != 3 {
		t.Errorf("mean %v from %v to %v of %d", e.Value, *e.Low, *e.High, e.Runs)
	}
	first := all.Runs[0]
	if r := first.Results[0]; first.Dir != "weight10_seed0" || r.Low == nil ||
		!(math.Abs(float64(*r.Low)-0.007) <= 1e-12) || !(math.Abs(float64(*r.High)-0.011) <= 1e-12) {
		t.Errorf("the stored interval: %+v", r)
	}
	if r := all.Runs[1].Results[0]; r.Low != nil {
		t.Errorf("an interval that was not stored: %+v", r)
	}
	if byGroup := value[comparison](t, h.URL+"/api/compare?by=-seed"); !slices.Equal(byGroup.Colours,
		[]string{"weight 10.0", "weight 20.0"}) || byGroup.Runs[4].Colour != 1 {
		t.Errorf("colours of groups: %+v", byGroup)
	}
	one := value[comparison](t, h.URL+"/api/compare?run=weight20_seed1&run=none&by=seed")
	if one.Matched != 1 || !slices.Equal(one.Missing, []string{"none"}) || one.Groups[0].Results[0].Low != nil ||
		one.Groups[0].Name != "seed 1" {
		t.Errorf("%+v", one)
	}
	if some := value[comparison](t, h.URL+"/api/compare?filter=seed%3C1"); some.Matched != 2 || len(some.Groups) != 0 {
		t.Errorf("%+v", some)
	}
	for _, q := range []string{"by=nothing", "colour=nothing", "filter=nothing", "filter=x"} {
		if a, text := ask(t, "GET", h.URL+"/api/compare?"+q); a.StatusCode != 400 || !strings.Contains(text, `"error"`) {
			t.Errorf("%s: %d %s", q, a.StatusCode, text)
		}
	}
}

// Answers before the end of the first scan are not cached.
func TestCompareReading(t *testing.T) {
	long.NotShort(t)
	s, h := started(t, folder(t, "one"), Options{})
	read := s.runs.latest.Load()
	for range 2 {
		for _, now := range []*snapshot{{reading: true}, read} {
			s.runs.latest.Store(now)
			for _, address := range []string{"/api/compare", "/api/runs"} {
				if v := value[struct{ Matched int }](t, h.URL+address); v.Matched == 0 && now == read {
					t.Errorf("%s: no run", address)
				}
			}
		}
	}
}

func TestCompareCurves(t *testing.T) {
	_, h := started(t, varied(t, 2, 10, 20), Options{})
	v := value[overlay](t, h.URL+"/api/compare/curves?colour=seed")
	var titles []string
	for _, p := range v.Curves.Panels {
		titles = append(titles, p.Title)
		if len(p.Series) != 4 || p.Series[1].Name != "1 · weight10_seed1" || *p.Series[1].Colour != 1 || *p.Series[2].Colour != 0 {
			t.Errorf("%s: %+v", p.Title, p.Series)
		}
	}
	grouped := value[overlay](t, h.URL+"/api/compare/curves?by=-seed")
	for i, name := range []string{"weight 10.0 · weight10_seed0", "weight 10.0 · weight10_seed1",
		"weight 20.0 · weight20_seed0", "weight 20.0 · weight20_seed1"} {
		if s := grouped.Curves.Panels[0].Series[i]; s.Name != name || *s.Colour != i/2 {
			t.Errorf("by settings: curve %d is %q, colour %d; want %q", i, s.Name, *s.Colour, name)
		}
	}
	if v.Runs != 4 || !strings.HasSuffix(titles[0], "during training") || !slices.Contains(titles, "Loss: supervised, lsbd") {
		t.Errorf("panels %q of %d runs", titles, v.Runs)
	}
	if p := v.Curves.Panels[slices.Index(titles, "Loss: supervised, lsbd")]; p.Series[0].X.Shape[0] != 3 || !p.Log {
		t.Errorf("%+v", p)
	}
}

// A thinned curve keeps its ends, and a peak of a single epoch.
func TestThinOut(t *testing.T) {
	for _, n := range []int{2, 400, 401, 1001, 4000} {
		for _, peak := range []int{0, 1, n / 3, n - 2, n - 1} {
			long := &points{}
			for i := range n {
				long.x, long.y = append(long.x, float32(i)), append(long.y, 1/float32(i+1))
			}
			long.y[peak] = 100
			x, y := long.thinOut()
			at := slices.Index(y, 100)
			if len(x) > maxCurvePoints || len(y) != len(x) || !slices.IsSorted(x) || x[0] != 0 || x[len(x)-1] != float32(n-1) ||
				at < 0 || x[at] != float32(peak) || n <= maxCurvePoints && len(x) != n {
				t.Errorf("%d points with a peak at %d: %d points from %v to %v, peak %d", n, peak, len(x), x[0], x[len(x)-1], at)
			}
		}
	}
}

// The runs of the folder fill in a table.
func TestTableFills(t *testing.T) {
	_, h := started(t, folder(t, "one"), Options{})
	all := value[[]tableEntry](t, h.URL+"/api/tables")
	if i := slices.IndexFunc(all, func(e tableEntry) bool { return e.Name == "lsbd-vae-table5" }); len(all) < 20 ||
		i < 0 || !all[i].Trains || all[i].Printed == 0 {
		t.Errorf("%+v", all)
	}
	table := value[tableAnswer](t, h.URL+"/api/table?name=lsbd-vae-table5&scale=quick")
	if table.Finished != 0 || table.Needed < 10 || table.Command != "unravel table lsbd-vae-table5 --scale quick" ||
		len(table.Lines) == 0 || len(table.Heads) != len(table.Lines[0].Cells) {
		t.Errorf("%+v", table)
	}
	if recorded := value[tableAnswer](t, h.URL+
		"/api/table?name=dialects&scale=quick"); recorded.Recorded != recorded.Needed || recorded.Needed == 0 {
		t.Errorf("the ledger has %d of %d runs", recorded.Recorded, recorded.Needed)
	}
	if sampled := value[tableAnswer](t, h.URL+"/api/table?name=enriching-table2"); sampled.Trains || sampled.Needed != 0 ||
		len(sampled.Lines) == 0 {
		t.Errorf("%+v", sampled)
	}
	for q, code := range map[string]int{"name=none": 404, "name=../table": 404, "name=": 404, "name=lsbd-vae-table5&scale=none": 400} {
		if a, text := ask(t, "GET", h.URL+"/api/table?"+q); a.StatusCode != code {
			t.Errorf("%s: %d %s", q, a.StatusCode, text)
		}
	}
}

// The pages in a browser: selection by keyboard, choice in the address, sorted tables.
func TestComparePages(t *testing.T) {
	b := browser.Open(t)
	_, h := started(t, varied(t, 3, 10, 20, 4000), Options{})
	p := b.Page("about:blank")
	p.Resize(390, 400)
	p.Go(h.URL + "/compare?by=-seed&colour=losses.2.lsbd.weight")
	p.Wait(`document.querySelectorAll("#curves h3").length > 3 && document.querySelectorAll("#table tbody tr").length === 9`)
	var drawn int
	if p.Eval(`document.querySelectorAll("#curves canvas").length`, &drawn); drawn > 0 {
		t.Errorf("%d panels of curves are drawn before they are seen", drawn)
	}
	var legends string // while the pointer is elsewhere
	p.Eval(`Unravel.curvesOptions({x: "epoch", y: "", series: [{name: "a"}]}, 9, false, [1, 2], {}).series[0].value({data: [[1, 2], [5, null]]}, null, 0, null)`, &legends)
	must.Equal(t, legends, "last of each", "epoch of curves that end at different epochs")
	p.Eval(`document.querySelector("#curves .panel:last-child").scrollIntoView(); 0`, nil)
	p.Wait(`document.querySelector("#curves .panel:last-child canvas") !== null`)
	p.Eval(`scrollTo(0, 0)`, nil)
	p.Resize(1280, 900)
	p.Wait(`document.querySelector("#metrics .interval-bar") !== null`)
	if list := p.Unnamed(); len(list) > 0 {
		t.Errorf("controls without a name: %v", list)
	}
	var n int
	p.Eval(`document.querySelectorAll("#metrics .interval-panel:first-child .interval-bar").length`, &n)
	must.Equal(t, n, 3, "intervals of groups")
	p.Click("#table thead th:nth-child(6) button") // dlsbd
	var first string
	p.Eval(`document.querySelector("#table tbody a").textContent`, &first)
	must.Equal(t, first, "weight10_seed0", "sorted by dlsbd", "is first")
	p.Click("#table thead th:nth-child(6) button")
	p.Wait(`document.querySelector("#table tbody a").textContent === "weight4000_seed2"`)
	shots(p, "compare", t)
	p.Press(`#parallel .handle[aria-label="losses.2.lsbd.weight, upper marker"]`, strings.Repeat(kb.PageDown, 4))
	p.Wait(`document.getElementById("parallel-run").textContent.startsWith("6 of 9 runs")`)
	p.Eval(`document.querySelectorAll(".parallel-line.out").length + document.querySelectorAll("#table tr.out").length`, &n)
	must.Equal(t, n, 6, "lines and rows are out")
	p.Click("#keep")
	p.Wait(`location.search.split("run=").length === 7 && document.querySelectorAll("#table tbody tr").length === 6`)
	p.Click("#table tbody tr:first-child input")
	p.Click("#only")
	p.Wait(`location.search.split("run=").length === 2 && document.querySelectorAll("#table tbody tr").length === 1`)
	p.Click("#all")
	p.Wait(`!location.search.includes("run=") && document.querySelectorAll("#table tbody tr").length === 9`)

	p = b.Page(h.URL + "/?sort=run")
	p.Wait(`document.querySelectorAll("#runs tbody tr").length === 9`)
	p.Click("#runs tbody tr:nth-child(2) input")
	p.Click("#runs tbody tr:nth-child(4) input")
	p.Wait(`document.getElementById("compare").textContent === "Compare the 2 chosen runs"`)
	var to string
	p.Eval(`document.getElementById("compare").href`, &to)
	p.Go(to)
	p.Wait(`location.pathname.endsWith("compare") && document.querySelectorAll("#table tbody tr").length === 2`)

	p = b.Page(h.URL + "/tables?name=lsbd-vae-table5")
	p.Wait(`document.querySelectorAll("#table tbody tr").length > 3 && document.getElementById("command").textContent === "unravel table lsbd-vae-table5 --scale quick"`)
	shots(p, "table", t)
}

// shots checks a page at three widths, light and dark.
func shots(p *browser.Page, name string, t *testing.T) {
	t.Helper()
	for _, size := range [][2]int64{{390, 844}, {1280, 900}, {3840, 2160}} {
		for _, dark := range []bool{false, true} {
			p.Resize(size[0], size[1])
			p.Dark(dark)
			p.Eval("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))", nil)
			if wider := p.Overflow(); wider > 0 {
				t.Errorf("%s at %d: %d pixels too wide", name, size[0], wider)
			}
			p.Shot(fmt.Sprintf("serve-%s-%d-%t", name, size[0], dark))
		}
	}
	p.Dark(false)
	p.Resize(1280, 900)
}

// Names of runs always appear as plain text.
func TestCompareHostile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no such names of folders")
	}
	b := browser.Open(t)
	name := `"><img src=x onerror=alert(1)>&run=%2e%2e é`
	_, h := started(t, folder(t, name, "one"), Options{})
	p := b.Page(h.URL + "/compare?by=run&run=one&run=" + url.QueryEscape(name))
	p.Wait(`document.querySelectorAll("#curves h3").length > 3 && document.querySelectorAll("#table tbody tr").length === 2`)
	var shown string
	var images int
	p.Eval(`[...document.querySelectorAll("#table a")].map((a) => a.textContent).find((text) => text !== "one")`, &shown)
	p.Eval(`document.querySelectorAll("main img").length`, &images)
	if shown != name || images != 0 {
		t.Errorf("%q, %d pictures", shown, images)
	}
	p.Eval(`[...document.querySelectorAll("#table a")].find((a) => a.textContent !== "one").href`, &shown)
	p.Go(shown)
	p.Wait(`document.querySelector("h1").textContent === ` + strconv.Quote(name))
}

// BenchmarkCompare compares 500 runs, as a page does after a change.
func BenchmarkCompare(b *testing.B) {
	var weights []int
	for w := range maxCompared / 5 {
		weights = append(weights, w+1)
	}
	s, _ := started(b, varied(b, 5, weights...), Options{})
	for name, c := range map[string]selection{"runs": {}, "means": {groupColumn: allButSeed}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if v, err := s.compare(s.runs.current(), c); err != nil || len(v.Runs) != maxCompared {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("curves", func(b *testing.B) {
		for b.Loop() {
			if v, err := s.overlay(s.runs.current(), selection{}); err != nil || v.Runs != maxCurves {
				b.Fatal(err)
			}
		}
	})
}

// The end of a run may measure a metric again, on other images than the curve.
func TestCurvesOf(t *testing.T) {
	mig := func(v float64) map[string]float64 { return map[string]float64{"mig": v} }
	log := []rundir.Line{{Epoch: 1, Metrics: mig(0.1)}, {Epoch: 2, Metrics: mig(0.2)}, {Epoch: 2, Metrics: mig(0.9)}}
	curves := curvesOf(log)
	if p := curves[panelKey{"", "mig"}]; fmt.Sprint(p.x, p.y) != "[1 2] [0.1 0.2]" {
		t.Errorf("%v; want the first value of each epoch", p)
	}
}
