package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/cli/internal/sweeps"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// writeOwnTable writes a table with one cell from two runs of tiny.yaml.
func writeOwnTable(t *testing.T, folder string) string {
	t.Helper()
	own := filepath.Join(folder, "own.yaml")
	must.Write(t, own, `name: own
title: One cell
source: nobody
reference: {file: own.csv, dataset: D}
scales: {quick: {seeds: 2}}
rows: [{label: r, from: {runs: {config: tiny.yaml}}}]
columns: [{label: c, metric: dlsbd, transform: 2x}]
`)

	must.Write(t, filepath.Join(folder, "own.csv"), "table,dataset,row,column,mean,std,note\nT,D,r,c,0.97,,\n")
	return own
}

// withFull adds the scale full, with three seeds, to a table of writeOwnTable.
func withFull(t *testing.T, own string) {
	t.Helper()
	text := string(must.Read(t, own))
	must.Write(t, own, strings.Replace(text, "quick: {seeds: 2}", "quick: {seeds: 2}, full: {seeds: 3}", 1))
}

// A table trains missing runs once. Without permission to train, it shows existing results.
func TestTableTrains(t *testing.T) {
	long.NotShort(t)
	file, dir := clitest.WriteSweep(t, "")
	own := writeOwnTable(t, filepath.Dir(file))
	if o := clitest.OK(t, "table", own, "--runs", dir, "--no-run"); !strings.Contains(o.Out, "not run yet") || ui.Exists(dir) {
		t.Error(o)
	}
	if o := clitest.OK(t, "table", own, "--runs", dir, "--dry-run", "--rehearse"); !strings.Contains(o.Out,
		"2 of 2 runs to make, about ") || ui.Exists(dir) {
		t.Error(o)
	}
	o := clitest.OK(t, "table", own, "--runs", dir, "--jobs", "2")
	if !strings.Contains(o.Out, "2 of 2 runs not converged") || !strings.Contains(o.Log, "2 of 2 runs  100 %") {
		t.Error(o)
	}
	info := must.Get(os.Stat(filepath.Join(dir, "r_quick_seed0", "run.json")))(t)
	if again := clitest.OK(t, "table", own, "--runs", dir); again.Out != o.Out {
		t.Errorf("%v\nfirst %v", again, o)
	}
	if after, err := os.Stat(filepath.Join(dir, "r_quick_seed0", "run.json")); err != nil || !after.ModTime().Equal(info.ModTime()) {
		t.Error("a run was made twice")
	}
	withFull(t, own)
	if o := clitest.OK(t, "table", own, "--runs", dir+
		"2", "--dry-run"); !strings.Contains(o.Log, "runs of the scale quick; --scale takes quick, full\n") {
		t.Error(o)
	}
	clitest.Mistake(t, clitest.Run(t, "table", own, "--runs", dir+"2", "--scale", "full"), 2,
		"own trains at the scale full: 3 of 3 runs to make, in an unknown time: want --yes")
	if o := clitest.OK(t, "table", own, "--runs", dir+"2", "--scale", "full", "--dry-run"); strings.Count(o.Out,
		"unknown\n") != 3 || o.Log != "" || ui.Exists(dir+"2") {
		t.Error(o)
	}
	var listed struct {
		Dir     string
		Runs    []sweeps.Run
		Seconds float64
		Unknown int
	}
	if clitest.JSON(t, clitest.OK(t, "table", own, "--runs", dir+"2", "--scale", "full", "--dry-run", "--json").Out,
		&listed); listed.Unknown != 3 || len(listed.Runs) != 3 {
		t.Errorf("a dry run: %+v", listed)
	}
	if o := clitest.OK(t, "table", own, "--runs", dir, "--scale", "full", "--yes"); !strings.Contains(o.Out, "3 of 3 runs not converged") {
		t.Error(o)
	}
	clitest.Mistake(t, clitest.Run(t, "table", own, "--rehearse"), 2, "--rehearse belongs to --dry-run")
	clitest.Mistake(t, clitest.Run(t, "table", "enriching-table3", "--dry-run"), 2, "trains nothing")
	o = clitest.OK(t, "table", "dialects", "--dry-run")
	must.Equal(t, o.Out, "the ledger has all runs of dialects at the scale quick; --fresh lists them\n", "all in the ledger")
	clitest.Mistake(t, clitest.Run(t, "table", own, "--jobs", "0"), 2, "--jobs")
	clitest.Mistake(t, clitest.Run(t, "table", "--no-run"), 2, "belong to a table")
	for _, name := range []string{"metrics.json", "config.yaml"} { // of a run of the table
		path := filepath.Join(dir, "r_quick_seed0", name)
		whole := must.Read(t, path)
		must.Write(t, path, "{")
		if o := clitest.Run(t, "table", own, "--runs", dir, "--no-run"); o.Code != 1 ||
			!strings.Contains(o.Log, "1 run in "+dir+" cannot be read and does not count") || !strings.Contains(o.Log, path) || o.Out == "" {
			t.Error(o)
		}
		must.Write(t, path, whole)
	}
	clitest.OK(t, "table", own, "--runs", dir, "--no-run")
}

// A table shows its ledger without training. Its runs can be repeated and compared, and the comparison finds a changed
// digit.
func TestTableLedger(t *testing.T) {
	long.NotShort(t)
	file, dir := clitest.WriteSweep(t, "")
	folder := filepath.Dir(file)
	own, out := writeOwnTable(t, folder), filepath.Join(folder, "out.jsonl")
	none := filepath.Join(folder, "none")
	if o := clitest.OK(t, "table", own, "--runs", none); !strings.Contains(o.Out, "not run yet") ||
		!strings.Contains(o.Log, "nothing was trained: ") || ui.Exists(none) {
		t.Error(o)
	}
	clitest.Mistake(t, clitest.Run(t, "table", own, "--check", "1"), 1, "the ledger has no run to repeat")
	clitest.Mistake(t, clitest.Run(t, "table", own, "--runs", none, "--contribute", out), 1, "has no run that the table own needs")
	trained := clitest.OK(t, "table", own, "--runs", dir, "--scale", "quick")
	clitest.OK(t, "table", own, "--runs", dir, "--contribute", out)
	if o := clitest.OK(t, "table", own, "--accept", out); !strings.Contains(o.Log, "2 runs added, 0 replaced") {
		t.Error(o)
	}
	shown := clitest.OK(t, "table", own, "--runs", none)
	if !strings.Contains(shown.Out, "from the ledger: 2 runs of version ") || ui.Exists(none) {
		t.Error(shown)
	}
	if _, cells, _ := strings.Cut(trained.Out, "\n\n"); !strings.HasSuffix(shown.Out, cells) {
		t.Errorf("of the ledger %v, trained %v", shown, trained)
	}
	path := filepath.Join(folder, "results", "own", "quick.jsonl")
	good := string(must.Read(t, path))
	value := regexp.MustCompile(`("name":"dlsbd","value":0\.\d)(\d)`)
	other := value.ReplaceAllStringFunc(good,
		func(found string) string { return found[:len(found)-1] + string('0'+(found[len(found)-1]-'0'+1)%10) })
	if o := clitest.OK(t, "table", own, "--accept", out); !strings.Contains(o.Log, "0 runs added, 0 replaced") ||
		strings.Contains(o.Log, "replaces a record") {
		t.Error(o)
	}
	changed := filepath.Join(folder, "changed.jsonl")
	must.Write(t, changed, other)
	if o := clitest.Run(t, "table", own, "--accept", changed); o.Code != 1 || !strings.Contains(o.Log, "metric dlsbd: 0.") ||
		!strings.Contains(o.Log, "--replace accepts them") || string(must.Read(t, path)) != good {
		t.Error(o)
	}
	if o := clitest.OK(t, "table", own, "--accept", changed, "--replace"); !strings.Contains(o.Log,
		"0 runs added, 2 replaced") || string(must.Read(t, path)) != other {
		t.Error(o)
	}
	clitest.OK(t, "table", own, "--accept", out, "--replace")
	clitest.Mistake(t, clitest.Run(t, "table", own, "--check", "1", "--within", "1ns"), 1, "of 2 runs in the ledger, 2 longer than --within 1ns")
	if o := clitest.OK(t, "table", own, "--check", "2", "--pick", "3"); strings.Count(o.Out, ": the same bits; ") != 2 ||
		!strings.Contains(o.Log, "--pick 3 repeats the choice") {
		t.Error(o)
	}
	must.Write(t, path, other)
	if o := clitest.Run(t, "table", own, "--check", "1"); o.Code != 1 || !strings.Contains(o.Out, "differs: metric dlsbd: 0.") ||
		!strings.Contains(o.Log, "1 of 1 run did not reproduce") {
		t.Error(o)
	}
	must.Write(t, path, regexp.MustCompile(`"parameters":"....`).ReplaceAllString(good, `"parameters":"0000`))
	if o := clitest.Run(t, "table", own, "--check", "1"); o.Code != 1 || !strings.Contains(o.Out, "differs: parameters: the hash is 0000") {
		t.Error(o)
	}
	must.Write(t, path, regexp.MustCompile(`"kernels":"\w+"`).ReplaceAllString(good, `"kernels":"other"`))
	if o := clitest.OK(t, "table", own, "--check", "1"); !strings.Contains(o.Out, ": within 0.1; ") ||
		!strings.Contains(o.Out, "another instruction set: other recorded") {
		t.Error(o)
	}
	must.Write(t, path, good[:len(good)-9])
	clitest.Mistake(t, clitest.Run(t, "table", own), 1, "own/quick.jsonl:3: the last line does not end with a line break")
	must.Write(t, path, good)
	for want, args := range map[string][]string{
		"--pick and --within belong to --check": {"table", own, "--pick", "1"}, "--check makes runs in a separate folder": {"table", own, "--check", "1", "--scale", "quick"},
		"--replace belongs to --accept": {"table", own, "--replace"}, "want one of the two": {"table", own, "--accept", out, "--contribute", out}, "trains nothing": {"table", "enriching-table3", "--accept", out}, "--check": {"table", own, "--check", "0"},
	} {
		clitest.Mistake(t, clitest.Run(t, args...), 2, want)
	}
}
