package cli_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

const historicalRun = `name: case
dataset: {square: {size: 8, side: 2}}
model: {vae: {latent: 3, encoder: {mlp: {hidden: [4]}}}}
losses: [{reconstruction: {likelihood: bernoulli}}, kl]
train: {epochs: 6, batch: 16, figures: false, checkpoint: 0}
metrics: [mse]
`

// A run cannot be shortened or resumed with an edited config, and a sweep makes the planned run.
func TestResumeShorter(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv(clitest.AsProgram, "1") // runs of a sweep are processes
	must.Write(t, "run.yaml", historicalRun)
	must.Write(t, "sweep.yaml", "name: two\nbase: run.yaml\nset: {train.epochs: 2}\nseeds: [0]\n")
	clitest.OK(t, "train", "run.yaml", "--run", "out/long")
	before := string(must.Read(t, "out/long/run.json"))
	clitest.Mistake(t, clitest.Run(t, "train", "--run", "out/long", "--resume", "train.epochs=2"), 2,
		"train.epochs: 2: the run has trained 6 epochs; want 6 or more, or another folder for a shorter run")
	must.Equal(t, string(must.Read(t, "out/long/run.json")), before, "the record has changed")
	config := string(must.Read(t, "out/long/config.yaml"))
	must.Write(t, "out/long/config.yaml", strings.Replace(config, "lr: 0.001", "lr: 0.3", 1))
	clitest.Mistake(t, clitest.Run(t, "train", "--run", "out/long", "--resume"), 1, "the checkpoint does not fit the config",
		"train.optimizer.adam.lr: the run began with 0.001, now 0.3; want the values it began with, or a new run in another folder, from this model by init={run: DIR}")
	if o := clitest.Run(t, "eval", "--run", "out/long"); !strings.Contains(o.Log,
		"warning: out/long: the checkpoint does not fit the config: ") || !strings.Contains(o.Log, "lr: the run began with 0.001, now 0.3") {
		t.Error(o)
	}
	must.Write(t, "out/long/config.yaml", config)
	if o := clitest.OK(t, "eval", "--run", "out/long"); strings.Contains(o.Log, "warning") {
		t.Error(o)
	}
	must.Equal(t, string(must.Read(t, "out/long/run.json")), before, "the record has changed")
	sameAsDirect(t, "out", "train.epochs=2")
}

// A run that continues with another cosine schedule does not get the hash of a direct run, and reports the reason.
func TestResumeLongerCosine(t *testing.T) {
	long.NotShort(t)
	t.Chdir(t.TempDir())
	t.Setenv(clitest.AsProgram, "1") // runs of a sweep are processes
	must.Write(t, "run.yaml", strings.Replace(historicalRun, "checkpoint: 0", "checkpoint: 0, schedule: cosine", 1))
	must.Write(t, "sweep.yaml", "name: six\nbase: run.yaml\nseeds: [0]\n")
	clitest.OK(t, "train", "run.yaml", "train.epochs=3", "--run", "out/continued")
	const why = "the schedule gave the rates of 3 epochs"
	if o := clitest.OK(t, "train", "--run", "out/continued", "--resume", "train.epochs=6"); !strings.Contains(o.Log, why) {
		t.Error(o)
	}
	sameAsDirect(t, "out")
	if o := clitest.OK(t, "sweep", "sweep.yaml", "--out", "out"); !strings.Contains(o.Out, "finished") ||
		strings.Contains(o.Log, "is not the run") {
		t.Errorf("again: %v", o)
	}
	hashes := regexp.MustCompile(`"hash":"\w+"`).FindAllString(clitest.OK(t, "runs", "out", "--json").Out, -1)
	if len(hashes) != 2 || hashes[0] == hashes[1] {
		t.Errorf("%q", hashes)
	}
	for _, dir := range []string{"out", "out/continued"} { // a single run has no differences
		if o := clitest.OK(t, "runs", dir); !strings.Contains(o.Out, "history") {
			t.Errorf("%s: %v", dir, o)
		}
	}
	if o := clitest.OK(t, "report", "--run", "out/continued", "--out", "page.html"); !strings.Contains(string(must.Read(t, "page.html")), why) {
		t.Errorf("the report does not say it: %v", o)
	}
}

// sameAsDirect checks that a sweep into a folder with another run makes its own run, with the bits of a direct run.
func sameAsDirect(t *testing.T, dir string, overrides ...string) {
	t.Helper()
	clitest.OK(t, append([]string{"train", "run.yaml", "--run", "direct"}, overrides...)...)
	o := clitest.OK(t, "sweep", "sweep.yaml", "--out", dir)
	got, want := string(must.Read(t, filepath.Join(dir, "case", "metrics.json"))), string(must.Read(t, "direct/metrics.json"))
	must.Equal(t, got, want, o, "the sweep reports", "a direct run")
}
