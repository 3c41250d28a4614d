package train

import (
	"context"
	"errors"
	"testing"

	"github.com/unravel-ml/unravel/train/engine"
)

// A program's hook observes the training of a run, may end it, and keeps its state across sessions. A run ended by a
// hook is finished, with the bits of uninterrupted training up to this point.
func TestRunHooks(t *testing.T) {
	plain, dir := t.TempDir(), t.TempDir()
	trainIn(t, plain, load(t, "train.epochs=2"), false)
	var seen int
	counting := func() engine.Hook {
		return engine.Hook{Name: "count", State: &seen, OnStep: func(_ context.Context, l *engine.Loop, r *engine.StepReport) error {
			if seen++; seen == 2*tinySteps {
				l.Stop("enough")
			}
			return nil
		}}
	}
	_, err := Run(endAfter(7), load(t), Options{Dir: dir, Hooks: []engine.Hook{counting()}})
	if !errors.Is(err, ErrStopped) || seen == 0 || seen >= 2*tinySteps {
		t.Fatalf("%v after %d steps", err, seen)
	}
	seen = 0 // another session reads it from the checkpoint
	r, err := Run(t.Context(), load(t), Options{Dir: dir, Resume: true, Hooks: []engine.Hook{counting()}})
	if err != nil || r.Epochs != 2 || r.Steps != 2*tinySteps || seen != r.Steps {
		t.Fatalf("%+v, %v; %d steps were counted", r, err, seen)
	}
	got, want := bits(t, dir), bits(t, plain)
	sameBits(t, "a run that a hook ended", got, want)
	if again := trainIn(t, dir, load(t), true); again.Steps != r.Steps || again.Metrics[0].Value != r.Metrics[0].Value {
		t.Errorf("a finished run goes on: %+v", again)
	}
	broken := errors.New("broken")
	_, err = Run(t.Context(), load(t),
		Options{Dir: t.TempDir(), Hooks: []engine.Hook{{Name: "mine", OnStart: func(context.Context, *engine.Loop) error { return broken }}}})
	if !errors.Is(err, broken) || err.Error() != "mine: broken" {
		t.Errorf("error %v", err)
	}
}
