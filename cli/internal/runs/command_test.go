package runs_test

import (
	"encoding/csv"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train/sweep/index"
)

// Runs of a program with its own parts are listed, with a note on the parts that this program lacks.
func TestRunsOfOtherPrograms(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		must.Write(t, filepath.Join(dir, name, "config.yaml"), "dataset: square\nmodel: lent\nlosses: [kl]\n")
	}
	o := clitest.OK(t, "runs", dir)
	for _, want := range []string{"a is damaged: ",
		`a program with the model "lent", which this program has not registered`, "\nalso damaged: 1; --json gives the reasons\n"} {
		if !strings.Contains(o.Log, want) {
			t.Errorf("%q does not say %q", o.Log, want)
		}
	}
	if !strings.Contains(o.Out, "b    damaged") {
		t.Errorf("%q", o.Out)
	}
}

func TestRunsCommand(t *testing.T) {
	long.NotShort(t)
	file, dir := clitest.WriteSweep(t, "seeds: [0, 1]\nproduct: {losses.1.kl.weight: [1, 2]}\n")
	clitest.OK(t, "sweep", file, "--out", dir)
	o := clitest.OK(t, "runs", dir)
	lines := strings.Split(o.Out, "\n")
	if len(lines) != 6 || strings.Join(strings.Fields(lines[0]),
		" ") != "run state losses.1.kl.weight seed seconds dlsbd fit.converged" || !strings.HasPrefix(lines[4], "weight2_seed1  finished  2 ") {
		t.Error(o)
	}
	for filter, want := range map[string]int{
		"seed=1": 2, "losses.1.kl.weight=2": 2, "losses.1.kl.weight=2.0": 2, "seed!=1": 2, "dlsbd>100": 0, "dlsbd<100": 4, "state=finished": 4, "model=x": 0, "modl=x": -1, "kernels=none": 0,
		"seed": -1, "=3": -1, "seed<x": -1,
	} {
		o := clitest.Run(t, "runs", dir, "--csv", "--filter", filter)
		if want < 0 {
			clitest.Mistake(t, o, 2, "")
			continue
		}
		records, err := csv.NewReader(strings.NewReader(o.Out)).ReadAll()
		if err != nil || len(records) != want+1 {
			t.Errorf("%s: %d runs, want %d, %v", filter, len(records)-1, want, err)
		}
	}
	var runs []index.Run
	clitest.JSON(t, clitest.OK(t, "runs", dir, "--json", "--filter", "seed=0", "--filter", "losses.1.kl.weight=1").Out, &runs)
	if len(runs) != 1 {
		t.Fatalf("%+v", runs)
	}
	converged, known := runs[0].Results.Get("fit.converged")
	latent, _ := runs[0].Settings.Get("model.vae.latent")
	if converged != 0 || !known || latent != "2" || runs[0].Steps != 4 || runs[0].Machine.Cores < 1 {
		t.Errorf("%+v", runs)
	}
	var compared struct {
		By     []string
		Groups []index.Group
	}
	clitest.JSON(t, clitest.OK(t, "runs", dir, "--json", "--by", "losses.1.kl.weight").Out, &compared)
	if len(compared.Groups) != 2 || compared.Groups[0].Runs != 2 || compared.Groups[0].Std["dlsbd"] == 0 {
		t.Errorf("%+v", compared)
	}
	if o := clitest.OK(t, "runs", dir, "--by", "train.optimizer.adam.decay"); strings.Contains(o.Out, "0.0 ") {
		t.Error(o)
	}
	if o := clitest.OK(t, "runs", dir, "--by", "seed"); strings.Count(o.Out, "±") != 4 {
		t.Error(o)
	}
	clitest.Mistake(t, clitest.Run(t, "runs", filepath.Join(dir, "none")), 2, "there is no folder")
	if o := clitest.OK(t, "runs", t.TempDir()); o.Out != "no runs\n" {
		t.Error(o)
	}
}
