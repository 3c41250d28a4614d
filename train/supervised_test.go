package train

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train/engine"
)

// TestSeveralSupervisions checks that LSBD-VAE has labels besides its pairs in both objectives. A run stopped anywhere
// and resumed on one thread ends with the same bits.
func TestSeveralSupervisions(t *testing.T) {
	overrides := []string{"supervision=[{pairs: {count: 32}}, {labels: {fraction: 0.3}}, {similarity: {count: 9, share: 0.2}}, {paths: {count: 3, length: 7, step: 1}}]",
		"losses=[reconstruction, kl, lsbd, {contraction: {weight: 5}}, variance]"}
	whole, dir := t.TempDir(), filepath.Join(t.TempDir(), "run")
	trainIn(t, whole, load(t, overrides...), false)
	trainInParts(t, dir, load(t, append(overrides, "train.threads=1")...), 3, 5)
	sameBits(t, "a resumed run", bits(t, dir), bits(t, whole))
	log := logged(t, whole)
	for _, want := range []string{`"supervised":{`, `"contraction"`, `"variance"`} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %s: %.300s", want, log)
		}
	}
}

// TestAnswersResume checks that a run on answers from a file, stopped and resumed, ends with the same bits. It reports
// how it treated contradictory answers.
func TestAnswersResume(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pairs.csv")
	lines := "row,row,factor,answer\n0,1,row,same\n1,2,row,same\n0,2,row,different\n"
	for i := 3; i < 200; i += 2 {
		lines += fmt.Sprintf("%d,%d,row,same\n%d,%d,column,different\n", i, i-3, i, i+1)
	}
	must.Write(t, file, lines)
	overrides := []string{"supervision={answers: {file: " + file + ", conflicts: majority}}",
		"losses=[reconstruction, kl, variance, separation]", "model={vae: {encoder: {mlp: {hidden: [12]}}, latent: 4}}"}
	whole, dir := t.TempDir(), filepath.Join(t.TempDir(), "run")
	trainIn(t, whole, load(t, overrides...), false)
	trainInParts(t, dir, load(t, append(overrides, "train.threads=1")...), 2, 3)
	sameBits(t, "a resumed run", bits(t, dir), bits(t, whole))
	e := must.Get(NewExperiment(load(t, overrides...)))(t)
	if notes := e.Split.Known.Notes; len(notes) != 1 || !strings.Contains(notes[0], "1 of 201 answers are overruled") {
		t.Errorf("notes %v", notes)
	}
}

// TestPlanesAlone checks that an encoder learns to turn from pairs only, without the other images.
func TestPlanesAlone(t *testing.T) {
	long.NotShort(t)
	c := load(t, "model={encoder: {encoder: {mlp: {hidden: [32]}}, latent: 4}}", "losses=[{lsbd: {planes: {row: [0, 1], column: [2, 3]}}}]",
		"supervision.pairs.count=100", "train.epochs=60", "metrics=[]")
	loop := loopOf(t, c)
	must.Equal(t, loop.LeftOut(), 56, "images are left out")
	whole, dir := t.TempDir(), filepath.Join(t.TempDir(), "run")
	c.Train.Epochs, c.Train.Figures = 4, true
	trainIn(t, whole, c, false)
	c.Train.Figures = false
	if _, err := Run(endAfter(9), c, Options{Dir: dir}); err == nil {
		t.Fatal("the run was not stopped")
	}
	trainIn(t, dir, c, true)
	sameBits(t, "a resumed run", bits(t, dir), bits(t, whole))
	var first, last float64
	loop.AddHook(engine.Hook{Name: "test", OnEpoch: func(_ context.Context, _ *engine.Loop, r *engine.EpochReport) error {
		if len(r.Losses) != 1 || r.Images != 200 {
			t.Errorf("%d objectives, %d images", len(r.Losses), r.Images)
		}
		if last = r.Losses[0].Values[0]; first == 0 {
			first = last
		}
		return nil
	}})
	must.OK(t, loop.Run(context.Background()))
	if !(last < first/10) {
		t.Errorf("the loss is %v after the first epoch and %v after the last", first, last)
	}
}

// TestNamesOfObjectives checks that a loss has the same name in all objectives, even if an objective omits an earlier
// loss of its kind.
func TestNamesOfObjectives(t *testing.T) {
	l := loopOf(t, load(t, "losses=[reconstruction, kl, {logic: 'forall[mean] i, j, g(i, j): z(j) =[squared] act(g, z(i))'}, {logic: 'forall[mean] i: z(i) =[squared] 0'}]"))
	got := map[string]string{}
	for _, o := range l.Losses() {
		got[o.Objective] = strings.Join(o.Names, " ")
	}
	if got["supervised"] != "loss reconstruction kl logic logic-2" || got["unsupervised"] != "loss reconstruction kl logic-2" {
		t.Errorf("%v", got)
	}
}

// TestFed checks that a loss without input and groups without a loss are errors.
func TestFed(t *testing.T) {
	for want, overrides := range map[string][]string{
		"loss lsbd: it needs labelled groups of images": {"supervision={labels: {fraction: 0.5}}"},
		"images, and the supervision has none; want":    {"supervision=none"},
		"loss lsbd: it needs labelled groups":           {"supervision=none", "losses=[lsbd, reconstruction, kl]"},
		"nothing learns from them; want a loss such":    {"model={ae: {encoder: {mlp: {hidden: [16]}}}}", "losses=[reconstruction]"},
		"it needs labels of the factors":                {"losses=[reconstruction, kl, lsbd, variance]"},
	} {
		e := must.Get(NewExperiment(load(t, overrides...)))(t)
		must.ErrorOf(e.Loop())(t, want, overrides)
	}
	loopOf(t, load(t, "model={vae: {latent: 4, encoder: {mlp: {hidden: [16]}}}}", "supervision={changes: {count: 20}}",
		"losses=[slow, reconstruction, kl]"))
	loopOf(t, load(t, "supervision.pairs.count=0")) // a sweep of counts may begin with 0
}

// Labelled groups come first in an epoch. A note counts the images that short epochs never reach.
func TestUnreached(t *testing.T) {
	const pairs, both = "supervision={pairs: {count: 32}}", "supervision=[{pairs: {count: 32}}, {paths: {count: 4, length: 10, step: 1}}]"
	for _, c := range []struct {
		supervision string
		steps       int
		want        string // images
	}{{pairs, 0, ""}, {pairs, 3, ""}, {pairs, 2, "192 images"}, {pairs, 1, "192 images"}, {both, 2, "211 images"}, {both, 3, "171 images"}} {
		e := must.Get(NewExperiment(load(t, c.supervision, fmt.Sprint("train.epoch_steps=", c.steps))))(t)
		l := must.Get(e.Loop())(t)
		notes := strings.Join(l.Notes(), "\n")
		l.Close()
		if got, unreached := strings.CutPrefix(notes, "no step uses "); unreached != (c.want != "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s, %d steps: notes %q; want %q", c.supervision, c.steps, notes, c.want)
		}
	}
}
