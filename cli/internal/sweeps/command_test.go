package sweeps_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli"
	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/cli/internal/sweeps"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train/sweep"
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
