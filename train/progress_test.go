package train

import (
	"bytes"
	"context"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/internal/watch"
)

// hookOf shows every step and epoch.
func hookOf(d *watch.Display) engine.Hook {
	return engine.Hook{OnStep: func(_ context.Context, _ *engine.Loop, r *engine.StepReport) error { d.Step(r); return nil },
		OnEpoch: func(_ context.Context, _ *engine.Loop, r *engine.EpochReport) error { d.Epoch(r); return nil }}
}

// The bar counts the steps of this session, shows both objectives, moves for other text and leaves the last losses.
func TestBar(t *testing.T) {
	loop := loopOf(t, load(t, "train.epochs=2"))
	var w bytes.Buffer
	must.OK(t, loop.RunEpoch(context.Background()))
	d := watch.BarDisplay(loop, &watch.Console{Log: plain.Logger(&w)}, &w, 300, 0)
	loop.AddHook(hookOf(d))
	must.OK(t, loop.Run(context.Background()))
	text := w.String()
	if !regexp.MustCompile(`epoch 2/2  supervised loss \d+\.\d+ \(reconstruction \S+, kl \S+, lsbd \S+\); unsupervised loss \S+ \(.*?\)  \d+ images/s +\d+% \|`).MatchString(text) || !strings.Contains(text, "/8, ") {
		t.Errorf("bar: %q", text)
	}
	last := func() string { text = w.String(); return text[strings.LastIndex(text, "\r")+1:] }
	d.Clear()
	if strings.TrimRight(last(), " ") != "" {
		t.Errorf("the line is not empty: %q", last())
	}
	d.End()
	if !regexp.MustCompile(`^epoch 2/2  supervised loss \S+ \(.*\); unsupervised loss \S+ \(.*\)  \d+ images/s\n$`).MatchString(last()) {
		t.Errorf("at the end: %q", last())
	}
}

// A bar fits a terminal of eighty columns.
func TestNarrowBar(t *testing.T) {
	loop := loopOf(t, load(t, "train.epochs=2"))
	var w bytes.Buffer
	loop.AddHook(hookOf(watch.BarDisplay(loop, &watch.Console{}, &w, 80, 0)))
	must.OK(t, loop.Run(context.Background()))
	if !regexp.MustCompile(`epoch 2/2  (loss )?\S+, \S+ +\d+% \|`).MatchString(w.String()) {
		t.Errorf("no losses of both objectives: %q", w.String())
	}
	for _, line := range strings.Split(w.String(), "\r") {
		if n := utf8.RuneCountInString(strings.TrimRight(line, " ")); n > 80 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
}

func TestLine(t *testing.T) {
	var w bytes.Buffer
	loop := loopOf(t, load(t, "train.epochs=1000000000"))
	d := watch.LineDisplay(loop, &watch.Console{Log: plain.Logger(&w)})
	loop.AddHook(hookOf(d))
	must.OK(t, loop.RunEpoch(context.Background()))
	if err := loop.RunEpoch(context.Background()); err != nil { // too early for another line
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && !regexp.MustCompile(`^epoch 1/1000000000  supervised loss \S+ \(reconstruction \S+, kl \S+, lsbd \S+\); unsupervised loss \S+ \(.*\)  \d+ images/s  \d+h\d+m\d+s left\n$`).MatchString(w.String()) {
		t.Errorf("progress: %q", w.String())
	}
	w.Reset()
	for range 2 { // epoch 2 has no line yet
		if d.End(); !strings.HasPrefix(w.String(), "epoch 2/1000000000  supervised loss ") || strings.Count(w.String(), "\n") != 1 {
			t.Errorf("at the end: %q", w.String())
		}
	}
}

// A line appears for the first and the last epoch, and every ten seconds. The time left follows from this session's
// steps.
func TestLineTimes(t *testing.T) {
	loop := loopOf(t, load(t, "train.epochs=9"))
	if err := loop.RunEpoch(t.Context()); err != nil { // an earlier session
		t.Fatal(err)
	}
	steps := loop.EpochSteps()
	synctest.Test(t, func(t *testing.T) {
		var w bytes.Buffer
		d := watch.LineDisplay(loop, &watch.Console{Log: plain.Logger(&w)})
		for _, c := range []struct {
			pause time.Duration
			epoch int
			want  string
		}{
			{7 * time.Second, 1, "epoch 1/9  loss 3  5 images/s  56s left\n"},
			{3 * time.Second, 2, ""},
			{7*time.Second - 1, 3, ""},
			{1, 4, "epoch 4/9  loss 3  5 images/s  21s left\n"}, // 4 epochs took 17 s
			{9 * time.Second, 9, "epoch 9/9  loss 3  5 images/s  0s left\n"},
		} {
			time.Sleep(c.pause)
			w.Reset()
			d.Epoch(&engine.EpochReport{Epoch: c.epoch, Of: 9, Step: steps * (1 + c.epoch), Images: 10, Seconds: 2,
				Losses: []engine.ObjectiveLoss{{Objective: "all", Names: []string{"loss"}, Values: []float64{3}}}})
			must.Equal(t, w.String(), c.want, "epoch", c.epoch)
		}
	})
}

// Without a log and a terminal, Activity is nil, and its methods still work.
func TestNoActivity(t *testing.T) {
	a := NewActivity(nil, nil)
	a.Begin("measuring", 3)
	a.Step(1, "mig")
	a.End()
	if a != nil {
		t.Error("something would be shown")
	}
}
