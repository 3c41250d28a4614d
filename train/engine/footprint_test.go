package engine

import (
	"context"
	"errors"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// live returns the reachable bytes on the heap.
func live() float64 {
	runtime.GC()
	runtime.GC() // empties pools of scratch
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// The footprint equals the heap after an epoch, except for small objects and garbage.
func TestFootprint(t *testing.T) {
	long.NotShort(t)
	cases := map[string][]string{
		"mlp":         {"dataset.square.size=64", "model={vae: {encoder: {mlp: {hidden: [300, 200]}}, latent: 4}}", "losses=[reconstruction, kl]", "supervision=none", "train.batch=700"},
		"conv64":      {"dataset.square.size=32", "model={ae: {encoder: conv64, latent: 4}}", "losses=[reconstruction]", "supervision=none", "train.batch=400"},
		"two kinds":   {"dataset.square.size=32", "model.lsbd-vae.encoder={mlp: {hidden: [400]}}", "supervision.pairs.count=300", "train.batch=500"},
		"accumulated": {"dataset.square.size=64", "dataset.square.step=2", "model={vae: {encoder: {layers: [{conv: {channels: 8, kernel: 3, stride: 2}}, {norm: batch}, {pool: {to: 8}}, {dense: 40}]}, latent: 4}}", "losses=[reconstruction, kl]", "supervision=none", "train.batch=256", "train.optimizer=sgd"},
	}
	for _, name := range long.Sample(slices.Sorted(maps.Keys(cases)), 3) {
		overrides := cases[name]
		t.Run(name, func(t *testing.T) {
			task, settings := taskOf(t, tiny, overrides...)
			before := live()
			l := must.Get(New(task, settings))(t)
			defer l.Close()
			want := l.Footprint()
			must.OK(t, l.RunEpoch(context.Background()))
			got := live() - before
			if total := want.Total() - want.Parameters; !(got > 0.7*total && got < 1.15*total+1<<20) {
				t.Errorf("the heap grew by %.2f MiB, estimated %.2f: %+v", got/(1<<20), total/(1<<20), want)
			}
			runtime.KeepAlive(task)
		})
	}
}

// An error suggests settings that fit, and they do fit.
func TestFits(t *testing.T) {
	task, settings := taskOf(t, tiny, "dataset.square.size=128", "dataset.square.side=16", "dataset.square.step=1",
		"supervision=none", "losses=[reconstruction, kl]",
		"model={vae: {encoder: {mlp: {hidden: [16]}}, latent: 2}}", "train.batch=32")
	l, err := New(task, settings)
	must.OK(t, err)
	defer l.Close()
	s := stepMemory{images: 1 << 30, bytes: 1 << 62, fixed: 1 << 10}
	err = l.plan.fits(s)
	var of *Error
	if !errors.As(err, &of) || of.Key != "train.batch" ||
		!strings.Contains(err.Error(), "a step with a batch of 1073741824 images of 128 x 128 x 1 would take 4.00 EiB") ||
		!strings.Contains(err.Error(), "want a train.batch of ") && !strings.Contains(err.Error(), "not even a train.batch of 1") {
		t.Fatal(err)
	}
	s.fixed = 1 << 61
	must.Error(t, l.plan.fits(s), "not even a train.batch of 1 would fit, want smaller images or layers")
	if err := l.plan.fits(stepMemory{images: 1, bytes: 1 << 10}); err != nil {
		t.Error(err)
	}
}

// The exact parts of a footprint: 4 bytes for each number of parameters, optimisers, averages and images.
func TestFootprintParts(t *testing.T) {
	const images = 64 * 16 * 16 // numbers in a batch
	for name, want := range map[string]struct{ parameters, moments, loaded, inputs, gradients float64 }{
		"average":      {2 * 8579, 2 * 8579, 2 * images, images, 8579},                                              // adamw
		"accumulate":   {8579, 8579, 2 * images, images, 8579},                                                      // momentum
		"byol":         {252876, 126148, 2 * 3 * images / 4, images / 4 * 2, 126148},                                // two views; targets have no moments
		"factorvae":    {8680 + 1282, 2 * (8680 + 1282), 2 * images / 64 * 100, 1.56 * (100*(256+4+2*4) + 1), 8680}, // images, noise and permutations, and the capacity; a last batch of 56
		"second batch": {8680 + 1249, 2 * (8680 + 1249), 4 * images / 64 * 100, 0, 8680},
	} {
		l := loopOf(t, deviceTasks[name][0], deviceTasks[name][1:]...)
		f := l.Footprint()
		var first *program
		for _, first = range l.programs {
			break
		}
		got := []float64{f.Parameters, f.Moments, l.loaded(), f.Batches - l.loaded(), first.gradientBytes()}
		for i, w := range []float64{want.parameters, want.moments, want.loaded, want.inputs, want.gradients} {
			if w != 0 && !(math.Abs(got[i]-4*w) <= 1e-6*w) {
				t.Errorf("%s: %v numbers; want %v", name, got[i]/4, w)
			}
		}
	}
}
