package train

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/internal/browser"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/report"
	"github.com/unravel-ml/unravel/train/internal/page"
	"github.com/unravel-ml/unravel/train/rundir"
)

// sectionOf formats data like the page.
func sectionOf(t *testing.T, data any) string {
	t.Helper()
	text := must.Get(json.Marshal(data))(t)
	return string(text)
}

// storedPage rebuilds the page of a run.
func storedPage(t *testing.T, dir string) (report.Page, []string) {
	t.Helper()
	p, remarks, err := readPage(context.Background(), dir, nil)
	must.OK(t, err)
	return p, remarks
}

// The rebuilt page equals the page from training, except for the time of the last steps.
func TestStoredPage(t *testing.T) {
	long.NotShort(t)
	dir := filepath.Join(t.TempDir(), "a run")
	c := load(t, "train.figures=true", "metrics.sample=200", "train.epochs=2")
	trainIn(t, dir, c, false)
	made := must.Read(t, filepath.Join(dir, rundir.ReportFile))
	p, remarks := storedPage(t, dir)
	if len(remarks) > 0 || p.Curves == nil || p.Codes == nil || p.Heat == nil || p.Explore == nil || len(p.Figures) < 3 ||
		len(p.Metrics) != 1 {
		t.Fatalf("%q, %d figures, %d results", remarks, len(p.Figures), len(p.Metrics))
	}
	for name, data := range map[string]any{"curves": p.Curves, "codes": p.Codes, "heat": p.Heat, "explore": p.Explore} {
		if !strings.Contains(string(made), `id="data-`+name+`">`+sectionOf(t, data)+"<") {
			t.Errorf("%s differ from those of training", name)
		}
	}
	var names []string
	for _, f := range p.Summary {
		names = append(names, f.Name)
	}
	for _, want := range []string{"seed", "ended", "took", "machine", "version"} {
		if !slices.Contains(names, want) || !strings.Contains(string(made), "<dt>"+want+"</dt>") {
			t.Errorf("no fact %q in %q", want, names)
		}
	}
	for i, n := range imagesOf(t, p) {
		if n < 0 || n >= 256 {
			t.Fatalf("row %d is image %d", i, n)
		}
	}

	// Missing codes are computed. A run in progress shows no results from an earlier end.
	must.OK(t, os.Remove(filepath.Join(dir, rundir.CodesFile)))
	again, _ := storedPage(t, dir)
	if !reflect.DeepEqual(again.Codes, p.Codes) {
		t.Error("computed codes differ from stored ones")
	}
	must.OK(t, rundir.RecordFailure(dir, errors.New("the disk is full"), time.Now()))
	if p, remarks = storedPage(t, dir); len(remarks) != 1 || len(p.Metrics) > 0 || len(p.Figures) > 0 || p.Codes == nil ||
		!slices.Contains(p.Notes, "The run failed: the disk is full") {
		t.Errorf("a run that failed: %q, %d results, %d figures, %q", remarks, len(p.Metrics), len(p.Figures), p.Notes)
	}
}

// Pages with a decoder render for every kind of latent space, and fit on a phone.
func TestWholePagesInBrowser(t *testing.T) {
	b := browser.Open(t)
	kinds := map[string]func() (*Experiment,
		error){"two views": func() (*Experiment, error) { return NewExperiment(seenConfig(t, "simsiam")) },
		"planes": func() (*Experiment, error) {
			return playedExperiment(t, "delta-vae/square", "model.delta-vae.latent=[{euclidean: {dim: 2}}, {euclidean: {dim: 3}}]"), nil
		}}
	for name, x := range played {
		kinds[name] = func() (*Experiment, error) { return playedExperiment(t, x.config, x.overrides...), nil }
	}
	log := []rundir.Line{{Epoch: 1, Losses: rundir.Losses{"main": {"loss": 2}}}, {Epoch: 2, Losses: rundir.Losses{"main": {"loss": 1}}}}
	for _, name := range long.Sample(slices.Sorted(maps.Keys(kinds)), 3) {
		made := kinds[name]
		t.Run(name, func(t *testing.T) {
			e := must.Get(made())(t)
			e = e.sampleOf(80, 0)
			codes := must.Get(e.Codes(t.Context()))(t)
			content := e.pageContent(&page.Content{Dir: "run", Config: "a: b\n", Log: log})
			page := must.Get(content.Page(t.Context(), e.drawing(codes, nil, nil)))(t)
			path := filepath.Join(t.TempDir(), "report.html")
			f := must.Get(os.Create(path))(t)
			defer f.Close()
			must.OK(t, report.WritePage(f, page))
			want := "explore curves codes neighbours heat config"
			if page.Explore == nil {
				want = "curves codes neighbours heat config"
			}
			p := b.Tab()
			p.Still()
			p.Resize(390, 844)
			p.Go(browser.File(path))
			p.Wait(`document.querySelector("#heat canvas") !== null && document.querySelector(".failure") === null`)
			var got string
			if p.Eval(`[...document.querySelectorAll("section")].map((s) => s.id).join(" ")`, &got); got != want ||
				(page.Explore == nil) != (name == "two views") {
				t.Errorf("sections %q, want %q", got, want)
			}
			if wider, words := p.Overflow(), p.Broken(); wider > 0 || len(words) > 0 {
				t.Errorf("%d pixels too wide; broken words %q", wider, words)
			}
			p.Shot("whole " + name)
		})
	}
}

// imagesOf lists the numbers of the images of a page's codes.
func imagesOf(t *testing.T, p report.Page) (list []int) {
	t.Helper()
	for i := 0; i < len(p.Codes.Rows.Data); i += 4 {
		list = append(list, int(p.Codes.Rows.Data[i])|int(p.Codes.Rows.Data[i+1])<<8)
	}
	return list
}

// Runs without training, stored codes or a decoder have pages without these sections.
func TestPartialPage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "untrained")
	trainIn(t, dir, load(t, "train.figures=true", "train.epochs=0", "metrics=[]", "metrics.encode=false"), false)
	if p, _ := storedPage(t, dir); p.Curves != nil || p.Codes != nil || p.Heat != nil {
		t.Errorf("curves %v, codes %v, maps %v", p.Curves, p.Codes, p.Heat)
	}
	if _, _, err := readPage(t.Context(), t.TempDir(), nil); !errors.Is(err, rundir.ErrNoRun) {
		t.Errorf("an empty folder: %v", err)
	}
}
