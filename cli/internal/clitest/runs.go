package clitest

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/safetensors"
)

// Tiny is an experiment of a few milliseconds: 16x16 pixels, 8 steps per epoch.
const Tiny = `name: tiny
seed: 1
dataset: {square: {size: 16, side: 4}}
supervision: {pairs: {count: 32}}
model:
  lsbd-vae:
    encoder: {mlp: {hidden: [16]}}
    latent:
      - sphere: {dim: 1, log_t: [-10, -9]}
      - sphere: {dim: 1, log_t: [-10, -9]}
losses:
  - reconstruction: {likelihood: gaussian}
  - kl: {}
  - lsbd: {weight: 100}
train: {epochs: 3, batch: 32, figures: false}
metrics: [dlsbd]
`

// TinyFile writes the tiny experiment to a file.
func TinyFile(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tiny.yaml")
	must.Write(t, path, Tiny)
	return path
}

// Finished returns a run of the tiny experiment, from two sessions of 2 and 1 epochs with a checkpoint each. It trains
// once, and every test gets a copy.
func Finished(t testing.TB) string {
	t.Helper()
	finishedOnce.Do(func() {
		dir := must.Get(os.MkdirTemp("", "unravel"))(t)
		config := filepath.Join(dir, "tiny.yaml")
		must.Write(t, config, Tiny)
		finishedDir = filepath.Join(dir, "run")
		OK(t, "train", config, "train.epochs=2", "--run", finishedDir)
		OK(t, "train", config, "--resume", "--run", finishedDir)
	})
	dir := filepath.Join(t.TempDir(), "run")
	must.OK(t, os.CopyFS(dir, os.DirFS(finishedDir)))
	return dir
}

var (
	finishedOnce sync.Once
	finishedDir  string
)

// removeFinished removes the run that Finished copies.
func removeFinished() {
	if finishedDir != "" {
		_ = os.RemoveAll(filepath.Dir(finishedDir)) // remaining files are harmless
	}
}

// Tensors returns the parameters and optimiser states of a run, bit for bit.
func Tensors(t testing.TB, dir string) map[string]string {
	t.Helper()
	f := must.Get(safetensors.ReadFile(filepath.Join(dir, "checkpoint.safetensors")))(t)
	all := map[string]string{}
	for _, x := range f.Tensors {
		one := must.Get(safetensors.Encode(&safetensors.File{Tensors: []safetensors.Tensor{x}}))(t)
		all[x.Name] = string(one)
	}
	if len(all) < 10 {
		t.Fatalf("%s: a checkpoint of %d tensors", dir, len(all))
	}
	return all
}

// SameRun wants two runs with equal ends: parameters, optimisers, logs, codes and metrics.
func SameRun(t testing.TB, what, got, want string) {
	t.Helper()
	had, wanted := Tensors(t, got), Tensors(t, want)
	must.Equal(t, len(had), len(wanted), what, "tensors")
	for name := range wanted {
		if had[name] != wanted[name] {
			t.Errorf("%s: tensor %s differs", what, name)
		}
	}
	for _, name := range []string{"codes.npy", "factors.npy", "metrics.json"} {
		if !bytes.Equal(must.Read(t, filepath.Join(got, name)), must.Read(t, filepath.Join(want, name))) {
			t.Errorf("%s: %s differs", what, name)
		}
	}
	a, b := strings.Lines(LogOf(t, got)), strings.Lines(LogOf(t, want))
	if x, y := slices.Collect(a), slices.Collect(b); !slices.Equal(x, y) {
		i := 0
		for i < min(len(x), len(y)) && x[i] == y[i] {
			i++
		}
		t.Errorf("%s: the log has %d lines, want %d; from line %d on it is\n%s\nwant\n%s", what, len(x), len(y), i+1,
			strings.Join(x[i:min(i+3, len(x))], ""), strings.Join(y[i:min(i+3, len(y))], ""))
	}
}

var secondsInLog = regexp.MustCompile(`"seconds":[^,]*,`)

// LogOf returns a run's log without times.
func LogOf(t testing.TB, dir string) string {
	t.Helper()
	return secondsInLog.ReplaceAllString(string(must.Read(t, filepath.Join(dir, "log.jsonl"))), "")
}

// SweepExperiment is the experiment of WriteSweep: 8x8 pixels, 2 epochs.
const SweepExperiment = `
name: tiny
dataset: {square: {size: 8, side: 2}}
model: {vae: {latent: 2, encoder: {mlp: {hidden: [4]}}}}
losses: [{reconstruction: {}}, {kl: {weight: 1}}]
train: {epochs: 2, batch: 32, figures: false}
metrics: [dlsbd]
`

// WriteSweep writes a sweep with its experiment. Its processes run the test binary as the program.
func WriteSweep(t *testing.T, text string) (file, dir string) {
	t.Helper()
	t.Setenv(AsProgram, "1")
	folder := t.TempDir()
	must.Write(t, filepath.Join(folder, "tiny.yaml"), SweepExperiment)
	file = filepath.Join(folder, "s.yaml")
	must.Write(t, file, "base: tiny.yaml\n"+text)
	return file, filepath.Join(folder, "runs")
}

// LearnedExperiment learns a hierarchy in a stage before training.
const LearnedExperiment = `dataset: {chopsticks: {variant: slope, depth: 1, samples: 600}}
model: {cofhae: {encoder: {mlp: {hidden: [16]}}, hierarchy: mimosa, mimosa: {initial_dim: 3, min_merged: 20, min_initial: 5}}}
losses: [{reconstruction: {likelihood: gaussian}}, assignment]
train: {epochs: 2, batch: 64, figures: false}
metrics: []
`
