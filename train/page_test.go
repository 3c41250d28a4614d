package train

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/report"
	"github.com/unravel-ml/unravel/rundir"
)

// sectionOf returns the data of a page as it is in the page.
func sectionOf(t *testing.T, data any) string {
	t.Helper()
	text, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// storedPage makes the page about a run again.
func storedPage(t *testing.T, dir string) (report.Page, []string) {
	t.Helper()
	p, remarks, err := StoredPage(context.Background(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p, remarks
}

// The page that is made again is the page that training made, but for the time that its last steps took.
func TestStoredPage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a run")
	c := load(t, "train.figures=true", "metrics.sample=200", "train.epochs=2")
	trainIn(t, dir, c, false)
	made, err := os.ReadFile(filepath.Join(dir, rundir.ReportFile))
	if err != nil {
		t.Fatal(err)
	}
	p, remarks := storedPage(t, dir)
	if len(remarks) > 0 || p.Curves == nil || p.Codes == nil || p.Heat == nil || p.Explore == nil || len(p.Figures) < 3 || len(p.Metrics) != 1 {
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

	// Without codes they are computed; a run under way shows no results of an earlier end.
	if err := os.Remove(filepath.Join(dir, rundir.CodesFile)); err != nil {
		t.Fatal(err)
	}
	again, _ := storedPage(t, dir)
	if !reflect.DeepEqual(again.Codes, p.Codes) {
		t.Error("computed codes differ from stored ones")
	}
	if err := rundir.RecordFailure(dir, errors.New("the disk is full"), time.Now()); err != nil {
		t.Fatal(err)
	}
	if p, remarks = storedPage(t, dir); len(remarks) != 1 || len(p.Metrics) > 0 || len(p.Figures) > 0 || p.Codes == nil || !slices.Contains(p.Notes, "The run failed: the disk is full") {
		t.Errorf("a run that failed: %q, %d results, %d figures, %q", remarks, len(p.Metrics), len(p.Figures), p.Notes)
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

// Runs that train nothing, keep nothing or decode nothing have pages without what they lack.
func TestPartialPage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "untrained")
	trainIn(t, dir, load(t, "train.figures=true", "train.epochs=0", "metrics=[]", "metrics.encode=false"), false)
	if p, _ := storedPage(t, dir); p.Curves != nil || p.Codes != nil || p.Heat != nil {
		t.Errorf("curves %v, codes %v, maps %v", p.Curves, p.Codes, p.Heat)
	}
	if _, _, err := StoredPage(t.Context(), t.TempDir(), nil); !errors.Is(err, rundir.ErrNoRun) {
		t.Errorf("an empty folder: %v", err)
	}
}

// A shell reads the command that repeats a run as the words that are meant.
func TestAgain(t *testing.T) {
	for dir, want := range map[string]string{
		"runs/quickstart":   "unravel train runs/quickstart/config.yaml --run runs/quickstart-again",
		"runs/quickstart//": "unravel train runs/quickstart/config.yaml --run runs/quickstart-again",
		"-x":                "unravel train ./-x/config.yaml --run ./-x-again",
		"it's here":         `unravel train 'it'\''s here/config.yaml' --run 'it'\''s here-again'`,
		"a=b":               "cp 'a=b/config.yaml' again.yaml && unravel train again.yaml --run 'a=b-again'",
	} {
		if got := again(dir); got != want {
			t.Errorf("%q: %s, want %s", dir, got, want)
		}
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell here")
	}
	for _, dir := range []string{"a b", "$(date)", "`date`", "'", `"\`, "a\nb", "~", "*", "#", "🦩;&|<>", "!x"} {
		out, err := exec.Command(sh, "-c", "unravel() { printf '%s\\0' \"$@\"; }\n"+again(dir)).Output()
		if want := "train\x00" + dir + "/config.yaml\x00--run\x00" + dir + "-again\x00"; err != nil || string(out) != want {
			t.Errorf("%q: %q, want %q, %v", dir, out, want, err)
		}
	}
}
