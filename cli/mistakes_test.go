package cli_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/onnx"
	"github.com/unravel-ml/unravel/train/rundir"
)

// Mistakes in a config or its overrides exit with code 2. The message gives the place and the remedy.
func TestConfigMistakes(t *testing.T) {
	long.NotShort(t)
	vae := "model={vae: {encoder: {mlp: {hidden: [8]}}}}"
	delta := "model={delta-vae: {encoder: {mlp: {hidden: [8]}}}}"
	labels := "supervision={labels: {fraction: 1}}"
	for _, c := range []struct {
		name      string
		overrides []string
		words     []string
	}{
		{"unknown key", []string{"train.epoch=3"}, []string{`argument "train.epoch=3"`, `unknown key "epoch"; did you mean "epochs"?`}},
		{"epochs", []string{"epochs=1"}, []string{`unknown key "epochs"; did you mean "train.epochs"?`}},
		{"a learning rate", []string{"train.lr=1"}, []string{`unknown key "lr"; the learning rate is the optimiser's: train.optimizer.adam.lr`}},
		{"a size of batches", []string{"batch_size=1"}, []string{`did you mean "train.batch"?`}},
		{"a device", []string{"device=cuda"}, []string{`unknown key "device"; train.device=gpu trains on a GPU`}},
		{"a device to train on", []string{"train.device=cuda"}, []string{`unknown device "cuda"; want cpu, gpu, gpu:N or auto`}},
		{"a beta", []string{"losses.1={kl: {beta: 4}}"}, []string{`losses.1.kl.beta: unknown key "beta"; beta is the weight here: kl: {weight: 4}`}},
		{"a beta-VAE", []string{"model=beta-vae"}, []string{`unknown model "beta-vae"; a beta-VAE is the model vae with a weight of the loss kl: losses: [reconstruction, {kl: {weight: 4}}]`}},
		{"a FactorVAE", []string{"model={factor-vae: {latent: 4}}"}, []string{`the model vae with the loss {tc: {estimator: adversarial}}`}},
		{"byol with pairs", []string{"model=byol"}, []string{"want views: {pipeline: negative-free, count: 2}, with losses of views, and supervision only where a loss learns from it, as in the config byol/sprites"}},
		{"byol with pairs and views", []string{"model={byol: {encoder: {mlp: {hidden: [8]}}}}", "views={pipeline: negative-free, count: 2}", "losses=[cosine-regression]"}, []string{"supervision: it gives labelled groups", "or no supervision"}},
		{"unknown option", []string{"dataset.square.colour=3"}, []string{"dataset.square.colour", "known: size, side, step"}},
		{"fraction", []string{"train.epochs=1.5"}, []string{"train.epochs: want an integer, got 1.5"}},
		{"text", []string{"train.batch=many"}, []string{"train.batch: want an integer"}},
		{"mapping for a number", []string{"seed={a: 1}"}, []string{"seed"}},
		{"out of range", []string{"train.epochs=-1"}, []string{"train.epochs: -1 is out of range; want 0 or more"}},
		{"square too large", []string{"dataset.square.side=16"}, []string{"dataset.square.side: 16 is out of range"}},
		{"unknown data set", []string{"dataset=sqare"}, []string{`unknown dataset "sqare"; did you mean "square"?`}},
		{"two models", []string{"model.vae.latent=3"}, []string{"two names"}},
		{"not an assignment", []string{"epochs"}, []string{`"epochs" is not an override; want key.path=value`}},
		{"no key", []string{"=3"}, []string{`argument "=3": want key.path=value`}},
		{"empty key", []string{"train..epochs=3"}, []string{"train..epochs"}},
		{"unfinished value", []string{"losses=[kl"}, []string{`argument "losses=[kl"`}},

		{"lsbd loss without groups", []string{"supervision=none"}, []string{"losses.2.lsbd: loss lsbd", "it needs labelled groups", "supervision: {pairs: {count: 768}}"}},
		{"lsbd loss with delta-vae", []string{delta}, []string{"loss lsbd", "transported codes of labelled groups", "does not have", "want planes, such as {row: [0, 1]}"}},
		{"lsbd loss with a plane of another factor", []string{delta, "losses.2.lsbd={planes: {hue: [0, 1]}}"}, []string{"loss lsbd", `no factor "hue" that is circular; known: row, column`}},
		{"pairs for a vae", []string{vae, "losses=[reconstruction, kl]"}, []string{"labelled groups", "nothing learns from them", "planes"}},
		{"too many pairs", []string{"supervision.pairs.count=129"}, []string{"129 pairs", "256 images", "want at most 128"}},
		{"pairs hold an unknown factor", []string{"supervision.pairs.hold=[colour]"}, []string{`no factor "colour"`, "row, column"}},
		{"conv64 on 20x20", []string{"dataset.square.size=20", "model.lsbd-vae.encoder=conv64"}, []string{"conv64", "20, 20", "or small-conv"}},
		{"too few circles", []string{"model.lsbd-vae.latent=[sphere]"}, []string{`factor "column" has no space`}},
		{"too many circles", []string{"model.lsbd-vae.latent=[sphere, sphere, sphere]"}, []string{"latent space 2", "needs a circular factor"}},
		{"a sphere that no factor turns", []string{"model.lsbd-vae.latent=[{sphere: {dim: 2}}, sphere]"}, []string{"latent space 0", "want an axis"}},
		{"unknown factor of the model", []string{"model.lsbd-vae.factors=[row, col]"}, []string{`no factor "col"`}},
		{"unknown metric", []string{"metrics=[dlsb]"}, []string{`unknown metric "dlsb"; did you mean "dlsbd"?`}},
		{"views without a factor", []string{"supervision=views"}, []string{"dataset square has 2 factors that turn; name one as factor: row, column"}},
		{"variance without labels", []string{"losses.2={variance: {}}"}, []string{"loss variance", "needs labels", "{labels: {fraction: 0.1}}"}},
		{"columns of no factor", []string{labels, "losses=[{variance: {codes: {raw: [0]}}}]"}, []string{"loss variance", `no factor "raw"; did you mean "row"?`}},
		{"columns beyond the code", []string{labels, vae, "losses=[{mpd: {codes: {row: [10]}}}]"}, []string{"loss mpd", "codes.row: column 10", "0 to 9"}},
		{"values of similarities", []string{vae, "supervision={similarity: {count: 5}}", "losses=[contraction]"}, []string{"loss contraction", "only has similarities"}},
		{"tc without posteriors", []string{"supervision=none", "model={encoder: {encoder: {mlp: {hidden: [8]}}}}", "losses=[tc]"}, []string{"loss tc", "log variances of Gaussian posteriors"}},
		{"an aggregate", []string{labels, "losses=[{variance: {aggregate: median}}]"}, []string{`losses.0.variance.aggregate`, `unknown aggregate "median"`, "mean, max, sum, mean-square"}},
		{"an estimator that does not exist", []string{labels, "losses=[{mad: {estimator: unbiased}}]"}, []string{"losses.0.mad.estimator: mad has no unbiased estimator; want estimator plain"}},
		{"an aggregate that cannot be estimated", []string{labels, "losses=[{variance: {aggregate: max, estimator: unbiased}}]"}, []string{"losses.0.variance.aggregate: the max over values has no unbiased estimator; want aggregate mean, or estimator plain"}},
		{"a second batch for no discriminator", []string{labels, vae, "losses=[{tc: {discriminator: {second_batch: true}}}]"}, []string{"losses.0.tc.discriminator.second_batch: the estimator minibatch has no discriminator; want estimator adversarial"}},
		{"a sentence that does not end", []string{labels, `losses=[{logic: {sentence: "forall i, j: z.row(i) =[squared]"}}]`}, []string{"losses.0.logic.sentence", "1:33", "end"}},
		{"a sentence of no factor", []string{labels, `losses=[{logic: {sentence: "forall i: z.row(i) =[squared] y.raw(i)"}}]`}, []string{"loss logic", "1:31", `did you mean "row"?`}},
		{"more labels than images", []string{"supervision={labels: {fraction: 1.5}}"}, []string{"supervision.labels.fraction: 1.5", "at most 1"}},
		{"labels from nowhere", []string{"supervision={labels: {file: none.npy}}"}, []string{"supervision", "none.npy"}},
		{"a capacity below 0", []string{"losses.1={kl: {capacity: {to: -1}}}"}, []string{"losses.1.kl.capacity.to"}},
		{"a discriminator without layers", []string{vae, "losses=[{tc: {estimator: adversarial, discriminator: {hidden: []}}}]"}, []string{"discriminator.hidden"}},
		{"path too far", []string{"supervision={paths: {count: 2, length: 3, step: 16}}"}, []string{"step 16"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			clitest.Mistake(t, clitest.Run(t, slices.Concat([]string{"train", clitest.TinyFile(t), "--run", dir}, c.overrides)...), 2, c.words...)
			if _, err := os.Stat(dir); err == nil {
				t.Error("there is a folder of the run, though it never began")
			}
		})
	}
}

// Unreadable config files, and files without a config.
func TestConfigFiles(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, content := range map[string]string{
		"empty.yaml": "", "list.yaml": "- 1\n- 2\n", "open.yaml": "name: [a,\nseed: 1", "binary.yaml": "\x00\xff\xfe\x01", "tab.yaml": "name: a\n\tseed: 1",
		"twice.yaml": "seed: 1\nseed: 2\n", "deep.yaml": "a: " + strings.Repeat("[", 100000), "anchor.yaml": "seed: &x 1\n",
		"key.yaml": strings.Replace(clitest.Tiny, "side: 4", "sides: 4", 1),
	} {
		must.Write(t, name, content)
	}
	must.OK(t, os.Mkdir("folder.yaml", 0o777))
	for name, words := range map[string][]string{
		"missing.yaml":           {"there is no file missing.yaml"},
		"missing":                {`neither a file nor an experiment "missing"`, "`unravel list configs` lists the experiments"},
		"quickstrat":             {`did you mean "quickstart"?`},
		"lsbd-vae/squar":         {`did you mean "lsbd-vae/square"?`},
		"folder.yaml":            {"folder.yaml", "is a folder; want a file"},
		"open.yaml/x":            {"open.yaml/x"},
		"empty.yaml":             {"empty.yaml", "no data set is chosen"},
		"list.yaml":              {"list.yaml:1:1"},
		"open.yaml":              {"open.yaml:"},
		"binary.yaml":            {"binary.yaml:"},
		"tab.yaml":               {"tab.yaml:2"},
		"twice.yaml":             {"twice.yaml:2:1", "seed"},
		"deep.yaml":              {"deep.yaml:1"},
		"anchor.yaml":            {"anchor.yaml:1:7"},
		"key.yaml":               {`key.yaml:3:30: dataset.square.sides: unknown key "sides"; did you mean "side"?`},
		"../nowhere/at/all.yaml": {"there is no file"},
	} {
		t.Run(name, func(t *testing.T) { clitest.Mistake(t, clitest.Run(t, "train", name), 2, words...) })
	}
	// several mistakes: one message that lists them all
	must.Write(t, "many.yaml", strings.NewReplacer("epochs: 3", "epochs: x", "side: 4", "side: 40").Replace(clitest.Tiny))
	o := clitest.Run(t, "train", "many.yaml")
	if o.Code != 2 || o.Out != "" || !strings.HasPrefix(o.Log, "unravel: many.yaml:3:") ||
		strings.Count(o.Log, "many.yaml:") != 2 || !strings.Contains(o.Log, "train.epochs") {
		t.Errorf("two mistakes: %v", o)
	}
	if entries, err := os.ReadDir("."); err != nil || len(entries) != 11 {
		t.Errorf("files were made: %v, %v", entries, err)
	}
}

// Mistakes in the command line.
func TestUsageMistakes(t *testing.T) {
	long.NotShort(t)
	dir := clitest.Finished(t)
	codes := filepath.Join(dir, "codes.npy")
	files := "eval --codes " + codes + " --factors " + filepath.Join(dir, "factors.npy")
	for _, c := range []struct {
		args  string
		words []string
	}{
		{"", []string{`expected one of "train"`}},
		{"trian", []string{`did you mean "train"?`}},
		{"--nope", []string{"unknown flag --nope"}},
		{"train --nope", []string{"unknown flag --nope"}},
		{"train --run", []string{"--run"}},
		{"train -", []string{"want the name of a file, such as /dev/stdin"}},
		{"train quickstart nonsense", []string{`"nonsense" is not an override`}},
		{"train --resume --run nowhere", []string{"nowhere: there is no run to continue"}},
		{"eval", []string{"nothing to evaluate", "--run DIR", "--codes FILE"}},
		{"eval --run x --codes y", []string{"--run", "--codes", "together"}},
		{"eval --run " + dir + " --factors y", []string{"--factors and --rotations belong to --codes"}},
		{"eval --codes " + codes + " --metrics mig", []string{"takes the factors of the rows with --factors"}},
		{"eval --run " + dir + " --types circular", []string{"--types and --bins belong to --codes"}},
		{"eval --run " + dir + " --bins 3", []string{"--types and --bins belong to --codes"}},
		{files + " --bins=-1", []string{`--bins: got "-1"; want 1 or more`}},
		{files + " --bins 0", []string{`--bins: got "0"; want 1 or more`}},
		{files + " --metrics all,mig", []string{"all already is a list of metrics; want it alone"}},
		{files + " --chance 1", []string{"--chance: shuffles: 1 is out of range; want 2 to 1000, or 0 for no chance levels"}},
		{files + " --types round", []string{`unknown kind "round"; want ordinal, circular, circular:PERIOD, categorical or continuous`}},
		{files + " --types ordinal,ordinal,ordinal", []string{"--types has 3 kinds", "each of the 2 columns"}},
		{files + " --blocks 0", []string{`--blocks "0" has 1 block; want 2`}},
		{files + " --blocks 0;1-9", []string{"block 1, of factor1: 1-9: codes have columns 0 to 3"}},
		{files + " --blocks 0;2-1", []string{"2-1 ends before it begins"}},
		{files + " --blocks 0-1;1", []string{"column 1 is given to factor0 and to factor1"}},
		{files + " --blocks 0;", []string{`"" is not a column`}},
		{files + " --blocks 0;1 --metrics mig", []string{"none of the metrics has sub-codes"}},
		{"eval --factors " + codes, []string{"--run DIR"}},
		{"eval --run " + dir + " --metrics dslbd", []string{`unknown metric "dslbd"; did you mean "dlsbd"?`}},
		{"encode", []string{"--run"}},
		{"encode extra --run " + dir, []string{"unexpected argument extra"}},
		{"list nothing", []string{`there is no list of "nothing"`, "models"}},
		{"list modles", []string{`did you mean "models"?`}},
		{"list models vea", []string{`models: there is no "vea"; did you mean "vae"?`}},
		{"list models vae more", []string{"unexpected argument more", "encoders and decoders"}},
		{"list models vae --image 64x64x3", []string{"--image", "encoders and decoders"}},
		{"list configs quickstrat", []string{`did you mean "quickstart"?`}},
		{"data shwo", []string{"shwo"}},
		{"data show", []string{"the argument <name> is missing", "See unravel data show --help."}},
		{"compare", []string{"the argument <source> ... is missing"}},
		{"encode --run", []string{"--run is without its value"}},
		{"compare a b --metrics", []string{"--metrics is without its value"}},
		{"export --run r --format pt", []string{`--format: unknown value "pt"; want safetensors, onnx`, "See unravel export --help."}},
		{"data show sqare", []string{`argument "dataset=sqare": dataset: unknown dataset "sqare"; did you mean "square"?`}},
		{"data show square size", []string{`"size" is not an option; want name=value`}},
		{"data show square sizee=3", []string{`unknown key "sizee"; did you mean "size"?`}},
		{"data show square size=3.5", []string{"dataset.square.size: want an integer, got 3.5"}},
		{"data show square side=64", []string{"dataset.square.side: 64 is out of range"}},
		{"data show square --rows=colour", []string{`no factor "colour"`, "row, column"}},
		{"data show square --fixed colour=1", []string{`no factor "colour"`}},
		{"data show square --fixed row=x", []string{"--fixed"}},
		{"data show square --count 0", []string{"--count 0"}},
		{"data show square --count x", []string{"--count"}},
		{"data show square --scale=-1", []string{"--scale -1"}},
		{"data show grid", []string{"dataset.grid.path"}},
		{"data show a.b size=3", []string{"a.b"}},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Chdir(t.TempDir())
			clitest.Mistake(t, clitest.Run(t, strings.Fields(c.args)...), 2, c.words...)
		})
	}
}

// Folders that cannot contain a new run give exit code 1.
func TestRunFolders(t *testing.T) {
	config, full, taken := clitest.TinyFile(t), t.TempDir(), clitest.Finished(t)
	must.Write(t, filepath.Join(full, "thesis.tex"), "x")
	for name, c := range map[string]struct {
		dir   string
		words []string
	}{
		"taken":        {taken, []string{taken, "already contains a run", "--resume", "--run"}},
		"full":         {full, []string{full, "not empty", "thesis.tex"}},
		"a file":       {config, []string{config, "is a file; want a folder"}},
		"in a file":    {filepath.Join(config, "run"), []string{config, "is a file; want a folder"}},
		"not writable": {unwritable(t), []string{"creating the run's folder", "run"}},
	} {
		t.Run(name, func(t *testing.T) { clitest.Mistake(t, clitest.Run(t, "train", config, "--run", c.dir), 1, c.words...) })
	}
	before := must.Read(t, filepath.Join(taken, "checkpoint.safetensors"))
	for _, command := range []string{"eval", "encode"} {
		for dir, words := range map[string][]string{
			filepath.Join(full, "nowhere"): {"nowhere", "the folder does not exist"}, config: {config, "not a folder"}, full: {full, "has no config.yaml"}} {
			clitest.Mistake(t, clitest.Run(t, command, "--run", dir), 1, words...)
		}
	}
	clitest.Mistake(t, clitest.Run(t, "train", "--resume", "--run", taken, "seed=5"), 2,
		"resumed with the config it was started with", "seed: the run began with 1, now 5", "init={run: DIR}")
	held := must.Get(rundir.Open(taken))(t)
	clitest.Mistake(t, clitest.Run(t, "train", "--resume", "--run", taken, "train.epochs=9"), 1, taken, "another process holds the run")
	clitest.OK(t, "eval", "--run", taken) // reading is possible
	must.OK(t, held.Close())
	if string(before) != string(must.Read(t, filepath.Join(taken, "checkpoint.safetensors"))) {
		t.Error("the checkpoint changed")
	}
	must.Write(t, filepath.Join(taken, "config.yaml"), "name: [\n")
	clitest.Mistake(t, clitest.Run(t, "eval", "--run", taken), 2, filepath.Join(taken, "config.yaml")+":")
	clitest.Mistake(t, clitest.Run(t, "train", "--resume", "--run", taken), 2, filepath.Join(taken, "config.yaml")+":")
}

// Outputs go into folders. Errors name a missing folder, or a file in its place, as the user wrote it.
func TestNoFolder(t *testing.T) {
	long.NotShort(t)
	dir := clitest.Finished(t)
	t.Chdir(t.TempDir())
	must.Write(t, "file", "")
	for _, c := range []struct{ args, want string }{
		{"docs --out file", "unravel: file is a file; want a folder"},
		{"docs --reference file/x", "unravel: file/x: file is a file; want a folder"},
		{"report --run " + dir + " --out none/a.html", "unravel: writing none/a.html: there is no folder none; want an existing folder"},
		{"data show bumps --out file/a.png", "unravel: writing file/a.png: file is a file; want a folder"},
	} {
		c.args, c.want = filepath.FromSlash(c.args), filepath.FromSlash(c.want)
		o := clitest.Run(t, strings.Fields(c.args)...)
		if lines := strings.Split(strings.TrimSpace(o.Log), "\n"); o.Code != 1 || lines[len(lines)-1] != c.want {
			t.Errorf("%s: %v, want %q", c.args, o, c.want)
		}
	}
}

// unwritable returns a path where even root cannot make a folder.
func unwritable(t *testing.T) string {
	dir := t.TempDir()
	switch {
	case runtime.GOOS == "windows":
		return filepath.Join(dir, "a?", "run") // no name of a folder
	case os.Geteuid() == 0:
		return "/proc/run"
	}
	must.OK(t, os.Chmod(dir, 0o555))
	return filepath.Join(dir, "run")
}

// Unmeasurable codes and factors, and unsuitable files.
func TestEvalFiles(t *testing.T) {
	long.NotShort(t)
	t.Chdir(t.TempDir())
	var codes []float64
	var factors []int64
	for i := range 64 {
		codes = append(codes, math.Cos(float64(i)), float64(i%7), math.Sin(float64(i)))
		factors = append(factors, int64(i/8), int64(i%8))
	}
	with := func(i int, v float64) []float64 {
		c := slices.Clone(codes)
		c[i] = v
		return c
	}
	must.WriteNPY(t, "codes.npy", []int{64, 3}, codes)
	must.WriteNPY(t, "factors.npy", []int{64, 2}, factors)
	must.WriteNPY(t, "nan.npy", []int{64, 3}, with(3*5+2, math.NaN()))
	must.WriteNPY(t, "inf.npy", []int{64, 3}, with(3*6+1, math.Inf(-1)))
	must.WriteNPY(t, "flat.npy", []int{192}, codes)
	must.WriteNPY(t, "cube.npy", []int{4, 16, 3}, codes)
	must.WriteNPY(t, "short.npy", []int{63, 3}, codes[:189])
	must.WriteNPY(t, "none.npy", []int{0, 3}, codes[:0])
	must.WriteNPY(t, "nofactors.npy", []int{0, 2}, factors[:0])
	must.WriteNPY(t, "zero.npy", []int{64, 0}, codes[:0])
	must.WriteNPY(t, "zerofactors.npy", []int{64, 0}, factors[:0])
	must.Write(t, "twice.csv", "x,x\n"+strings.Repeat("1,2\n", 64))
	must.Write(t, "codes.csv", "1,2\n1,x\n")
	repeated := append(slices.Clone(factors[:126]), 0, 0)
	must.WriteNPY(t, "repeated.npy", []int{64, 2}, repeated)
	must.Write(t, "text.npy", "not an array")
	must.Write(t, "cut.npy", must.Read(t, "codes.npy")[:200])
	must.Write(t, "nothing.npy", "")
	for _, c := range []struct {
		codes, factors string
		words          []string
	}{
		{"missing.npy", "factors.npy", []string{"codes", "missing.npy", must.NoFile(t)}},
		{"codes.npy", "missing.npy", []string{"factors", "missing.npy", must.NoFile(t)}},
		{".", "factors.npy", []string{"codes: . is a folder; want a file"}},
		{"text.npy", "factors.npy", []string{"text.npy", "not a .npy file"}},
		{"nothing.npy", "factors.npy", []string{"nothing.npy"}},
		{"cut.npy", "factors.npy", []string{"cut.npy"}},
		{"nan.npy", "factors.npy", []string{"row 5, column 2 is NaN", "want finite numbers"}},
		{"inf.npy", "factors.npy", []string{"row 6, column 1 is -Inf"}},
		{"flat.npy", "factors.npy", []string{"flat.npy", "[64 2]", "want [192, k]"}},
		{"cube.npy", "factors.npy", []string{"cube.npy", "[4 16 3]"}},
		{"short.npy", "factors.npy", []string{"factors.npy", "[64 2]", "want [63, k]", "short.npy"}},
		{"none.npy", "nofactors.npy", []string{"none.npy has shape [0 3]"}},
		{"zero.npy", "factors.npy", []string{"zero.npy has shape [64 0]"}},
		{"codes.npy", "zerofactors.npy", []string{"no factors"}},
		{"codes.npy", "inf.npy", []string{"factors: inf.npy: row 6, column 1 is -Inf", "want finite numbers"}},
		{"codes.npy", "twice.csv", []string{"twice.csv", "\"x\" of column 1 is empty or repeated"}},
		{"codes.csv", "factors.npy", []string{"codes: codes.csv: line 2, field 2: \"x\" is not a number"}},
	} {
		t.Run(c.codes+" "+c.factors, func(t *testing.T) {
			clitest.Mistake(t, clitest.Run(t, "eval", "--codes", c.codes, "--factors", c.factors), 1, c.words...)
		})
	}
	clitest.OK(t, "eval", "--codes", "codes.npy", "--factors", "factors.npy") // everything else is right
	chosen := []string{"eval", "--codes", "codes.npy", "--factors", "repeated.npy", "--metrics", "dlsbd-workshop", "--types"}
	clitest.Mistake(t, clitest.Run(t, append(chosen, "circular")...), 1, "metric dlsbd", "want every combination once")
	clitest.Mistake(t, clitest.Run(t, append(chosen, "ordinal,discrete")...), 1, "metric dlsbd", "no circular factor")
}

// With an excessive learning rate, the message names the first node, and the earlier checkpoint remains unchanged.
func TestNotFinite(t *testing.T) {
	long.NotShort(t)
	config, dir := clitest.TinyFile(t), filepath.Join(t.TempDir(), "run")
	explode := "train.schedule={step: {every: 2, factor: 1e36}}"
	clitest.OK(t, "train", config, explode, "train.epochs=2", "--run", dir)
	before := must.Read(t, filepath.Join(dir, "checkpoint.safetensors"))
	o := clitest.Run(t, "train", config, explode, "train.epochs=4", "--run", dir, "--resume")
	if o.Code != 1 || o.Out != "" || strings.Count(o.Log, "unravel: ") != 1 {
		t.Error(o)
	}
	clitest.NoTrace(t, o)
	if !regexp.MustCompile(`unravel: step 18 \(epoch 3\), objective supervised: .*not a finite number in element \d+ of node "[^"]+" \(.+\); try a smaller learning rate`).MatchString(o.Log) {
		t.Error(o)
	}
	if string(before) != string(must.Read(t, filepath.Join(dir, "checkpoint.safetensors"))) {
		t.Error("the last good checkpoint is gone")
	}
	clitest.OK(t, "eval", "--run", dir)
	// parameters that are not finite are never stored, even after the last step
	o = clitest.Run(t, "train", config, "train.optimizer.adam={lr: 1e20, decay: 1e30}",
		"train.batch=512", "supervision=none", "losses=[reconstruction, kl]", "train.epochs=1", "--run", dir+"2")
	if o.Code != 1 || o.Out != "" ||
		!regexp.MustCompile(`unravel: checkpoint: after step 1: element 0 of parameter "[^"]+" is [-+](Inf|NaN); try a smaller`).MatchString(o.Log) {
		t.Error(o)
	}
	clitest.Mistake(t, clitest.Run(t, "eval", "--run", dir+"2"), 1, "there is no checkpoint in "+dir+"2")
}

// Before the first update, the learning rate cannot make a loss infinite. The message names the range of the data.
func TestNotFiniteAtFirst(t *testing.T) {
	dir := t.TempDir()
	images := make([]float32, 60*10)
	for i := range images {
		images[i] = float32(29000 * math.Sin(float64(i*i)))
	}
	images[0], images[1] = -30000, 29000.5
	data, config := filepath.Join(dir, "data.npy"), filepath.Join(dir, "run.yaml")
	must.WriteNPY(t, data, []int{60, 10}, images)
	must.Write(t, config, fmt.Appendf(nil, `name: large
dataset: {grid: {path: %s, real: true}}
model: {vae: {latent: 3, encoder: mlp, decoder: mlp}}
losses: [{reconstruction: {likelihood: gaussian}}, kl]
train: {epochs: 2, batch: 30, figures: false, optimizer: {adam: {lr: 1e-30}}}
metrics: []
`, data))
	o := clitest.Run(t, "train", config, "--run", filepath.Join(dir, "run"))
	for _, want := range []string{"step 1 (epoch 1), objective unsupervised, loss reconstruction: ",
		"no update was made yet", "numbers from -30000 to 29000.5; scale them to about -1 to 1, such as by dividing them by 30000"} {
		if o.Code != 1 || !strings.Contains(o.Log, want) || strings.Contains(o.Log, "smaller learning rate") {
			t.Errorf("want %q: %v", want, o)
		}
	}
}

// The name of an output file determines its format, or is an error before the work.
func TestWrittenNames(t *testing.T) {
	dir, here := clitest.Finished(t), t.TempDir()
	for _, c := range [][2]string{
		{"encode --run RUN --out codes.txt", "--out codes.txt: .txt is no format that the command writes; want a name that ends in .npy"},
		{"export --run RUN --out w.pt", "want a name that ends in .safetensors or .onnx"},
		{"export --run RUN --out w.onnx --format safetensors", "this ending is for the format onnx; want a name that ends in .safetensors, or --format onnx"},
		{"export --run RUN --out w.onnx --half", "--half belongs to --format safetensors"},
		{"export --run RUN --out w.safetensors --format onnx", "this ending is for the format safetensors; want a name that ends in .onnx"},
		{"data show square --out s.jpg", "want a name that ends in .png"},
		{"data ask square --out pairs.png", "want a name that ends in .csv or .txt"},
		{"report --run RUN --out r.pdf", "want a name that ends in .html"},
		{"decode --run RUN --out sheet.png", "--out sheet.png: the command writes a folder of files; want the name of a folder, without .png"},
		{"eval --run RUN --out m.json", "want the name of a folder, without .json"},
		{"compare RUN RUN --out c.csv", "want the name of a folder, without .csv"},
		{"mimosa --run RUN --out m.json", "want the name of a folder, without .json"},
	} {
		clitest.Mistake(t, clitest.Run(t, strings.Fields(strings.ReplaceAll(c[0], "RUN", dir))...), 2, c[1])
	}
	for name, want := range map[string]bool{"w.onnx": true, "w.ONNX": true, "w.safetensors": false, "w": false} {
		path := filepath.Join(here, name)
		clitest.OK(t, "export", "--run", dir, "--out", path)
		if _, err := onnx.Decode(must.Read(t, path)); (err == nil) != want {
			t.Errorf("%s: ONNX %v", name, err == nil)
		}
	}
	clitest.OK(t, "encode", "--run", dir, "--out", filepath.Join(here, "codes"))
}

func TestOutputs(t *testing.T) {
	dir := clitest.Finished(t)
	for _, args := range [][]string{{"encode", "--run", dir, "--out"}, {"data", "show", "square", "--out"}} {
		nowhere := filepath.Join(dir, "nowhere", "x")
		clitest.Mistake(t, clitest.Run(t, append(args, nowhere)...), 1, "writing "+nowhere, "there is no folder "+filepath.Dir(nowhere)+
			"; want an existing folder")
		clitest.Mistake(t, clitest.Run(t, append(args, dir)...), 1, "writing "+dir, "it is a folder; want a file")
	}
}
