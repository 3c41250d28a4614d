package cli_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train/rundir"
)

// Without --run, a run's folder depends on its settings: equal settings share a folder, and different settings do not.
func TestDefaultFolder(t *testing.T) {
	long.NotShort(t)
	config := clitest.TinyFile(t)
	t.Chdir(t.TempDir())
	train := func(overrides ...string) []string {
		return append([]string{"train", config, "train.epochs=0"}, overrides...)
	}
	for i, overrides := range [][]string{nil, {"seed=2"}, {"train.batch=16", "seed=2"}, {"losses.1.kl.weight=4"}, {"losses.2.lsbd.weight=4"},
		{"train.optimizer={adam: {lr: 0.1}}"}, {"losses=[kl, lsbd]"}, {"losses=[kl,lsbd]", "seed=2"}} {
		want := filepath.Join("runs", []string{"tiny_epochs0", "tiny_epochs0_seed2", "tiny_epochs0_batch16_seed2",
			"tiny_epochs0_weight4", "tiny_epochs0_weight4-2",
			"tiny_epochs0_optimizer-adam-lr-0.1", "tiny_epochs0_losses-kl-lsbd", "tiny_epochs0_losses-kl-lsbd_seed2"}[i])
		if o := clitest.OK(t, train(overrides...)...); !strings.Contains(o.Log, "see "+want+"\n") {
			t.Errorf("%q: want %s; %v", overrides, want, o)
		}
		clitest.Mistake(t, clitest.Run(t, train(append(overrides, "train.threads=1")...)...), 1, want+": ",
			"continue it with --resume, or choose another folder with --run")
		if o := clitest.OK(t, train(append(overrides, "--resume")...)...); !strings.Contains(o.Log, "see "+want+"\n") ||
			strings.Contains(o.Log, "to continue") {
			t.Errorf("%q --resume: want %s; %v", overrides, want, o)
		}
	}
	if o := clitest.OK(t, train("seed=5", "--resume")...); !strings.Contains(o.Log,
		"there is no run "+filepath.Join("runs", "tiny_epochs0_seed5")+" to continue, so a new run starts; --run selects another run\n") {
		t.Errorf("a new run with --resume: %v", o)
	}
	if o := clitest.OK(t, train("--resume", "--run=new")...); !strings.Contains(o.Log, "there is no run new to continue") {
		t.Errorf("a new run with --resume and --run: %v", o)
	}
}

// --dry-run prints the config with all defaults and writes nothing. The printed config trains the same run.
func TestTrainDryRun(t *testing.T) {
	long.NotShort(t)
	config := clitest.TinyFile(t)
	t.Chdir(t.TempDir())
	o := clitest.OK(t, "train", config, "train.epochs=7", "--dry-run")
	if !strings.Contains(o.Out, "  epochs: 7\n") || !strings.Contains(o.Out, "  clip: 0.0\n") ||
		!strings.HasPrefix(o.Log, "tiny would train in "+filepath.Join("runs", "tiny_epochs7")+"\n") || ui.Exists("runs") {
		t.Error(o)
	}
	must.Write(t, "resolved.yaml", o.Out)
	must.Equal(t, clitest.OK(t, "train", "resolved.yaml", "--dry-run").Out, o.Out, "the config from its own output")
	for _, words := range []string{"data set    ", "images of 16 x 16 x 1", "parameters  ", "activations  ", "about ",
		"a step ", "at the end  ", "writes      "} {
		if !strings.Contains(o.Log, strings.TrimSpace(words)) {
			t.Errorf("the plan lacks %q: %s", words, o.Log)
		}
	}
	if strings.Contains(o.Log, "disk") {
		t.Errorf("the plan looks for drawn images on the disk: %s", o.Log)
	}
	var plan struct {
		Dir, Config string
		Dataset     struct{ Images int }
		Memory      struct{ Activations, Peak float64 }
		Time        struct {
			Seconds float64
		}
	}
	o = clitest.OK(t, "train", config, "train.epochs=7", "--dry-run", "--json")
	if err := json.Unmarshal([]byte(o.Out), &plan); err != nil || plan.Dataset.Images != 256 ||
		plan.Memory.Activations <= 0 || plan.Memory.Peak <= plan.Memory.Activations ||
		plan.Time.Seconds <= 0 || !strings.Contains(plan.Config, "epochs: 7") || plan.Dir == "" || ui.Exists("runs") {
		t.Errorf("%v: %+v", err, plan)
	}
	for last, earlier := range map[string]string{"seed=2": "seed=1", "losses=[kl, lsbd]": "losses.1.kl.weight=2"} {
		if o := clitest.OK(t, "train", config, earlier, "train.epochs=2", last, "--dry-run"); !strings.Contains(o.Log,
			"note: "+last+" replaces "+earlier+"; want one of them\n") {
			t.Error(o)
		}
	}
	clitest.Mistake(t, clitest.Run(t, "train", config, "supervision=none", "--dry-run"), 2, "loss lsbd")
	clitest.Mistake(t, clitest.Run(t, "train", config, "--run", clitest.Finished(t), "--dry-run"), 1, "already contains a run; continue it with --resume")
	if o := clitest.OK(t, "train", config, "train.batch=100000000", "train.epochs=1", "--dry-run"); !strings.Contains(o.Log,
		"1 epoch of ") || !strings.Contains(o.Log, " of a batch of 192 images") || !strings.Contains(o.Log, "note: train.batch is 100000000, but an epoch has fewer images: the largest batch has 192 images") {
		t.Errorf("the batch is larger than the data set: %v", o.Log)
	}
}

// help is --help, also for commands.
func TestHelpAndVersion(t *testing.T) {
	for _, words := range [][]string{nil, {"train"}, {"data", "show"}} {
		if got, want := clitest.OK(t, append([]string{"help"}, words...)...),
			clitest.OK(t, append(words, "--help")...); got.Out != want.Out || !strings.HasPrefix(got.Out, "Usage: unravel ") {
			t.Errorf("help %s: %v", words, got)
		}
	}
	clitest.Mistake(t, clitest.Run(t, "help", "trian"), 2, "trian")
	var record struct{ Version string }
	must.OK(t, json.Unmarshal(must.Read(t, filepath.Join(clitest.Finished(t), "run.json")), &record))
	if o := clitest.OK(t, "version"); record.Version == "" || !strings.HasPrefix(o.Out, "unravel "+record.Version+"\ngo1.") {
		t.Errorf("run.json has version %q; %v", record.Version, o)
	}
	var version map[string]string
	if clitest.JSON(t, clitest.OK(t, "version", "--json").Out, &version); version["version"] != record.Version ||
		version["mixed"] != map[bool]string{true: "yes", false: "no"}[kernel.Mixed() == nil] {
		t.Errorf("version --json: %v", version)
	}
	lines := strings.Split(clitest.OK(t, "version", "--cpu").Out, "\n")
	clitest.JSON(t, clitest.OK(t, "version", "--json", "--cpu").Out, &version)
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
		clitest.Mistake(t, clitest.Run(t, args...), 2, want)
	}
}

// --find-rate prints a rate that the config accepts. It leaves three files and no run.
func TestFindRateFiles(t *testing.T) {
	long.NotShort(t)
	config := clitest.TinyFile(t)
	t.Chdir(t.TempDir())
	o := clitest.OK(t, "train", config, "--find-rate", "--rate-low", "1e-4", "--rate-high", "0.1", "--rate-steps", "40")
	override := strings.TrimSpace(o.Out)
	if !strings.HasPrefix(override, "train.optimizer.adam.lr=") || !strings.Contains(o.Log, "40 rates from 0.0001 to 0.1;") {
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
	clitest.OK(t, "train", config, override, "--dry-run")
	clitest.Mistake(t, clitest.Run(t, "train", config, "--find-rate", "--dry-run"), 2, "--find-rate trains no run")
	clitest.Mistake(t, clitest.Run(t, "train", config, "--find-rate", "--rate-steps", "3"), 1, "3 steps; want 20 to")
}

// On request, weights of the best evaluation and averaged weights are encoded, measured and exported.
func TestKeptWeights(t *testing.T) {
	long.NotShort(t)
	dir := filepath.Join(t.TempDir(), "run")
	clitest.OK(t, "train", clitest.TinyFile(t), "train.epochs=3", "train.optimizer.adam.lr=0.05", "metrics.every=1",
		"train.keep.best=dlsbd", "train.average={decay: 0.9}", "--run", dir)
	codes := map[string]bool{}
	for _, flags := range [][]string{nil, {"--average"}, {"--best", "--average"}} {
		name := "codes"
		for _, f := range flags {
			name += strings.TrimPrefix(f, "-")
		}
		clitest.OK(t, append([]string{"encode", "--run", dir}, flags...)...)
		codes[string(must.Read(t, filepath.Join(dir, name+".npy")))] = true
		clitest.OK(t, append([]string{"eval", "--run", dir}, flags...)...)
		clitest.OK(t, append([]string{"export", "--run", dir}, flags...)...)
	}
	card := filepath.Join(dir, "card.md")
	clitest.OK(t, "export", "--run", dir, "--best", "--average", "--card", card)
	if text := string(must.Read(t, card)); !strings.Contains(text,
		"| weights | moving average at the best evaluation |\n| training |") || !strings.Contains(text, "by the last weights") {
		t.Errorf("the card does not tell the weights: %s", text)
	}
	if len(codes) < 2 || !ui.Exists(filepath.Join(dir, "weights-best-average.safetensors")) {
		t.Errorf("%d kinds of codes", len(codes))
	}
	plain := filepath.Join(t.TempDir(), "plain")
	clitest.OK(t, "train", clitest.TinyFile(t), "train.epochs=1", "--run", plain)
	clitest.Mistake(t, clitest.Run(t, "encode", "--run", plain, "--best"), 1, "there is no best.safetensors; want a run with train.keep.best")
	clitest.Mistake(t, clitest.Run(t, "eval", "--run", plain, "--average"), 1, "want a run with train.average")
	clitest.Mistake(t, clitest.Run(t, "eval", "--codes", "z.npy", "--factors", "f.npy", "--average"), 2, "want --run DIR")
}

// A failed run records its error in its folder until it continues, like in sweeps. The message gives the choices for
// the folder. The run resumes to the same bits.
func TestFailedRun(t *testing.T) {
	long.NotShort(t)
	config, runs := clitest.TinyFile(t), t.TempDir()
	dir := filepath.Join(runs, "run")
	explode := []string{"train", config, "train.schedule={step: {every: 2, factor: 1e36}}", "--run", dir}
	failed := func(args []string, words ...string) {
		t.Helper()
		o := clitest.Run(t, args...)
		o.Log = o.Log[max(0, strings.Index(o.Log, "unravel: ")):]
		clitest.Mistake(t, o, 1, append(words, "step 18 (epoch 3)", "try a smaller learning rate",
			"choose another folder with --run, or remove "+dir)...)
		if o := clitest.OK(t, "runs", runs, "--filter", "state=failed", "--csv"); !strings.Contains(o.Out, "\nrun,failed,\"step 18 (epoch 3)") {
			t.Errorf("no failed run: %v", o)
		}
	}
	clitest.OK(t, append(explode, "train.epochs=2")...)
	failed(append(explode, "--resume"), "--resume continues with the same settings from its last checkpoint")
	failed(explode, dir+": the folder already contains a run, which failed: ")
	failed(append(explode, "--resume"))
	if o := clitest.OK(t, append(explode, "--resume", "train.epochs=2")...); !strings.Contains(o.Log, "continuing after step 16 (2 epochs)") {
		t.Error(o)
	}
	if o := clitest.OK(t, "runs", runs, "--csv"); !strings.Contains(o.Out, "\nrun,finished,,") {
		t.Errorf("the failure stays: %v", o)
	}
	clitest.Mistake(t, clitest.Run(t, explode...), 1, "continue it with --resume")
	never := filepath.Join(runs, "never")
	if o := clitest.Run(t, "train", config, "train.optimizer.adam.lr=1e30", "--run", never); o.Code != 1 ||
		!strings.Contains(o.Log, "from the beginning, because it has no checkpoint") {
		t.Error(o)
	}

	good, again := filepath.Join(t.TempDir(), "good"), filepath.Join(t.TempDir(), "again")
	for _, dir := range []string{good, again} {
		clitest.OK(t, "train", config, "--run", dir, "train.epochs=2")
	}
	must.OK(t, rundir.RecordFailure(again, errors.New("the disk was full"), time.Now()))
	for _, dir := range []string{good, again} {
		clitest.OK(t, "train", config, "--run", dir, "--resume")
	}
	clitest.SameRun(t, "resumed after a failure", again, good)
}
