package cli_test

import (
	"context"
	"encoding/csv"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli"
	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/cli/internal/sweeps"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train/sweep"
	"github.com/unravel-ml/unravel/train/sweep/index"
)

func TestSweepCommand(t *testing.T) {
	long.NotShort(t)
	file, dir := clitest.WriteSweep(t, "seeds: [0, 1]\nproduct: {losses.1.kl.weight: [1, 2]}\n")
	o := clitest.OK(t, "sweep", file, "--out", dir, "--dry-run")
	if !strings.Contains(o.Out, "weight1_seed0  unfinished  unknown\n") ||
		!strings.Contains(o.Out, "4 of 4 runs to make, in an unknown time; --rehearse") || o.Log != "" {
		t.Error(o)
	}
	o = clitest.OK(t, "sweep", file, "--out", dir, "--dry-run", "--rehearse")
	if lines := strings.Split(o.Out, "\n"); len(lines) != 7 ||
		!strings.HasPrefix(lines[1], "weight1_seed0  unfinished  ") || !strings.HasPrefix(lines[5], "4 of 4 runs to make, about ") {
		t.Error(o)
	}
	if ui.Exists(dir) {
		t.Error("a dry run has made a folder")
	}
	o = clitest.OK(t, "sweep", file, "--out", dir, "--jobs", "2")
	if lines := strings.Split(o.Out, "\n"); len(lines) != 6 || !strings.HasPrefix(lines[4], "weight2_seed1  finished  ") ||
		!strings.Contains(lines[4], "dlsbd ") ||
		!strings.Contains(lines[4], "not converged: reconstructions") || !strings.Contains(o.Log, "4 of 4 runs  100 %\n") {
		t.Error(o)
	}
	before := must.Read(t, filepath.Join(dir, "weight2_seed1", "run.json"))
	var result struct {
		Dir  string
		Runs []sweeps.Run
	}
	clitest.JSON(t, clitest.OK(t, "sweep", "--json", file, "--out", dir).Out, &result)
	if result.Dir != dir || len(result.Runs) != 4 || result.Runs[3].State != sweep.Finished ||
		result.Runs[3].Metrics["dlsbd"] == 0 || result.Runs[3].Fit == nil {
		t.Errorf("%+v", result)
	}
	if after := must.Read(t, filepath.Join(dir, "weight2_seed1", "run.json")); string(after) != string(before) {
		t.Error("a finished run was made again")
	}
	if o := clitest.OK(t, "sweep", file, "--out", dir, "--dry-run"); !strings.Contains(o.Out, "0 of 4 runs to make") {
		t.Error(o)
	}
}

// A search shows its space and first trials, makes the trials in processes, and prints the best trial with its command.
func TestSearchCommand(t *testing.T) {
	long.NotShort(t)
	file, dir := clitest.WriteSweep(t,
		"set: {train.epochs: 1}\nsearch: {tpe: {metric: dlsbd, runs: 3, startup: 2, space: {losses.1.kl.weight: {linear: [0, 4]}, train.batch: {choice: [16, 32]}}}}\n")
	o := clitest.OK(t, "sweep", file, "--out", dir, "--dry-run")
	if lines := strings.Split(o.Out, "\n"); len(lines) != 8 || lines[0] != "tpe, for a lower dlsbd" ||
		lines[1] != "  losses.1.kl.weight: {linear: [0, 4]}" || !strings.HasPrefix(lines[3], "trial 0: losses.1.kl.weight=") ||
		lines[5] != "further trials follow from results" || lines[6] != "0 trials ended, 0 core-hours used; budget: 3 trials" || ui.Exists(dir) {
		t.Error(o)
	}
	o = clitest.OK(t, "sweep", file, "--out", dir)
	lines := strings.Split(o.Out, "\n")
	if len(lines) != 7 || !strings.HasPrefix(lines[1], "trial000  finished  ") ||
		!strings.HasPrefix(lines[4], "best: trial00") || !strings.HasPrefix(lines[5], "unravel train tiny.yaml train.epochs=1 losses.1.kl.weight=") {
		t.Fatal(o)
	}
	var result sweeps.SearchOutput
	clitest.JSON(t, clitest.OK(t, "sweep", "--json", file, "--out", dir).Out, &result)
	best := result.Best
	if len(result.Trials) != 3 || best.Value == nil || best.Settings["train.batch"] == "" || result.Better != "lower" ||
		result.Command[3] != "train.epochs=1" || !strings.HasPrefix(lines[4], "best: "+best.Name) {
		t.Errorf("%+v", result)
	}
	for _, one := range result.Trials {
		if !(*one.Value >= *best.Value) {
			t.Errorf("%+v is better than %+v", one, best)
		}
	}
	clitest.JSON(t, clitest.OK(t, "sweep", "--json", file, "--out", dir, "--dry-run").Out, &result)
	if result.Ended != 3 || result.Space["train.batch"] != "{choice: [16, 32]}" {
		t.Errorf("%+v", result)
	}
	other, _ := clitest.WriteSweep(t, "search: {random: {metric: dlsbd, runs: 3, space: {train.batch: {choice: [16, 32]}}}}\n")
	for _, arguments := range [][]string{{other, "--out", dir}, {other, "--out", dir, "--dry-run"}} {
		if o := clitest.Run(t, append([]string{"sweep"}, arguments...)...); o.Code == 0 ||
			!strings.Contains(o.Log, "holds trials of another search: there the method is tpe, not random;") {
			t.Error(o)
		}
	}
	clitest.Mistake(t, clitest.Run(t, "sweep", file, "--simulate", "nodes=1,cores=1"), 2, "--simulate needs the runs beforehand")
}

// A failed run does not stop other runs. The program names it and exits with 1.
func TestSweepFailure(t *testing.T) {
	long.NotShort(t)
	file, dir := clitest.WriteSweep(t, "product: {train.optimizer.adam.lr: [1e30, 0.001]}\n")
	o := clitest.Run(t, "sweep", file, "--out", dir)
	if o.Code != 1 || !strings.Contains(o.Out, "lr1e30   failed") || !strings.Contains(o.Out, "lr0.001  finished") ||
		!strings.Contains(o.Log, "--retry repeats them:\nlr1e30: ") || !strings.Contains(o.Log, "try a smaller learning rate") {
		t.Error(o)
	}
	if o := clitest.Run(t, "sweep", file, "--out", dir); o.Code != 1 || strings.Contains(o.Log, "running") {
		t.Errorf("it was made again: %v", o)
	}
}

func TestSweepMistakes(t *testing.T) {
	file, dir := clitest.WriteSweep(t, "product: {train.epoch: [1]}\n")
	clitest.Mistake(t, clitest.Run(t, "sweep", file, "--out", dir), 2, `did you mean "epochs"?`)
	clitest.Mistake(t, clitest.Run(t, "sweep", "none.yaml"), 2, "there is no sweep none.yaml")
	clitest.Mistake(t, clitest.Run(t, "sweep", file, "--jobs", "0"), 2, "--jobs 0: want 1 or more")
	if ui.Exists(dir) {
		t.Error("there is a folder")
	}
	// mistakes between the parts of a config
	file, dir = clitest.WriteSweep(t, "product: {metrics.sample: [0, 3]}\nset: {metrics.final: [{sap: {train_rows: 10}}]}\n")
	for _, flag := range []string{"--jobs=1", "--dry-run"} {
		clitest.Mistake(t, clitest.Run(t, "sweep", file, "--out", dir, flag), 2, "run sample3: ",
			"metric sap: there are 3 rows; want at least the 10 of train_rows (on 3 of ", "metrics.sample sets the number")
	}
	if ui.Exists(dir) {
		t.Error("there is a folder")
	}
	file, dir = clitest.WriteSweep(t, "seeds: [1]\n")
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var out, log strings.Builder
	if code := cli.Run(ctx, []string{"sweep", file, "--out", dir}, &out, &log); code != ui.ExitStopped {
		t.Errorf("stopped: code %d, %s", code, log.String())
	}
}

// Runs of a program with its own parts are listed, with a note on the parts that this program lacks.
func TestRunsOfOtherPrograms(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		must.Write(t, filepath.Join(dir, name, "config.yaml"), "dataset: square\nmodel: lent\nlosses: [kl]\n")
	}
	o := clitest.OK(t, "runs", dir)
	for _, want := range []string{"a is damaged: ",
		`a program with the model "lent", which this program has not registered`, "\nalso damaged: 1; --json gives the reasons\n"} {
		if !strings.Contains(o.Log, want) {
			t.Errorf("%q does not say %q", o.Log, want)
		}
	}
	if !strings.Contains(o.Out, "b    damaged") {
		t.Errorf("%q", o.Out)
	}
}

func TestRunsCommand(t *testing.T) {
	long.NotShort(t)
	file, dir := clitest.WriteSweep(t, "seeds: [0, 1]\nproduct: {losses.1.kl.weight: [1, 2]}\n")
	clitest.OK(t, "sweep", file, "--out", dir)
	o := clitest.OK(t, "runs", dir)
	lines := strings.Split(o.Out, "\n")
	if len(lines) != 6 || strings.Join(strings.Fields(lines[0]),
		" ") != "run state losses.1.kl.weight seed seconds dlsbd fit.converged" || !strings.HasPrefix(lines[4], "weight2_seed1  finished  2 ") {
		t.Error(o)
	}
	for filter, want := range map[string]int{
		"seed=1": 2, "losses.1.kl.weight=2": 2, "losses.1.kl.weight=2.0": 2, "seed!=1": 2, "dlsbd>100": 0, "dlsbd<100": 4, "state=finished": 4, "model=x": 0, "modl=x": -1, "kernels=none": 0,
		"seed": -1, "=3": -1, "seed<x": -1,
	} {
		o := clitest.Run(t, "runs", dir, "--csv", "--filter", filter)
		if want < 0 {
			clitest.Mistake(t, o, 2, "")
			continue
		}
		records, err := csv.NewReader(strings.NewReader(o.Out)).ReadAll()
		if err != nil || len(records) != want+1 {
			t.Errorf("%s: %d runs, want %d, %v", filter, len(records)-1, want, err)
		}
	}
	var runs []index.Run
	clitest.JSON(t, clitest.OK(t, "runs", dir, "--json", "--filter", "seed=0", "--filter", "losses.1.kl.weight=1").Out, &runs)
	if len(runs) != 1 {
		t.Fatalf("%+v", runs)
	}
	converged, known := runs[0].Results.Get("fit.converged")
	latent, _ := runs[0].Settings.Get("model.vae.latent")
	if converged != 0 || !known || latent != "2" || runs[0].Steps != 4 || runs[0].Machine.Cores < 1 {
		t.Errorf("%+v", runs)
	}
	var compared struct {
		By     []string
		Groups []index.Group
	}
	clitest.JSON(t, clitest.OK(t, "runs", dir, "--json", "--by", "losses.1.kl.weight").Out, &compared)
	if len(compared.Groups) != 2 || compared.Groups[0].Runs != 2 || compared.Groups[0].Std["dlsbd"] == 0 {
		t.Errorf("%+v", compared)
	}
	if o := clitest.OK(t, "runs", dir, "--by", "train.optimizer.adam.decay"); strings.Contains(o.Out, "0.0 ") {
		t.Error(o)
	}
	if o := clitest.OK(t, "runs", dir, "--by", "seed"); strings.Count(o.Out, "±") != 4 {
		t.Error(o)
	}
	clitest.Mistake(t, clitest.Run(t, "runs", filepath.Join(dir, "none")), 2, "there is no folder")
	if o := clitest.OK(t, "runs", t.TempDir()); o.Out != "no runs\n" {
		t.Error(o)
	}
}

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
