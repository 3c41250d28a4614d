package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/train/engine/internal/labels"
)

// TestJudgeOfParts checks that a step trains the model with the unchanged discriminator, and then the discriminator on
// the codes of that step.
func TestJudgeOfParts(t *testing.T) {
	loop := loopOf(t, judged)
	var values []float64
	loop.AddHook(Hook{Name: "look", OnStep: func(_ context.Context, _ *Loop, r *StepReport) error {
		must.EqualSlices(t, r.Names, []string{"loss", "reconstruction", "kl", "tc", "tc-discriminator"}, "losses")
		values = append(values, r.Values...)
		if total := r.Values[1] + 10*r.Values[2] + 5*r.Values[3]; !(math.Abs(total-r.Values[0]) <= 1e-4*math.Abs(total)) {
			t.Errorf("the total %v is not %v, the sum of the parts of the model", r.Values[0], total)
		}
		return nil
	}})
	p := loop.programs[batchShape{false, 100, 1}]
	a := p.adversaries[0]
	before := snapshot(loop.plan.discriminators)
	must.OK(t, loop.Run(context.Background()))
	if first := values[4]; !(math.Abs(first-math.Ln2) <= 0.3) { // no information at first
		t.Errorf("the discriminator begins with a loss of %v, want about log 2", first)
	}
	must.Equal(t, len(before), len(a.names), "parameters")
	for i, name := range loop.plan.discriminators.Names() {
		if slices.Equal(before[i], loop.plan.discriminators.Get(name).Float32s()) {
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

// Discriminators, and networks of sentences, follow Adam with the gradients and the rate of the step.
func TestBesides(t *testing.T) {
	for _, source := range []string{judged, learned} {
		l := loopOf(t, source, "train.warmup={steps: 3}", "train.clip=0.001")
		before := snapshot(l.plan.discriminators)
		l.AddHook(Hook{OnStep: func(_ context.Context, l *Loop, r *StepReport) error {
			p := l.programs[batchShape{r.Objective == "supervised", r.Images, 1}]
			for _, b := range p.sideNetworks() {
				wanted := parametersOf(l.plan.discriminators, b.names)
				for i, name := range b.names {
					wanted[i].Value = before[slices.Index(l.plan.discriminators.Names(), name)]
				}
				b.adam.New(wanted).Update(b.gradients, r.Rate, 1)
				for _, p := range wanted {
					if r.Rate == 1 || !slices.Equal(p.Value, l.plan.discriminators.Get(p.Name).Float32s()) {
						t.Errorf("rate %v: %s does not follow its gradient", r.Rate, p.Name)
					}
				}
				b.gradients[0][0], l.plan.discriminators.Get(b.names[0]).Float32s()[0] = float32(math.NaN()), float32(math.NaN())
				err := cmp.Or(l.trainNetworks(p, 1, r.Images), l.trainDiscriminators(p, 1, r.Images))
				if err == nil || !strings.Contains(err.Error(), b.name+": ") ||
					!strings.Contains(err.Error(), "NaN; try a smaller learning rate of the ") {
					t.Errorf("a gradient that is not finite: %v", err)
				}
			}
			l.Stop("one step")
			return nil
		}})
		must.OK(t, l.Run(t.Context()))
	}
}

func snapshot(p *nn.Params) (list [][]float32) {
	for _, name := range p.Names() {
		list = append(list, slices.Clone(p.Get(name).Float32s()))
	}
	return list
}

// TestSecondBatch checks the inputs of a discriminator with a second batch: the codes of the step, and permuted codes
// of other images, computed with the new parameters.
func TestSecondBatch(t *testing.T) {
	for name, overrides := range map[string][]string{"tc": secondBatch, "conditional-tc": secondMasks} {
		loop := loopOf(t, judged, append(overrides, "train.epochs=1")...)
		first, err := supervision.NewSampler(loop.feed.split, 100, rng.New(3, "batch")) // returns the loop's batches
		must.OK(t, err)
		must.OK(t, first.StartEpoch())
		dealt, second, same := map[int]int{}, map[int]int{}, 0
		loop.AddHook(Hook{Name: "look", OnStep: func(_ context.Context, _ *Loop, r *StepReport) error {
			p := loop.programs[batchShape{false, r.Images, 1}]
			a, n := p.adversaries[0], r.Images*4
			batch, _ := first.Next()
			if len(loop.feed.second.batch.Indices) != r.Images {
				t.Fatalf("%s: a second batch of %d images beside %d", name, len(loop.feed.second.batch.Indices), r.Images)
			}
			for i, image := range loop.feed.second.batch.Indices {
				second[image]++
				dealt[batch.Indices[i]]++
				if batch.Indices[i] == image {
					same++
				}
			}
			step, codes := slices.Clone(floats(p.machine, a.codes)), slices.Clone(a.second)
			seen := step
			if a.recompute != nil {
				seen = floats(a.recompute, a.codes)
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
			// The model already has the parameters after the step.
			must.OK(t, p.second.machine.RunAll())
			if !slices.Equal(codes, a.second) {
				t.Errorf("%s: the second batch was not encoded with the new parameters", name)
			}
			return nil
		}})
		must.OK(t, loop.Run(context.Background()))
		if same > 20 {
			t.Errorf("%s: %d of 256 images come at the same place in both orders", name, same)
		}
		if name == "tc" && !maps.Equal(dealt, second) { // each image once
			t.Errorf("%s: second batches have other images", name)
		}
	}
}

// TestCapacityRises checks the capacity in every step.
func TestCapacityRises(t *testing.T) {
	r := losses.Ramp{From: 1, To: 5, Steps: 4}
	for step, want := range []float64{1, 2, 3, 4, 5, 5, 5} {
		must.Equal(t, r.At(step), want, "step", step)
	}
	loop := loopOf(t, judged)
	p := loop.programs[batchShape{false, 100, 1}]
	p.fill(p.images, nil, supervision.Batch{}, 0, 5, loop.feed.noise)
	must.Equal(t, nn.Data(p.requests.Schedules[0].Node)[0], 4, "the capacity of step 5 is")
}

// A discriminator with renew gets codes from the new parameters, and permuted codes of the step.
func TestRenewedCodes(t *testing.T) {
	for _, renew := range []bool{true, false} {
		loop := loopOf(t, sticks, fmt.Sprint("losses.2.conditional-tc.discriminator.renew=", renew))
		must.OK(t, loop.RunEpoch(context.Background()))
		p := loop.programs[batchShape{false, 100, 1}]
		a := p.adversaries[0]
		n := len(a.input) / 2
		seen, permuted := slices.Clone(a.input[:n]), slices.Clone(a.input[n:])
		slices.Sort(seen)
		slices.Sort(permuted)
		if same := slices.Equal(seen, permuted); same == renew {
			t.Errorf("renew %v: codes and permuted codes are the same numbers: %v", renew, same)
		}
		if err := p.machine.RunAll(); err != nil { // with the current parameters
			t.Fatal(err)
		}
		coded := floats(p.machine, a.codes)
		must.Equal(t, slices.Equal(coded, a.input[:n]), renew, "renew", renew, "the codes are those of the parameters of now")
	}
}

// Regression learns the values of the labelled images in a batch.
func TestExactLabels(t *testing.T) {
	loop := loopOf(t, sticks, "losses=[reconstruction, regression]")
	l := loop.programs[batchShape{false, 100, 1}].labels
	images := []int{7, 3, 399}
	exact, known, err := l.Offer(nil, 100).Exact() // the loss has created the inputs
	must.OK(t, err)
	l.Fill(supervision.Batch{Indices: images, Levels: []int32{0, 0, 0, -1, -1, -1, 0, -1, 0}}) // the second is unlabelled
	values, f := make([]float64, 2), loop.Data().Factors()[1]
	size := f.Value(f.Size - 1)
	for row, i := range images {
		loop.Data().(datasets.Hierarchical).Values(i, values)
		for c, v := range values {
			want, labelled := float32(v/size), float32(1)
			if row == 1 || row == 2 && c == 0 {
				want, labelled = 0, 0
			}
			if got, is := nn.Data(exact)[2*row+c], nn.Data(known)[2*row+c]; got != want || is != labelled {
				t.Errorf("image %d, dimension %d: value %v, known %v; want %v, %v", i, c, got, is, want, labelled)
			}
		}
	}
	task, _ := taskOf(t, sticks, "supervision={similarity: {count: 20}}")
	if _, _, err := labels.New(task.Split.Known, task.Data).Offer(nil, 3).Exact(); err == nil ||
		!strings.Contains(err.Error(), "no labels of them") {
		t.Errorf("values of similar pairs: %v", err)
	}
}

// With accumulated gradients, second batches follow the schedules of the step's own batch.
func TestSecondBatchAccumulated(t *testing.T) {
	moved := false
	runLoop(t, judged, func(l *Loop, r *StepReport) {
		p := l.programs[batchShape{false, r.Images, 1}]
		for i, s := range p.requests.Schedules {
			is, want := nn.Data(p.second.requests.Schedules[i].Node)[0], nn.Data(s.Node)[0]
			must.Equal(t, is, want, "step", r.Step, "schedule", i, "at the second batch")
			moved = moved || want > 0
		}
	}, append([]string{"train.accumulate=2", "train.epochs=2"}, secondBatch...)...)
	if !moved {
		t.Error("no schedule moves")
	}
}
