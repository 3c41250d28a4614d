package tables_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics"
	. "github.com/unravel-ml/unravel/results/tables"
	"github.com/unravel-ml/unravel/train"
)

// Rows of chosen columns share the runs of the row with all columns. They measure the columns chosen by med, and store
// the results.
func TestTop(t *testing.T) {
	dir := t.TempDir()
	csv := "table,dataset,row,column,mean,std,note\nT,*,*,*,,,none\n"
	const run = `config: vae/square, set: {dataset: {square: {size: 16, side: 4, step: 2}}, model.vae: {encoder: {mlp: {hidden: [16]}}, latent: 7}, train: {epochs: 1, batch: 32}, metrics.sample: 50}`
	must.WriteAll(t, dir, map[string]string{"ref.csv": csv, "table.yaml": `
name: m
title: m
source: nobody
reference: {file: ref.csv, dataset: s}
scales: {quick: {seeds: 1}}
rows:
  - {label: all, from: {runs: {` + run + `}}}
  - {label: top, from: {top: {k: 2, ` + run + `}}}
columns:
  - {label: MED, metric: {med: {bins: 5}}}
  - {label: MIG, metric: {mig: {components: 2}}}
  - {label: Modularity, metric: modularity}
`})
	table := must.Get(Open(filepath.Join(dir, "table.yaml")))(t)
	folder := filepath.Join(dir, "runs")
	runs := makeRuns(t, table, folder, false, 0)
	if len(runs) != 1 {
		t.Fatalf("%d runs; want the rows to share one", len(runs))
	}
	r, err := table.Compute(context.Background(), Options{Runs: folder})
	if err != nil || r.Cell("top", "MED").Reason != "not run yet (the model is trained, and its best columns are not measured)" {
		t.Fatalf("%v, %+v", err, r)
	}
	r = computeFrom(t, table, folder)
	for label, want := range chosenBy(t, filepath.Join(folder, runs[0].Name)) {
		must.Equal(t, *r.Cell("top", label).Ours, want, label)
	}
	stored, err := filepath.Glob(filepath.Join(folder, runs[0].Name, "top-2.json"))
	if err != nil || len(stored) != 1 {
		t.Fatalf("%v, %v", stored, err)
	}
	again, err := table.Compute(context.Background(), Options{Runs: folder})
	if err != nil || *again.Cell("top", "Modularity").Ours != *r.Cell("top", "Modularity").Ours {
		t.Errorf("from the file: %v, %+v", err, again)
	}
	must.Write(t, stored[0], "{")
	if again, err = table.Compute(context.Background(), Options{Runs: folder}); err != nil || again.Cell("top", "MED").Status != Missing {
		t.Errorf("from a damaged file: %v, %+v", err, again)
	}
	for _, bad := range []string{"{k: 0, config: vae/square}", "{k: 1}"} {
		var s struct{ From SourceChoice }
		if err := config.Load("t.yaml", []byte("from: {top: "+bad+"}"), &s); err == nil {
			t.Errorf("%s is valid", bad)
		}
	}
}

// chosenBy measures the best two columns of each factor of a run, using only the metrics.
func chosenBy(t *testing.T, dir string) map[string]float64 {
	t.Helper()
	e, _, err := train.OpenExperiment(dir)
	must.OK(t, err)
	e = e.Sample()
	codes := must.Get(e.Codes(t.Context()))(t)
	in := e.Input(codes)
	choice := func(name string) metrics.Choice {
		return must.Get(metrics.Named(name))(t)
	}
	best := choice("med")
	med := best.Value.(*metrics.MED)
	med.Bins, med.TopK = 5, 2
	whole := must.Get(metrics.Evaluate(t.Context(), in, e.Config.Seed, []metrics.Choice{best}))(t)
	_, columns, err := choice("med").Value.(*metrics.MED).Select(t.Context(), in) // the default is two columns
	if err != nil || len(columns) < 3 || len(columns) > 4 || !slices.IsSorted(columns) {
		t.Fatalf("%v, %v: the best two columns of two factors", columns, err)
	}
	in.Codes, in.Spaces = in.Codes.Columns(columns), nil
	some, err := metrics.Evaluate(t.Context(), in, e.Config.Seed, []metrics.Choice{choice("mig"), choice("modularity")})
	must.OK(t, err)
	return map[string]float64{"MED": whole[0].Value, "MIG": some[0].Value, "Modularity": some[1].Value}
}
