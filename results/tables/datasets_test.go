package tables_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/show"
	. "github.com/unravel-ml/unravel/results/tables"
	"github.com/unravel-ml/unravel/train/sweep"
)

// A table with rows on several data sets.
const (
	severalTable = `
name: several
title: Rows on several data sets
source: a figure
reference: {file: ref.csv}
scales: {quick: {seeds: 1, set: {train.epochs: 2}}, full: {seeds: 2}}
datasets:
  - {label: small, values: {width: 2, kind: tiny}, set: {dataset.square.side: 2}, by_scale: {quick: {train.batch: 16}}}
  - {label: large, values: {width: 3, kind: tiny}, set: {dataset.square.side: 4}}
  - {label: later, values: {width: 4, kind: tiny}, scales: [full]}
rows:
  - {label: a, series: s, at: 1, from: {runs: {config: $kind.yaml, set: {model.vae.latent: $width}}}}
  - {label: b, from: {runs: {config: tiny.yaml, set: {model.vae.latent: 3, dataset.square.side: 1}, by_scale: {quick: {train.batch: 8}}}}}
  - {label: c, missing: there is no such model}
columns:
  - {label: D, metric: dlsbd, doc: it turns}
  - {label: R, fit: reconstruction}
curves: {x: width, columns: [D]}
`
	severalCSV = "table,dataset,row,column,mean,std,note\nF,*,*,*,,,a figure\n"
)

func openSeveral(t *testing.T, csv string, replace ...string) (*Table, error) {
	t.Helper()
	dir := t.TempDir()
	must.WriteAll(t, dir, map[string]string{
		"tiny.yaml": tinyConfig, "table.yaml": strings.NewReplacer(replace...).Replace(severalTable), "ref.csv": csv,
	})
	return Open(filepath.Join(dir, "table.yaml"))
}

func names(runs []sweep.Run) string {
	var list []string
	for _, r := range runs {
		list = append(list, r.Name)
	}
	return strings.Join(list, " ")
}

func TestDataSets(t *testing.T) {
	table := must.Get(openSeveral(t, severalCSV))(t)
	full, err := table.Runs(FullScale)
	if err != nil || len(full) != 2*5 { // at this scale, b on the large data set is the same run as a
		t.Fatalf("%d runs, %v: %s", len(full), err, names(full))
	}
	dir := t.TempDir()
	runs := makeRuns(t, table, dir, false, 0)
	must.Equal(t, names(runs), "a_small_quick_seed0 a_large_quick_seed0 b_small_quick_seed0 b_large_quick_seed0")
	for i, want := range []struct{ width, side, batch int }{{2, 2, 16}, {3, 4, 32}, {3, 2, 8}, {3, 4, 8}} {
		c := must.Get(runs[i].Config.Encode())(t)
		for _, part := range []string{fmt.Sprint("latent: ", want.width), fmt.Sprint("side: ", want.side), fmt.Sprint("batch: ", want.batch), "epochs: 2"} {
			if !bytes.Contains(c, []byte(part)) {
				t.Errorf("%s: no %s in\n%s", runs[i].Name, part, c)
			}
		}
	}
	r := computeFrom(t, table, dir)
	var drawn []string
	for _, f := range pictures(r) {
		drawn = append(drawn, f.Name)
	}
	must.EqualSlices(t, drawn, []string{"several-d-small.png", "several-d-large.png"}, "curves")
	found := sweep.Find(scan(t, dir))
	for i, cell := range []*Cell{r.Cell("a", "D, small"), r.Cell("a", "D, large"), r.Cell("b", "D, small"), r.Cell("b", "D, large")} {
		if e := found[runs[i].Hash]; cell == nil || *cell.Ours != e.Metrics[0].Value || cell.Status != Unprinted {
			t.Errorf("%s: %+v, want %v", runs[i].Name, cell, e.Metrics[0].Value)
		}
	}
	if c := r.Cell("a", "R, large"); *c.Ours != found[runs[1].Hash].Fit.Reconstruction {
		t.Errorf("%+v", c)
	}
	if c := r.Cell("c", "D, large"); c.Reason != "there is no such model" || r.Cell("a", "R, later") != nil {
		t.Errorf("%+v", c)
	}
	if all, err := table.Compute(context.Background(), Options{Scale: FullScale}); err != nil ||
		all.Cell("a", "R, later").Reason != "not run yet" {
		t.Errorf("%v, %+v", err, all)
	}
	checkSeveralWritten(t, r)
}

// checkSeveralWritten checks that each column is a group, and each row one line.
func checkSeveralWritten(t *testing.T, r *Result) {
	t.Helper()
	printed := asText(t, r, 100)
	if !strings.Contains(printed, "   small   large   small   large\na  ") || strings.Contains(printed, "difference") ||
		!strings.Contains(printed, "No numbers are printed (quick scale, 1 seed); not computed: 4\n") {
		t.Error(printed)
	}
	narrow := asText(t, r, 12)
	if strings.Count(narrow, "\na  0") != 4 || strings.Count(narrow, "   D\n   small\n") != 1 ||
		strings.Count(narrow, "   D\n   large\n") != 1 {
		t.Error(narrow)
	}
	markdown := written(t, r, show.Markdown)
	if strings.Count(markdown, "| small | large |\n|---|---:|---:|\n| **a** |") != 2 ||
		!strings.Contains(markdown, "\n| D | small |") || strings.Contains(markdown, "paper") ||
		strings.Count(markdown, "* D: it turns\n") != 1 {
		t.Error(markdown)
	}
	page := written(t, r, show.HTML)
	if strings.Count(page, "<table") != 2 || strings.Count(page, "<th>a</th>") != 2 || strings.Contains(page, "<svg") ||
		strings.Contains(page, "<small>") {
		t.Error(page)
	}
	if tex := written(t, r, show.LaTeX); strings.Count(tex, `\begin{tabular}{lrr}`) != 2 || strings.Contains(tex, `\quad`) {
		t.Error(tex)
	}
	records, err := csv.NewReader(strings.NewReader(written(t, r, show.CSV))).ReadAll()
	if err != nil || len(records) != 1+3*4 || records[2][2] != "D, large" {
		t.Errorf("%v: %q", err, records)
	}
}

// The label of a data set selects its printed values.
func TestDataSetsPrinted(t *testing.T) {
	table := must.Get(openSeveral(t, severalCSV+"F,large,a,D,0.50,,\nF,other,a,D,0.50,,\n"))(t)
	r, err := table.Compute(context.Background(), Options{})
	if err != nil || r.Printed != 1 || r.Cell("a", "D, large").Theirs == nil || r.Cell("a", "D, small").Theirs != nil {
		t.Errorf("%v, %+v", err, r)
	}
	if out := written(t, r, show.Markdown); !strings.Contains(out, "| paper | - | 0.50 |") {
		t.Error(out)
	}
}

// Runs shared by rows or data sets are trained once.
func TestDataSetsShare(t *testing.T) {
	table, err := openSeveral(t, severalCSV,
		"set: {model.vae.latent: 3, dataset.square.side: 1}, by_scale: {quick: {train.batch: 8}}", "set: {model.vae.latent: $width}",
		"set: {dataset.square.side: 4}", "set: {dataset.square.side: 2}", "width: 3", "width: 2", ", by_scale: {quick: {train.batch: 16}}", "")
	must.OK(t, err)
	must.Equal(t, names(must.Get(table.Runs(QuickScale))(t)), "a_small_quick_seed0")
}

func TestDataSetMistakes(t *testing.T) {
	for _, test := range []struct{ csv, old, new, want string }{
		{"", "label: large", "label: small", `datasets.1.label: there are two data sets "small"`},
		{"", "label: large", "label: \"\"", "the data set has no label"},
		{"", "$width", "$widht", `model.vae.latent=$widht: the data set "small" has no value of that name; did you mean "$width"?`},
		{"", "$kind.yaml", "$knd.yaml", `did you mean "$kind"?`},
		{"", "{file: ref.csv}", "{file: ref.csv, dataset: small}", "reference.dataset: \"small\": the table has a list of data sets"},
		{"", "quick: {seeds: 1,", "quick: {seeds: 1, dataset: small,", "scales.quick.dataset: \"small\": the table has a list of data sets"},
		{"", "{runs: {config: tiny.yaml, set: {model.vae.latent: 3, dataset.square.side: 1}, by_scale: {quick: {train.batch: 8}}}}", "{entangled: {encoder: rotation}}", `row "b" is not trained`},
		{"F,small,*,*,,,a figure\n", "", "", `ref.csv has no data set "large"; known: small`},
		{"F,*,a,*,,,a figure\nF,*,c,*,,,a figure\n", "", "", `there is no row "b"`},
		{"F,*,*,D,,,a figure\n", "", "", `there is no column "R"`},
		{"F,*,*,*,1.0,,\n", "", "", "a line for all cells has the mean 1.0"},
	} {
		csv := severalCSV
		if test.csv != "" {
			csv = strings.SplitAfter(csv, "\n")[0] + test.csv
		}
		table, err := openSeveral(t, csv, test.old, test.new)
		if err == nil {
			_, err = table.Runs(QuickScale)
		}
		must.Error(t, err, test.want, test.csv, test.new)
	}
}
