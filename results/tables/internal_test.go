package tables

import (
	"bytes"
	"image/png"
	"math"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train/report"
)

// The median of an even number of values is the mean of the two in the middle.
func TestMedian(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   float64
	}{{[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{9, 4, 1, 2}, 3}} {
		if got := median(test.values); got != test.want {
			t.Errorf("%v: %v, want %v", test.values, got, test.want)
		}
	}
}

// A range includes its lower end and excludes its upper end. If only one of two columns is better when higher, tau
// compares the orders from good to bad.
func TestOverColumns(t *testing.T) {
	distance, err := metrics.Named("dlsbd")
	if err != nil {
		t.Fatal(err)
	}
	gap, err := metrics.Named("mig")
	if err != nil {
		t.Fatal(err)
	}
	on := place{&Table{Name: "quoting", Columns: []Column{{Label: "D", Metric: distance}, {Label: "G", Metric: gap}}}, nil}
	quoted := &Table{Name: "x", Scales: Scales{{Name: QuickScale, Seeds: 1}}}
	r := &Result{Name: "x", table: quoted}
	for i, d := range []float64{0, 0.25, 0.5} {
		g := 1 - d
		r.Rows = append(r.Rows, ResultRow{Label: string(rune('a' + i)), Cells: []Cell{{Column: "D", Ours: &d, Runs: []float64{d}}, {Column: "G", Ours: &g, Runs: []float64{g}}}})
	}
	o := &others{options: Options{Scale: QuickScale}, opened: map[string]*Table{"x": quoted}, known: map[*Table]*Result{quoted: r}}
	over := Over{Tables: []string{"x"}, Column: "D", Of: ofRuns}
	for _, test := range []struct {
		source quoting
		column int
		want   []float64
	}{
		{&Binned{Over: over, From: 0.25, To: 0.5}, 1, []float64{0.75}},
		{&Binned{Over: over, From: 0, To: 0.5}, 1, []float64{1, 0.75}},
		{&Ranked{Over: over}, 0, []float64{1}},
		{&Ranked{Over: over}, 1, []float64{1}},
	} {
		v, err := test.source.quote(t.Context(), o, on, on.Columns[test.column])
		if err != nil || !slices.Equal(v.quoted, test.want) {
			t.Errorf("%+v, column %d: %v, %v; want %v", test.source, test.column, v.quoted, err, test.want)
		}
	}
}

// The flow chart of a data set shows the ranks of its cells. A missing rank leaves a gap, and a row without ranks has
// no line.
func TestRankFiles(t *testing.T) {
	var columns []Column
	for _, label := range []string{"MIG", "SAP", "DCI"} {
		columns = append(columns, Column{Label: label})
	}
	table := &Table{Name: "own", Columns: columns, DataSets: []DataSet{{Label: "room"}, {Label: "Cars 3D"}}}
	cells := func(ranks ...float64) (list []Cell) {
		for _, r := range ranks {
			list = append(list, Cell{Rank: r})
		}
		return list
	}
	r := &Result{Name: "own", Title: "Own", table: table, Agreement: &Agreement{Columns: []string{"MIG", "SAP", "DCI"}}}
	r.Rows = []ResultRow{{Label: "a", Cells: cells(1, 2, 2, 1, 1.5, 0)}, {Label: "b", Cells: cells(2, 1, 1, 2, 1.5, 3)}, {Label: "none", Cells: cells(0, 0, 0, 0, 0, 0)}}
	nan := math.NaN()
	for place, want := range [][]report.Series{
		{{Name: "a", X: []float64{0, 1, 2}, Y: []float64{1, 2, 1.5}}, {Name: "b", X: []float64{0, 1, 2}, Y: []float64{2, 1, 1.5}}},
		{{Name: "a", X: []float64{0, 1, 2}, Y: []float64{2, 1, nan}}, {Name: "b", X: []float64{0, 1, 2}, Y: []float64{1, 2, 3}}},
	} {
		same := func(a, b float64) bool { return a == b || a != a && b != b }
		if got := r.rankLines(place, 2); !slices.EqualFunc(got, want, func(a, b report.Series) bool {
			return a.Name == b.Name && slices.Equal(a.X, b.X) && slices.EqualFunc(a.Y, b.Y, same)
		}) {
			t.Errorf("%d: %v, want %v", place, got, want)
		}
	}
	files := r.rankFiles()
	if len(files) != 2 || files[0].Name != "own-ranks-room.png" || files[1].Name != "own-ranks-cars-3d.png" {
		t.Fatal(files)
	}
	for _, f := range files {
		var b bytes.Buffer
		if err := f.Write(&b); err != nil {
			t.Fatal(err)
		}
		if _, err := png.Decode(&b); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
	r.Rows = r.Rows[1:]
	if len(r.rankFiles()) != 0 {
		t.Errorf("of one row with ranks: %v", r.rankFiles())
	}
}
