package train

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/internal/cputime"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train/rundir"
)

const recorded = `
name: recorded
dataset: {square: {size: 8, side: 2}}
model: {vae: {latent: 2, encoder: {mlp: {hidden: [4]}}}}
losses: [{reconstruction: {}}, {kl: {weight: 1}}]
train: {epochs: 3, batch: 32, figures: false}
`

func loadRecorded(t *testing.T, overrides ...string) Config {
	t.Helper()
	return must.Get(Load("x.yaml", []byte(recorded), overrides...))(t)
}

// Only a finished run has a record, not a run that is in progress, changed or continued.
func TestRecord(t *testing.T) {
	dir, c := filepath.Join(t.TempDir(), "run"), loadRecorded(t)
	if r, err := rundir.ReadRecord(dir); r != nil || err != nil {
		t.Errorf("no run: %v, %v", r, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var steps []int
	_, err := Run(ctx, c, Options{Dir: dir, Progress: func(done, all int) {
		if steps = append(steps, done); all != 6 {
			t.Errorf("%d steps in all", all)
		}
		if done == 3 {
			stop()
		}
	}})
	if !errors.Is(err, ErrStopped) || len(steps) != 4 || steps[0] != 0 || steps[3] != 3 {
		t.Fatalf("%v, steps %v", err, steps)
	}
	if r, err := rundir.ReadRecord(dir); r != nil || err != nil {
		t.Errorf("a run that was stopped: %+v, %v", r, err)
	}
	must.OK(t, rundir.RecordFailure(dir, errors.New("why"), time.Now()))
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Run(stopped, c, Options{Dir: dir, Resume: true}); !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
	if r, err := rundir.ReadRecord(dir); r != nil || err != nil {
		t.Errorf("a run that failed, and goes on: %+v, %v", r, err)
	}
	steps = nil
	if _, err := Run(t.Context(), c,
		Options{Dir: dir, Resume: true, Progress: func(done, _ int) { steps = append(steps, done) }}); err != nil || steps[0] != 3 || len(steps) != 4 {
		t.Fatalf("%v, steps %v", err, steps)
	}
	r, err := rundir.ReadRecord(dir)
	if err != nil || r == nil || r.Epochs != 3 || r.Steps != 6 || r.Error != "" || r.Seconds <= 0 || r.CPU != 0 ||
		!r.Ended.After(r.Begun) || r.Machine.OS == "" || r.Machine.Threads < 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	must.OK(t, rundir.RecordFailure(dir, errors.New("why"), time.Now()))
	if r, err := rundir.ReadRecord(dir); err != nil || r == nil || r.Error != "why" {
		t.Errorf("failed: %+v, %v", r, err)
	}
	// A resumed run has no record until it ends again.
	ctx, stop = context.WithCancel(t.Context())
	stop()
	longer := loadRecorded(t, "train.epochs=4")
	if _, err := Run(ctx, longer, Options{Dir: dir, Resume: true}); !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
	if r, err := rundir.ReadRecord(dir); r != nil || err != nil {
		t.Errorf("resumed: %+v, %v", r, err)
	}
	must.Get(Run(t.Context(), longer, Options{Dir: dir, Resume: true}))(t)
	must.Write(t, filepath.Join(dir, rundir.Config), recorded)
	if r, err := rundir.ReadRecord(dir); r != nil || !errors.Is(err, rundir.ErrChanged) {
		t.Errorf("its config was changed: %+v, %v", r, err)
	}
	must.Write(t, filepath.Join(dir, rundir.RecordFile), "{")
	if _, err := rundir.ReadRecord(dir); err == nil || !strings.HasPrefix(err.Error(), filepath.Join(dir, rundir.RecordFile)+": ") {
		t.Errorf("damaged: %v", err)
	}
	if err := rundir.RecordFailure(filepath.Join(dir, "none"), errors.New("why"), time.Now()); !errors.Is(err, rundir.ErrNoRun) {
		t.Errorf("no run: %v", err)
	}
}

// The record of a run in one session has its core time, which excludes other work on the cores. It is at most the wall
// time times the number of cores.
func TestRecordCPU(t *testing.T) {
	if cputime.Process() == 0 {
		t.Skip("the system does not tell")
	}
	dir := filepath.Join(t.TempDir(), "run")
	must.Get(Run(t.Context(), loadRecorded(t), Options{Dir: dir}))(t)
	r, err := rundir.ReadRecord(dir)
	if _, err := os.Stat(filepath.Join(dir, rundir.DataFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a run on drawn images records files of its data: %v", err)
	}
	if err != nil || r.CPU <= 0 || r.CPU > 2*r.Ended.Sub(r.Begun).Seconds()*float64(r.Machine.Cores) {
		t.Errorf("%+v, %v", r, err)
	}
}
