package tables_test

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics/ranking"
	. "github.com/unravel-ml/unravel/results/tables"
)

// One table has two data sets and three rows. The other table compares its columns.
const (
	comparedTable = `
name: compared
title: Rows to order
source: nobody
reference: {file: ref.csv}
scales: {quick: {seeds: 2}, full: {seeds: 3}}
datasets:
  - {label: one}
  - {label: two, set: {train.batch: 16}}
rows:
  - {label: a, from: {runs: {config: tiny.yaml}}}
  - {label: b, from: {runs: {config: tiny.yaml, set: {losses.1.kl.weight: 3}}}}
  - {label: c, from: {runs: {config: tiny.yaml, set: {train.epochs: 2}}}}
columns:
  - {label: Var., metric: {variance: {project: linear}}, transform: exp(-x)}
  - {label: MIG, metric: mig}
  - {label: Com., metric: {dci: {rounds: 2}}, part: completeness}
also: [mse]
`
	tauTable = `
name: tau
title: Tau
source: nobody
reference: {file: ref.csv, dataset: D}
scales: {quick: {seeds: 2}, full: {seeds: 3}}
rows:
  - {label: Var., from: {tau: {table: compared.yaml, column: Var.}}}
  - {label: raw, from: {tau: {table: compared.yaml, column: Var., raw: true}}}
  - {label: Com., from: {tau: {table: compared.yaml, column: Com.}}}
columns:
  - {label: of Var., metric: {variance: {project: linear}}}
  - {label: of MIG, metric: mig}
  - {label: of Com., metric: {dci: {rounds: 2}}, part: completeness}
`
)

// openTau writes both tables into a folder, and opens them.
func openTau(t *testing.T, replace ...string) (compared, tau *Table) {
	t.Helper()
	dir := t.TempDir()
	must.WriteAll(t, dir, map[string]string{
		"tiny.yaml": tinyConfig, "compared.yaml": comparedTable, "tau.yaml": strings.NewReplacer(replace...).Replace(tauTable),
		"ref.csv": "table,dataset,row,column,mean,std,note\nT,*,*,*,,,none\n",
	})
	compared, err := Open(filepath.Join(dir, "compared.yaml"))
	must.OK(t, err)
	if tau, err = Open(filepath.Join(dir, "tau.yaml")); err != nil {
		t.Fatal(err)
	}
	return compared, tau
}

// wantTau computes tau between two columns of the other table for each seed. It uses the shown values, and averages
// over both data sets.
func wantTau(r *Result, a, b string) []float64 {
	var list []float64
	for seed := range 2 {
		sum := 0.0
		for _, set := range []string{"one", "two"} {
			var x, y []float64
			for _, row := range r.Rows {
				x, y = append(x, r.Cell(row.Label, a+", "+set).Runs[seed]), append(y, r.Cell(row.Label, b+", "+set).Runs[seed])
			}
			sum += ranking.KendallTau(x, y) / 2
		}
		list = append(list, sum)
	}
	return list
}

// Tau uses the shown values of the other table, and only that table's runs.
func TestTau(t *testing.T) {
	long.NotShort(t)
	compared, tau := openTau(t)
	dir := t.TempDir()
	runs := makeRuns(t, compared, dir, false, 0)
	mine, err := tau.Runs(QuickScale)
	if err != nil || len(mine) != len(runs) || len(runs) != 12 {
		t.Fatalf("%d runs, and %d of the other table: %v", len(mine), len(runs), err)
	}
	for i := range runs {
		if mine[i].Hash != runs[i].Hash && mine[i].Name != runs[i].Name {
			t.Errorf("run %d is %s; want %s", i, mine[i].Name, runs[i].Name)
		}
	}
	theirs, got := computeFrom(t, compared, dir), computeFrom(t, tau, dir)
	for _, test := range []struct {
		row, column, a, b string
		sign              float64
	}{
		{"Var.", "of Var.", "Var.", "Var.", 1}, {"Var.", "of MIG", "Var.", "MIG", 1}, {"Var.", "of Com.", "Var.", "Com.", 1},
		{"raw", "of Var.", "Var.", "Var.", 1}, {"raw", "of MIG", "Var.", "MIG", -1}, {"raw", "of Com.", "Var.", "Com.", -1},
		{"Com.", "of Var.", "Com.", "Var.", 1}, {"Com.", "of MIG", "Com.", "MIG", 1}, {"Com.", "of Com.", "Com.", "Com.", 1},
	} {
		want := wantTau(theirs, test.a, test.b)
		for seed, v := range got.Cell(test.row, test.column).Runs {
			if !(math.Abs(v-test.sign*want[seed]) <= 1e-12) {
				t.Errorf("%s, %s, seed %d: %v; want %v", test.row, test.column, seed, v, test.sign*want[seed])
			}
		}
	}
	if v := got.Cell("Com.", "of MIG").Runs; len(v) != 2 || v[0] == v[1] && v[0] == 1 {
		t.Errorf("tau %v shows nothing", v)
	}
}

// If a comparison is not possible, the error names the reason.
func TestTauRefuses(t *testing.T) {
	long.NotShort(t)
	for _, test := range []struct{ old, new, want string }{
		{"column: Com.}", "column: Compl}", `table compared.yaml has no column "Compl" of a metric`},
		{"table: compared.yaml, column: Com.}", "table: nothing, column: Com.}", `there is no table "nothing"`},
		{"seeds: 3}}", "seeds: 3}, medium: {seeds: 1}}", "medium"},
	} {
		_, tau := openTau(t, test.old, test.new)
		scale := QuickScale
		if test.want == "medium" {
			scale = "medium"
		}
		must.ErrorOf(tau.Runs(scale))(t, test.want, test.new)
	}
	compared, tau := openTau(t, "metric: mig}", "metric: {mig: {bins: 10}}}")
	dir := t.TempDir()
	makeRuns(t, compared, dir, false, 6)
	if c := computeFrom(t, tau, dir).Cell("Var.", "of MIG"); c.Status != Missing ||
		!strings.Contains(c.Reason, "the runs of table compared do not measure mig with the same options") {
		t.Errorf("%+v", c)
	}
}

// printedTables opens two tables that compare and multiply printed numbers.
func printedTables(t *testing.T, digits string) *Table {
	t.Helper()
	dir := t.TempDir()
	head := "title: x\nsource: x\nscales: {quick: {seeds: 40}, full: {seeds: 40}}\n"
	ref := "table,dataset,row,column,mean,std,note\n"
	for i, row := range []string{"a", "b", "c"} {
		ref += fmt.Sprintf("T,D,%s,Var.,0.%d0,,\nT,D,%s,MIG,0.%d0,,\n", row, 9-i, row, []int{2, 2, 4}[i])
	}
	must.Write(t, filepath.Join(dir, "of.yaml"), "name: of\n"+head+`reference: {file: of.csv, dataset: D}
rows: [{label: a, missing: x}, {label: b, missing: x}, {label: c, missing: x}]
columns: [{label: Var., metric: variance, transform: exp(-x)}, {label: MIG, metric: mig}]
`)
	of := filepath.Join(dir, "of.yaml")
	must.WriteAll(t, dir, map[string]string{
		"of.csv": ref, "ref.csv": "table,dataset,row,column,mean,std,note\nT,*,*,*,,,none\n",
		"it.yaml": "name: it\n" + head + "reference: {file: ref.csv, dataset: D}\nrows:\n" +
			"  - {label: tau, from: {printed-tau: {table: " + of + ", column: Var." + digits + "}}}\n" +
			"  - {label: raw, from: {printed-tau: {table: " + of + ", column: Var., raw: true}}}\n" +
			"  - {label: product, from: {printed-product: {table: " + of + ", row: b}}}\n" +
			"columns: [{label: of MIG, metric: mig}, {label: of Var., metric: variance}]\n",
	})
	return must.Get(Open(filepath.Join(dir, "it.yaml")))(t)
}

// Printed numbers have tau-b with ties. Their products sample the unprinted digits for each seed.
func TestPrintedValues(t *testing.T) {
	r := compute(t, printedTables(t, ""), false)
	want := -2 / math.Sqrt(3*2) // a tie, two pairs in the other order
	for row, sign := range map[string]float64{"tau": 1, "raw": -1} {
		if c := r.Cell(row, "of MIG"); c.Ours == nil || !(math.Abs(*c.Ours-sign*want) <= 1e-12) || !c.Exact {
			t.Errorf("%s: %+v", row, c)
		}
		if c := r.Cell(row, "of Var."); c.Ours == nil || *c.Ours != 1 {
			t.Errorf("%s: %+v", row, c)
		}
	}
	if c := r.Cell("product", "of Var."); c.Ours == nil || !(math.Abs(*c.Ours-0.8) <= 0.002) ||
		!(c.Deviation >= 0.002 && c.Deviation <= 0.004) || c.Exact {
		t.Errorf("product: %+v", c)
	}
	r = compute(t, printedTables(t, ", digits: reference/enriching-table3.csv"), false)
	if c := r.Cell("tau", "of MIG"); c.Status != Missing ||
		!strings.Contains(c.Reason, "reference/enriching-table3.csv:2: 0.44 does not round to a printed number of ") {
		t.Errorf("%+v", c)
	}
}

// Tables 6 and 8 to 11 of Zhang and Sugiyama 2024 show only runs of table 5. These runs have the same folder and the
// same settings.
func TestEnrichingShareRuns(t *testing.T) {
	for _, scale := range []string{QuickScale, "medium", FullScale} {
		known := map[string]bool{}
		runs := must.Get(open(t, "enriching-table5").Runs(scale))(t)
		for _, r := range runs {
			known[r.Hash] = true
		}
		for name, want := range map[string]int{"enriching-table6": 16, "enriching-table8": 4, "enriching-table9": 4,
			"enriching-table10": 4, "enriching-table11": 4} {
			table := open(t, name)
			runs, err := table.Runs(scale)
			if err != nil || table.Folder != "enriching-table5" {
				t.Fatalf("%s in %q: %v", name, table.Folder, err)
			}
			if seeds := map[string]int{QuickScale: 1, "medium": 3, FullScale: 3}[scale]; len(runs) != want*seeds {
				t.Errorf("%s, %s: %d runs; want %d", name, scale, len(runs), want*seeds)
			}
			for _, r := range runs {
				if !known[r.Hash] {
					t.Errorf("%s, %s: %s is no run of table 5", name, scale, r.Name)
				}
			}
		}
	}
}
