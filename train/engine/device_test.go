//go:build gpu

package engine

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/graph/vulkan"
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
	l.AddHook(Hook{Name: "trace", NoParams: true, OnStep: func(_ context.Context, l *Loop, r *StepReport) error {
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

// A run on a GPU that stops and goes on gives the bits of an uninterrupted run. It goes on with the CPU, too.
func TestDeviceResume(t *testing.T) {
	needsGPU(t)
	const steps, at = 6, 3
	for _, name := range []string{"lsbd-vae", "factorvae"} {
		source := deviceTasks[name]
		want, params := trace(t, source, GPU, steps)
		for _, device := range []Device{GPU, CPU} {
			first, second := onDeviceLoop(t, source, GPU), onDeviceLoop(t, source, device)
			first.AddHook(Hook{NoParams: true, OnStep: func(_ context.Context, l *Loop, r *StepReport) error {
				if r.Step == at {
					l.Stop("half")
				}
				return nil
			}})
			if err := first.Run(context.Background()); err != nil {
				t.Fatal(err)
			}
			state, tensors, err := first.State()
			if err != nil {
				t.Fatal(err)
			}
			if err := second.Restore(state, tensorsOf(tensors)); err != nil {
				t.Fatal(err)
			}
			second.AddHook(Hook{NoParams: true, OnStep: func(_ context.Context, l *Loop, r *StepReport) error {
				for k, w := range want[r.Step-1] {
					g := append(slices.Clone(r.Values), r.GradientNorm)[k]
					if device == GPU && g != w || math.Abs(g-w) > 1e-3*math.Max(math.Abs(w), 1e-3) {
						t.Errorf("%s, resumed on %s: step %d, value %d: %v, want %v", name, device, r.Step, k, g, w)
					}
				}
				if r.Step == steps {
					l.Stop("enough")
				}
				return nil
			}})
			if err := second.Run(context.Background()); err != nil {
				t.Fatal(err)
			}
			if second.Step() != steps {
				t.Errorf("%d steps, want %d", second.Step(), steps)
			}
			for name, w := range params {
				if device == GPU && !slices.Equal(w, second.Params().Get(name).Float32s()) {
					t.Errorf("parameter %s of the resumed run has other bits", name)
				}
			}
		}
	}
}

func onDeviceLoop(t *testing.T, source string, device Device) *Loop {
	t.Helper()
	task, settings := taskOf(t, source)
	settings.Device = device
	l, err := New(task, settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// The forward pass, the gradients and the norm of a VAE are one tape. Nothing but the images, the noise and the numbers
// of the losses is copied.
func TestDevicePlacement(t *testing.T) {
	needsGPU(t)
	l := onDeviceLoop(t, plainVAE, GPU)
	list := l.Placements()
	if len(list) != 1 {
		t.Fatalf("%d programs, want 1", len(list))
	}
	p := list[0]
	const images, noise, one, values = 64 * 16 * 16, 64 * 4, 1, 3
	if p.Tapes != 1 || p.CPU != 0 || p.Up != 4*(images+noise+one) || p.Down != 4*values {
		t.Errorf("%+v; want 1 tape, no operation on the CPU, %d bytes up and %d down", p.Placement, 4*(images+noise+one), 4*values)
	}
}

// Devices that cannot be had are errors with a remedy.
func TestDeviceErrors(t *testing.T) {
	needsGPU(t)
	for device, want := range map[Device]string{"gpu:99": "there is no gpu:99", "tpu": "unknown device"} {
		task, settings := taskOf(t, tiny)
		settings.Device = device
		if _, err := New(task, settings); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("device %s: error %v, want %q", device, err, want)
		}
	}
	task, settings := taskOf(t, strings.Replace(strings.Replace(plainVAE, "size: 16", "size: 64", 1), "batch: 64", "batch: 4000", 1))
	settings.Device = GPU
	_, err := New(task, settings)
	var memory *vulkan.MemoryError
	var wrong *Error
	if list, _ := vulkan.Devices(); list[0].Limits.Buffer >= 500<<20 {
		t.Log("this GPU takes the large batch")
	} else if !errors.As(err, &memory) || !errors.As(err, &wrong) || wrong.Key != "train.batch" || !strings.Contains(err.Error(), "images may fit instead of") {
		t.Errorf("a batch over the limits: %v", err)
	}
	task, settings = taskOf(t, tiny)
	settings.Device, settings.Precision = GPU, Mixed
	if _, err := New(task, settings); err == nil {
		t.Error("mixed precision on a GPU is no error")
	}
}

// stored holds copies of a state's tensors.
type stored map[string][]float32

func tensorsOf(list []Tensor) stored {
	s := stored{}
	for _, t := range list {
		s[t.Name] = slices.Clone(t.Data)
	}
	return s
}

// Float32s implements Tensors.
func (s stored) Float32s(name string, _ ...int) ([]float32, error) {
	if v, ok := s[name]; ok {
		return v, nil
	}
	return nil, errors.New("no tensor " + name)
}
