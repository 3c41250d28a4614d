package tables_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/unravel-ml/unravel/internal/cputime"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/show"
	"github.com/unravel-ml/unravel/results"
	"github.com/unravel-ml/unravel/results/ledger"
	. "github.com/unravel-ml/unravel/results/tables"
	"github.com/unravel-ml/unravel/train/sweep"
)

// A table with several data sets and recorded results.
const keptTable = `
name: kept
title: Rows with results
source: nobody
reference: {file: ref.csv}
agreement: true
scales: {quick: {seeds: 2}, full: {seeds: 3}}
datasets:
  - {label: one, codes: {row: [0], column: [1]}, values: {more: [{kl: {weight: 2}}]}}
  - {label: two, codes: {row: [1], column: [0]}, values: {more: []}}
rows:
  - {label: a, from: {runs: {config: tiny.yaml, set: {losses: [{reconstruction: {}}, $more..., {kl: {weight: 0.5}}]}}}}
  - {label: b, from: {runs: {config: tiny.yaml, set: {losses: [{reconstruction: {}}, {kl: {weight: 1}}, $more...]}}}}
  - {label: c, from: {runs: {config: tiny.yaml, set: {losses: [$more..., {reconstruction: {}}]}}}}
columns:
  - {label: Var., group: modularity, metric: variance, transform: exp(-x)}
  - {label: Var.*, group: modularity, metric: {variance: {project: linear}}}
  - {label: MIG, group: others, metric: mig}
  - {label: of row, group: others, metric: mig, part: per_factor, of: row}
`

// openKept writes the table into a folder, and opens it.
func openKept(t *testing.T, dir string, replace ...string) (*Table, error) {
	t.Helper()
	must.WriteAll(t, dir, map[string]string{
		"tiny.yaml": tinyConfig, "table.yaml": strings.NewReplacer(replace...).Replace(keptTable), "ref.csv": "table,dataset,row,column,mean,std,note\nT,*,*,*,,,none\n",
	})
	return Open(filepath.Join(dir, "table.yaml"))
}

// mustOpen is openKept for a table without mistakes.
func mustOpen(t *testing.T, dir string, replace ...string) *Table {
	t.Helper()
	return must.Get(openKept(t, dir, replace...))(t)
}

// keptRuns returns a folder with the runs of the table. They are trained once.
func keptRuns(t *testing.T) string {
	t.Helper()
	kept.Do(func() {
		dir := t.TempDir()
		makeRuns(t, mustOpen(t, t.TempDir()), dir, false, 0)
		files := os.DirFS(dir)
		must.OK(t, fs.WalkDir(files, ".", func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			data, err := fs.ReadFile(files, path)
			keptFiles[path] = &fstest.MapFile{Data: data, Mode: 0o666}
			return err
		}))
	})
	dir := t.TempDir()
	must.OK(t, os.CopyFS(dir, keptFiles))
	return dir
}

var (
	kept      sync.Once
	keptFiles = fstest.MapFS{}
)

// contributed returns the runs of a table as a contribution.
func contributed(t *testing.T, table *Table, dir string) *ledger.File {
	t.Helper()
	return must.Get(table.Contribution(Options{Scale: QuickScale, Runs: dir, Ledger: table.Ledger()}))(t)
}

// put adds a contribution to the ledger of a user's table.
func put(t *testing.T, table *Table, f *ledger.File) {
	t.Helper()
	dir, own := table.LedgerFolder()
	dir = filepath.Join(dir, table.RunsFolder())
	if err := os.MkdirAll(dir, 0o777); err != nil || !own {
		t.Fatal(err)
	}
	for _, u := range must.Get(ledger.Updates(dir, f, false))(t) {
		must.OK(t, u.Write())
	}
}

// fromLedger computes a table from its ledger, without a folder of runs.
func fromLedger(t *testing.T, table *Table) *Result {
	t.Helper()
	return must.Get(table.Compute(context.Background(), Options{Ledger: table.Ledger()}))(t)
}

// Until a row changes, recorded results equal the results of the runs to the last digit.
func TestLedger(t *testing.T) {
	long.NotShort(t)
	base, dir := t.TempDir(), keptRuns(t)
	table := mustOpen(t, base)
	own := computeFrom(t, table, dir)
	if own.Ledger != nil {
		t.Fatalf("%v", own.Ledger)
	}
	f := contributed(t, table, dir)
	if err := table.Accept(f); err != nil || len(f.Runs) != 12 {
		t.Fatalf("%d runs, %v", len(f.Runs), err)
	}
	if cpu := f.Runs[0].CPU; cputime.Process() > 0 && cpu <= 0 {
		t.Errorf("%g seconds of cores", cpu)
	}
	put(t, table, f)
	must.Equal(t, len(contributed(t, table, dir).Runs), 0, "runs that the ledger has, but lacks")
	for scale, want := range map[string]int{QuickScale: 0, FullScale: 6} {
		if left, err := table.Unrecorded(Options{Scale: scale, Ledger: table.Ledger()}); err != nil || len(left) != want {
			t.Errorf("%s: %s left, %v; want %d", scale, names(left), err, want)
		}
	}
	if held, err := table.Held(Options{Ledger: table.Ledger()}); err != nil || held != FullScale { // 12 of 18
		t.Errorf("held %q, %v", held, err)
	}
	for scales, want := range map[string]string{"quick: {seeds: 2}, mid: {seeds: 9}, full: {seeds: 20}": "mid",
		"quick: {seeds: 20}, full: {seeds: 30}": QuickScale} {
		more := mustOpen(t, base, "quick: {seeds: 2}, full: {seeds: 3}", scales)
		must.Equal(t, must.Get(more.Held(Options{Ledger: more.Ledger()}))(t), want, scales, "held")
	}
	table = mustOpen(t, base)
	shown := fromLedger(t, table)
	if shown.Ledger == nil || shown.Ledger.Runs != 12 || shown.Ledger.Stale != 0 || len(shown.Ledger.Versions) != 1 ||
		!strings.Contains(shown.Summary(), "from the ledger: 12 runs of version ") {
		t.Errorf("%+v: %s", shown.Ledger, shown.Summary())
	}
	for i, row := range own.Rows {
		for j, c := range row.Cells {
			if other := shown.Rows[i].Cells[j]; c.Ours == nil || other.Ours == nil || !slices.Equal(c.Runs, other.Runs) ||
				c.Rank != other.Rank || !slices.Equal(c.Notes, other.Notes) || c.Status != other.Status {
				t.Errorf("%s, %s: %+v of runs, %+v in the ledger", row.Label, c.Column, c, other)
			}
		}
	}
	if both, err := table.Compute(context.Background(), Options{Runs: dir, Ledger: table.Ledger()}); err != nil || both.Ledger != nil {
		t.Errorf("%+v beside runs of one's own, %v", both.Ledger, err)
	}
	changed := mustOpen(t, base, "weight: 0.5", "weight: 0.6")
	if left, err := changed.Unrecorded(Options{Scale: QuickScale, Ledger: changed.Ledger()}); err != nil ||
		names(left) != "a_one_quick_seed0 a_two_quick_seed0 a_one_quick_seed1 a_two_quick_seed1" {
		t.Errorf("of another row a: %s, %v", names(left), err)
	}
	if r := fromLedger(t, changed); r.Ledger.Runs != 8 || r.Cell("a", "MIG, one").Reason != "not run yet" ||
		r.Cell("b", "MIG, one").Ours == nil {
		t.Errorf("%+v of another table: %+v", r.Ledger, r.Cell("a", "MIG, one"))
	}
	checkKeptWritten(t, own)
}

// A run in the ledger is found, even if a row writes the same settings differently.
func TestLedgerOtherWords(t *testing.T) {
	long.NotShort(t)
	base, dir := t.TempDir(), keptRuns(t)
	table := mustOpen(t, base)
	put(t, table, contributed(t, table, dir))
	want := fromLedger(t, table)
	for _, label := range []string{"b", "another name"} {
		words := mustOpen(t, base, "{label: b, from: {runs: {config: tiny.yaml, set: {losses: [{reconstruction: {}}",
			"{label: "+label+", from: {runs: {config: tiny.yaml, set: {losses: [{reconstruction: {weight: 1}}")
		got := fromLedger(t, words)
		if got.Ledger == nil || got.Ledger.Runs != want.Ledger.Runs || got.Ledger.Stale != 0 {
			t.Errorf("%s: %v; want %v", label, got.Ledger, want.Ledger)
		}
		if runs := contributed(t, words, dir).Runs; len(runs) != 0 {
			t.Errorf("%s: the ledger lacks %d runs that it has", label, len(runs))
		}
		if left, err := words.Unrecorded(Options{Ledger: words.Ledger()}); err != nil || len(left) != 0 {
			t.Errorf("%s: %s left, %v", label, names(left), err)
		}
	}
}

// printedOfKept returns printed values for MIG in all rows and data sets.
func printedOfKept() string {
	text := "table,dataset,row,column,mean,std,note\n"
	for _, place := range []string{"one", "two"} {
		for _, row := range []string{"a", "b", "c"} {
			text += "T," + place + "," + row + ",MIG,0.1,,\n"
		}
		text += "T," + place + ",*,*,,,none\n"
	}
	return text
}

// A recorded run is stale if it comes from code of another generation, or if its config has changed. An additional
// metric does not make it stale.
func TestStale(t *testing.T) {
	long.NotShort(t)
	base, dir := t.TempDir(), keptRuns(t)
	printed := []string{"reference: {file: ref.csv}", "reference: {file: printed.csv}"}
	must.Write(t, filepath.Join(base, "printed.csv"), printedOfKept())
	table := mustOpen(t, base, printed...)
	f := contributed(t, table, dir)
	for i := range f.Runs {
		if f.Runs[i].Seed == 1 {
			f.Runs[i].Generation = 1
		}
	}
	put(t, table, f)
	r := fromLedger(t, table)
	note := "1 of 2 runs stale: trained by an earlier version: "
	if c := r.Cell("a", "MIG, one"); r.Ledger.Stale != 6 || c.Status != Outdated || len(c.Notes) == 0 ||
		!strings.HasPrefix(c.Notes[0], note) || r.Reproduced != 0 {
		t.Errorf("%+v, %+v", r.Ledger, c)
	}
	if printed := asText(t, r, 100); !strings.Contains(printed, note) ||
		!strings.Contains(printed, "from stale runs: 6") || !strings.Contains(printed, "12 runs of version") {
		t.Error(printed)
	}
	counts, err := table.Counts(context.Background(), Options{Ledger: table.Ledger()})
	if want := (Counts{Scale: QuickScale, Printed: 6, Computable: 6, Computed: 6, Stale: 6, Ledger: 12}); err != nil ||
		len(counts) != 2 || counts[0] != want {
		t.Errorf("%+v, %v; want %+v", counts, err, want)
	}
	more := mustOpen(t, base, append(printed, "columns:\n", "also: [sap]\ncolumns:\n")...)
	if r := fromLedger(t, more); r.Ledger.Stale != 6 || r.Cell("b", "MIG, two").Ours == nil ||
		*r.Cell("b", "MIG, two").Ours != *fromLedger(t, table).Cell("b", "MIG, two").Ours {
		t.Errorf("with a metric more: %v", r.Ledger.Reasons)
	}
	other := mustOpen(t, base, append(printed, "metric: mig}", "metric: {mig: {bins: 7}}}")...)
	if r := fromLedger(t, other); r.Ledger.Stale != 12 || r.Ledger.Reasons["its metrics have other options today"] != 6 {
		t.Errorf("with other bins: %v", r.Ledger.Reasons)
	}
	if fresh := contributed(t, table, dir); len(fresh.Runs) != 6 || fresh.Runs[0].Seed != 1 {
		t.Errorf("%d runs in place of stale ones; want 6", len(fresh.Runs))
	}
}

// A run is stale if its resolved config has changed, for example by a new default.
func TestStaleConfig(t *testing.T) {
	long.NotShort(t)
	base, dir := t.TempDir(), keptRuns(t)
	table := mustOpen(t, base)
	f := contributed(t, table, dir)
	other := map[string]string{} // new ID of each config by its old ID
	for i, c := range f.Configs {
		text := strings.ReplaceAll(c.YAML, "weight: 0.5\n", "weight: 0.7\n")
		sum := sha256.Sum256([]byte(text))
		f.Configs[i] = ledger.Config{ID: hex.EncodeToString(sum[:8]), YAML: text}
		if text != c.YAML {
			other[c.ID] = f.Configs[i].ID
		}
	}
	for i := range f.Runs {
		if id, ok := other[f.Runs[i].Config]; ok {
			f.Runs[i].Config, f.Runs[i].Hash = id, strings.Repeat("a", 32)
		}
	}
	put(t, table, f)
	if r := fromLedger(t, table); r.Ledger.Runs != 12 || r.Ledger.Stale != 4 || r.Ledger.Reasons["its config is another one today"] != 4 {
		t.Errorf("%+v", r.Ledger)
	}
}

// A failed run is shown as failed with the reason.
func TestLedgerFailed(t *testing.T) {
	dir := t.TempDir()
	table := mustOpen(t, t.TempDir(), "config: tiny.yaml, set: {losses: [$more..., {reconstruction: {}}]}",
		"config: tiny.yaml, set: {train.optimizer.adam.lr: 1e30}")
	runs := must.Get(table.Runs(QuickScale))(t)
	outcomes, err := sweep.Execute(context.Background(), dir, runs[4:5], sweep.Options{})
	if err != nil || outcomes[0].State != sweep.Failed {
		t.Fatalf("%+v, %v", outcomes, err)
	}
	f := contributed(t, table, dir)
	if err := table.Accept(f); err != nil || len(f.Runs) != 1 || f.Runs[0].Error == "" || strings.Contains(f.Runs[0].Error, dir) {
		t.Fatalf("%+v, %v", f.Runs, err)
	}
	put(t, table, f)
	if c := fromLedger(t, table).Cell("c", "MIG, one"); c.Ours != nil || !strings.HasPrefix(c.Reason, "1 of 2 runs failed: ") {
		t.Errorf("%+v", c)
	}
}

// Shared plans give the same runs as separate plans for each config.
func TestPlansShare(t *testing.T) {
	table := mustOpen(t, t.TempDir())
	runs, err := table.Runs(FullScale)
	if err != nil || len(runs) != 18 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	for _, r := range runs {
		alone, err := sweep.NewRun(r.Name, r.Config)
		if err != nil || alone.Hash != r.Hash || r.Config.Name != r.Name {
			t.Errorf("%s: the hash %s, alone %s, %v", r.Name, r.Hash, alone.Hash, err)
		}
	}
}

// Unravel's ledger only has runs of its tables.
func TestLedgerOfTables(t *testing.T) {
	long.NotShort(t)
	folders := map[string][]*Table{}
	for _, name := range Names() {
		table := open(t, name)
		folders[table.RunsFolder()] = append(folders[table.RunsFolder()], table)
	}
	list := must.Get(fs.ReadDir(results.Files(), "."))(t)
	for _, folder := range list {
		book := must.Get(ledger.Open(results.Files(), folder.Name()))(t)
		left := map[string]bool{}
		for _, r := range book.Runs() {
			left[r.Settings] = true
		}
		for _, table := range folders[folder.Name()] {
			for _, t2 := range []*Table{table, table.OnReal()} {
				known := must.Get(t2.Digests())(t)
				for _, digest := range known {
					delete(left, digest)
				}
			}
		}
		for _, r := range book.Runs() {
			if left[r.Settings] {
				t.Errorf("%s: no table has the run %s (%s)", folder.Name(), r.Name, r.Settings)
			}
		}
	}
}

// checkKeptWritten checks the agreement of columns in every output format.
func checkKeptWritten(t *testing.T, r *Result) {
	t.Helper()
	printed := asText(t, r, 100)
	if !strings.Contains(printed,
		"\nMean ranks by group of columns, 1 for the best of 3 rows\n\n   modularity  others    all\n   one  two  one  two  mean\na  ") ||
		!strings.Contains(printed, "\nKendall's tau between columns") || !strings.Contains(printed, "\nVar.    1.00") {
		t.Error(printed)
	}
	if markdown := written(t, r, show.Markdown); !strings.Contains(markdown,
		"| modularity: one | modularity: two | others: one | others: two | all: mean |") {
		t.Error(markdown)
	}
	if page := written(t, r, show.HTML); strings.Count(page, "<table") != 4+2 {
		t.Error(page)
	}
	if json := text(t, r.WriteJSON); !strings.Contains(json,
		`"agreement":{"columns":["Var.","Var.*","MIG","of row"],"groups":["modularity","others"],"ranks":[[[`) {
		t.Error(json)
	}
	if ranks := fileOf(t, r, "kept-ranks.csv"); strings.Count(ranks, "\n") != 1+3*8 || !strings.Contains(ranks, "kept,a,\"Var., one\",") {
		t.Error(ranks)
	}
	if tau := fileOf(t, r, "kept-tau.csv"); strings.Count(tau, "\n") != 1+6 || !strings.Contains(tau, "kept,of row,MIG,") {
		t.Error(tau)
	}
}

// The columns of a data set measure every sub-code.
func TestDataSetCodes(t *testing.T) {
	table := must.Get(openKept(t, t.TempDir()))(t)
	runs := must.Get(table.Runs(QuickScale))(t)
	for i, want := range []string{"column: [1], row: [0]", "column: [0], row: [1]"} {
		c, err := runs[i].Config.Encode()
		compact := strings.Join(strings.Fields(string(c)), " ")
		if err != nil || !strings.Contains(compact, "column: "+want[8:11]) && !strings.Contains(compact, want) ||
			!strings.Contains(compact, "project: linear") {
			t.Errorf("%s: %v: no %s in\n%s", runs[i].Name, err, want, c)
		}
	}
}

// Mistakes in the sub-codes and lists of data sets are errors.
func TestDataSetValueMistakes(t *testing.T) {
	for _, test := range []struct{ old, new, want string }{
		{"values: {more: []}", "values: {more: 3}", `$more of the data set "two" is 3; want a list where $more... stands for its elements`},
		{"values: {more: []}", "values: {more: [], codes: []}", "$codes are the codes of the data set; want another name"},
		{"codes: {row: [0]", "codes: {row: [-1]", "negative or repeated column"},
	} {
		table, err := openKept(t, t.TempDir(), test.old, test.new)
		if err == nil {
			_, err = table.Runs(QuickScale)
		}
		must.Error(t, err, test.want, test.new)
	}
}

// Records whose resolved config has more keys today can be repeated.
func TestCheckOldRecords(t *testing.T) {
	table := must.Get(Open("hierarchical-benchmark"))(t)
	c := &Choice{Count: 64}
	found, err := Checkables([]*Table{table}, c)
	if err != nil || len(found) == 0 {
		t.Fatalf("%d runs of %+v, %v", len(found), c, err)
	}
	older := 0
	for _, one := range found {
		if one.Run.Hash != one.Record.Hash {
			older++
		}
	}
	if older == 0 {
		t.Error("all records have the hash of today's config; want another example")
	}
}
