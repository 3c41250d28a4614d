package serve

import (
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// everyState makes a folder with a run in every state; running is the run in progress.
func everyState(t *testing.T) (dir string, running *rundir.Run) {
	t.Helper()
	dir = folder(t, "done", "deep/er/two", "begun", "killed", "broken", "half")
	for _, name := range []string{"begun", "killed"} {
		must.OK(t, os.Remove(filepath.Join(dir, name, rundir.RecordFile)))
	}
	running = must.Get(rundir.Open(filepath.Join(dir, "begun")))(t)
	t.Cleanup(func() { _ = running.Close() })
	must.OK(t, rundir.RecordFailure(filepath.Join(dir, "broken"), errors.New("out of <b>luck</b>"), time.Now()))
	write(t, tiny[:len(tiny)/2]+"\nnonsense: [", dir, "half", rundir.Config)
	write(t, strings.Replace(tiny, "seed: 1", "seed: 7", 1), dir, "sweep", "later", rundir.Config)
	return dir, running
}

// The page of a missing run has status 404 and only says that the run is missing. A folder that has just become a run
// has a page.
func TestRunPage(t *testing.T) {
	dir := folder(t, "one")
	_, h := started(t, dir, Options{})
	for name, want := range map[string]int{"one": http.StatusOK, "none": http.StatusNotFound,
		"../one": http.StatusNotFound, "": http.StatusNotFound, "<b>": http.StatusNotFound} {
		a, text := ask(t, "GET", h.URL+"/run?dir="+url.QueryEscape(name))
		if shown := strings.Contains(text, `<div id="parts">`); a.StatusCode != want || shown != (want == http.StatusOK) ||
			strings.Contains(text, "there is no run") == shown {
			t.Errorf("%q: %d %s", name, a.StatusCode, text)
		}
	}
	write(t, tiny, dir, "new", rundir.Config)
	if a, text := ask(t, "GET", h.URL+"/run?dir=new"); a.StatusCode != http.StatusOK || strings.Contains(text, "epoch") {
		t.Errorf("one that begins: %d %s", a.StatusCode, text)
	}
}

// A new folder of runs in the place of the old one is served, too.
func TestReplacedFolder(t *testing.T) {
	dir := folder(t, "one")
	s, h := started(t, dir, Options{})
	if err := os.Rename(dir, dir+" of yesterday"); err != nil {
		t.Skip(err) // Windows keeps open folders
	}
	must.OK(t, os.Rename(folder(t, "two"), dir))
	must.OK(t, s.runs.scan(t.Context()))
	if d := value[description](t, h.URL+"/api/run?dir=two"); d.Config == "" {
		t.Errorf("the run in the new folder has no config: %+v", d)
	}
}

// The pictures of a run have the captions of its report, in the same order, including animations.
func TestFigures(t *testing.T) {
	dir := folder(t, "one")
	write(t, "GIF89a", dir, "one", rundir.FiguresDir, "traversals.gif")
	write(t, "GIF89a", dir, "one", rundir.FiguresDir, "another.gif")
	_, h := started(t, dir, Options{})
	d := value[description](t, h.URL+"/api/run?dir=one")
	if !d.Report || d.Machine == nil || d.Config == "" {
		t.Errorf("report %v, machine %+v, config %q", d.Report, d.Machine, d.Config)
	}
	list := d.Figures
	page := must.Read(t, filepath.Join(dir, "one", rundir.ReportFile))
	at, names := 0, []string{}
	for _, f := range list {
		names = append(names, f.Name)
		if strings.HasSuffix(f.Name, ".gif") {
			continue
		}
		next := strings.Index(string(page[at:]), "<figcaption>"+f.Caption+"</figcaption>")
		if next < 0 {
			t.Errorf("%s: the report has no %q there", f.Name, f.Caption)
		}
		at += max(0, next)
	}
	if last := len(list) - 1; last < 3 || list[0].Name != "losses.png" ||
		list[last] != (figure{"another.gif", "another.gif"}) || list[last-1].Name != "traversals.gif" || list[last-1].Caption == "traversals.gif" {
		t.Errorf("%v", names)
	}
}

func TestStates(t *testing.T) {
	long.NotShort(t)
	dir, held := everyState(t)
	_, h := started(t, dir, Options{})
	list := value[listing](t, h.URL+"/api/runs")
	states := map[string]sweep.State{}
	for _, r := range list.Rows {
		states[r.Dir] = r.State
		if r.Dir == "begun" && (r.Epoch != 3 || r.Epochs != 3 || r.Loss == nil) {
			t.Errorf("begun: %+v", r)
		}
		if r.Dir == "broken" && r.Problem != "out of <b>luck</b>" {
			t.Errorf("broken: %+v", r)
		}
	}
	for name, want := range map[string]sweep.State{"done": sweep.Finished, "deep/er/two": sweep.Finished,
		"begun": sweep.Running, "killed": sweep.Stopped, "broken": sweep.Failed, "half": sweep.Damaged, "sweep/later": sweep.Waiting} {
		must.Equal(t, states[name], want, name)
	}
	if list.Total != 7 || list.States[sweep.Finished] != 2 || list.Rows[0].Dir != "begun" {
		t.Errorf("%+v", list)
	}

	// The list shows changes: runs that end, disappear or start. A scan that started earlier may miss the last two.
	must.OK(t, held.Close())
	must.OK(t, os.RemoveAll(filepath.Join(dir, "done")))
	write(t, tiny, dir, "new", rundir.Config)
	until(t, h.URL+"/api/runs?sort=run", func(l listing) bool {
		return l.Total == 7 && l.Rows[5].Dir == "new" && l.Rows[0].Dir == "begun" && l.Rows[0].State == sweep.Stopped &&
			l.States[sweep.Finished] == 1 && l.States[sweep.Waiting] == 2
	})
	if a, _ := ask(t, "GET", h.URL+"/api/run?dir=done"); a.StatusCode != http.StatusNotFound {
		t.Errorf("a run that is gone: %d", a.StatusCode)
	}
}

// The loss of a run is the sum over its objectives. Losses of held-out images do not count.
func TestListedLoss(t *testing.T) {
	dir := t.TempDir()
	write(t, tiny, dir, "one", rundir.Config)
	write(t, `{"step":4,"epoch":1,"losses":{"supervised":{"loss":3,"kl":1},"unsupervised":{"loss":2},"validation":{"loss":40}}}`+"\n", dir, "one", rundir.LogFile)
	_, h := started(t, dir, Options{})
	if l := value[listing](t, h.URL+"/api/runs"); len(l.Rows) != 1 || l.Rows[0].Loss == nil || *l.Rows[0].Loss != 5 {
		t.Errorf("%+v; want the loss 5", l.Rows)
	}
}

func TestFilterAndSort(t *testing.T) {
	long.NotShort(t)
	dir, _ := everyState(t)
	_, h := started(t, dir, Options{})
	for query, want := range map[string]string{
		"sort=run":                                      "begun broken deep/er/two done half killed sweep/later",
		"sort=-run":                                     "sweep/later killed half done deep/er/two broken begun",
		"sort=run&from=1&count=2":                       "broken deep/er/two",
		"sort=run&from=99":                              "",
		"filter=state%3Dfinished&sort=run":              "deep/er/two done",
		"filter=state%3Dunfinished&sort=run":            "begun killed sweep/later",
		"filter=state!%3Dunfinished&sort=run":           "broken deep/er/two done half",
		"filter=state%3Drunning":                        "begun",
		"filter=seed%3E5":                               "sweep/later",
		"filter=seed%3C5&filter=state%3Dfailed":         "broken",
		"filter=dlsbd%3E0&sort=-dlsbd&count=1&from=1":   "done",
		"filter=" + url.QueryEscape("run=deep/er/two"):  "deep/er/two",
		"filter=seed%3D1&sort=seed&count=1":             "begun",
		"filter=seed%3D1&sort=progress&count=1&from=99": "",
	} {
		var names []string
		for _, r := range value[listing](t, h.URL+"/api/runs?"+query).Rows {
			names = append(names, r.Dir)
		}
		must.Equal(t, strings.Join(names, " "), want, query)
	}
	for query, want := range map[string]string{
		"filter=sead%3D1": "did you mean", "sort=sead": "did you mean", "filter=nothing": "want", "count=many": "want a number", "from=-1": "want a number",
		"filter=" + strings.Repeat("x", maxQuery): "too long",
	} {
		if a, text := ask(t, "GET", h.URL+"/api/runs?"+query); a.StatusCode != http.StatusBadRequest || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s, want %q", query, a.StatusCode, text, want)
		}
	}
	list := value[listing](t, h.URL+"/api/runs")
	if !slices.ContainsFunc(list.Columns, func(c column) bool { return c == column{"dlsbd", "result"} }) ||
		!slices.ContainsFunc(list.Columns, func(c column) bool { return c == column{"seed", "setting"} }) {
		t.Errorf("columns %v", list.Columns)
	}
	write(t, strings.Replace(tiny, "seed: 1", "seed: 10", 1), dir, "tens", rundir.Config)
	until(t, h.URL+"/api/runs?sort=-seed", func(l listing) bool { return l.Rows[0].Dir == "tens" && l.Rows[1].Dir == "sweep/later" }) // 10, 7
}

// The server does not send an answer again that the browser has cached. It compresses large answers.
func TestSentOnce(t *testing.T) {
	_, h := started(t, folder(t, "one"), Options{})
	for _, address := range []string{"/", "/api/runs", "/api/curves?dir=one", "/api/run?dir=one", "/assets/base.js",
		"/assets/serve/serve.css", "/report?dir=one", "/figure?dir=one&name=losses.png"} {
		a, _ := ask(t, "GET", h.URL+address)
		tag, modified := a.Header.Get("ETag"), a.Header.Get("Last-Modified")
		if a.StatusCode != http.StatusOK || tag == "" && modified == "" {
			t.Errorf("%s: %d, no tag", address, a.StatusCode)
		}
		if a, text := ask(t, "GET", h.URL+address, "If-None-Match", tag, "If-Modified-Since",
			modified); a.StatusCode != http.StatusNotModified || text != "" {
			t.Errorf("%s again: %d", address, a.StatusCode)
		}
		if a, text := ask(t, "HEAD", h.URL+address); a.StatusCode != http.StatusOK || text != "" {
			t.Errorf("%s, HEAD: %d %q", address, a.StatusCode, text)
		}
	}
	if a, text := ask(t, "GET", h.URL+"/assets/serve/serve.css", "Accept-Encoding",
		"gzip"); a.Header.Get("Content-Encoding") != "gzip" || len(text) > 20000 {
		t.Errorf("%v, %d bytes", a.Header, len(text))
	}
}

// A folder that is a run shows the run, and has no index of runs. A folder that will become a run waits for it.
func TestSingle(t *testing.T) {
	long.NotShort(t)
	dir := filepath.Join(folder(t, "one"), "one")
	_, h := started(t, dir, Options{})
	if _, text := ask(t, "GET", h.URL); !strings.Contains(text, `data-run="one"`) {
		t.Errorf("%.300s", text)
	}
	value[description](t, h.URL+"/api/run?dir=one")
	empty := filepath.Join(t.TempDir(), "later")
	must.OK(t, os.Mkdir(empty, 0o777))
	_, h = started(t, empty, Options{Single: true})
	if l := value[listing](t, h.URL+"/api/runs"); l.Total != 0 {
		t.Errorf("%+v", l)
	}
	r, err := rundir.Create(empty) // Create needs an empty folder
	must.OK(t, err)
	must.OK(t, errors.Join(r.Write(rundir.Config, rundir.Bytes([]byte(tiny))), r.Close()))
	until(t, h.URL+"/api/runs", func(l listing) bool { return l.Total == 1 && l.Rows[0].Dir == "later" })
	for _, d := range []string{dir, empty} {
		if _, err := os.Stat(filepath.Join(d, "runs.index")); err == nil {
			t.Errorf("%s: an index in the folder of a run", d)
		}
	}
}

// The server changes no file of a run, and can show a read-only folder.
func TestReadOnly(t *testing.T) {
	dir := folder(t, "one")
	before := listOf(t, filepath.Join(dir, "one"))
	_, h := started(t, dir, Options{})
	for _, address := range []string{"/", "/run?dir=one", "/api/runs", "/api/run?dir=one", "/api/curves?dir=one",
		"/api/preview?dir=one", "/report?dir=one"} {
		if a, text := ask(t, "GET", h.URL+address); a.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %.200s", address, a.StatusCode, text)
		}
	}
	if after := listOf(t, filepath.Join(dir, "one")); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
	closed := folder(t, "one")
	must.OK(t, os.Chmod(closed, 0o555))
	t.Cleanup(func() { _ = os.Chmod(closed, 0o777) })
	_, h = started(t, closed, Options{})
	if l := value[listing](t, h.URL+"/api/runs"); l.Total != 1 {
		t.Errorf("%+v", l)
	}
}

// listOf lists the files in a folder with their sizes and times.
func listOf(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil {
			b.WriteString(path + " " + info.ModTime().String() + " " + info.Mode().String() + "\n")
		}
		return err
	})
	must.OK(t, err)
	return b.String()
}
