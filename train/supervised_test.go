package train

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/factor"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/losses"
)

// TestLabelsOfTwoViews checks that both rows of an image have its labels and its moves, and that levels are not the
// numbers of similar pairs.
func TestLabelsOfTwoViews(t *testing.T) {
	known := &datasets.Labels{Factors: []factor.Factor{{Name: "size", Size: 3, Kind: factor.Ordinal}, {Name: "x", Size: 4, Kind: factor.Ordinal}}, Images: []int{0}}
	known, err := datasets.JoinLabels(known, &datasets.Labels{Factors: known.Factors, Pairs: []datasets.SimilarPair{{A: 0, B: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	l, g := newLabelInputs(known, nil), nn.NewGraph(nn.NewParams(1))
	offered := l.offer(g, 4)
	groups, err := offered.Groups()
	if err != nil {
		t.Fatal(err)
	}
	values, levels, err := offered.Values(losses.UnitsAsGiven)
	if err != nil {
		t.Fatal(err)
	}
	l.fill(datasets.Batch{Indices: []int{0, 1}, Levels: []int32{2, 4, -1, 1}})
	for name, c := range map[string]struct{ got, want []float32 }{
		"groups": {nn.Data(groups), []float32{2, 4, -1, 1, 2, 4, -1, 1}},
		"levels": {nn.Data(levels), []float32{2, -1, -1, 1, 2, -1, -1, 1}},
		"values": {nn.Data(values), []float32{1, 0, 0, float32(1. / 3), 1, 0, 0, float32(1. / 3)}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s %v, want %v", name, c.got, c.want)
		}
	}
	moves := &moveInputs{factors: known.Factors, rotations: 1, nodes: map[int]*gorgonia.Node{}}
	offer := moves.offer(g, 4)
	x, err := offer.Angles(1)
	if err != nil {
		t.Fatal(err)
	}
	rotation, err := offer.Rotation(0)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := offer.Angles(1); err != nil || again != x {
		t.Error("the second loss that asks gets another input")
	}
	p := &program{moves: moves.inputs}
	p.fill(nil, nil, datasets.Batch{Indices: []int{3, 4}, Transformations: []float32{0, 0, 1, 0, 0, 0, 7, 8, 0, 1, 0, 9}}, 6, 0, nil)
	if got, want := nn.Data(x), []float32{0, 8, 0, 8}; !slices.Equal(got, want) {
		t.Errorf("angles %v, want %v", got, want)
	}
	if got, want := nn.Data(rotation), []float32{1, 0, 0, 0, 0, 1, 0, 9, 1, 0, 0, 0, 0, 1, 0, 9}; !slices.Equal(got, want) {
		t.Errorf("rotations %v, want %v", got, want)
	}
}

// TestValuesAsGiven checks that losses see the exact values of continuous dimensions, as metrics do, and categorical levels as ever.
func TestValuesAsGiven(t *testing.T) {
	e, err := NewExperiment(sticksConfig(t, "train.hold_out=0"))
	if err != nil {
		t.Fatal(err)
	}
	l, g := newLabelInputs(e.Split.Known, e.Data), nn.NewGraph(nn.NewParams(1))
	labels := l.offer(g, 3)
	given, known, err := labels.Values(losses.UnitsAsGiven)
	if err != nil {
		t.Fatal(err)
	}
	scaled, _, err := labels.Values(losses.UnitsRange)
	if err != nil {
		t.Fatal(err)
	}
	images := []int{5, 17, 300}
	k := len(e.Data.Factors())
	b := datasets.Batch{Indices: images, Levels: make([]int32, 3*k)}
	for row, i := range images {
		e.Split.Known.At(i, b.Levels[row*k:(row+1)*k])
	}
	b.Levels[k-1] = -1 // nothing is known of a dimension of the first image
	l.fill(b)
	exact := datasets.Exact(e.Data.(datasets.Hierarchical), images)
	for row := range images {
		for j, f := range e.Data.Factors() {
			at := row*k + j
			want, wantScaled := float32(0), float32(0)
			switch {
			case at == k-1:
			case exact[j] == nil:
				want = float32(f.Scaled(int(b.Levels[at])))
				wantScaled = want
			default:
				half := (f.Values[1] - f.Values[0]) / 2
				low, high := f.Values[0]-half, f.Values[len(f.Values)-1]+half
				want, wantScaled = float32(exact[j][row]), float32((exact[j][row]-low)/(high-low))
			}
			if got := nn.Data(given)[at]; got != want {
				t.Errorf("image %d, %s: %v as given, want %v", images[row], f.Name, got, want)
			}
			if got := nn.Data(scaled)[at]; got != wantScaled || got < 0 || got > 1 {
				t.Errorf("image %d, %s: %v of its range, want %v", images[row], f.Name, got, wantScaled)
			}
			if got := nn.Data(known)[at]; got != float32(b.Levels[at]) {
				t.Errorf("image %d, %s: level %v, want %v", images[row], f.Name, got, b.Levels[at])
			}
		}
	}
}

// TestSeveralSupervisions checks that LSBD-VAE has labels beside its pairs in both objectives, and that a
// run that is stopped anywhere and resumed, on one thread, ends with the same bits.
func TestSeveralSupervisions(t *testing.T) {
	overrides := []string{"supervision=[{pairs: {count: 32}}, {labels: {fraction: 0.3}}, {similarity: {count: 9, share: 0.2}}, {paths: {count: 3, length: 7, step: 1}}]",
		"losses=[reconstruction, kl, lsbd, {contraction: {weight: 5}}, variance]"}
	whole, dir := t.TempDir(), filepath.Join(t.TempDir(), "run")
	trainIn(t, whole, load(t, overrides...), false)
	for stop, resume := 3, false; ; stop, resume = stop+5, true {
		if _, err := Run(endAfter(stop), load(t, append(overrides, "train.threads=1")...), Options{Dir: dir, Resume: resume}); err == nil {
			break
		}
	}
	sameBits(t, "a resumed run", bits(t, dir), bits(t, whole))
	log := logged(t, whole)
	for _, want := range []string{`"supervised":{`, `"contraction"`, `"variance"`} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %s: %.300s", want, log)
		}
	}
}

// TestPlanesAlone checks that an encoder learns to turn from pairs alone, which leaves the other images out.
func TestPlanesAlone(t *testing.T) {
	c := load(t, "model={encoder: {encoder: {mlp: {hidden: [32]}}, latent: 4}}", "losses=[{lsbd: {planes: {row: [0, 1], column: [2, 3]}}}]",
		"supervision.pairs.count=100", "train.epochs=60", "metrics=[]")
	trainer := trainerOf(t, c)
	if trainer.LeftOut != 56 {
		t.Errorf("%d images are left out, want 56", trainer.LeftOut)
	}
	whole, dir := t.TempDir(), filepath.Join(t.TempDir(), "run")
	c.Train.Epochs, c.Train.Figures = 4, true
	trainIn(t, whole, c, false)
	if _, err := Run(endAfter(9), c, Options{Dir: dir}); err == nil {
		t.Fatal("the run was not stopped")
	}
	trainIn(t, dir, c, true)
	sameBits(t, "a resumed run", bits(t, dir), bits(t, whole))
	var first, last float64
	trainer.AddHook(Hook{Name: "test", Epoch: func(r *EpochReport) error {
		if len(r.Losses) != 1 || r.Images != 200 {
			t.Errorf("%d objectives, %d images", len(r.Losses), r.Images)
		}
		if last = r.Losses[0].Values[0]; first == 0 {
			first = last
		}
		return nil
	}})
	if err := trainer.Fit(context.Background()); err != nil {
		t.Fatal(err)
	}
	if !(last < first/10) {
		t.Errorf("the loss is %v after the first epoch and %v after the last", first, last)
	}
}

// TestFed checks that a loss which nothing feeds, and groups that feed nothing, are errors.
func TestFed(t *testing.T) {
	for want, overrides := range map[string][]string{
		"loss lsbd: nothing feeds it: it needs labelled groups of images": {"supervision={labels: {fraction: 0.5}}"},
		"loss lsbd: nothing":                         {"supervision=none"},
		"nothing learns from them; want a loss such": {"model={ae: {encoder: {mlp: {hidden: [16]}}}}", "losses=[reconstruction]"},
		"it needs labels of the factors":             {"losses=[reconstruction, kl, lsbd, variance]"},
	} {
		e, err := NewExperiment(load(t, overrides...))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Trainer(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %q", overrides, err, want)
		}
	}
	trainerOf(t, load(t, "supervision.pairs.count=0")) // a sweep of counts may begin with 0
}
