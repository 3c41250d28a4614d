package tables_test

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/show"
	. "github.com/unravel-ml/unravel/results/tables"
)

// A table that quotes a cell of another table, means over a range of a column, and ranks.
const quotingTable = `
name: quoting
title: Cells of another table
source: a figure
reference: {file: ref.csv, dataset: d, draws: 2}
scales: {quick: {seeds: 2}, far: {seeds: 1}, full: {seeds: 3}}
rows:
  - {label: a, from: {cells: {table: TABLE, row: a}}}
  - {label: nobody, from: {cells: {table: TABLE, row: nobody}}}
  - {label: low, from: {binned: {tables: [TABLE], column: D, from: 0, to: 1e9}}}
  - {label: high, from: {binned: {tables: [TABLE], column: D, from: 1e9, to: 2e9}}}
  - {label: printed, from: {binned: {tables: [TABLE], column: D, of: printed, from: 0, to: 5}}}
  - {label: tau, from: {ranked: {tables: [TABLE], column: D, of: rows}}}
columns:
  - {label: D, metric: dlsbd}
  - {label: R, metric: mse}
`

// openQuoting writes the quoting table, with replacements, next to the trained table and opens it.
func openQuoting(t *testing.T, dir string, replace ...string) (*Table, error) {
	t.Helper()
	csv := "table,dataset,row,column,mean,std,note\nT,*,*,*,,,none\nT,d,a,D,0.5,,\n"
	text := strings.NewReplacer(append(replace, "TABLE", "'"+filepath.Join(dir, "table.yaml")+"'")...).Replace(quotingTable)
	must.WriteAll(t, filepath.Join(dir, "q"), map[string]string{"quoting.yaml": text, "ref.csv": csv})
	return Open(filepath.Join(dir, "q", "quoting.yaml"))
}

func TestQuoted(t *testing.T) {
	quotedDir, runs := t.TempDir(), t.TempDir()
	trained := must.Get(writeTableIn(t, quotedDir, trainedTable))(t)
	makeRuns(t, trained, filepath.Join(runs, "trained"), false, 0)
	theirs := must.Get(trained.Compute(t.Context(), Options{Runs: filepath.Join(runs, "trained")}))(t)
	table := must.Get(openQuoting(t, quotedDir))(t)
	r := must.Get(table.Compute(t.Context(), Options{Runs: filepath.Join(runs, "quoting")}))(t)
	want := theirs.Cell("a", "D")
	if c := r.Cell("a", "D"); c.Ours == nil || *c.Ours != *want.Ours || c.Draws != 2 || c.Deviation != want.Deviation ||
		*c.Theirs != 0.5 || c.Status == Unprinted {
		t.Errorf("%+v, want %+v", c, want)
	}
	if c := r.Cell("nobody", "D"); c.Status != Missing || c.Reason != "no such row in trained" {
		t.Errorf("%+v", c)
	}
	var mean float64
	for _, row := range []string{"a", "b/β", "same"} {
		mean += *theirs.Cell(row, "D").Ours / 3
	}
	if c := r.Cell("low", "D"); c.Ours == nil || c.Draws != 6 || !(math.Abs(*c.Ours-mean) <= 1e-12) {
		t.Errorf("%+v, want %v", c, mean)
	}
	if c := r.Cell("high", "D"); c.Status != Missing || c.Reason != "none of 6 runs has a value in this range" {
		t.Errorf("%+v", c)
	}
	if c := r.Cell("tau", "D"); c.Ours == nil || *c.Ours != 1 {
		t.Errorf("%+v", c)
	}
	if out := written(t, r, show.Markdown); !strings.Contains(out, "±") {
		t.Error(out)
	}
	far, err := table.Compute(t.Context(), Options{Scale: "far", Runs: filepath.Join(runs, "quoting")})
	if err != nil || !strings.Contains(far.Cell("a", "D").Reason, `there is no scale "far"`) || far.Cell("printed", "D").Ours == nil {
		t.Errorf("%+v, %v", far, err)
	}
}

func TestQuotedMistakes(t *testing.T) {
	dir := t.TempDir()
	must.Get(writeTableIn(t, dir, trainedTable))(t)
	for _, test := range []struct{ old, new, want string }{
		{"row: a}", `row: ""}`, "want the label of a row"},
		{"of: rows", "of: columns", `"columns" is unknown; want runs, rows or printed`},
		{"from: 0, to: 1e9", "from: 2, to: 1", "1 is not above from, 2"},
		{"tables: [TABLE], column: D, of: rows", "tables: [], column: D, of: rows", "want the names of tables"},
		{"cells: {table: TABLE, row: a}", "cells: {table: enriching-table22, row: a}", `did you mean "enriching-table2"?`},
		{"cells: {table: TABLE, row: a}", "cells: {table: lsbd-vae-figure5, row: a}", "the table lsbd-vae-figure5 quotes cells itself"},
		{"column: D, of: rows", "column: Q, of: rows", `the table trained has no column "Q"`},
	} {
		table, err := openQuoting(t, dir, test.old, strings.ReplaceAll(test.new, "TABLE", filepath.Join(dir, "table.yaml")))
		if err == nil {
			_, err = table.Compute(t.Context(), Options{})
		}
		must.Error(t, err, test.want, test.new)
	}
}

// Every bar of figure 5 is a row of its table, with the printed value.
func TestFigure5(t *testing.T) {
	figure := open(t, "lsbd-vae-figure5")
	for _, d := range figure.DataSets {
		quoted := open(t, d.Values[0].Value)
		for _, row := range figure.Rows {
			bar := figure.Reference().Find(d.Label, row.Label, "DLSBD")
			cell := quoted.Reference().Find(quoted.Printed.Dataset, row.Label, "DLSBD")
			if (bar.Mean.Text == "") != (cell == nil) || cell != nil && (bar.Mean != cell.Mean || bar.Std != cell.Std) {
				t.Errorf("%s, %s: %+v, want %+v", d.Label, row.Label, bar, cell)
			}
		}
	}
}
