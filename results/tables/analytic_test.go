package tables_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	. "github.com/unravel-ml/unravel/results/tables"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// The metric, the table and the reference file agree with the closed forms of Cao et al. 2022, appendix F.2, to 1e-9.
// The test covers both interpretations of the logarithm.
func TestAnalytic(t *testing.T) {
	long.NotShort(t)
	r := quick(t, "negative-free-analytic")
	for _, d := range []float64{3, 10, 100, 1000} {
		for _, base := range []struct {
			column string
			log    float64 // of 2
		}{{"MED ln", math.Ln2}, {"MED log2", 1}} {
			for _, test := range []struct {
				row  string
				want float64
			}{
				{"F.2.1", 1},                           // equation 6
				{"F.2.2", 1 - (d-2)/d*base.log},        // equation 12
				{"F.2.3", 1 - base.log},                // situation 1
				{"F.2.2 E[DCI]", 1 - math.Ln2/(d-2)/3}, // equations 9 and 10
			} {
				row, column, printed := fmt.Sprintf("%s D=%v", test.row, d), base.column, test.want
				if test.row == "F.2.2 E[DCI]" {
					column, printed = "DCI ln", 1-math.Ln2/(d-2) // equation 11
				}
				c := r.Cell(row, column)
				if c == nil || c.Ours == nil || !(math.Abs(*c.Ours/100-test.want) <= 1e-9) || !c.Exact {
					t.Errorf("%s, %s: %+v, want %v", row, column, c, test.want)
				}
				if !(math.Abs(*c.Theirs/100-printed) <= 1e-9) {
					t.Errorf("%s, %s: the reference has %v, want %v", row, column, *c.Theirs, printed)
				}
			}
		}
	}
	if n := r.Count(Differs) + r.Count(Stale) + r.Count(Near); n != 0 || r.Reproduced != 54 || r.Count(Known) != 8 {
		t.Errorf("%s", r.Summary())
	}
	for row, want := range map[string]float64{"F.2.2 d0=d1": 1 - math.Ln2/3, "F.2.2 d0≠d1": 1} {
		if c := r.Cell(row, "DCI ln"); !(math.Abs(*c.Ours/100-want) <= 1e-9) {
			t.Errorf("%s: %+v, want %v", row, c, want)
		}
	}
	if c := r.Cell("F.2.2 d0=d1", "MED"); c.Status != Missing || !strings.Contains(c.Reason, "no codes to measure") {
		t.Errorf("%+v", c)
	}
}

func TestKnownMistakes(t *testing.T) {
	for from, want := range map[string]string{
		"{linear: {columns: 0, rest: [[1]]}}":                          "from.linear.columns: 0 is out of range",
		"{linear: {columns: 70000, rest: [[1]]}}":                      "from.linear.columns: 70000 is out of range",
		"{linear: {columns: 2}}":                                       "from.linear.rest: there are weights of 0 columns; want weights of the other 2",
		"{linear: {columns: 1, first: [[1], [2]]}}":                    "from.linear.first: there are weights of 2 columns; want at most the 1",
		"{linear: {columns: 2, first: [[1, 2]], rest: [[1]]}}":         "from.linear.rest.0: there are 1 weights; want 2",
		"{linear: {columns: 2, rest: [[]]}}":                           "from.linear.rest.0: there are 0 weights",
		"{linear: {columns: 2, rest: [[1, .nan]]}}":                    "from.linear.rest.0.1: ",
		"{linear: {columns: 2, rest: [[1, 1]], levels: 1}}":            "from.linear.levels: 1 is out of range",
		"{linear: {columns: 1, rest: [[1, 1]], levels: 1000000}}":      "are too many numbers",
		"{linear: {columns: 60000, rest: [[1, 1]], levels: 60}}":       "are too many numbers",
		"{linear: {columns: x, rest: [[1, 1]]}}":                       "from.linear.columns: ",
		"{importances: {}}":                                            "from.importances.cases: no case has a weight",
		"{importances: {cases: [{weight: 0, rows: [[1, 0]]}]}}":        "from.importances.cases: no case has a weight",
		"{importances: {cases: [{weight: -1, rows: [[1, 0]]}]}}":       "from.importances.cases.0.weight: -1 is not",
		"{importances: {cases: [{rows: []}]}}":                         "from.importances.cases.0.rows: want a row",
		"{importances: {cases: [{rows: [[1]]}]}}":                      "from.importances.cases.0.rows: want a row",
		"{importances: {cases: [{rows: [[1, 0], [1]]}]}}":              "from.importances.cases.0.rows.1: there are 1 weights; want 2",
		"{importances: {cases: [{rows: [[1, 0]]}, {rows: [[1]]}]}}":    "from.importances.cases.1.rows.0: there are 1 weights; want 2",
		"{importances: {cases: [{rows: [[1, -1]]}]}}":                  "from.importances.cases.0.rows.0: -1 is negative",
		"{importances: {cases: [{rows: [[1, 0]]}, {weights: 2}]}}":     `did you mean "weight"?`,
		"{importances: {cases: [{rows: [[1, 0]]}, {rows: [], x: 1}]}}": "unknown key",
	} {
		must.ErrorOf(writeTable(t, trainedTable, "{runs: {config: tiny.yaml}}", from))(t, want, from)
	}
}
