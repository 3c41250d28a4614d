package tables_test

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics"
	. "github.com/unravel-ml/unravel/results/tables"
)

// small is a table with two cells. Its reference file has a third cell.
const small = `name: small
title: Two cells
source: nobody
reference: {file: small.csv, dataset: D}
rows:
  - {label: r, from: {entangled: {encoder: misalignment, levels: 3}}}
  - {label: s, missing: there is no such encoder}
columns:
  - {label: c, metric: mse, transform: exp(-x)}
`

const smallCSV = header + "T,D,r,c,1.00,,\nT,D,s,c,0.50,,\nT,D,s,d,0.50,,\nT,E,r,c,1.00,,\n"

func load(yaml, csv string) (*Table, error) {
	return Load(fstest.MapFS{"small.yaml": {Data: []byte(yaml)}, "small.csv": {Data: []byte(csv)}}, "small.yaml", "my/")
}

func TestLoad(t *testing.T) {
	table := must.Get(load(small, smallCSV))(t)
	if reproduced, printed := table.Coverage(); reproduced != 1 || printed != 3 {
		t.Errorf("coverage %d of %d", reproduced, printed)
	}
	if table.Decimals != 3 || table.Printed.Draws != 1 || table.Scales[0].Seeds != 5 || table.Scales[1].Seeds != 20 {
		t.Errorf("defaults %+v", table)
	}
	for _, bound := range []string{"decimals: 0", "decimals: 12", "scales: {quick: {seeds: 1}, full: {seeds: 10000}}"} {
		if _, err := load(small+bound+"\n", smallCSV); err != nil {
			t.Errorf("%s: %v", bound, err)
		}
	}
	noted := must.Get(load(small+"notes: [{rows: [r], columns: [c], reason: so it is}]\n", smallCSV))(t)
	if reproduced, printed := noted.Coverage(); reproduced != 0 || printed != 3 {
		t.Errorf("with a note: coverage %d of %d", reproduced, printed)
	}
}

func TestLoadMistakes(t *testing.T) {
	change := func(from, to string) string { return strings.Replace(small, from, to, 1) }
	for name, test := range map[string]struct{ yaml, csv, want string }{
		"damaged reference":  {small, smallCSV + "T,D,s,e,x,,\n", `my/small.csv:6: mean: "x" is not a decimal number`},
		"no reference":       {change("small.csv", "smal.csv"), smallCSV, "my/smal.csv: file does not exist"},
		"path outside":       {change("small.csv", "../small.csv"), smallCSV, `my/small.yaml:4:13: reference.file: "../small.csv" is not a path`},
		"data set":           {change("dataset: D", "dataset: F"), smallCSV, `my/small.yaml:4:30: reference.dataset: my/small.csv has no data set "F"`},
		"row":                {change("label: r", "label: q"), smallCSV, `my/small.yaml:6:6: rows.0.label: my/small.csv: there is no row "q"`},
		"row of another set": {strings.Replace(small, "label: s", "label: q", 1), smallCSV + "T,E,q,c,1.00,,\n", `rows.1.label: my/small.csv: there is no row "q"`},
		"column":             {change("label: c", "label: b"), smallCSV, `my/small.yaml:9:6: columns.0.label: my/small.csv: there is no column "b"`},
		"cell":               {change("label: c", "label: d"), smallCSV, `there is no cell of row "r", column "d"`},
		"unknown key":        {change("title:", "titel:"), smallCSV, `my/small.yaml:2:1: titel: unknown key "titel"; did you mean "title"?`},
		"no name":            {change("name: small\n", ""), smallCSV, `name: "" is not a folder`},
		"no rows":            {"name: x\ncolumns: [{label: c, metric: mse}]\n", smallCSV, "rows: there are no rows"},
		"no columns":         {"name: x\nrows: [{label: r, missing: x}]\n", smallCSV, "columns: there are no columns"},
		"two rows":           {change("label: s", "label: r"), smallCSV, `rows.1.label: there are two rows "r"`},
		"two columns":        {small + "  - {label: c, metric: mae}\n", smallCSV, `columns.1.label: there are two columns "c"`},
		"no label":           {change("{label: s, ", "{"), smallCSV, "label: the row has no label"},
		"no source":          {change(", missing: there is no such encoder", ""), smallCSV, `row "s" has no source of codes`},
		"two sources":        {change("missing: there", "from: {entangled: {encoder: random}}, missing: there"), smallCSV, `row "s" has a source of codes, too`},
		"source":             {change("entangled:", "entangeld:"), smallCSV, `unknown source of codes "entangeld"; did you mean "entangled"?`},
		"encoder":            {change("misalignment", "misalinment"), smallCSV, `unknown encoder "misalinment"`},
		"metric":             {change("mse", "msee"), smallCSV, `unknown metric "msee"`},
		"no metric":          {change("metric: mse, ", ""), smallCSV, `column "c" has no metric`},
		"no column label":    {change("{label: c, ", "{"), smallCSV, "the column has no label"},
		"transform":          {change("exp(-x)", "exp(x)"), smallCSV, `unknown transform "exp(x)"`},
		"transform bound":    {change("exp(-x)", "x<many"), smallCSV, `unknown transform "x<many"; want x, exp(-x), 2x, 100x, or x<NUMBER`},
		"decimals":           {small + "decimals: 13\n", smallCSV, "decimals: 13 is out of range"},
		"seeds":              {small + "scales: {quick: {seeds: 0}}\n", smallCSV, "scales.quick.seeds: 0 is out of range"},
		"draws":              {change("dataset: D", "dataset: D, draws: 0"), smallCSV, "reference.draws: 0 is out of range"},
		"note on no row":     {small + "notes: [{rows: [x], columns: [c], reason: y}]\n", smallCSV, `notes.0.rows.0: there is no row "x"`},
		"note on no column":  {small + "notes: [{rows: [r], columns: [x], reason: y}]\n", smallCSV, `notes.0.columns.0: there is no column "x"`},
		"two notes":          {small + "notes: [{rows: [s, r], columns: [c], reason: y}, {rows: [r], columns: [c], reason: z}]\n", smallCSV, `notes.1: row "r", column "c" has a note already`},
		"note without rows":  {small + "notes: [{columns: [c], reason: y}]\n", smallCSV, "notes.0.rows: there are no rows"},
		"without columns":    {small + "notes: [{rows: [r], reason: y}]\n", smallCSV, "notes.0.columns: there are no columns"},
		"without reason":     {small + "notes: [{rows: [r], columns: [c]}]\n", smallCSV, "notes.0.reason: there is no reason"},
		"not YAML":           {"rows: [", smallCSV, "my/small.yaml:1:"},
	} {
		must.ErrorOf(load(test.yaml, test.csv))(t, test.want, name)
	}
}

func TestOpen(t *testing.T) {
	names := Names()
	if want := []string{"dialects", "enriching-sentences", "enriching-table10", "enriching-table11", "enriching-table2",
		"enriching-table3", "enriching-table4", "enriching-table5-printed", "enriching-table5", "enriching-table6-printed", "enriching-table6", "enriching-table7", "enriching-table8", "enriching-table9",
		"hierarchical-ablation", "hierarchical-benchmark", "hierarchical-figurea1", "hierarchical-figurea2", "hierarchical-figurea3", "hierarchical-figurea6", "hierarchical-figurea7", "hierarchical-sensitivity", "hierarchical-table1", "lsbd-groups-turntable", "lsbd-groups", "lsbd-metric-table1", "lsbd-vae-figure5", "lsbd-vae-figure6", "lsbd-vae-flatland", "lsbd-vae-table5", "lsbd-vae-table6", "lsbd-vae-table7", "lsbd-vae-table8", "lsbd-vae-table9", "modularity-ablation",
		"negative-free-analytic", "negative-free-figure12", "negative-free-figure13", "negative-free-figure16", "negative-free-figure4", "negative-free-figure5", "negative-free-figure6", "negative-free-table1", "negative-free-table4", "negative-free-table5", "negative-free-table6", "negative-free-table7", "negative-free-table8", "pairs-check"}; !slices.Equal(names, want) {
		t.Errorf("tables %v, want %v", names, want)
	}
	for _, name := range names {
		table, err := Open(name)
		if err != nil || table.Name != name || table.Title == "" || table.Source == "" {
			t.Errorf("%s: %+v, %v", name, table, err)
		}
	}
	var unknown *UnknownError
	if _, err := Open("enriching-table22"); !errors.As(err, &unknown) || !strings.Contains(err.Error(), `did you mean "enriching-table2"?`) {
		t.Error(err)
	}
	workshop, err := Open("lsbd-metric-table1")
	if err != nil || !workshop.Columns[0].Metric.Value.(*metrics.DLSBDWorkshop).Whiten {
		t.Errorf("the earlier form of D_LSBD is not whitened: %v", err) // without it the paper's sanity check fails
	}
	for _, name := range []string{"", "reference/enriching-table2", "../quickstart"} {
		if _, err := Open(name); !errors.As(err, &unknown) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := Open("none.yaml"); err == nil || !strings.HasPrefix(err.Error(), "table none.yaml: ") {
		t.Error(err)
	}
	dir := t.TempDir()
	must.WriteAll(t, dir, map[string]string{"small.yaml": small, "small.csv": smallCSV})
	if table, err := Open(filepath.Join(dir, "small.yaml")); err != nil || table.Name != "small" {
		t.Errorf("%+v, %v", table, err)
	}
	t.Chdir(dir)
	if table, err := Open("small.yaml"); err != nil || table.Name != "small" {
		t.Errorf("%+v, %v", table, err)
	}
	must.Write(t, "small.csv", smallCSV[:len(smallCSV)-3])
	if _, err := Open("small.yaml"); err == nil ||
		!strings.HasPrefix(err.Error(), "small.csv:5: the last line does not end with a line break") {
		t.Error(err)
	}
}

// Names lists the files of the folder, and each table has the name of its file.
func TestTableFiles(t *testing.T) {
	files, err := fs.Glob(configs.Tables(), "*")
	if err != nil || len(files) != len(Names())+1 { // and the folder of printed values
		t.Errorf("%v, %v", files, err)
	}
	for _, name := range configs.Names() {
		if strings.HasPrefix(name, "tables") {
			t.Errorf("the table %s is listed as an experiment", name)
		}
	}
	if _, err := configs.Read("tables/enriching-table2"); err == nil {
		t.Error("a table was read as an experiment")
	}
}

// Load never panics, and its errors have a position.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(small), []byte(smallCSV))
	f.Add([]byte(small+"notes: [{rows: [r], columns: [c], reason: y}]\n"), []byte(smallCSV))
	f.Add([]byte("name: x"), []byte(header))
	f.Fuzz(func(t *testing.T, yaml, csv []byte) {
		table, err := load(string(yaml), string(csv))
		if err != nil {
			var one *config.Error
			var several config.Errors
			if !errors.As(err, &one) && !errors.As(err, &several) && !strings.HasPrefix(err.Error(), "my/") {
				t.Fatalf("no place in %v", err)
			}
			return
		}
		if reproduced, printed := table.Coverage(); reproduced > printed || printed > len(table.Reference().Cells) {
			t.Fatalf("%d of %d of %d cells", reproduced, printed, len(table.Reference().Cells))
		}
	})
}

func ExampleOpen() {
	table, err := Open("enriching-table2")
	if err != nil {
		fmt.Println(err)
		return
	}
	reproduced, printed := table.Coverage()
	fmt.Printf("%s, %s: %d of %d cells\n", table.Title, table.Source, reproduced, printed)
	// Output: All metrics on ten hand-made encoders, Zhang and Sugiyama 2024, table 2: 152 of 160 cells
}
