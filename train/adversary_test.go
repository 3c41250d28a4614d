package train

import (
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train/rundir"
)

// judged is a small experiment with a discriminator and a capacity.
const judged = `
name: judged
seed: 3
dataset: {square: {size: 16, side: 4}}
model: {vae: {encoder: {mlp: {hidden: [16]}}, latent: 4}}
losses:
  - reconstruction
  - kl: {weight: 10, capacity: {to: 8, steps: 10}}
  - tc: {weight: 5, estimator: adversarial, discriminator: {hidden: [32, 32]}}
train: {epochs: 3, batch: 100, figures: false}
`

func judgedConfig(t *testing.T, overrides ...string) Config {
	t.Helper()
	return must.Get(Load("judged.yaml", []byte(judged), overrides...))(t)
}

// TestJudges stops a run with a discriminator at any step and resumes it on any number of threads. The run ends with
// the bits of an uninterrupted run. The trained model opens without the discriminator.
func TestJudges(t *testing.T) {
	whole, dir := t.TempDir(), t.TempDir()
	trainIn(t, whole, judgedConfig(t), false)
	trainInParts(t, dir, judgedConfig(t, "train.threads=1"), 2, 3)
	sameBits(t, "a resumed run", bits(t, dir), bits(t, whole))
	if _, _, err := OpenExperiment(whole); err != nil {
		t.Error(err)
	}
	names := 0
	for name := range bits(t, whole) {
		if path.Dir(path.Dir(name)) == "judge/tc" {
			names++
		}
	}
	must.Equal(t, names, 6, "the checkpoint holds", "parameters of the discriminator")
	if text, err := os.ReadFile(filepath.Join(whole, rundir.LogFile)); err != nil ||
		!slices.Contains(splitNames(string(text)), "tc-discriminator") {
		t.Errorf("the log does not show the discriminator's loss (%v): %s", err, text)
	}
}

// splitNames lists the quoted parts of a text.
func splitNames(text string) (list []string) {
	for from, at := -1, 0; at < len(text); at++ {
		if text[at] != '"' {
			continue
		}
		if from >= 0 {
			list, from = append(list, text[from+1:at]), -1
		} else {
			from = at
		}
	}
	return list
}

// secondBatch overrides judged: discriminators permute a second batch. active adds known levels of a factor.
var (
	secondBatch = []string{"losses.2.tc.discriminator.second_batch=true"}
	secondMasks = []string{"supervision={labels: {fraction: 0.5}}",
		"losses.2={conditional-tc: {weight: 5, active: [{columns: [1, 3], factor: row, levels: [0, 1, 2, 3, 4, 5]}], discriminator: {hidden: [32, 32], renew: true, second_batch: true}}}"}
	secondViews = append([]string{"views={pipeline: [flip], count: 1}"}, secondBatch...)
)

// TestSecondBatchResumes stops a run with second batches at any step and resumes it on any number of threads. It ends
// with the bits of an uninterrupted run, which differ from the bits of a run without second batches.
func TestSecondBatchResumes(t *testing.T) {
	long.NotShort(t)
	first := t.TempDir()
	trainIn(t, first, judgedConfig(t), false)
	for name, overrides := range map[string][]string{"tc": secondBatch, "conditional-tc": secondMasks, "tc of views": secondViews} {
		t.Run(name, func(t *testing.T) {
			whole, dir := t.TempDir(), t.TempDir()
			trainIn(t, whole, judgedConfig(t, overrides...), false)
			trainInParts(t, dir, judgedConfig(t, append(overrides, "train.threads=1")...), 2, 3)
			got, want := bits(t, dir), bits(t, whole)
			sameBits(t, "a resumed run", got, want)
			if reflect.DeepEqual(want, bits(t, first)) {
				t.Error("second batches change nothing")
			}
		})
	}
}
