package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/unravel-ml/unravel/internal/browser"
	"github.com/unravel-ml/unravel/internal/leak"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/safetensors"
	"github.com/unravel-ml/unravel/train/internal/checkpoint"
	"github.com/unravel-ml/unravel/train/rundir"
)

// tiny is an experiment of a few milliseconds: 8 steps per epoch, 2 of them labelled.
const tiny = `
name: tiny
seed: 1
dataset: {square: {size: 16, side: 4}}
supervision: {pairs: {count: 32}}
model:
  lsbd-vae:
    encoder: {mlp: {hidden: [16]}}
    latent:
      - sphere: {dim: 1, log_t: [-10, -9]}
      - sphere: {dim: 1, log_t: [-10, -9]}
losses: [reconstruction, kl, lsbd]
train: {epochs: 3, batch: 32, figures: false}
metrics: [dlsbd]
`

const tinySteps = 8

func TestMain(m *testing.M) {
	os.Exit(leak.Main(func() int { return browser.Main(m) }))
}

// load reads the tiny config with overrides.
func load(t testing.TB, overrides ...string) Config {
	t.Helper()
	return must.Get(Load("tiny.yaml", []byte(tiny), overrides...))(t)
}

// trainIn runs an experiment in a folder.
func trainIn(t testing.TB, dir string, c Config, resume bool) *Result {
	t.Helper()
	return must.Get(Run(context.Background(), c, Options{Dir: dir, Resume: resume}))(t)
}

// trainInParts runs an experiment in sessions. The first session stops after a number of looks at its context, and each
// later session after a few more looks. By default, sessions of more than five looks also grow by half.
func trainInParts(t testing.TB, dir string, c Config, first, more int) {
	t.Helper()
	for looks, resume := first, false; ; resume = true {
		_, err := Run(endAfter(looks), c, Options{Dir: dir, Resume: resume})
		if err == nil {
			return
		}
		if !errors.Is(err, ErrStopped) {
			t.Fatal(err)
		}
		if looks += more; looks > 5 && !long.Enabled() {
			looks += looks / 2
		}
	}
}

// bits returns the bytes of a checkpoint, except for parts that depend on the clock.
func bits(t testing.TB, dir string) map[string]string {
	t.Helper()
	f, s, err := readOne(filepath.Join(dir, rundir.CheckpointFile))
	must.OK(t, err)
	all := map[string]string{}
	for _, x := range f.Tensors {
		all[x.Name] = fmt.Sprint(x.Shape, " ", floatBits(x))
	}
	all["sampler"], all["noise"], all["permute"] = fmt.Sprint(s.Sampler), fmt.Sprint(s.Noise), fmt.Sprint(s.Permute)
	if s.Second != nil {
		all["second"] = fmt.Sprint(*s.Second)
	}
	all["counters"] = fmt.Sprint(s.Step, s.Epoch, s.InEpoch, s.Images, s.Optimizers, s.Watch, s.Done, s.Updates)
	if s.Best != nil {
		all["best"] = fmt.Sprint(*s.Best)
	}
	return all
}

func floatBits(x safetensors.Tensor) string {
	out := make([]byte, 0, 4*len(x.Data.([]float32)))
	for _, v := range x.Data.([]float32) {
		b := math.Float32bits(v)
		out = append(out, byte(b), byte(b>>8), byte(b>>16), byte(b>>24))
	}
	return string(out)
}

// sameBits fails the test when two checkpoints differ.
func sameBits(t testing.TB, what string, got, want map[string]string) {
	t.Helper()
	must.Equal(t, len(got), len(want), what, "parts")
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s: %s differs", what, name)
		}
	}
}

// logged reads a run's log without the times.
func logged(t testing.TB, dir string) string {
	t.Helper()
	text := must.Read(t, filepath.Join(dir, rundir.LogFile))
	return seconds.ReplaceAllString(string(text), "")
}

// looks is a context that calls answer at each look.
type looks struct {
	context.Context
	answer func() error
}

func (c looks) Err() error { return c.answer() }

// everyOther returns a function that calls f at the first of each n calls.
func everyOther(n int, f func() error) func() error {
	i := -1
	return func() error {
		if i++; i%n > 0 {
			return nil
		}
		return f()
	}
}

// endAfter returns a context that ends after a number of looks.
func endAfter(n int) context.Context {
	return looks{context.Background(), func() error {
		if n--; n < 0 {
			return context.Canceled
		}
		return nil
	}}
}

// readOne reads a checkpoint.
func readOne(path string) (*safetensors.File, *checkpoint.State, error) {
	c, err := checkpoint.ReadFile(path)
	return c.File, c.State, err
}
