package engine

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// averages returns the averages of a loop's weights by name.
func averages(l *Loop) map[string][]float32 {
	all := map[string][]float32{}
	for _, p := range l.average.values {
		all[strings.TrimPrefix(p.Name, AveragePrefix)] = slices.Clone(p.Value)
	}
	return all
}

// The averages follow the formula over the weights after every update, from a given length of training on.
func TestAverage(t *testing.T) {
	for settings, from := range map[string]int{"{decay: 0.75}": 1, "{decay: 0.75, from: {steps: 5}}": 5, "{decay: 0.75, from: 1}": 3} {
		for _, accumulate := range []int{1, 2} {
			want, updates := map[string][]float64{}, 0
			l := runLoop(t, small, func(l *Loop, r *StepReport) {
				if r.Accumulating {
					return
				}
				updates++
				for name, x := range weightsOf(l) {
					if want[name] == nil || updates <= from {
						want[name] = make([]float64, len(x))
					}
					for i, v := range x {
						if updates <= from {
							want[name][i] = float64(v)
						} else {
							want[name][i] = 0.75*want[name][i] + 0.25*float64(v)
						}
					}
				}
			}, "train.batch="+fmt.Sprint(24/accumulate), "train.accumulate="+fmt.Sprint(accumulate), "train.average="+settings)
			got := averages(l)
			if updates != 9 || len(got) != len(want) {
				t.Fatalf("%d updates, %d averages of %d parameters", updates, len(got), len(want))
			}
			last := weightsOf(l)
			for name, x := range got {
				for i, v := range x {
					if !(math.Abs(float64(v)-want[name][i]) <= 1e-6) {
						t.Fatalf("%s, accumulate %d: average of %s[%d] is %v, want %v", settings, accumulate, name, i, v, want[name][i])
					}
				}
			}
			if !l.SwapAverage() || !sameWeights(weightsOf(l), got) || !sameWeights(averages(l), last) {
				t.Error("swapped, the parameters are not the averages")
			}
			l.SwapAverage()
			if !sameWeights(weightsOf(l), last) {
				t.Error("swapped twice, the parameters are others")
			}
		}
	}
}

// An average changes no other part of the state. It averages running moments, but not targets and queues. The average
// is part of the state.
func TestAverageStates(t *testing.T) {
	overrides := []string{"train.epochs=2", "model.moco.encoder.conv64-norm.norm=batch"}
	plain := runLoop(t, queued, nil, overrides...)
	overrides = append(overrides, "train.average={}")
	var state bytes.Buffer
	l := runLoop(t, queued, func(l *Loop, r *StepReport) {
		if r.Step == 4 {
			must.OK(t, l.Save(&state))
		}
	}, overrides...)
	if !sameWeights(weightsOf(l), weightsOf(plain)) {
		t.Error("the weights are others with an average")
	}
	got, moments := averages(l), 0
	for _, name := range l.Params().Names() {
		running := strings.HasSuffix(name, "/running")
		if want := !l.Params().IsState(name) || running; (got[name] != nil) != want {
			t.Errorf("%s is averaged: %v, want %v", name, !want, want)
		}
		if running {
			moments++
		}
	}
	if moments == 0 {
		t.Error("there are no running moments")
	}
	again := loopOf(t, queued, overrides...)
	must.OK(t, again.Load(&state))
	must.OK(t, again.Run(context.Background()))
	if !sameWeights(averages(again), got) {
		t.Error("a restored loop has other averages")
	}
}
