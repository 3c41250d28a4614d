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
