package sweep_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
	. "github.com/unravel-ml/unravel/train/sweep"
)

// made trains or resumes a run of tiny. It ignores errors of resuming.
func made(t testing.TB, dir string, resume bool, overrides ...string) {
	t.Helper()
	c, err := train.Load("tiny.yaml", []byte(tiny), overrides...)
	must.OK(t, err)
	if _, err = train.Run(context.Background(), c, train.Options{Dir: dir, Resume: resume}); err != nil && !resume {
		t.Fatal(err)
	}
}

// edited replaces a text in a file of the run. The text must exist.
func edited(t testing.TB, dir, name, old, now string) {
	t.Helper()
	path := filepath.Join(dir, name)
	text, err := os.ReadFile(path)
	if err == nil && !strings.Contains(string(text), old) {
		err = fmt.Errorf("%s lacks %q:\n%s", path, old, text)
	}
	if err == nil {
		err = os.WriteFile(path, []byte(strings.Replace(string(text), old, now, 1)), 0o666)
	}
	must.OK(t, err)
}

// A sweep does not accept a run with the same config but a different history. It trains its run in another folder. It
// accepts a run with the same parameters.
func TestHistory(t *testing.T) {
	long.NotShort(t)
	const lr = "set: {train.optimizer.adam.lr: 0.3}"
	for _, x := range long.Sample([]struct {
		name, plan string
		prepare    func(dir string)
		own        bool
	}{
		{"an edited config", lr, func(dir string) {
			made(t, dir, false)
			edited(t, dir, rundir.Config, "lr: 0.001", "lr: 0.3")
		}, false},
		{"an edited config, resumed", lr, func(dir string) {
			made(t, dir, false)
			edited(t, dir, rundir.Config, "lr: 0.001", "lr: 0.3")
			made(t, dir, true, "train.optimizer.adam.lr=0.3")
		}, false},
		{"an edited config of a failed run", lr, func(dir string) {
			made(t, dir, false)
			edited(t, dir, rundir.Config, "lr: 0.001", "lr: 0.3")
			must.OK(t, rundir.RecordFailure(dir, errors.New("why"), time.Now()))
		}, false},
		{"an edited config of an unfinished run without the copy of its state", lr, func(dir string) {
			made(t, dir, false)
			edited(t, dir, rundir.Config, "lr: 0.001", "lr: 0.3")
			must.OK(t, errors.Join(os.Remove(filepath.Join(dir, rundir.RecordFile)), os.Remove(filepath.Join(dir, rundir.StateFile))))
		}, false},
		{"another seed", "seeds: [3]", func(dir string) {
			made(t, dir, false)
			edited(t, dir, rundir.Config, "seed: 0", "seed: 3")
		}, false},
		{"another data set", "set: {dataset.square.side: 3}", func(dir string) {
			made(t, dir, false)
			edited(t, dir, rundir.Config, "side: 2", "side: 3")
		}, false},
		{"fewer epochs", "set: {train.epochs: 1}", func(dir string) {
			made(t, dir, false)
			made(t, dir, true, "train.epochs=1")
			edited(t, dir, rundir.Config, "epochs: 2", "epochs: 1")
		}, false},
		{"fewer epochs, recorded by a code without histories", "set: {train.epochs: 1}", func(dir string) {
			made(t, dir, false)
			edited(t, dir, rundir.Config, "epochs: 2", "epochs: 1")
			withoutHashes(t, dir, func(r *rundir.Record) { r.History = nil })
		}, false},
		{"a longer schedule", "set: {train.epochs: 4, train.schedule: cosine}", func(dir string) {
			made(t, dir, false, "train.schedule=cosine")
			made(t, dir, true, "train.schedule=cosine", "train.epochs=4")
		}, false},
		{"a stop", "set: {metrics.every: 1, train.stop: {metric: dlsbd, patience: 1}}", func(dir string) {
			made(t, dir, false, "metrics.every=1")
			made(t, dir, true, "metrics.every=1", "train.stop={metric: dlsbd, patience: 1}")
		}, false},
		{"a stop in an edited config", "set: {metrics.every: 1, train.stop: {metric: dlsbd, patience: 1}}", func(dir string) {
			made(t, dir, false, "metrics.every=1")
			edited(t, dir, rundir.Config, "stop: null", "stop: {metric: dlsbd, patience: 1}")
		}, false},
		{"a history that was cut", "", func(dir string) {
			made(t, dir, false)
			withoutHashes(t, dir, func(r *rundir.Record) { r.History[0].To-- })
		}, false},
		{"more epochs", "set: {train.epochs: 4}", func(dir string) {
			made(t, dir, false)
			made(t, dir, true, "train.epochs=4")
		}, true},
		{"other threads", "", func(dir string) {
			made(t, dir, false, "train.threads=1", "train.epochs=1")
			made(t, dir, true, "train.threads=2", "name=other")
		}, true},
		{"without a history", "", func(dir string) {
			made(t, dir, false)
			withoutHashes(t, dir, func(r *rundir.Record) { r.History = nil })
		}, true},
	}, 8) {
		t.Run(x.name, func(t *testing.T) {
			dir, direct := t.TempDir(), t.TempDir()
			x.prepare(filepath.Join(dir, "old"))
			before := metricsOf(t, dir)
			var said strings.Builder
			runs := runsOf(t, x.plan)
			for again := range 2 {
				outcomes := must.Get(Execute(context.Background(), dir, runs, Options{Log: plain.Logger(&said)}))(t)
				o := outcomes[0]
				if own := filepath.Base(o.Dir) == "old"; own != x.own || o.State != Finished || o.Before != (x.own || again == 1) ||
					o.Entry.Hash != o.Run.Hash || o.Other != "" {
					t.Errorf("%s: %s, before %v: %v %q", o.Dir, o.State, o.Before, o.Problem, o.Other)
				}
			}
			if told := strings.Contains(said.String(), "it is not the run "); told == x.own {
				t.Errorf("it says %q", said.String())
			}
			must.Get(Execute(context.Background(), direct, runs, Options{}))(t)
			for _, want := range metricsOf(t, direct) {
				for name, got := range metricsOf(t, dir) {
					if mine := (name == "old") == x.own; mine && got != want {
						t.Errorf("%s: %s\nwant %s", name, got, want)
					}
				}
			}
			must.Equal(t, metricsOf(t, dir)["old"], before["old"], "the old results have changed")
		})
	}
}

// An edited record does not count. A sweep completes the run again, with the history in the checkpoint.
func TestEditedRecord(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "old")
	made(t, old, false, "train.schedule=cosine")
	made(t, old, true, "train.schedule=cosine", "train.epochs=4")
	want := Read(old)
	edited(t, old, rundir.RecordFile, `"other": "`, `"other": "","unknown": "`)
	if e := Read(old); e.State != Unfinished || !e.Damaged() || e.Hash != want.Hash {
		t.Errorf("%s %s, %v; want the hash %s", e.State, e.Hash, e.Problem, want.Hash)
	}
	made(t, old, true, "train.schedule=cosine", "train.epochs=4")
	if e := Read(old); e.State != Finished || e.Hash != want.Hash || e.Other != want.Other {
		t.Errorf("%s %s, %v %s", e.State, e.Hash, e.Problem, e.Other)
	}
}

// withoutHashes changes the record of a finished run to look like a record of old code without hashes.
func withoutHashes(t testing.TB, dir string, change func(*rundir.Record)) {
	t.Helper()
	path := filepath.Join(dir, rundir.RecordFile)
	text, err := os.ReadFile(path)
	var r rundir.Record
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	config, also := os.ReadFile(filepath.Join(dir, rundir.Config))
	must.OK(t, errors.Join(err, also))
	r.Config, r.Files, r.Sum = rundir.FileHash(config), nil, ""
	change(&r)
	if text, err = json.Marshal(r); err == nil {
		err = os.WriteFile(path, text, 0o666)
	}
	must.OK(t, err)
}
