package eval_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/long"
)

// init registers two data sets of 96 images of 16 x 16 x 1. "plain" has no factors. "gaps" lacks levels of two factors,
// one of them for all images.
func init() {
	for name, build := range map[string]func(pixels []uint8) (datasets.Dataset, error){
		"plain": func(pixels []uint8) (datasets.Dataset, error) {
			return datasets.FromPixels("plain", pixels, 16, 16, 1, nil, nil)
		},
		"gaps": func(pixels []uint8) (datasets.Dataset, error) {
			levels := make([][]int, 96)
			for i := range levels {
				levels[i] = []int{i / 12, i % 3, datasets.Unknown}
				if i%5 == 0 {
					levels[i][0] = datasets.Unknown
				}
				if i%7 == 0 {
					levels[i][1] = datasets.Unknown
				}
			}
			return datasets.FromPixels("gaps", pixels, 16, 16, 1, []factor.Factor{
				{Name: "place", Size: 8, Kind: factor.Circular}, {Name: "grey", Size: 3, Kind: factor.Ordinal, Values: []float64{1, 2, 4}}, {Name: "name", Size: 2, Kind: factor.Categorical},
			}, levels)
		},
	} {
		pixels := make([]uint8, 96*16*16)
		for p := range pixels {
			i, x := p/256, p%16
			if x/2 == i/12 {
				pixels[p] = uint8(80 * (1 + i%3))
			}
		}
		d, err := build(pixels)
		if err != nil {
			panic(err)
		}
		if err := datasets.Register(registry.Entry[datasets.Builder]{Name: "test-" + name, Doc: "images of a test",
			New: func() datasets.Builder { return &datasets.Given{Set: d} }}); err != nil {
			panic(err)
		}
	}
}

// TestWithoutFactors trains models of all families on images without factors, and runs every command on the runs. The
// default test takes some families.
func TestWithoutFactors(t *testing.T) {
	long.NotShort(t)
	type family struct {
		config    string
		overrides []string
	}
	convolutions := []string{"model.vae.encoder=conv64", "model.vae.decoder=conv64"}
	features := func(model string) string { return "model." + model + ".encoder={conv64-norm: {features: 32}}" }
	families := []family{
		{"vae/sprites", nil}, {"delta-vae/square", []string{"supervision=none"}},
		{"byol/sprites", []string{features("byol"), "model.byol.hidden=32", "model.byol.predictor=32"}},
	}
	if long.Enabled() {
		families = append(families, family{"factorvae/chopsticks", convolutions},
			family{"moco/sprites", []string{features("moco"), "model.moco.queue=64"}},
			family{"tcvae/chopsticks", convolutions}, family{"simsiam/sprites", nil}, family{"barlow-twins/sprites", nil},
			family{"moco-v2/sprites", nil})
	}
	t.Chdir(t.TempDir())
	for _, set := range []string{"test-plain", "test-gaps"} {
		short := []string{"dataset=" + set, "train.epochs=1", "train.batch=32", "metrics=[]"}
		for _, family := range families {
			if set == "test-gaps" && family.config != "vae/sprites" && family.config != "byol/sprites" {
				continue
			}
			dir := filepath.Join(set, family.config)
			figures := long.Enabled() || family.config == "vae/sprites"
			clitest.OK(t, slices.Concat([]string{"train", family.config, "--run", dir, fmt.Sprint("train.figures=", figures)},
				short, family.overrides)...)
			files := []string{"codes.npy", "factors.npy", "report.html", "figures/losses.png"}
			if !figures {
				files = files[:2]
			}
			for _, file := range files {
				if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
					t.Error(err)
				}
			}
		}
		run := filepath.Join(set, "vae/sprites")
		clitest.OK(t, "data", "show", set, "--out", set+".png")
		clitest.OK(t, "encode", "--run", run, "--out", "codes.npy")
		clitest.OK(t, "export", "--run", run, "--format", "onnx")
		clitest.OK(t, "compare", run, filepath.Join(set, "byol/sprites"))
		if set == "test-plain" || long.Enabled() {
			clitest.OK(t, "train", "vae/sprites", "--run", "dry", "--dry-run", "dataset="+set, "metrics=[]")
		}
		all, log := clitest.Measure(t, clitest.FewTrees("--run", run, "--metrics", "all", "--out", set+"-figures")...)
		lines := strings.Count(log, "the images have no known factor of several levels")
		if _, ok := all["mutual-information"]; !ok || (set == "test-plain") != (lines == 1) || (set == "test-plain") != needNoLevels(t, all) {
			t.Errorf("%s: %d metrics, log %s", set, len(all), log)
		}
		files, _ := clitest.Measure(t, "--codes", "codes.npy", "--factors", "factors.npy", "--types",
			map[string]string{"test-plain": "categorical", "test-gaps": "circular:8,ordinal,categorical"}[set])
		for _, name := range []string{"mig", "dci", "sap", "factor-vae"} {
			a, b := all[name].Value, files[name].Value
			if a != b && set == "test-gaps" && name != "dci" {
				t.Errorf("%s: %s is %v of the run and %v of its files", set, name, a, b)
			}
		}
	}
	mistake := func(words []string, overrides ...string) {
		t.Helper()
		o := clitest.Run(t, append([]string{"train", "vae/sprites", "--run", "mistake", "train.batch=32"}, overrides...)...)
		clitest.Mistake(t, o, 2, words...)
		if ui.Exists("mistake") {
			t.Errorf("%v: the run begins", overrides)
		}
	}
	mistake([]string{"metrics.final.0.mig", "the images have no known factor of several levels"}, "dataset=test-plain", "metrics=[mig]")
	mistake([]string{"metrics.during", "the images have no known factor of several levels"}, "dataset=test-plain",
		"metrics={during: [dci], every: 1}")
	mistake([]string{"supervision", "dataset plain", "no factor"}, "dataset=test-plain", "metrics=[]", "supervision={labels: {fraction: 0.5}}")
	mistake([]string{"supervision", "dataset plain", "no factor"}, "dataset=test-plain", "metrics=[]", "supervision={similarity: {count: 5}}")
	mistake([]string{"supervision", "dataset plain", "no circular factor"}, "dataset=test-plain", "metrics=[]", "supervision={paths: {}}")
	mistake([]string{"supervision", `factor "unknown" of dataset plain is categorical`}, "dataset=test-plain",
		"metrics=[]", "supervision={pairs: {count: 5}}")
	clitest.OK(t, "train", "sprites/similarity", "dataset=test-gaps", "train.epochs=1", "train.batch=32", "metrics=[]",
		"--run", "similar", "supervision.similarity.factors=[place, grey]", "losses.2.variance.codes={place: [0], grey: [1]}")
	clitest.OK(t, "train", "sprites/variance", "dataset=test-gaps", "train.epochs=1", "train.batch=32",
		"metrics=[variance, mig]", "--run", "variance", "losses.2.variance.codes={place: [0], grey: [1]}")
}
