package train

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train/rundir"
)

// measuredIn returns the results of a metric during training, by epoch.
func measuredIn(t *testing.T, dir, metric string) (values []float64) {
	t.Helper()
	run := must.Get(rundir.View(dir))(t)
	must.OK(t, run.ReadLog(func(l rundir.Line) {
		if v, ok := l.Metrics[metric]; ok {
			values = append(values, v)
		}
	}))
	return values
}

// The checkpoint of the best evaluation is kept and opens. The metric's direction decides which evaluation is best.
func TestKeepBest(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	c := load(t, "train.epochs=8", "train.optimizer.adam.lr=0.05",
		"metrics={final: [mig, {mig: {bins: 3}}, dlsbd], every: 1}", "train.keep.best=mig-2")
	for _, metric := range []string{"mig-2", "dlsbd"} {
		c.Train.Keep.Best = metric
		at := filepath.Join(dir, metric)
		r := trainIn(t, at, c, false)
		values := measuredIn(t, at, metric)
		if len(values) != 8 {
			t.Fatalf("%d evaluations", len(values))
		}
		want := slices.Index(values, slices.Max(values)) + 1
		if metric == "dlsbd" {
			want = slices.Index(values, slices.Min(values)) + 1
		}
		if want == 8 {
			t.Fatalf("%s: the last evaluation is the best: %v", metric, values)
		}
		if r.Best == nil || *r.Best != (Best{metric, values[want-1], want, want * tinySteps}) {
			t.Fatalf("%s: kept %+v, want epoch %d of %v", metric, r.Best, want, values)
		}
		e, _, err := OpenKept(at, Weights{Best: true})
		must.OK(t, err)
		must.Equal(t, resultOf(t, e, metric), r.Best.Value, "the kept checkpoint has a", metric)
	}
}

// resultOf measures an experiment with its final metrics.
func resultOf(t *testing.T, e *Experiment, name string) float64 {
	t.Helper()
	codes := must.Get(e.Codes(context.Background()))(t)
	results := must.Get(e.Evaluate(context.Background(), codes, e.Final()))(t)
	i := slices.IndexFunc(results, func(r metrics.Result) bool { return r.Name == name })
	return results[i].Value
}

// A run killed anywhere and continued has the best checkpoint of an uninterrupted run, also with early stopping.
func TestKeepBestKilled(t *testing.T) {
	long.NotShort(t)
	c := load(t, "train.epochs=6", "train.optimizer.adam.lr=0.05", "metrics={final: [dlsbd], every: 1}", "train.keep.best=dlsbd",
		"train.stop={metric: dlsbd, patience: 2}", "train.checkpoint=1e-9")
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole")
	var killed []string
	every := 16
	if long.Enabled() {
		every = 5
	}
	if _, err := Run(looks{context.Background(), everyOther(every, func() error {
		at := filepath.Join(dir, fmt.Sprint(len(killed)))
		killed = append(killed, at)
		return os.CopyFS(at, os.DirFS(whole))
	})}, c, Options{Dir: whole}); err != nil {
		t.Fatal(err)
	}
	best := func(dir string) string {
		f, s, err := readOne(filepath.Join(dir, rundir.BestFile))
		must.OK(t, err)
		text := fmt.Sprintf("%+v %+v %d", *s.Best, s.Watch, s.Step)
		for _, x := range f.Tensors {
			text += x.Name + floatBits(x)
		}
		return text
	}
	want := best(whole)
	for _, at := range killed {
		trainIn(t, at, c, true)
		must.Equal(t, best(at), want, at, "another best checkpoint")
	}
}

// A run measures the averages that it stores.
func TestAverageMeasured(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	c := load(t, "train.optimizer.adam.lr=0.05", "train.average={decay: 0.8}")
	r := trainIn(t, dir, c, false)
	if len(r.Metrics) != 2 || r.Metrics[1].Name != "dlsbd-average" || r.Metrics[0].Value == r.Metrics[1].Value {
		t.Fatalf("%+v", r.Metrics)
	}
	for _, average := range []bool{false, true} {
		e, _, err := OpenKept(dir, Weights{Average: average})
		must.OK(t, err)
		want := r.Metrics[0].Value
		if average {
			want = r.Metrics[1].Value
		}
		must.Equal(t, resultOf(t, e, "dlsbd"), want, "average", average)
	}
	again := trainIn(t, dir, c, true) // a finished run, measured again
	if !reflect.DeepEqual(again.Metrics, r.Metrics) || len(measuredIn(t, dir, "dlsbd-average")) != 1 {
		t.Errorf("measured again: %v, want %v", again.Metrics, r.Metrics)
	}
	plain := filepath.Join(t.TempDir(), "plain")
	trainIn(t, plain, load(t), false)
	for _, w := range []Weights{{Average: true}, {Best: true}} {
		want := "want a run with train."
		if _, _, err := OpenKept(plain, w); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", w, err, want)
		}
	}
}

// The config sets the number of checkpoints to keep. A run continues from the newest undamaged one.
func TestKeepLast(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	c := load(t, "train.keep.last=4", "train.checkpoint=1e-9")
	trainIn(t, dir, c, false)
	want := bits(t, dir)
	files := func() (list []string) {
		for i := range 6 {
			name := rundir.Version(rundir.CheckpointFile, i)
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				list = append(list, strings.TrimPrefix(name, rundir.CheckpointFile))
			}
		}
		return list
	}
	if got := fmt.Sprint(files()); got != "[ .prev .prev2 .prev3]" {
		t.Fatal(got)
	}
	steps := []int{}
	for i := range 4 {
		_, s, err := readOne(filepath.Join(dir, rundir.Version(rundir.CheckpointFile, i)))
		must.OK(t, err)
		steps = append(steps, s.Step)
	}
	if fmt.Sprint(steps) != "[24 24 24 23]" && runtime.GOOS != "windows" { // last step, last epoch and end; Windows has a coarse clock
		t.Errorf("checkpoints of steps %v", steps)
	}
	for i := range 3 {
		must.Write(t, filepath.Join(dir, rundir.Version(rundir.CheckpointFile, i)), "damaged")
	}
	if _, warning, err := OpenExperiment(dir); err != nil || !strings.Contains(warning, fmt.Sprint("using the checkpoint before it, of step ", steps[3])) {
		t.Errorf("%q, %v", warning, err)
	}
	c.Train.Keep.Last = 1
	trainIn(t, dir, c, true)
	sameBits(t, "continued", bits(t, dir), want)
	if len(files()) != 1 {
		t.Errorf("kept %q, want the newest alone", files())
	}
}

// Keeping checkpoints does not change the computation, but the best checkpoint is a result.
func TestKeepHash(t *testing.T) {
	hash := func(overrides ...string) string {
		return must.Get(load(t, overrides...).Hash())(t)
	}
	plain := hash()
	for override, same := range map[string]bool{"train.keep.last=5": true, "train.accumulate=2": false, "train.average={}": false,
		"train.warmup={steps: 5}": false, "train.parts=[{match: '*', lr: 1}]": false} {
		must.Equal(t, hash(override) == plain, same, override, "the same hash")
	}
	if hash("metrics.every=1") == hash("metrics.every=1", "train.keep.best=dlsbd") {
		t.Error("a run without a best checkpoint counts as one with it")
	}
	a := load(t, "metrics.every=1")
	if err := a.sameTraining(load(t, "metrics.every=1", "train.keep={best: dlsbd, last: 7}")); err != nil {
		t.Error(err)
	}
	for _, override := range []string{"train.average={}", "train.accumulate=2", "train.parts=[{match: '*', lr: 1}]"} {
		if a.sameTraining(load(t, "metrics.every=1", override)) == nil {
			t.Errorf("%s: the same training", override)
		}
	}
}

func TestKeepMistakes(t *testing.T) {
	for override, want := range map[string]string{
		"train.keep.last=0":               "train.keep.last: 0 is out of range; want 1 to 1000",
		"train.keep.best=dlsbd":           "metrics.every: train.keep watches a metric",
		"train.average={decay: 1}":        "train.average.decay: 1 is out of range; want 0 <= decay < 1",
		"train.average={from: {step: 1}}": `train.average.from.step: unknown key "step"`,
	} {
		if _, err := Load("tiny.yaml", []byte(tiny), override); err == nil || !strings.Contains(err.Error(), want) {
			c, _ := Load("tiny.yaml", []byte(tiny), override)
			must.Error(t, c.Validate(), want, override)
		}
	}
	must.ErrorOf(Load("tiny.yaml", []byte(tiny), "metrics.every=1", "train.keep.best=med"))(t, `train.keep.best: "med" is not among`)
}
