package cli_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
)

// Mistakes between parts of a config also have a place: file, line and column, or the argument.
func TestPlaces(t *testing.T) {
	vae := strings.NewReplacer("lsbd-vae:", "vae:", "latent:\n", "latent: 4\n",
		"      - sphere: {dim: 1, log_t: [-10, -9]}\n", "", "  - lsbd: {weight: 100}\n", "").Replace(clitest.Tiny)
	for name, c := range map[string]struct{ text, old, new, want string }{
		"metric":          {clitest.Tiny, "metrics: [dlsbd]", "metrics: [mig, purity]", "metrics.final.1.purity: metric purity"},
		"sampled":         {clitest.Tiny, "metrics: [dlsbd]", "metrics:\n  sample: 2\n  final: [{total-correlation: {}}]", "metrics.final.0.total-correlation: metric total-correlation"},
		"during":          {clitest.Tiny, "metrics: [dlsbd]", "metrics:\n  final: []\n  images: 2\n  during: [total-correlation]", "metrics.during: "},
		"loss":            {clitest.Tiny, "  - lsbd: {weight: 100}", "  - lsbd: {weight: 100}\n  - variance: {}", "losses.3.variance: objective supervised: loss variance"},
		"second of them":  {vae, "  - kl: {}", "  - kl: {}\n  - kl: {}\n  - tc: {}\n  - lsbd: {}", "losses.4.lsbd: "},
		"supervision":     {clitest.Tiny, "count: 32", "count: 500", "supervision: "},
		"groups for none": {vae, "count: 32", "count: 32", "supervision: it gives labelled groups"},
		"encoder":         {clitest.Tiny, "{size: 16, side: 4}}\nsupervision: {pairs: {count: 32}}\nmodel:\n  lsbd-vae:\n    encoder: {mlp: {hidden: [16]}}", "{size: 20, side: 4}}\nsupervision: {pairs: {count: 32}}\nmodel:\n  lsbd-vae:\n    encoder: conv64", "model.lsbd-vae: "},
		"latent spaces":   {clitest.Tiny, "      - sphere: {dim: 1, log_t: [-10, -9]}\n", "", "model.lsbd-vae: "},
		"hold-out":        {clitest.Tiny, "batch: 32", "batch: 32, hold_out: 0.5", "train.hold_out: the supervision has groups"},
		"views":           {clitest.Tiny, "metrics:", "views: {pipeline: [flip]}\nmetrics:", "views"},
		"data set":        {clitest.Tiny, "dataset: {square: {size: 16, side: 4}}", "dataset: {grid: {path: nowhere}}", "dataset.grid: "},
		"no data set":     {clitest.Tiny, "dataset: {square: {size: 16, side: 4}}\n", "", "dataset: no data set"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "c.yaml")
			text := strings.Replace(c.text, c.old, c.new, 1)
			must.Write(t, path, text)
			o := clitest.Run(t, "train", path, "--run", filepath.Join(t.TempDir(), "run"))
			place := regexp.MustCompile(`^unravel: ` + regexp.QuoteMeta(path) + `:(\d+):(\d+): ` +
				regexp.QuoteMeta(c.want)).FindStringSubmatch(o.Log)
			code := 2
			if name == "data set" { // it may be damaged
				code = 1
			}
			if o.Code != code || place == nil {
				t.Fatal(o)
			}
			line, _ := strconv.Atoi(place[1])
			column, _ := strconv.Atoi(place[2])
			if lines := strings.Split(text, "\n"); line > len(lines) || column > len(lines[line-1]) {
				t.Errorf("there is no line %d, column %d", line, column)
			} else if key := strings.Split(c.want, ":")[0]; name != "no data set" {
				last := key[strings.LastIndex(key, ".")+1:]
				if !strings.HasPrefix(strings.TrimLeft(lines[line-1][column-1:], "{ "), last) {
					t.Errorf("%s is not at line %d, column %d: %q", key, line, column, lines[line-1])
				}
			}
		})
	}
	empty := filepath.Join(t.TempDir(), "empty.yaml")
	must.Write(t, empty, "")
	clitest.Mistake(t, clitest.Run(t, "train", empty, "train.epochs=3"), 2, "unravel: "+empty+":1:1: dataset: no data set is chosen")
	clitest.Mistake(t, clitest.Run(t, "train", clitest.TinyFile(t), "metrics=[purity]", "--run", filepath.Join(t.TempDir(), "run")), 2,
		`argument "metrics=[purity]": metrics.final.0.purity: metric purity`)
}

// A metric that does not suit the data set is an error before training.
func TestUnsuitableMetric(t *testing.T) {
	data := t.TempDir()
	must.WriteNPY(t, filepath.Join(data, "images.npy"), []int{6, 4, 4}, make([]uint8, 96))
	must.WriteNPY(t, filepath.Join(data, "factors.npy"), []int{6, 2}, []int64{0, 0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 2})
	config := filepath.Join(t.TempDir(), "mine.yaml")
	must.Write(t, config, `
name: mine
dataset: {grid: {path: `+data+`}}
model: {vae: {latent: 2, encoder: {mlp: {hidden: [8]}}}}
losses: [reconstruction, kl]
train: {epochs: 2, batch: 2, figures: false}
metrics: [dlsbd]
`)

	dir := filepath.Join(t.TempDir(), "run")
	clitest.Mistake(t, clitest.Run(t, "train", config, "--run", dir), 2, "metric dlsbd", "no circular factor")
	clitest.OK(t, "train", config, "--run", dir, "metrics=[]")
	o := clitest.Run(t, "eval", "--run", dir, "--metrics", "dlsbd")
	clitest.Mistake(t, o, 1, "metric dlsbd", "no circular factor")
	if strings.Contains(o.Log, "--types") {
		t.Errorf("%s: a run takes no --types", o.Log)
	}
	clitest.Mistake(t, clitest.Run(t, "train", config, "dataset.grid.kinds=[circular]", "--run", dir), 1, "kinds", "want one for each of the 2 factors")

	// one image fewer: the circular factors lack a combination of levels
	must.WriteNPY(t, filepath.Join(data, "images.npy"), []int{5, 4, 4}, make([]uint8, 80))
	must.WriteNPY(t, filepath.Join(data, "factors.npy"), []int{5, 2}, []int64{0, 0, 0, 1, 0, 2, 1, 0, 1, 1})
	clitest.Mistake(t, clitest.Run(t, "train", config, "dataset.grid.kinds=[circular, circular]",
		"metrics=[dlsbd-workshop]", "--run", dir+"2"), 2, "metric dlsbd-workshop", "no code for")
	must.WriteNPY(t, filepath.Join(data, "images.npy"), []int{4, 4, 4}, make([]uint8, 64))
	clitest.Mistake(t, clitest.Run(t, "train", config, "--run", dir+"2"), 1, "factors.npy", "want 4 x K")
	must.Write(t, filepath.Join(data, "images.npy"), must.Read(t, filepath.Join(data, "images.npy"))[:100])
	clitest.Mistake(t, clitest.Run(t, "train", config, "--run", dir+"2"), 1, "images.npy")
}

// Work that exceeds the machine's memory is an error before the allocation, with its size.
func TestTooLarge(t *testing.T) {
	long.NotShort(t)
	vae := "model={vae: {latent: 2, encoder: {mlp: {hidden: [8]}}}}"
	for _, c := range []struct{ override, words string }{
		{"dataset={sprites: {}} train.batch=1000000000", "train.batch: a step with a batch of 737280 images of 64 x 64 x 1 would take"},
		{"model={vae: {latent: 2, encoder: {mlp: {hidden: [1, 1000000, 1000000]}}}}", "model.vae"},
		{"model={vae: {latent: 2, encoder: {layers: [{dense: 1}, {dense: 1000000}, {dense: 1000000}]}}}", "model.vae.encoder.layers.2.dense"},
	} {
		args := []string{"train", clitest.TinyFile(t), "--run", filepath.Join(t.TempDir(), "run"), "supervision=none", "losses=[reconstruction]", vae}
		o := clitest.Run(t, append(args, strings.SplitAfter(c.override, "}} ")...)...)
		clitest.Mistake(t, o, 2, c.words)
		if !regexp.MustCompile(`would take \S+ \w+ of memory.*; this machine has \S+ \w+, and Unravel uses at most`).MatchString(o.Log) {
			t.Error(o)
		}
	}
	t.Chdir(t.TempDir())
	f := must.Get(os.Create("huge.yaml"))(t)
	if err := errors.Join(f.Truncate(1<<40), f.Close()); err != nil { // a sparse file of zeros
		t.Skip(err)
	}
	for _, args := range [][]string{{"train", "huge.yaml"}, {"sweep", "huge.yaml"}, {"table", "huge.yaml"}} {
		clitest.Mistake(t, clitest.Run(t, args...), 2, "huge.yaml: it is too large for a config; at most 262144 bytes are read")
	}
	// an archive of 20 kB with 160 MB of content
	var small, large bytes.Buffer
	must.OK(t, npy.Write(&small, []int{8, 1}, make([]int8, 8)))
	must.OK(t, npy.Write(&large, []int{20_000_000, 1}, make([]int8, 20_000_000)))
	must.Write(t, "codes.npy", small.Bytes())
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	w, err := z.Create("factors.npy")
	if err == nil {
		_, err = w.Write(large.Bytes())
	}
	must.OK(t, errors.Join(err, z.Close()))
	must.Write(t, "factors.npz", archive.Bytes())
	large = bytes.Buffer{}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, command := range []string{"eval", "mimosa"} {
		clitest.Mistake(t, clitest.Run(t, command, "--codes", "codes.npy", "--factors", "factors.npz"), 1,
			"factors.npz: factors have shape [20000000 1], want [8, k]")
	}
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 50<<20 {
		t.Errorf("%d bytes were allocated", after.TotalAlloc-before.TotalAlloc)
	}
}

// Metrics are checked against their images: a sample, or a held-out part.
func TestUnsuitableSample(t *testing.T) {
	vae := []string{"model={vae: {latent: 2, encoder: {mlp: {hidden: [8]}}}}", "supervision=none", "losses=[reconstruction, kl]"}
	for _, c := range []struct {
		overrides []string
		words     []string
	}{
		{[]string{"metrics.final=[total-correlation]", "metrics.sample=2"}, []string{"metric total-correlation", "want at least 3", "(on 2 of 256 images; metrics.sample sets the number)"}},
		{[]string{"metrics=[{dci: {train_rows: 30}}]", "train.hold_out=0.1"}, []string{"metric dci: there are 26 rows; want at least the 30 of train_rows"}},
		{[]string{"metrics=[{explicitness: {train_rows: 1}}]"}, []string{"metric explicitness", "only one level in the first 1 rows"}},
		{[]string{"metrics.final=[{sap: {train_rows: 90}}]", "metrics.sample=80"}, []string{"metric sap: there are 80 rows", "metrics.sample"}},
		{[]string{"metrics.final=[{downstream: {sizes: [100], test_share: 0.2}}]", "metrics.sample=80"}, []string{"metric downstream", "metrics.sample"}},
		{[]string{"metrics=[purity]"}, []string{"metric purity", "components"}},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		clitest.Mistake(t, clitest.Run(t, slices.Concat([]string{"train", clitest.TinyFile(t), "--run", dir}, vae, c.overrides)...), 2, c.words...)
		if ui.Exists(dir) {
			t.Errorf("%q: there is a folder, though the run never began", c.overrides)
		}
	}
}
