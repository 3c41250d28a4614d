package show

import (
	"bytes"
	"image/png"
	"math"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/report"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/results/tables"
)

// The chart of a data set shows the ranks in its cells. A missing rank leaves a gap, and a row without ranks has no
// line.
func TestRankFiles(t *testing.T) {
	var columns []tables.Column
	for _, label := range []string{"MIG", "SAP", "DCI"} {
		columns = append(columns, tables.Column{Label: label})
	}
	table := &tables.Table{Name: "own", Columns: columns, DataSets: []tables.DataSet{{Label: "room"}, {Label: "Cars 3D"}}}
	cells := func(ranks ...float64) (list []tables.Cell) {
		for _, r := range ranks {
			list = append(list, tables.Cell{Rank: r})
		}
		return list
	}
	r := &tables.Result{Name: "own", Title: "Own", Table: table, Agreement: &tables.Agreement{Columns: []string{"MIG", "SAP", "DCI"}}}
	r.Rows = []tables.ResultRow{{Label: "a", Cells: cells(1, 2, 2, 1, 1.5, 0)},
		{Label: "b", Cells: cells(2, 1, 1, 2, 1.5, 3)}, {Label: "none", Cells: cells(0, 0, 0, 0, 0, 0)}}
	nan := math.NaN()
	for place, want := range [][]report.Series{
		{{Name: "a", X: []float64{0, 1, 2}, Y: []float64{1, 2, 1.5}}, {Name: "b", X: []float64{0, 1, 2}, Y: []float64{2, 1, 1.5}}},
		{{Name: "a", X: []float64{0, 1, 2}, Y: []float64{2, 1, nan}}, {Name: "b", X: []float64{0, 1, 2}, Y: []float64{1, 2, 3}}},
	} {
		same := func(a, b float64) bool { return a == b || a != a && b != b }
		if got := rankLines(r, place, 2); !slices.EqualFunc(got, want, func(a, b report.Series) bool {
			return a.Name == b.Name && slices.Equal(a.X, b.X) && slices.EqualFunc(a.Y, b.Y, same)
		}) {
			t.Errorf("%d: %v, want %v", place, got, want)
		}
	}
	files := rankFiles(r)
	if len(files) != 2 || files[0].Name != "own-ranks-room.png" || files[1].Name != "own-ranks-cars-3d.png" {
		t.Fatal(files)
	}
	for _, f := range files {
		var b bytes.Buffer
		must.OK(t, f.Write(&b))
		if _, err := png.Decode(&b); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
	r.Rows = r.Rows[1:]
	if len(rankFiles(r)) != 0 {
		t.Errorf("of one row with ranks: %v", rankFiles(r))
	}
}

// The label of a box is the label of its row, unless the figure has another label for it.
func TestBoxLabels(t *testing.T) {
	f := &tables.Boxes{Column: "MIG", Rows: []string{"a", "b"}}
	r := &tables.Result{Table: &tables.Table{Boxes: f, Columns: []tables.Column{{Label: "MIG"}}}}
	r.Rows = []tables.ResultRow{{Label: "a", Cells: []tables.Cell{{Column: "MIG", Runs: []float64{1, 2}}}}, {Label: "b"}}
	for _, labels := range [][]string{nil, {"first", "second"}} {
		f.Labels = labels
		want := f.Rows
		if labels != nil {
			want = labels
		}
		p := boxPlot(r)
		if p == nil || len(p.Boxes) != 2 || p.Boxes[0].Label != want[0] || p.Boxes[1].Label != want[1] ||
			!slices.Equal(p.Boxes[0].Values, []float64{1, 2}) {
			t.Errorf("labels %v: %+v", labels, p)
		}
	}
}

// The line marks the best mean in the direction of the column.
func TestBoxLine(t *testing.T) {
	for name, want := range map[string]float64{"mig": 0.75, "dlsbd": 0.25} {
		metric := must.Get(metrics.Named(name))(t)
		r := &tables.Result{Table: &tables.Table{Columns: []tables.Column{{Label: "M", Metric: metric}}}}
		r.Table.Boxes = &tables.Boxes{Column: "M", Rows: []string{"b"}, Best: []string{"a", "b", "c"}}
		for label, v := range map[string]float64{"a": 0.5, "b": 0.75, "c": 0.25} {
			r.Rows = append(r.Rows, tables.ResultRow{Label: label, Cells: []tables.Cell{{Column: "M", Ours: &v, Runs: []float64{v}}}})
		}
		if p := boxPlot(r); p == nil || p.Line == nil || *p.Line != want {
			t.Errorf("%s: %+v, want a line at %v", name, p, want)
		}
	}
}

// Linear axes include 0, logarithmic axes do not. Cells that lack a value, or have no logarithm, do not count.
func TestLimits(t *testing.T) {
	number := func(v float64) *float64 { return &v }
	cell := func(ours, theirs float64) tables.Cell { return tables.Cell{Ours: number(ours), Theirs: number(theirs)} }
	alone := []tables.Cell{{Ours: number(900)}, {Theirs: number(900)}}
	for _, c := range []struct {
		cells     []tables.Cell
		log       bool
		low, high float64
	}{
		{alone, false, 0, 1},
		{alone, true, 0, 1},
		{append(alone, cell(10, 1000)), false, 0, 1000},
		{append(alone, cell(-10, -1)), false, -10, 0},
		{append(alone, cell(10, 1000), cell(0, 1e6), cell(1e6, 0)), true, 1, 3},
		{append(alone, cell(0.01, 0.01)), true, -2, -1},
	} {
		r := &tables.Result{Rows: []tables.ResultRow{{Cells: c.cells}}}
		low, high := limits(r, c.log)
		must.Equal(t, [2]float64{low, high}, [2]float64{c.low, c.high}, len(c.cells), c.log)
	}
	x, y, ok := position(&tables.Cell{Ours: number(10), Theirs: number(1000)}, true)
	if !ok || x != 3 || y != 1 {
		t.Errorf("position %v, %v, %v", x, y, ok)
	}
}

// The axes of a plot end at ticks. Pixels count from the top left, and the plot has a margin.
func TestPlotOf(t *testing.T) {
	r := compared()
	p := plotOf(r)
	must.EqualSlices(t, p.Ticks,
		[]tick{{40, 380, "-1"}, {108, 312, "0"}, {176, 244, "1"}, {244, 176, "2"}, {312, 108, "3"}, {380, 40, "4"}})
	must.Equal(t, len(p.Dots), 7)
	must.Equal(t, p.Dots[2], dot{312, 176, tables.Differs, "a_1, D|CI, room: 2, printed 3"})
	r.Printed = 0
	if plotOf(r) != nil {
		t.Error("a plot without published values")
	}
}
