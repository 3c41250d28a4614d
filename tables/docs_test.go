package tables_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	. "github.com/unravel-ml/unravel/tables"
)

// The page about tables shows what the command writes, and its example can be read.
func TestDocs(t *testing.T) {
	source, err := os.ReadFile("../docs/tables.md")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.ReplaceAll(string(source), "\r\n", "\n")
	for _, name := range Names() {
		if open(t, name).Trains() { // what it shows depends on the runs that there are
			continue
		}
		_, written, _ := strings.Cut(text(t, quick(t, name).WriteMarkdown), "\n")
		if !strings.Contains(page, strings.TrimSpace(written)) {
			t.Errorf("docs/tables.md does not show what unravel table %s --out DIR writes:\n%s", name, written)
		}
	}
	block := func(language string) []byte {
		found := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindStringSubmatch(page)
		if found == nil {
			t.Fatalf("there is no %s", language)
		}
		return []byte(found[1])
	}
	table, err := Load(fstest.MapFS{"mine.yaml": {Data: block("yaml")}, "mine.csv": {Data: block("csv")}}, "mine.yaml", "")
	if err != nil {
		t.Fatal(err)
	}
	table.Scales.Quick.Seeds = 1
	r := compute(t, table, false)
	if r.Printed != 3 || r.Cell("rotation", "MPD").Status != Same || r.Cell("rotation", "Com.").Status != Known || r.Cell("VAE", "MPD").Status != Missing {
		t.Errorf("%+v", r)
	}
}

// The rows that the page shows for tables that train can be read, and name runs.
func TestDocsTrained(t *testing.T) {
	source, err := os.ReadFile("../docs/tables.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\r?\n(.*?)```").FindAllSubmatch(source, -1)
	if len(blocks) != 3 {
		t.Fatalf("%d examples", len(blocks))
	}
	csv := "table,dataset,row,column,mean,std,note\n"
	for _, set := range []string{"d", "other printed cells"} {
		for _, row := range []string{"LSBD-VAE/256", "LSBD-VAE/1024", `"COFHAE, the best of a grid"`, "MIMOSA"} {
			for _, column := range []string{"DLSBD", "Recon."} {
				csv += "T," + set + "," + row + "," + column + ",1.0,,\n"
			}
		}
	}
	head := "name: x\ntitle: x\nsource: x\nreference: {file: r.csv, dataset: d}\n"
	table, err := Load(fstest.MapFS{"x.yaml": {Data: append([]byte(head), blocks[1][1]...)}, "r.csv": {Data: []byte(csv)}}, "x.yaml", "")
	if err != nil {
		t.Fatal(err)
	}
	runs, err := table.Runs(false)
	if err != nil || len(runs) != 3*(1+27+1) {
		t.Errorf("%d runs, %v", len(runs), err)
	}
	several := "name: x\ntitle: x\nsource: x\nscales: {quick: {seeds: 1}, full: {seeds: 1}}\ncolumns: [{label: R, fit: reconstruction}]\n"
	table, err = Load(fstest.MapFS{"x.yaml": {Data: append([]byte(several), blocks[2][1]...)}, "mine.csv": {Data: []byte("table,dataset,row,column,mean,std,note\nT,*,*,*,,,none\n")}}, "x.yaml", "")
	if err != nil {
		t.Fatal(err)
	}
	for full, want := range map[bool]int{false: 1, true: 2} {
		if runs, err := table.Runs(full); err != nil || len(runs) != want {
			t.Errorf("several data sets: %d runs, %v", len(runs), err)
		}
	}
}
