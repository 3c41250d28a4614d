//go:build unix

package serve

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// Named pipes instead of a run's files do not block the list or a page.
func TestPipesOfRuns(t *testing.T) {
	dir := folder(t, "bad", "good")
	for _, name := range []string{rundir.LogFile, rundir.ReportFile, rundir.MetricsFile, rundir.StateFile} {
		path := filepath.Join(dir, "bad", name)
		must.OK(t, os.Remove(path))
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Skip(err)
		}
	}
	must.OK(t, os.Truncate(filepath.Join(dir, "bad", rundir.FitFile), 1<<43))
	_, h := started(t, dir, Options{})
	until(t, h.URL+"/api/runs", func(l listing) bool { return len(l.Rows) == 2 && !l.Reading })
	d := value[description](t, h.URL+"/api/run?dir=bad")
	if d.State != sweep.Damaged || !strings.Contains(d.Problem, rundir.MetricsFile+" is a pipe") || d.Report {
		t.Errorf("%+v", d.row)
	}
	for range 50 {
		if a, text := ask(t, "GET", h.URL+"/report?dir=bad"); a.StatusCode != http.StatusNotFound {
			t.Fatal(a.Status, text)
		}
	}
}
