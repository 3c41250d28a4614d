package sweep_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
	. "github.com/unravel-ml/unravel/train/sweep"
)

// searchOf opens a search with the base tiny.
func searchOf(t testing.TB, text string) *Search {
	t.Helper()
	p := must.Get(load(t, text))(t)
	return must.Get(p.NewSearch())(t)
}

func execute(t testing.TB, s *Search, dir string, jobs int) *Trials {
	t.Helper()
	return must.Get(s.Execute(t.Context(), dir, Options{Jobs: jobs}))(t)
}

// settingsOf lists the settings of trials.
func settingsOf(found *Trials) (list []string) {
	for _, t := range found.List {
		list = append(list, t.Settings.String())
	}
	return list
}

const randomSearch = `
set: {train.epochs: 1}
search:
  random:
    metric: dlsbd
    runs: 6
    space:
      train.optimizer.adam.lr: {log: [1e-4, 0.1]}
      model.vae.latent: {integer: [2, 4]}
      losses.1.kl.weight: {linear: [0, 4]}
      train.batch: {choice: [16, 32]}
`

// Random trials do not depend on the number of jobs, and a larger search starts with the trials of a smaller one.
func TestSearch(t *testing.T) {
	long.NotShort(t)
	dir := t.TempDir()
	one, four := execute(t, searchOf(t, strings.Replace(randomSearch, "runs: 6", "runs: 3", 1)), dir, 1),
		execute(t, searchOf(t, randomSearch), t.TempDir(), 4)
	if len(one.List) != 3 || len(four.List) != 6 || !slices.Equal(settingsOf(one), settingsOf(four)[:3]) {
		t.Fatalf("%q\n%q", settingsOf(one), settingsOf(four))
	}
	before := one.List[2].Record.Ended
	six := execute(t, searchOf(t, randomSearch), dir, 1)
	best := six.Best()
	for i, trial := range six.List {
		if trial.Value != four.List[i].Value || trial.Index != i || trial.State != Finished ||
			trial.Value != trial.Metrics[0].Value || trial.Epochs != 1 {
			t.Errorf("%+v", trial)
		}
		if !(trial.Value >= best.Value) {
			t.Errorf("the best is %v, and trial %d has %v", best.Value, i, trial.Value)
		}
	}
	if !slices.Equal(settingsOf(six), settingsOf(four)) || !six.List[2].Record.Ended.Equal(before) ||
		!(six.CoreHours > 0) || six.Better != metrics.LowerIsBetter {
		t.Errorf("%q\n%q", settingsOf(six), settingsOf(four))
	}
	if differences, err := rundir.Check(six.List[0].Dir); err != nil || len(differences) > 0 {
		t.Errorf("%v, %v", differences, err)
	}
	none := execute(t, searchOf(t, strings.Replace(randomSearch, "runs: 6", "runs: 1", 1)), t.TempDir(), 1)
	preview := searchOf(t, randomSearch).Preview(none, 100)
	if len(preview) != 5 || preview[4].String() != settingsOf(four)[5] || len(searchOf(t, randomSearch).Preview(four, 100)) != 0 {
		t.Errorf("%v\n%q", preview, settingsOf(four))
	}
	// A removed trial is trained again.
	must.OK(t, os.RemoveAll(six.List[1].Dir))
	again := execute(t, searchOf(t, randomSearch), dir, 1)
	if !slices.Equal(settingsOf(again), settingsOf(four)) || again.List[1].Value != four.List[1].Value {
		t.Errorf("after a removal: %q", settingsOf(again))
	}
	// Command repeats the same run.
	command := searchOf(t, randomSearch).Command(best)
	c := must.Get(train.Load("tiny.yaml", []byte(tiny), command[3:]...))(t)
	if hash, err := c.Hash(); err != nil || hash != best.ConfigHash {
		t.Errorf("%q makes another run: %v", command, err)
	}
}

// A trial that train.stop ends early has fewer epochs than its config.
func TestSearchStopped(t *testing.T) {
	text := strings.Replace(randomSearch, "runs: 6", "runs: 1", 1)
	text = strings.Replace(text, "train.epochs: 1", "train.epochs: 5, train.stop: {loss: loss, reach: 1.0e+9}", 1)
	if one := execute(t, searchOf(t, text), t.TempDir(), 1).List[0]; one.Epochs != 1 || one.Config.Train.Epochs != 5 {
		t.Errorf("%d of %d epochs, want 1 of 5", one.Epochs, one.Config.Train.Epochs)
	}
}

const tpeSearch = `
set: {train.epochs: 1}
search:
  tpe:
    loss: reconstruction
    startup: 3
    runs: 6
    space: {train.optimizer.adam.lr: {log: [1e-4, 0.1]}, train.batch: {integer: [8, 32]}}
`

// With one job, the trials of TPE depend only on the results, even if the search stops in between.
func TestSearchTPE(t *testing.T) {
	long.NotShort(t)
	want := execute(t, searchOf(t, tpeSearch), t.TempDir(), 1)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	begun := 0
	stopping := func(c context.Context, path string, threads int, report func(done, all int)) error {
		if begun++; begun == 5 {
			cancel()
			return train.ErrStopped
		}
		return InProcess(c, path, threads, report)
	}
	if found, err := searchOf(t, tpeSearch).Execute(ctx, dir, Options{Start: stopping}); !errors.Is(err, train.ErrStopped) || len(found.List) != 5 {
		t.Fatalf("%v, %+v", err, found)
	}
	got := execute(t, searchOf(t, tpeSearch), dir, 1)
	if !slices.Equal(settingsOf(got), settingsOf(want)) || got.Best().Value != want.Best().Value || len(want.List) != 6 {
		t.Errorf("%q\n%q", settingsOf(got), settingsOf(want))
	}
	random := searchOf(t, strings.Replace(strings.Replace(tpeSearch, "tpe", "random", 1), "startup: 3", "seed: 0", 1))
	none := must.Get(random.Trials(t.Context(), filepath.Join(dir, "none")))(t)
	drawn := random.Preview(none, 6)
	for i, s := range settingsOf(want) {
		if (s == drawn[i].String()) != (i < 3) {
			t.Errorf("trial %d has %s, at random %v; want 3 random ones", i, s, drawn[i])
		}
	}
	must.Equal(t, len(searchOf(t, tpeSearch).Preview(none, 100)), 3, "trials of TPE before results")
}

const ashaSearch = `
search:
  asha:
    metric: dlsbd
    runs: 4
    eta: 2
    min: 1
    max: 4
    space: {train.optimizer.adam.lr: {log: [1e-3, 0.1]}}
`

// A promoted run has the same bits as an uninterrupted run with the same number of epochs.
func TestSearchASHA(t *testing.T) {
	long.NotShort(t)
	for _, jobs := range long.Sample([]int{1, 3}, 1) {
		found := execute(t, searchOf(t, ashaSearch), t.TempDir(), jobs)
		ends := map[int]int{}
		for _, one := range found.List {
			ends[one.Epochs]++
		}
		best := found.Best()
		if len(found.List) != 4 || ends[4] < 1 || ends[1] < 1 || best.Epochs != 4 {
			t.Fatalf("%d jobs: %v", jobs, ends)
		}
		whole := t.TempDir()
		c := must.Get(train.Load("tiny.yaml", []byte(tiny), searchOf(t, ashaSearch).Command(best)[3:]...))(t)
		must.Get(train.Run(t.Context(), c, train.Options{Dir: filepath.Join(whole, "run")}))(t)
		for _, name := range []string{rundir.MetricsFile, rundir.CodesFile} {
			got, err1 := os.ReadFile(filepath.Join(best.Dir, name))
			want, err2 := os.ReadFile(filepath.Join(whole, "run", name))
			if err1 != nil || err2 != nil || string(got) != string(want) {
				t.Errorf("%s differs from a run of %d epochs: %v, %v", name, best.Epochs, err1, err2)
			}
		}
		must.Equal(t, best.Hash, best.ConfigHash, "the run is not of its config", best.Other)
		if differences, err := rundir.Check(best.Dir); err != nil || len(differences) > 0 {
			t.Errorf("%v, %v", differences, err)
		}
	}
}

// A failed trial counts as the worst.
func TestSearchFailure(t *testing.T) {
	text := "set: {train.epochs: 1}\nsearch: {random: {metric: dlsbd, runs: 3, space: {train.optimizer.adam.lr: {choice: [1e30, 0.01, 0.02]}}}}\n"
	dir := t.TempDir()
	found := execute(t, searchOf(t, text), dir, 1)
	failed := 0
	for _, one := range found.List {
		if one.State == Failed && math.IsNaN(one.Value) {
			failed++
		}
	}
	if len(found.List) != 3 || failed != 1 || found.Best().State != Finished {
		t.Errorf("%d trials, %d failed", len(found.List), failed)
	}
	if again := execute(t, searchOf(t, strings.Replace(text, "runs: 3", "runs: 9", 1)), dir, 1); len(again.List) != 3 {
		t.Errorf("%d trials of a space of three", len(again.List))
	}
	budget := searchOf(t, strings.Replace(text, "runs: 3", "core_hours: 1e-9", 1))
	must.Equal(t, len(execute(t, budget, t.TempDir(), 1).List), 1, "trials in no time")
}

// Trials of another search, or with another base config, are an error before any work.
func TestSearchOther(t *testing.T) {
	dir := t.TempDir()
	execute(t, searchOf(t, strings.Replace(randomSearch, "runs: 6", "runs: 1", 1)), dir, 1)
	for _, c := range []struct{ old, new, want string }{
		{"metric: dlsbd", "loss: loss", "there random.metric is dlsbd, not \"\""},
		{"[0, 4]", "[0, 5]", `"losses.1.kl.weight".linear is [0, 4], not [0, 5]`},
		{"random:", "random:\n    seed: 3", "random.seed is 0, not 3"},
		{"train.epochs: 1", "train.epochs: 2", "holds trials of another base config: in trial000 train.epochs is 1, not 2"},
	} {
		text := strings.Replace(randomSearch, c.old, c.new, 1)
		start := func(context.Context, string, int, func(done, all int)) error { t.Error("a run begins"); return nil }
		_, err := searchOf(t, text).Execute(t.Context(), dir, Options{Start: start})
		must.Error(t, err, c.want, c.new)
		must.Error(t, err, "or another folder", c.new)
	}
	file := filepath.Join(dir, "trial000", rundir.TrialFile)
	for _, text := range []string{"", "{", `{"trial": -1}`, `{"trial": 0, "search": "search: {"}`, `{"trial": 0}`} {
		must.Write(t, file, text)
		must.ErrorOf(searchOf(t, randomSearch).Trials(t.Context(), dir))(t, "trial.json", text)
	}
}

func TestSearchMistakes(t *testing.T) {
	const space = "space: {train.batch: {integer: [8, 16]}}"
	for _, c := range []struct{ text, want string }{
		{"search: {random: {metric: dlsbd, runs: 3, space: {train.bath: {integer: [8, 16]}}}}", `plan.yaml:2:63: search.random.space."train.bath": argument "train.bath=8": train.bath: unknown key "bath"; did you mean "batch"?`},
		{"search: {random: {metric: dlsbd, runs: 3, space: {train.batch: {integer: [0, 16]}}}}", "0 is out of range; want 1 or more"},
		{"search: {random: {metric: dlsbd, runs: 3, space: {train.batch: {linear: [8, 16]}}}}", "want an integer, got 11.056"},
		{"search: {random: {metric: dlsbd, runs: 3, space: {train.batch: {choice: [8, many]}}}}", "want an integer, got"},
		{"search: {random: {metric: mig, runs: 3, " + space + "}}", `plan.yaml:2:19: search.random.metric: "mig" is no metric of tiny.yaml`},
		{"search: {random: {metric: dlsbd, loss: kl, runs: 3, " + space + "}}", "want metric or loss, got both"},
		{"search: {random: {runs: 3, " + space + "}}", "the objective is missing"},
		{"search: {random: {metric: dlsbd, " + space + "}}", "the budget is missing; want runs: N, or core_hours: N"},
		{"search: {random: {metric: dlsbd, runs: 3}}", "there is no setting to vary"},
		{"search: {random: {metric: dlsbd, runs: 3, space: {train.batch: {integer: []}}}}", `plan.yaml:2:74: search.random.space."train.batch".integer: the range of train.batch is empty`},
		{"search: {grid: {}}", `unknown search "grid"`},
		{"search: {asha: {metric: dlsbd, runs: 3, " + space + "}}", "the epochs of the last rung are missing"},
		{"search: {asha: {metric: dlsbd, runs: 3, min: 3, max: 2, " + space + "}}", "2 is not above min, 3"},
		{"search: {asha: {metric: dlsbd, runs: 3, max: 2, " + space + "}}\nset: {train.epochs: 3}", "asha trains for the epochs of its rungs"},
		{"search: {asha: {metric: dlsbd, runs: 3, max: 2, " + space + "}}\nset: {train.stop: {loss: loss, patience: 1}}", "train.stop ends runs"},
		{"search: {random: {metric: dlsbd, runs: 3, " + space + "}}\nset: {train.batch: 3}", "train.batch is set by"},
		{"search: {random: {metric: dlsbd, runs: 3, " + space + "}}\nseeds: [1, 2]", "2 seeds; want at most one"},
		{"search: {random: {metric: dlsbd, runs: 3, " + space + "}}\nproduct: {train.epochs: [1]}", "want it without list, zip and product"},
		{"search: {random: {loss: mse, runs: 3, " + space + "}}", `plan.yaml:2:19: search.random.loss: there is no loss "mse"; want one of`},
		{"search: {random: {loss: validation/loss, runs: 3, " + space + "}}\nset: {train.epochs: 3, train.validation: {every: 2, dataset: {square: {size: 8, side: 2}}}}",
			"plan.yaml:2:19: search.random.loss: validation/loss is measured every 2 epochs, and not after 3; want train.validation.every: 1"},
		{"search: {asha: {metric: dlsbd, runs: 3, max: 2, space: {train.schedule: {choice: [constant, cosine]}}}}", "search.asha.max: the runs cannot go on to more epochs: the rates of the schedule"},
		{"search: {asha: {metric: dlsbd, runs: 3, max: 2, space: {train.schedule: {choice: [cosine, constant]}}}}", "search.asha.max: the runs cannot go on to more epochs: the rates of the schedule"},
		{"search: {asha: {metric: dlsbd, runs: 3, max: 2, " + space + "}}\nset: {train.schedule: cosine}", "plan.yaml:2:41: search.asha.max: the runs cannot go on to more epochs: the rates of the schedule"},
	} {
		p, err := load(t, c.text)
		var s *Search
		if err == nil {
			s, err = p.NewSearch()
		}
		if err == nil {
			err = s.Check()
		}
		var one *config.Error
		var many config.Errors
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.As(err, &one) && !errors.As(err, &many) {
			t.Errorf("%s: got %v, want %s", c.text, err, c.want)
		}
	}
	p := must.Get(load(t, randomSearch))(t)
	if _, err := p.Runs(); err == nil {
		t.Error("a search has runs")
	}
}

// ASHA finds the best of 64 settings of a config in a quarter of the epochs of all 64.
func TestASHAFindsBest(t *testing.T) {
	long.Study(t)
	const plan = `
base: lsbd-vae/square-small
set: {train.figures: false, EPOCHS}
search:
  METHOD
    loss: reconstruction
    runs: 64
    space: {train.optimizer.adam.lr: {log: [1e-5, 0.1]}, losses.2.lsbd.weight: {log: [0.1, 1000]}}
`
	open := func(method, set string) *Search {
		p := must.Get(Load("plan.yaml", []byte(strings.NewReplacer("METHOD", method, "EPOCHS", set).Replace(plan))))(t)
		return must.Get(p.NewSearch())(t)
	}
	asha := execute(t, open("asha:\n    min: 4\n    max: 60", "train.checkpoint: 60"), t.TempDir(), 1)
	all := execute(t, open("random:", "train.epochs: 60"), t.TempDir(), 1)
	epochs := 0
	for i, one := range asha.List {
		epochs += one.Epochs
		if one.Settings.String() != all.List[i].Settings.String() {
			t.Fatalf("trial %d has other settings", i)
		}
		if one.Epochs == 60 && one.Value != all.List[i].Value {
			t.Errorf("trial %d: %v, trained at once %v", i, one.Value, all.List[i].Value)
		}
	}
	found, best := asha.Best(), all.Best()
	better := 0
	for _, one := range all.List {
		if one.Value < found.Value {
			better++
		}
	}
	t.Logf("%d of %d epochs; found trial %d, reconstruction %.4g (%d are better); best is trial %d, %.4g; %.3g and %.3g core-hours",
		epochs, 64*60, found.Index, found.Value, better, best.Index, best.Value, asha.CoreHours, all.CoreHours)
	if epochs > 64*60/4 || found.Index != best.Index {
		t.Errorf("%d epochs, trial %d; want at most %d, trial %d", epochs, found.Index, 64*60/4, best.Index)
	}
}
