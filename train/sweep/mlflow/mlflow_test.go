package mlflow

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep/index"
)

const tiny = `
name: tiny
dataset: {square: {size: 16, side: 4}}
supervision: {pairs: {count: 32}}
model: {lsbd-vae: {encoder: {mlp: {hidden: [4]}}, latent: [{sphere: {dim: 1}}, {sphere: {dim: 1}}]}}
losses: [reconstruction, kl, lsbd]
train: {epochs: 3, epoch_steps: 2, batch: 32, figures: false}
metrics: {final: [dlsbd, variance], every: 1}
`

func load(t *testing.T, overrides ...string) train.Config {
	t.Helper()
	c, err := train.Load("tiny.yaml", []byte(tiny), overrides...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// trained trains tiny in a folder.
func trained(t *testing.T, dir string, overrides ...string) {
	t.Helper()
	if _, err := train.Run(context.Background(), load(t, overrides...), train.Options{Dir: dir, Resume: true}); err != nil {
		t.Fatal(err)
	}
}

// begun makes a run's folder with a config.
func begun(t *testing.T, dir string, overrides ...string) *rundir.Run {
	t.Helper()
	text, err := load(t, overrides...).Encode()
	if err != nil {
		t.Fatal(err)
	}
	r, err := rundir.Create(dir)
	if err == nil {
		err = r.Write(rundir.Config, rundir.Bytes(text))
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// written writes the runs of a folder to a store.
func written(t *testing.T, store, dir string, o Options) Summary {
	t.Helper()
	sum, err := write(t, store, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func write(t *testing.T, store, dir string, o Options) (Summary, error) {
	t.Helper()
	x, err := index.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	runs, err := x.Runs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return Write(t.Context(), store, dir, runs, o)
}

func TestWrite(t *testing.T) {
	dir, store := filepath.Join(t.TempDir(), "runs"), filepath.Join(t.TempDir(), "sub", "store")
	trained(t, filepath.Join(dir, "one"), "seed=1")
	trained(t, filepath.Join(dir, "sweep", "two"), "seed=2")
	held := begun(t, filepath.Join(dir, "sweep", "held"), "seed=3")
	defer held.Close()
	if err := begun(t, filepath.Join(dir, "sweep", "waiting"), "seed=4").Close(); err != nil {
		t.Fatal(err)
	}
	stopped := begun(t, filepath.Join(dir, "stopped"), "seed=5")
	if err := os.WriteFile(stopped.Path(rundir.LogFile), []byte(`{"step":1,"epoch":1,"seconds":2,"losses":{"o":{"loss":1}}}`+"\n{\"st"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := stopped.Close(); err != nil {
		t.Fatal(err)
	}
	failed := begun(t, filepath.Join(dir, "failed"), "seed=6")
	if err := failed.Close(); err != nil {
		t.Fatal(err)
	}
	if err := rundir.RecordFailure(failed.Dir(), fmt.Errorf("too hot"), time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "damaged"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "damaged", rundir.Config), []byte("x: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	sum := written(t, store, dir, Options{})
	if sum.Runs != 6 || sum.Changed != 6 || sum.Experiments != 2 || len(sum.Notes) != 1 || !strings.Contains(sum.Notes[0], "1 damaged") {
		t.Errorf("%+v", sum)
	}
	experiments, runs := readStore(t, store)
	if len(experiments) != 3 || len(runs) != 6 || experiments["0"] != "Default" {
		t.Fatalf("%v, %v", experiments, runs)
	}
	for name, status := range map[string]int{"runs/one": statusFinished, "runs/sweep/two": statusFinished, "runs/sweep/held": statusRunning,
		"runs/sweep/waiting": statusScheduled, "runs/stopped": statusKilled, "runs/failed": statusFailed} {
		r := runs[name]
		if r == nil || r.status != status || (r.ended == 0) != (status < statusFinished) || r.ended != 0 && r.ended < r.begun-1000 || r.begun == 0 {
			t.Errorf("%s: %+v, want status %d", name, r, status)
		}
	}
	one := runs["runs/one"]
	for key, want := range map[string]string{"seed": "1", "model": "lsbd-vae", "losses": "reconstruction+kl+lsbd", "train.batch": "32", "train.figures": "false"} {
		if one.params[key] != want {
			t.Errorf("parameter %s is %q, want %q", key, one.params[key], want)
		}
	}
	for _, name := range []string{"supervised/lsbd", "supervised/loss", "metrics/dlsbd"} {
		p := one.metrics[name]
		if len(p) != 3 || p[0].step != 2 || p[2].step != 6 || p[0].ms < one.begun || p[1].ms < p[0].ms || p[2].ms > one.ended+1000 {
			t.Errorf("%s: %v", name, p)
		}
	}
	var log []rundir.Line
	view, err := rundir.View(filepath.Join(dir, "one"))
	if err != nil {
		t.Fatal(err)
	}
	if err := view.ReadLog(func(l rundir.Line) { log = append(log, l) }); err != nil {
		t.Fatal(err)
	}
	if got, want := one.metrics["supervised/lsbd"][0].value, log[0].Losses["supervised"]["lsbd"]; got != want {
		t.Errorf("lsbd after the first epoch is %v, want %v", got, want)
	}
	if p := one.metrics["fit/reconstruction"]; len(p) != 1 || p[0].step != 6 {
		t.Errorf("the fit is %v", p)
	}
	if runs["runs/failed"].tags["unravel.problem"] != "too hot" || one.tags["mlflow.source.type"] != "LOCAL" {
		t.Errorf("tags %v", one.tags)
	}
	if got := runs["runs/stopped"].metrics["o/loss"]; len(got) != 1 || got[0].ms != runs["runs/stopped"].begun+2000 {
		t.Errorf("without TensorBoard's file: %v", got)
	}
	config, err := os.ReadFile(filepath.Join(one.artifacts, rundir.Config))
	want, err2 := os.ReadFile(filepath.Join(dir, "one", rundir.Config))
	if err != nil || err2 != nil || string(config) != string(want) {
		t.Errorf("config %s, %v, %v", config, err, err2)
	}
	if _, err := os.Stat(filepath.Join(one.artifacts, rundir.CheckpointFile)); err != nil {
		t.Error(err)
	}
}

// A second call changes nothing but what has changed, and leaves alone what MLflow's users did.
func TestWriteAgain(t *testing.T) {
	base, store := t.TempDir(), t.TempDir()
	dir := filepath.Join(base, "runs")
	trained(t, filepath.Join(dir, "one"), "seed=1")
	trained(t, filepath.Join(dir, "two"), "seed=2")
	written(t, store, dir, Options{})
	before := snapshot(t, store)
	if sum := written(t, store, dir, Options{}); sum.Runs != 2 || sum.Changed != 0 {
		t.Errorf("%+v", sum)
	}
	if after := snapshot(t, store); !reflect.DeepEqual(after, before) {
		t.Errorf("the store changed:\n%v\n%v", before, after)
	}
	_, runs := readStore(t, store)
	one, two := runs["runs/one"], runs["runs/two"]
	at := filepath.Join(store, one.experiment, one.id)
	for name, text := range map[string]string{"tags/mlflow.runName": "best", "tags/mlflow.note.content": "look", "params/old": "gone", "metrics/gone": "1 2 3\n"} {
		if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	replaceIn(t, filepath.Join(at, metaFile), `run_name: "one"`, `run_name: best`)
	replaceIn(t, filepath.Join(store, two.experiment, two.id, metaFile), `lifecycle_stage: "active"`, "lifecycle_stage: deleted\ndeleted_time: 12")
	trained(t, filepath.Join(dir, "one"), "seed=1", "train.epochs=4")
	trained(t, filepath.Join(dir, "two"), "seed=2", "train.epochs=4")
	if sum := written(t, store, dir, Options{}); sum.Changed != 2 {
		t.Errorf("%+v", sum)
	}
	_, runs = readStore(t, store)
	again := runs["runs/best"]
	if again == nil || again.id != one.id || again.begun != one.begun || again.tags["mlflow.note.content"] != "look" || again.params["train.epochs"] != "4" ||
		again.params["old"] != "" || again.metrics["gone"] != nil || len(again.metrics["metrics/dlsbd"]) != 4 {
		t.Errorf("%+v", again)
	}
	if r := runs["runs/two"]; !r.deleted || r.id != two.id || len(r.metrics["metrics/dlsbd"]) != 4 {
		t.Errorf("a deleted run: %+v", r)
	}
	if err := os.Rename(filepath.Join(store, one.experiment), filepath.Join(store, trash, one.experiment)); err != nil {
		t.Fatal(err)
	}
	if sum := written(t, store, dir, Options{}); sum.Changed != 0 || len(sum.Notes) != 1 || !strings.Contains(sum.Notes[0], "was deleted in MLflow") {
		t.Errorf("a deleted experiment: %+v", sum)
	}
}

func replaceIn(t *testing.T, path, old, new string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), old) {
		t.Fatalf("%s: %v: %s", path, err, text)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), old, new, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// snapshot lists the files of a folder with their contents and times.
func snapshot(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() || filepath.Base(path) == ".lock" {
			return err
		}
		text, err := os.ReadFile(path)
		list = append(list, fmt.Sprintln(path, info.ModTime(), string(text)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Copies replace links and the other way round; weights are linked only.
func TestCopy(t *testing.T) {
	dir, store := filepath.Join(t.TempDir(), "runs"), t.TempDir()
	trained(t, filepath.Join(dir, "one"), "train.figures=true")
	for _, o := range []Options{{}, {Copy: true}, {}} {
		if sum := written(t, store, dir, o); sum.Changed != 1 {
			t.Errorf("%+v: %+v", o, sum)
		}
		_, runs := readStore(t, store)
		for name, linked := range map[string]bool{"config.yaml": true, "report.html": true, "figures/losses.png": true, rundir.CheckpointFile: false} {
			info, err := os.Lstat(filepath.Join(runs["runs/one"].artifacts, name))
			switch {
			case o.Copy && !linked:
				if err == nil {
					t.Errorf("%s is copied", name)
				}
			case err != nil || info.Mode().IsRegular() != o.Copy:
				t.Errorf("copies %t: %s: %v, %v", o.Copy, name, info, err)
			}
		}
		if _, err := os.Lstat(filepath.Join(runs["runs/one"].artifacts, ".lock")); err == nil {
			t.Error("a hidden file is an artifact")
		}
	}
}

// Names and values that MLflow forbids are mapped, and folders with the same name are different experiments.
func TestHostile(t *testing.T) {
	base, store := t.TempDir(), t.TempDir()
	dir, other := filepath.Join(base, "a", "runs"), filepath.Join(base, "b", "runs")
	name := "x\"\n[é\u0085] %41#?"
	long := strings.Repeat("é", 7000)
	trained(t, filepath.Join(dir, name), "train.epochs=1")
	trained(t, filepath.Join(other, name), "train.epochs=1")
	run := func(from string) *index.Run {
		return &index.Run{Dir: name, State: "finished", Settings: index.NewSettings(map[string]string{"a:b": "1", "a_b": "2", "a/../b": "3", "..": "4", "A_B": "5", "": "6",
			long: "7", long + "x": "8", "long": long, "bad": "\xff\x00", "f.g": "", "end.": "9", "日本": "10"}),
			Results: index.NewResults(map[string]float64{"m(1)": 1, "m[1]": 2, "../x": 3, "fit.": 4, "fit.a/b": 5}), Problem: from}
	}
	for _, from := range []string{dir, other} {
		if _, err := Write(t.Context(), store, from, []*index.Run{run(from)}, Options{}); err != nil {
			t.Fatal(err)
		}
	}
	experiments, runs := readStore(t, store)
	r := runs["runs/"+name]
	if len(experiments) != 3 || len(runs) != 2 || r == nil {
		t.Fatalf("%q, %v", experiments, runs)
	}
	for key, want := range map[string]string{"A_B": "5", "a_.._b": "3", "_.._": "4", "_": "6", "long": long[:2*5999] + "…", "bad": "\ufffd\x00", "f.g": "", "end._": "9", "日本": "10"} {
		if got, ok := r.params[key]; !ok || got != want {
			t.Errorf("%q is %.20q, want %.20q", key, got, want)
		}
	}
	if len(r.params) != run(dir).Settings.Len() {
		t.Errorf("%d parameters, want %d", len(r.params), run(dir).Settings.Len())
	}
	var values []float64
	for name, p := range r.metrics {
		if strings.HasPrefix(name, "metrics/m_1_") || strings.HasPrefix(name, "fit/") || name == "metrics/_.._x" {
			values = append(values, p[0].value)
		}
	}
	if slices.Sort(values); !reflect.DeepEqual(values, []float64{1, 2, 3, 4, 5}) {
		t.Errorf("metrics %v in %v", values, r.metrics)
	}
	if note := r.tags[noteTag]; !strings.Contains(note, "long") || !strings.Contains(note, "6000") {
		t.Errorf("note %q", note)
	}
}

// A store is refused where it would do harm.
func TestRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs")
	trained(t, filepath.Join(dir, "one"), "train.epochs=1")
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "thesis.tex"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for store, want := range map[string]string{dir: "in the folder of runs", filepath.Join(dir, "store"): "in the folder of runs",
		full: "holds other files, such as thesis.tex", filepath.Join(full, "thesis.tex"): "thesis.tex"} {
		if _, err := write(t, store, dir, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", store, err, want)
		}
	}
	if _, err := write(t, filepath.Join(dir, ".store"), dir, Options{}); err != nil {
		t.Errorf("a hidden folder: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Write(ctx, filepath.Join(dir, ".store"), dir, []*index.Run{{Dir: "one"}}, Options{}); err == nil {
		t.Error("a cancelled context: no error")
	}
}
