package show

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/report"
	"github.com/unravel-ml/unravel/results/tables"
)

// compared is a table of two columns on two data sets. It compares the columns, and has every kind of mark.
func compared() *tables.Result {
	cell := func(column, printed string, ours, theirs, rank float64, s tables.Status, notes ...string) tables.Cell {
		difference := ours - theirs
		return tables.Cell{Column: column, Ours: &ours, Theirs: &theirs, Difference: &difference, Printed: printed, Status: s,
			Rank: rank, Notes: notes}
	}
	zero := 0
	table := &tables.Table{Name: "own", Decimals: 2, Remarks: []string{"First remark."},
		Columns:  []tables.Column{{Label: "MIG", Doc: "mutual information"}, {Label: "D|CI", Decimals: &zero}},
		DataSets: []tables.DataSet{{Label: "room"}, {Label: "cars"}}}
	nan := math.NaN()
	return &tables.Result{Name: "own", Title: "Own *table*", Source: "us", Scale: "quick", Seeds: 2, Table: table,
		Remark: "Scale quick.", Printed: 7, Rows: []tables.ResultRow{
			{Label: "a_1", Cells: []tables.Cell{
				cell("MIG, room", "0.5", 0.5, 0.5, 1, tables.Same), cell("MIG, cars", "0.25", 0.5, 0.25, 2, tables.Near, "one run failed"),
				cell("D|CI, room", "3", 2, 3, 1.5, tables.Differs), cell("D|CI, cars", "3", 3.004, 3, 1, tables.Stale)}},
			{Label: "b", Cells: []tables.Cell{
				cell("MIG, room", "0.5", -0.001, 0.5, 2, tables.Known, "one run failed", "slow"), cell("MIG, cars", "1", 1.5, 1, 1, tables.Unfit),
				cell("D|CI, room", "3", 4, 3, 1.5, tables.Differs), {Column: "D|CI, cars", Status: tables.Missing, Reason: "no <runs>"}}}},
		Agreement: &tables.Agreement{Groups: []string{"", "other"}, Ranks: [][][]float64{{{1, 2}, {2, 1}}, {{1.5, 1}, {1.5, nan}}},
			Columns: []string{"MIG", "D|CI"}, Tau: [][]float64{{1, -0.5}, {-0.5, nan}}}}
}

// Tables of several data sets have a group of columns for each metric. Texts at several widths break between groups.
// The expected texts were checked by hand.
func TestFormats(t *testing.T) {
	files := Files(compared())
	for _, width := range []int{200, 40, 10} {
		files = append(files, File{fmt.Sprintf("own-%d.txt", width), func(w io.Writer) error { return Text(w, compared(), width) }})
	}
	var seen int
	for _, f := range files {
		want, err := os.ReadFile(filepath.Join("testdata", f.Name+".want"))
		if errors.Is(err, fs.ErrNotExist) { // pictures, and the page with them
			continue
		}
		must.OK(t, err)
		var b bytes.Buffer
		must.OK(t, f.Write(&b))
		if seen++; b.String() != string(want) {
			t.Errorf("%s: %s", f.Name, b.String())
		}
	}
	must.Equal(t, seen, 8, "files were compared")
}

// The heading of ranks counts the rows with ranks.
func TestRankedRows(t *testing.T) {
	r := compared()
	r.Rows = append(r.Rows, tables.ResultRow{Label: "missing", Cells: make([]tables.Cell, 4)})
	for g := range r.Agreement.Ranks {
		r.Agreement.Ranks[g] = append(r.Agreement.Ranks[g], []float64{math.NaN(), math.NaN()})
	}
	if title := grids(r)[0].Title; !strings.HasSuffix(title, "1 for the best of 2 rows") {
		t.Error(title)
	}
}

// The steps between ticks are 1, 0.5 or 0.25 times a power of ten, at least four in a range.
func TestTickStep(t *testing.T) {
	for high, want := range map[float64]float64{0.9: 0.1, 1: 0.25, 2: 0.5, 3: 0.5, 4: 1, 9: 1, 10: 2.5} {
		if got := tickStep(0, high); !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("0 to %v: steps of %v, want %v", high, got, want)
		}
	}
}

// A series has the values of its rows, in their order. Rows without a series or a value do not count.
func TestSeriesOf(t *testing.T) {
	one, two := 1.0, 2.0
	r := &tables.Result{Table: &tables.Table{Rows: []tables.Row{
		{Label: "a", Series: "s", At: 10}, {Label: "b"}, {Label: "c", Series: "t", At: 10}, {Label: "d", Series: "s", At: 20}, {Label: "e", Series: "s", At: 30}}}}
	for i, ours := range []*float64{&one, &one, &two, &two, nil} {
		r.Rows = append(r.Rows, tables.ResultRow{Label: r.Table.Rows[i].Label, Cells: []tables.Cell{{Column: "MIG", Ours: ours}}})
	}
	must.Equal(t, fmt.Sprintf("%+v", seriesOf(r, "MIG")),
		fmt.Sprintf("%+v", []report.Series{{Name: "s", X: []float64{10, 20}, Y: []float64{1, 2}},
			{Name: "t", X: []float64{10}, Y: []float64{2}}}), "series")
	if got := seriesOf(r, "SAP"); got != nil {
		t.Errorf("series %+v of another column", got)
	}
}

type trainedRow struct{ tables.Trained }

// A table of trained models has standard deviations. The third value of a cell is a ratio or a difference.
func TestShow(t *testing.T) {
	trained := &tables.Table{Rows: []tables.Row{{}}}
	trained.Rows[0].From.Value = trainedRow{}
	plain := &tables.Table{}
	number := func(v float64) *float64 { return &v }
	for _, c := range []struct {
		table *tables.Table
		cell  tables.Cell
		want  string // the three values
	}{
		{trained, tables.Cell{}, "- - -"},
		{trained, tables.Cell{Ours: number(0.5), Deviation: 0.125, Draws: 2}, "0.50±0.12 - -"},
		{trained, tables.Cell{Ours: number(0.5), Deviation: 0.125, Draws: 1}, "0.50 - -"},
		{trained, tables.Cell{Theirs: number(0.25), Printed: "0.25", PrintedStd: "0.1"}, "- 0.25±0.1 -"},
		{plain, tables.Cell{Theirs: number(0.25), Printed: "0.25", PrintedStd: "0.1"}, "- 0.25 -"},
		{plain, tables.Cell{Ours: number(0.5), Deviation: 0.125, Draws: 2}, "0.50 - -"},
		{plain, tables.Cell{Ratio: number(2.345)}, "- - 2.3"},
		{plain, tables.Cell{Ratio: number(9.94)}, "- - 9.9"},
		{plain, tables.Cell{Ratio: number(10)}, "- - 10"},
		{plain, tables.Cell{Ratio: number(1234.5)}, "- - 1234"},
		{plain, tables.Cell{Difference: number(0.004)}, "- - 0.00"},
		{plain, tables.Cell{Difference: number(0.006)}, "- - +0.01"},
		{plain, tables.Cell{Difference: number(-0.006)}, "- - -0.01"},
	} {
		l := &layout{Result: &tables.Result{Table: c.table}}
		got := l.show(c.cell, 0, 2)
		must.Equal(t, fmt.Sprint(got.Ours, " ", got.Theirs, " ", got.Third), c.want, c.cell)
	}
}
