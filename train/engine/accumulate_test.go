package engine

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// small has 64 images and a loss that averages over images.
const small = `
dataset: {square: {size: 16, side: 5, step: 2}}
model: {ae: {latent: 3, encoder: {mlp: {hidden: [8]}}}}
losses: [reconstruction]
train: {epochs: 3, batch: 24, optimizer: {sgd: {lr: 0.1}}}
`

// runLoop trains a task to its end, and calls onStep after each step.
func runLoop(t *testing.T, source string, onStep func(*Loop, *StepReport), overrides ...string) *Loop {
	t.Helper()
	l := loopOf(t, source, overrides...)
	l.AddHook(Hook{OnStep: func(_ context.Context, l *Loop, r *StepReport) error {
		if onStep != nil {
			onStep(l, r)
		}
		return nil
	}})
	must.OK(t, l.Run(context.Background()))
	return l
}

// An update with k batches of n images equals an update with one batch of k n images, with the same schedule, warm-up
// and clipping, even with smaller last batches.
func TestAccumulate(t *testing.T) {
	for _, schedule := range [][]string{nil, {"train.schedule=cosine", "train.warmup=1.5", "train.clip=0.05"},
		{"train.schedule={step: {every: {steps: 2}}}", "train.warmup={steps: 3}"}} {
		overrides := append([]string{"train.epochs=3"}, schedule...)
		with := func(more ...string) []string { return append(slices.Clone(overrides), more...) }
		var rates, norms []float64
		one := runLoop(t, small, func(_ *Loop, r *StepReport) {
			rates, norms = append(rates, r.Rate), append(norms, r.GradientNorm)
		}, with("train.batch=24")...)
		start := weightsOf(loopOf(t, small, overrides...))
		updates := 0
		many := runLoop(t, small, func(l *Loop, r *StepReport) {
			must.Equal(t, l.updatesSoFar(), updates+1, "updates have begun")
			if r.Accumulating {
				return
			}
			if !(math.Abs(r.Rate-rates[updates]) <= 1e-12) || !(math.Abs(r.GradientNorm-norms[updates]) <= 1e-4*norms[updates]) {
				t.Errorf("%v: update %d has a rate of %v and a norm of %v, want %v and %v",
					schedule, updates+1, r.Rate, r.GradientNorm, rates[updates], norms[updates])
			}
			updates++
		}, with("train.batch=8", "train.accumulate=3")...)
		if updates != len(rates) || updates != one.Step() || many.Step() <= 2*updates || one.EpochImages()%24 == 0 || one.EpochImages()%8 != 0 {
			t.Fatalf("%d updates in %d steps of %d images an epoch, want %d", updates, many.Step(), one.EpochImages(), len(rates))
		}
		a, b := weightsOf(one), weightsOf(many)
		for name := range a {
			var off, way float64
			for i, v := range a[name] {
				off = max(off, math.Abs(float64(v-b[name][i])))
				way = max(way, math.Abs(float64(v-start[name][i])))
			}
			if !(off <= 1e-4*way) {
				t.Errorf("%v: %s differs by %v after a way of %v", schedule, name, off, way)
			}
		}
	}
}

// The batches of a group have the same objective and epoch.
func TestAccumulateObjectives(t *testing.T) {
	var got []string
	l := runLoop(t, tiny, func(_ *Loop, r *StepReport) {
		if !r.Accumulating {
			got = append(got, fmt.Sprintf("%d %s %.3f", r.Step, r.Objective, r.Rate))
		}
	}, "train.epochs=2", "train.accumulate=4", "train.schedule=linear")
	must.Equal(t, fmt.Sprint(got),
		"[2 supervised 1.000 6 unsupervised 0.833 8 unsupervised 0.667 10 supervised 0.500 14 unsupervised 0.333 16 unsupervised 0.167]", "updates after steps, with their rates")
	must.Equal(t, l.pos.updates, 6, "updates")
}

// A loop stopped after any step continues to the same bits, even within a group, with discriminators, queues and two
// objectives.
func TestAccumulateResume(t *testing.T) {
	long.NotShort(t)
	for name, c := range map[string]struct {
		source    string
		overrides []string
	}{
		"objectives":     {tiny, []string{"train.epochs=2"}},
		"discriminators": {judged, []string{"train.epochs=2"}},
		"second batches": {judged, append([]string{"train.epochs=2"}, secondBatch...)},
		"queue":          {queued, []string{"train.epochs=2", "train.optimizer=lars"}},
		"parts":          {tiny, []string{"train.epochs=2", "train.optimizer=lamb", "train.parts=[{match: decoder/*, lr: 0.1}]"}},
	} {
		t.Run(name, func(t *testing.T) {
			overrides := append(slices.Clone(c.overrides), "train.accumulate=3")
			states, waiting := [][]byte{}, 0
			whole := runLoop(t, c.source, func(l *Loop, r *StepReport) {
				if r.Accumulating {
					waiting++
				}
				var b bytes.Buffer
				must.OK(t, l.Save(&b))
				states = append(states, b.Bytes())
			}, overrides...)
			want := weightsOf(whole)
			if waiting == 0 {
				t.Fatal("no step waits for others")
			}
			for _, stop := range stops(len(states)) {
				l := loopOf(t, c.source, overrides...)
				must.OK(t, l.Load(bytes.NewReader(states[stop-1])))
				must.OK(t, l.Run(context.Background()))
				if got := weightsOf(l); !sameWeights(got, want) {
					t.Errorf("stopped after step %d: other weights", stop)
				}
			}
		})
	}
}

// Parameters, discriminators and EMA targets change with updates, and queues with batches.
func TestAccumulateFollows(t *testing.T) {
	before := weightsOf(loopOf(t, queued))
	steps := 0
	runLoop(t, queued, func(l *Loop, r *StepReport) {
		now := weightsOf(l)
		for name, x := range now {
			moves, batchwise := !slices.Equal(x, before[name]), strings.HasPrefix(name, "queue/")
			must.Equal(t, moves, batchwise || !r.Accumulating, "step", r.Step, "accumulating", r.Accumulating, name, "moves")
		}
		before = now
		steps++
	}, "train.epochs=2", "train.accumulate=2")
	if steps < 6 {
		t.Errorf("only %d steps", steps)
	}
	discriminators := func(l *Loop) string {
		var all []float32
		for _, name := range l.plan.discriminators.Names() {
			all = append(all, l.plan.discriminators.Get(name).Float32s()...)
		}
		return fmt.Sprint(all)
	}
	last := discriminators(loopOf(t, judged))
	runLoop(t, judged, func(l *Loop, r *StepReport) {
		now := discriminators(l)
		must.Equal(t, now == last, r.Accumulating, "step", r.Step, "accumulating", "the discriminator moves", now != last)
		last = now
	}, "train.epochs=1", "train.accumulate=2")
}

// Phases of a cascade begin with an update, so all batches of an update belong to one phase.
func TestAccumulatePhases(t *testing.T) {
	var opened []float32
	runLoop(t, opening, func(l *Loop, _ *StepReport) {
		opened = append(opened, l.Params().Get("cascade/opened").Float32s()[0])
	}, "model.cascade-vae.categories=0", "model.cascade-vae.phase_steps=0", "model.cascade-vae.phases=2",
		"train.batch=32", "train.accumulate=3")
	if want := []float32{1, 1, 1, 1, 1, 1, 2, 2}; !slices.Equal(opened, want) {
		t.Errorf("two phases of three updates: %v open dimensions after the steps, want %v", opened, want)
	}
}
