package train

import (
	"context"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/rng"
	"github.com/unravel-ml/unravel/runs"
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
	c, err := Load("judged.yaml", []byte(judged), overrides...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestJudges checks that a run with a discriminator, stopped at any step and
// resumed, ends with the bits of one that was not, whatever the threads; and that
// what was trained can be opened without it.
func TestJudges(t *testing.T) {
	whole, dir := t.TempDir(), t.TempDir()
	trainIn(t, whole, judgedConfig(t), false)
	for stop, resume := 2, false; ; stop, resume = stop+3, true {
		_, err := Run(endAfter(stop), judgedConfig(t, "train.threads=1"), Options{Dir: dir, Resume: resume})
		if err == nil {
			break
		}
	}
	sameBits(t, "a resumed run", bits(t, dir), bits(t, whole))
	if _, _, err := OpenExperiment(whole); err != nil {
		t.Error(err)
	}
	names := 0
	for name := range bits(t, whole) {
		if filepath.Dir(filepath.Dir(name)) == "judge/tc" {
			names++
		}
	}
	if names != 6 {
		t.Errorf("the checkpoint holds %d parameters of the discriminator, want 6", names)
	}
	if text, err := os.ReadFile(filepath.Join(whole, runs.LogFile)); err != nil || !slices.Contains(splitNames(string(text)), "tc-discriminator") {
		t.Errorf("the log does not show the discriminator's loss (%v): %s", err, text)
	}
}

// splitNames lists what stands between quotes.
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

// TestJudgeOfParts checks that a step trains the model by the discriminator as it
// was, without changing it, and then the discriminator on the codes of that step.
func TestJudgeOfParts(t *testing.T) {
	trainer := trainerOf(t, judgedConfig(t))
	var values []float64
	trainer.AddHook(Hook{Name: "look", Step: func(r *StepReport) error {
		if !slices.Equal(r.Names, []string{"loss", "reconstruction", "kl", "tc", "tc-discriminator"}) {
			t.Errorf("losses %v", r.Names)
		}
		values = append(values, r.Values...)
		if total := r.Values[1] + 10*r.Values[2] + 5*r.Values[3]; math.Abs(total-r.Values[0]) > 1e-4*math.Abs(total) {
			t.Errorf("the total %v is not %v, the sum of the parts of the model", r.Values[0], total)
		}
		return nil
	}})
	p := trainer.programs[programKey{false, 100, 1}]
	a := p.adversaries[0]
	before := snapshot(trainer.plan.discriminators)
	if err := trainer.Fit(context.Background()); err != nil {
		t.Fatal(err)
	}
	if first := values[4]; math.Abs(first-math.Ln2) > 0.3 { // nothing is known at first
		t.Errorf("the discriminator begins with a loss of %v, want about log 2", first)
	}
	if len(before) != len(a.names) {
		t.Errorf("%d parameters, want %d", len(before), len(a.names))
	}
	for i, name := range trainer.plan.discriminators.Names() {
		if slices.Equal(before[i], trainer.plan.discriminators.Get(name).Float32s()) {
			t.Errorf("parameter %s of the discriminator was not trained", name)
		}
		if slices.Contains(p.names, name) {
			t.Errorf("the model's program trains %s", name)
		}
	}
	n := len(a.input) / 2
	if !slices.Equal(a.input[:n], floats(p.machine, a.codes)) {
		t.Error("the discriminator did not see the codes of the last step")
	}
	for c := range a.columns {
		column := func(x []float32) (list []float32) {
			for at := c; at < len(x); at += a.columns {
				list = append(list, x[at])
			}
			return list
		}
		was, is := column(a.input[:n]), column(a.input[n:])
		if slices.Equal(was, is) {
			t.Errorf("column %d is not permuted", c)
		}
		slices.Sort(was)
		slices.Sort(is)
		if !slices.Equal(was, is) {
			t.Errorf("column %d has other values after the permutation", c)
		}
	}
}

func snapshot(p *nn.Params) (list [][]float32) {
	for _, name := range p.Names() {
		list = append(list, slices.Clone(p.Get(name).Float32s()))
	}
	return list
}

// secondBatch are overrides of judged with which discriminators permute a second batch; active is for known levels of a factor.
var (
	secondBatch = []string{"losses.2.tc.discriminator.second_batch=true"}
	secondMasks = []string{"supervision={labels: {fraction: 0.5}}",
		"losses.2={conditional-tc: {weight: 5, active: [{columns: [1, 3], factor: row, levels: [0, 1, 2, 3, 4, 5]}], discriminator: {hidden: [32, 32], renew: true, second_batch: true}}}"}
	secondViews = append([]string{"views={pipeline: [flip], count: 1}"}, secondBatch...)
)

// TestSecondBatchResumes checks that a run with second batches, stopped at any step and
// resumed, ends with the bits of one that was not, whatever the threads, and that it is not
// the run without them.
func TestSecondBatchResumes(t *testing.T) {
	first := t.TempDir()
	trainIn(t, first, judgedConfig(t), false)
	for name, overrides := range map[string][]string{"tc": secondBatch, "conditional-tc": secondMasks, "tc of views": secondViews} {
		t.Run(name, func(t *testing.T) {
			whole, dir := t.TempDir(), t.TempDir()
			trainIn(t, whole, judgedConfig(t, overrides...), false)
			for stop, resume := 2, false; ; stop, resume = stop+3, true {
				_, err := Run(endAfter(stop), judgedConfig(t, append(overrides, "train.threads=1")...), Options{Dir: dir, Resume: resume})
				if err == nil {
					break
				}
				if !errors.Is(err, ErrStopped) {
					t.Fatal(err)
				}
			}
			got, want := bits(t, dir), bits(t, whole)
			sameBits(t, "a resumed run", got, want)
			if reflect.DeepEqual(want, bits(t, first)) {
				t.Error("second batches change nothing")
			}
		})
	}
}

// TestSecondBatch checks what a discriminator with a second batch learns from: the codes of the
// step, and permuted codes of other images, computed with the new parameters.
func TestSecondBatch(t *testing.T) {
	for name, overrides := range map[string][]string{"tc": secondBatch, "conditional-tc": secondMasks} {
		trainer := trainerOf(t, judgedConfig(t, append(overrides, "train.epochs=1")...))
		first, err := datasets.NewSampler(trainer.split, 100, rng.New(3, "batch")) // deals the trainer's batches
		if err != nil {
			t.Fatal(err)
		}
		if err := first.StartEpoch(); err != nil {
			t.Fatal(err)
		}
		dealt, second, same := map[int]int{}, map[int]int{}, 0
		trainer.AddHook(Hook{Name: "look", Step: func(r *StepReport) error {
			p := trainer.programs[programKey{false, r.Images, 1}]
			a, n := p.adversaries[0], r.Images*4
			batch, _ := first.Next()
			if len(trainer.second.batch.Indices) != r.Images {
				t.Fatalf("%s: a second batch of %d images beside %d", name, len(trainer.second.batch.Indices), r.Images)
			}
			for i, image := range trainer.second.batch.Indices {
				second[image]++
				dealt[batch.Indices[i]]++
				if batch.Indices[i] == image {
					same++
				}
			}
			step, codes := slices.Clone(floats(p.machine, a.codes)), slices.Clone(a.second)
			seen := step
			if a.again != nil {
				seen = floats(a.again, a.codes)
			}
			if !slices.Equal(a.input[:n], seen) {
				t.Errorf("%s: the discriminator did not see the codes of the step", name)
			}
			column := func(x []float32, c int) (list []float32) {
				for at := c; at < len(x); at += a.columns {
					list = append(list, x[at])
				}
				slices.Sort(list)
				return list
			}
			for c := range a.columns {
				if !slices.Equal(column(a.input[n:], c), column(codes, c)) || slices.Equal(column(a.input[n:], c), column(step, c)) {
					t.Errorf("%s: column %d of the permuted codes is not that of the second batch", name, c)
				}
			}
			if slices.Equal(a.input[n:], codes) {
				t.Errorf("%s: the codes of the second batch are not permuted", name)
			}
			// The model's parameters are already those of after the step.
			if err := p.second.machine.RunAll(); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(codes, a.second) {
				t.Errorf("%s: the second batch was not encoded with the new parameters", name)
			}
			return nil
		}})
		if err := trainer.Fit(context.Background()); err != nil {
			t.Fatal(err)
		}
		if same > 20 {
			t.Errorf("%s: %d of 256 images come at the same place in both orders", name, same)
		}
		if name == "tc" && !maps.Equal(dealt, second) { // every image once
			t.Errorf("%s: second batches have other images", name)
		}
	}
}

// TestCapacityRises checks the number that holds the divergence in every step.
func TestCapacityRises(t *testing.T) {
	r := losses.Rise{From: 1, To: 5, Steps: 4}
	for step, want := range []float64{1, 2, 3, 4, 5, 5, 5} {
		if got := r.At(step); got != want {
			t.Errorf("step %d: %v, want %v", step, got, want)
		}
	}
	trainer := trainerOf(t, judgedConfig(t))
	p := trainer.programs[programKey{false, 100, 1}]
	p.fill(p.images, nil, datasets.Batch{}, 0, 5, trainer.noise)
	if got := nn.Data(p.asked.Schedules[0].Node)[0]; got != 4 {
		t.Errorf("the capacity of step 5 is %v, want 4", got)
	}
}
