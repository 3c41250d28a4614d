package papers

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/results/tables"
)

var updateCounted = flag.Bool("update", false, "write counted.json, the counts of all tables")

// TestCountedTables compares counted.json with current counts. The default test counts three tables: without runs, with
// runs, and of quotes.
func TestCountedTables(t *testing.T) {
	long.NotShort(t)
	file, err := filepath.Abs("counted.json")
	must.OK(t, err)
	t.Chdir(t.TempDir()) // a folder without runs
	names := []string{"enriching-table2", "hierarchical-table1", "lsbd-metric-table1", "enriching-table6"}
	if long.Enabled() || *updateCounted {
		names = tables.Names()
	}
	made := countedList{Tables: map[string]countedTable{}}
	if made.Digest, err = digestOfTables(); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		table, err := tables.Open(name)
		must.OK(t, err)
		var c countedTable
		if c.Folders, err = table.RunsFolders(); err != nil {
			t.Fatal(err)
		}
		if c.List, err = listTable(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		made.Tables[name] = c
	}
	if *updateCounted {
		var text bytes.Buffer
		fmt.Fprintf(&text, "{\"digest\": %q, \"tables\": {", made.Digest)
		for i, name := range names {
			line := must.Get(json.Marshal(made.Tables[name]))(t)
			if i > 0 {
				text.WriteByte(',')
			}
			fmt.Fprintf(&text, "\n%q: %s", name, line)
		}
		text.WriteString("\n}}\n")
		must.Write(t, file, text.Bytes())
		return
	}
	const remedy = "go test ./cli/internal/papers -run TestCountedTables -update writes counted.json"
	stored := countedTables()
	if stored == nil {
		t.Fatalf("the counts are of other configs, tables or records; %s", remedy)
	}
	for _, name := range names {
		if !reflect.DeepEqual(stored[name], made.Tables[name]) {
			t.Errorf("%s: stored %+v, counted %+v; %s", name, stored[name], made.Tables[name], remedy)
		}
	}
	must.Equal(t, len(stored), len(tables.Names()), "tables are stored", remedy)
}

// With a folder of runs, the list counts its tables again, and the tables that quote them.
func TestCountedTablesWithRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	stored := countedTables()
	if stored == nil {
		t.Fatal("the counts do not hold")
	}
	makeRuns := func(name string) {
		must.OK(t, os.MkdirAll(filepath.Join(tableRuns, name), 0o755))
	}
	makeRuns("hierarchical-table1")
	var recounted []string
	for name, c := range stored {
		if c.hasRuns() {
			recounted = append(recounted, name)
		}
	}
	must.EqualSlices(t, recounted, []string{"hierarchical-table1"}, "are counted again")
	makeRuns("enriching-table5")
	if c := stored["enriching-table6"]; !c.hasRuns() {
		t.Errorf("runs of enriching-table5 leave the counts of enriching-table6, which quotes it, with the folders %v", c.Folders)
	}
}
