package serve

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/internal/browser"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train/rundir"
)

// The pages at three widths, light and dark.
func TestPages(t *testing.T) {
	b := browser.Open(t)
	_, h := started(t, folder(t, "one", "deep/er/two"), Options{})
	for name, page := range map[string]struct{ address, ready string }{
		"list": {"/", `document.querySelectorAll("#runs tbody tr").length === 2`},
		"run":  {"/run?dir=deep/er/two", `document.querySelector("#explore canvas") !== null && document.querySelector("#curves canvas") !== null`},
	} {
		p := b.Page(h.URL + page.address)
		p.Wait(page.ready)
		if list := p.Unnamed(); len(list) > 0 {
			t.Errorf("%s: controls without a name: %v", name, list)
		}
		for _, size := range []struct {
			name   string
			width  int64
			height int64
		}{{"390", 390, 844}, {"1280", 1280, 900}, {"3840", 3840, 2160}} {
			for _, dark := range []bool{false, true} {
				p.Resize(size.width, size.height)
				p.Dark(dark)
				p.Eval("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))", nil)
				if wider := p.Overflow(); wider > 0 {
					t.Errorf("%s at %s: %d pixels too wide", name, size.name, wider)
				}
				suffix := "-light"
				if dark {
					suffix = "-dark"
				}
				p.Shot("serve-" + name + "-" + size.name + suffix)
			}
		}
	}
}

// Long names and problems of runs leave enough space for state, progress and loss.
func TestListFits(t *testing.T) {
	b := browser.Open(t)
	long := strings.Repeat("long-name_", 12)
	dir := folder(t, long, "plain")
	must.OK(t, rundir.RecordFailure(filepath.Join(dir, "plain"), errors.New(strings.Repeat("a long story ", 20)), time.Now()))
	_, h := started(t, dir, Options{})
	p := b.Page("about:blank")
	p.Resize(1000, 800)
	p.Go(h.URL)
	p.Wait(`document.querySelectorAll("#runs tbody tr").length === 2`)
	var right float64
	p.Eval(`document.querySelector("#runs th:nth-child(4)").getBoundingClientRect().right`, &right)
	if !(right <= 1000) {
		t.Errorf("the loss ends at %g of 1000 pixels", right)
	}
}

// nasty is a name that would run a script if a page took it for HTML.
const nasty = `<img src=x onerror=alert(1)>'"&#{{7}}`

// Names and texts of runs appear as plain text on every page, whatever they contain.
func TestHostileNames(t *testing.T) {
	b := browser.Open(t)
	dir := folder(t, nasty, "plain")
	write(t, strings.Replace(tiny, "name: tiny", `name: "</script><script>alert(1)</script>"`, 1), dir, "config", rundir.Config)
	must.OK(t, rundir.RecordFailure(filepath.Join(dir, "plain"), errors.New(nasty+"</td>"), time.Now()))
	write(t, `{"step":1,"epoch":1,"losses":{"`+strings.ReplaceAll(nasty, `"`, `\"`)+
		`":{"</script>":1},"other":{"</script>":1}}}`+"\n", dir, "config", rundir.LogFile)
	write(t, `<!doctype html><title>r</title><script>let cookie = "";
try { cookie = document.cookie + localStorage.length; } catch { }
fetch("/api/runs").then(() => { document.title = "read"; }, () => { document.title = cookie + "kept out"; });</script>`, dir, "plain", rundir.ReportFile)
	_, h := started(t, dir, Options{})
	p := b.Page(h.URL)
	p.Wait(`document.querySelectorAll("#runs tbody tr").length === 3`)
	p.Wait(`[...document.querySelectorAll("#runs a")].some(a => a.textContent === ` + strconv.Quote(nasty) + `)`)
	p.Click(`#runs a[href*="onerror"]`)
	p.Wait(`document.querySelector("h1").textContent === ` + strconv.Quote(nasty) + ` && document.querySelector("#curves canvas") !== null`)
	p.Go(h.URL + "/run?dir=config")
	p.Wait(`document.querySelector("#curves h3")?.textContent.includes("onerror")`)
	p.Go(h.URL + "/run?dir=plain")
	p.Wait(`document.querySelector("#status .failure")?.textContent.includes("onerror")`)
	var pictures int
	p.Eval(`document.querySelectorAll("img[src=x]").length`, &pictures)
	if pictures > 0 {
		t.Error("a name became a picture")
	}

	// A report runs its scripts but cannot read from the server.
	q := b.Tab()
	q.Forgive("Content Security Policy")
	q.Forgive("Refused to connect")
	q.Forgive("violates")
	q.Go(h.URL + "/report?dir=plain")
	q.Wait(`document.title === "kept out"`)
}

// The page of a run in training is updated: new points, state and decoder appear, and the zoom stays.
func TestLive(t *testing.T) {
	b := browser.Open(t)
	dir := folder(t, "one")
	path := filepath.Join(dir, "one")
	for _, name := range []string{rundir.RecordFile, rundir.ReportFile} {
		must.OK(t, os.Remove(filepath.Join(path, name)))
	}
	measured := func(epoch int) string { return fmt.Sprintf(`{"epoch":%d,"metrics":{"mig":0.1}}`, epoch) + "\n" }
	write(t, epochLine(1)+epochLine(2)+measured(2), path, rundir.LogFile)
	held := must.Get(rundir.Open(path))(t)
	_, h := started(t, dir, Options{})
	p := b.Page(h.URL + "/run?dir=one")
	p.Wait(`document.querySelector("#status .state")?.textContent === "running" && Serve.run.player && Serve.run.widget`)
	points := `Serve.run.drawn.panels[0].series[0].x.length`
	p.Wait(points + ` === 2 && Serve.run.events?.readyState === EventSource.OPEN`)
	var panels int
	if p.Eval(`document.querySelectorAll("#curves .panel").length`, &panels); panels != 1 {
		t.Errorf("%d panels; want no panel of a metric with one point", panels)
	}
	p.Eval(`window.canvas = document.querySelector("#curves canvas"); Serve.run.player.set(Serve.run.player.code.map(() => 0.5)); 0`, nil)
	f := must.Get(os.OpenFile(filepath.Join(path, rundir.LogFile), os.O_APPEND|os.O_WRONLY, 0))(t)
	must.Get(f.WriteString(epochLine(3) + measured(3)))(t)
	must.OK(t, f.Close())
	p.Wait(points + ` === 3 && document.querySelector("#curves canvas") === window.canvas && document.querySelectorAll("#curves .panel").length === 2`)
	checkpoint := filepath.Join(path, rundir.CheckpointFile)
	must.OK(t, os.Chtimes(checkpoint, time.Time{}, time.Now().Add(time.Hour)))
	var before string
	p.Eval(`Serve.run.shown`, &before)
	p.Wait(`Serve.run.shown !== ` + strconv.Quote(before) + ` && Serve.run.player.code.every(v => v === 0.5)`)
	must.OK(t, held.Close())
	p.Wait(`document.querySelector("#status .state").textContent === "stopped"`)
	p.Wait(`Serve.progress({ state: "finished", epoch: 2, epochs: 6, progress: 1 }).textContent === " 2/6, stopped early"`)
	must.OK(t, os.RemoveAll(path))
	p.Forgive("404")
	p.Wait(`!document.getElementById("failure").hidden`)
}

// The list supports filters and an order, and shows changes.
func TestLiveList(t *testing.T) {
	b := browser.Open(t)
	dir, _ := everyState(t)
	_, h := started(t, dir, Options{})
	p := b.Page(h.URL)
	rows := `[...document.querySelectorAll("#runs tbody tr a")].map(a => a.textContent).join(" ")`
	p.Wait(rows + `.startsWith("begun ")`)
	p.Eval(`document.getElementById("filter").value = "state=finished"; 0`, nil)
	p.Click(`#query button`)
	p.Wait(rows + ` === "deep/er/two done"`)
	p.Click(`#runs th:first-child button`)
	p.Wait(`document.querySelector("#runs th").getAttribute("aria-sort") === "ascending"`) // the answer replaces the button
	p.Click(`#runs th:first-child button`)
	p.Wait(rows + ` === "done deep/er/two" && document.querySelector("#runs th").getAttribute("aria-sort") === "descending"`)
	var address string
	p.Eval("location.search", &address)
	p.Go(h.URL + "/" + address) // the address contains filter and order
	p.Wait(rows + ` === "done deep/er/two" && document.getElementById("filter").value === "state=finished"`)
	must.OK(t, os.RemoveAll(filepath.Join(dir, "done")))
	p.Wait(rows + ` === "deep/er/two" && document.getElementById("summary").textContent.endsWith("; 1 passes the filters")`)
	p.Forgive("400")
	p.Eval(`document.getElementById("filter").value = "sead=1"; 0`, nil)
	p.Click(`#query button`)
	p.Wait(`document.getElementById("failure").textContent.startsWith('no run has "sead"; did you mean')`)
	p.Go(h.URL + "/?filter=sead=1")
	p.Wait(`document.getElementById("failure").textContent !== "" && document.getElementById("summary").textContent === ""`)
	p.Eval(`Serve.count(1, "run") + Serve.count(2, "run")`, &address)
	must.Equal(t, address, "1 run2 runs")
}
