package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// A run for which no folder is named has one for its settings: that of the same ones, and of no others.
func TestDefaultFolder(t *testing.T) {
	config := tinyFile(t)
	t.Chdir(t.TempDir())
	train := func(overrides ...string) []string {
		return append([]string{"train", config, "train.epochs=0"}, overrides...)
	}
	for i, overrides := range [][]string{nil, {"seed=2"}, {"train.batch=16", "seed=2"}, {"losses.1.kl.weight=4"}, {"losses.2.lsbd.weight=4"},
		{"train.optimizer={adam: {lr: 0.1}}"}, {"losses=[kl, lsbd]"}, {"losses=[kl,lsbd]", "seed=2"}} {
		want := filepath.Join("runs", []string{"tiny_epochs0", "tiny_epochs0_seed2", "tiny_epochs0_batch16_seed2", "tiny_epochs0_weight4", "tiny_epochs0_weight4-2",
			"tiny_epochs0_optimizer-adam-lr-0.1", "tiny_epochs0_losses-kl-lsbd", "tiny_epochs0_losses-kl-lsbd_seed2"}[i])
		if o := succeed(t, train(overrides...)...); !strings.Contains(o.log, "see "+want+"\n") {
			t.Errorf("%q: want %s; %v", overrides, want, o)
		}
		checkMistake(t, call(t, train(append(overrides, "train.threads=1")...)...), 1, want+": ", "continue it with --resume, or choose another folder with --run")
		if o := succeed(t, train(append(overrides, "--resume")...)...); !strings.Contains(o.log, "see "+want+"\n") || strings.Contains(o.log, "to continue") {
			t.Errorf("%q --resume: want %s; %v", overrides, want, o)
		}
	}
	if o := succeed(t, train("seed=5", "--resume")...); !strings.Contains(o.log, "there is no run runs/tiny_epochs0_seed5 to continue: it begins; --run continues another one\n") {
		t.Errorf("a new run with --resume: %v", o)
	}
}

// --dry-run prints the config with all defaults, which trains the same run, and writes nothing.
func TestTrainDryRun(t *testing.T) {
	config := tinyFile(t)
	t.Chdir(t.TempDir())
	o := succeed(t, "train", config, "train.epochs=7", "--dry-run")
	if !strings.Contains(o.out, "  epochs: 7\n") || !strings.Contains(o.out, "  clip: 0.0\n") || o.log != "tiny would train in "+filepath.Join("runs", "tiny_epochs7")+"\n" || exists("runs") {
		t.Error(o)
	}
	writeFile(t, "resolved.yaml", []byte(o.out))
	if again := succeed(t, "train", "resolved.yaml", "--dry-run"); again.out != o.out {
		t.Errorf("its own output gives %s", again.out)
	}
	checkMistake(t, call(t, "train", config, "supervision=none", "--dry-run"), 2, "loss lsbd")
}

// help is --help, of a command too.
func TestHelpAndVersion(t *testing.T) {
	for _, words := range [][]string{nil, {"train"}, {"data", "show"}} {
		if got, want := succeed(t, append([]string{"help"}, words...)...), succeed(t, append(words, "--help")...); got.out != want.out || !strings.HasPrefix(got.out, "Usage: unravel ") {
			t.Errorf("help %s: %v", words, got)
		}
	}
	checkMistake(t, call(t, "help", "trian"), 2, "trian")
	var record struct{ Version string }
	if err := json.Unmarshal(readFile(t, filepath.Join(finished(t), "run.json")), &record); err != nil {
		t.Fatal(err)
	}
	if o := succeed(t, "version"); record.Version == "" || !strings.HasPrefix(o.out, "unravel "+record.Version+"\ngo1.") {
		t.Errorf("run.json has version %q; %v", record.Version, o)
	}
	var version map[string]string
	if decodeOne(t, succeed(t, "version", "--json").out, &version); version["version"] != record.Version {
		t.Errorf("version --json: %v", version)
	}
}

// Flags that are settings of the config say so.
func TestFlagsOfSettings(t *testing.T) {
	for want, args := range map[string][]string{
		"unknown flag --epochs; settings of the config have no dashes: train.epochs=1":    {"train", "--epochs", "1"},
		"unknown flag --batch; settings of the config have no dashes: train.batch=8":      {"train", "quickstart", "--batch=8"},
		"unknown flag --hold-out; settings of the config have no dashes: train.hold_out=": {"train", "--hold-out"},
		"unknown flag --device; Unravel computes on the CPU only":                         {"train", "--device", "cuda"},
		"unknown flag --epochs\nSee": {"eval", "--epochs"},
	} {
		checkMistake(t, call(t, args...), 2, want)
	}
}
