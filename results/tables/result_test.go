package tables_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/results/tables"
)

// judged returns the cell of a table with one run. The printed value has a deviation of .5, and the given distance from
// our value.
func judged(t *testing.T, away float64, replace ...string) *Cell {
	t.Helper()
	dir, folder := t.TempDir(), t.TempDir()
	table, err := writeTableIn(t, dir, trainedTable, append(replace, ", part: mig_0", "")...)
	must.OK(t, err)
	makeRuns(t, table, folder, false, 1)
	ours := *computeFrom(t, table, folder).Cell("a", "D").Ours
	printed := strings.Replace(trainedCSV, "a,D,1.0,0.5,", fmt.Sprintf("a,D,%.9f,0.5,", ours+away), 1)
	text := printed + strings.ReplaceAll(strings.SplitN(printed, "\n", 2)[1], "small", "big")
	must.Write(t, filepath.Join(dir, "ref.csv"), text)
	if table, err = Open(filepath.Join(dir, "table.yaml")); err != nil {
		t.Fatal(err)
	}
	return computeFrom(t, table, folder).Cell("a", "D")
}

// A single run is assumed to have the variance of the printed runs. Its agreement does not count, because it has not
// learned the images.
func TestSingleRun(t *testing.T) {
	for away, want := range map[float64]Status{1.2: Unfit, 1.25: Differs} { // one run against two, deviation .5: two standard errors are 1.225
		must.Equal(t, judged(t, away).Status, want, away, "away")
	}
}

// A note with a move explains a difference up to the move. The remaining difference is judged as usual.
func TestNoteBesideNoise(t *testing.T) {
	for away, want := range map[float64]Status{-1.72: Differs, 1.2: Unfit, 1.72: Known, 1.73: Differs} { // 1.225 and the note's .5
		c := judged(t, away, "\ncolumns:", "\nnotes: [{rows: [a], moves: {D: 0.5}, reason: few steps}]\ncolumns:")
		if c.Status != want || (c.Reason == "few steps") != (want == Known) {
			t.Errorf("%v away: %s %q, want %s", away, c.Status, c.Reason, want)
		}
	}
}
