package tables_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/models"
	. "github.com/unravel-ml/unravel/results/tables"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// Columns of times add up the timings in the record of a run.
func TestSeconds(t *testing.T) {
	table := must.Get(openSeveral(t, severalCSV, "  - {label: R, fit: reconstruction}\n", `
  - {label: Total, seconds: [total]}
  - {label: Parts, seconds: [tangent planes, finishing]}
  - {label: AE, share: [ae]}
  - {label: Both, share: [ae, training], transform: 2x}
  - {label: None, seconds: [nothing]}
`))(t)
	dir := t.TempDir()
	makeRuns(t, table, dir, false, 0)
	for _, e := range scan(t, dir) {
		retime(t, e)
	}
	r := computeFrom(t, table, dir)
	for column, want := range map[string]float64{"Total": 8, "Parts": 5, "AE": 25, "Both": 200 * 7. / 8} {
		if c := r.Cell("a", column+", small"); c.Ours == nil || *c.Ours != want || c.Draws != 1 {
			t.Errorf("%s: %+v, want %v", column, c, want)
		}
	}
	if c := r.Cell("b", "None, large"); c.Status != Missing || c.Reason != "the runs do not say how long nothing took" {
		t.Errorf("%+v", c)
	}
}

// retime replaces the timings in the record of a run.
func retime(t *testing.T, e sweep.Entry) {
	t.Helper()
	var names []string
	for _, timing := range e.Record.Timings {
		names = append(names, timing.Name)
	}
	must.Equal(t, strings.Join(names, " "), "training finishing", e.Name, "timings")
	e.Record.Timings = []models.Timing{{Name: "ae", Seconds: 2}, {Name: "tangent planes", Seconds: 1},
		{Name: rundir.TrainingTiming, Seconds: 5}, {Name: rundir.FinishingTiming, Seconds: 4}}
	record(t, e)
}

// record writes the record of a run like a version without hashes.
func record(t *testing.T, e sweep.Entry) {
	t.Helper()
	e.Record.Files, e.Record.Sum = nil, ""
	text := must.Get(json.Marshal(e.Record))(t)
	must.Write(t, filepath.Join(e.Dir, rundir.RecordFile), text)
}

func TestSecondsMistakes(t *testing.T) {
	const column = "{label: D, metric: dlsbd, doc: it turns}"
	for want, replaced := range map[string]string{
		`columns.0.seconds: column "D" has a metric or a fit, too`:    "{label: D, metric: dlsbd, seconds: [total]}",
		`columns.0.seconds: column "D" has a metric or a fit, too; `:  "{label: D, fit: variance, share: [total]}",
		`columns.0.share: column "D" has seconds, too`:                "{label: D, seconds: [total], share: [total]}",
		`columns.0.seconds: column "D" names an empty part; want tot`: `{label: D, seconds: [""]}`,
	} {
		must.ErrorOf(openSeveral(t, severalCSV, column, replaced))(t, want, replaced)
	}
}
