package tables_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/show"
	. "github.com/unravel-ml/unravel/results/tables"
)

// The pages about tables, contrastive models and sentences show the command's current output. The example on the page
// about tables is valid.
func TestDocs(t *testing.T) {
	long.NotShort(t)
	source := must.Read(t, "../../docs/papers/tables.md")
	contrastive := must.Read(t, "../../docs/papers/contrastive.md")
	sentences := must.Read(t, "../../docs/sentences.md")
	page := strings.ReplaceAll(string(source)+string(contrastive)+string(sentences), "\r\n", "\n")
	for _, name := range Names() {
		if table := open(t, name); table.Trains() || table.Quotes() || table.Timed() { // the output depends on runs or on the machine
			continue
		}
		_, written, _ := strings.Cut(written(t, quick(t, name), show.Markdown), "\n")
		if !strings.Contains(page, strings.TrimSpace(written)) {
			t.Errorf("neither docs/papers/tables.md nor docs/papers/contrastive.md nor docs/sentences.md shows what unravel table %s --out DIR writes:\n%s", name, written)
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
	must.OK(t, err)
	table.Scales[0].Seeds = 1
	r := compute(t, table, false)
	if r.Printed != 3 || r.Cell("rotation", "MPD").Status != Same || r.Cell("rotation", "Com.").Status != Known ||
		r.Cell("VAE", "MPD").Status != Missing {
		t.Errorf("%+v", r)
	}
}

// The page's rows for trained tables are valid, and name runs.
func TestDocsTrained(t *testing.T) {
	source := must.Read(t, "../../docs/papers/tables.md")
	blocks := regexp.MustCompile("(?s)```yaml\r?\n(.*?)```").FindAllSubmatch(source, -1)
	if len(blocks) != 5 {
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
	must.OK(t, err)
	runs, err := table.Runs(QuickScale)
	if err != nil || len(runs) != 3*(1+27+1) {
		t.Errorf("%d runs, %v", len(runs), err)
	}
	several := "name: x\ntitle: x\nsource: x\nscales: {quick: {seeds: 1}, full: {seeds: 1}}\ncolumns: [{label: R, fit: reconstruction}]\n"
	table, err = Load(fstest.MapFS{"x.yaml": {Data: append([]byte(several), blocks[2][1]...)},
		"mine.csv": {Data: []byte("table,dataset,row,column,mean,std,note\nT,*,*,*,,,none\n")}}, "x.yaml", "")
	must.OK(t, err)
	for scale, want := range map[string]int{QuickScale: 1, FullScale: 2} {
		must.Equal(t, len(must.Get(table.Runs(scale))(t)), want, "several data sets", "runs")
	}
}

// The page's numbers of runs are those that the tables plan, and so is the number of distinct runs of negative-free.
func TestDocsRuns(t *testing.T) {
	long.NotShort(t)
	page := string(must.Read(t, "../../docs/papers/tables.md"))
	lines := regexp.MustCompile("(?m)^\\| `([a-z0-9-]+)` \\|.* \\| (\\d+\\b[^|]*) \\| (\\d+\\b[^|]*) \\|$").FindAllStringSubmatch(page, -1)
	if len(lines) < 25 {
		t.Fatalf("%d rows", len(lines))
	}
	for _, line := range lines {
		if !open(t, line[1]).Trains() {
			continue // the page says how long it takes
		}
		for _, part := range regexp.MustCompile(`(quick|medium|long|full): (\d+)`).FindAllStringSubmatch("quick: "+
			line[2]+" full: "+line[3], -1) {
			if runs, err := open(t, line[1]).Runs(part[1]); err != nil || fmt.Sprint(len(runs)) != part[2] {
				t.Errorf("the page says that %s has %s runs at the scale %s, it plans %d (%v)", line[1], part[2], part[1], len(runs), err)
			}
		}
	}
	shared := map[string]bool{}
	for _, name := range Names() {
		if table := open(t, name); table.Folder == "negative-free" {
			planned, err := table.Planned("medium")
			must.OK(t, err)
			for _, p := range planned {
				shared[p.Key] = true
			}
		}
	}
	if want := fmt.Sprintf("`negative-free`: %d at the scale medium",
		len(shared)); !strings.Contains(string(must.Read(t, "../../docs/papers/contrastive.md")), want) {
		t.Errorf("docs/papers/contrastive.md does not say %s", want)
	}
}

// The examples of times and of a figure are valid.
func TestDocsTimes(t *testing.T) {
	source := must.Read(t, "../../docs/papers/tables.md")
	blocks := regexp.MustCompile("(?s)```yaml\r?\n(.*?)```").FindAllSubmatch(source, -1)
	head, columns := "name: x\ntitle: x\nsource: x\nreference: {file: r.csv}\n", "columns: [{label: DLSBD, metric: mse}]\n"
	csv := "table,dataset,row,column,mean,std,note\nT,Square,Computation time,DLSBD,1.0,,\nT,Airplane,Computation time,DLSBD,1.0,,\n"
	load := func(text, reference string) *Table {
		table, err := Load(fstest.MapFS{"x.yaml": {Data: []byte(head + columns + text)}, "r.csv": {Data: []byte(reference)}}, "x.yaml", "")
		must.OK(t, err)
		return table
	}
	if table := load(string(blocks[3][1]), csv); !table.Timed() || len(table.Rows) != 2 {
		t.Errorf("%+v", table)
	}
	rows := "rows:\n"
	for _, row := range []string{"LSBD-VAE/0", "LSBD-VAE/256", "VAE"} {
		rows += "  - {label: " + row + ", dataset: D, missing: x}\n"
		csv += "T,D," + row + ",DLSBD,1.0,,\n"
	}
	if table := load(rows+string(blocks[4][1]), csv); table.Boxes == nil || len(table.Boxes.Rows) != 2 {
		t.Errorf("%+v", table)
	}
}
