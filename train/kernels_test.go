package train

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/internal/safetensors"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/internal/checkpoint"
	"github.com/unravel-ml/unravel/train/rundir"
)

// kernelTolerances are the accepted differences between the Go, AVX2, AVX-512 and NEON kernels: four to six times the
// measured differences, relative to the largest element. Adam's first steps have the size of the learning rate for any
// gradient, so rounding decides the sign of a convolution's gradient near 0.
var kernelTolerances = map[string]float64{
	"convolutions, first losses": 5e-6, "convolutions, first codes": 1e-4,
	"convolutions, last losses": 0.05, "convolutions, last codes": 0.1,
}

// otherTolerance is for small dense networks, before and after training.
const otherTolerance = 2e-6

// kernelResult is the result of one process with one instruction set.
type kernelResult struct {
	Kernel string
	Models map[string]map[string][]float64 // arrays by name, by model
}

const kernelResultFile = "UNRAVEL_TEST_KERNEL_RESULT"

// TestInstructionSets trains small models in a process for each instruction set.
func TestInstructionSets(t *testing.T) {
	long.NotShort(t)
	if file := os.Getenv(kernelResultFile); file != "" {
		writeKernelResult(t, file)
		return
	}
	var results []kernelResult
	for _, set := range []string{"go", "avx2", "avx512", "neon"} {
		file := filepath.Join(t.TempDir(), set)
		command := exec.Command(os.Args[0], "-test.run=^TestInstructionSets$", fmt.Sprintf("-long=%t", long.Enabled()))
		command.Env = append(os.Environ(), kernelResultFile+"="+file, "UNRAVEL_KERNEL="+set)
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", set, err, out)
		}
		var r kernelResult
		must.ReadJSON(t, file, &r)
		if r.Kernel == set { // this processor has the instruction set
			results = append(results, r)
		}
	}
	for _, r := range results[1:] {
		for model, arrays := range r.Models {
			for name, got := range arrays {
				tolerance, ok := kernelTolerances[model+", "+name]
				if !ok {
					tolerance = otherTolerance
				}
				d := furthest(got, results[0].Models[model][name])
				t.Logf("%s, %s: %s and %s differ by %.1e", model, name, r.Kernel, results[0].Kernel, d)
				if !(d <= tolerance) {
					t.Errorf("%s, %s: the kernels %s and %s differ by %v, want at most %v", model, name, r.Kernel, results[0].Kernel, d, tolerance)
				}
			}
		}
	}
}

// furthest returns the largest difference of two arrays, relative to the largest element.
func furthest(a, b []float64) float64 {
	if len(a) != len(b) || len(a) == 0 {
		return math.Inf(1)
	}
	d, size := 0.0, 0.0
	for i := range a {
		d, size = max(d, math.Abs(a[i]-b[i])), max(size, math.Abs(b[i]))
	}
	return d / size
}

func writeKernelResult(t *testing.T, file string) {
	r := kernelResult{Models: map[string]map[string][]float64{}}
	r.Kernel, _ = kernel.InstructionSet() // another instruction set if the processor lacks it
	const small = "model={ae: {latent: 4, encoder: {mlp: {hidden: [32]}}}}"
	convolutions, epochs, images := []string{"dataset.square.size=32", "dataset.square.side=8",
		"model.lsbd-vae.encoder=conv64", "train.batch=32"}, 2, 16
	if long.Enabled() {
		convolutions, epochs, images = []string{"dataset.square.size=64", "dataset.square.side=16",
			"model.lsbd-vae.encoder=conv64", "train.batch=8"}, 5, 64
	}
	for model, overrides := range map[string][]string{
		"LSBD-VAE":          nil,
		"convolutions":      convolutions,
		"modularity":        {"supervision={labels: {fraction: 1}}", small, "losses=[reconstruction, variance, mpd, contraction, left-inverse]", "metrics=[]"},
		"total correlation": {"supervision=none", strings.Replace(small, "ae", "vae", 1), "losses=[reconstruction, kl, tc, hsic]", "metrics=[]"},
	} {
		e, err := NewExperiment(load(t, append(overrides, fmt.Sprint("train.epochs=", epochs), "train.epoch_steps=1")...))
		must.OK(t, err)
		loop := must.Get(e.Loop())(t)
		codes := func() []float64 {
			c := must.Get(e.Coder.Encode(t.Context(), e.Data, allImages(e.Data)[:images]))(t)
			return numeric.Convert[float64](c)
		}
		arrays := map[string][]float64{"first codes": codes()}
		r.Models[model] = arrays
		loop.AddHook(engine.Hook{OnStep: func(_ context.Context, _ *engine.Loop, s *engine.StepReport) error {
			values := append([]float64{s.GradientNorm}, s.Values...)
			if s.Step == 1 {
				arrays["first losses"] = values
			}
			arrays["last losses"] = values
			return nil
		}})
		must.OK(t, loop.Run(context.Background()))
		loop.Close()
		arrays["last codes"] = codes()
	}
	text, err := json.Marshal(r)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	must.OK(t, err)
}

// A run that continues with other kernels logs this, and its record lists both.
func TestKernelsChange(t *testing.T) {
	dir, c := t.TempDir(), load(t)
	set := must.Get(kernel.InstructionSet())(t)
	if _, err := Run(endAfter(8), c, Options{Dir: dir}); !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
	path := filepath.Join(dir, rundir.CheckpointFile)
	f, _, err := readOne(path)
	must.OK(t, err)
	had := `"kernels":"` + set + `"`
	if !strings.Contains(f.Metadata[checkpoint.StateKey], had) {
		t.Fatalf("the checkpoint does not have %s: %s", had, f.Metadata[checkpoint.StateKey])
	}
	f.Metadata[checkpoint.StateKey] = strings.Replace(f.Metadata[checkpoint.StateKey], had, `"kernels":"other"`, 1)
	var text bytes.Buffer
	must.OK(t, errors.Join(safetensors.Write(&text, f), os.WriteFile(path, text.Bytes(), 0o600)))
	for _, note := range []bool{true, false} { // the second time the kernels are unchanged
		var log strings.Builder
		ctx := t.Context()
		if note {
			ctx = endAfter(8)
		}
		if _, err := Run(ctx, c, Options{Dir: dir, Resume: true, Log: plain.Logger(&log)}); note != errors.Is(err, ErrStopped) || !note && err != nil {
			t.Fatal(err)
		}
		if want := "the run began with other kernels and continues with " +
			set + ": last digits may differ"; strings.Contains(log.String(), want) != note {
			t.Errorf("it says %q: %v, want %v", want, !note, note)
		}
	}
	if r, err := rundir.ReadRecord(dir); err != nil || r == nil || r.Machine.Kernels != "other, "+set {
		t.Errorf("the record: %+v, %v", r, err)
	}
}
