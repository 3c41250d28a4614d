package cli

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

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
	t.Setenv(asProgram, "1") // runs of a sweep are processes
	writeFile(t, "run.yaml", []byte(historicalRun))
	writeFile(t, "sweep.yaml", []byte("name: two\nbase: run.yaml\nset: {train.epochs: 2}\nseeds: [0]\n"))
	succeed(t, "train", "run.yaml", "--run", "out/long")
	before := string(must.Read(t, "out/long/run.json"))
	checkMistake(t, call(t, "train", "--run", "out/long", "--resume", "train.epochs=2"), 2,
		"train.epochs: 2: the run has trained 6 epochs; want 6 or more, or another folder for a shorter run")
	must.Equal(t, string(must.Read(t, "out/long/run.json")), before, "the record has changed")
	config := string(must.Read(t, "out/long/config.yaml"))
	writeFile(t, "out/long/config.yaml", []byte(strings.Replace(config, "lr: 0.001", "lr: 0.3", 1)))
	checkMistake(t, call(t, "train", "--run", "out/long", "--resume"), 1, "the checkpoint does not fit the config",
		"train.optimizer.adam.lr: the run began with 0.001, now 0.3; want the values it began with, or a new run in another folder, from this model by init={run: DIR}")
	if o := call(t, "eval", "--run", "out/long"); !strings.Contains(o.log,
		"warning: out/long: the checkpoint does not fit the config: ") || !strings.Contains(o.log, "lr: the run began with 0.001, now 0.3") {
		t.Error(o)
	}
	writeFile(t, "out/long/config.yaml", []byte(config))
	if o := succeed(t, "eval", "--run", "out/long"); strings.Contains(o.log, "warning") {
		t.Error(o)
	}
	must.Equal(t, string(must.Read(t, "out/long/run.json")), before, "the record has changed")
	sameAsDirect(t, "out", "train.epochs=2")
}

// A run that continues with another cosine schedule does not get the hash of a direct run, and reports the reason.
func TestResumeLongerCosine(t *testing.T) {
	long.NotShort(t)
	t.Chdir(t.TempDir())
	t.Setenv(asProgram, "1") // runs of a sweep are processes
	writeFile(t, "run.yaml", []byte(strings.Replace(historicalRun, "checkpoint: 0", "checkpoint: 0, schedule: cosine", 1)))
	writeFile(t, "sweep.yaml", []byte("name: six\nbase: run.yaml\nseeds: [0]\n"))
	succeed(t, "train", "run.yaml", "train.epochs=3", "--run", "out/continued")
	const why = "the schedule gave the rates of 3 epochs"
	if o := succeed(t, "train", "--run", "out/continued", "--resume", "train.epochs=6"); !strings.Contains(o.log, why) {
		t.Error(o)
	}
	sameAsDirect(t, "out")
	if o := succeed(t, "sweep", "sweep.yaml", "--out", "out"); !strings.Contains(o.out, "finished") ||
		strings.Contains(o.log, "is not the run") {
		t.Errorf("again: %v", o)
	}
	hashes := regexp.MustCompile(`"hash":"\w+"`).FindAllString(succeed(t, "runs", "out", "--json").out, -1)
	if len(hashes) != 2 || hashes[0] == hashes[1] {
		t.Errorf("%q", hashes)
	}
	for _, dir := range []string{"out", "out/continued"} { // a single run has no differences
		if o := succeed(t, "runs", dir); !strings.Contains(o.out, "history") {
			t.Errorf("%s: %v", dir, o)
		}
	}
	if o := succeed(t, "report", "--run", "out/continued", "--out", "page.html"); !strings.Contains(string(must.Read(t, "page.html")), why) {
		t.Errorf("the report does not say it: %v", o)
	}
}

// sameAsDirect checks that a sweep into a folder with another run makes its own run, with the bits of a direct run.
func sameAsDirect(t *testing.T, dir string, overrides ...string) {
	t.Helper()
	succeed(t, append([]string{"train", "run.yaml", "--run", "direct"}, overrides...)...)
	o := succeed(t, "sweep", "sweep.yaml", "--out", dir)
	got, want := string(must.Read(t, filepath.Join(dir, "case", "metrics.json"))), string(must.Read(t, "direct/metrics.json"))
	must.Equal(t, got, want, o, "the sweep reports", "a direct run")
}
