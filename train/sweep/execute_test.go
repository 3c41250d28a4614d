package sweep_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
	. "github.com/unravel-ml/unravel/train/sweep"
)

// counting trains runs in this process and counts them.
func counting(count *atomic.Int64) Starter {
	return func(ctx context.Context, dir string, threads int, report func(done, all int)) error {
		err := InProcess(ctx, dir, threads, report)
		if !errors.Is(err, rundir.ErrLocked) {
			count.Add(1)
		}
		return err
	}
}

// metricsOf returns the metrics files in a folder of runs, by run.
func metricsOf(t testing.TB, dir string) map[string]string {
	t.Helper()
	entries := must.Get(Scan(dir))(t)
	files := map[string]string{}
	for _, e := range entries {
		if text, err := os.ReadFile(filepath.Join(e.Dir, rundir.MetricsFile)); err == nil {
			files[e.Name] = string(text)
		}
	}
	return files
}

func TestExecute(t *testing.T) {
	planned, dir := runsOf(t, four), filepath.Join(t.TempDir(), "a", "sweep")
	var made atomic.Int64
	var last Status
	o := Options{Jobs: 2, Start: counting(&made), Observe: func(s Status) { last = s }}
	outcomes, err := Execute(context.Background(), dir, planned, o)
	if err != nil || made.Load() != 4 || last.Finished != 4 || last.Part != 1 || last.Running != 0 {
		t.Fatalf("%v, %d made, %+v", err, made.Load(), last)
	}
	for i, out := range outcomes {
		if out.State != Finished || out.Before || out.Run.Name != planned[i].Name || out.Record.Steps == 0 ||
			len(out.Metrics) != 1 || out.Fit == nil || out.Record.Machine.Cores < 1 {
			t.Errorf("%+v", out)
		}
	}
	more := runsOf(t, "seeds: [0, 1, 2]\nproduct: {losses.1.kl.weight: [1, 2]}")
	outcomes, err = Execute(context.Background(), dir, more, o)
	if err != nil || made.Load() != 6 {
		t.Errorf("two more: %v, %d made", err, made.Load())
	}
	must.Equal(t, len(slices.DeleteFunc(outcomes, func(o Outcome) bool { return !o.Before })), 4, "were there before")
	if got, err := Execute(context.Background(), dir, nil, o); err != nil || len(got) != 0 {
		t.Errorf("no runs: %v", err)
	}
	// A renamed folder still contains the same run.
	must.OK(t, os.Rename(filepath.Join(dir, planned[0].Name), filepath.Join(dir, "other")))
	if _, err := Execute(context.Background(), dir, planned, o); err != nil || made.Load() != 6 {
		t.Errorf("renamed: %v, %d made", err, made.Load())
	}
}

// A task of several starts with its own runs, then takes the runs behind them, and last the runs before them.
func TestOrderOfTask(t *testing.T) {
	planned := runsOf(t, "seeds: [0, 1, 2, 3, 4, 5]")
	var order []int
	start := func(_ context.Context, dir string, _ int, _ func(done, all int)) error {
		order = append(order, slices.IndexFunc(planned, func(r Run) bool { return r.Name == filepath.Base(dir) }))
		return errors.New("no training in this test")
	}
	must.Get(Execute(context.Background(), t.TempDir(), planned, Options{Jobs: 1, Start: start, Index: 2, Of: 3}))(t)
	must.EqualSlices(t, order, []int{2, 5, 3, 4, 0, 1}, "order")
}

// A failed run is recorded, and the other runs continue. It is trained again only on request.
func TestFailure(t *testing.T) {
	planned, dir := runsOf(t, four), t.TempDir()
	var made atomic.Int64
	broken := true
	start := func(ctx context.Context, path string, threads int, report func(done, all int)) error {
		made.Add(1)
		if filepath.Base(path) == planned[1].Name && broken {
			return errors.New("out of memory")
		}
		if filepath.Base(path) == planned[2].Name && broken {
			return nil // it reports success without a result
		}
		return InProcess(ctx, path, threads, report)
	}
	for round, want := range []struct {
		retry, broken bool
		made          int64
		failed        int
	}{{false, true, 4, 2}, {false, false, 4, 2}, {true, true, 6, 2}, {true, false, 8, 0}} {
		broken = want.broken
		var said strings.Builder
		outcomes, err := Execute(context.Background(), dir, planned, Options{Start: start, Retry: want.retry,
			Log: plain.Logger(&said)})
		failed := 0
		for _, o := range outcomes {
			if o.State == Failed {
				failed++
			}
		}
		if err != nil || made.Load() != want.made || failed != want.failed {
			t.Fatalf("round %d: %v, %d made, %d failed, %q", round, err, made.Load(), failed, said.String())
		}
		if round == 0 && (outcomes[1].Problem.Error() != "out of memory" ||
			!strings.Contains(said.String(), planned[1].Name+" failed: out of memory")) {
			t.Errorf("%v, %q", outcomes[1].Problem, said.String())
		}
		if e := Read(filepath.Join(dir, planned[1].Name)); round == 0 && (e.State != Failed || e.Record.Error != "out of memory") {
			t.Errorf("recorded: %+v", e)
		}
	}
}

// A mistake or a panic at the start of a run is a failure of this run.
func TestFailureInside(t *testing.T) {
	planned := runsOf(t, "product: {train.optimizer.adam.lr: [0.001, 1e30]}")
	outcomes, err := Execute(context.Background(), t.TempDir(), planned, Options{})
	if err != nil || outcomes[0].State != Finished || outcomes[1].State != Failed ||
		!strings.Contains(outcomes[1].Problem.Error(), "try a smaller learning rate") {
		t.Errorf("%v\n%+v\n%+v", err, outcomes[0].Problem, outcomes[1].Problem)
	}
}

// All mistakes in combinations of a config's parts are found before the first run.
func TestMistakesBefore(t *testing.T) {
	planned := runsOf(t, `
seeds: [1, 2]
product: {train.hold_out: [0, 0.1], metrics.sample: [0, 20], metrics.during: [[], [total-correlation]]}
set: {supervision: {pairs: {count: 4}}, model: {lsbd-vae: {encoder: {mlp: {hidden: [4]}}}}, metrics.final: [{sap: {train_rows: 60}}], metrics.images: 2}`)
	dir := filepath.Join(t.TempDir(), "sweep")
	var made atomic.Int64
	_, err := Execute(context.Background(), dir, planned, Options{Start: counting(&made)})
	var mistake *config.Error
	if !errors.As(err, &mistake) || made.Load() != 0 {
		t.Fatalf("%d runs were made: %v", made.Load(), err)
	}
	if text := err.Error(); strings.Count(text, "train.hold_out: ") != 4 || strings.Count(text, "metric sap: ") != 2 ||
		strings.Count(text, "metric total-correlation: ") != 1 || strings.Contains(text, "seed2") {
		t.Error(text)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a folder: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Execute(ctx, dir, planned, Options{}); !errors.Is(err, train.ErrStopped) {
		t.Error(err)
	}
}

// A damaged run is trained again, unless the folder may contain something else.
func TestDamage(t *testing.T) {
	long.NotShort(t)
	planned, clean := runsOf(t, four), t.TempDir()
	must.Get(Execute(context.Background(), clean, planned, Options{}))(t)
	want := metricsOf(t, clean)
	type damage struct {
		file, text string
		made       int64
		folders    int
	}
	for _, test := range long.Sample([]damage{
		{rundir.RecordFile, "{", 1, 4}, {rundir.RecordFile, `{"config": "other"}`, 1, 4}, {rundir.MetricsFile, "[{", 1, 4}, {rundir.MetricsFile, "[]", 1, 4}, {rundir.MetricsFile, "", 1, 4},
		{rundir.FitFile, "x", 1, 4}, {rundir.Config, "name: [", 1, 5}, {"checkpoint.safetensors", "x", 0, 4}, {"log.jsonl", "x\n", 0, 4},
	}, 5) {
		dir := filepath.Join(t.TempDir(), "sweep")
		must.OK(t, os.CopyFS(dir, os.DirFS(clean)))
		must.Write(t, filepath.Join(dir, planned[0].Name, test.file), test.text)
		var made atomic.Int64
		outcomes, err := Execute(context.Background(), dir, planned, Options{Start: counting(&made)})
		if err != nil || made.Load() != test.made || outcomes[0].State != Finished {
			t.Errorf("%s %q: %v, %d made, %+v", test.file, test.text, err, made.Load(), outcomes[0].Problem)
			continue
		}
		got := metricsOf(t, dir)
		if again := got[filepath.Base(outcomes[0].Dir)]; len(got) != test.folders || again != want[planned[0].Name] {
			t.Errorf("%s %q: %d folders, metrics %q", test.file, test.text, len(got), again)
		}
	}
}

// Two sweeps of one folder share the runs.
func TestTwoAtOnce(t *testing.T) {
	long.NotShort(t)
	planned, dir := runsOf(t, "seeds: [0, 1, 2, 3, 4, 5]"), t.TempDir()
	var made [2]atomic.Int64
	done := make(chan error, 2)
	for i := range 2 {
		go func() {
			outcomes, err := Execute(context.Background(), dir, planned, Options{Jobs: 1 + i, Start: counting(&made[i])})
			for _, o := range outcomes {
				if err == nil && o.State != Finished {
					err = fmt.Errorf("%s is %s: %w", o.Run.Name, o.State, o.Problem)
				}
			}
			done <- err
		}()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if a, b := made[0].Load(), made[1].Load(); a+b != 6 {
		t.Errorf("%d and %d runs were made", a, b)
	}
	if got := metricsOf(t, dir); len(got) != 6 {
		t.Errorf("folders: %v", got)
	}
}
