package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// ramped has one term with a weight that starts at 0, and one with a cyclic weight.
var ramped = []string{"losses.1={kl: {weight: {from: 0, to: 2, steps: 5, shape: cosine}}}",
	"losses.2.lsbd.weight={from: 1, to: 100, steps: 2, cycle: 3}"}

// The total uses the weights of the update, and the reports contain them. Batches of one update have the same weight.
func TestChangingWeights(t *testing.T) {
	for _, accumulate := range []int{1, 2} {
		seen := map[float64]bool{}
		runLoop(t, tiny, func(l *Loop, r *StepReport) {
			part := func(name string) float64 {
				if i := slices.Index(r.Names, name); i >= 0 {
					return r.Values[i]
				}
				return 0 // unlabelled batches have no lsbd
			}
			update := l.pos.updates
			if !r.Accumulating {
				update--
			}
			kl := 2.0
			if update < 5 {
				kl = 1 - math.Cos(math.Pi*float64(update)/5)
			}
			lsbd := []float64{1, 50.5, 100}[update%3]
			if r.Objective != "supervised" {
				lsbd = 0
			}
			if !(math.Abs(part("kl-weight")-kl) <= 1e-12) || part("lsbd-weight") != lsbd {
				t.Errorf("step %d, update %d: weights %v and %v, want %v and %v", r.Step, update, part("kl-weight"), part("lsbd-weight"), kl, lsbd)
			}
			if sum := part("reconstruction") + kl*part("kl") + lsbd*part("lsbd"); !(math.Abs(sum-r.Values[0]) <= 1e-5*math.Abs(sum)) {
				t.Errorf("step %d: total %v, want %v", r.Step, r.Values[0], sum)
			}
			seen[kl] = true
		}, append(ramped, fmt.Sprint("train.accumulate=", accumulate))...)
		must.Equal(t, len(seen), 6, "weights")
	}
}

// A loop stopped after any step continues with the weight of the step, to the same bits.
func TestChangingWeightsResume(t *testing.T) {
	for _, accumulate := range []string{"train.accumulate=1", "train.accumulate=3"} {
		overrides := append(slices.Clone(ramped), "train.epochs=2", accumulate)
		var states []bytes.Buffer
		save := func(l *Loop, _ *StepReport) {
			states = append(states, bytes.Buffer{})
			must.OK(t, l.Save(&states[len(states)-1]))
		}
		want := weightsOf(runLoop(t, tiny, save, overrides...))
		for i := range states[:len(states)-1] {
			l := loopOf(t, tiny, overrides...)
			must.OK(t, errors.Join(l.Load(&states[i]), l.Run(context.Background())))
			if !sameWeights(weightsOf(l), want) {
				t.Errorf("%s: other weights after stopping at step %d", accumulate, i+1)
			}
		}
	}
}

// A parameter of only a term with weight 0 is trained once the weight grows. A ramp with one value gives the bits of a
// constant weight.
func TestWeightFromZero(t *testing.T) {
	long.NotShort(t)
	alone := []string{"supervision=none", "model={vae: {encoder: {mlp: {hidden: [16]}}, latent: 4}}"}
	ramp := func(from, to float64) *Loop {
		return runLoop(t, tiny, nil,
			append(alone, fmt.Sprintf("losses=[{reconstruction: {weight: {from: %v, to: %v, steps: 3}}}, {kl: {weight: 0.5}}]", from, to))...)
	}
	a, start := weightsOf(ramp(0, 1)), weightsOf(loopOf(t, tiny, append(alone, "losses=[reconstruction, kl]")...))
	moved := 0
	for name := range start {
		if strings.HasPrefix(name, "decoder") && !slices.Equal(a[name], start[name]) {
			moved++
		}
	}
	if moved == 0 {
		t.Error("no parameter of the decoder was trained")
	}
	b, c := weightsOf(ramp(0.25, 0.25)),
		weightsOf(runLoop(t, tiny, nil, append(alone, "losses=[{reconstruction: {weight: 0.25}}, {kl: {weight: 0.5}}]")...))
	for name := range b {
		if !slices.Equal(b[name], c[name]) {
			t.Errorf("%s differs from that of a constant weight", name)
		}
	}
}
