package serve

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/browser"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// searched makes a folder with a search of two trials and a separate run.
func searched(t *testing.T) string {
	t.Helper()
	dir := folder(t, "s/trial000", "s/trial001", "alone")
	for i, weight := range []string{"100", "50"} {
		text := `{"trial": %d, "settings": {"losses.2.lsbd.weight": %q}, "search": "search: {random: {metric: dlsbd, runs: 9, space: {losses.2.lsbd.weight: {integer: [1, 100]}}}}"}`
		write(t, fmt.Sprintf(text, i, weight), dir, "s", fmt.Sprintf("trial%03d", i), rundir.TrialFile)
	}
	return dir
}

// The page of a search shows its trials, its objective and its best trial. For an unreadable search, it shows the
// error.
func TestSearches(t *testing.T) {
	dir := searched(t)
	_, h := started(t, dir, Options{})
	list := value[[]searchEntry](t, h.URL+"/api/searches")
	if len(list) != 1 || len(list[0].Trials) != 2 {
		t.Fatalf("%+v", list)
	}
	s := list[0]
	if s.Folder != "s" || s.Method != "random" || s.Objective != "dlsbd" || s.Better != "lower" ||
		s.Budget != "9 trials" || s.Best != 0 || len(s.Keys) != 1 {
		t.Errorf("%+v", s)
	}
	if one := s.Trials[1]; one.Dir != "s/trial001" || one.State != sweep.Finished || one.Epochs != 3 || one.Value == nil ||
		!(*one.Value > 0) || one.Settings[0] != "50" {
		t.Errorf("%+v", one)
	}
	broken := searched(t)
	write(t, "{", broken, "s", "trial001", rundir.TrialFile)
	_, h = started(t, broken, Options{})
	list = value[[]searchEntry](t, h.URL+"/api/searches")
	if len(list) != 1 || !strings.Contains(list[0].Problem, "trial.json: ") {
		t.Errorf("%+v", list)
	}
	_, h = started(t, folder(t, "one"), Options{})
	if a, text := ask(t, "GET", h.URL+"/api/searches"); a.StatusCode != http.StatusOK || strings.TrimSpace(text) != "[]" {
		t.Errorf("without a search: %d %s", a.StatusCode, text)
	}
}

// The list of runs plots the objective over the trials and over every setting.
func TestSearchPanels(t *testing.T) {
	b := browser.Open(t)
	_, h := started(t, searched(t), Options{})
	p := b.Page(h.URL + "/")
	p.Wait(`document.querySelectorAll("#searches svg").length === 2 && document.querySelectorAll("#searches svg circle").length === 4 && document.querySelector("#searches a") !== null`)
	p.Resize(390, 844)
	if wider := p.Overflow(); wider > 0 {
		t.Errorf("%d pixels too wide", wider)
	}
}
