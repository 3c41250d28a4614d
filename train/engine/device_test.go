//go:build gpu

package engine

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/internal/vulkan"
)

// needsGPU skips a test if there is no GPU to use.
func needsGPU(t *testing.T) {
	t.Helper()
	if _, err := vulkan.Devices(); errors.Is(err, vulkan.ErrNoLoader) || errors.Is(err, vulkan.ErrNoDriver) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
}

const (
	plainVAE = `
seed: 3
dataset: {square: {size: 16, side: 4}}
model: {vae: {encoder: {conv64: {features: 12}}, latent: 4}}
losses: [{reconstruction: {likelihood: bernoulli}}, {kl: {weight: 2}}]
train: {epochs: 1, batch: 64, clip: 100}
`
	byol = `
seed: 4
dataset: {square: {size: 16, side: 4}}
views: {pipeline: [flip, crop], count: 2}
model: {byol: {encoder: {conv64-norm: {features: 12, norm: batch}}, hidden: 8, projected: 4, predictor: 8}}
losses: [cosine-regression]
train: {epochs: 1, batch: 64}
`
	averaged = `
seed: 5
dataset: {square: {size: 16, side: 4}}
model: {ae: {latent: 3, encoder: {mlp: {hidden: [16], activation: gelu}}}}
losses: [reconstruction]
train: {epochs: 1, batch: 64, average: {decay: 0.9}, optimizer: {adamw: {exclude: biases-and-norms}}, parts: [{match: ["encoder/*"], lr: 0.01}]}
`
	descended = `
seed: 6
dataset: {square: {size: 16, side: 4}}
model: {ae: {latent: 3, encoder: {mlp: {hidden: [16], activation: tanh}}}}
losses: [reconstruction]
train: {epochs: 1, batch: 64, accumulate: 2, optimizer: {sgd: {lr: 0.0001, momentum: 0.9}}}
`
)

// optimised is an autoencoder with an optimiser to be set.
const optimised = `
seed: 6
dataset: {square: {size: 16, side: 4}}
model: {ae: {latent: 3, encoder: {mlp: {hidden: [16], activation: tanh}}}}
losses: [reconstruction]
train: {epochs: 1, batch: 64, optimizer: `

var deviceTasks = map[string]string{"lsbd-vae": tiny, "vae": plainVAE, "factorvae": judged, "cofhae": sticks, "byol": byol, "moco": queued, "average": averaged, "accumulate": descended,
	"sgd":      optimised + "{sgd: {lr: 0.0001, momentum: 0, decay: 0.1}}}",
	"momentum": optimised + "{sgd: {lr: 0.0001, momentum: 0.9, dampening: 0.1, decay: 0.1, exclude: biases-and-norms}}}",
	"nesterov": optimised + "{sgd: {lr: 0.0001, momentum: 0.9, nesterov: true}}, clip: 10}",
	"lars":     optimised + "{lars: {lr: 10, decay: 0.001}}}",
	"rmsprop":  optimised + "{rmsprop: {lr: 0.001}}}"}

// trace trains on a device, and returns the values and the norm of the gradient of each step, and the parameters.
func trace(t *testing.T, source string, device Device, steps int) ([][]float64, map[string][]float32) {
	t.Helper()
	task, settings := taskOf(t, source)
	settings.Device = device
	l, err := New(task, settings)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var values [][]float64
	l.AddHook(Hook{Name: "trace", NoParams: true, OnStep: func(l *Loop, r *StepReport) error {
		values = append(values, append(slices.Clone(r.Values), r.GradientNorm))
		if r.Step == steps {
			l.Stop("enough")
		}
		return nil
	}})
	if err := l.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	params := map[string][]float32{}
	for _, name := range l.Params().Names() {
		params[name] = slices.Clone(l.Params().Get(name).Float32s())
	}
	return values, params
}

// Losses on a GPU equal the losses on the CPU, step by step. Two runs on the GPU give the same bits.
func TestDevice(t *testing.T) {
	needsGPU(t)
	const steps = 4
	for name, source := range deviceTasks {
		t.Run(name, func(t *testing.T) {
			want, _ := trace(t, source, CPU, steps)
			got, moved := trace(t, source, GPU, steps)
			again, same := trace(t, source, GPU, steps)
			if len(want) < 2 || len(got) != len(want) {
				t.Fatalf("%d steps, want %d", len(got), len(want))
			}
			for i := range want {
				for k, w := range want[i] {
					if g := got[i][k]; math.Abs(g-w) > 1e-3*math.Max(math.Abs(w), 1e-3) {
						t.Errorf("step %d, value %d: %v on the GPU, %v on the CPU", i+1, k, g, w)
					}
				}
				if !slices.Equal(got[i], again[i]) {
					t.Errorf("step %d: %v, and %v in the second run", i+1, got[i], again[i])
				}
			}
			if !maps.EqualFunc(moved, same, slices.Equal) {
				t.Error("two runs on the GPU give different parameters")
			}
		})
	}
}
