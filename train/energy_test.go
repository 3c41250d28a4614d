package train

import (
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// energy is a small conditional energy-based model with dropout. Only some images have labels.
const energy = `
name: energy
seed: 2
dataset: {square: {size: 16, side: 4}}
supervision: {labels: {fraction: 0.5}}
model: {ice-beem: {encoder: {layers: [{conv: {channels: 4, stride: 2, activation: softplus}}, {norm: layer}, {dropout: 0.2}, {dense: 8}]}, width: 3, conditions: [row, column]}}
losses: [{score-matching: {sigma: 0.1}}]
train: {epochs: 2, batch: 64, figures: false}
`

// TestEnergyResumes stops a run at any step and resumes it on one thread. It ends with the bits of an uninterrupted
// run, because its noise comes from the run's random streams. The test also checks that conditions matter.
func TestEnergyResumes(t *testing.T) {
	long.NotShort(t)
	load := func(overrides ...string) Config {
		return must.Get(Load("energy.yaml", []byte(energy), overrides...))(t)
	}
	whole, dir, without := t.TempDir(), t.TempDir(), t.TempDir()
	trainIn(t, whole, load(), false)
	trainInParts(t, dir, load("train.threads=1"), 2, 3)
	sameBits(t, "a resumed run", bits(t, dir), bits(t, whole))
	trainIn(t, without, load("model.ice-beem.conditions=[]"), false)
	conditional, found := bits(t, whole), false
	for name, other := range bits(t, without) {
		if !strings.Contains(name, "latent/code/weight") {
			continue
		}
		if found = true; conditional[name] == other {
			t.Errorf("%s is the same without conditions", name)
		}
	}
	if !found {
		t.Error("the codes have no weights")
	}
}

// Similar pairs have no levels. Losses and models that need levels refuse them, and would learn nothing.
func TestLevelsOfPairs(t *testing.T) {
	const similar, want = "supervision={similarity: {count: 40}}", "the supervision only has similarities"
	for _, c := range []struct{ source, override string }{
		{energy, "name=energy"},
		{tiny, "losses=[{conditional-tc: {active: [{columns: [0, 1], factor: row, levels: [0]}]}}]"},
	} {
		loaded, err := Load("pairs.yaml", []byte(c.source), similar, c.override)
		if err == nil {
			err = Check(loaded)
		}
		must.Error(t, err, want, c.override)
	}
}
