package train

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
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
