package train

import (
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// sentences is a small experiment with a sentence that also trains a function and a discriminator.
const sentences = `
name: sentences
seed: 3
dataset: {square: {size: 16, side: 4}}
supervision: {labels: {fraction: 1}}
model: {vae: {encoder: {mlp: {hidden: [16]}}, latent: 4}}
losses:
  - reconstruction
  - kl
  - logic:
      sentence: >-
        (exists h: z -> y in mlp {layers: [8]}: forall[mean] i: h(z(i)) =[squared] y(i))
        and 0.1 * independent[discriminator](z[0:2], z[2:4]) and independent[tc](z[0], z[3]) and independent(z[1], z[2])
      discriminator: {hidden: [8]}
train: {epochs: 3, batch: 8, accumulate: 2, figures: false}
metrics: []
`

// TestSentenceNetworks stops a run with a sentence that trains networks at any step, and resumes it. It ends with the
// bits of an uninterrupted run.
func TestSentenceNetworks(t *testing.T) {
	config := func(overrides ...string) Config {
		return must.Get(Load("sentences.yaml", []byte(sentences), overrides...))(t)
	}
	whole, dir := t.TempDir(), t.TempDir()
	trainIn(t, whole, config(), false)
	trainInParts(t, dir, config("train.threads=1"), 1, 2)
	sameBits(t, "a resumed run", bits(t, dir), bits(t, whole))
	for _, name := range []string{"judge/logic/h/dense1/w", "judge/logic/h/values/w", "judge/logic/dense1/w"} {
		found := false
		for n := range bits(t, whole) {
			found = found || len(n) >= len(name) && n[:len(name)] == name
		}
		if !found {
			t.Errorf("the checkpoint has no %s", name)
		}
	}
}
