package engine

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
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
			l, err := New(task, settings)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			want := l.Footprint()
			if err := l.RunEpoch(context.Background()); err != nil {
				t.Fatal(err)
			}
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
	task, settings := taskOf(t, tiny, "dataset.square.size=128", "dataset.square.side=16", "dataset.square.step=1", "supervision=none", "losses=[reconstruction, kl]",
		"model={vae: {encoder: {mlp: {hidden: [16]}}, latent: 2}}", "train.batch=32")
	l, err := New(task, settings)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := stepMemory{images: 1 << 30, bytes: 1 << 62, fixed: 1 << 10}
	err = l.plan.fits(s)
	var of *Error
	if !errors.As(err, &of) || of.Key != "train.batch" || !strings.Contains(err.Error(), "a step with a batch of 1073741824 images of 128 x 128 x 1 would take 4.00 EiB") ||
		!strings.Contains(err.Error(), "want a train.batch of ") && !strings.Contains(err.Error(), "not even a train.batch of 1") {
		t.Fatal(err)
	}
	s.fixed = 1 << 61
	if err := l.plan.fits(s); err == nil || !strings.Contains(err.Error(), "not even a train.batch of 1 would fit, want smaller images or layers") {
		t.Error(err)
	}
	if err := l.plan.fits(stepMemory{images: 1, bytes: 1 << 10}); err != nil {
		t.Error(err)
	}
}
