package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/tfevents"
	"github.com/unravel-ml/unravel/train/rundir"
)

var seconds = regexp.MustCompile(`"seconds":[^,]*,`)

// endingOptions cover the work at the end of an epoch: evaluation, early stopping, checkpoints.
var endingOptions = []string{"metrics.every=1", "train.stop={metric: dlsbd, patience: 50}", "train.clip=20", "train.warmup=1.5",
	"train.schedule=cosine", "train.optimizer.adam.decay=0.01", "train.average={decay: 0.9}", "train.accumulate=2",
	"train.keep={best: dlsbd, last: 3}"}

// A run stopped at any of its many stopping points and continued ends like an uninterrupted run.
func TestStopAnywhere(t *testing.T) {
	long.NotShort(t)
	c := load(t, endingOptions...)
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole")
	trainIn(t, whole, c, false)
	want, wantLog := bits(t, whole), logged(t, whole)
	step := 11
	if long.Enabled() {
		step = 1
	}
	for n := 0; ; n += step {
		at := filepath.Join(dir, fmt.Sprint(n))
		_, err := Run(endAfter(n), c, Options{Dir: at})
		if err == nil {
			if n < 3*tinySteps {
				t.Errorf("a run looks only %d times whether it is to stop", n)
			}
			break
		}
		if !errors.Is(err, ErrStopped) || strings.Contains(err.Error(), "--") || !strings.Contains(err.Error(), at) {
			t.Fatalf("stopped after %d looks: %v", n, err)
		}
		if _, _, err := readOne(filepath.Join(at, rundir.CheckpointFile)); err != nil {
			t.Fatalf("stopped after %d looks: no checkpoint: %v", n, err)
		}
		trainIn(t, at, c, true)
		sameBits(t, fmt.Sprintf("stopped after %d looks", n), bits(t, at), want)
		must.Equal(t, logged(t, at), wantLog, "stopped after", n, "looks: log")
	}
}

// The same holds for a run stopped repeatedly after a few steps.
func TestStopOften(t *testing.T) {
	long.NotShort(t)
	c := load(t, append(slices.Clone(endingOptions), "train.epochs=12")...)
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole")
	trainIn(t, whole, c, false)
	want, wantLog, wantEvents := bits(t, whole), logged(t, whole), scalars(t, whole)
	for _, n := range long.Sample([]int{72, 84, 96, 108}, 2) { // the two final evaluations, which a resumed run restarts, take fewer than 72 looks
		at := filepath.Join(dir, fmt.Sprint(n))
		stops := 0
		for stops < 100 {
			_, err := Run(endAfter(n), c, Options{Dir: at, Resume: true})
			if err == nil {
				break
			}
			if stops++; !errors.Is(err, ErrStopped) {
				t.Fatal(err)
			}
		}
		if stops < 2 || stops == 100 {
			t.Errorf("%d looks: stopped %d times", n, stops)
		}
		sameBits(t, fmt.Sprintf("%d stops", stops), bits(t, at), want)
		must.Equal(t, logged(t, at), wantLog, stops, "stops: log")
		must.Equal(t, scalars(t, at), wantEvents, stops, "stops: events")
	}
}

// A run killed at any moment and continued ends like an uninterrupted run. The moments are the run's looks at its
// context: after every step, before every epoch, and within evaluations.
func TestKilledAnywhere(t *testing.T) {
	long.NotShort(t)
	for _, checkpoint := range []string{"train.checkpoint=1e-9", "train.checkpoint=0.01", "train.checkpoint=0"} {
		t.Run(checkpoint, func(t *testing.T) {
			c := load(t, append(endingOptions, checkpoint)...)
			dir := t.TempDir()
			whole := filepath.Join(dir, "whole")
			var killed []string
			every := 15 // looks
			if long.Enabled() {
				every = 1
			}
			if checkpoint == "train.checkpoint=0" { // always from the beginning
				every += 10
			}
			snapshot := looks{context.Background(), everyOther(every, func() error {
				at := filepath.Join(dir, fmt.Sprint(len(killed)))
				killed = append(killed, at)
				return os.CopyFS(at, os.DirFS(whole))
			})}
			must.Get(Run(snapshot, c, Options{Dir: whole}))(t)
			want, wantLog, wantEvents := bits(t, whole), logged(t, whole), scalars(t, whole)
			for _, at := range killed {
				trainIn(t, at, c, true)
				sameBits(t, at, bits(t, at), want)
				must.Equal(t, logged(t, at), wantLog, at, "log")
				must.Equal(t, scalars(t, at), wantEvents, at, "events")
			}
		})
	}
}

// scalars lists the events of a run: step, tag, value.
func scalars(t testing.TB, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "events.out.tfevents.*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files of events: %v, %v", files, err)
	}
	f := must.Get(os.Open(files[0]))(t)
	defer f.Close()
	r := tfevents.NewReader(f)
	var b strings.Builder
	for {
		e, err := r.Next()
		if err == io.EOF {
			return b.String()
		}
		must.OK(t, err)
		for _, v := range e.Values {
			fmt.Fprintln(&b, e.Step, v.Tag, v.Scalar)
		}
	}
}

func TestEvents(t *testing.T) {
	dir := t.TempDir()
	r := trainIn(t, dir, load(t, "train.epochs=2"), false)
	got := scalars(t, dir)
	for _, want := range []string{
		fmt.Sprintln(0, tfevents.SessionStartTag, 0), fmt.Sprintln(16, tfevents.SessionEndTag, 0),
		fmt.Sprintln(16, "supervised/lsbd", float32(r.Losses["supervised"]["lsbd"])),
		fmt.Sprintln(16, "unsupervised/loss", float32(r.Losses["unsupervised"]["loss"])),
		fmt.Sprintln(16, "metrics/dlsbd", float32(r.Metrics[0].Value)),
	} {
		if !strings.Contains(got, want) {
			t.Errorf("events lack %q:\n%s", want, got)
		}
	}
	must.Equal(t, strings.Count(got, "\n"), 2*7+3, "events")
}

// Longer training equals a continued shorter training.
func TestLongerTraining(t *testing.T) {
	dir := t.TempDir()
	whole, parts := filepath.Join(dir, "whole"), filepath.Join(dir, "parts")
	trainIn(t, whole, load(t), false)
	trainIn(t, parts, load(t, "train.epochs=1"), false)
	trainIn(t, parts, load(t, "train.threads=1"), true)
	sameBits(t, "continued", bits(t, parts), bits(t, whole))
}

// Continuing a finished run leaves it unchanged and measures it again.
func TestResumeFinished(t *testing.T) {
	dir := t.TempDir()
	first := trainIn(t, dir, load(t), false)
	want, wantLog := bits(t, dir), logged(t, dir)
	again := trainIn(t, dir, load(t), true)
	sameBits(t, "again", bits(t, dir), want)
	must.Equal(t, logged(t, dir), wantLog, "log")
	again.Seconds = first.Seconds
	if !reflect.DeepEqual(again, first) {
		t.Errorf("result %+v, want %+v", again, first)
	}
}

// A continued run does not train after early stopping.
func TestResumeStoppedEarly(t *testing.T) {
	dir := t.TempDir()
	early := []string{"metrics.every=1", "train.stop={metric: dlsbd, reach: 2}"}
	must.Equal(t, trainIn(t, dir, load(t, early...), false).Epochs, 1, "trained epochs")
	want := bits(t, dir)
	must.Equal(t, trainIn(t, dir, load(t, early...), true).Epochs, 1, "continued epochs")
	sameBits(t, "continued", bits(t, dir), want)
	must.Equal(t, trainIn(t, dir, load(t), true).Epochs, 3, "epochs without the early stop")
	whole := t.TempDir()
	trainIn(t, whole, load(t), false)
	got, all := bits(t, dir), bits(t, whole)
	delete(got, "counters") // they contain the observations of early stopping
	delete(all, "counters")
	sameBits(t, "without the early stop", got, all)
}

func TestSameTraining(t *testing.T) {
	a := load(t)
	for _, o := range []string{"train.epochs=9", "train.threads=2", "metrics.every=1", "train.checkpoint=1", "train.figures=true", "metrics=[]"} {
		if err := a.sameTraining(load(t, o)); err != nil {
			t.Errorf("%s: %v", o, err)
		}
	}
	for _, o := range []string{"seed=2", "train.batch=16", "train.clip=1", "train.warmup=1", "train.optimizer.adam.lr=1", "train.schedule=cosine",
		"dataset.square.side=5", "supervision.pairs.count=31", "losses.1.kl.weight=2", "model.lsbd-vae.stop_gradient=true", "losses=[kl]"} {
		must.Error(t, a.sameTraining(load(t, o)), "resumed with the config", o)
	}
	for o, want := range map[string]string{
		"train.precision=mixed": "train.precision: the run began with float32, now mixed", "train.clip=1": "train.clip: the run began with 0.0, now 1.0",
		"train.average={decay: 0.5}": "train.average: the run began without it, now {decay: 0.5", "train.schedule=cosine": "train.schedule: the run began with constant, now cosine",
		"losses.1.kl.weight=2": "losses.1.kl.weight: the run began with ", "losses=[kl]": "losses: the run began with [",
	} {
		must.Error(t, a.sameTraining(load(t, o)), ": "+want, o, want)
		must.Error(t, load(t, o).sameTraining(a), ": "+want[:strings.Index(want, ":")]+": ", o)
	}
	dir := t.TempDir()
	trainIn(t, dir, a, false)
	_, err := Run(context.Background(), load(t, "seed=2"), Options{Dir: dir, Resume: true})
	var mistake *config.Error
	if !errors.As(err, &mistake) || !strings.Contains(err.Error(), "seed: the run began with 1, now 2") {
		t.Errorf("continued with another seed: %v", err)
	}
}

func TestFolderIsTaken(t *testing.T) {
	dir := t.TempDir()
	trainIn(t, dir, load(t), false)
	_, err := Run(context.Background(), load(t), Options{Dir: dir})
	if !errors.Is(err, rundir.ErrExists) || strings.Contains(err.Error(), "--") || !strings.Contains(err.Error(), dir) {
		t.Errorf("a second run in a folder: %v", err)
	}
	held := must.Get(rundir.Open(dir))(t)
	defer held.Close()
	if _, err = Run(context.Background(), load(t), Options{Dir: dir, Resume: true}); !errors.Is(err, rundir.ErrLocked) {
		t.Errorf("a run that another process holds: %v", err)
	}
}

// Threads change nothing, and seeds change everything.
func TestDeterminism(t *testing.T) {
	long.NotShort(t)
	for _, kind := range []struct {
		name    string
		options []string
	}{
		{"mlp", nil},
		{"conv64", []string{"dataset.square={size: 32, side: 8, step: 8}", "supervision.pairs.count=4", "model.lsbd-vae.encoder=conv64", "train.epochs=2"}},
	} {
		t.Run(kind.name, func(t *testing.T) {
			run := func(options ...string) map[string]string {
				dir := t.TempDir()
				trainIn(t, dir, load(t, slices.Concat(kind.options, options)...), false)
				return bits(t, dir)
			}
			one := run("train.threads=1")
			sameBits(t, "2 threads", run("train.threads=2"), one)
			sameBits(t, "5 threads", run("train.threads=5"), one)
			other := run("seed=2")
			for name, b := range one {
				if strings.HasSuffix(name, "/weight") && other[name] == b {
					t.Errorf("%s is the same with another seed", name)
				}
			}
		})
	}
}
