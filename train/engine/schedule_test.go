package engine

import (
	"context"
	"math"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

func TestSchedules(t *testing.T) {
	for _, c := range []struct {
		options string
		rates   map[float64]float64 // by progress, for 20 epochs
	}{
		{"constant", map[float64]float64{0: 1, 7.5: 1, 20: 1}},
		{"step", map[float64]float64{0: 1, 9.99: 1, 10: 0.5, 19: 0.5, 20: 0.25}},
		{"{step: {every: 0.2, factor: 0.1}}", map[float64]float64{0.59: 0.01, 0.6: 1e-3, 1.4: 1e-7}},
		{"{milestones: {at: [0.29, 0.55], factor: 0.1}}", map[float64]float64{5.79: 1, 5.8: 0.1, 10.99: 0.1, 11: 0.01}},
		{"{step: {every: 4, factor: 0.1}}", map[float64]float64{3.9: 1, 4: 0.1, 8.5: 0.01}},
		{"cosine", map[float64]float64{0: 1, 5: (1 + math.Sqrt2/2) / 2, 10: 0.5, 15: (1 - math.Sqrt2/2) / 2, 20: 0, 25: 0}},
		{"linear", map[float64]float64{0: 1, 5: 0.75, 20: 0, 25: 0}},
		{"{linear: {final: 0.5}}", map[float64]float64{0: 1, 10: 0.75, 20: 0.5}},
		{"{polynomial: {power: 2, final: 0.1}}", map[float64]float64{0: 1, 10: 0.1 + 0.9/4, 20: 0.1, 21: 0.1}},
		{"one-cycle", map[float64]float64{0: 0.04, 3: 0.52, 6: 1, 13: (1 + 4e-6) / 2, 20: 4e-6, 22: 4e-6}},
		{"{cosine: {final: 0.2}}", map[float64]float64{0: 1, 10: 0.6, 20: 0.2}},
	} {
		_, s := taskOf(t, tiny, "train.schedule="+c.options, "train.epochs=20")
		for progress, want := range c.rates {
			if got := s.rate(Time{Progress: progress, Epochs: 20, Length: 0.1}); !(math.Abs(got-want) <= 1e-12) {
				t.Errorf("%s: rate %v at %v, want %v", c.options, got, progress, want)
			}
		}
	}
}

// A factor above 1 raises rates from 1 on, and another one lowers them from 1 on.
func TestRangesOfSteps(t *testing.T) {
	for factor, want := range map[float64][2]float64{0.5: {0, 1}, 1: {0, 1}, 1.5: {1, math.Inf(1)}} {
		if low, high := (&Step{Factor: factor}).Range(); low != want[0] || high != want[1] {
			t.Errorf("factor %v: rates from %v to %v, want %v", factor, low, high, want)
		}
	}
}

func TestSpanCheck(t *testing.T) {
	for s, want := range map[Span]bool{{}: true, {Epochs: 0.5}: true, {Steps: 1}: true, {Epochs: -1}: false, {Epochs: 1, Steps: -1}: false,
		{Epochs: math.Inf(1)}: false, {Epochs: math.NaN()}: false} {
		must.Equal(t, s.check(), want, s)
	}
}

// The warm-up rate is the rate at the end of the step, so the first step changes parameters.
func TestWarmup(t *testing.T) {
	loop := loopOf(t, tiny, "train.epochs=4", "train.warmup=1.5", "train.schedule={step: {every: 2, factor: 0.5}}")
	loop.AddHook(Hook{Name: "rates", OnStep: func(_ context.Context, _ *Loop, r *StepReport) error {
		want := min(1, float64(r.Step)/(1.5*tinySteps))
		if r.Step > 2*tinySteps {
			want /= 2
		}
		if !(math.Abs(r.Rate-want) <= 1e-12) {
			t.Errorf("step %d: rate %v, want %v", r.Step, r.Rate, want)
		}
		return nil
	}})
	must.OK(t, loop.Run(context.Background()))
	must.Equal(t, loop.Step(), 4*tinySteps, "steps")
}
