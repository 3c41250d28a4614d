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

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/factor"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/losses"
)

// regularised is a small experiment of an encoder alone.
const regularised = `
name: regularised
seed: 1
dataset: {square: {size: 16, side: 4}}
supervision: {labels: {fraction: 1}}
model: {encoder: {encoder: {mlp: {hidden: [16]}}, latent: 2}}
losses: [{variance: {weight: 10}}, contraction]
train: {epochs: 2, batch: 64, figures: false}
`

// TestLabelInputs checks what losses see of the factors of a batch.
func TestLabelInputs(t *testing.T) {
	known := &datasets.Labels{Factors: []factor.Factor{
		{Name: "size", Size: 3, Kind: factor.Ordinal, Values: []float64{2, 4, 6}},
		{Name: "angle", Size: 4, Kind: factor.Circular},
		{Name: "shape", Size: 3, Kind: factor.Categorical}}}
	l := newLabelInputs(known, nil)
	g := nn.NewGraph(nn.NewParams(1))
	labels := l.offer(g, 2)
	l.fill(datasets.Batch{Levels: []int32{0, 0, 0, 1, 1, 1}}) // no loss has asked for an input
	groups, err := labels.Groups()
	if err != nil {
		t.Fatal(err)
	}
	values, levels, err := labels.Values(losses.UnitsAsGiven)
	if err != nil {
		t.Fatal(err)
	}
	if levels != groups {
		t.Error("levels are another input than groups, and no similarity is known")
	}
	if again, err := labels.Groups(); err != nil || again != groups {
		t.Error("the second loss that asks gets another input")
	}
	l.fill(datasets.Batch{Levels: []int32{2, 3, 2, -1, 1, 0}})
	if got, want := nn.Data(groups), []float32{2, 3, 2, -1, 1, 0}; !slices.Equal(got, want) {
		t.Errorf("groups %v, want %v", got, want)
	}
	if got, want := nn.Data(values), []float32{1, 0.75, 1, 0, 0.25, 0}; !slices.Equal(got, want) {
		t.Errorf("values %v, want %v", got, want)
	}
	l.fill(datasets.Batch{}) // a batch about which nothing is known
	if got, want := nn.Data(groups), []float32{-1, -1, -1, -1, -1, -1}; !slices.Equal(got, want) {
		t.Errorf("groups %v, want %v", got, want)
	}
	if got := nn.Data(values); slices.Max(got) != 0 || slices.Min(got) != 0 {
		t.Errorf("values %v of which nothing is known, want 0", got)
	}
	known.Pairs = []datasets.SimilarPair{{A: 0, B: 1}}
	if _, _, err := newLabelInputs(known, nil).offer(g, 2).Values(losses.UnitsRange); err == nil || !strings.Contains(err.Error(), "only similarities") {
		t.Errorf("values of similarities: error %v", err)
	}
}

// TestRegularised checks that an encoder is trained by objectives alone, that they
// see the labels of their own batch, and that resuming keeps the bits.
func TestRegularised(t *testing.T) {
	for name, overrides := range map[string][]string{
		"all labels":   {},
		"some labels":  {"supervision.labels.fraction=0.3"},
		"similarities": {"supervision={similarity: {count: 50}}", "losses=[{variance: {weight: 10}}, dip-i]"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Load("regularised.yaml", []byte(regularised), overrides...)
			if err != nil {
				t.Fatal(err)
			}
			whole, dir := t.TempDir(), t.TempDir()
			first := trainIn(t, whole, c, false)
			if v := first.Losses["unsupervised"]["variance"]; !(v > 0) || math.IsInf(v, 0) {
				t.Errorf("variance %v, want a positive number", v)
			}
			for stop, resume := 1, false; ; stop, resume = stop+2, true {
				if _, err := Run(endAfter(stop), c, Options{Dir: dir, Resume: resume}); err == nil {
					break
				}
			}
			sameBits(t, "a resumed run", bits(t, dir), bits(t, whole))
		})
	}
}

// TestUntrained checks that parameters which no loss reaches keep their values and are named.
func TestUntrained(t *testing.T) {
	c, err := Load("untrained.yaml", []byte(regularised), "model={ae: {encoder: {mlp: {hidden: [16]}}, latent: 2}}")
	if err != nil {
		t.Fatal(err)
	}
	trainer := trainerOf(t, c)
	names := trainer.Untrained()
	if len(names) != 4 || !strings.HasPrefix(names[0], "decoder/") {
		t.Fatalf("untrained parameters %v, want the decoder's four", names)
	}
	if _, err := (&plan{model: trainer.Model, split: trainer.split, losses: []losses.Choice{}}).compile(trainer.Model.Objectives()[0], 2, 1); err == nil {
		t.Error("an objective without losses compiles")
	}
}

// TestExplained checks that a run says what its sentences mean.
func TestExplained(t *testing.T) {
	c, err := Load("explained.yaml", []byte(regularised), `losses=[{logic: {sentence: "forall[mean] i, j: y.row(i) = y.row(j) -> z.row(i) =[squared] z.row(j)"}}]`)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	if _, err := Run(context.Background(), c, Options{Dir: t.TempDir() + "/run", Log: &log}); err != nil {
		t.Fatal(err)
	}
	if want := "logic: ∀ i, j: y.row(i) = y.row(j) → z.row(i) = z.row(j); zero is equivalent to truth"; !strings.Contains(log.String(), want) {
		t.Errorf("the log does not say %q:\n%s", want, log.String())
	}
}

// TestRotations trains LSBD-VAE on a sphere under rotations that come from files.
func TestRotations(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, write func(f *os.File) error) string {
		path := filepath.Join(dir, name)
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := write(f); err != nil {
			t.Fatal(err)
		}
		return path
	}
	images := write("images.npy", func(f *os.File) error { return npy.Write(f, []int{2, 2}, []int64{1, 5, 7, 9}) })
	rotations := write("rotations.npy", func(f *os.File) error {
		return npy.Write(f, []int{2, 2, 4}, []float32{0, 0, 1, 0, 0, 0, 1, 0.5, 1, 0, 0, 0, 0, 1, 0, 2})
	})
	c := load(t, "train.epochs=1", "model.lsbd-vae.latent=[{sphere: {dim: 2}}, {sphere: {omega: 2}}, sphere]",
		"supervision={groups: {images: "+images+", rotations: "+rotations+"}}")
	trainer := trainerOf(t, c)
	p := trainer.programs[programKey{true, 4, 2}]
	looked := false
	trainer.AddHook(Hook{Name: "look", Step: func(r *StepReport) error {
		if r.Objective != "supervised" {
			return nil
		}
		looked = true
		got := slices.Concat(p.moves[0].dst[4:8], p.moves[0].dst[12:16])
		if first := []float32{0, 0, 1, 0.5, 0, 1, 0, 2}; !slices.Equal(got, first) && !slices.Equal(got, slices.Concat(first[4:], first[:4])) {
			t.Errorf("the second images of the groups are rotated by %v", got)
		}
		if lsbd := r.Values[3]; !(lsbd > 0) {
			t.Errorf("losses %v, %v", r.Names, r.Values)
		}
		return nil
	}})
	if err := trainer.Fit(context.Background()); err != nil || !looked {
		t.Errorf("error %v, labelled batches %v", err, looked)
	}
}
