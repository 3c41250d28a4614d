package train

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
)

// discreteModels learn discrete codes: at a temperature that falls, and in phases of which some are over before the end.
var discreteModels = map[string]string{
	"joint": `joint-vae: {latent: 3, categorical: [3, 2], encoder: {mlp: {hidden: [16]}}, temperature: {from: 1, to: 0.3, steps: 10, shape: exponential}}
losses:
  - reconstruction
  - kl: {spaces: continuous, weight: 3, capacity: {from: 0, to: 5, steps: 8}}
  - kl: {spaces: categorical, weight: 3, capacity: {from: 0, to: 5, steps: 8}}`,
	"cascade": `cascade-vae: {latent: 3, categories: 3, phases: 6, closed: 2, balance: 0.1, encoder: {mlp: {hidden: [16]}}}
losses: [reconstruction, kl, weight-decay]`,
}

// A run with discrete codes that is stopped and continued ends with the bits of one that was not.
func TestDiscreteResumed(t *testing.T) {
	for name, model := range discreteModels {
		t.Run(name, func(t *testing.T) {
			c, err := Load("discrete.yaml", []byte(fmt.Sprintf("name: discrete\ndataset: {square: {size: 8, side: 2}}\nmodel:\n  %s\ntrain: {epochs: 3, epoch_steps: 6, batch: 8, checkpoint: 1.0e-9}\nmetrics: [mig, sap, med, r4]\n", model)))
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			whole := filepath.Join(dir, "whole")
			trainIn(t, whole, c, false)
			want, wantLog := bits(t, whole), logged(t, whole)
			for _, n := range []int{3, 8, 14, 19} {
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
