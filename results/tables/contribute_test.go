package tables_test

import (
	"bytes"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/results/ledger"
	. "github.com/unravel-ml/unravel/results/tables"
	"github.com/unravel-ml/unravel/train/sweep"
)

// Runs with edited files cannot be contributed.
func TestContributionEdited(t *testing.T) {
	dir := t.TempDir()
	table := mustOpen(t, t.TempDir())
	makeRuns(t, table, dir, false, 1)
	contributed(t, table, dir)
	for _, name := range []string{"metrics.json", "codes.npy"} {
		files, err := filepath.Glob(filepath.Join(dir, "*", name))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		text := must.Read(t, files[0])
		must.Write(t, files[0], append(slices.Clone(text), ' '))
		_, err = table.Contribution(Options{Scale: QuickScale, Runs: dir, Ledger: table.Ledger()})
		must.Error(t, err, filepath.Dir(files[0])+": files changed after the run: "+name+" (changed)", name)
		must.Write(t, files[0], text)
	}
	contributed(t, table, dir)
}

// Accept rejects contributions that differ from the table's plan.
func TestAcceptMistakes(t *testing.T) {
	dir := t.TempDir()
	table := mustOpen(t, t.TempDir())
	makeRuns(t, table, dir, false, 1)
	var good bytes.Buffer
	must.OK(t, contributed(t, table, dir).Write(&good))
	for _, test := range []struct {
		change func(r *ledger.Run)
		want   string
	}{
		{func(*ledger.Run) {}, ""},
		{func(r *ledger.Run) { r.Scale = "huge" }, `run a_one_quick_seed0: table kept: there is no scale "huge"`},
		{func(r *ledger.Run) { r.Settings = strings.Repeat("0", 16) }, "the table kept has no run with its settings"},
		{func(r *ledger.Run) { r.Seed = 1 }, "hash: the hash of its config is "},
		{func(r *ledger.Run) { r.Generation = 1 }, "generation: it is 1, and this code's generation is "},
		{func(r *ledger.Run) { r.Generation = 2 }, ""}, // later changes do not affect its parts
		{func(r *ledger.Run) { r.Machine = nil }, "machine, version or begun"},
		{func(r *ledger.Run) { r.Version = "/home/me/unravel" }, "is a path of a machine"},
		{func(r *ledger.Run) { r.Codes = "" }, "codes or parameters"},
		{func(r *ledger.Run) { r.Metrics = r.Metrics[1:] }, "metrics: there are 2; want 3"},
		{func(r *ledger.Run) { r.Metrics = append(r.Metrics, r.Metrics[0]) }, "metrics: there are 4; want the 6 of the config"},
		{func(r *ledger.Run) { r.Scale = "" }, "scale: it is empty; want one of quick"},
		{func(r *ledger.Run) { r.Epochs = -5 }, "epochs: there are -5; want the "},
		{func(r *ledger.Run) { r.Epochs++ }, "of its config"},
		{func(r *ledger.Run) { r.Steps = 0 }, "steps: there are 0 in "},
		{func(r *ledger.Run) { r.Metrics[0].Name = "mig" }, `metrics: number 1 is "mig"; want "variance"`},
		{func(r *ledger.Run) { r.Metrics[2].Value = math.NaN() }, "metrics: mig has an infinite or NaN number"},
	} {
		f := must.Get(ledger.Read("f", bytes.NewReader(good.Bytes())))(t)
		test.change(&f.Runs[0])
		if err := table.Accept(f); (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v; want %s", err, test.want)
		}
	}
	if err := table.Accept(&ledger.File{}); err == nil {
		t.Error("an empty contribution is accepted")
	}
}

// A failed run does not replace a finished record.
func TestAcceptFailed(t *testing.T) {
	dir := t.TempDir()
	table := mustOpen(t, t.TempDir())
	makeRuns(t, table, dir, false, 1)
	f := contributed(t, table, dir)
	put(t, table, f)
	r := &f.Runs[0]
	r.Error, r.Metrics, r.Fit, r.Codes, r.Parameters, r.Stored = "the loss is not finite", nil, nil, "", "", nil
	must.Error(t, table.Accept(f), "error: it failed (the loss is not finite), and the ledger's record of it is finished")
}

// A run with the table's config but another history is reported and not contributed.
func TestContributeOther(t *testing.T) {
	dir := t.TempDir()
	table := mustOpen(t, t.TempDir())
	run := makeRuns(t, table, dir, false, 1)[0]
	if !computed(computeFrom(t, table, dir)) {
		t.Fatal("the table does not show the runs")
	}
	e := sweep.Read(filepath.Join(dir, run.Name))
	e.Record.History[0].Other = "the schedule was another one"
	record(t, e)
	if f := contributed(t, table, dir); len(f.Runs) != 0 {
		t.Errorf("%+v", f.Runs)
	}
	others, err := table.Others(Options{Scale: QuickScale, Runs: dir})
	if err != nil || len(others) != 1 || !strings.Contains(others[0], "the schedule was another one: it is not the run "+run.Name) {
		t.Errorf("%q, %v", others, err)
	}
	if computed(computeFrom(t, table, dir)) {
		t.Error("the table shows it")
	}
}

// computed reports whether any cell has one of our values.
func computed(r *Result) bool {
	return slices.ContainsFunc(r.Rows, func(row ResultRow) bool {
		return slices.ContainsFunc(row.Cells, func(c Cell) bool { return c.Ours != nil })
	})
}

// If another table recorded a run without a column's metric, it is trained again. The new run replaces the record if it
// has all recorded metrics.
func TestLedgerMetrics(t *testing.T) {
	long.NotShort(t)
	base, dir, other := t.TempDir(), keptRuns(t), t.TempDir()
	table := mustOpen(t, base)
	put(t, table, contributed(t, table, dir))
	want := fromLedger(t, table)
	const sap = "columns:\n  - {label: SAP, group: others, metric: sap}\n"

	few := mustOpen(t, base, "columns:\n", sap, "  - {label: Var., group: modularity, metric: variance, transform: exp(-x)}\n", "")
	makeRuns(t, few, other, false, 1)
	must.Error(t, few.Accept(contributed(t, few, other)),
		"metrics: it lacks a metric of the ledger's record; want this metric in the key also of the table or the row: variance: ", "without the variance")
	also := mustOpen(t, base, "columns:\n", "also: [sap]\ncolumns:\n")
	if left, err := also.Unrecorded(Options{Ledger: also.Ledger()}); err != nil || len(left) != 0 {
		t.Errorf("%s left for a metric of no column, %v", names(left), err)
	}

	more := mustOpen(t, base, "columns:\n", sap)
	if left, err := more.Unrecorded(Options{Ledger: more.Ledger()}); err != nil || len(left) != 12 {
		t.Errorf("%s left, %v; want all 12", names(left), err)
	}
	if c := fromLedger(t, more).Cell("a", "SAP, one"); c.Ours != nil {
		t.Errorf("%+v before it is measured", c)
	}
	runs := t.TempDir()
	makeRuns(t, more, runs, false, 0)
	f := contributed(t, more, runs)
	if err := more.Accept(f); err != nil || len(f.Runs) != 12 {
		t.Fatalf("%d runs, %v", len(f.Runs), err)
	}
	put(t, more, f)
	more, table = mustOpen(t, base, "columns:\n", sap), mustOpen(t, base)
	if left, err := more.Unrecorded(Options{Ledger: more.Ledger()}); err != nil || len(left) != 0 {
		t.Errorf("%s left, %v", names(left), err)
	}
	if c := fromLedger(t, more).Cell("a", "SAP, one"); c.Ours == nil {
		t.Errorf("%+v after it is measured", c)
	}
	if c, old := fromLedger(t, table).Cell("b", "MIG, two"), want.Cell("b", "MIG, two"); *c.Ours != *old.Ours || c.Status != old.Status {
		t.Errorf("%+v in the other table; want %+v", c, old)
	}
}
