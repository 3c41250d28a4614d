package sweep_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
	. "github.com/unravel-ml/unravel/train/sweep"
)

// tiny is an experiment of milliseconds.
const tiny = `
name: tiny
dataset: {square: {size: 8, side: 2}}
model: {vae: {latent: 2, encoder: {mlp: {hidden: [4]}}}}
losses: [{reconstruction: {}}, {kl: {weight: 1}}]
train: {epochs: 2, batch: 32, figures: false}
metrics: [dlsbd]
`

// load reads a plan with the base tiny.
func load(t testing.TB, text string) (*Plan, error) {
	t.Helper()
	dir := t.TempDir()
	must.Write(t, filepath.Join(dir, "tiny.yaml"), tiny)
	return Load(filepath.Join(dir, "plan.yaml"), []byte("base: tiny.yaml\n"+text))
}

func runsOf(t testing.TB, text string) []Run {
	t.Helper()
	p := must.Get(load(t, text))(t)
	return must.Get(p.Runs())(t)
}

func TestRuns(t *testing.T) {
	runs := runsOf(t, `
set: {train.epochs: 3}
seeds: [4, 7]
list:
  - {name: plain}
  - {name: "strong (β)", losses.1.kl.weight: 4}
zip:
  dataset.square.side: [1, 2]
  train.batch: [16, 32]
product:
  model.vae.latent: [2, 3]
  train.optimizer: [{adam: {lr: 0.1}}, {adam: {lr: 0.01}}]
`)
	if len(runs) != 32 {
		t.Fatalf("%d runs", len(runs))
	}
	seen := map[string]bool{}
	for _, r := range runs {
		if seen[r.Hash] || seen[r.Name] || r.Config.Train.Epochs != 3 || r.Config.Name != r.Name {
			t.Errorf("%+v", r)
		}
		seen[r.Hash], seen[r.Name] = true, true
	}
	for at, want := range map[int]string{
		0: "plain_side1_batch16_latent2_optimizer-adam-lr-0.1_seed4",
		1: "plain_side1_batch16_latent2_optimizer-adam-lr-0.1_seed7", 2: "plain_side1_batch16_latent2_optimizer-adam-lr-0.01_seed4",
		4: "plain_side1_batch16_latent3_optimizer-adam-lr-0.1_seed4",
		8: "plain_side2_batch32_latent2_optimizer-adam-lr-0.1_seed4", 31: "strong-_side2_batch32_latent3_optimizer-adam-lr-0.01_seed7",
	} {
		must.Equal(t, runs[at].Name, want, "run", at)
	}
	last := runs[31].Config
	text, err := last.Encode()
	if err != nil || last.Seed != 7 || last.Train.Batch != 32 || !strings.Contains(string(text), "latent: 3") ||
		!strings.Contains(string(text), "lr: 0.01") ||
		!strings.Contains(string(text), "weight: 4.0") || !strings.Contains(string(text), "side: 2") {
		t.Errorf("%v\n%s", err, text)
	}
	if one := runsOf(t, ""); len(one) != 1 || one[0].Name != "tiny" {
		t.Errorf("a plan without anything: %+v", one)
	}
	if one := runsOf(t, "seeds: [3]"); len(one) != 1 || one[0].Name != "tiny" || one[0].Config.Seed != 3 {
		t.Errorf("one seed: %+v", one)
	}
}

// TestBaseOfBase checks that the base of a sweep may build on another config.
func TestBaseOfBase(t *testing.T) {
	dir := t.TempDir()
	must.WriteAll(t, dir, map[string]string{"tiny.yaml": tiny, "wide.yaml": "base: tiny.yaml\nname: wide\nset: {losses.1.kl.weight: 3}\n"})
	p, err := Load(filepath.Join(dir, "plan.yaml"), []byte("base: wide.yaml\nset: {losses.0.reconstruction.weight: 2}\nseeds: [5]\n"))
	must.OK(t, err)
	runs := must.Get(p.Runs())(t)
	want, err := train.Load("tiny.yaml", []byte(tiny), "name=wide", "losses.1.kl.weight=3", "losses.0.reconstruction.weight=2", "seed=5")
	must.OK(t, err)
	hash, err := want.Hash()
	if err != nil || len(runs) != 1 || runs[0].Hash != hash || runs[0].Name != "wide" {
		t.Errorf("runs %+v, want one of the hash %s (%v)", runs, hash, err)
	}
}

func TestMistakes(t *testing.T) {
	for _, test := range []struct{ plan, want string }{
		{"seeds: [1, 1]", "seeds.1: seed 1 is in the list twice"},
		{"zip: {seed: [1]}", "zip: seed belongs under seeds; want seeds: [0, 1]"},
		{"zip: {train.epochs: [1, 2], train.batch: [1]}", "train.epochs has 2 values, train.batch 1; want lists of equal length"},
		{"product: {train.epochs: 3}", "want a list of values for train.epochs"},
		{"product: {train: {epochs: [1, 2]}}", "want a list of values; keys are whole paths, such as train.epochs: [...]"},
		{"product: {train.epochs: []}", "want a list of values for train.epochs"},
		{"set: {train.epochs: 1}\nproduct: {train.epochs: [3]}", "train.epochs is set by"},
		{"list: [{train.epochs: 3}]", "list.0: want a mapping with a name"},
		{"list: [{name: a}, {name: b}]", "the runs a and b have the same settings"},
		{"products: {}", `unknown key "products"; did you mean "product"?`},
		{"product: {train.epoch: [3]}", `argument "train.epoch=3": train.epoch: unknown key "epoch"; did you mean "epochs"?`},
		{"product: {train.epochs: [1, &a 3]}", "anchors (&a) are not supported"},
		{"set: 3", "set: want a mapping"},
		{"name: a/b", `"a/b" is not a folder's name`},
		{"base: lsbd-vae/squar", "repeated key"},
	} {
		p, err := load(t, test.plan)
		if err == nil {
			_, err = p.Runs()
		}
		var one *config.Error
		var many config.Errors
		if err == nil || !strings.Contains(err.Error(), test.want) || !errors.As(err, &one) && !errors.As(err, &many) {
			t.Errorf("%s: got %v, want %s", test.plan, err, test.want)
		}
	}
	p := must.Get(Load("x.yaml", []byte("base: lsbd-vae/squar")))(t)
	must.ErrorOf(p.Runs())(t, `x.yaml:1:1: base: there is neither a file nor an experiment "lsbd-vae/squar"; did you mean "lsbd-vae/square"?`)
	must.ErrorOf(Load("x.yaml", []byte("seeds: [1]")))(t, "the sweep has no base config")
}

func FuzzLoad(f *testing.F) {
	for _, s := range []string{"base: quickstart", "base: quickstart\nlist: [{name: a, x.y: {z: [1]}}]",
		"product: {a: [[], {}]}", "zip: {a: [1], b: [2]}", "seeds: [0, 1]\nbase: x"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		p, err := Load("f.yaml", src)
		if err != nil {
			var one *config.Error
			var many config.Errors
			if !errors.As(err, &one) && !errors.As(err, &many) {
				t.Fatalf("no place in %v", err)
			}
			return
		}
		if len(p.List)+len(p.Zip)+len(p.Product) < 8 { // an error or runs, never a panic
			_, _ = p.Runs()
		}
	})
}

// The computation identifies a run, however its config is written.
func TestHash(t *testing.T) {
	hash := func(text string, overrides ...string) string {
		t.Helper()
		c := must.Get(train.Load("x.yaml", []byte(text), overrides...))(t)
		return must.Get(c.Hash())(t)
	}
	want := hash(tiny)
	c := must.Get(train.Load("x.yaml", []byte(tiny)))(t)
	resolved := must.Get(c.Encode())(t)
	older := strings.Replace(string(resolved), "  warmup: 0.0\n", "", 1) // a key that did not exist when the run was made
	if older == string(resolved) {
		t.Fatal("nothing was left out")
	}
	for what, got := range map[string]string{
		"again": hash(tiny), "resolved": hash(string(resolved)), "older": hash(older),
		"what does not count": hash(tiny, "name=other", "train.threads=2", "train.checkpoint=1", "train.figures=true"),
		"defaults in full":    hash(tiny, "train.warmup=0", "losses.1.kl.weight=1.0"),
	} {
		must.Equal(t, got, want, what, "the hash is another one")
	}
	for _, o := range []string{"seed=1", "train.epochs=3", "train.batch=16", "metrics=[mig]", "losses.1.kl.weight=2",
		"model.vae.latent=3", "train.hold_out=0.1"} {
		if hash(tiny, o) == want {
			t.Errorf("%s: the hash is the same", o)
		}
	}
}

const four = "seeds: [0, 1]\nproduct: {losses.1.kl.weight: [1, 2]}"

// Folders with other content, or runs with other settings, remain untouched.
func TestNames(t *testing.T) {
	runs, dir := runsOf(t, "seeds: [0]"), t.TempDir()
	other := runsOf(t, "seeds: [1]")
	must.Write(t, filepath.Join(dir, "tiny", "notes.txt"), "")
	for i, list := range [][]Run{runs, other, runs} {
		outcomes, err := Execute(context.Background(), dir, list, Options{})
		if want := []string{"tiny-2", "tiny-3", "tiny-2"}[i]; err != nil || filepath.Base(outcomes[0].Dir) != want {
			t.Errorf("%v, %s", err, outcomes[0].Dir)
		}
	}
}

// Runs that differ in seeds share one rehearsal, with as many processes as concurrent runs. The work after training is
// rehearsed once for losses of all weights.
func TestForecastsRehearse(t *testing.T) {
	plan := "seeds: [0, 1]\nproduct: {losses.0.reconstruction.likelihood: [bernoulli, gaussian], train.epochs: [2, 3]}\n"
	var lock sync.Mutex
	whole, alone, threads := 0, 0, 0
	rehearse := func(_ context.Context, c train.Config, n int, only bool) (*train.Estimate, error) {
		lock.Lock()
		defer lock.Unlock()
		threads = n
		if only {
			alone++
			return &train.Estimate{Training: float64(c.Train.Epochs)}, nil
		}
		whole++
		return &train.Estimate{Training: float64(c.Train.Epochs), Draw: 10}, nil
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(6))
	list, err := Forecasts(context.Background(), t.TempDir(), runsOf(t, plan), Forecasting{Jobs: 2, Rehearse: rehearse}, nil)
	if err != nil || len(list) != 8 {
		t.Fatal(err)
	}
	for _, f := range list {
		must.Equal(t, f.Takes, time.Duration(f.Config.Train.Epochs+10)*time.Second, f.Name, "takes")
	}
	if whole != 2*2 || alone != 2*2 || threads != 3 {
		t.Errorf("%d rehearsals and %d of training alone on %d threads; want 4, 4 and 3", whole, alone, threads)
	}
	failing := func(context.Context, train.Config, int, bool) (*train.Estimate, error) {
		return nil, errors.New("no images")
	}
	must.ErrorOf(Forecasts(context.Background(), t.TempDir(), runsOf(t, plan), Forecasting{Jobs: 2, Rehearse: failing}, nil))(t, "no images")
}

func TestSpan(t *testing.T) {
	seconds := func(list ...int) (all []time.Duration) {
		for _, n := range list {
			all = append(all, time.Duration(n)*time.Second)
		}
		return all
	}
	for _, c := range []struct {
		takes []time.Duration
		jobs  int
		want  int
	}{{nil, 3, 0}, {seconds(1, 2, 3), 1, 6}, {seconds(1, 2, 3), 2, 4}, {seconds(3, 2, 1), 2, 3}, {seconds(1, 1, 5), 9, 5}, {seconds(2, 0, 2), 0, 4}} {
		must.Equal(t, Span(c.takes, c.jobs), time.Duration(c.want)*time.Second, c.takes, c.jobs, "at once", c.want)
	}
}

// rehearseHere rehearses in this process, where rehearsals take turns.
var rehearseHere Rehearser = func() Rehearser {
	var lock sync.Mutex
	return func(ctx context.Context, c train.Config, threads int, alone bool) (*train.Estimate, error) {
		lock.Lock()
		defer lock.Unlock()
		c.Train.Threads = threads
		return train.Rehearse(ctx, c, alone)
	}
}()

// Without a rehearser, times come from finished runs of equal cost or from elsewhere, or are unknown.
func TestForecastsReadOnly(t *testing.T) {
	runs, dir := runsOf(t, "list: [{name: a}, {name: b, train.epochs: 3}, {name: c, train.epochs: 4}, {name: d, train.optimizer.adam.lr: 0.5}]\n"), t.TempDir()
	must.Get(Execute(t.Context(), dir, runs[:1], Options{}))(t)
	times := func(r Run) (time.Duration, bool) { return 7 * time.Minute, r.Name == "b" }
	list, err := Forecasts(t.Context(), dir, runs, Forecasting{Times: times}, nil)
	if err != nil || len(list) != 4 {
		t.Fatal(list, err)
	}
	if list[0].State != Finished || list[1].Takes != 7*time.Minute || list[1].Unknown || !list[2].Unknown ||
		list[3].Unknown || list[3].Takes <= 0 {
		t.Errorf("got %+v", list)
	}
}

func TestForecasts(t *testing.T) {
	runs, dir := runsOf(t, four), t.TempDir()
	must.Get(Execute(context.Background(), dir, runs[:1], Options{}))(t)
	before := must.Get(Folders(dir))(t)
	list, err := Forecasts(context.Background(), dir, runs, Forecasting{Jobs: 2, Rehearse: rehearseHere}, nil)
	if err != nil || len(list) != 4 {
		t.Fatal(err)
	}
	for i, f := range list {
		if done := i == 0; (f.State == Finished) != done || (f.Takes == 0) != done {
			t.Errorf("%d: %+v", i, f)
		}
	}
	r := Read(filepath.Join(dir, runs[0].Name)).Record
	if want := max(r.Ended.Sub(r.Begun).Seconds(), r.Seconds); !(list[1].Takes.Seconds()-want <= 1e-6) ||
		!(want-list[1].Takes.Seconds() <= 1e-6) {
		t.Errorf("run 1 differs from a finished one in its seed only, which took %v s; forecast %v", want, list[1].Takes)
	}
	if after, err := Folders(dir); err != nil || !slices.Equal(before, after) {
		t.Errorf("a forecast has made %v", after)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Forecasts(ctx, t.TempDir(), runs, Forecasting{Rehearse: rehearseHere}, nil); !errors.Is(err, train.ErrStopped) {
		t.Error(err)
	}
}

// The run least similar to the first is rehearsed before similar runs. After the limit, each other run gets the time of
// the most similar rehearsed run, with training in proportion.
func TestForecastsLimit(t *testing.T) {
	plan := "list: [{name: short, train.epochs: 2}, {name: long, train.epochs: 6}, {name: batches, train.epochs: 2, train.batch: 4, train.clip: 3}]\n"
	var said, rehearsed []string
	rehearse := func(_ context.Context, c train.Config, _ int, _ bool) (*train.Estimate, error) {
		rehearsed = append(rehearsed, fmt.Sprint(c.Train.Epochs, c.Train.Clip))
		time.Sleep(20 * time.Millisecond)
		return &train.Estimate{Training: float64(c.Train.Epochs), Measure: 1}, nil
	}
	observe := func(run string, nth, most int) { said = append(said, fmt.Sprint(run, " ", nth, " ", most)) }
	list, err := Forecasts(t.Context(), t.TempDir(), runsOf(t, plan),
		Forecasting{Rehearse: rehearse, Limit: time.Nanosecond, Observe: observe}, nil)
	if err != nil || len(rehearsed) != 1 || len(said) != 1 || !strings.HasSuffix(said[0], " 1 3") {
		t.Fatalf("rehearsed %v, said %q, %v", rehearsed, said, err)
	}
	for i, want := range []time.Duration{3 * time.Second, 7 * time.Second, 3 * time.Second} {
		if f := list[i]; f.Takes != want || (f.Like == "") != (i == 0) || i > 0 && f.Like != list[0].Name {
			t.Errorf("%s takes %v as %q, want %v", f.Name, f.Takes, f.Like, want)
		}
	}
	rehearsed = nil
	list, err = Forecasts(t.Context(), t.TempDir(), runsOf(t, plan), Forecasting{Rehearse: rehearse, Limit: time.Hour}, nil)
	if err != nil || len(rehearsed) != 3 || rehearsed[1] != "2 3" || list[1].Like != "" {
		t.Errorf("rehearsed %v of %v, %v", rehearsed, list, err)
	}
}

// Runs with different weights and rates share one rehearsal, for any notation of their numbers.
func TestForecastsWeights(t *testing.T) {
	count := 0
	rehearse := func(context.Context, train.Config, int, bool) (*train.Estimate, error) {
		count++
		return &train.Estimate{Training: 1}, nil
	}
	plan := "product: {losses.0.reconstruction.weight: [0.5, 2.5, 1e-7], train.optimizer: [{adam: {lr: 1e-7}}, {adam: {lr: 0.25}}]}\n"
	if list, err := Forecasts(t.Context(), t.TempDir(), runsOf(t, plan), Forecasting{Rehearse: rehearse},
		nil); err != nil || len(list) != 6 || count != 1 {
		t.Errorf("%d rehearsals of %d runs, %v", count, len(list), err)
	}
}

// Progress follows the runs that have not ended, also if several end between two looks.
func TestProgressLook(t *testing.T) {
	dir, runs := t.TempDir(), runsOf(t, "seeds: [1, 2, 3, 4]")
	p := must.Get(Prepare(t.Context(), dir, runs, false, nil))(t)
	mark := p.Mark()
	for n, ends := range [][]int{nil, {1}, {0, 3}, {2}} {
		for _, i := range ends {
			must.OK(t, rundir.RecordFailure(p.Outcomes()[i].Dir, errors.New("why"), time.Now()))
		}
		want := []int{4, 3, 1, 0}[n]
		if done, err := p.Look(); err != nil || done != (want == 0) || p.Missing() != want || (p.Mark() == mark) != (n == 0) {
			t.Errorf("look %d: done %v, %v; %d are missing, want %d", n, done, err, p.Missing(), want)
		}
		mark = p.Mark()
	}
	if again, err := Prepare(t.Context(), dir, runs, false, nil); err != nil || again.Missing() != 0 || !again.Outcomes()[2].Before {
		t.Errorf("later: %+v, %v", again, err)
	}
	if again, err := Prepare(t.Context(), dir, runs, true, nil); err != nil || again.Missing() != 4 {
		t.Errorf("with retry: %+v, %v", again, err)
	}
}

// An unfinished run is damaged only if one of its files is.
func TestDamaged(t *testing.T) {
	broken := fmt.Errorf("results: %w", &rundir.DamagedError{Path: "x", Err: errors.New("why")})
	for _, c := range []struct {
		state   State
		problem error
		want    bool
	}{
		{Damaged, nil, true}, {Damaged, broken, true}, {Unfinished, broken, true}, {Unfinished, nil, false}, {Unfinished, errors.New("late"), false},
		{Finished, nil, false}, {Failed, errors.New("late"), false}, {Failed, broken, false},
	} {
		if e := (Entry{State: c.state, Problem: c.problem}); e.Damaged() != c.want {
			t.Errorf("%s, %v: damaged is %v", c.state, c.problem, e.Damaged())
		}
	}
}
