package findings

import (
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/results/tables"
)

// result returns a table of two columns: rows with value, standard deviation and draws.
func result() *tables.Result {
	cell := func(column string, v, deviation float64, draws int, theirs float64) tables.Cell {
		d := v - theirs
		return tables.Cell{Column: column, Ours: &v, Deviation: deviation, Draws: draws, Theirs: &theirs, Difference: &d, Status: tables.Differs}
	}
	return &tables.Result{Name: "t", Scale: "medium", Rows: []tables.ResultRow{
		{Label: "low", Cells: []tables.Cell{cell("a", 0.1, 0.1, 4, 1), cell("b", 3, 0, 1, 1)}},
		{Label: "middle", Cells: []tables.Cell{cell("a", 0.15, 0.1, 4, 2), cell("b", 2, 0, 1, 2.5)}},
		{Label: "high", Cells: []tables.Cell{cell("a", 0.9, 0.2, 4, 3), cell("b", 1, 0, 1, 3)}},
		{Label: "empty", Cells: []tables.Cell{{Column: "a", Status: tables.Missing}, {Column: "b", Status: tables.Missing}}},
	}}
}

// judge judges a finding with tests in YAML.
func judge(tests string, r *tables.Result) (*judgement, error) {
	papers, err := load("f.yaml", []byte("papers: [{paper: p, title: t, findings: [{claim: c, section: s, tests: ["+tests+"]}]}]"))
	if err != nil {
		return nil, err
	}
	return papers[0].Findings[0].judge(func(string) (*tables.Result, error) { return r, nil })
}

func TestJudge(t *testing.T) {
	const at = "{table: t, column: a, "
	for tests, want := range map[string]struct {
		verdict verdict
		numbers string
	}{
		at + "rows: [low], below: {rows: [high]}}":                       {holds, "a: low 0.100±0.050 < high 0.900±0.100"},
		at + "rows: [low, middle], below: {rows: [high]}}":               {holds, "a: middle 0.150±0.050 < high 0.900±0.100 (the closest of 2 comparisons)"},
		at + "rows: [low], below: {rows: [middle]}}":                     {undecided, "a: low 0.100±0.050 < middle 0.150±0.050"},
		at + "rows: [low], above: {rows: [middle]}}":                     {undecided, "a: low 0.100±0.050 < middle 0.150±0.050"},
		at + "rows: [low], above: {rows: [high]}}":                       {fails, "a: low 0.100±0.050 < high 0.900±0.100"},
		at + "rows: [low], below: {value: 0.3}}":                         {holds, "a: low 0.100±0.050 < 0.3"},
		at + "rows: [low], below: {value: 0.19}}":                        {undecided, "a: low 0.100±0.050 < 0.19"},
		at + "rows: [high], above: {value: 0.5}}":                        {holds, "a: high 0.900±0.100 > 0.5"},
		at + "rows: [low], below: {column: b}}":                          {holds, "a: low 0.100±0.050 < low in b 3.000"},
		at + "rows: [low, high], below: {rows: [low, high], plus: 1.5}}": {holds, "a: high 0.900±0.100 < low 0.100±0.050 + 1.5 (the closest of 2 comparisons)"},
		at + "rows: [low], below: {rows: [low, high], plus: 0.1}}":       {holds, "a: low 0.100±0.050 < high 0.900±0.100 + 0.1"},
		at + "rows: [low, high], below: {rows: [low, high], plus: 0.1}}": {fails, "a: high 0.900±0.100 > low 0.100±0.050 + 0.1 (the closest of 2 comparisons)"},
		at + "rows: [empty, low], below: {value: 1}}":                    {missing, "a: low 0.100±0.050 < 1 (the closest of 2 comparisons)"},
		at + "rows: [low], below: {rows: [empty]}}":                      {missing, "a: no values"},
		at + "tau: printed, above: {value: 0.5}}":                        {holds, "Kendall's tau of a and the printed order over 3 rows: 1.00"},
		at + "tau: b, above: {value: 0.5}}":                              {fails, "Kendall's tau of a and b over 3 rows: -1.00"},
		at + "tau: b, rows: [low, middle], below: {value: 0}}":           {holds, "Kendall's tau of a and b over 2 rows: -1.00"},
		at + "tau: b, rows: [empty], below: {value: 0}}":                 {missing, "Kendall's tau of a and b: no values"},
		"{table: t, column: b, rows: [low], above: {rows: [middle]}}":    {holds, "b: low 3.000 > middle 2.000"},
		"{table: t, column: b, rows: [low], below: {rows: [low]}}":       {undecided, "b: low 3.000 < low 3.000"},
		"{table: t, column: b, rows: [middle], below: {rows: [middle]}}": {undecided, "b: middle 2.000 < middle 2.000"},
	} {
		j, err := judge(tests, result())
		if err != nil || j.Verdict != want.verdict || j.Tests[0].Numbers != want.numbers || j.Tests[0].Scale != "medium" {
			t.Errorf("%s: %+v, %v, want %+v", tests, j, err, want)
		}
	}
}

// A finding has the verdict of its worst test: refuted before missing before undecided.
func TestWorst(t *testing.T) {
	const hold = "{table: t, column: a, rows: [low], below: {value: 1}}"
	const fail = "{table: t, column: a, rows: [low], above: {value: 1}}"
	const miss = "{table: t, column: a, rows: [empty], above: {value: 1}}"
	const open = "{table: t, column: a, rows: [low], below: {value: 0.11}}"
	for tests, want := range map[string]verdict{
		hold: holds, hold + "," + open: undecided, open + "," + miss + "," + hold: missing, miss + "," + fail + "," + open: fails,
	} {
		if j, err := judge(tests, result()); err != nil || j.Verdict != want {
			t.Errorf("%s: %+v, %v, want %s", tests, j, err, want)
		}
	}
}

func TestMistakes(t *testing.T) {
	for tests, want := range map[string]string{
		"{table: t, column: c, rows: [low], below: {value: 1}}":                    `table t has no column "c"`,
		"{table: t, column: a, rows: [lo], below: {value: 1}}":                     `table t has no row "lo"; did you mean "low"?`,
		"{table: t, column: a, rows: [low], below: {rows: [hig]}}":                 `did you mean "high"?`,
		"{table: t, column: a, rows: [low]}":                                       "want below or above",
		"{table: t, column: a, rows: [low], below: {value: 1}, above: {value: 0}}": "want below or above",
		"{table: t, column: a, below: {value: 1}}":                                 "there are none",
		"{table: t, column: a, rows: [low], below: {value: 1, plus: 1}}":           "plus: a number stands alone",
		"{table: t, column: a, tau: b, below: {rows: [low]}}":                      "want value",
		"{column: a, rows: [low], below: {value: 1}}":                              "want a table and a column",
		"{table: t, column: a, rows: [low], below: {}}":                            "want a value, or rows, a column or both",
		"{table: t, column: a, rows: [low], below: {value: 1, rows: [high]}}":      "want a value, or rows, a column or both",
		"{table: t, column: a, rows: [low], below: {value: 1}, more: 1}":           "more",
		"": "there are none",
	} {
		if j, err := judge(tests, result()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v, want %s", tests, j, err, want)
		}
	}
}

func TestOrders(t *testing.T) {
	list, err := columnOrders(result())
	if err != nil || len(list) != 2 || list[0] != (order{"a", 3, 1, 1, 1}) || list[1] != (order{"b", 3, -1, -1, -1}) {
		t.Errorf("%+v, %v", list, err)
	}
}

// A column has no values if the scale does not show its data set. A column outside all scales is an error.
func TestColumnElsewhere(t *testing.T) {
	table := must.Get(tables.Open("hierarchical-benchmark"))(t)
	r := must.Get(table.Compute(t.Context(), tables.Options{RunsOnly: true}))(t)
	for column, want := range map[string]bool{"R4_c, both 3": true, "R4_c, both 4": false} {
		zero := 0.0
		f := Finding{Tests: []Test{{Table: r.Name, Column: column, Rows: []string{"AE"}, Above: &Bound{Value: &zero}}}}
		j, err := f.judge(func(string) (*tables.Result, error) { return r, nil })
		if (err == nil) != want || want && j.Verdict != missing {
			t.Errorf("%s: %+v, %v", column, j, err)
		}
	}
}

// Unravel's papers name existing tables, rows and columns.
func TestPapers(t *testing.T) {
	long.NotShort(t)
	papers := must.Get(Papers())(t)
	known := map[string]*tables.Result{}
	for _, p := range papers {
		for i := range p.Findings {
			if _, err := p.Findings[i].judge(func(name string) (*tables.Result, error) {
				if known[name] == nil {
					table, err := tables.Open(name)
					if err != nil {
						return nil, err
					}
					if known[name], err = table.Compute(t.Context(), tables.Options{RunsOnly: true}); err != nil {
						return nil, err
					}
				}
				return known[name], nil
			}); err != nil {
				t.Errorf("%s, finding %d: %v", p.Name, i+1, err)
			}
		}
	}
}
