package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/train/engine/internal/labels"
)

// TestUntrained checks that parameters that no loss reaches keep their values and are listed.
func TestUntrained(t *testing.T) {
	loop := loopOf(t, regularised, "model={ae: {encoder: {mlp: {hidden: [16]}}, latent: 2}}")
	names := loop.Untrained()
	if len(names) != 4 || !strings.HasPrefix(names[0], "decoder/") {
		t.Fatalf("untrained parameters %v, want the decoder's four", names)
	}
	if _, err := (&plan{model: loop.Model(), split: loop.feed.split,
		losses: []losses.Choice{}}).compile(loop.Model().Objectives()[0], 2, 1); err == nil {
		t.Error("an objective without losses compiles")
	}
}

// TestRotations trains LSBD-VAE on a sphere with rotations from files.
func TestRotations(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, write func(f *os.File) error) string {
		path := filepath.Join(dir, name)
		f := must.Get(os.Create(path))(t)
		defer f.Close()
		must.OK(t, write(f))
		return path
	}
	images := write("images.npy", func(f *os.File) error { return npy.Write(f, []int{2, 2}, []int64{1, 5, 7, 9}) })
	rotations := write("rotations.npy", func(f *os.File) error {
		return npy.Write(f, []int{2, 2, 4}, []float32{0, 0, 1, 0, 0, 0, 1, 0.5, 1, 0, 0, 0, 0, 1, 0, 2})
	})
	loop := loopOf(t, tiny, "train.epochs=1", "model.lsbd-vae.latent=[{sphere: {dim: 2}}, {sphere: {omega: 2}}, sphere]",
		"supervision={groups: {images: "+images+", rotations: "+rotations+"}}")
	p := loop.programs[batchShape{true, 4, 2}]
	looked := false
	loop.AddHook(Hook{Name: "look", OnStep: func(_ context.Context, _ *Loop, r *StepReport) error {
		if r.Objective != "supervised" {
			return nil
		}
		looked = true
		got := slices.Concat(p.transformations[0].dst[4:8], p.transformations[0].dst[12:16])
		if first := []float32{0, 0, 1, 0.5, 0, 1, 0, 2}; !slices.Equal(got, first) && !slices.Equal(got, slices.Concat(first[4:], first[:4])) {
			t.Errorf("the second images of the groups are rotated by %v", got)
		}
		if lsbd := r.Values[3]; !(lsbd > 0) {
			t.Errorf("losses %v, %v", r.Names, r.Values)
		}
		return nil
	}})
	if err := loop.Run(context.Background()); err != nil || !looked {
		t.Errorf("error %v, labelled batches %v", err, looked)
	}
}

// TestLabelsOfTwoViews checks that both rows of an image have its labels and moves, and that levels differ from the
// numbers of similar pairs.
func TestLabelsOfTwoViews(t *testing.T) {
	known := &supervision.Labels{Factors: []factor.Factor{{Name: "size", Size: 3, Kind: factor.Ordinal},
		{Name: "x", Size: 4, Kind: factor.Ordinal}}, Images: []int{0}}
	known, err := supervision.JoinLabels(known, &supervision.Labels{Factors: known.Factors, Pairs: []supervision.SimilarPair{{A: 0, B: 1}}})
	must.OK(t, err)
	l, g := labels.New(known, nil), nn.NewGraph(nn.NewParams(1))
	offered := l.Offer(g, 4)
	groups := must.Get(offered.Groups())(t)
	values, levels, err := offered.Values(losses.UnitsAsGiven)
	must.OK(t, err)
	l.Fill(supervision.Batch{Indices: []int{0, 1}, Levels: []int32{2, 4, -1, 1}})
	for name, c := range map[string]struct{ got, want []float32 }{
		"groups": {nn.Data(groups), []float32{2, 4, -1, 1, 2, 4, -1, 1}},
		"levels": {nn.Data(levels), []float32{2, -1, -1, 1, 2, -1, -1, 1}},
		"values": {nn.Data(values), []float32{1, 0, 0, float32(1. / 3), 1, 0, 0, float32(1. / 3)}},
	} {
		must.EqualSlices(t, c.got, c.want, name)
	}
	in := &inputs{}
	offer := in.offerMoves(g, 4, known.Factors, 1)
	x := must.Get(offer.Angles(1))(t)
	rotation := must.Get(offer.Rotation(0))(t)
	if again, err := offer.Angles(1); err != nil || again != x {
		t.Error("the second loss that asks gets another input")
	}
	in.fill(nil, nil, supervision.Batch{Indices: []int{3, 4}, Transformations: []float32{0, 0, 1, 0, 0, 0, 7, 8, 0, 1, 0, 9}}, 6, nil)
	must.EqualSlices(t, nn.Data(x), []float32{0, 8, 0, 8}, "angles")
	must.EqualSlices(t, nn.Data(rotation), []float32{1, 0, 0, 0, 0, 1, 0, 9, 1, 0, 0, 0, 0, 1, 0, 9}, "rotations")
}

// TestValuesAsGiven checks that losses get exact values of continuous dimensions, like metrics, and levels of
// categorical dimensions.
func TestValuesAsGiven(t *testing.T) {
	e, _ := taskOf(t, sticks)
	l, g := labels.New(e.Split.Known, e.Data), nn.NewGraph(nn.NewParams(1))
	offered := l.Offer(g, 3)
	given, known, err := offered.Values(losses.UnitsAsGiven)
	must.OK(t, err)
	scaled, _, err := offered.Values(losses.UnitsRange)
	must.OK(t, err)
	images := []int{5, 17, 300}
	k := len(e.Data.Factors())
	b := supervision.Batch{Indices: images, Levels: make([]int32, 3*k)}
	for row, i := range images {
		e.Split.Known.At(i, b.Levels[row*k:(row+1)*k])
	}
	b.Levels[k-1] = -1 // an unknown dimension of the first image
	l.Fill(b)
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
			must.Equal(t, nn.Data(given)[at], want, "image", images[row], f.Name, "as given")
			if got := nn.Data(scaled)[at]; got != wantScaled || !(got >= 0 && got <= 1) {
				t.Errorf("image %d, %s: %v of its range, want %v", images[row], f.Name, got, wantScaled)
			}
			if got := nn.Data(known)[at]; got != float32(b.Levels[at]) {
				t.Errorf("image %d, %s: level %v, want %v", images[row], f.Name, got, b.Levels[at])
			}
		}
	}
}

// TestValuesOfPartners checks that a similar image without a label gets the level of its partner, and no exact value.
func TestValuesOfPartners(t *testing.T) {
	e, _ := taskOf(t, sticks, "supervision={labels: {fraction: 0.25}}")
	known := e.Split.Known
	labelled, own := 0, make([]int32, len(known.Factors))
	for !known.At(labelled, own) {
		labelled++
	}
	other := labelled
	for known.At(other, make([]int32, len(own))) {
		other++
	}
	l, g := labels.New(known, e.Data), nn.NewGraph(nn.NewParams(1))
	values, _, err := l.Offer(g, 2).Values(losses.UnitsRange)
	must.OK(t, err)
	exact, labelledExactly, err := l.Offer(g, 2).Exact()
	must.OK(t, err)
	l.Fill(supervision.Batch{Indices: []int{labelled, other}, Levels: slices.Concat(own, own)})
	k := len(own)
	for j, f := range known.Factors {
		must.Equal(t, nn.Data(values)[k+j], float32(f.Scaled(int(own[j]))), f.Name, "the partner has the value")
	}
	n := len(nn.Data(exact)) / 2
	if is := nn.Data(labelledExactly); slices.Min(is[:n]) != 1 || slices.Max(is[n:]) != 0 {
		t.Errorf("exact values are known: %v; want those of the labelled image alone", is)
	}
}

// After an epoch, a note names a condition of a loss that no batch fulfilled. One batch with rows is enough.
func TestUnfulfilledConditions(t *testing.T) {
	for condition, empty := range map[string]bool{
		"y.row(i) = 0 and y.column(i) = 0": false, // one image
		"y.row(i) = 0 and y.row(i) = 0.5":  true,
	} {
		loss := fmt.Sprintf("losses=[{logic: {sentence: 'forall i: %s -> z(i) =[squared] 0'}}, hsic]", condition)
		l := loopOf(t, regularised, loss, "train.batch=100") // the last batch has a program of its own
		if before := l.Notes(); len(before) > 0 {
			t.Errorf("%s: notes %q before training", condition, before)
		}
		must.OK(t, l.RunEpoch(t.Context()))
		notes := strings.Join(l.Notes(), "; ")
		want := "the loss logic: no batch fulfils the condition, so this is 0 for any codes: "
		if len(l.programs) != 2 || empty != strings.HasPrefix(notes, want) || empty != (notes != "") {
			t.Errorf("%s: notes %q of %d programs", condition, notes, len(l.programs))
		}
	}
}

// A note on a loss of one objective does not need the other objective. A condition that any batch fulfils has no note.
func TestUnfulfilledObjectives(t *testing.T) {
	const never = "y.row(i) = 0 and y.row(i) = 0.5"
	for condition, empty := range map[string]bool{never: true, "y.row(i) = 0": false} {
		moved := fmt.Sprintf("{logic: {sentence: 'forall[mean] i, j, g(i, j): %s -> act(g, z(i)) =[squared] z(j)'}}", condition)
		l := loopOf(t, regularised, "supervision=[labels: {fraction: 1}, pairs: {count: 30}]", "model.encoder.latent=4",
			"losses=["+moved+", {logic: {sentence: 'forall[mean] i: y.row(i) = 0 -> z(i) =[squared] 0'}}, hsic]")
		must.OK(t, l.RunEpoch(t.Context()))
		notes := strings.Join(l.Notes(), "; ")
		if len(l.objectives) != 2 || empty != strings.HasPrefix(notes, "the loss logic: no batch fulfils the condition") ||
			strings.Contains(notes, "logic-2: no batch") {
			t.Errorf("%s: notes %q of %d objectives", condition, notes, len(l.objectives))
		}
	}
}
