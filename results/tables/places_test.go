package tables_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets/public"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics"
	. "github.com/unravel-ml/unravel/results/tables"
)

// Rows name their data sets. Public data sets without a twin are only computed on request.
func TestPlaces(t *testing.T) {
	table, err := openSeveral(t, severalCSV, "{label: b,", "{label: b, on: [large],", "label: large,", "label: large, real: true,")
	must.OK(t, err)
	for _, test := range []struct {
		table               *Table
		runs, small, larger string
	}{
		{table, "a_small_quick_seed0", "only on large", "large has no twin; computed with --real"},
		{table.OnReal(), "a_small_real_quick_seed0 a_large_real_quick_seed0 b_large_real_quick_seed0", "only on large", "not run yet"},
	} {
		runs, err := test.table.Runs(QuickScale)
		if err != nil || names(runs) != test.runs {
			t.Errorf("%s, %v; want %s", names(runs), err, test.runs)
		}
		r, err := test.table.Compute(t.Context(), Options{})
		if err != nil || r.Cell("b", "D, small").Reason != test.small || r.Cell("b", "D, large").Reason != test.larger {
			t.Errorf("%v: %+v", err, r.Rows[1].Cells)
		}
	}
}

// A row can have additional metrics, and a data set can have a separate number of principal components.
func TestAlso(t *testing.T) {
	long.NotShort(t)
	table, err := openSeveral(t, severalCSV, "{runs: {config: $kind.yaml,",
		"{runs: {also: [code-spread, {mig: {components: 3}}, {mig: {bins: 5}}], config: $kind.yaml,",
		"label: large,", "label: large, components: 7,")
	must.OK(t, err)
	runs, err := table.Runs(QuickScale)
	if err != nil || len(runs) != 4 {
		t.Fatalf("%s, %v", names(runs), err)
	}
	for i, want := range []string{"code-spread dlsbd mig 3 mig 0", "code-spread dlsbd mig 7 mig 0", "dlsbd", "dlsbd"} {
		var list []string
		for _, c := range runs[i].Config.Metrics.Final {
			list = append(list, c.Name)
			if m, ok := c.Value.(*metrics.MIG); ok {
				list = append(list, string(rune('0'+m.Components)))
			}
		}
		must.Equal(t, strings.Join(list, " "), want, runs[i].Name, "measures")
	}
	dir := t.TempDir()
	makeRuns(t, table, dir, false, 0)
	if r := computeFrom(t, table, dir); r.Cell("a", "D, small").Ours == nil || r.Cell("b", "D, large").Ours == nil {
		t.Errorf("%+v", r.Rows)
	}
}

// If a note names data sets, it only explains their cells.
func TestNoteOnDataSet(t *testing.T) {
	csv := "table,dataset,row,column,mean,std,note\nF,small,a,D,9.00,,\nF,large,a,D,9.00,,\nF,*,*,*,,,a figure\n"
	table, err := openSeveral(t, csv, "\ncurves:", "\nnotes: [{rows: [a], columns: [D], on: [large], reason: too few images}]\ncurves:")
	must.OK(t, err)
	dir := t.TempDir()
	makeRuns(t, table, dir, false, 0)
	r := computeFrom(t, table, dir)
	if small, large := r.Cell("a", "D, small"), r.Cell("a", "D, large"); small.Status != Differs ||
		large.Status != Known || large.Reason != "too few images" {
		t.Errorf("%+v, %+v", small, large)
	}
}

// A note with a move does not explain larger differences or differences in the other direction. It may be on cells that
// agree. Agreement does not count here, because the runs have not learned the images.
func TestNoteMoves(t *testing.T) {
	csv := "table,dataset,row,column,mean,std,note\nF,small,a,D,9.00,,\nF,large,a,D,9.00,,\nF,*,*,*,,,a figure\n"
	table, err := openSeveral(t, csv)
	must.OK(t, err)
	dir := t.TempDir()
	makeRuns(t, table, dir, false, 0)
	difference := math.Abs(*computeFrom(t, table, dir).Cell("a", "D, small").Difference)
	for _, test := range []struct {
		move, off float64 // move 0: any; off: distance between the printed value and ours, in differences
		want      Status
		reason    bool
	}{
		{difference, 1, Known, true},
		{difference - 0.01, 1, Differs, false},
		{-difference, 1, Differs, false},
		{difference, 0, Unfit, false},
		{0, 1, Known, true},
		{0, 0, Unfit, true},
	} {
		printed := 9 - difference*(1-test.off)
		changed := strings.Replace(csv, "F,small,a,D,9.00", fmt.Sprintf("F,small,a,D,%.2f", printed), 1)
		note := "\nnotes: [{rows: [a], columns: [D], reason: too few images}]\ncurves:"
		if test.move != 0 {
			note = fmt.Sprintf("\nnotes: [{rows: [a], moves: {D: %v}, reason: too few images}]\ncurves:", test.move)
		}
		if table, err = openSeveral(t, changed, "\ncurves:", note); err != nil {
			t.Fatal(err)
		}
		c := computeFrom(t, table, dir).Cell("a", "D, small")
		if c.Status != test.want || (c.Reason == "too few images") != test.reason {
			t.Errorf("move %v, difference %v: %s %q, want %s", test.move, *c.Difference, c.Status, c.Reason, test.want)
		}
	}
}

func TestPlaceMistakes(t *testing.T) {
	for _, test := range []struct{ old, new, want string }{
		{"{label: b,", "{label: b, on: [larg],", `rows.1.on.0: there is no data set "larg"; did you mean "large"?`},
		{"\ncurves:", "\nnotes: [{rows: [a], columns: [D], on: [larg], reason: x}]\ncurves:", `notes.0.on.0: there is no data set "larg"; did you mean "large"?`},
		{
			"\ncurves:", "\nnotes: [{rows: [a], columns: [D], reason: x}, {rows: [a], columns: [D], on: [large], reason: y}]\ncurves:",
			`notes.1: row "a", column "D" has a note already`,
		},
		{"\ncurves:", "\nnotes: [{rows: [a], columns: [D], moves: {D: 0}, reason: x}]\ncurves:", `notes.0.moves: column "D": 0 is out of range; want a number above or below 0`},
		{"\ncurves:", "\nnotes: [{rows: [a], moves: {Dd: 1}, reason: x}]\ncurves:", `notes.0.moves: there is no column "Dd"; did you mean "D"?`},
		{"\ncurves:", "\nnotes: [{rows: [a], columns: [D], moves: {D: 1}, reason: x}]\ncurves:", `notes.0: row "a", column "D" has a note already`},
		{"label: large,", "label: large, components: -1,", "datasets.1.components: -1 is negative"},
	} {
		must.ErrorOf(openSeveral(t, severalCSV, test.old, test.new))(t, test.want, test.new)
	}
	must.ErrorOf(writeTable(t, trainedTable, "label: long, scales: [full]", "label: long, on: [x]"))(t,
		`rows.4.on.0: "x": the table has no list of data sets`)
}

// Tables and figures of one paper share runs if they name the same folder.
func TestNegativeFreeShares(t *testing.T) {
	long.NotShort(t)
	hashes := map[string]map[string]bool{}
	for _, name := range Names() {
		table := open(t, name)
		if table.Folder != "negative-free" {
			continue
		}
		runs := must.Get(table.Runs("medium"))(t)
		hashes[name] = map[string]bool{}
		for _, r := range runs {
			hashes[name][r.Hash] = true
		}
	}
	for name, all := range map[string]struct{ runs, alone int }{
		"negative-free-table8":   {44, 0}, // all of these models are trained in negative-free-table1
		"negative-free-figure4":  {7, 0},
		"negative-free-figure5":  {6, 0},
		"negative-free-figure12": {1, 0},
		"negative-free-figure13": {28, 0},
		"negative-free-figure16": {5, 0},
	} {
		alone := 0
		for h := range hashes[name] {
			if !hashes["negative-free-table1"][h] {
				alone++
			}
		}
		if len(hashes[name]) != all.runs || alone != all.alone {
			t.Errorf("%s: %d runs, %d of which negative-free-table1 has not; want %+v", name, len(hashes[name]), alone, all)
		}
	}
	byol := must.Get(open(t, "negative-free-table1").Runs("medium"))(t)
	for _, r := range byol {
		if r.Name != "BYOL_sprites_medium_seed0" {
			continue
		}
		for _, name := range []string{"negative-free-table4", "negative-free-table5", "negative-free-table8", "negative-free-figure6"} {
			if !hashes[name][r.Hash] {
				t.Errorf("%s has not the run %s", name, r.Name)
			}
		}
		return
	}
	t.Errorf("no BYOL on sprites among %s", names(byol))
}

// CelebA is only computed on request, with the paper's number of principal components.
func TestCelebA(t *testing.T) {
	table := open(t, "negative-free-table4")
	for _, real := range []bool{false, true} {
		if real {
			table = table.OnReal()
		}
		runs := must.Get(table.Runs(QuickScale))(t)
		found := false
		for _, r := range runs {
			if _, ok := r.Config.Dataset.Value.(*public.CelebA); !ok {
				continue
			}
			found = true
			for _, c := range r.Config.Metrics.Final {
				if m, ok := c.Value.(*metrics.SAP); ok && m.Components != 40 {
					t.Errorf("%s: sap of %d components", r.Name, m.Components)
				}
			}
		}
		must.Equal(t, found, real, "real", real, "CelebA")
	}
}
