package tables_test

import (
	"bytes"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/unravel-ml/unravel/configs"
	. "github.com/unravel-ml/unravel/tables"
)

// A table of several data sets, of whose runs the results are kept.
const keptTable = `
name: kept
title: Rows with results
source: nobody
reference: {file: ref.csv}
shipped: runs.csv
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

// openKept writes the table with its results into a folder, and opens it.
func openKept(t *testing.T, dir, runs string, replace ...string) (*Table, error) {
	t.Helper()
	for name, text := range map[string]string{
		"tiny.yaml": tinyConfig, "table.yaml": strings.NewReplacer(replace...).Replace(keptTable), "runs.csv": runs, "ref.csv": "table,dataset,row,column,mean,std,note\nT,*,*,*,,,none\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return Open(filepath.Join(dir, "table.yaml"))
}

const noRuns = "settings,row,dataset,seed,not converged\n"

// Results of runs that come with a table are those of the runs, until a row changes.
func TestShipped(t *testing.T) {
	table, err := openKept(t, t.TempDir(), noRuns)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	made := makeRuns(t, table, dir, false, 0)
	own := computeFrom(t, table, dir)
	if len(made) != 12 || own.Shipped != 0 || !own.HasRuns() {
		t.Fatalf("%d runs, %d shipped, %t", len(made), own.Shipped, own.HasRuns())
	}
	runs := text(t, own.WriteRuns)
	table, err = openKept(t, t.TempDir(), runs)
	if err != nil {
		t.Fatal(err)
	}
	for scale, want := range map[string]int{QuickScale: 0, FullScale: 6} {
		if left, err := table.Unshipped(scale); err != nil || len(left) != want {
			t.Errorf("%s: %s left, %v; want %d", scale, names(left), err, want)
		}
	}
	shipped := computeFrom(t, table, t.TempDir())
	if shipped.Shipped != 12 || !strings.Contains(shipped.Summary(), "results that come with the table: of 12 runs") {
		t.Errorf("%d shipped: %s", shipped.Shipped, shipped.Summary())
	}
	for i, row := range own.Rows {
		for j, c := range row.Cells {
			other := shipped.Rows[i].Cells[j]
			if c.Ours == nil || other.Ours == nil || math.Abs(*c.Ours-*other.Ours) > 1e-6**c.Ours || c.Rank != other.Rank || !slices.Equal(c.Notes, other.Notes) {
				t.Errorf("%s, %s: %+v of runs, %+v shipped", row.Label, c.Column, c, other)
			}
		}
	}
	if again := text(t, shipped.WriteRuns); again != runs {
		t.Errorf("of shipped results:\n%s\nof runs:\n%s", again, runs)
	}
	if mixed := computeFrom(t, table, dir); mixed.Shipped != 0 {
		t.Errorf("%d shipped beside runs of one's own", mixed.Shipped)
	}
	if table, err = openKept(t, t.TempDir(), runs, "weight: 0.5", "weight: 0.6"); err != nil {
		t.Fatal(err)
	}
	if left, err := table.Unshipped(QuickScale); err != nil || names(left) != "a_one_quick_seed0 a_two_quick_seed0 a_one_quick_seed1 a_two_quick_seed1" {
		t.Errorf("of another row a: %s, %v", names(left), err)
	}
	if r := computeFrom(t, table, t.TempDir()); r.Shipped != 8 || r.Cell("a", "MIG, one").Reason != "not run yet" || r.Cell("b", "MIG, one").Ours == nil {
		t.Errorf("%d shipped of another table: %+v", r.Shipped, r.Cell("a", "MIG, one"))
	}
	checkKeptWritten(t, own)
}

// checkKeptWritten wants the agreement of the columns in all that is written.
func checkKeptWritten(t *testing.T, r *Result) {
	t.Helper()
	printed := text(t, func(w io.Writer) error { return r.Print(w, 100) })
	if !strings.Contains(printed, "\nMean ranks by group of columns, 1 for the best of 3 rows\n\n   modularity  others    all\n   one  two  one  two  mean\na  ") ||
		!strings.Contains(printed, "\nKendall's tau between columns") || !strings.Contains(printed, "\nVar.    1.00") {
		t.Error(printed)
	}
	if markdown := text(t, r.WriteMarkdown); !strings.Contains(markdown, "| modularity: one | modularity: two | others: one | others: two | all: mean |") {
		t.Error(markdown)
	}
	if page := text(t, r.WriteHTML); strings.Count(page, "<table") != 4+2 {
		t.Error(page)
	}
	if json := text(t, r.WriteJSON); !strings.Contains(json, `"agreement":{"columns":["Var.","Var.*","MIG","of row"],"groups":["modularity","others"],"ranks":[[[`) {
		t.Error(json)
	}
	if ranks := text(t, r.WriteRanks); strings.Count(ranks, "\n") != 1+3*8 || !strings.Contains(ranks, "kept,a,\"Var., one\",") {
		t.Error(ranks)
	}
	if tau := text(t, r.WriteTau); strings.Count(tau, "\n") != 1+6 || !strings.Contains(tau, "kept,of row,MIG,") {
		t.Error(tau)
	}
}

// Every sub-code is measured in the columns of its data set.
func TestDataSetCodes(t *testing.T) {
	table, err := openKept(t, t.TempDir(), noRuns)
	if err != nil {
		t.Fatal(err)
	}
	runs, err := table.Runs(QuickScale)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"column: [1], row: [0]", "column: [0], row: [1]"} {
		c, err := runs[i].Config.Encode()
		compact := strings.Join(strings.Fields(string(c)), " ")
		if err != nil || !strings.Contains(compact, "column: "+want[8:11]) && !strings.Contains(compact, want) || !strings.Contains(compact, "project: linear") {
			t.Errorf("%s: %v: no %s in\n%s", runs[i].Name, err, want, c)
		}
	}
}

func TestShippedMistakes(t *testing.T) {
	line := "settings,row,dataset,seed,MIG,not converged\nab,a,one,0,0.5,\n"
	for _, test := range []struct{ runs, old, new, want string }{
		{"", "", "", "runs.csv: the file is empty"},
		{"settings,row\n", "", "", `runs.csv:1: the header is ["settings" "row"]; want settings,row,dataset,seed, labels of columns, not converged`},
		{strings.Replace(line, "MIG", "MIC", 1), "", "", `runs.csv:1: there is no column "MIC"; did you mean "MIG"?`},
		{strings.Replace(line, "MIG", "MIG,MIG", 1), "", "", `runs.csv:1: there are two columns "MIG"`},
		{line + "ab,a,one,1,0.5,\n", "", "", `runs.csv:3: there are two lines of the settings "ab"`},
		{strings.Replace(line, ",0,", ",first,", 1), "", "", `runs.csv:2: the seed is "first"; want a whole number`},
		{strings.Replace(line, "0.5", "NaN", 1), "", "", `runs.csv:2: column "MIG" is "NaN"; want a number, or nothing`},
		{line + "ab,a\n", "", "", "runs.csv: record on line 3: wrong number of fields"},
		{line, "shipped: runs.csv", "shipped: ../runs.csv", `shipped: "../runs.csv" is not a path from the folder of the table`},
		{line, "shipped: runs.csv", "shipped: others.csv", "others.csv"},
		{line, "metric: mig}", "fit: reconstruction}", `shipped: column "MIG" has no metric`},
		{line, "values: {more: []}", "values: {more: 3}", `$more of the data set "two" is 3; want a list where $more... stands for its elements`},
		{line, "values: {more: []}", "values: {more: [], codes: []}", "$codes are the codes of the data set; want another name"},
		{line, "codes: {row: [0]", "codes: {row: [-1]", "negative or repeated column"},
	} {
		table, err := openKept(t, t.TempDir(), test.runs, test.old, test.new)
		if err == nil {
			_, err = table.Runs(QuickScale)
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %s: %v; want %s", test.runs, test.new, err, test.want)
		}
	}
}

// Any file of results is read or refused.
func FuzzShipped(f *testing.F) {
	f.Add([]byte(noRuns))
	f.Add([]byte("settings,row,dataset,seed,MIG,not converged\nab,a,one,0,0.5,\n"))
	f.Add([]byte("settings,row,dataset,seed,MIG,not converged\n\"ab\nc\",a,one,1e3,,\n"))
	f.Fuzz(func(t *testing.T, runs []byte) {
		_, err := Load(fstest.MapFS{"table.yaml": {Data: []byte(keptTable)}, "runs.csv": {Data: runs}, "ref.csv": {Data: []byte("table,dataset,row,column,mean,std,note\nT,*,*,*,,,none\n")}}, "table.yaml", "")
		if err != nil && !strings.Contains(err.Error(), "runs.csv") {
			t.Error(err)
		}
	})
}

// Tables that come with Unravel ship results of runs that they have.
func TestShippedWithUnravel(t *testing.T) {
	shipping := 0
	for _, name := range Names() {
		table, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if table.Shipped == "" {
			continue
		}
		shipping++
		text, err := fs.ReadFile(configs.Tables(), table.Shipped)
		if err != nil {
			t.Fatal(err)
		}
		const scale = "medium" // the largest of which there are results; the quick one has the same runs
		all, err := table.Runs(scale)
		if err != nil {
			t.Fatal(err)
		}
		missing, err := table.Unshipped(scale)
		if err != nil {
			t.Fatal(err)
		}
		if lines := bytes.Count(text, []byte("\n")) - 1; len(all)-len(missing) != lines {
			t.Errorf("%s: %d lines in %s, of which runs have %d; want every line to be of a run", name, lines, table.Shipped, len(all)-len(missing))
		}
	}
	if shipping != 1 {
		t.Errorf("%d tables ship results; want 1", shipping)
	}
}
