package tables_test

import (
	"bytes"
	"image/png"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/results/tables"
)

// Rows of a series are points of a curve. Columns without points have no picture.
func TestCurves(t *testing.T) {
	long.NotShort(t)
	r := quick(t, "negative-free-analytic")
	var names []string
	for _, f := range pictures(r) {
		names = append(names, f.Name)
		var first, second bytes.Buffer
		must.OK(t, f.Write(&first))
		picture, err := png.Decode(bytes.NewReader(first.Bytes()))
		if err != nil || picture.Bounds().Dx() < 300 {
			t.Errorf("%s: %v", f.Name, err)
		}
		if err := f.Write(&second); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("%s is not the same the second time: %v", f.Name, err)
		}
	}
	must.EqualSlices(t, names, []string{"negative-free-analytic-med-ln.png", "negative-free-analytic-med-log2.png",
		"negative-free-analytic-dci-ln.png"})
	empty, err := open(t, "negative-free-figure6").Compute(t.Context(), Options{Runs: t.TempDir()})
	if err != nil || len(pictures(empty)) != 0 || len(pictures(quick(t, "enriching-table3"))) != 0 {
		t.Errorf("curves without points: %v, %v", pictures(empty), err)
	}
}

func TestCurveMistakes(t *testing.T) {
	const label, curves = "{label: a, from", "curves: {x: size, log: true, columns: [D]}\ncolumns:\n  - {label: D, metric: dlsbd}"
	const columns = "columns:\n  - {label: D, metric: dlsbd}"
	for want, replace := range map[string][]string{
		"rows.0.series: the table has no curves":       {label, "{label: a, series: s, at: 1, from"},
		`rows.0.at: row "a" is part of no series`:      {label, "{label: a, at: 1, from", columns, curves},
		"rows.0.at: 0 cannot be on the axis":           {label, "{label: a, series: s, from", columns, curves},
		"rows.0.at: -1 cannot be on the axis":          {label, "{label: a, series: s, at: -1, from", columns, curves},
		"rows.0.at: ":                                  {label, "{label: a, series: s, at: .inf, from", columns, curves},
		`curves.columns.0: there is no column "E"`:     {columns, strings.Replace(curves, "[D]", "[E]", 1)},
		"curves.columns: there are no columns to draw": {columns, strings.Replace(curves, "[D]", "[]", 1)},
		"curves.x: there is no text for the axis":      {columns, strings.Replace(curves, "x: size, ", "", 1)},
		"columns.0.decimals: 13 is out of range":       {"{label: D, metric: dlsbd}", "{label: D, metric: dlsbd, decimals: 13}"},
		"columns.0.decimals: -1 is out of range":       {"{label: D, metric: dlsbd}", "{label: D, metric: dlsbd, decimals: -1}"},
	} {
		must.ErrorOf(writeTable(t, trainedTable, replace...))(t, want, replace)
	}
	if _, err := writeTable(t, trainedTable, label, "{label: a, series: s, at: 1, from", columns, curves); err != nil {
		t.Error(err)
	}
}
