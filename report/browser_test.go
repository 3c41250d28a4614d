package report

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/unravel-ml/unravel/internal/browser"
	"github.com/unravel-ml/unravel/rundir"
)

// save writes a page to a file and returns its address.
func save(t *testing.T, p Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := WritePage(&b, p); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return browser.File(path)
}

// trained is the log of a run of some epochs.
func trained(epochs int) (log []rundir.Line) {
	for e := range epochs {
		log = append(log, rundir.Line{Epoch: e + 1, Losses: rundir.Losses{"main": {"total": 3 / float64(e+1), "kl": float64(e)}}})
	}
	return log
}

func TestCurvesInBrowser(t *testing.T) {
	p := browser.Open(t).Page(save(t, Page{Title: "a run", Curves: RunCurves(nil, trained(20))}))
	p.Wait(`document.querySelector("#curves canvas") !== null`)
	p.Shot("curves")
	var before, after string
	const drawn = `document.querySelector("#curves canvas").toDataURL()`
	p.Eval(drawn, &before)
	p.Click("#curves input[type=checkbox]")
	p.Eval(drawn, &after)
	if before == after {
		t.Error("a linear axis draws the same as a logarithmic one")
	}
	for _, width := range []int64{390, 1280, 3840} {
		p.Resize(width, 900)
		if wider := p.Overflow(); wider > 0 {
			t.Errorf("%d pixels too wide at %d", wider, width)
		}
	}
	if list := p.Unnamed(); len(list) > 0 {
		t.Errorf("controls without names: %q", list)
	}
}
