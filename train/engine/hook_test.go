package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/augment"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
)

// Hooks run at the start, after every step and epoch, and at the end, in the order of their priorities.
func TestHooks(t *testing.T) {
	l := loopOf(t, tiny, "train.epochs=2")
	var told []string
	note := func(name string, priority int) Hook {
		say := func(what string) { told = append(told, name+" "+what) }
		return Hook{Name: name, Priority: priority,
			OnStart: func(_ context.Context, l *Loop) error {
				say(fmt.Sprint("start ", l.Step(), "/", l.Steps()))
				return nil
			},
			OnStep: EverySteps(5, func(_ context.Context, l *Loop, r *StepReport) error {
				say(fmt.Sprint("step ", r.Step, " ", l.Step(), " ", l.InEpoch()))
				return nil
			}),
			OnEpoch: EveryEpochs(2, func(_ context.Context, l *Loop, r *EpochReport) error {
				say(fmt.Sprint("epoch ", r.Epoch, " ", l.Epoch()))
				return nil
			}),
			OnEnd: func(_ context.Context, _ *Loop, why error) error { say(fmt.Sprint("end ", why)); return nil }}
	}
	l.AddHook(note("b", 0), note("c", 1))
	l.AddHook(note("a", -1), Hook{OnStep: EveryImages(200, func(_ context.Context, _ *Loop, r *StepReport) error {
		told = append(told, fmt.Sprint("images ", r.Step*32))
		return nil
	})})
	must.OK(t, l.Run(context.Background()))
	var want []string
	for _, what := range []string{"start 0/16", "step 5 5 5", "images 224", "step 10 10 2", "images 416", "step 15 15 7", "epoch 2 2", "end <nil>"} {
		if strings.HasPrefix(what, "images") {
			want = append(want, what)
			continue
		}
		want = append(want, "a "+what, "b "+what, "c "+what)
	}
	must.EqualSlices(t, told, want, "hooks were told")
}

// A hook ends training without an error, and a second Run continues it.
func TestStop(t *testing.T) {
	l := loopOf(t, tiny)
	var end error = errors.New("not called")
	l.AddHook(Hook{OnStep: func(_ context.Context, l *Loop, r *StepReport) error {
		if r.Step == 11 {
			l.Stop("eleven")
		}
		return nil
	}, OnEnd: func(_ context.Context, _ *Loop, why error) error { end = why; return nil }})
	if err := l.Run(context.Background()); err != nil || end != nil || l.Step() != 11 || l.Epoch() != 1 || l.Stopped() != "eleven" {
		t.Errorf("%v, %v after %d steps and %d epochs: %q", err, end, l.Step(), l.Epoch(), l.Stopped())
	}
	if err := l.Run(context.Background()); err != nil || l.Step() != 3*tinySteps || l.Stopped() != "" {
		t.Errorf("%v after %d steps: %q", err, l.Step(), l.Stopped())
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	other := loopOf(t, tiny)
	broken := errors.New("broken")
	other.AddHook(Hook{Name: "last", OnEnd: func(_ context.Context, _ *Loop, why error) error { end = why; return broken }})
	if err := other.Run(ctx); !errors.Is(err, broken) || !errors.Is(end, ErrStopped) || err.Error() != "last: broken" {
		t.Errorf("%v, %v", err, end)
	}
}

// A loop saved at any step, with the state of its hooks, and loaded into another loop ends with the same bits.
func TestSave(t *testing.T) {
	long.NotShort(t)
	for _, source := range []string{tiny, judged, queued} {
		remembering := func(l *Loop, stop int) *int {
			seen := new(int)
			l.AddHook(Hook{Name: "count", State: seen, OnStep: func(_ context.Context, l *Loop, r *StepReport) error {
				if *seen++; r.Step == stop {
					l.Stop("")
				}
				return nil
			}})
			return seen
		}
		whole := loopOf(t, source, "train.epochs=2")
		steps := remembering(whole, 0)
		must.OK(t, whole.Run(context.Background()))
		var want bytes.Buffer
		must.OK(t, whole.Save(&want))
		state, _, err := whole.State()
		must.OK(t, err)
		if state.Step != *steps || state.Epoch != 2 || string(state.Hooks["count"]) != fmt.Sprint(*steps) {
			t.Errorf("%d steps: state %+v", *steps, state)
		}
		for _, stop := range stops(*steps) {
			first, second := loopOf(t, source, "train.epochs=2"), loopOf(t, source, "train.epochs=2")
			remembering(first, stop)
			seen := remembering(second, 0)
			var saved, got bytes.Buffer
			must.OK(t, errors.Join(first.Run(context.Background()), first.Save(&saved), second.Load(&saved)))
			must.OK(t, errors.Join(second.Run(context.Background()), second.Save(&got)))
			if *seen != *steps || !bytes.Equal(parameters(t, got.Bytes()), parameters(t, want.Bytes())) {
				t.Errorf("stopped after step %d: %d steps are remembered, or the bits differ", stop, *seen)
			}
		}
	}
	if err := loopOf(t, judged).Load(strings.NewReader("x")); err == nil {
		t.Error("what is no state is loaded")
	}
	l := loopOf(t, judged)
	for _, err := range []error{l.Restore(&State{}, nil), l.Restore(nil, struct{ Tensors }{})} {
		if err == nil || err.Error() != "there is no state, or there are no tensors, to restore" {
			t.Errorf("half a state: %v", err)
		}
	}
	var other bytes.Buffer
	if err := errors.Join(loopOf(t, judged).Save(&other), loopOf(t, tiny).Load(&other)); err == nil {
		t.Error("the state of another task is loaded")
	}
}

// parameters returns the bytes of a saved loop after its header, which contains times.
func parameters(t *testing.T, file []byte) []byte {
	t.Helper()
	at := bytes.Index(file, []byte(`}}`))
	size := int(file[0]) | int(file[1])<<8 | int(file[2])<<16
	if at < 0 || 8+size > len(file) {
		t.Fatal("no header")
	}
	return file[8+size:]
}

// An error names a missing or invalid part of a task.
func TestTaskMistakes(t *testing.T) {
	task, settings := taskOf(t, tiny)
	pixels := must.Get(datasets.FromPixels("others", make([]uint8, task.Data.Len()*4*4*3), 4, 4, 3, nil, nil))(t)
	task.Split, task.Losses = nil, losses.Unsupervised(task.Losses)
	for want, change := range map[string]func(*Task, *Settings){
		"model: there is none":                 func(t *Task, _ *Settings) { t.Model = nil },
		"dataset: there is none":               func(t *Task, _ *Settings) { t.Data = nil },
		"losses: there are none":               func(t *Task, _ *Settings) { t.Losses = nil },
		"train.batch: 0 images; want 1":        func(_ *Task, s *Settings) { s.Batch = 0 },
		"train.epochs: -1; want 0 or more":     func(_ *Task, s *Settings) { s.Epochs = -1 },
		"has images of 4 x 4 x 3; want a mod":  func(t *Task, _ *Settings) { t.Data = pixels },
		"train.optimizer: there is none; wan":  func(_ *Task, s *Settings) { s.Optimizer = nil },
		"train.schedule: there is none; want":  func(_ *Task, s *Settings) { s.Schedule = nil },
		"train.optimizer.lr: 0 is out of ran":  func(_ *Task, s *Settings) { s.Optimizer = &Adam{} },
		"train.optimizer.lr: NaN is out of r":  func(_ *Task, s *Settings) { s.Optimizer = &LARS{LR: math.NaN()} },
		"train.schedule.every: 0 epochs; wan":  func(_ *Task, s *Settings) { s.Schedule = &Step{} },
		"Unlabelled has image 999 after -1; w": func(t *Task, _ *Settings) { t.Split = &supervision.Split{Unlabelled: []int{999}} },
		"there are 1 groups and transformatio": func(t *Task, _ *Settings) { t.Split = &supervision.Split{M: 2, Groups: [][]int{{0, 1}}} },
		"views.count: 0 is out of range; want": func(t *Task, _ *Settings) { t.Views = &augment.Views{} },
		"losses.0.kl.weight: want a number fr": func(t *Task, _ *Settings) {
			t.Losses = []losses.Choice{{Name: "kl", Value: &losses.KLLoss{Weight: losses.Constant(-1)}}}
		},
	} {
		other, changed := task, settings
		change(&other, &changed)
		must.ErrorOf(New(other, changed))(t, want)
	}
	alone := Task{Model: task.Model, Data: task.Data, Losses: losses.Unsupervised(task.Losses), Seed: 1}
	l := must.Get(New(alone, NewSettings()))(t)
	defer l.Close()
	must.Equal(t, l.EpochImages(), 256, "images")
}
