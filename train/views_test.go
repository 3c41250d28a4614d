package train

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/rundir"
)

// seen is a small experiment on two views, with placeholders for models and losses.
const seen = `
name: seen
seed: 4
dataset: {square: {size: 16, side: 4, step: 2}}
views: {pipeline: [flip, crop], count: 2}
model: MODEL
losses: [LOSS]
train: {epochs: 3, batch: 25, figures: false, optimizer: {adam: {lr: 0.0003}}}
`

// viewModels are small models of two views, with their losses.
var viewModels = map[string][2]string{
	"byol":         {"byol: {encoder: {conv64-norm: {features: 12}}, hidden: 20, projected: 8, predictor: 16, momentum: {base: 0.9, schedule: cosine}}", "cosine-regression"},
	"byol, batch":  {"byol: {encoder: {conv64-norm: {features: 12, norm: batch, final_norm: true}}, hidden: 20, projected: 8, predictor: 16}", "cosine-regression"},
	"simsiam":      {"simsiam: {encoder: {conv64-norm: {features: 12, norm: layer}}, hidden: 20, projected: 8, predictor: 16}", "cosine-regression"},
	"barlow-twins": {"barlow-twins: {encoder: {conv64-norm: {features: 12, norm: instance}}, hidden: 20}", "cross-correlation"},
	"moco":         {"moco: {encoder: {conv64-norm: {features: 12, norm: none}}, width: 8, queue: 62}", "info-nce"},
	"moco-v2":      {"moco-v2: {encoder: {conv64-norm: {features: 12, norm: batch}}, width: 8, queue: 62, momentum: {base: 0.9}}", "info-nce: {temperature: 0.2}"},
}

func seenConfig(t testing.TB, name string, overrides ...string) Config {
	t.Helper()
	m := viewModels[name]
	source := strings.ReplaceAll(strings.ReplaceAll(seen, "MODEL", "{"+m[0]+"}"), "LOSS", "{"+m[1]+"}")
	if !strings.Contains(m[1], ":") {
		source = strings.ReplaceAll(source, "{"+m[1]+"}", m[1])
	}
	return must.Get(Load("seen.yaml", []byte(source), overrides...))(t)
}

// A run on two views, stopped at any step and resumed on any number of threads, ends with the bits of an uninterrupted
// run. This covers networks, targets, queues and running moments. The trained model can be opened.
func TestViews(t *testing.T) {
	long.NotShort(t)
	for name := range viewModels {
		t.Run(name, func(t *testing.T) {
			whole, dir := t.TempDir(), t.TempDir()
			r := trainIn(t, whole, seenConfig(t, name), false)
			trainInParts(t, dir, seenConfig(t, name, "train.threads=1"), 2, 3)
			sameBits(t, "a resumed run", bits(t, dir), bits(t, whole))
			must.Equal(t, logged(t, dir), logged(t, whole), "the logs differ")
			if spread := r.Losses["unsupervised"]["spread"]; !(spread > 1e-3) || spread > 2 {
				t.Errorf("spread %v in %v", spread, r.Losses)
			}
			if _, _, err := OpenExperiment(whole); err != nil {
				t.Error(err)
			}
			if text, err := os.ReadFile(filepath.Join(whole, rundir.LogFile)); err != nil || !slices.Contains(splitNames(string(text)), "spread") {
				t.Errorf("the log does not show the spread (%v): %s", err, text)
			}
		})
	}
}

// values copies the tensors of a set.
func values(p *nn.Params) map[string][]float32 {
	all := map[string][]float32{}
	for _, name := range p.Names() {
		all[name] = slices.Clone(p.Get(name).Float32s())
	}
	return all
}

// Targets begin as copies. They move with the step's momentum towards the parameters after the step.
func TestTarget(t *testing.T) {
	long.NotShort(t)
	for _, name := range []string{"byol", "moco-v2"} {
		c := seenConfig(t, name)
		loop := loopOf(t, c)
		p := loop.Model().Params()
		of := loop.EpochSteps()
		before := values(p)
		targets := 0
		for name, v := range before {
			if source, ok := strings.CutPrefix(name, "target/"); ok {
				targets++
				if !slices.Equal(v, before[source]) {
					t.Errorf("%s does not begin as %s", name, source)
				}
				if !p.IsState(name) || strings.Contains(name, "running") {
					t.Errorf("%s is not a state, or of no use", name)
				}
			}
		}
		if targets < 16 {
			t.Errorf("%s: %d targets", name, targets)
		}
		if names := loop.Untrained(); len(names) > 0 {
			t.Errorf("%s: untrained %v", name, names)
		}
		loop.AddHook(engine.Hook{Name: "look", OnStep: func(_ context.Context, _ *engine.Loop, r *engine.StepReport) error {
			now := values(p)
			m := 0.9
			if name == "byol" {
				m = 1 - 0.1*(1+math.Cos(math.Pi*float64(r.Step-1)/float64(3*of)))/2
			}
			for name, v := range now {
				source, ok := strings.CutPrefix(name, "target/")
				if !ok {
					continue
				}
				moved := false
				for i := range v {
					want := m*float64(before[name][i]) + (1-m)*float64(now[source][i])
					if !(math.Abs(float64(v[i])-want) <= 1e-6*max(1, math.Abs(want))) {
						t.Fatalf("step %d: element %d of %s is %v, want %v", r.Step, i, name, v[i], want)
					}
					moved = moved || now[source][i] != before[source][i]
				}
				if !moved {
					t.Errorf("step %d: %s does not change", r.Step, source)
				}
			}
			before = now
			return nil
		}})
		must.OK(t, loop.Run(context.Background()))
	}
}

// A config may request a sample of the images at the end. Codes, factors and metrics then use the sample, or its
// held-out images if the config holds out images.
func TestSampledEnd(t *testing.T) {
	dir := t.TempDir()
	c := seenConfig(t, "byol", "metrics={final: [mig], sample: 60}", "train.hold_out=0.5", "train.epochs=1")
	trainIn(t, dir, c, false)
	e, _, err := OpenExperiment(dir)
	must.OK(t, err)
	some := e.Sample()
	codes := must.Get(some.Codes(context.Background()))(t)
	f := must.Get(npy.ReadFile[float32](filepath.Join(dir, rundir.CodesFile)))(t)
	if some.Data.Len() != 60 || codes.Rows != 60 || f.Shape[0] != 60 || f.Shape[1] != 12 {
		t.Errorf("%d images, %d codes, a file of shape %v", some.Data.Len(), codes.Rows, f.Shape)
	}
	if n := len(some.HeldOut); n < 10 || n > 50 || n+len(some.Split.Unlabelled) != 60 {
		t.Errorf("%d images are held out, %d are not", n, len(some.Split.Unlabelled))
	}
	levels, whole := make([]int, 2), make([]int, 2)
	for row := range some.HeldOut {
		some.Data.FactorsAt(some.HeldOut[row], levels)
		found := false
		for _, i := range e.HeldOut {
			e.Data.FactorsAt(i, whole)
			found = found || slices.Equal(whole, levels)
		}
		if !found {
			t.Errorf("image %d of the sample, with levels %v, is not held out", some.HeldOut[row], levels)
		}
	}
	must.Equal(t, some.Input(codes).Codes.Rows, len(some.HeldOut), "rows of metrics")
	c.Metrics.Sample = 0
	if e.Config.Metrics.Sample = 0; e.Sample() != e {
		t.Error("without a sample the experiment is another")
	}
}

// Metrics use running moments, which training updates. The same images give the same codes in any batch.
func TestRunningMoments(t *testing.T) {
	loop := loopOf(t, seenConfig(t, "byol, batch"))
	p := loop.Model().Params()
	running := p.Get("encoder/norm1/running").Float32s()
	if running[0] != 0 || running[len(running)-1] != 1 {
		t.Errorf("running moments begin as %v", running)
	}
	must.OK(t, loop.RunEpoch(context.Background()))
	if running[0] == 0 || running[len(running)-1] == 1 {
		t.Errorf("running moments stay %v", running)
	}
	coder := must.Get(NewCoder(loop.Model(), models.DataOf(loop.Data())))(t)
	all := must.Get(coder.Encode(context.Background(), loop.Data(), []int{0, 1, 2, 3}))(t)
	one := must.Get(coder.Encode(context.Background(), loop.Data(), []int{2}))(t)
	if !slices.Equal(one, all[2*12:3*12]) {
		t.Errorf("image 2 alone has the code %v, among others %v", one, all[24:36])
	}
}

// The end of a run warns of collapsed codes, and the report has their spread.
func TestCollapse(t *testing.T) {
	long.NotShort(t)
	for name, want := range map[string]bool{"train.batch=100": false, "train.batch=1": true} { // two equal views of one image
		var log bytes.Buffer
		dir := t.TempDir()
		if _, err := Run(context.Background(), seenConfig(t, "byol", name, "train.epochs=1", "train.epoch_steps=2",
			"train.figures=true", "views.pipeline=[]"), Options{Dir: dir, Log: plain.Logger(&log)}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(log.String(), "note: the codes have collapsed: their spread was "); got != want {
			t.Errorf("%s: %s", name, log.String())
		}
		if text, err := os.ReadFile(filepath.Join(dir, rundir.ReportFile)); err != nil || !strings.Contains(string(text), "spread of the codes") {
			t.Errorf("the report does not show the spread (%v)", err)
		}
	}
}
