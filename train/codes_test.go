package train

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/train/rundir"
)

// unmeasured returns a config without metrics, and with more images than such a run encodes.
func unmeasured(t *testing.T, overrides ...string) Config {
	t.Helper()
	return sticksConfig(t, append([]string{"dataset.chopsticks.samples=10050",
		"train.epochs=0", "train.hold_out=0", "metrics=[]"}, overrides...)...)
}

// A run stores the codes that metrics measure. Without metrics, the config decides.
func TestKept(t *testing.T) {
	long.NotShort(t)
	for _, test := range []struct {
		overrides []string
		rows      int // 0: no files
		says      string
	}{
		{nil, maxStored, "the run keeps codes of 10000 of the 10050 images: no metric needs more, and metrics.encode sets the number"},
		{[]string{"dataset.chopsticks.samples=300"}, 300, ""},
		{[]string{"metrics.encode=true"}, 10050, ""},
		{[]string{"metrics.encode=false"}, 0, ""},
		{[]string{"metrics.encode=30"}, 30, "the run keeps codes of 30 of"},
		{[]string{"metrics.sample=40"}, 40, "the run keeps codes of 40 of"},
		{[]string{"metrics.sample=40", "metrics.encode=true"}, 40, "the run keeps codes of 40 of"},
		{[]string{"metrics=[med]"}, 10050, ""},
		{[]string{"metrics=[med]", "metrics.sample=50"}, 50, ""},
		{[]string{"metrics=[med]", "metrics.sample=50", "metrics.encode=false"}, 0, ""},
	} {
		c, dir := unmeasured(t, test.overrides...), t.TempDir()
		var log bytes.Buffer
		r, err := Run(t.Context(), c, Options{Dir: filepath.Join(dir, "run"), Log: plain.Logger(&log)})
		if err != nil {
			t.Fatalf("%v: %v", test.overrides, err)
		}
		must.Equal(t, len(r.Metrics), len(c.Metrics.Final), test.overrides, "metrics", r.Metrics)
		if test.says == "" && strings.Contains(log.String(), "are kept") || !strings.Contains(log.String(), test.says) {
			t.Errorf("%v: %s", test.overrides, &log)
		}
		codes, err := npy.ReadFile[float32](filepath.Join(dir, "run", rundir.CodesFile))
		if test.rows == 0 {
			for _, name := range []string{rundir.CodesFile, rundir.FactorsFile, rundir.LevelsFile} {
				if _, err := os.Stat(filepath.Join(dir, "run", name)); err == nil {
					t.Errorf("%v: there is a %s", test.overrides, name)
				}
			}
			continue
		}
		factors, failed := npy.ReadFile[float64](filepath.Join(dir, "run", rundir.FactorsFile))
		if err != nil || failed != nil || codes.Shape[0] != test.rows || factors.Shape[0] != test.rows {
			t.Errorf("%v: %v and %v rows, %v, %v; want %d", test.overrides, codes, factors, err, failed, test.rows)
		}
	}
}

// Runs without metrics store the codes of the same images for every seed.
func TestMostMeasured(t *testing.T) {
	for _, c := range []struct {
		m           Measures
		width, want int
	}{
		{Measures{}, 10, 13421772},
		{Measures{}, 1000, 134217},
		{Measures{}, 1 << 28, 1},
		{Measures{Encode: EncodeAll}, 1000, 0},
		{Measures{Sample: 200000}, 1000, 200000},
		{Measures{Sample: 200000, Encode: EncodeAll}, 1000, 200000},
	} {
		must.Equal(t, c.m.maxImages(c.width), c.want, c.m, c.width, "columns: at most", "images are measured")
	}
}

func TestKeptImages(t *testing.T) {
	var of [2]*Experiment
	for seed := range of {
		e := must.Get(NewExperiment(unmeasured(t, fmt.Sprint("seed=", seed))))(t)
		of[seed] = e.encoded()
	}
	chosen := regexp.MustCompile(`\[(\d+ ){99,}\d+\]`) // numbers of the images
	a, b := chosen.FindString(fmt.Sprint(of[0].Data)), chosen.FindString(fmt.Sprint(of[1].Data))
	if of[0].Data.Len() != maxStored || a == "" || a != b {
		t.Errorf("%d images, the numbers %.100q and %.100q", of[0].Data.Len(), a, b)
	}
}

// A run that stores no codes writes a report, and removes codes from an earlier end.
func TestKeepsNothing(t *testing.T) {
	long.NotShort(t)
	dir := filepath.Join(t.TempDir(), "run")
	for i, overrides := range [][]string{{"train.epochs=1"}, {"train.epochs=2", "metrics.encode=false"}} {
		c := unmeasured(t, append(overrides, "dataset.chopsticks.samples=300", "train.figures=true")...)
		trainIn(t, dir, c, i > 0)
		for _, name := range []string{rundir.CodesFile, rundir.FactorsFile, rundir.LevelsFile,
			rundir.FitFile, "figures/histograms.png", "figures/reconstructions.png"} {
			if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != (i == 0) {
				t.Errorf("%v: %s: %v", overrides, name, err)
			}
		}
		for _, name := range []string{"figures/losses.png", "figures/hierarchy.png", rundir.ReportFile} {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Errorf("%v: %v", overrides, err)
			}
		}
		if text, err := os.ReadFile(filepath.Join(dir, rundir.MetricsFile)); err != nil || strings.TrimSpace(string(text)) != "[]" {
			t.Errorf("%v: metrics %q, %v", overrides, text, err)
		}
		if text, err := os.ReadFile(filepath.Join(dir, rundir.LogFile)); err != nil || bytes.Count(text, []byte("\n")) != i+1 {
			t.Errorf("%v: a line is not of an epoch: %s", overrides, text)
		}
	}
}

func TestEncodeConfig(t *testing.T) {
	for text, want := range map[string]Encode{"true": EncodeAll, "false": EncodeNone, "12": 12, "null": 0} {
		c := sticksConfig(t, "metrics={encode: "+text+"}")
		must.Equal(t, c.Metrics.Encode, want, text)
		again := must.Get(c.Encode())(t)
		must.Equal(t, must.Get(Load("again.yaml", again))(t).Metrics.Encode, want, text, "when read again")
	}
	for overrides, want := range map[string]string{
		"metrics={encode: 0}":              "metrics.encode: want true (all images), false (none) or a number",
		"metrics={encode: -3}":             "metrics.encode: want true",
		"metrics={encode: some}":           "metrics.encode: want true",
		"metrics={encode: 5, sample: 3}":   "metrics.encode: metrics.sample also sets",
		"metrics={encode: 5, final: [r4]}": "want true or false, or metrics.sample=5",
	} {
		c, err := Load("sticks.yaml", []byte(sticks), overrides)
		if err == nil {
			err = c.Validate()
		}
		must.Error(t, err, want, overrides)
	}
}

// A run whose groups are drawn anew in every epoch says how well it reconstructs the images, as others do.
func TestFitOfDrawnGroups(t *testing.T) {
	const vae = "{ada-gvae: {encoder: {mlp: {hidden: [4]}}, latent: 2}}"
	c := load(t, "supervision={changes: {k: 1, count: 12}}", "model="+vae, "losses=[reconstruction, kl]", "metrics=[mig]", "train.epochs=1")
	if r := trainIn(t, t.TempDir(), c, false); r.Fit == nil || r.Fit.Images != 256 || r.Fit.Converged {
		t.Errorf("fit %+v; want 256 images, not converged", r.Fit)
	}
}
