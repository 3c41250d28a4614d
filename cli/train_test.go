package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train/rundir"
)

// Without --run, a run's folder depends on its settings: equal settings share a folder, and different settings do not.
func TestDefaultFolder(t *testing.T) {
	long.NotShort(t)
	config := tinyFile(t)
	t.Chdir(t.TempDir())
	train := func(overrides ...string) []string {
		return append([]string{"train", config, "train.epochs=0"}, overrides...)
	}
	for i, overrides := range [][]string{nil, {"seed=2"}, {"train.batch=16", "seed=2"}, {"losses.1.kl.weight=4"}, {"losses.2.lsbd.weight=4"},
		{"train.optimizer={adam: {lr: 0.1}}"}, {"losses=[kl, lsbd]"}, {"losses=[kl,lsbd]", "seed=2"}} {
		want := filepath.Join("runs", []string{"tiny_epochs0", "tiny_epochs0_seed2", "tiny_epochs0_batch16_seed2",
			"tiny_epochs0_weight4", "tiny_epochs0_weight4-2",
			"tiny_epochs0_optimizer-adam-lr-0.1", "tiny_epochs0_losses-kl-lsbd", "tiny_epochs0_losses-kl-lsbd_seed2"}[i])
		if o := succeed(t, train(overrides...)...); !strings.Contains(o.log, "see "+want+"\n") {
			t.Errorf("%q: want %s; %v", overrides, want, o)
		}
		checkMistake(t, call(t, train(append(overrides, "train.threads=1")...)...), 1, want+": ",
			"continue it with --resume, or choose another folder with --run")
		if o := succeed(t, train(append(overrides, "--resume")...)...); !strings.Contains(o.log, "see "+want+"\n") ||
			strings.Contains(o.log, "to continue") {
			t.Errorf("%q --resume: want %s; %v", overrides, want, o)
		}
	}
	if o := succeed(t, train("seed=5", "--resume")...); !strings.Contains(o.log,
		"there is no run "+filepath.Join("runs", "tiny_epochs0_seed5")+" to continue, so a new run starts; --run selects another run\n") {
		t.Errorf("a new run with --resume: %v", o)
	}
	if o := succeed(t, train("--resume", "--run=new")...); !strings.Contains(o.log, "there is no run new to continue") {
		t.Errorf("a new run with --resume and --run: %v", o)
	}
}

// --dry-run prints the config with all defaults and writes nothing. The printed config trains the same run.
func TestTrainDryRun(t *testing.T) {
	long.NotShort(t)
	config := tinyFile(t)
	t.Chdir(t.TempDir())
	o := succeed(t, "train", config, "train.epochs=7", "--dry-run")
	if !strings.Contains(o.out, "  epochs: 7\n") || !strings.Contains(o.out, "  clip: 0.0\n") ||
		!strings.HasPrefix(o.log, "tiny would train in "+filepath.Join("runs", "tiny_epochs7")+"\n") || ui.Exists("runs") {
		t.Error(o)
	}
	writeFile(t, "resolved.yaml", []byte(o.out))
	must.Equal(t, succeed(t, "train", "resolved.yaml", "--dry-run").out, o.out, "the config from its own output")
	for _, words := range []string{"data set    ", "images of 16 x 16 x 1", "parameters  ", "activations  ", "about ",
		"a step ", "at the end  ", "writes      "} {
		if !strings.Contains(o.log, strings.TrimSpace(words)) {
			t.Errorf("the plan lacks %q: %s", words, o.log)
		}
	}
	if strings.Contains(o.log, "disk") {
		t.Errorf("the plan looks for drawn images on the disk: %s", o.log)
	}
	var plan struct {
		Dir, Config string
		Dataset     struct{ Images int }
		Memory      struct{ Activations, Peak float64 }
		Time        struct {
			Seconds float64
		}
	}
	o = succeed(t, "train", config, "train.epochs=7", "--dry-run", "--json")
	if err := json.Unmarshal([]byte(o.out), &plan); err != nil || plan.Dataset.Images != 256 ||
		plan.Memory.Activations <= 0 || plan.Memory.Peak <= plan.Memory.Activations ||
		plan.Time.Seconds <= 0 || !strings.Contains(plan.Config, "epochs: 7") || plan.Dir == "" || ui.Exists("runs") {
		t.Errorf("%v: %+v", err, plan)
	}
	for last, earlier := range map[string]string{"seed=2": "seed=1", "losses=[kl, lsbd]": "losses.1.kl.weight=2"} {
		if o := succeed(t, "train", config, earlier, "train.epochs=2", last, "--dry-run"); !strings.Contains(o.log,
			"note: "+last+" replaces "+earlier+"; want one of them\n") {
			t.Error(o)
		}
	}
	checkMistake(t, call(t, "train", config, "supervision=none", "--dry-run"), 2, "loss lsbd")
	checkMistake(t, call(t, "train", config, "--run", finished(t), "--dry-run"), 1, "already contains a run; continue it with --resume")
	if o := succeed(t, "train", config, "train.batch=100000000", "train.epochs=1", "--dry-run"); !strings.Contains(o.log,
		"1 epoch of ") || !strings.Contains(o.log, " of a batch of 192 images") || !strings.Contains(o.log, "note: train.batch is 100000000, but an epoch has fewer images: the largest batch has 192 images") {
		t.Errorf("the batch is larger than the data set: %v", o.log)
	}
}

// help is --help, also for commands.
func TestHelpAndVersion(t *testing.T) {
	for _, words := range [][]string{nil, {"train"}, {"data", "show"}} {
		if got, want := succeed(t, append([]string{"help"}, words...)...),
			succeed(t, append(words, "--help")...); got.out != want.out || !strings.HasPrefix(got.out, "Usage: unravel ") {
			t.Errorf("help %s: %v", words, got)
		}
	}
	checkMistake(t, call(t, "help", "trian"), 2, "trian")
	var record struct{ Version string }
	must.OK(t, json.Unmarshal(must.Read(t, filepath.Join(finished(t), "run.json")), &record))
	if o := succeed(t, "version"); record.Version == "" || !strings.HasPrefix(o.out, "unravel "+record.Version+"\ngo1.") {
		t.Errorf("run.json has version %q; %v", record.Version, o)
	}
	var version map[string]string
	if decodeOne(t, succeed(t, "version", "--json").out, &version); version["version"] != record.Version ||
		version["mixed"] != map[bool]string{true: "yes", false: "no"}[kernel.Mixed() == nil] {
		t.Errorf("version --json: %v", version)
	}
	lines := strings.Split(succeed(t, "version", "--cpu").out, "\n")
	decodeOne(t, succeed(t, "version", "--json", "--cpu").out, &version)
	_, choices := kernel.Processor()
	for i, want := range []string{"processor: " + version["processor"], "caches of a core: " + version["caches"],
		"matrix products: " + version["products"]} {
		must.Equal(t, lines[3+i], want, "version --cpu")
	}
	if want := fmt.Sprintf("sums of %d rows and %d columns", choices.Rows, choices.Columns); !strings.HasPrefix(version["products"], want) {
		t.Errorf("version --json --cpu: %q, want %q", version["products"], want)
	}
}

// The error for an unknown flag with the name of a setting says so.
func TestFlagsOfSettings(t *testing.T) {
	for want, args := range map[string][]string{
		"unknown flag --epochs; settings of the config have no dashes: train.epochs=1":    {"train", "--epochs", "1"},
		"unknown flag --batch; settings of the config have no dashes: train.batch=8":      {"train", "quickstart", "--batch=8"},
		"unknown flag --hold-out; settings of the config have no dashes: train.hold_out=": {"train", "--hold-out"},
		"unknown flag --device; settings of the config have no dashes: train.device=":     {"train", "--device", "cuda"},
		"unknown flag --epochs\nSee": {"eval", "--epochs"},
	} {
		checkMistake(t, call(t, args...), 2, want)
	}
}

// --find-rate prints a rate that the config accepts. It leaves three files and no run.
func TestFindRateFiles(t *testing.T) {
	long.NotShort(t)
	config := tinyFile(t)
	t.Chdir(t.TempDir())
	o := succeed(t, "train", config, "--find-rate", "--rate-low", "1e-4", "--rate-high", "0.1", "--rate-steps", "40")
	override := strings.TrimSpace(o.out)
	if !strings.HasPrefix(override, "train.optimizer.adam.lr=") || !strings.Contains(o.log, "40 rates from 0.0001 to 0.1;") {
		t.Fatal(o)
	}
	for _, name := range []string{"rates.png", "rates.csv", "rates.json"} {
		if !ui.Exists(filepath.Join("find-rate", "tiny", name)) {
			t.Errorf("there is no %s", name)
		}
	}
	if ui.Exists("runs") {
		t.Error("there is a run")
	}
	succeed(t, "train", config, override, "--dry-run")
	checkMistake(t, call(t, "train", config, "--find-rate", "--dry-run"), 2, "--find-rate trains no run")
	checkMistake(t, call(t, "train", config, "--find-rate", "--rate-steps", "3"), 1, "3 steps; want 20 to")
}

// On request, weights of the best evaluation and averaged weights are encoded, measured and exported.
func TestKeptWeights(t *testing.T) {
	long.NotShort(t)
	dir := filepath.Join(t.TempDir(), "run")
	succeed(t, "train", tinyFile(t), "train.epochs=3", "train.optimizer.adam.lr=0.05", "metrics.every=1",
		"train.keep.best=dlsbd", "train.average={decay: 0.9}", "--run", dir)
	codes := map[string]bool{}
	for _, flags := range [][]string{nil, {"--average"}, {"--best", "--average"}} {
		name := "codes"
		for _, f := range flags {
			name += strings.TrimPrefix(f, "-")
		}
		succeed(t, append([]string{"encode", "--run", dir}, flags...)...)
		codes[string(must.Read(t, filepath.Join(dir, name+".npy")))] = true
		succeed(t, append([]string{"eval", "--run", dir}, flags...)...)
		succeed(t, append([]string{"export", "--run", dir}, flags...)...)
	}
	card := filepath.Join(dir, "card.md")
	succeed(t, "export", "--run", dir, "--best", "--average", "--card", card)
	if text := string(must.Read(t, card)); !strings.Contains(text,
		"| weights | moving average at the best evaluation |\n| training |") || !strings.Contains(text, "by the last weights") {
		t.Errorf("the card does not tell the weights: %s", text)
	}
	if len(codes) < 2 || !ui.Exists(filepath.Join(dir, "weights-best-average.safetensors")) {
		t.Errorf("%d kinds of codes", len(codes))
	}
	plain := filepath.Join(t.TempDir(), "plain")
	succeed(t, "train", tinyFile(t), "train.epochs=1", "--run", plain)
	checkMistake(t, call(t, "encode", "--run", plain, "--best"), 1, "there is no best.safetensors; want a run with train.keep.best")
	checkMistake(t, call(t, "eval", "--run", plain, "--average"), 1, "want a run with train.average")
	checkMistake(t, call(t, "eval", "--codes", "z.npy", "--factors", "f.npy", "--average"), 2, "want --run DIR")
}

// A failed run records its error in its folder until it continues, like in sweeps. The message gives the choices for
// the folder. The run resumes to the same bits.
func TestFailedRun(t *testing.T) {
	long.NotShort(t)
	config, runs := tinyFile(t), t.TempDir()
	dir := filepath.Join(runs, "run")
	explode := []string{"train", config, "train.schedule={step: {every: 2, factor: 1e36}}", "--run", dir}
	failed := func(args []string, words ...string) {
		t.Helper()
		o := call(t, args...)
		o.log = o.log[max(0, strings.Index(o.log, "unravel: ")):]
		checkMistake(t, o, 1, append(words, "step 18 (epoch 3)", "try a smaller learning rate",
			"choose another folder with --run, or remove "+dir)...)
		if o := succeed(t, "runs", runs, "--filter", "state=failed", "--csv"); !strings.Contains(o.out, "\nrun,failed,\"step 18 (epoch 3)") {
			t.Errorf("no failed run: %v", o)
		}
	}
	succeed(t, append(explode, "train.epochs=2")...)
	failed(append(explode, "--resume"), "--resume continues with the same settings from its last checkpoint")
	failed(explode, dir+": the folder already contains a run, which failed: ")
	failed(append(explode, "--resume"))
	if o := succeed(t, append(explode, "--resume", "train.epochs=2")...); !strings.Contains(o.log, "continuing after step 16 (2 epochs)") {
		t.Error(o)
	}
	if o := succeed(t, "runs", runs, "--csv"); !strings.Contains(o.out, "\nrun,finished,,") {
		t.Errorf("the failure stays: %v", o)
	}
	checkMistake(t, call(t, explode...), 1, "continue it with --resume")
	never := filepath.Join(runs, "never")
	if o := call(t, "train", config, "train.optimizer.adam.lr=1e30", "--run", never); o.code != 1 ||
		!strings.Contains(o.log, "from the beginning, because it has no checkpoint") {
		t.Error(o)
	}

	good, again := filepath.Join(t.TempDir(), "good"), filepath.Join(t.TempDir(), "again")
	for _, dir := range []string{good, again} {
		succeed(t, "train", config, "--run", dir, "train.epochs=2")
	}
	must.OK(t, rundir.RecordFailure(again, errors.New("the disk was full"), time.Now()))
	for _, dir := range []string{good, again} {
		succeed(t, "train", config, "--run", dir, "--resume")
	}
	sameRun(t, "resumed after a failure", again, good)
}
