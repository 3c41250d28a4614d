package train

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/train/rundir"
)

const validated = `
name: validated
dataset: {bumps: {}}
model: {vae: {latent: 3, encoder: {mlp: {hidden: [16]}}, decoder: {mlp: {hidden: [16]}}}}
losses: [reconstruction, {kl: {weight: 2}}]
train: {epochs: 3, epoch_steps: 6, figures: false}
metrics: []
`

// validationLosses returns the validation losses in the log of a run, by name.
func validationLosses(t *testing.T, dir string) (values map[string][]float64) {
	t.Helper()
	r := must.Get(rundir.View(dir))(t)
	values = map[string][]float64{}
	must.OK(t, r.ReadLog(func(l rundir.Line) {
		for name, v := range l.Losses["validation"] {
			values[name] = append(values[name], v)
		}
	}))
	return values
}

func runOf(t *testing.T, text string, o Options, overrides ...string) (*Result, error) {
	t.Helper()
	c := must.Get(Load("validated.yaml", []byte(text), overrides...))(t)
	return Run(context.Background(), c, o)
}

// Validation on another data set changes no bit of training. Its losses fall, and they stop training.
func TestValidation(t *testing.T) {
	dir := t.TempDir()
	plain, with := filepath.Join(dir, "plain"), filepath.Join(dir, "with")
	for run, overrides := range map[string][]string{plain: nil, with: {"train.validation.dataset=bumps"}} {
		must.Get(runOf(t, validated, Options{Dir: run}, overrides...))(t)
	}
	a, err := HashParameters(plain)
	b, also := HashParameters(with)
	if err != nil || also != nil || a != b {
		t.Errorf("parameters %s and %s, %v, %v; want the same", a, b, err, also)
	}
	v := validationLosses(t, with)
	if l := v["loss"]; len(l) != 3 || !(l[2] < l[0]) || len(v) != 3 {
		t.Fatalf("validation losses %v; want three losses in three epochs, which fall", v)
	}
	for i, sum := range v["loss"] {
		if want := v["reconstruction"][i] + 2*v["kl"][i]; !(math.Abs(sum-want) <= 1e-4*want) {
			t.Errorf("epoch %d: loss %v; want %v", i+1, sum, want)
		}
	}
	r, err := runOf(t, validated, Options{Dir: filepath.Join(dir, "stops")}, "train.validation={fraction: 0.1, every: 2}",
		"train.epochs=20", "train.stop={loss: validation/loss, reach: 1e9}")
	if err != nil || r.Epochs != 2 {
		t.Errorf("%v; want a stop after the first validation, in epoch 2", err)
	}
}

// Held-out images do not train and keep their labels for validation. The same model has the same validation losses. A
// cancelled context stops the measurement.
func TestValidationHoldsOut(t *testing.T) {
	c, err := Load("validated.yaml", []byte(validated), "train.validation.fraction=0.25", "train.hold_out=0.5",
		"supervision={labels: {fraction: 0.5}}", "losses=[reconstruction, kl, variance]", "model.vae.latent=4")
	must.OK(t, err)
	e := must.Get(NewExperiment(c))(t)
	n := e.Data.Len()
	if len(e.HeldOut) != n/2 || len(e.validated) != n/8 || len(e.Split.Unlabelled) != n-n/2-n/8 {
		t.Errorf("%d held out, %d to validate on, %d to train on of %d", len(e.HeldOut), len(e.validated), len(e.Split.Unlabelled), n)
	}
	seen := make([]int, n)
	for _, list := range [][]int{e.HeldOut, e.validated, e.Split.Unlabelled} {
		for _, i := range list {
			seen[i]++
		}
	}
	for i, count := range seen {
		if count != 1 {
			t.Fatalf("image %d is in %d of three lists", i, count)
		}
	}
	l, _, err := e.compile()
	must.OK(t, err)
	defer l.Close()
	first := must.Get(e.validation.Measure(context.Background()))(t)
	again, err := e.validation.Measure(context.Background())
	if err != nil || len(again.Values) != 4 || again.Values[3] == 0 {
		t.Fatalf("%v, %v; want the variance of labelled images", again, err)
	}
	for i := range first.Values {
		must.Equal(t, first.Values[i], again.Values[i], first.Names[i], "then")
	}
	e.Data = &measured{Dataset: e.Data, counts: make([]atomic.Int32, n)}
	if e.validation, err = e.newValidation(l); err == nil {
		_, err = e.validation.Measure(context.Background())
	}
	for i := range n {
		if held, count := slices.Contains(e.validated, i), e.Data.(*measured).counts[i].Load(); err != nil || held != (count > 0) {
			t.Fatalf("%v: image %d was measured %d times; held out for validation: %v", err, i, count, held)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := e.validation.Measure(ctx); !errors.Is(err, ErrStopped) {
		t.Errorf("%v; want ErrStopped", err)
	}
}

// A model that decides before each step also decides about images for validation. Validation on the images of the
// training, at a rate near 0, has the losses of the training, and changes no bit of it.
func TestValidationDecides(t *testing.T) {
	dir := t.TempDir()
	plain, with := filepath.Join(dir, "plain"), filepath.Join(dir, "with")
	const data = "{square: {size: 8, side: 2}}"
	set := []string{"dataset=" + data, "losses=[reconstruction, kl]", "train.optimizer.adam.lr=1e-9", "train.epoch_steps=0",
		"model={cascade-vae: {latent: 4, categories: 3, closed: 1, phases: 3, encoder: {mlp: {hidden: [16]}}, decoder: {mlp: {hidden: [16]}}}}"}
	must.Get(runOf(t, validated, Options{Dir: plain}, set...))(t)
	r := must.Get(runOf(t, validated, Options{Dir: with}, append(set, "train.validation.dataset="+data)...))(t)
	sameBits(t, "with validation", bits(t, with), bits(t, plain))
	for name, v := range validationLosses(t, with) {
		if got, want := v[2], r.Losses["unsupervised"][name]; !(math.Abs(got-want) <= 0.02*want) {
			t.Errorf("validation/%s is %v, in training %v", name, got, want)
		}
	}
}

// Validation computes in float32, also for training in mixed precision.
func TestValidationPrecision(t *testing.T) {
	needsMixed(t)
	dir := t.TempDir()
	single, mixed := filepath.Join(dir, "float32"), filepath.Join(dir, "mixed")
	for _, run := range []string{single, mixed} {
		set := []string{"train.validation.dataset=bumps", "train.optimizer.adam.lr=1e-30", "train.precision=" + filepath.Base(run)}
		must.Get(runOf(t, validated, Options{Dir: run}, set...))(t)
	}
	want := validationLosses(t, single)
	for name, v := range validationLosses(t, mixed) {
		must.Equal(t, v[0], want[name][0], name, "in float32")
	}
}

// measured counts how often each image of a data set is read.
type measured struct {
	datasets.Dataset
	counts []atomic.Int32
}

func (s *measured) RealValued() bool { return datasets.RealValued(s.Dataset) }

func (s *measured) Image(i int, dst []float32) {
	s.counts[i].Add(1)
	s.Dataset.Image(i, dst)
}

// A stopped and resumed run has the log of an uninterrupted run.
func TestValidationResumes(t *testing.T) {
	dir := t.TempDir()
	whole, parts := filepath.Join(dir, "whole"), filepath.Join(dir, "parts")
	const set = "train.validation.fraction=0.2"
	must.Get(runOf(t, validated, Options{Dir: whole}, set))(t)
	c := must.Get(Load("validated.yaml", []byte(validated), set))(t)
	ctx, cancel := context.WithCancel(context.Background())
	if _, err := Run(ctx, c, Options{Dir: parts, Progress: func(done, _ int) {
		if done == 8 {
			cancel()
		}
	}}); !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
	must.Get(Run(context.Background(), c, Options{Dir: parts, Resume: true}))(t)
	a, err := os.ReadFile(filepath.Join(whole, rundir.TableFile))
	b, also := os.ReadFile(filepath.Join(parts, rundir.TableFile))
	if err != nil || also != nil || !bytes.Equal(a, b) || !bytes.Contains(a, []byte("loss/validation/kl")) {
		t.Errorf("%v, %v:\n%s\nand of parts:\n%s", err, also, a, b)
	}
}

func TestValidationMistakes(t *testing.T) {
	file := must.Write(t, filepath.Join(t.TempDir(), "labels.csv"), "label\n"+strings.Repeat("0\n1\n", 2048))
	for _, c := range []struct {
		set  []string
		want string
	}{
		{[]string{"train.validation={}"}, "train.validation.fraction: 0 is out of range; want more than 0 and less than 1, or dataset"},
		{[]string{"train.validation={fraction: 0.1, dataset: bumps}"}, "want only one of them"},
		{[]string{"train.validation={fraction: 0.1, every: 0}"}, "train.validation.every"},
		{[]string{"train.validation={fraction: 0.00001}"}, "leaves no image for validation"},
		{[]string{"train.validation={dataset: square}"}, "square has images of 64 x 64 x 1 (height, width, channels); want"},
		{[]string{"dataset={square: {size: 8, side: 2, step: 2}}", "train.validation={dataset: {square: {size: 8, side: 2}}}", "supervision={labels: {fraction: 1}}", "losses=[contraction]", "model={encoder: {encoder: {mlp: {hidden: [8]}}}}"},
			"train.validation.dataset: image 1 has a level of factor column, 1, that the other data set lacks; want levels of the training data"},
		{[]string{"train.validation={dataset: bumps}", "supervision={labels: {fraction: 1, file: " + file + "}}", "losses=[reconstruction, kl, variance]"},
			"train.validation.dataset: the files of supervision labels are about the images of dataset bumps; want fraction"},
		{[]string{"train.validation={fraction: 0.1}", "train.stop={loss: loss, patience: 1}"}, "want one of unsupervised/loss, validation/loss"},
		{[]string{"train.validation={fraction: 0.1}", "supervision={pairs: {count: 4}}", "dataset=square", "model=lsbd-vae", "losses=[reconstruction, kl, lsbd]"}, "groups of images"},
		{[]string{"train.validation={fraction: 0.001}", "supervision={labels: {fraction: 0.001}}", "losses=[variance]", "model.vae.latent=4"}, "train.validation.fraction: the images for validation have no label"},
		{[]string{"train.hold_out=0.99", "supervision={similarity: {count: 1}}", "losses=[variance]", "model.vae.latent=4"}, "train.hold_out: the images left to train on have no label, or no pair"},
	} {
		config, err := Load("validated.yaml", []byte(validated), c.set...)
		if err == nil {
			err = Check(config)
		}
		must.Error(t, err, c.want, c.set)
	}
}

// Runs and the ledger are older than the key. A config without validation has the same text and hash as before.
func TestWithoutValidation(t *testing.T) {
	c := must.Get(Load("validated.yaml", []byte(validated)))(t)
	text, err := c.Encode()
	if err != nil || bytes.Contains(text, []byte("validation")) {
		t.Errorf("%v:\n%s", err, text)
	}
	if c, err = Load("validated.yaml", []byte(validated), "train.validation.fraction=0.5"); err != nil {
		t.Fatal(err)
	}
	if text, err = c.Encode(); err != nil ||
		!bytes.Contains(text, []byte("validation:\n    fraction: 0.5\n    dataset: null\n    every: 1\n")) {
		t.Errorf("%v:\n%s", err, text)
	}
}

// A run notes held-out images that are copies of training images.
func TestNoteOnCopies(t *testing.T) {
	for values, want := range map[int]bool{40: false, 4: true} {
		dir := t.TempDir()
		pixels := make([]float32, 40*9)
		for i := range pixels {
			pixels[i] = float32(i/9%values*9+i%9) / 360
		}
		var file bytes.Buffer
		must.OK(t, npy.Write(&file, []int{40, 3, 3, 1}, pixels))
		must.OK(t, os.WriteFile(filepath.Join(dir, "images.npy"), file.Bytes(), 0o600))
		var log strings.Builder
		must.Get(runOf(t, validated, Options{Dir: filepath.Join(dir, "run"), Log: plain.Logger(&log)}, "dataset={grid: {path: "+dir+"}}",
			"train={epochs: 1, figures: false, hold_out: 0.25}"))(t)
		const note = "10 of the 10 images held out for metrics are copies of training images"
		if got := strings.Contains(log.String(), note); got != want {
			t.Errorf("%d different images: a note is %v; want %v:\n%s", values, got, want, &log)
		}
	}
}
