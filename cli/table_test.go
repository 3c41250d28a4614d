package cli_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/unravel-ml/unravel/cli"
	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/cli/internal/papers"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/results/tables"
)

// ownTable writes a table of one cell, with its reference file, into a folder.
func ownTable(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must.Write(t, filepath.Join(dir, "own.yaml"), `name: own
title: One cell
source: nobody
reference: {file: own.csv, dataset: D}
rows: [{label: r, from: {entangled: {encoder: rotation, levels: 3}}}]
columns: [{label: c, metric: mse, transform: exp(-x)}]
`)

	must.Write(t, filepath.Join(dir, "own.csv"), "table,dataset,row,column,mean,std,note\nT,D,r,c,0.97,,\n")
	return filepath.Join(dir, "own.yaml")
}

func TestTableList(t *testing.T) {
	long.NotShort(t)
	t.Chdir(t.TempDir()) // a folder without runs
	var list []papers.ListedTable
	clitest.JSON(t, clitest.OK(t, "table", "--json").Out, &list)
	var short, all bytes.Buffer
	must.OK(t, errors.Join(papers.PrintTables(&short, list), papers.PrintScales(&all, list)))
	if long.Enabled() { // counting takes a second
		for o, want := range map[clitest.Outcome]string{clitest.OK(t, "table"): short.String(), clitest.OK(t, "table", "--all"): all.String()} {
			if o.Out != want || o.Log != "" {
				t.Errorf("unravel table shows other tables than with --json: %v", o)
			}
		}
	}
	lines := strings.Split(short.String(), "\n")
	must.Equal(t, slices.Index(lines, "")-1, len(tables.Names()), "lines")
	for _, line := range lines {
		if n := utf8.RuneCountInString(line); n > 100 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for _, heading := range strings.Fields(lines[0])[1:7] {
		if !strings.Contains(papers.Legend, "\n"+heading+" ") {
			t.Errorf("the legend lacks %s", heading)
		}
	}
	if !regexp.MustCompile(`(?m)^lsbd-vae-table9 +quick +twin +77 +77 +\d+ `).MatchString(all.String()) {
		t.Error(all.String())
	}
	for name, want := range map[string][2]string{ // tables of times, of all scales, and with runs in the ledger
		"enriching-sentences": {"full - 100 100 97 0 ", "quick - 100 100 100 97 0 0 "}, "enriching-table2": {"full - 160 160 152 0 ", "quick - 160 160 160 152 0 0 "},
		"enriching-table7": {"full - 56 0 - 0 ", "quick - 56 56 0 - 0 0 "}, "modularity-ablation": {"medium twin 0 0 - 444 ", "quick twin 0 0 0 - 0 148 "},
	} {
		for i, text := range []string{short.String(), all.String()} {
			found := regexp.MustCompile(`(?m)^` + name + ` +(.*)$`).FindStringSubmatch(text)
			if found == nil || !strings.HasPrefix(strings.Join(strings.Fields(found[1]), " "), want[i]) {
				t.Errorf("%s: %q; want %s", name, found, want[i])
			}
		}
	}
	for _, l := range list {
		if len(l.Scales) < 2 || l.Data == "" || l.Shown == "" {
			t.Errorf("%+v", l)
		}
	}
	clitest.Mistake(t, clitest.Run(t, "table", "enriching-table2", "--all"), 2, "--all lists tables; want no name of one")
}

func TestTable(t *testing.T) {
	long.NotShort(t)
	o := clitest.OK(t, "table", "enriching-table3")
	for _, want := range []string{"30 of 30 printed cells reproduced (quick scale, 5 seeds)\n",
		"\nrotation      0.218   0.513   0.805   0.047   0.635\n", "\n  paper       0.22    0.51    0.80    0.05    0.64\n"} {
		if !strings.Contains(o.Out, want) {
			t.Errorf("no %q in\n%s", want, o.Out)
		}
	}
	if !strings.HasPrefix(o.Log, "computed in ") || strings.Count(o.Log, "\n") != 1 {
		t.Errorf("log %q", o.Log)
	}
	var result tables.Result
	clitest.JSON(t, clitest.OK(t, "table", "--json", "enriching-table4", "--scale", "full").Out, &result)
	if result.Name != "enriching-table4" || result.Scale != "full" || result.Seeds != 100 || len(result.Rows) != 6 || result.Reproduced != 30 {
		t.Errorf("%+v", result)
	}
}

// A user's table can be written to files, with equal bytes every time.
func TestTableOut(t *testing.T) {
	own, out := ownTable(t), filepath.Join(t.TempDir(), "new", "folder")
	o := clitest.OK(t, "table", own, "--out", out)
	if !strings.Contains(o.Out, "0 of 1 printed cells reproduced") || !strings.Contains(o.Out, "1.000!") ||
		!strings.Contains(o.Log, "written to "+out) {
		t.Error(o)
	}
	files, err := os.ReadDir(out)
	if err != nil || len(files) != 4 {
		t.Fatalf("%v, %v", files, err)
	}
	first := map[string][]byte{}
	for _, extension := range []string{"md", "csv", "tex", "html"} {
		first[extension] = must.Read(t, filepath.Join(out, "own."+extension))
		if !bytes.Contains(first[extension], []byte("0.97")) {
			t.Errorf("own.%s lacks the printed value:\n%s", extension, first[extension])
		}
	}
	clitest.OK(t, "table", own, "--out", out)
	for extension, text := range first {
		if !bytes.Equal(text, must.Read(t, filepath.Join(out, "own."+extension))) {
			t.Errorf("own.%s differs the second time", extension)
		}
	}
}

func TestTableMistakes(t *testing.T) {
	clitest.Mistake(t, clitest.Run(t, "table", "enriching-tabel2"), 2, `there is no table "enriching-tabel2"; did you mean "enriching-table2"?`)
	clitest.Mistake(t, clitest.Run(t, "table", "none.yaml"), 2, "table none.yaml: ")
	clitest.Mistake(t, clitest.Run(t, "table", "enriching-table3", "--scale", "huge"), 2, "--scale")
	clitest.Mistake(t, clitest.Run(t, "table", "--no-run"), 2, "--out and --no-run belong to a table")
	clitest.Mistake(t, clitest.Run(t, "table", "--real"), 2, "belong to a table")
	clitest.Mistake(t, clitest.Run(t, "table", "enriching-table3", "--real"), 2, "--real: no run of the table enriching-table3")
	for _, args := range [][]string{{"--data", "real"}, {"enriching-table3", "--data=twin"}} {
		clitest.Mistake(t, clitest.Run(t, append([]string{"table"}, args...)...), 2, "--data is a folder; want --real")
	}
	own := ownTable(t)
	text := string(must.Read(t, own))
	must.Write(t, own, strings.Replace(text, "exp(-x)", "exp(x)", 1))
	clitest.Mistake(t, clitest.Run(t, "table", own), 2, own+":6:35: columns.0.transform", `unknown transform "exp(x)"`)
	must.Write(t, own, text)
	file := filepath.Join(t.TempDir(), "file")
	must.Write(t, file, "")
	clitest.Mistake(t, clitest.Run(t, "table", own, "--out", file), 1, file)
	reference := strings.TrimSuffix(own, ".yaml") + ".csv"
	must.Write(t, reference, bytes.TrimSuffix(must.Read(t, reference), []byte(",,\n")))
	clitest.Mistake(t, clitest.Run(t, "table", own), 1, reference+":2: the last line does not end with a line break: the file may be cut off")
	must.OK(t, os.Remove(reference))
	clitest.Mistake(t, clitest.Run(t, "table", own), 2, reference+": ")
}

func TestTableStopped(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var out, log bytes.Buffer
	if code := cli.Run(ctx, []string{"table", "enriching-table2"}, &out, &log); code != ui.ExitStopped || out.Len() > 0 {
		t.Errorf("exit code %d, %s, %s", code, out.String(), log.String())
	}
}

// The name of a table follows the rules for names of runs, because file names contain it.
func TestTableName(t *testing.T) {
	dir := t.TempDir()
	table := ownTable(t)
	for _, name := range []string{"../../evil", "a/b", "..", "''", "/evil"} {
		text := strings.Replace(string(must.Read(t, table)), "name: ", "name: "+name+" #", 1)
		bad := filepath.Join(filepath.Dir(table), "bad.yaml")
		must.Write(t, bad, text)
		clitest.Mistake(t, clitest.Run(t, "table", bad, "--out", filepath.Join(dir, "out")), 2, bad+":", "is not a folder's name")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("there are files: %v, %v", entries, err)
	}
}
