package train

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/train/rundir"
)

// discreteModels learn discrete codes: one with a falling temperature, one in phases that end during training.
var discreteModels = map[string]string{
	"joint": `joint-vae: {latent: 3, categorical: [3, 2], encoder: {mlp: {hidden: [16]}}, temperature: {from: 1, to: 0.3, steps: 10, shape: exponential}}
losses:
  - reconstruction
  - kl: {spaces: continuous, weight: 3, capacity: {from: 0, to: 5, steps: 8}}
  - kl: {spaces: categorical, weight: 3, capacity: {from: 0, to: 5, steps: 8}}`,
	"cascade": `cascade-vae: {latent: 3, categories: 3, phases: 6, closed: 2, balance: 0.1, encoder: {mlp: {hidden: [16]}}}
losses: [reconstruction, kl, weight-decay]`,
}

// A run with discrete codes, stopped and continued, ends with the bits of an uninterrupted run.
func TestDiscreteResumed(t *testing.T) {
	long.NotShort(t)
	for name, model := range discreteModels {
		t.Run(name, func(t *testing.T) {
			c, err := Load("discrete.yaml",
				[]byte(fmt.Sprintf("name: discrete\ndataset: {square: {size: 8, side: 2}}\nmodel:\n  %s\ntrain: {epochs: 3, epoch_steps: 6, batch: 8, checkpoint: 1.0e-9}\nmetrics: [mig, sap, med, r4]\n", model)))
			must.OK(t, err)
			dir := t.TempDir()
			whole := filepath.Join(dir, "whole")
			c.Train.Figures = long.Enabled()
			trainIn(t, whole, c, false)
			want, wantLog := bits(t, whole), logged(t, whole)
			c.Train.Figures = false // the figures exist already
			for _, n := range long.Sample([]int{3, 8, 14, 19}, 2) {
				at := filepath.Join(dir, fmt.Sprint(n))
				if _, err := Run(endAfter(n), c, Options{Dir: at}); !errors.Is(err, ErrStopped) {
					t.Fatalf("%d looks: %v; want a run that is stopped", n, err)
				}
				trainIn(t, at, c, true)
				sameBits(t, fmt.Sprintf("stopped after %d looks", n), bits(t, at), want)
				if got := logged(t, at); got != wantLog {
					t.Errorf("stopped after %d looks: log\n%s\nwant\n%s", n, got, wantLog)
				}
			}
		})
	}
}

// JointVAE's choice distinguishes images even if the continuous code may be empty: a square, an ellipse and a heart do
// not all get one category.
func TestJointVAEChooses(t *testing.T) {
	long.NotShort(t)
	c := must.Get(Load("chooses.yaml", []byte(`name: chooses
dataset: {sprites: {size: 16, positions: 1, orientations: 1, scales: 1}}
model: {joint-vae: {latent: 1, categorical: [3], encoder: {mlp: {hidden: [32]}}}}
losses:
  - reconstruction: {likelihood: bernoulli}
  - kl: {spaces: continuous, weight: 30, capacity: {from: 0, to: 0.001, steps: 1000}}
  - kl: {spaces: categorical, weight: 5, capacity: {from: 0, to: 1.1, steps: 4000}}
train: {epochs: 4000, batch: 32, figures: false, optimizer: {adam: {lr: 5.0e-4}}}
metrics: [r4]
`)))(t)
	dir := t.TempDir()
	trainIn(t, dir, c, false)
	codes := must.Get(npy.ReadFile[float32](filepath.Join(dir, rundir.CodesFile)))(t)
	chosen := map[float32]bool{}
	for i := 0; i < len(codes.Data); i += codes.Shape[1] {
		chosen[codes.Data[i]] = true
	}
	if len(chosen) < 2 {
		t.Errorf("all images are of the category %v; want two categories or more", chosen)
	}
}
