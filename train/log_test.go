package train

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train/rundir"
)

// The logger of a run receives events with names and values, and sentences for people.
func TestLog(t *testing.T) {
	var text bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&text, nil))
	c := load(t, "train.epochs=2", "metrics={final: [dlsbd], every: 1, during: [dlsbd]}")
	must.Get(Run(t.Context(), c, Options{Dir: t.TempDir() + "/run", Log: log}))(t)
	events := map[string]map[string]any{}
	for line := range strings.Lines(text.String()) {
		var e map[string]any
		must.OK(t, json.Unmarshal([]byte(line), &e))
		name, ok := e["event"].(string)
		if !ok || e["msg"] == "" {
			t.Errorf("an event without name or message: %s", line)
		}
		events[name] = e
	}
	for _, want := range []string{"run", "epoch", "measured"} {
		if events[want] == nil {
			t.Fatalf("no event %q in %s", want, text.String())
		}
	}
	if e := events["run"]; e["seed"] != 1. || e["dataset"] != "square" ||
		!strings.HasPrefix(e["msg"].(string), "tiny: lsbd-vae on square, seed 1, 2 epochs, into ") {
		t.Errorf("run: %v", e)
	}
	loss, ok := events["epoch"]["supervised"].(map[string]any)
	if e := events["epoch"]; !ok || e["epoch"] != 2. || e["step"] != 16. || loss["lsbd"] == nil {
		t.Errorf("epoch: %v", e)
	}
	if e := events["measured"]; e["dlsbd"] == nil || !slices.Contains([]any{1., 2.}, e["epoch"]) {
		t.Errorf("measured: %v", e)
	}
}

// The time of a run counts its evaluations during training. The evaluation at the end counts as finishing.
func TestTimeOfEvaluations(t *testing.T) {
	dir := t.TempDir() + "/run"
	must.Get(Run(t.Context(), load(t, "train.epochs=2", "metrics={final: [mig], every: 1, during: [dlsbd]}"), Options{Dir: dir}))(t)
	store := must.Get(rundir.View(dir))(t)
	evaluations, sum := 0, 0.
	must.OK(t, store.ReadLog(func(line rundir.Line) {
		sum += line.Seconds
		_, during := line.Metrics["dlsbd"]
		if during {
			evaluations++
		}
		if (line.Seconds > 0) != (during || line.Losses != nil) && runtime.GOOS != "windows" { // it has a coarse clock
			t.Errorf("a line with %v s: %v", line.Seconds, line)
		}
	}))
	r := must.Get(rundir.ReadRecord(dir))(t)
	times := map[string]float64{}
	for _, timing := range r.Timings {
		times[timing.Name] = timing.Seconds
	}
	if training := times[rundir.TrainingTiming]; evaluations != 2 || math.Abs(training-sum) > 1e-9 ||
		math.Abs(r.Seconds-training-times[rundir.FinishingTiming]) > 1e-9 {
		t.Errorf("%d evaluations, lines of %v s, %v in all: %v", evaluations, sum, r.Seconds, times)
	}
}
