package tables_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/unravel-ml/unravel/tables"
)

// A single run is taken to vary as the printed ones do.
func TestSingleRun(t *testing.T) {
	dir, folder := t.TempDir(), t.TempDir()
	table, err := writeTableIn(t, dir, trainedTable, ", part: mig_0", "")
	if err != nil {
		t.Fatal(err)
	}
	makeRuns(t, table, folder, false, 1)
	ours := *computeFrom(t, table, folder).Cell("a", "D").Ours
	for away, want := range map[float64]Status{1.2: Near, 1.25: Differs} { // two standard errors, those of one and of two runs of deviation .5, are 1.225
		printed := strings.Replace(trainedCSV, "a,D,1.0,0.5,", fmt.Sprintf("a,D,%.9f,0.5,", ours+away), 1)
		text := printed + strings.ReplaceAll(strings.SplitN(printed, "\n", 2)[1], "small", "big")
		if err := os.WriteFile(filepath.Join(dir, "ref.csv"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if table, err = Open(filepath.Join(dir, "table.yaml")); err != nil {
			t.Fatal(err)
		}
		if c := computeFrom(t, table, folder).Cell("a", "D"); c.Status != want {
			t.Errorf("%v away: %s, want %s", away, c.Status, want)
		}
	}
}

// A note with a move explains so much of a difference the other way; the rest is judged as any other.
func TestNoteBesideNoise(t *testing.T) {
	dir, folder := t.TempDir(), t.TempDir()
	table, err := writeTableIn(t, dir, trainedTable, ", part: mig_0", "")
	if err != nil {
		t.Fatal(err)
	}
	makeRuns(t, table, folder, false, 1)
	ours := *computeFrom(t, table, folder).Cell("a", "D").Ours
	note := []string{"\ncolumns:", "\nnotes: [{rows: [a], moves: {D: 0.5}, reason: few steps}]\ncolumns:"}
	for away, want := range map[float64]Status{-1.72: Differs, 1.2: Near, 1.72: Known, 1.73: Differs} { // 1.225 and the note's .5
		if table, err = writeTableIn(t, dir, trainedTable, append([]string{", part: mig_0", ""}, note...)...); err != nil {
			t.Fatal(err)
		}
		printed := strings.Replace(trainedCSV, "a,D,1.0,0.5,", fmt.Sprintf("a,D,%.9f,0.5,", ours+away), 1)
		text := printed + strings.ReplaceAll(strings.SplitN(printed, "\n", 2)[1], "small", "big")
		if err := os.WriteFile(filepath.Join(dir, "ref.csv"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if table, err = Open(filepath.Join(dir, "table.yaml")); err != nil {
			t.Fatal(err)
		}
		if c := computeFrom(t, table, folder).Cell("a", "D"); c.Status != want || (c.Reason == "few steps") != (want == Known) {
			t.Errorf("%v away: %s %q, want %s", away, c.Status, c.Reason, want)
		}
	}
}
