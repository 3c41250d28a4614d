package tables_test

import (
	"encoding/json"
	"html"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/report/web"
	"github.com/unravel-ml/unravel/internal/show"
	. "github.com/unravel-ml/unravel/results/tables"
)

const someBoxes = "boxes: {title: D of <runs>, column: R, rows: [a, none, b/β], axis: what, labels: [x, y, z & more], best: [same, none, b/β], line: the best}\n"

// The figure has a box for each row, with the runs of one column.
func TestBoxes(t *testing.T) {
	long.NotShort(t)
	table := must.Get(writeTable(t, trainedTable+someBoxes, ", part: mig_0", ""))(t)
	dir := t.TempDir()
	empty := computeFrom(t, table, dir)
	if len(pictures(empty)) != 0 || strings.Contains(written(t, empty, show.HTML), "D of") {
		t.Error("there is a figure without runs")
	}
	makeRuns(t, table, dir, false, 0)
	r := computeFrom(t, table, dir)
	if runs := r.Cell("a", "R").Runs; len(runs) != 2 || (runs[0]+runs[1])/2 != *r.Cell("a", "R").Ours {
		t.Errorf("%v", runs)
	}
	var back Result
	if err := json.Unmarshal([]byte(text(t, r.WriteJSON)), &back); err != nil || len(back.Cell("a", "R").Runs) != 2 ||
		back.Cell("none", "D").Runs != nil {
		t.Errorf("%+v, %v", back, err)
	}
	png := fileOf(t, r, r.Name+".png")
	if !strings.HasPrefix(png, "\x89PNG") {
		t.Errorf("%.20q", png)
	}
	page := html.UnescapeString(written(t, r, show.HTML))
	if _, figure, _ := strings.Cut(page, "<h2>D of <runs></h2>"); !strings.Contains(figure, `<img src="`+
		web.PNG([]byte(png))+`" alt="D of <runs>">`) {
		t.Errorf("the page lacks the box plot:\n%s", page)
	}
}

func TestBoxesMistakes(t *testing.T) {
	for change, want := range map[string]string{
		"column: R, rows=column: 2DD, rows":       `boxes.column: there is no column "2DD"; did you mean "2D"?`,
		"column: R, rows=rows":                    "boxes.column: the figure has no column",
		"rows: [a, none, b/β]=rows: [a, q, none]": `boxes.rows.1: there is no row "q"`,
		"rows: [a, none, b/β]=rows: []":           "boxes.rows: the figure has no rows",
		"best: [same, none, b/β]=best: [some]":    `boxes.best.0: there is no row "some"; did you mean "same"?`,
		"labels: [x, y, z & more]=labels: [x]":    "boxes.labels: there are 1 labels for 3 rows",
		", line: the best=":                       "boxes.line: the line has no name",
	} {
		from, to, _ := strings.Cut(change, "=")
		must.ErrorOf(writeTable(t, trainedTable+someBoxes, from, to))(t, want, change)
	}
}
