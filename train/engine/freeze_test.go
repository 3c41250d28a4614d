package engine

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// followed has an EMA target and batch norms.
const followed = `
seed: 2
dataset: {square: {size: 16, side: 4}}
supervision: {labels: {fraction: 0.5}}
views: {pipeline: [flip, crop], count: 2}
model: {byol: {encoder: {conv64-norm: {features: 12, norm: batch}}, hidden: 8, projected: 4, predictor: 8}}
losses: [cosine-regression, {variance: {codes: {row: [0], column: [1]}}}]
train: {epochs: 2, batch: 100}
`

// freezing lists tasks with patterns of frozen parameters and states, and of parameters that must change.
var freezing = map[string]struct {
	source    string
	overrides []string
	stays     []string // patterns
	moves     string   // pattern
}{
	"two objectives": {tiny, []string{"freeze=[encoder/*]"}, []string{"encoder/*"}, "decoder/*"},
	"discriminator":  {judged, []string{"freeze=[encoder/*]"}, []string{"encoder/*"}, "decoder/*"},
	"second batch":   {judged, append([]string{"freeze=[encoder/*]"}, secondBatch...), []string{"encoder/*"}, "decoder/*"},
	"hierarchy":      {sticks, []string{"freeze=[decoder/*]"}, []string{"decoder/*"}, "encoder/*"},
	"queue":          {queued, []string{"freeze=[encoder/*]"}, []string{"encoder/*", "target/encoder/*"}, "*head/*"},
	"convolutions":   {followed, []string{"freeze=[encoder/conv1/*, encoder/norm1/*]"}, []string{"encoder/conv1/*", "encoder/norm1/*", "target/encoder/conv1/*", "target/encoder/norm1/*"}, "encoder/conv2/*"},
	"encoder":        {followed, []string{"freeze=[encoder/*]"}, []string{"encoder/*", "target/encoder/*"}, "*predictor/*"},
	"not the norms":  {followed, []string{"freeze=[encoder/conv*]"}, []string{"encoder/conv*", "target/encoder/conv*"}, "encoder/norm*"},
}

// Frozen tensors keep every bit and have no gradients or moments, for any weight decay. All other relevant tensors
// change. A saved and loaded loop takes the same steps.
func TestFreeze(t *testing.T) {
	long.NotShort(t)
	for name, c := range freezing {
		t.Run(name, func(t *testing.T) {
			overrides := append(slices.Clone(c.overrides), "train.optimizer={adam: {decay: 0.1}}", "train.clip=1")
			l := loopOf(t, c.source, overrides...)
			params := l.Params()
			before := map[string][]float32{}
			for _, n := range params.Names() {
				if strings.HasPrefix(n, "target/") { // as if trained before: an average would change it
					params.Get(n).Float32s()[0] += 0.5
				}
				before[n] = slices.Clone(params.Get(n).Float32s())
			}
			var saved bytes.Buffer
			l.AddHook(Hook{Name: "save", OnStep: func(_ context.Context, l *Loop, _ *StepReport) error {
				if l.Step() == 3 {
					return l.Save(&saved)
				}
				return nil
			}})
			must.OK(t, l.Run(context.Background()))
			checkFrozen(t, l, before, c.stays, c.moves)

			again := loopOf(t, c.source, overrides...)
			must.OK(t, again.Load(&saved))
			must.OK(t, again.Run(context.Background()))
			for _, n := range params.Names() {
				if !slices.Equal(params.Get(n).Float32s(), again.Params().Get(n).Float32s()) {
					t.Errorf("%s differs after loading", n)
				}
			}

			free := loopOf(t, c.source, append(overrides, "freeze=[]")...)
			for shape, p := range l.programs {
				if q := free.programs[shape]; q != nil && p.machine.Bytes() >= q.machine.Bytes() {
					t.Errorf("a frozen step has values of %.0f bytes, a free one of %.0f", p.machine.Bytes(), q.machine.Bytes())
				}
			}
		})
	}
}

// checkFrozen checks parameters after training, and that no gradient and no optimiser has frozen parameters.
func checkFrozen(t *testing.T, l *Loop, before map[string][]float32, stays []string, moves string) {
	t.Helper()
	fits := func(name string) bool {
		return slices.ContainsFunc(stays, func(p string) bool { return nn.Match(p, name) })
	}
	moving := 0
	for _, n := range l.Params().Names() {
		same := slices.Equal(before[n], l.Params().Get(n).Float32s())
		switch {
		case fits(n) && !same:
			t.Errorf("%s changed", n)
		case nn.Match(moves, n) && !same:
			moving++
		}
	}
	if moving == 0 {
		t.Errorf("nothing of %s changed", moves)
	}
	for _, o := range l.objectives {
		if i := slices.IndexFunc(o.names, fits); i >= 0 {
			t.Errorf("objective %s has a gradient of %s", o.Name, o.names[i])
		}
		_, tensors := o.optimizer.State()
		for _, x := range tensors {
			if _, of, _ := strings.Cut(x.Name, "/"); fits(of) {
				t.Errorf("objective %s has moments of %s", o.Name, of)
			}
		}
	}
	for _, n := range l.Frozen() {
		if !fits(n) {
			t.Errorf("%s is frozen", n)
		}
	}
	if names := l.Untrained(); slices.ContainsFunc(names, fits) {
		t.Errorf("%v are called untrained", names)
	}
}

func TestFreezeMistakes(t *testing.T) {
	for freeze, want := range map[string]string{
		"[encoder/con*]":    `freeze.0: no parameter fits "encoder/con*"`,
		"[encoder/*, oops]": `freeze.1: no parameter fits "oops"`,
		"[target/*]":        `freeze.0: "target/*" fits only states such as target/encoder/conv1/weight, which no gradient changes; want patterns of parameters`,
		"['*']":             "freeze: objective unsupervised: all parameters that the losses depend on are frozen; want some that learn",
	} {
		source := strings.Replace(followed, "encoder: {conv64-norm: {features: 12, norm: batch}}",
			"encoder: {conv64-norm: {features: 12, norm: none}}", 1)
		if freeze == "[encoder/con*]" {
			source = tiny
		}
		task, settings := taskOf(t, source, "freeze="+freeze)
		_, err := New(task, settings)
		var e *Error
		if !errors.As(err, &e) || !strings.HasPrefix(e.Key+": "+err.Error(), want) {
			t.Errorf("%s: error %v, want %s", freeze, err, want)
		}
	}
}

// BenchmarkFreeze times steps of an encoder of 64x64x3 images, batch 64, with all, some and no trainable parameters:
// forward, backward and Adam, without drawing the images.
//
//	go test ./train/engine -run '^$' -bench Freeze
func BenchmarkFreeze(b *testing.B) {
	const source = `
seed: 1
dataset: {sprites: {channels: 3, orientations: 4, positions: 4}}
supervision: {labels: {fraction: 1}}
model: {encoder: {encoder: {conv64-norm: {features: 64}}, latent: 6}}
losses: [{variance: {codes: {x: [0], y: [1]}}}, contraction]
train: {epochs: 1000000, batch: 64}
`
	for _, c := range []struct{ name, freeze string }{
		{"nothing", "[]"}, {"first", "[encoder/conv1/*, encoder/norm1/*]"}, {"convolutions", "[encoder/conv1/*, encoder/conv2/*, encoder/conv3/*, encoder/conv4/*, encoder/norm*]"}, {"encoder", "[encoder/*]"},
	} {
		atThreads(b, c.name, func(b *testing.B) {
			l := loopOf(b, source, "freeze="+c.freeze)
			must.OK(b, l.RunEpoch(context.Background()))
			b.ResetTimer()
			for b.Loop() {
				must.OK(b, l.RunEpoch(context.Background()))
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*l.EpochSteps())/1e3, "ms/step")
		})
	}
}
