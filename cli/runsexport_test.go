package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/tfevents"
)

// Runs go to a store of MLflow, again and again, and to TensorBoard's page of settings.
func TestRunsExport(t *testing.T) {
	file, dir := writeSweep(t, "seeds: [0, 1]\n")
	succeed(t, "sweep", file, "--out", dir)
	store := filepath.Join(t.TempDir(), "mlruns")
	for _, changed := range []string{"2", "0"} {
		o := succeed(t, "runs", dir, "--mlflow", store)
		if want := "2 runs in 1 experiment, of which " + changed + " new or changed, are in " + store; !strings.HasPrefix(o.out, want) {
			t.Errorf("%q, want %q", o.out, want)
		}
	}
	metas, err := filepath.Glob(filepath.Join(store, "*", "*", "meta.yaml"))
	if err != nil || len(metas) != 2 || !strings.Contains(string(readFile(t, metas[0])), "status: 3\n") {
		t.Errorf("%v, %v", metas, err)
	}
	if o := succeed(t, "runs", dir, "--mlflow", store, "--filter", "seed=0", "--copy"); !strings.HasPrefix(o.out, "1 run in 1 experiment, of which 1 ") {
		t.Errorf("%q", o.out)
	}
	if o := succeed(t, "runs", dir, "--tensorboard"); !strings.Contains(o.out, " of 2 runs and 1 metric are in ") {
		t.Errorf("%q", o.out)
	}
	f, err := os.Open(filepath.Join(dir, boardFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := tfevents.NewReader(f)
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	e, err := r.Next()
	if err != nil || e.Tag() != "_hparams_/experiment" {
		t.Fatal(e, err)
	}
	content := string(e.Values[0].Plugin.Content)
	at := []int{strings.Index(content, "\x04seed"), strings.Index(content, "train.batch"), strings.Index(content, "metrics/dlsbd"), strings.Index(content, "lower is better")}
	if slices.Min(at) < 0 || at[0] > at[1] {
		t.Errorf("no experiment with the seed first: %v in %q", at, content)
	}
	if strings.Contains(content, "fit.") {
		t.Error("what is no metric is compared")
	}
	checkMistake(t, call(t, "runs", dir, "--copy"), 2, "--copy is for --mlflow DIR")
	checkMistake(t, call(t, "runs", dir, "--mlflow", store, "--by", "seed"), 2, "--by prints groups")
	checkMistake(t, call(t, "runs", dir, "--mlflow", store, "--json"), 2, "")
	checkMistake(t, call(t, "runs", dir, "--mlflow", dir), 1, "in the folder of runs")
}
