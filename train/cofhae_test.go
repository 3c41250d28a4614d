package train

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/rundir"
)

const sticks = `
name: sticks
dataset: {chopsticks: {variant: inter, depth: 2, samples: 400}}
supervision: {labels: {fraction: 1}}
model: {cofhae: {encoder: {mlp: {hidden: [16], activation: softplus}}}}
losses:
  - reconstruction
  - assignment: {weight: 10}
  - conditional-tc: {discriminator: {hidden: [8]}}
train: {epochs: 2, batch: 90, hold_out: 0.1, figures: false, schedule: milestones}
metrics: [r4c, med]
`

func sticksConfig(t testing.TB, overrides ...string) Config {
	t.Helper()
	return must.Get(Load("sticks.yaml", []byte(sticks), overrides...))(t)
}

// A run of COFHAE, stopped anywhere and resumed on any number of threads, ends with the bits of an uninterrupted run.
func TestCOFHAE(t *testing.T) {
	long.NotShort(t)
	whole, dir := t.TempDir(), t.TempDir()
	r := trainIn(t, whole, sticksConfig(t, "train.figures=true"), false)
	trainInParts(t, dir, sticksConfig(t, "train.threads=1"), 2, 4)
	sameBits(t, "a resumed run", bits(t, dir), bits(t, whole))
	for _, name := range []string{"hierarchy", "paths", "histograms", "reconstructions", "losses"} {
		if text, err := os.ReadFile(filepath.Join(whole, rundir.FiguresDir, name+".png")); err != nil || len(text) < 1000 {
			t.Errorf("figure %s: %d bytes, %v", name, len(text), err)
		}
	}
	f := r.Fit
	if f == nil || f.Images != 360 || f.HeldOut == nil || f.Assignment == nil || f.Converged || !strings.Contains(f.Why, "% of the variance") {
		t.Fatalf("fit %+v", f)
	}
	e, _, err := OpenExperiment(whole)
	must.OK(t, err)
	codes := must.Get(e.Codes(context.Background()))(t)
	in := e.Input(codes)
	if in.Codes.Rows != 40 || len(e.HeldOut) != 40 || !in.Hierarchy.Equal(in.TrueHierarchy) || len(in.Exact[1]) != 40 ||
		in.Exact[0] != nil || len(in.Paths) != 40 {
		t.Errorf("metrics see %d rows, %+v", in.Codes.Rows, in)
	}
	d := e.Data.(datasets.Hierarchical)
	values, errors := make([]float64, 2), 0.0
	for row, i := range e.HeldOut {
		d.Values(i, values)
		if in.Codes.Row(row)[1] != codes.Row(i)[1] || in.Exact[1][row] != values[0] {
			t.Fatalf("row %d is not image %d", row, i)
		}
		if slices.Contains(e.Split.Unlabelled, i) || e.Split.Known.At(i, make([]int32, 3)) {
			t.Fatalf("image %d is held out, and trained on", i)
		}
	}
	choice := make([]int, 1)
	for _, i := range e.Split.Unlabelled {
		if d.Choices(i, choice); float64(1+choice[0]) != codes.Row(i)[0] {
			errors += 2. / 360
		}
	}
	if !(math.Abs(errors-*f.Assignment) <= 1e-9) {
		t.Errorf("assignment error %v, want %v", *f.Assignment, errors)
	}
}

// TestFitJudge checks the criterion for convergence.
func TestFitJudge(t *testing.T) {
	wrong, right := 0.2, 0.01
	for want, f := range map[string]Fit{
		"":                                   {Reconstruction: 0.9, Variance: 2, Assignment: &right},
		"leave 60 % of the variance":         {Reconstruction: 0.6, Variance: 1},
		"the assignment error is 0.2":        {Reconstruction: 0, Variance: 1, Assignment: &wrong},
		"reconstructions leave 100 % of":     {Reconstruction: 1, Variance: 1, Assignment: &wrong},
		"all measured images are the same":   {Reconstruction: 1, Variance: 0},
		"its pixels is 0.009 of the images'": {Reconstruction: 0.1, Variance: 1, Square: 2, Decoded: 0.018}, // converged by all other measures
		"leave 1.5e+40 % of the variance":    {Reconstruction: 1.5e18, Variance: 1e-20},
		"leave 70 % of the variance":         {Reconstruction: 0.7, Variance: 1, Square: 2, Decoded: 0.021},
	} {
		if f.decide(); f.Converged != (want == "") || !strings.Contains(f.Why, want) {
			t.Errorf("%+v, want %q", f, want)
		}
	}
}

// Settings of MIMOSA affect a run's hash only if the hierarchy is learned.
func TestCOFHAEHash(t *testing.T) {
	hash := func(overrides ...string) string {
		return must.Get(sticksConfig(t, overrides...).Hash())(t)
	}
	for hierarchy, same := range map[string]bool{"truth": true, "tree.json": true, "mimosa": false} {
		key := "model.cofhae.hierarchy=" + hierarchy
		if (hash(key) == hash(key, "model.cofhae.mimosa.min_merged=2000")) != same {
			t.Errorf("hierarchy %s: the same hash: %v, want %v", hierarchy, !same, same)
		}
	}
	if hash() == hash("model.cofhae.tau=0.5") {
		t.Error("tau is not in the hash")
	}
}

// The run of an earlier stage is a folder beside the run's folder. The run stores its hierarchy and does not learn it
// again.
func TestLearnedHierarchy(t *testing.T) {
	long.NotShort(t)
	learned := []string{"supervision=none", "model.cofhae.hierarchy=mimosa",
		"losses=[reconstruction, {assignment: {weight: 1}}]", "dataset.chopsticks.samples=700",
		"model.cofhae.mimosa={initial_dim: 3, neighbors: 10, min_cosine: 0.3, contagion: 1, min_initial: 2, min_merged: 5, min_decay: 1.05, max_lengths: 1000}", "metrics=[h-error]"}
	c := sticksConfig(t, learned...)
	dir := filepath.Join(t.TempDir(), "run")
	trainInParts(t, dir, c, 3, 7)
	e, _, err := OpenExperiment(dir)
	must.OK(t, err)
	h := e.Model.(models.Hierarchical).Hierarchy()
	if e.Learned == nil || !h.Equal(e.Learned.Hierarchy) || len(h.Categoricals()) == 0 {
		t.Fatalf("hierarchy %s, learned %+v", h, e.Learned)
	}
	k := len(h.Categoricals())
	for _, i := range e.HeldOut {
		if e.Learned.Labels[i*k] != -1 {
			t.Fatalf("held-out image %d is assigned to %v", i, e.Learned.Labels[i*k:(i+1)*k])
		}
	}
	checkExplored(t, e)
	checkTimings(t, dir)
	if r, err := Rehearse(t.Context(), c, false); err != nil || r.Training <= 0 || r.Learn <= 0 || r.Measure < 0 || r.Measure == 0 && runtime.GOOS != "windows" {
		t.Errorf("an estimate of %+v, %v", r, err)
	}
	known, err := NewExperiment(c.withTruth())
	if err != nil || !known.Model.(models.Hierarchical).Hierarchy().Equal(known.Data.(datasets.Hierarchical).Hierarchy()) {
		t.Errorf("the truth in place of what is learned: %v", err)
	}
	again := filepath.Join(t.TempDir(), "again")
	trainIn(t, again, c, false)
	sameBits(t, "a run that was not stopped", bits(t, again), bits(t, dir))
	beside := filepath.Join(filepath.Dir(again), "beside")
	trainIn(t, beside, c, false)
	sameBits(t, "a run beside one with the same autoencoder", bits(t, beside), bits(t, dir))
	if _, err := os.Stat(beside + "-initial"); err == nil {
		t.Error("the same autoencoder was trained twice")
	}
	other := filepath.Join(filepath.Dir(again), "other")
	trainIn(t, other, sticksConfig(t, append(learned, "seed=1")...), false)
	if _, err := os.Stat(other + "-initial"); err != nil {
		t.Errorf("another autoencoder was not trained: %v", err)
	}
	must.OK(t, os.RemoveAll(again+"-initial"))
	trainIn(t, again, sticksConfig(t, append(learned, "train.epochs=3")...), true)
	if _, err := os.Stat(again + "-initial"); err == nil {
		t.Error("a resumed run learned its hierarchy again")
	}
	if _, err := Run(context.Background(), c, Options{Dir: again}); !errors.Is(err, rundir.ErrExists) {
		t.Errorf("a run in a folder that is taken: %v", err)
	}
	for override, want := range map[string]string{
		"model.cofhae.mimosa.min_merged=100000": "found no component of at least 100000",
		"losses=[assignment]":                   "needs the loss reconstruction",
		"train.validation.fraction=0.5":         "the earlier stage labels only the images that train",
	} {
		must.ErrorOf(Run(context.Background(), sticksConfig(t, append(learned, override)...),
			Options{Dir: filepath.Join(t.TempDir(), "x")}))(t, want, override)
	}
}

// checkTimings checks that the record of a run has the time of each step of both stages.
func checkTimings(t *testing.T, dir string) {
	t.Helper()
	r := must.Get(rundir.ReadRecord(dir))(t)
	var names []string
	for _, timing := range r.Timings {
		names = append(names, timing.Name)
		if !(timing.Seconds >= 0 && timing.Seconds < 1000) {
			t.Errorf("%s took %v s", timing.Name, timing.Seconds)
		}
	}
	must.EqualSlices(t, names, []string{"ae", "tangent planes", "similar planes", "components", "edges", "merging",
		"enclosures", "training", "finishing"}, "timings")
}

// The report shows the picture of the components. With -long, the test also resumes the run.
func TestComponentsFigure(t *testing.T) {
	long.NotShort(t)
	c := sticksConfig(t, "supervision=none", "model.cofhae.hierarchy=mimosa",
		"losses=[reconstruction, {assignment: {weight: 1}}]", "dataset.chopsticks.samples=700",
		"model.cofhae.mimosa={initial_dim: 3, neighbors: 10, min_cosine: 0.3, contagion: 1, min_initial: 2, min_merged: 5, min_decay: 1.05, max_lengths: 1000}", "metrics=[]", "train.figures=true")
	dir := filepath.Join(t.TempDir(), "run")
	trainIn(t, dir, c, false)
	picture := func() []byte {
		text, err := os.ReadFile(filepath.Join(dir, rundir.FiguresDir, "components.png"))
		if err != nil || len(text) < 10000 {
			t.Fatalf("the picture has %d bytes, %v", len(text), err)
		}
		page, err := os.ReadFile(filepath.Join(dir, rundir.ReportFile))
		if err != nil || !bytes.Contains(page, []byte("components before and after merging")) {
			t.Errorf("the report does not show it, %v", err)
		}
		return text
	}
	first := picture()
	if !long.Enabled() {
		return
	}
	c.Train.Epochs++
	trainIn(t, dir, c, true)
	if !bytes.Equal(picture(), first) {
		t.Error("a resumed run has another picture")
	}
}

// checkExplored compares a run's report on the components of its learned hierarchy with a count by hand.
func checkExplored(t *testing.T, e *Experiment) {
	t.Helper()
	codes := must.Get(e.Codes(t.Context()))(t)
	results := must.Get(e.Evaluate(t.Context(), codes, e.Final()))(t)
	got := map[string]float64{}
	for _, r := range results {
		got[r.Name] = r.Value
	}
	d, k := e.Data.(datasets.Hierarchical), len(e.Learned.Hierarchy.Categoricals())
	members, kept := map[int32]map[int]int{}, 0
	choice := make([]int, 1)
	for i, c := range e.Learned.Components {
		if (c < 0) != (e.Learned.Labels[i*k] < 0) || c >= 0 && slices.Contains(e.HeldOut, i) {
			t.Fatalf("image %d is in component %d and assigned to %v", i, c, e.Learned.Labels[i*k:(i+1)*k])
		}
		if c < 0 {
			continue
		}
		if e.Learned.Parts[i] < 0 {
			t.Fatalf("image %d is in component %d, and was in none before merging", i, c)
		}
		if kept++; members[c] == nil {
			members[c] = map[int]int{}
		}
		d.Choices(i, choice)
		members[c][choice[0]]++
	}
	right := 0
	for _, m := range members {
		right += slices.Max(slices.Collect(maps.Values(m)))
	}
	if len(got) != 3 || got["purity"] != float64(right)/float64(kept) || got["coverage"] != float64(kept)/630 {
		t.Errorf("metrics %v; want purity %d/%d, coverage %d/630 and h-error", got, right, kept, kept)
	}
	part := *e
	part.Config.Metrics.Sample = 50
	if in := part.Sample().Input(matrix.Matrix{Rows: 50, Cols: codes.Cols}); len(in.Explored.Components) != 630 ||
		len(in.Explored.Paths) != 630 {
		t.Errorf("a sample of the images knows the components of %d of those explored", len(in.Explored.Components))
	}
}

// A flat hierarchy has no options to assign. Training continues with a loss of 0 and logs this.
func TestFlatHierarchy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	must.OK(t, os.MkdirAll(filepath.Join(dir, "mimosa"), 0o777))
	c := sticksConfig(t, "supervision=none", "model.cofhae.hierarchy=mimosa", "metrics=[h-error]")
	text := must.Get(c.Encode())(t)
	for name, content := range map[string][]byte{rundir.Config: text,
		"mimosa/hierarchy.json": []byte(`[{"type": "continuous"}, {"type": "continuous"}]`)} {
		must.Write(t, filepath.Join(dir, name), content)
	}
	var log bytes.Buffer
	r := must.Get(Run(t.Context(), c, Options{Dir: dir, Resume: true, Log: plain.Logger(&log)}))(t)
	parts := r.Losses["unsupervised"]
	if v, ok := parts["assignment"]; !ok || v != 0 || !(parts["reconstruction"] > 0) {
		t.Errorf("losses %v, want assignment 0", parts)
	}
	if want := "note: the loss assignment is 0: the hierarchy of the codes has no categorical dimension"; strings.Count(log.String(), want) != 1 {
		t.Errorf("%s\ndoes not say once: %s", &log, want)
	}
}

func TestHoldOut(t *testing.T) {
	for override, want := range map[string]string{
		"train.hold_out=0.9999": "no image is left to train on",
		"train.hold_out=0.0001": "0.0001 of 400 images holds out no image for metrics",
		"metrics.sample=1":      "1 has no held-out image, and metrics use only these",
	} {
		must.Error(t, Check(sticksConfig(t, override)), want, override)
	}
	must.ErrorOf(NewExperiment(load(t, "train.hold_out=0.1")))(t, "the supervision has groups")
	for _, bad := range []string{"train.hold_out=1", "train.hold_out=-0.1", "train.schedule={milestones: {at: [2]}}",
		"train.schedule={milestones: {factor: 0}}"} {
		must.ErrorOf(Load("tiny.yaml", []byte(tiny), bad))(t, "out of range", bad)
	}
	m := &engine.Milestones{At: []float64{0.5, 0.75}, Factor: 0.1}
	for at, want := range map[float64]float64{0: 1, 24.9: 1, 25: 0.1, 37.4: 0.1, 37.5: 0.01, 50: 0.01} {
		if got := m.Rate(at, 50); !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("rate %v after %v of 50 epochs, want %v", got, at, want)
		}
	}
}

// The assignment error of chosen options, computed by hand for dimensions that may be inactive.
func TestMisassigned(t *testing.T) {
	e := must.Get(NewExperiment(sticksConfig(t, "dataset.chopsticks.depth=3")))(t)
	codes := must.Get(e.Codes(context.Background()))(t)
	d := e.Data.(datasets.Hierarchical)
	images, choice := e.Split.Unlabelled, make([]int, 2)
	var sum float64
	for _, i := range images {
		d.Choices(i, choice)
		for c, truth := range choice {
			for o := range 2 { // one-hot vectors
				is, should := 0.0, 0.0
				if int(codes.Row(i)[c]) == 1+o {
					is = 1
				}
				if truth == o {
					should = 1
				}
				sum += (is - should) * (is - should)
			}
		}
	}
	if got := e.assignmentError(codes, images); got == nil || !(math.Abs(*got-sum/float64(len(images))) <= 1e-9) {
		t.Errorf("%v, want %v", got, sum/float64(len(images)))
	}
}
