package tables_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/show"
	. "github.com/unravel-ml/unravel/results/tables"
)

const timedTable = `name: small
title: Seconds
source: nobody
reference: {file: small.csv}
rows:
  - {label: one, dataset: D, printed: r, from: {timed: {rows: 200, columns: 3, factors: [2, 5]}}}
  - {label: two, dataset: E, printed: r, from: {timed: {rows: 100, columns: 1, factors: [4]}}}
  - {label: three, dataset: E, printed: s, missing: there is no such shape}
columns:
  - {label: c, metric: mse}
  - {label: d, metric: variance}
`

const timedCSV = header +
	"T,D,r,c,1000.00,,\nT,D,r,d,0.00,,\nT,E,r,c,0.10,,\nT,E,r,d,,,dash\nT,E,s,c,1.00,,\nT,E,s,d,1.00,,\nT,F,r,c,3.0,,\n"

// Times appear next to the printed times, without a verdict.
func TestTimed(t *testing.T) {
	table := must.Get(load(timedTable, timedCSV))(t)
	if reproduced, printed := table.Coverage(); reproduced != 0 || printed != 5 {
		t.Errorf("coverage %d of %d", reproduced, printed)
	}
	r := compute(t, table, false)
	c := r.Cell("one", "c")
	switch {
	case c.Status != Measured || c.Draws != 5 || !(*c.Ours > 0 && *c.Ours < 60) || *c.Ratio != 1000 / *c.Ours ||
		c.Difference != nil || c.Status.Reproduced():
		t.Errorf("%+v", c)
	case r.Cell("one", "d").Ratio != nil || r.Cell("one", "d").Status != Measured || r.Cell("two", "d").Status != Unprinted:
		t.Errorf("%+v", r)
	case r.Cell("three", "c").Status != Missing || r.Printed != 5 || r.Reproduced != 0 || r.Count(Measured) != 3:
		t.Errorf("%+v", r)
	}
	printed := written(t, r, show.Markdown)
	for _, want := range []string{"3 of 5 printed times measured (quick scale, median of 5 times)", "| paper / ours |", "| 1000.00 |"} {
		if !strings.Contains(printed, want) {
			t.Errorf("no %q in\n%s", want, printed)
		}
	}
	if csv := written(t, r, show.CSV); !strings.HasPrefix(csv, "table,row,column,ours,std,n,theirs,ratio,status") {
		t.Error(csv)
	}
	page := written(t, r, show.HTML)
	if strings.Contains(page, "NaN") || strings.Count(page, "<circle ") != 2 || !strings.Contains(page, "the printed value and paper / ours") { // there is no dot at 0
		t.Error(page)
	}
}

// A row may use printed cells of another data set, under another name.
func TestRowsOfDatasets(t *testing.T) {
	yaml := regexp.MustCompile(`\{timed: .*?\}\}`).ReplaceAllString(timedTable, "{entangled: {encoder: rotation, levels: 3}}")
	for change, want := range map[string]string{
		"dataset: D=dataset: G":                                   `rows.0.dataset: small.csv has no data set "G"`,
		"printed: s=printed: t":                                   `rows.2.printed: small.csv: there is no row "t"`,
		"label: one, dataset: D, printed: r=label: r":             "reference.dataset: small.csv has no data set \"\"",
		"label: one, dataset: D, printed: r=label: q, dataset: D": `rows.0.label: small.csv: there is no row "q"`,
		"{file: small.csv}={file: small.csv, dataset: Q}":         `reference.dataset: small.csv has no data set "Q"`,
		"label: d=label: e":                                       `columns.1.label: small.csv: there is no column "e"`,
		"dataset: D, printed=dataset: F, printed":                 `columns.1.label: small.csv: there is no column "d"`,
	} {
		from, to, _ := strings.Cut(change, "=")
		_, err := load(strings.Replace(yaml, from, to, 1), timedCSV)
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "my/", ""), want) {
			t.Errorf("%s: error %v\nwant %q", change, err, want)
		}
	}
	mixed := strings.Replace(strings.Replace(yaml, "{file: small.csv}", "{file: small.csv, dataset: D}", 1),
		"label: one, dataset: D, printed: r", "label: r", 1)
	table := must.Get(load(mixed, timedCSV))(t)
	if reproduced, printed := table.Coverage(); reproduced != 3 || printed != 5 {
		t.Errorf("coverage %d of %d", reproduced, printed)
	}
	if c := compute(t, table, false).Cell("r", "c"); *c.Theirs != 1000 || c.Status != Differs {
		t.Errorf("%+v", c)
	}
}
