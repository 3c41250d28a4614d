package cli_test

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli"
	"github.com/unravel-ml/unravel/cli/internal/clitest"

	"github.com/alecthomas/kong"

	"github.com/unravel-ml/unravel/cli/internal/training"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/sweep"
)

// parsed returns the error of a command line, from its command and flags.
func parsed(t *testing.T, args []string) error {
	t.Helper()
	p, err := cli.NewParser(kong.Exit(func(int) {}), kong.Writers(io.Discard, io.Discard))
	must.OK(t, err)
	_, err = p.Parse(cli.Arranged(p, args))
	return err
}

// These are mistakes of users of other programs: keys, values, names and flags. The test follows the suggestion in a
// message, and the suggestion must work.
func TestNewcomers(t *testing.T) {
	long.NotShort(t)
	t.Chdir(t.TempDir())
	for name, content := range map[string]string{
		"seeds.yaml": "base: quickstart\nseeds: 3\n", "seed.yaml": "base: quickstart\nseed: [0, 1]\n", "set.yaml": "base: quickstart\ntrain.epochs: 3\n", "train.yaml": "base: quickstart\ntrain: {epochs: 3}\n",
		"one.yaml": "dataset: square\nseed: [0, 1, 2]\n", "kl.yaml": "dataset: square\nmodel: vae\nlosses:\n  - reconstruction\n  - kl: 4\n",
		"loss.yaml": "dataset: square\nmodel: vae\nloss: [kl]\n", "base.yaml": "base: quickstart\nseeds: [0, 1]\n",
		"list.yaml": "[1, 2]\n",
		"axes.yaml": "base: vae/square\nseeds: [0, 1]\nproduct: {train.lr: [1, 2]}\n", "scalar.yaml": "base: vae/square\nproduct: {train.batch: 16}\n",
	} {
		must.Write(t, name, content)
	}
	must.Write(t, "codes.npy", "")
	must.OK(t, os.MkdirAll("runs/x", 0o777))
	must.Write(t, "runs/x/config.yaml", "dataset: square\n")
	done := 0
	for _, c := range []struct {
		args string // words are separated by two spaces
		want string
	}{
		// keys
		{"train  vae/square  z_dim=4", `did you mean "model.vae.latent"?`},
		{"train  vae/square  latent_dim=4", `did you mean "model.vae.latent"?`},
		{"train  vae/square  n_latents=4", `did you mean "model.vae.latent"?`},
		{"train  vae/square  model.vae.z_dim=4", `model.vae.z_dim: unknown key "z_dim"; did you mean "latent"?`},
		{"train  vae/square  model.vae.latents=4", `did you mean "latent"?`},
		{"train  vae/square  lr=0.1", `the learning rate is the optimiser's: train.optimizer.adam.lr`},
		{"train  vae/square  train.optimizer=sgd  learning_rate=0.1", `train.optimizer.sgd.lr`},
		{"train  vae/square  weight_decay=0.1", `did you mean "train.optimizer.adam.decay"?`},
		{"train  vae/square  batch_size=4", `did you mean "train.batch"?`},
		{"train  vae/square  train.batchSize=4", `did you mean "batch"?`},
		{"train  vae/square  epochs=4", `did you mean "train.epochs"?`},
		{"train  vae/square  num_epochs=4", `did you mean "train.epochs"?`},
		{"train  vae/square  dataset.square.latent=4", `unknown key "latent"; did you mean "model.vae.latent"? Known here: size, side, step`},
		{"train  vae/square  trainer.max_epochs=4", `unknown key "trainer"; known: name, seed`},
		{"train  vae/square  train.max_epochs=4", `did you mean "epochs"?`},
		{"train  vae/square  max_steps=4", "train.epochs, of train.epoch_steps steps each"},
		{"train  vae/square  patience=4", "train.stop={loss: loss, patience: 5}"},
		{"train  vae/square  early_stopping=true", "train.stop={loss: loss, patience: 5}"},
		{"train  vae/square  optimizer=adam", `did you mean "train.optimizer"?`},
		{"train  vae/square  optim=adam", `unknown key "optim"; known`},
		{"train  vae/square  scheduler=cosine", `did you mean "train.schedule"?`},
		{"train  vae/square  grad_clip=1", `did you mean "train.clip"?`},
		{"train  vae/square  num_workers=1", `did you mean "train.threads"?`},
		{"train  vae/square  accumulate_grad_batches=2", `did you mean "train.accumulate"?`},
		{"train  vae/square  val_split=0.1", `did you mean "train.hold_out"?`},
		{"train  vae/square  random_seed=4", `did you mean "seed"?`},
		{"train  vae/square  experiment_name=a", `did you mean "name"?`},
		{"train  vae/square  criterion=[kl]", `did you mean "losses"?`},
		{"train  vae/square  image_size=32", `did you mean "dataset.square.size"?`},
		{"train  vae/square  beta=4", "losses.1.kl.weight=4"},
		{"train  vae/square  losses.1.kl.beta=4", "beta is the weight here: kl: {weight: 4}"},
		{"train  vae/square  device=cuda", "train.device=gpu trains on a GPU"},
		{"train  vae/square  trainer=gpu", `unknown key "trainer"; known`},
		{"train  vae/square  labels=0.1", "supervision={labels: {fraction: 0.1}}"},
		{"train  vae/square  output_dir=x", "--run DIR"},
		{"train  loss.yaml", `loss.yaml:3:1: loss: unknown key "loss"; did you mean "losses"?`},
		{"train  base.yaml", `base.yaml:2:1: seeds: unknown key "seeds"; it belongs to the file of a sweep`},
		{"train  vae/square  base=quickstart", "a file builds on another config by base: NAME or FILE.yaml"},
		{"train  vae/square  train.nope=4", `unknown key "nope"; known: epochs`},
		// values
		{"train  vae/square  seed=0,1,2", "several seeds make a sweep: write seeds: [0, 1, 2]"},
		{"train  vae/square  seed=[0, 1, 2]", "several seeds make a sweep: write seeds: [0, 1, 2]"},
		{"train  one.yaml", "one.yaml:2:7: seed: want an integer, got a list; several seeds make a sweep"},
		{"train  vae/square  train.batch=16,32", "several values make a sweep: write product: {train.batch: [16, 32]}"},
		{"train  vae/square  metrics=mig,dci", "write [mig,dci]"},
		{"train  vae/square  metrics=mig", "write [mig]"},
		{"train  vae/square  metrics.during=mig", "write [mig]"},
		{"train  vae/square  metrics=MIG", `in the list [MIG]: unknown metric "MIG"; did you mean "mig"?`},
		{"train  vae/square  metrics=[MIG]", `unknown metric "MIG"; did you mean "mig"?`},
		{"train  vae/square  losses=reconstruction,kl", "write [reconstruction,kl]"},
		{"train  vae/square  losses={reconstruction: {}, kl: {weight: 4}}", "write [reconstruction, {kl: {weight: 4}}]"},
		{"train  vae/square  losses.1.kl=4", "losses.1.kl: want a mapping, got 4; write {weight: 4}"},
		{"train  list.yaml", "list.yaml:1:1: want a mapping, got a list\n"},
		{"train  runs", "runs is a folder; want a file\n"},
		{"train  runs/x", "runs/x is a folder; want a file, such as the config " + filepath.Join("runs/x", "config.yaml") + " of the run; --resume --run runs/x continues the run"},
		{"train  kl.yaml", "kl.yaml:5:9: losses.1.kl: want a mapping, got 4; write {weight: 4}"},
		{"train  vae/square  model.vae=4", "model.vae: want a mapping, got 4; its keys: encoder"},
		{"train  vae/square  train.epochs=\"3\"", "write it without quotes: 3"},
		{"train  vae/square  train.epochs=1_000", "write 1000"},
		{"train  vae/square  train.epochs=1e2", "write 100"},
		{"train  vae/square  train.figures=yes", "want true or false, got the text \"yes\"; write true"},
		{"train  vae/square  train.figures=0", "want true or false, got 0; write false"},
		{"train  vae/square  train.epochs=three", `want an integer, got the text "three"`},
		{"train  vae/square  train.optimizer.lr=0.1", "an option of adam is train.optimizer.adam.lr"},
		{"train  vae/square  dataset=photos/", "pictures of a folder are {folder: {path: photos/}}"},
		{"train  vae/square  dataset={folder: photos}", "dataset.folder: want a mapping, got the text \"photos\"; write {path: photos}"},
		{"train  vae/square  dataset.name=square", `unknown dataset "name" beside square; known: square`},
		{"train  vae/square  supervision.labels=0.1", "write {fraction: 0.1}"},
		{"train  vae/square  train.epochs  =  3", "write train.epochs=3, without spaces around the ="},
		// names
		{"train  vae/square  metrics=[fid]", `unknown metric "fid"; known: dlsbd`},
		{"train  vae/square  metrics=[mic]", `unknown metric "mic"; known: dlsbd`},
		{"train  vae/square  metrics=[dci_disentanglement]", "it is a part of the metric dci: [dci]"},
		{"train  vae/square  metrics=[betavae]", `did you mean "beta-vae"?`},
		{"train  vae/square  metrics=[sap_score]", `did you mean "sap"?`},
		{"train  vae/square  metrics=[factor_vae_metric]", `did you mean "factor-vae"?`},
		{"train  vae/square  metrics=[modularity_explicitness]", "[modularity, explicitness]"},
		{"train  vae/square  model=vq-vae", `unknown model "vq-vae"; known: encoder`},
		{"train  vae/square  model=cvae", `unknown model "cvae"; known: encoder`},
		{"train  vae/square  model=betavae", "[reconstruction, {kl: {weight: 4}}]"},
		{"train  vae/square  model=BetaVAE", "[reconstruction, {kl: {weight: 4}}]"},
		{"train  vae/square  model=factor_vae", "{tc: {estimator: adversarial}}"},
		{"train  vae/square  model=moco-v3", `unknown model "moco-v3"; known`},
		{"train  vae/square  model=VAE", `did you mean "vae"?`},
		{"train  vae/square  losses=[mse]", "{reconstruction: {likelihood: gaussian}}"},
		{"train  vae/square  losses=[bce, kl]", "{reconstruction: {likelihood: bernoulli}}"},
		{"train  vae/square  losses=[kld]", `did you mean "kl"?`},
		{"train  vae/square  losses=[recon]", `did you mean "reconstruction"?`},
		{"train  vae/square  losses=[InfoNCE]", `did you mean "info-nce"?`},
		{"train  vae/square  train.optimizer=Adam", `did you mean "adam"?`},
		{"train  vae/square  train.optimizer=nadam", `unknown optimizer "nadam"; known: adam`},
		{"train  vae/square  dataset=dSprites", `did you mean "dsprites"?`},
		{"train  vae/square  dataset=3dshapes", `unknown dataset "3dshapes"; did you mean "shapes3d"?`},
		{"train  vae/square  dataset=mnist", `unknown dataset "mnist"; known: square`},
		{"train  vae/square  dataset=data.npz", "and arrays of a file {grid: {path: data.npz}}"},
		{"train  vae/square  dataset=photos", "; your own are {folder: {path: DIR}} of pictures"},
		{"train  vae/square  model.vae.encoder=conv32", `unknown encoder "conv32"; known: layers`},
		{"train  vae", "known: vae/arm, vae/bumps"},
		{"train  quickstart.yaml", "did you mean the experiment quickstart?"},
		// overrides
		{"train  vae/square  ++train.epochs=3", "write train.epochs=3"},
		{"train  vae/square  +train.epochs=3", "write train.epochs=3"},
		{"train  vae/square  losses+={tc: {}}", "write losses.+={tc: {}}"},
		{"data  show  square  size=8  size=16", "size=16 replaces size=8; want one of them"},
		{"train  vae/square  ~losses", `"~losses" is not an override: a key cannot be taken out`},
		{"train  vae/square  ~losses=[kl]", `a key cannot be taken out; write losses=VALUE to set it`},
		{"train  vae/square  losses.kl.weight=4", `got "kl", which is losses.1.kl`},
		{"train  vae/square  losses.1.weight=4", "an option of kl is losses.1.kl.weight"},
		{"train  vae/square  train:epochs=3", "keys are joined by dots; write train.epochs=3"},
		{"train  vae/square  epochs:3", `"epochs:3" is not an override; want key.path=value`},
		// flags and commands
		{"train  -m  vae/square", "unknown flag -m; runs of several values are a sweep: unravel sweep FILE"},
		{"train  --config  vae/square", "the config is an argument without a flag, behind the command: vae/square"},
		{"train  --config-name=vae/square", "behind the command: vae/square"},
		{"train  vae/square  --epochs  3", "settings of the config have no dashes: train.epochs=3"},
		{"train  vae/square  --lr=0.1", "settings of the config have no dashes: train.optimizer.adam.lr=0.1"},
		{"train  vae/square  --batch-size  3", "settings of the config have no dashes: train.batch=3"},
		{"train  vae/square  --z-dim  3", "settings of the config have no dashes: model.vae.latent=3"},
		{"train  vae/square  --metrics  mig", "settings of the config have no dashes: metrics=[mig]"},
		{"train  vae/square  --gpus  1", "train.device=gpu trains on a GPU"},
		{"train  vae/square  --output-dir  x", "the folder of the run is --run x"},
		{"train  vae/square  --dryrun", `did you mean "--dry-run"?`},
		{"train  vae/square  --nope", "unknown flag --nope\n"},
		{"-v", "unknown flag -v; unravel version prints the version"},
		{"tune", `did you mean "unravel sweep"?`},
		{"fit", `did you mean "unravel train"?`},
		{"evaluate", `did you mean "unravel eval"?`},
		{"nonsense", "unexpected argument nonsense\n"},
		{"runs  --sort  mig  DIR", "unravel serve sorts by any column"},
		{"runs  --  a  b", "unexpected argument b\n"},
		{"list  --no-gif  models  vae  more", "unknown flag --no-gif\n"},
		{"decode  --no-gfi", `unknown flag --no-gfi; did you mean "--no-gif"?`},
		{"eval  -m  mig", `unknown flag -m; did you mean "--metrics"?`},
		{"eval  --run  x  --metric  mig", `did you mean "--metrics"?`},
		{"eval  runs/x", "write --run runs/x"},
		{"eval  codes.npy", "write --codes codes.npy"},
		{"eval  --embeddings  codes.npy", "codes are --codes codes.npy"},
		{"eval  --codes  codes.npy  --labels  y.npy", "factors are --factors y.npy"},
		{"eval  --codes  codes.npy  --kinds  circular:360", `did you mean "--types"?`},
		{"eval  --run  x  --metrics  MIG", `unknown metric "MIG"; did you mean "mig"?`},
		{"compare  a  b  -m  mig", `did you mean "--metrics"?`},
		{"encode  runs/x", "write --run runs/x"},
		{"encode  --run  runs/x  --output  a.npy", `did you mean "--out"?`},
		{"export  --checkpoint  runs/x", "the folder of a run is --run runs/x"},
		{"report  runs/x", "write --run runs/x"},
		{"sweep  a.yaml  -j  3", "runs at a time are --jobs 3"},
		{"sweep  a.yaml  --num-workers=3", "runs at a time are --jobs 3"},
		{"sweep  vae/square", "vae/square is the config of one run, for unravel train vae/square"},
		{"sweep  seeds.yaml  --dry-run", "seeds.yaml:2:8: seeds: want a list, got 3; seeds are listed: [0, 1, 2] makes three runs, and [3] one of the seed 3"},
		{"sweep  seed.yaml  --dry-run", "seed.yaml:2:1: seed: unknown key \"seed\"; a sweep has a list of seeds, such as seeds: [0, 1, 2]"},
		{"sweep  set.yaml  --dry-run", "settings of all runs stand under set: {train.epochs: ...}"},
		{"sweep  train.yaml  --dry-run", "settings of all runs stand under set, with their whole paths: set: {train.epochs: ...}"},
		{"sweep  axes.yaml  --dry-run", "axes.yaml:3:21: product.\"train.lr\": argument \"train.lr=1\": train.lr: unknown key \"lr\"; the learning rate is the optimiser's: train.optimizer.adam.lr"},
		{"sweep  scalar.yaml  --dry-run", "scalar.yaml:2:24: product.\"train.batch\": want a list of values for train.batch, got 16; write [16]"},
		{"table  --workers  3", "runs at a time are --jobs 3"},
		{"serve  --prot  80", "the port is part of --listen localhost:80"},
		{"table  enriching-table", "want one of enriching-table10, "},
		{"train  quickstart  training.epochs=3", `did you mean "train"?`},
		{"train  quickstart  train.step=3", "training is counted in epochs"},
		{"serve  --port  80", "the port is part of --listen localhost:80"},
		{"data  show  square  dataset.square.sizee=3", `did you mean "size"?`},
		{"list  metric-names", `there is no list of "metric-names"`},
	} {
		args := strings.Split(c.args, "  ")
		o := clitest.Run(t, args...)
		if o.Code != 2 || !strings.Contains(o.Log, c.want) || strings.Contains(o.Log, "goroutine") {
			t.Errorf("unravel %s: code %d\n got %swant %s", strings.Join(args, " "), o.Code, o.Log, c.want)
			continue
		}
		if m := swept.FindStringSubmatch(o.Log); m != nil {
			done++
			if p, err := sweep.Load("s.yaml", []byte("base: vae/square\n"+m[1]+"\n")); err != nil {
				t.Errorf("%s: %v", m[1], err)
			} else if runs, err := p.Runs(); err != nil || len(runs) < 2 {
				t.Errorf("%s: %d runs, %v", m[1], len(runs), err)
			}
		}
		if fixed := pasted(o.Log, args); fixed != nil {
			done++
			if err := accepted(t, fixed); err != nil {
				t.Errorf("unravel %s says %sbut unravel %s: %v", strings.Join(args, " "), o.Log, strings.Join(fixed, " "), err)
			}
		}
	}
	if done < 75 {
		t.Errorf("only %d hints were tried", done)
	}
	must.Equal(t, clitest.OK(t, "--version"), clitest.OK(t, "version"), "--version")
}

var (
	ofOverride = regexp.MustCompile(`argument "((?:[^"\\]|\\.)*)": (?:([^ ]+): )?`)
	meantKey   = regexp.MustCompile(`unknown key "[^"]+"; did you mean "([^"]+)"\?`)
	meantName  = regexp.MustCompile(`unknown (?:model|metric|loss|optimizer|dataset|encoder) "([^"]+)"; did you mean "([^"]+)"\?`)
	written    = regexp.MustCompile(`; write (?:it without quotes: )?(.+)\n`)
	assigned   = regexp.MustCompile(`(?:have no dashes: |is the weight of the loss kl: |stops early by |are a supervision: )([a-z][^ ]*=.+)\n`)
	flagged    = regexp.MustCompile(`(?:write|is|are|mean) "?(--[a-z-]+)( [^ .\n]+)?`)
	swept      = regexp.MustCompile(`make a sweep: write (.+) and a base into`)
	commanded  = regexp.MustCompile(`did you mean "unravel ([^"]+)"\?`)
)

// pasted returns the arguments with the message's suggestion instead of the mistake, or nil without a suggestion.
func pasted(log string, args []string) []string {
	if m := commanded.FindStringSubmatch(log); m != nil {
		return strings.Fields(m[1] + " --help")
	}
	if m := assigned.FindStringSubmatch(log); m != nil {
		return []string{args[0], args[1], m[1]}
	}
	if m := ofOverride.FindStringSubmatch(log); m != nil {
		old, err := strconv.Unquote(`"` + m[1] + `"`)
		key, value, _ := config.CutAssignment(old)
		switch hint, name := meantKey.FindStringSubmatch(log), meantName.FindStringSubmatch(log); {
		case err != nil || args[0] != "train":
			return nil
		case name != nil:
			return replaced(args, old, key+"="+"["+name[2]+"]", key+"="+strings.Replace(value, name[1], name[2], 1))
		case hint != nil && strings.Contains(hint[1], "."):
			return replaced(args, old, hint[1]+"="+value)
		case hint != nil:
			unknown := cmp.Or(m[2], key)
			return replaced(args, old, unknown[:strings.LastIndexByte(unknown, '.')+1]+hint[1]+strings.TrimPrefix(key, unknown)+"="+value)
		}
		if w := written.FindStringSubmatch(log); w != nil && !strings.Contains(w[1], "VALUE") && !strings.Contains(w[1], "sweep") {
			if _, _, whole := config.CutAssignment(w[1]); whole && !strings.HasPrefix(w[1], "[") && !strings.HasPrefix(w[1], "{") {
				return replaced(args, old, w[1])
			}
			return append(slices.Clone(args), m[2]+"="+w[1])
		}
		return nil
	}
	if m := flagged.FindStringSubmatch(log); m != nil && strings.Contains(log, "unknown flag") {
		return strings.Fields(args[0] + " " + m[1] + m[2])
	}
	return nil
}

// replaced replaces an argument by the last candidate, or a list of names by the first.
func replaced(args []string, old string, candidates ...string) []string {
	list := slices.Clone(args)
	by := candidates[len(candidates)-1]
	if len(candidates) > 1 && strings.HasPrefix(old, "metrics=") && !strings.Contains(old, "[") {
		by = candidates[0]
	}
	list[slices.Index(list, old)] = by
	return list
}

// accepted reads the config of train, or the flags of other commands.
func accepted(t *testing.T, args []string) error {
	t.Helper()
	if args[0] == "train" && !strings.HasPrefix(args[len(args)-1], "-") && len(args) > 2 && !slices.Contains(args, "--run") {
		_, _, err := (&training.Train{Args: args[1:]}).Config()
		return err
	}
	if err := parsed(t, args); err != nil && regexp.MustCompile("unknown|unexpected").MatchString(err.Error()) {
		return err
	}
	return nil
}

// Every list and option in the registries' hints is valid, and every name exists.
func TestRegistryHints(t *testing.T) {
	lists := map[string]struct {
		hints map[string]string
		names []string
		read  func(list string) error
	}{
		"metrics": {metrics.Registry.Hints, metrics.Registry.Names(), func(list string) error {
			return config.Load("", []byte("x: "+list), &struct{ X []metrics.Choice }{})
		}},
		"losses": {losses.Registry.Hints, losses.Registry.Names(), func(list string) error {
			return config.Load("", []byte("x: "+list), &struct{ X []losses.Choice }{})
		}},
		"models": {models.Registry.Hints, models.Registry.Names(), func(list string) error {
			asLosses := config.Load("", []byte("x: "+list), &struct{ X []losses.Choice }{})
			if asLosses == nil {
				return nil
			}
			return config.Load("", []byte("x: "+list), &struct{ X []models.Choice }{})
		}},
		"optimizers": {engine.Optimizers.Hints, engine.Optimizers.Names(), func(list string) error {
			return config.Load("", []byte("x: "+list), &struct{ X []engine.OptimizerChoice }{})
		}},
	}
	snippet, meant := regexp.MustCompile(`[\[{].*[\]}]`), regexp.MustCompile(`did you mean "([^"]+)"`)
	for kind, l := range lists {
		for name, hint := range l.hints {
			if m := meant.FindStringSubmatch(hint); m != nil && !slices.Contains(l.names, m[1]) {
				t.Errorf("%s: %s: there is no %s", kind, name, m[1])
			}
			list := snippet.FindString(hint)
			if list != "" && list[0] == '{' {
				list = "[" + list + "]"
			}
			if list != "" {
				if err := l.read(list); err != nil {
					t.Errorf("%s: %s: %s: %v", kind, name, list, err)
				}
			}
		}
	}
}

// literals visits the string literals of all packages of the program, with their positions.
func literals(t *testing.T, visit func(where, text string)) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "testdata" || d.Name() == "clitest" || d.Name() == "tools" || d.Name() == "examples") {
			return errOr(err, fs.SkipDir)
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				if text, err := strconv.Unquote(l.Value); err == nil {
					visit(files.Position(l.Pos()).String(), text)
				}
			}
			return true
		})
		return nil
	})
	must.OK(t, err)
}

func errOr(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

var (
	commandHint = regexp.MustCompile("(?:want|write|try|use|see|run|by|needs) (?:for example, )?`?unravel ([a-z][^;,()`\"\\n]*)|`unravel ([^`]*)`|and &?unravel ([a-z][a-z-]+ --[^;,()`\"\\n]*)")
	settingRef  = regexp.MustCompile("(?:^|[ (`'])((?:dataset|model|train|supervision|views|metrics|losses)\\.[A-Za-z0-9_.+-]+|(?:train\\.stop|supervision))=(\\{[^\"`]*?\\}+|\\[[^\"`]*?\\]|[a-z0-9.]+)")
)

// Commands and overrides suggested in messages exist.
func TestPrintedHints(t *testing.T) {
	long.NotShort(t)
	var found int
	literals(t, func(where, text string) {
		text = strings.NewReplacer("%s", "x", "%q", "x", "%v", "x", "%d", "1").Replace(text)
		for _, m := range commandHint.FindAllStringSubmatch(text, -1) {
			words := strings.Fields(m[1] + m[2] + m[3])
			if len(words) == 0 {
				continue
			}
			found++
			if err := parsed(t, words); err != nil && regexp.MustCompile("^unknown flag|^unexpected argument "+
				regexp.QuoteMeta(words[0])+"$").MatchString(err.Error()) {
				t.Errorf("%s: unravel %s: %v", where, strings.Join(words, " "), err)
			}
		}
		for _, m := range settingRef.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], ".x") { // the run gives the name
				continue
			}
			found++
			if err := applies(m[1], strings.TrimSuffix(m[2], ".")); err != nil {
				t.Errorf("%s: %s=%s: %v", where, m[1], m[2], err)
			}
		}
	})
	if found < 30 {
		t.Errorf("only %d hints were found", found)
	}
}

// applies overrides a setting in a config with the part in its path.
func applies(key, value string) error {
	source := "dataset: square\nmodel: vae\nlosses: [reconstruction, kl]\n"
	if words := strings.Split(key, "."); len(words) > 2 && (words[0] == "dataset" || words[0] == "model" || words[0] == "supervision") {
		source = strings.Replace(source, words[0]+": "+map[string]string{"dataset": "square", "model": "vae"}[words[0]],
			words[0]+": "+words[1], 1)
		if words[1] == "folder" || words[1] == "grid" {
			source = strings.Replace(source, words[1]+"\n", words[1]+": {path: x}\n", 1)
			source = strings.Replace(source, "dataset: "+words[1]+": {path: x}", "dataset: {"+words[1]+": {path: x}}", 1)
		}
	}
	_, err := train.Load("x.yaml", []byte(source), key+"="+value)
	return err
}
