package train

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/safetensors"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/internal/checkpoint"
	"github.com/unravel-ml/unravel/train/rundir"
)

const historical = `
name: historical
dataset: {square: {size: 8, side: 2}}
model: {vae: {latent: 2, encoder: {mlp: {hidden: [4]}}}}
losses: [{reconstruction: {}}, {kl: {weight: 1}}]
train: {epochs: 4, batch: 32, figures: false}
metrics: {final: [mse], during: [mse], every: 1}
`

func loadHistorical(t testing.TB, overrides ...string) Config {
	t.Helper()
	return must.Get(Load("x.yaml", []byte(historical), overrides...))(t)
}

// rewriteState changes the state in a checkpoint, like a manual edit.
func rewriteState(t testing.TB, dir string, change func(s *checkpoint.State)) {
	t.Helper()
	path := filepath.Join(dir, rundir.CheckpointFile)
	f, s, err := readOne(path)
	must.OK(t, err)
	change(s)
	text := must.Get(json.Marshal(s))(t)
	f.Metadata[checkpoint.StateKey] = string(text)
	out := must.Get(os.Create(path))(t)
	must.OK(t, errors.Join(safetensors.Write(out, f), out.Close()))
}

// editConfig replaces the config of a folder, like a manual edit.
func editConfig(t testing.TB, dir string, c Config) {
	t.Helper()
	text, err := c.Encode()
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, rundir.Config), text, 0o666)
	}
	must.OK(t, err)
}

// A run does not resume with a config other than its checkpoint's, whether or not the folder's config shows the change.
func TestResumeOtherConfig(t *testing.T) {
	long.NotShort(t)
	finished, half := filepath.Join(t.TempDir(), "finished"), filepath.Join(t.TempDir(), "half")
	trainIn(t, finished, loadHistorical(t), false)
	stopAt(t, half, loadHistorical(t), 3)
	for o, want := range map[string]string{
		"train.optimizer.adam.lr=0.3": "train.optimizer.adam.lr: the run began with 0.001, now 0.3",
		"seed=1":                      "seed: the run began with 0, now 1",
		"train.precision=mixed":       "train.precision: the run began with float32, now mixed",
		"dataset.square.side=3":       "dataset.square.side: the run began with 2, now 3",
		"losses=[reconstruction]":     "losses: the run began with [",
		"losses.1.kl.weight=2":        "losses.1.kl.weight: the run began with 1",
		"train.batch=16":              "train.batch: the run began with 32, now 16",
		"train.clip=1":                "train.clip: the run began with 0.0, now 1.0",
		"train.epochs=1":              "train.epochs: 1: the run has trained",
		"freeze=[encoder/*]":          "freeze",
	} {
		for _, from := range []string{finished, half} {
			for _, edited := range []bool{false, true} {
				dir, c := filepath.Join(t.TempDir(), "run"), loadHistorical(t, o)
				must.OK(t, os.CopyFS(dir, os.DirFS(from)))
				if edited {
					editConfig(t, dir, c)
				}
				before := must.Read(t, filepath.Join(dir, rundir.CheckpointFile))
				if _, err := Run(context.Background(), c, Options{Dir: dir, Resume: true}); err == nil ||
					!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "another folder") {
					t.Errorf("%s, edited %v: %v, want %q", o, edited, err, want)
				}
				if after, err := os.ReadFile(filepath.Join(dir, rundir.CheckpointFile)); err != nil || string(after) != string(before) {
					t.Errorf("%s: the checkpoint has changed: %v", o, err)
				}
			}
		}
	}
}

// stopAt trains a new run for some steps.
func stopAt(t testing.TB, dir string, c Config, steps int) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	_, err := Run(ctx, c, Options{Dir: dir, Progress: func(done, _ int) {
		if done == steps {
			stop()
		}
	}})
	if !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
}

// All different keys are listed.
func TestAllDifferences(t *testing.T) {
	err := loadHistorical(t).sameTraining(loadHistorical(t, "train.batch=16", "seed=3", "losses.1.kl.weight=4"))
	for _, want := range []string{"train.batch: the run began with 32, now 16", "seed: the run began with 0, now 3",
		"losses.1.kl.weight: the run began with 1.0, now 4.0"} {
		must.Error(t, err, want)
	}
}

// A checkpoint of another run, or with an edited state, is an error.
func TestResumeOtherCheckpoint(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other")
	trainIn(t, other, loadHistorical(t, "seed=5"), false)
	for name, x := range map[string]struct {
		change func(dir string)
		want   string
	}{
		"another seed's": {func(dir string) {
			text, err := os.ReadFile(filepath.Join(other, rundir.CheckpointFile))
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, rundir.CheckpointFile), text, 0o666)
			}
			must.OK(t, err)
		}, "seed: the run began with 5, now 0"},
		"fewer steps": {func(dir string) { rewriteState(t, dir, func(s *checkpoint.State) { s.Step -= 2 }) }, "history: its segments end at step 8; want 6"},
		"a gap":       {func(dir string) { rewriteState(t, dir, func(s *checkpoint.State) { s.History[0].From = 1 }) }, "history: segment 1 has the steps 1 to 8; want it to begin at 0"},
		"its config": {func(dir string) {
			rewriteState(t, dir, func(s *checkpoint.State) { s.Config = strings.Replace(s.Config, "batch: 32", "batch: 64", 1) })
		}, "train.batch: the run began with 64, now 32"},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		trainIn(t, dir, loadHistorical(t), false)
		x.change(dir)
		must.ErrorOf(Run(context.Background(), loadHistorical(t), Options{Dir: dir, Resume: true}))(t, x.want, name)
	}
}

// A lengthened run has the identity of a direct run exactly if it has the parameters of a direct run.
func TestLongerHistory(t *testing.T) {
	long.NotShort(t)
	milestones := "train.schedule.milestones={at: [0.5], factor: 0.1}"
	for name, x := range map[string]struct {
		options, after []string
		at             int // steps; 0: to the end
		other          string
	}{
		"constant":                    {nil, nil, 0, ""},
		"constant, in the middle":     {nil, nil, 3, ""},
		"warmup ended":                {[]string{"train.warmup=1"}, nil, 0, ""},
		"warmup under way":            {[]string{"train.warmup={steps: 6}"}, nil, 3, ""},
		"step":                        {[]string{"train.schedule.step={every: 1, factor: 0.5}"}, nil, 0, ""},
		"threads":                     {nil, []string{"train.threads=1", "train.checkpoint=1", "name=renamed"}, 0, ""},
		"metrics":                     {nil, []string{"metrics.every=2"}, 0, ""},
		"accumulated":                 {[]string{"train.accumulate=2"}, nil, 3, ""},
		"cosine":                      {[]string{"train.schedule=cosine"}, nil, 0, "the schedule gave the rates of 4 epochs"},
		"cosine, in the middle":       {[]string{"train.schedule=cosine"}, nil, 3, "the schedule gave the rates of 4 epochs"},
		"linear":                      {[]string{"train.schedule=linear"}, nil, 0, "the schedule gave the rates of 4 epochs"},
		"polynomial":                  {[]string{"train.schedule=polynomial"}, nil, 0, "the schedule gave the rates of 4 epochs"},
		"one-cycle":                   {[]string{"train.schedule=one-cycle"}, nil, 0, "the schedule gave the rates of 4 epochs"},
		"milestones passed":           {[]string{milestones}, nil, 0, "the schedule gave the rates of 4 epochs"},
		"milestones ahead":            {[]string{milestones}, nil, 3, ""},
		"a stop added":                {nil, []string{"train.stop={metric: mse, reach: 0}"}, 0, "train.stop"},
		"a stop changed":              {[]string{"train.stop={metric: mse, reach: 0}"}, []string{"train.stop={metric: mse, patience: 9}"}, 0, "train.stop"},
		"a stop":                      {[]string{"train.stop={metric: mse, reach: 0}"}, nil, 0, ""},
		"a stop, other metrics":       {[]string{"train.stop={metric: mse, reach: 0}"}, []string{"metrics.every=2"}, 0, "train.stop"},
		"a stop removed":              {[]string{"train.stop={metric: mse, reach: 0}"}, []string{"train.stop=null"}, 0, ""},
		"the best kept from then on":  {nil, []string{"train.keep.best=mse"}, 0, "train.keep.best"},
		"more epochs than the config": {[]string{"train.epochs=2"}, nil, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir, direct := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "direct")
			c := loadHistorical(t, slices.Concat(x.options, []string{"train.epochs=8"}, x.after)...)
			if x.at > 0 {
				stopAt(t, dir, loadHistorical(t, x.options...), x.at)
			} else {
				trainIn(t, dir, loadHistorical(t, x.options...), false)
			}
			trainIn(t, dir, c, true)
			trainIn(t, direct, c, false)
			r, err := rundir.ReadRecord(dir)
			if err != nil || r == nil {
				t.Fatal(r, err)
			}
			if got := r.History.Other(); (got == "") != (x.other == "") || !strings.Contains(got, x.other) {
				t.Errorf("history %+v: %q, want %q", r.History, got, x.other)
			}
			hash := must.Get(c.Hash())(t)
			must.Equal(t, r.History.Identity(hash) == hash, (x.other == ""), "the identity of a direct run")
			if err := r.History.Check(r.Steps); err != nil || r.History[len(r.History)-1].Config != hash {
				t.Errorf("history %+v: %v", r.History, err)
			}
			if x.other == "" {
				got, want := bits(t, dir), bits(t, direct)
				if name == "a stop removed" {
					delete(got, "counters") // they contain the observations of early stopping
					delete(want, "counters")
				}
				sameBits(t, name, got, want)
			}
		})
	}
}

// Momentum may depend on the whole length of training. Then a lengthened run has other parameters than a direct run.
func TestLongerMomentum(t *testing.T) {
	long.NotShort(t)
	for name, other := range map[string]string{"byol": "the model changed with the fraction of 1 epoch", "moco-v2": ""} {
		dir, direct := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "direct")
		trainIn(t, dir, seenConfig(t, name, "train.epochs=1", "metrics=[]"), false)
		trainIn(t, dir, seenConfig(t, name, "train.epochs=2", "metrics=[]"), true)
		r, err := rundir.ReadRecord(dir)
		if err != nil || (r.History.Other() == "") != (other == "") || !strings.Contains(r.History.Other(), other) {
			t.Fatalf("%s: history %+v, %v; want %q", name, r.History, err, other)
		}
		if other == "" {
			trainIn(t, direct, seenConfig(t, name, "train.epochs=2", "metrics=[]"), false)
			sameBits(t, name, bits(t, dir), bits(t, direct))
		}
	}
}

// A different history remains, even if the run continues with its first config.
func TestHistoryStays(t *testing.T) {
	dir, c := filepath.Join(t.TempDir(), "run"), loadHistorical(t, "train.schedule=cosine")
	stopAt(t, dir, c, 2)
	ctx, stop := context.WithCancel(t.Context())
	if _, err := Run(ctx, loadHistorical(t, "train.schedule=cosine", "train.epochs=8"), Options{Dir: dir, Resume: true, Progress: func(done, _ int) {
		if done == 4 {
			stop()
		}
	}}); !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
	trainIn(t, dir, c, true)
	r, err := rundir.ReadRecord(dir)
	if err != nil || len(r.History) != 3 || r.History[0].Other == "" || r.History[1].To != 4 || r.History.Other() == "" {
		t.Errorf("%+v, %v", r, err)
	}
}

// The record lists versions, kernels and generation of all segments. A checkpoint without a history is one segment.
func TestHistoryOfVersions(t *testing.T) {
	dir, c := filepath.Join(t.TempDir(), "run"), loadHistorical(t)
	stopAt(t, dir, c, 3)
	rewriteState(t, dir, func(s *checkpoint.State) {
		s.History[0].Version, s.History[0].Generation, s.History[0].Kernels = "v0.1.0", 1, "neon"
	})
	trainIn(t, dir, c, true)
	r, err := rundir.ReadRecord(dir)
	must.OK(t, err)
	if len(r.History) != 2 || !strings.HasPrefix(r.Version, "v0.1.0, ") || r.Generation != 1 || r.History[0].To != 3 ||
		r.History[1].Kernels == "neon" {
		t.Errorf("record %+v", r)
	}
	trainIn(t, dir, c, true) // measured again
	if again, err := rundir.ReadRecord(dir); err != nil || again.Version != r.Version || again.Generation != 1 || len(again.History) != 2 {
		t.Errorf("measured again: %+v, %v", again, err)
	}
	failed := filepath.Join(t.TempDir(), "failed")
	stopAt(t, failed, c, 3)
	rewriteState(t, failed, func(s *checkpoint.State) { s.History[0].Version = "v0.1.0" })
	hook := engine.Hook{Name: "broken", OnStep: func(context.Context, *engine.Loop, *engine.StepReport) error { return errors.New("why") }}
	if _, err := Run(context.Background(), c, Options{Dir: failed, Resume: true, Hooks: []engine.Hook{hook}}); err == nil {
		t.Error("it does not fail")
	}
	if r, err := rundir.ReadRecord(failed); err != nil || r.Error != "broken: why" ||
		!strings.HasPrefix(r.Version, "v0.1.0, ") || len(r.History) != 2 {
		t.Errorf("a failed run: %+v, %v", r, err)
	}
	old := filepath.Join(t.TempDir(), "old")
	stopAt(t, old, c, 3)
	rewriteState(t, old, func(s *checkpoint.State) { s.History = nil })
	trainIn(t, old, c, true)
	if r, err = rundir.ReadRecord(old); err != nil || r.History.Other() != "" || r.Generation != 0 ||
		len(r.History) != 2 || r.History[0].To != 3 || r.History[0].Version != "" {
		t.Errorf("a run without a history: %+v, %v", r, err)
	}
	sameBits(t, "a run without a history", bits(t, old), bits(t, dir))
}
