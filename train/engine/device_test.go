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
	"github.com/unravel-ml/unravel/internal/must"
)

// needsGPU skips a test without a usable GPU.
func needsGPU(t testing.TB) {
	t.Helper()
	if _, err := vulkan.Devices(); errors.Is(err, vulkan.ErrNoLoader) || errors.Is(err, vulkan.ErrNoDriver) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
}

// trace trains on a device. It returns the values and the gradient norm of each step, and the tensors of the final
// state.
func trace(t *testing.T, of []string, device Device, steps int) (values [][]float64, end stored) {
	t.Helper()
	l := onDeviceLoop(t, of, device)
	defer l.Close()
	l.AddHook(Hook{Name: "trace", NoParams: true, OnStep: func(_ context.Context, l *Loop, r *StepReport) error {
		values = append(values, append(slices.Clone(r.Values), r.GradientNorm))
		if r.Step == steps {
			l.Stop("enough")
		}
		return nil
	}})
	must.OK(t, l.Run(context.Background()))
	return values, stateOf(t, l)
}

// stateOf returns the tensors of a loop's state.
func stateOf(t *testing.T, l *Loop) stored {
	t.Helper()
	_, tensors, err := l.State()
	must.OK(t, err)
	return tensorsOf(tensors)
}

// Losses on a GPU equal the losses on the CPU, step by step. Two runs on the GPU give the same bits.
func TestDevice(t *testing.T) {
	needsGPU(t)
	const steps = 3
	for name, of := range deviceTasks {
		t.Run(name, func(t *testing.T) {
			want, wanted := trace(t, of, CPU, steps)
			got, moved := trace(t, of, GPU, steps)
			again, same := trace(t, of, GPU, steps)
			if len(want) < 2 || len(got) != len(want) {
				t.Fatalf("%d steps, want %d", len(got), len(want))
			}
			for i := range want {
				for k, w := range want[i] {
					if g := got[i][k]; !(math.Abs(g-w) <= 1e-3*math.Max(math.Abs(w), 1e-3)) {
						t.Errorf("step %d, value %d: %v on the GPU, %v on the CPU", i+1, k, g, w)
					}
				}
				must.EqualSlices(t, got[i], again[i], "step", i+1, "and")
			}
			for name, w := range wanted {
				if e := apart(moved[name], w); !(e <= 1e-2) {
					t.Errorf("%s after %d steps: %.3g from the CPU's, relative to its largest element", name, len(want), e)
				}
			}
			if !maps.EqualFunc(moved, same, slices.Equal) {
				t.Error("two runs on the GPU end with different states")
			}
		})
	}
}

// apart returns the largest difference of elements, relative to the largest element.
func apart(x, y []float32) (most float64) {
	largest := 0.0
	for i, v := range y {
		most, largest = math.Max(most, math.Abs(float64(x[i]-v))), math.Max(largest, math.Abs(float64(v)))
	}
	return most / math.Max(largest, 1e-3)
}

// A run on a GPU that stops and continues gives the bits of an uninterrupted run. It can also continue on the CPU.
func TestDeviceResume(t *testing.T) {
	needsGPU(t)
	const steps, at = 5, 3 // in the middle of two batches of an update
	for _, name := range []string{"lsbd-vae", "accumulating factorvae", "accumulating byol", "accumulating moco", "lamb by parts", "cascade-vae"} {
		of := append(slices.Clone(deviceTasks[name]), "train.epochs=2")
		want, end := trace(t, of, GPU, steps)
		for _, device := range []Device{GPU, CPU} {
			first, second := onDeviceLoop(t, of, GPU), onDeviceLoop(t, of, device)
			first.AddHook(Hook{NoParams: true, OnStep: func(_ context.Context, l *Loop, r *StepReport) error {
				if r.Step == at {
					l.Stop("half")
				}
				return nil
			}})
			must.OK(t, first.Run(context.Background()))
			state, tensors, err := first.State()
			must.OK(t, err)
			must.OK(t, second.Restore(state, tensorsOf(tensors)))
			second.AddHook(Hook{NoParams: true, OnStep: func(_ context.Context, l *Loop, r *StepReport) error {
				for k, w := range want[r.Step-1] {
					g := append(slices.Clone(r.Values), r.GradientNorm)[k]
					if device == GPU && g != w || !(math.Abs(g-w) <= 1e-3*math.Max(math.Abs(w), 1e-3)) {
						t.Errorf("%s, resumed on %s: step %d, value %d: %v, want %v", name, device, r.Step, k, g, w)
					}
				}
				if r.Step == steps {
					l.Stop("enough")
				}
				return nil
			}})
			must.OK(t, second.Run(context.Background()))
			must.Equal(t, second.Step(), steps, "steps")
			for tensor, x := range stateOf(t, second) {
				if device == GPU && !slices.Equal(x, end[tensor]) || !(apart(x, end[tensor]) <= 1e-2) {
					t.Errorf("%s, resumed on %s: %s differs by %.3g of its largest element", name, device, tensor, apart(x, end[tensor]))
				}
			}
		}
	}
}

func onDeviceLoop(t *testing.T, of []string, device Device) *Loop {
	t.Helper()
	task, settings := taskOf(t, of[0], of[1:]...)
	settings.Device = device
	l := must.Get(New(task, settings))(t)
	t.Cleanup(l.Close)
	return l
}

// A step uploads images, noise and weights of losses, and downloads losses, norms, and codes for the CPU. Parameters,
// gradients, moments and states stay on the GPU.
func TestDevicePlacement(t *testing.T) {
	needsGPU(t)
	const pixels = 16 * 16
	for name, want := range map[string]struct{ tapes, up, down int }{
		"vae":                     {2, 16*(pixels+4) + 1, 3 + 1},
		"average":                 {2, 64*pixels + 1, 2 + 1},
		"lamb by parts":           {2, 64*pixels + 1, 2 + 1},
		"rmsprop with everything": {3, 64*pixels + 1, 2 + 2},
		"byol":                    {2, 2*16*pixels + 1, 3 + 1},
		"accumulating byol":       {3, 2*16*pixels + 1, 3 + 2},
		"accumulating moco":       {3, 2*20*pixels + 1, 3 + 2},
		"factorvae":               {4, 100*(pixels+4+2*4) + 3, 100*4 + 5 + 2},
	} {
		p := onDeviceLoop(t, deviceTasks[name], GPU).Placements()[0]
		if p.Tapes != want.tapes || p.Up != 4*int64(want.up) || p.Down != 4*int64(want.down) {
			t.Errorf("%s: %d tapes, %d numbers up and %d down; want %+v; on the CPU: %v", name, p.Tapes, p.Up/4, p.Down/4, want, p.OnCPU)
		}
	}
}

// Errors for unavailable devices state a remedy.
func TestDeviceErrors(t *testing.T) {
	needsGPU(t)
	for device, want := range map[Device]string{"gpu:99": "there is no gpu:99", "tpu": "unknown device"} {
		task, settings := taskOf(t, tiny)
		settings.Device = device
		must.ErrorOf(New(task, settings))(t, want, device)
	}
	task, settings := taskOf(t, strings.Replace(strings.Replace(plainVAE, "size: 16", "size: 64", 1), "batch: 64", "batch: 4000", 1))
	settings.Device = GPU
	_, err := New(task, settings)
	var memory *vulkan.MemoryError
	var wrong *Error
	if list, _ := vulkan.Devices(); list[0].Limits.Buffer >= 500<<20 {
		t.Log("this GPU takes the large batch")
	} else if !errors.As(err, &memory) || !errors.As(err, &wrong) || wrong.Key != "train.batch" ||
		!strings.Contains(err.Error(), "images may fit instead of") {
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
