package tables_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	drawnsets "github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/show"
	. "github.com/unravel-ml/unravel/results/tables"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// A minimal table with trained rows, and its experiment.
const (
	tinyConfig = `
name: tiny
dataset: {square: {size: 8, side: 2}}
model: {vae: {latent: 2, encoder: {mlp: {hidden: [4]}}}}
losses: [{reconstruction: {}}, {kl: {weight: 1}}]
train: {epochs: 1, batch: 32}
`
	trainedTable = `
name: trained
title: Trained rows
source: nobody
reference: {file: ref.csv, dataset: big, draws: 2, label: them}
scales:
  quick: {seeds: 2, dataset: small, set: {train.epochs: 2}, remark: It is quick.}
  full: {seeds: 3}
rows:
  - {label: a, from: {runs: {config: tiny.yaml}}}
  - {label: b/β, from: {runs: {config: tiny.yaml, set: {losses.1.kl.weight: 2, train.epochs: 7}, by_scale: {quick: {train.batch: 16}}}}}
  - {label: same, from: {runs: {config: tiny.yaml}}}
  - {label: none, missing: there is no such model}
  - {label: long, scales: [full], from: {runs: {config: tiny.yaml, set: {model.vae.latent: 3}}}}
columns:
  - {label: D, metric: dlsbd}
  - {label: 2D, metric: dlsbd, transform: 2x}
  - {label: P, metric: mig, part: mig_0}
  - {label: R, fit: reconstruction}
`
	trainedCSV = `table,dataset,row,column,mean,std,note
T,small,a,D,1.0,0.5,
T,small,a,2D,,,none
T,small,a,P,,,none
T,small,a,R,,,none
T,small,b/β,D,,,none
T,small,b/β,2D,,,none
T,small,b/β,P,,,none
T,small,b/β,R,,,none
T,small,same,D,1.0,,
T,small,same,2D,,,none
T,small,same,P,,,none
T,small,same,R,0.5,,
T,small,none,D,,,none
T,small,none,2D,,,none
T,small,none,P,,,none
T,small,none,R,,,none
T,small,long,D,,,none
T,small,long,2D,,,none
T,small,long,P,,,none
T,small,long,R,,,none
`
)

// writeTable writes a table with its experiment and reference file to a new folder and opens it.
func writeTable(t *testing.T, table string, replace ...string) (*Table, error) {
	t.Helper()
	return writeTableIn(t, t.TempDir(), table, replace...)
}

// writeTableIn writes a table and its files to a folder and opens it.
func writeTableIn(t *testing.T, dir, table string, replace ...string) (*Table, error) {
	t.Helper()
	must.WriteAll(t, dir, map[string]string{
		"tiny.yaml": tinyConfig, "table.yaml": strings.NewReplacer(replace...).Replace(table),
		"ref.csv": trainedCSV + strings.ReplaceAll(strings.SplitN(trainedCSV, "\n", 2)[1], "small", "big"),
	})
	return Open(filepath.Join(dir, "table.yaml"))
}

// makeRuns trains the runs of a table: all of them, or only the first ones.
func makeRuns(t *testing.T, table *Table, dir string, full bool, first int) []sweep.Run {
	t.Helper()
	runs := must.Get(table.Runs(scaleOf(full)))(t)
	if first > 0 {
		runs = runs[:first]
	}
	outcomes := must.Get(sweep.Execute(context.Background(), dir, runs, sweep.Options{}))(t)
	for _, o := range outcomes {
		if o.State != sweep.Finished {
			t.Fatalf("%s: %v", o.Run.Name, o.Problem)
		}
	}
	return runs
}

func computeFrom(t *testing.T, table *Table, dir string) *Result {
	t.Helper()
	return must.Get(table.Compute(context.Background(), Options{Runs: dir, Explore: true}))(t)
}

func TestTrained(t *testing.T) {
	table, err := writeTable(t, trainedTable, "  - {label: P, metric: mig, part: mig_0}\n", "  - {label: P, metric: mig}\n")
	must.OK(t, err)
	full, err := table.Runs(FullScale)
	if err != nil || len(full) != 9 || full[0].Config.Train.Epochs != 1 || full[1].Config.Train.Epochs != 7 ||
		full[1].Config.Train.Batch != 32 {
		t.Errorf("full scale: %v, %+v", err, full)
	}
	dir := t.TempDir()
	empty := computeFrom(t, table, dir)
	if c := empty.Cell("a", "D"); c.Status != Missing || c.Reason != "not run yet" || empty.Printed != 3 || empty.Reproduced != 0 {
		t.Errorf("without runs: %+v, %d printed", c, empty.Printed)
	}
	makeRuns(t, table, dir, false, 1)
	if c := computeFrom(t, table, dir).Cell("a", "D"); c.Draws != 1 || len(c.Notes) == 0 || c.Notes[0] != "1 of 2 runs made so far" {
		t.Errorf("one run: %+v", c)
	}
	runs := makeRuns(t, table, dir, false, 0)
	var names []string
	for _, r := range runs {
		names = append(names, r.Name)
		if r.Config.Train.Epochs != 2 || len(r.Config.Metrics.Final) != 2 {
			t.Errorf("%+v", r.Config)
		}
	}
	if got := strings.Join(names, " "); got != "a_quick_seed0 b-beta_quick_seed0 a_quick_seed1 b-beta_quick_seed1" ||
		runs[1].Config.Train.Batch != 16 {
		t.Error(got)
	}
	r := computeFrom(t, table, dir)
	found := sweep.Find(scan(t, dir))
	var d, fit [2]float64
	for i := range 2 {
		e := found[runs[2*i].Hash]
		d[i], fit[i] = e.Metrics[0].Value, e.Fit.Reconstruction
	}
	a, twice, rec := r.Cell("a", "D"), r.Cell("a", "2D"), r.Cell("same", "R")
	mean := (d[0] + d[1]) / 2
	switch {
	case !(math.Abs(*a.Ours-mean) <= 1e-15) || !(math.Abs(*twice.Ours-2*mean) <= 1e-15) ||
		!(math.Abs(a.Deviation-math.Abs(d[0]-d[1])/math.Sqrt2) <= 1e-12):
		t.Errorf("%v of %v, twice %v, deviation %v", *a.Ours, d, *twice.Ours, a.Deviation)
	case !(math.Abs(*rec.Ours-(fit[0]+fit[1])/2) <= 1e-15) || rec.Draws != 2:
		t.Errorf("reconstruction %v of %v", *rec.Ours, fit)
	case *r.Cell("same", "D").Ours != *a.Ours || r.Cell("none", "D").Reason != "there is no such model" ||
		r.Cell("long", "R").Reason != "only at the scale full":
		t.Errorf("%+v", r)
	case a.Unconverged != 2 || a.Converged != nil || !strings.HasPrefix(a.Notes[0], "2 of 2 runs not converged: reconstructions leave"):
		t.Errorf("after two epochs it has not converged: %+v", a)
	}
	text := written(t, r, show.Markdown)
	for _, want := range []string{"It is quick.", "| them |", "±", "(quick scale, 2 seeds)"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func scan(t *testing.T, dir string) []sweep.Entry {
	t.Helper()
	return must.Get(sweep.Scan(dir))(t)
}

// A table distinguishes failed runs and damaged folders from missing runs.
func TestTrainedFailures(t *testing.T) {
	table := must.Get(writeTable(t, trainedTable, ", part: mig_0", ""))(t)
	dir := t.TempDir()
	made := makeRuns(t, table, dir, false, 0)
	good := *computeFrom(t, table, dir).Cell("a", "D").Ours
	path := sweep.Find(scan(t, dir))[made[0].Hash].Dir
	begun := sweep.Read(path).Record.Begun
	must.OK(t, rundir.RecordFailure(path, errors.New("no memory\nat all"), begun))
	c := computeFrom(t, table, dir).Cell("a", "D")
	if c.Draws != 1 || c.Notes[0] != "1 of 2 runs failed: no memory" || *c.Ours == good {
		t.Errorf("%+v", c)
	}
	other := sweep.Find(scan(t, dir))[made[2].Hash].Dir
	kept := must.Read(t, filepath.Join(other, rundir.RecordFile))
	must.OK(t, os.Remove(filepath.Join(other, rundir.RecordFile)))
	if c := computeFrom(t, table, dir).Cell("a", "D"); c.Status != Missing || c.Reason != "1 of 2 runs failed: no memory" {
		t.Errorf("one failed, one is not made: %+v", c)
	}
	must.Write(t, filepath.Join(other, rundir.RecordFile), kept)
	must.Write(t, filepath.Join(path, rundir.RecordFile), "x")
	if c := computeFrom(t, table, dir).Cell("a", "D"); !strings.HasPrefix(c.Notes[0], "1 of 2 runs failed: "+
		filepath.Join(path, rundir.RecordFile)+": the file is damaged") {
		t.Errorf("%+v", c)
	}
	makeRuns(t, table, dir, false, 0)
	if c := computeFrom(t, table, dir).Cell("a", "D"); *c.Ours != good || c.Draws != 2 {
		t.Errorf("made again: %+v, was %v", c, good)
	}
}

// A grid chooses the runs with the lowest value of one quantity. Among these, the run with the lowest reconstruction
// loss wins.
func TestGrid(t *testing.T) {
	long.NotShort(t)
	rows := trainedTable[strings.Index(trainedTable, "  - {label: a,"):strings.Index(trainedTable, "  - {label: b")]
	table, err := writeTable(t, trainedTable, ", part: mig_0", "", "metric: dlsbd", "metric: modularity", rows,
		"  - {label: a, from: {runs: {config: tiny.yaml, grid: {losses.1.kl.weight: [1, 2, 3], train.batch: [8, 16]}, select: {keep: 0.5, by: held_out, then: reconstruction}, set: {train.hold_out: 0.2}}}}\n")
	must.OK(t, err)
	dir := t.TempDir()
	makeRuns(t, table, dir, false, 3)
	if c := computeFrom(t, table, dir).Cell("a", "R"); c.Status != Missing || c.Reason != "not run yet (3 of 6 runs of a grid are there)" {
		t.Errorf("%+v", c)
	}
	runs := makeRuns(t, table, dir, false, 0)
	found := sweep.Find(scan(t, dir))
	sum := 0.0
	for seed := range uint64(2) {
		var fits []*train.Fit
		for _, r := range runs {
			if strings.HasPrefix(r.Name, "a_") && r.Config.Seed == seed {
				fits = append(fits, found[r.Hash].Fit)
			}
		}
		best := math.Inf(1)
		for _, f := range fits {
			lower := 0
			for _, g := range fits {
				if *g.HeldOut < *f.HeldOut {
					lower++
				}
			}
			if lower < 3 {
				best = math.Min(best, f.Reconstruction)
			}
		}
		sum += best
	}
	if c := computeFrom(t, table, dir).Cell("a", "R"); !(math.Abs(*c.Ours-sum/2) <= 1e-15) {
		t.Errorf("%v, want %v", *c.Ours, sum/2)
	}
}

// A grid cannot select by a quantity that no run has. Runs without it come last.
func TestGridWithoutQuantity(t *testing.T) {
	fits := []*train.Fit{{Reconstruction: 3}, {Reconstruction: 2}, {Reconstruction: 1, HeldOut: new(5.0)}}
	for by, want := range map[FitValue]string{"held_out": "1", "reconstruction": "1", "assignment": "the runs have no assignment"} {
		r := &Runs{Select: &Selection{Keep: 0.4, By: by, Then: "reconstruction"}}
		var runs []sweep.Entry
		for _, f := range fits {
			runs = append(runs, sweep.Entry{Fit: f})
		}
		_, fit, err := r.Results(context.Background(), runs, nil, Options{})
		got := ""
		if fit != nil {
			got = fmt.Sprint(fit.Reconstruction)
		} else if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("by %s: %q, %v; want %q", by, got, err, want)
		}
	}
}

func TestTrainedMistakes(t *testing.T) {
	for _, test := range []struct{ old, new, want string }{
		{"{config: tiny.yaml}", "{}", "config: want a .yaml file"},
		{"{config: tiny.yaml}", "{config: tiny.yaml, grid: {seed: [1]}}", "a grid needs a rule"},
		{"{config: tiny.yaml}", "{config: tiny.yaml, select: {keep: 1, by: held_out, then: held_out}}", "no grid to select from"},
		{"{config: tiny.yaml}", "{config: tiny.yaml, grid: {seed: [1]}, select: {keep: 2, by: held_out, then: held_out}}", "keep: 2 is out of range"},
		{"{config: tiny.yaml}", "{config: tiny.yaml, grid: {seed: [1]}, select: {keep: 1, by: mse, then: held_out}}", `unknown quantity "mse"`},
		{"fit: reconstruction", "fit: recon", `unknown quantity "recon"`},
		{"fit: reconstruction", "fit: variance, metric: mig", "has a metric, too"},
		{"dataset: small", "dataset: smal", `has no data set "smal"`},
		{"{config: tiny.yaml}", "{config: tiny.yml}", `there is no file tiny.yml; did you mean "tiny.yaml"?`},
		{"{config: tiny.yaml}", "{config: tiny.yaml, set: {train.epoch: 3}}", `did you mean "epochs"?`},
		{"part: mig_0", "of: mig_0", "columns.2.of: there is no part"},
		{"{runs: {config: tiny.yaml}}", "{mimosa: {config: tiny.yaml, min_merged: 0}}", "min_merged: 0 is out of range"},
		{"{runs: {config: tiny.yaml}}", "{mimosa: {config: tiny.yaml, min_cosine: 2}}", "min_cosine: 2 is out of range"},
	} {
		table, err := writeTable(t, trainedTable, test.old, test.new)
		if err == nil {
			_, err = table.Runs(QuickScale)
		}
		must.Error(t, err, test.want, test.new)
	}
}

// Every table of Unravel names existing configs, its rows have different names, and its data sets have enough images
// for all steps. The default test checks only the first scale.
func TestEmbeddedRuns(t *testing.T) {
	long.NotShort(t)
	images := map[string]int{}
	for _, name := range Names() {
		table := open(t, name)
		for _, scale := range long.Sample(table.Scales.Names(), 1) {
			runs, err := table.Runs(scale)
			if err != nil || (len(runs) > 0) != table.Trains() {
				t.Errorf("%s: %d runs, %v", name, len(runs), err)
			}
			for _, r := range runs {
				checkSteps(t, r, images)
			}
			want := map[string]map[string]int{
				"hierarchical-sensitivity": {QuickScale: 15, FullScale: 75}, "hierarchical-benchmark": {QuickScale: 32, FullScale: 1530},
				"hierarchical-figurea1": {QuickScale: 4, FullScale: 120}, "hierarchical-figurea3": {QuickScale: 5, FullScale: 50}, "hierarchical-figurea6": {QuickScale: 14, FullScale: 315}, "hierarchical-table1": {QuickScale: 9, FullScale: 45},
				"lsbd-groups": {QuickScale: 155, FullScale: 310},
			}[name][scale]
			if want > 0 && len(runs) != want {
				t.Errorf("%s, scale %s: %d runs, want %d: runs that rows share are made once", name, scale, len(runs), want)
			}
		}
	}
}

// checkSteps checks that a data set has enough images for epochs with a fixed number of steps. Otherwise a run would
// train fewer steps than its table says. The map has the number of images by data set.
func checkSteps(t *testing.T, r sweep.Run, images map[string]int) {
	t.Helper()
	c := r.Config
	wanted := c.Train.EpochSteps * c.Train.Batch
	if wanted == 0 || c.Train.Epochs == 0 || c.Supervision.String() != "none" {
		return
	}
	key := fmt.Sprintf("%s %+v", c.Dataset.Name, c.Dataset.Value)
	if images[key] == 0 {
		if room, ok := c.Dataset.Value.(*drawnsets.Room); ok {
			small := *room
			small.Size = 16 // as many images
			c.Dataset.Value = &small
		}
		d := must.Get(c.Dataset.Build(0))(t)
		images[key] = d.Len()
	}
	if images[key] < wanted {
		t.Errorf("%s has epochs of %d batches of %d, and %d images", r.Name, c.Train.EpochSteps, c.Train.Batch, images[key])
	}
}

// MIMOSA explores the codes once, and its result remains in the run's folder.
func TestMimosa(t *testing.T) {
	long.NotShort(t)
	dir := t.TempDir()
	csv := "table,dataset,row,column,mean,std,note\n"
	for _, column := range []string{"Purity", "Coverage", "H-error"} {
		csv += "T,s,r," + column + ",1.0,0.0,\nT,s,none," + column + ",1.0,0.0,\n"
	}
	must.WriteAll(t, dir, map[string]string{"ref.csv": csv, "table.yaml": `
name: m
title: m
source: nobody
reference: {file: ref.csv, dataset: s, draws: 5}
scales: {quick: {seeds: 1}}
rows:
  - label: r
    from: {mimosa: {config: ae/chopsticks, set: {dataset.chopsticks.samples: 2000, train.epochs: 30}, min_merged: 0.05, min_cosine: 0.95}}
  - label: none
    from: {mimosa: {config: ae/chopsticks, set: {dataset.chopsticks.samples: 2000, train.epochs: 30}, min_merged: 0.99}}
columns:
  - {label: Purity, metric: purity}
  - {label: Coverage, metric: coverage}
  - {label: H-error, metric: h-error}
`})
	table := must.Get(Open(filepath.Join(dir, "table.yaml")))(t)
	folder := filepath.Join(dir, "runs")
	runs := makeRuns(t, table, folder, false, 0)
	r, err := table.Compute(context.Background(), Options{Runs: folder})
	if err != nil || r.Cell("r", "Purity").Reason != "not run yet (the autoencoder is trained, and its codes are not explored)" {
		t.Fatalf("%v, %+v", err, r)
	}
	r = computeFrom(t, table, folder)
	purity := r.Cell("r", "Purity")
	if purity.Status == Missing || !(*purity.Ours >= 0.4 && *r.Cell("r", "Coverage").Ours >= 0.5) || r.Cell("r", "H-error").Ours == nil {
		t.Errorf("purity %v: %+v", *purity.Ours, r)
	}
	stored, err := filepath.Glob(filepath.Join(folder, runs[0].Name, "mimosa-*.json"))
	if err != nil || len(stored) != 2 {
		t.Fatalf("%v, %v", stored, err)
	}
	for _, again := range []func() (*Result, error){func() (*Result, error) { return r, nil }, func() (*Result, error) {
		return table.Compute(context.Background(), Options{Runs: folder})
	}} {
		r, err := again()
		if err != nil || *r.Cell("r", "Purity").Ours != *purity.Ours {
			t.Fatalf("from the file: %v", err)
		}
		if c := r.Cell("none", "Purity"); c.Status != Missing || c.Reason != "metric purity is NaN: there is no component" {
			t.Errorf("without a component: %+v", c)
		}
		if c, h := r.Cell("none", "Coverage"), r.Cell("none", "H-error"); *c.Ours != 0 || !(*h.Ours >= 1) {
			t.Errorf("without a component: coverage %+v, H-error %+v", c, h)
		}
	}
	for _, file := range stored {
		must.Write(t, file, "{")
	}
	if again := computeFrom(t, table, folder); *again.Cell("r", "Purity").Ours != *purity.Ours {
		t.Errorf("a damaged file: %+v", again)
	}
}
