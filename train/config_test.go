package train

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/metrics/mutual"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/rundir"
)

func TestDefaults(t *testing.T) {
	c := must.Get(Load("least.yaml", []byte("dataset: square\nmodel: vae\nlosses: [reconstruction, kl]\n")))(t)
	s := c.Train
	if c.Name != "run" || c.Seed != 0 || c.Supervision.String() != "none" || c.Metrics.Final != nil {
		t.Errorf("%+v", c)
	}
	if s.Epochs != 20 || s.Batch != 64 || s.Checkpoint != 30 || !s.Figures || s.Threads != 0 || s.Clip != 0 ||
		s.Warmup != (engine.Span{}) || s.Accumulate != 1 || s.Parts != nil || s.Stop != nil {
		t.Errorf("%+v", s)
	}
	if a, ok := s.Optimizer.Value.(*engine.Adam); !ok ||
		*a != (engine.Adam{LR: 1e-3, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-7, Exclude: "none"}) {
		t.Errorf("%+v", s.Optimizer)
	}
	if _, ok := s.Schedule.Value.(*engine.Constant); !ok {
		t.Errorf("%+v", s.Schedule)
	}
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
	checkRoundTrip(t, c)
	checkRoundTrip(t, load(t, "metrics.every=2", "train.stop={metric: dlsbd, reach: 0.1, patience: 3}",
		"train.schedule={step: {every: 3, factor: 0.1}}", "seed=18446744073709551615", "train.warmup={epochs: 0.5}"))
}

// TestMistakes checks error messages with their place.
func TestMistakes(t *testing.T) {
	for override, want := range map[string]string{
		"name=a/b":                                           `name: "a/b" is not a folder's name`,
		"name=.hidden":                                       `name: ".hidden" is not a folder's name`,
		"train.epochs=-1":                                    "train.epochs: -1 is out of range; want 0 or more",
		"train.epochs=1000000000000":                         "train.epochs: 1000000000000 is out of range; want at most 1000000000",
		"train.epochs=1.5":                                   "train.epochs: want an integer, got 1.5",
		"train.batch=0":                                      "train.batch: 0 is out of range; want 1 or more",
		"train.threads=-1":                                   "train.threads: -1 is out of range; want 0 or more",
		"train.threads=5000":                                 "train.threads: 5000 is out of range; want at most 1024",
		"metrics.every=-1":                                   "metrics.every: -1 is out of range",
		"train.warmup=-1":                                    "train.warmup: -1 is out of range",
		"train.warmup={steps: 0}":                            "train.warmup.steps: 0 is out of range; want 1 to",
		"train.warmup={steps: 3, epochs: 1}":                 "train.warmup: want the key epochs or steps",
		"train.warmup=[1]":                                   "train.warmup: want a number of epochs, {epochs: E} or {steps: N}",
		"train.accumulate=0":                                 "train.accumulate: 0 is out of range; want 1 or more",
		"train.schedule={step: {every: 0}}":                  "train.schedule.step.every: 0 epochs; want a number above 0, or {steps: N}",
		"train.optimizer={lars: {exclude: norms}}":           `train.optimizer.lars.exclude: "norms" is unknown; want none or biases-and-norms`,
		"train.parts=[{lr: 1}]":                              "train.parts.0.match: there is no pattern",
		"train.clip=.inf":                                    "train.clip: +Inf is out of range",
		"train.checkpoint=-0.1":                              "train.checkpoint: -0.1 is out of range",
		"train.optimizer.adam.lr=0":                          "train.optimizer.adam.lr: 0 is out of range; want a number above 0",
		"train.optimizer.adam.lr=.inf":                       "train.optimizer.adam.lr: +Inf is out of range",
		"train.optimizer.adam.beta1=1":                       "train.optimizer.adam.beta1: 1 is out of range; want 0 <= beta1 < 1",
		"train.optimizer.adam.beta2=-1":                      "train.optimizer.adam.beta2: -1 is out of range",
		"train.optimizer.adam.epsilon=0":                     "train.optimizer.adam.epsilon: 0 is out of range",
		"train.optimizer.adam.decay=.inf":                    "train.optimizer.adam.decay: +Inf is out of range",
		"train.optimizer=sdg":                                `train.optimizer: unknown optimizer "sdg"; did you mean`,
		"train.schedule=cosin":                               `unknown schedule "cosin"; did you mean "cosine"?`,
		"train.schedule.step.every=0":                        "train.schedule.step.every: 0 epochs; want a number above 0",
		"train.schedule.step.factor=0":                       "train.schedule.step.factor: 0 is out of range",
		"train.schedule.cosine.final=2":                      "train.schedule.cosine.final: 2 is out of range",
		"train.stop={metric: dlsbd}":                         "train.stop.patience: neither reach nor patience is given",
		"train.stop={patience: 1}":                           "train.stop.metric: want the name of a metric",
		"train.stop={patience: -1, metric: dlsbd, reach: 1}": "train.stop.patience: -1 is out of range",
		"train.stop={metric: dlsbd, reach: 1}":               "metrics.every: train.stop watches a metric",
		"losses=[]":                                          "losses: the list is empty",
		"losses=[nope]":                                      `unknown loss "nope"`,
		"metrics=[dlsbd, dlsbd]":                             "metrics.1: dlsbd is in the list twice",
		"dataset=none":                                       `unknown dataset "none"`,
		"train.epoch=1":                                      `train.epoch: unknown key "epoch"; did you mean "epochs"?`,
		"seed=-1":                                            "seed: want an integer from 0",
		"train.figures=yes":                                  "train.figures: want true or false",
	} {
		_, err := Load("tiny.yaml", []byte(tiny), override)
		var one *config.Error
		if !errors.As(err, &one) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v\nwant %s", override, err, want)
		}
	}
	_, err := Load("tiny.yaml", []byte(tiny), "metrics.every=1", "train.stop={metric: mig, reach: 1}")
	must.Error(t, err, `train.stop.metric: "mig" is not among the metrics that are measured during training: dlsbd`)
	for source, want := range map[string]string{
		"":                                "dataset: no data set is chosen",
		"dataset: square":                 "model: no model is chosen",
		"dataset: square\nmodel: vae":     "losses: the list is empty",
		"dataset: square\nmodel: [vae]\n": "file.yaml:2:8: model",
	} {
		if _, err := Load("file.yaml", []byte(source)); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "file.yaml:") {
			t.Errorf("%q: %v\nwant %s", source, err, want)
		}
	}
}

// A run's folder stores the whole experiment. Resuming it, or reading it in another process, trains the same model.
func TestStoredConfigs(t *testing.T) {
	sources := map[string][]byte{}
	for _, name := range configs.Names() {
		sources[name] = must.Get(configs.Read(name))(t)
	}
	for _, part := range []string{
		"supervision: [{labels: {fraction: 0.5}}, {pairs: {count: 10}}]", "supervision: none", "supervision: {pairs: {count: 10}}",
		"supervision: {changes: {k: 2}}", "supervision: {changes: {k: random}}", "views: {pipeline: [flip, {crop: {scale: [0.5, 1]}}]}", "views: {pipeline: moco-v2}",
		"dataset: {folder: {path: x, size: [3, 4], kinds: [ordinal, 'circular:360']}}", "dataset: {folder: {path: x, size: 5, kinds: {a: ordinal}}}",
		"losses: [{kl: {weight: {from: 0, to: 4, steps: 10, shape: cosine}}}, {lsbd: {identity: false}}]", "losses: [{kl: {weight: 3}}, {lsbd: {identity: true}}]",
		"model: {ae: {encoder: {layers: {list: [{pool: {to: [2, 3]}}, {pool: {to: 1}}], init: pytorch}}, decoder: {layers: [{image: {channels: image, to: 4}}]}}}",
		"model: {joint-vae: {temperature: 0.5}}", "model: {joint-vae: {temperature: {from: 1, to: 0.5, steps: 10, shape: exponential}}}",
		"model: {lsbd-vae: {latent: [{categorical: {options: 3, temperature: 2}}, {sphere: {dim: 1, log_t: [-3, -2]}}]}}",
		"metrics: {during: fast, encode: true}", "metrics: {during: [fast, mig], encode: false}", "metrics: {during: [mig, dci], encode: 7}", "metrics: {during: [], final: [{dci: {train: 50}}]}",
		"metrics: {final: [{logic: {sentence: 'forall[mean] i: z(i) =[squared] y(i)'}}], on: [{dataset: sprites, metrics: [mig]}]}",
		"train: {device: gpu, precision: mixed, warmup: {steps: 3}, parts: [{match: [a/*, b/*], lr: 0.1}], optimizer: {sgd: {momentum: 0.5}}, schedule: {step: {every: {steps: 2}}}}",
		"train: {precision: float32, warmup: 1.5, parts: [{match: a/*, decay: 0}], schedule: {milestones: {at: [0.5]}}, stop: {loss: kl, reach: 0}, validation: {fraction: 0.5}}",
	} { // all forms of values
		source := part
		for key, value := range map[string]string{"dataset: ": "square", "model: ": "vae", "losses: ": "[reconstruction]"} {
			if !strings.HasPrefix(part, key) {
				source += "\n" + key + value
			}
		}
		sources[part] = []byte(source)
	}
	for name, source := range sources {
		c := must.Get(Load(name, source))(t)
		text := must.Get(c.Encode())(t)
		again, err := Load("stored", text)
		again.source, c.source = nil, nil // their places differ
		if err != nil || !reflect.DeepEqual(again, c) {
			t.Errorf("%s: %v\nstored %+v\nis %+v\n%s", name, err, again, c, text)
		}
	}
}

// Validate checks a program's config like a config from a file, including its parts.
func TestValidateParts(t *testing.T) {
	c := load(t)
	must.OK(t, c.Validate())
	for want, spoil := range map[string]func(c *Config){
		"dataset.square.side: ":                            func(c *Config) { c.Dataset.Value = &drawn.Square{Size: 16, Side: 40, Step: 1} },
		"dataset: no data set is chosen":                   func(c *Config) { c.Dataset.Value = nil },
		"model.lsbd-vae.latent: ":                          func(c *Config) { c.Model.Value = &models.LSBDVAE{Networks: c.Model.Value.(*models.LSBDVAE).Networks} },
		"losses.1.kl.weight: want a number from 0 to 1e12": func(c *Config) { c.Losses[1].Value = &losses.KLLoss{Weight: losses.Constant(-1)} },
		"losses.2: nothing is chosen; want a loss":         func(c *Config) { c.Losses[2] = losses.Choice{} },
		"losses.0: settings without a name":                func(c *Config) { c.Losses[0].Name = "" },
		"supervision.0: nothing is chosen":                 func(c *Config) { c.Supervision = make(supervision.Choices, 1) },
		"supervision.0.pairs.count: ":                      func(c *Config) { c.Supervision = supervision.Of("pairs", &supervision.Pairs{Count: -1}) },
		"train.optimizer: nothing is chosen":               func(c *Config) { c.Train.Optimizer.Value = nil },
		"train.optimizer.adam.lr: ":                        func(c *Config) { c.Train.Optimizer.Value = &engine.Adam{LR: -1} },
		"train.schedule: nothing is chosen":                func(c *Config) { c.Train.Schedule.Value = nil },
		"train.batch: 0 is out of range; want 1 or more":   func(c *Config) { c.Train.Batch = 0 },
		"train.stop.patience: neither reach nor patience":  func(c *Config) { c.Train.Stop = &EarlyStop{Metric: "dlsbd"} },
		"metrics.final.0.med.k: ": func(c *Config) {
			c.Metrics.Final[0].Name, c.Metrics.Final[0].Value = "med", &metrics.MED{Histogram: mutual.Histogram{Bins: 20}, TopK: -1}
		},
		"name: \"a/b\" is not a folder's name; want letters, digi": func(c *Config) { c.Name = "a/b" },
	} {
		c := load(t)
		spoil(&c)
		err := c.Validate()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "does not give it") {
			t.Errorf("error %v, want one that says %q", err, want)
			continue
		}
		var mistake *config.Error
		dir := filepath.Join(t.TempDir(), "run")
		if _, err := Run(t.Context(), c, Options{Dir: dir}); !errors.As(err, &mistake) || !strings.Contains(err.Error(), want) {
			t.Errorf("Run: error %v, want one that says %q", err, want)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: Run made a folder", want)
		}
	}
	if _, err := Run(t.Context(), Config{}, Options{Dir: t.TempDir()}); err == nil {
		t.Error("no error of an empty config")
	}
}

// borrowed has a model registered by another program.
const borrowed = `
dataset: {square: {size: 16, side: 4}}
model: {borrowed: {latent: 3}}
losses: [reconstruction, lent, lent]
`

// The error for a run names the part of its config that this program lacks.
func TestUnregistered(t *testing.T) {
	dir := t.TempDir()
	must.Write(t, filepath.Join(dir, rundir.Config), borrowed)
	want := `config.yaml:3:9: model: unknown model "borrowed"`
	why := `the run was trained by a program with the model "borrowed", the loss "lent", which this program has not registered; want that program, or another that registers it`
	_, _, opening := OpenExperiment(dir)
	_, serving := OpenEncoder(dir)
	_, resuming := Run(t.Context(), load(t), Options{Dir: dir, Resume: true})
	_, reading := ReadConfig(dir)
	for name, err := range map[string]error{"opening": opening, "serving": serving, "resuming": resuming, "reading": reading} {
		var located *config.Error
		if !errors.As(err, &located) || located.Line != 3 || located.Key != "model" || !strings.Contains(err.Error(), want) ||
			!strings.HasSuffix(err.Error(), why) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A missing config, context or model is an error.
func TestNothingGiven(t *testing.T) {
	_, made := NewExperiment(Config{})
	_, untold := Rehearse(t.Context(), Config{}, false)
	var none context.Context
	_, endless := Run(none, load(t), Options{Dir: filepath.Join(t.TempDir(), "run")})
	_, planless := Planned(none, load(t))
	_, hasty := Rehearse(none, load(t), false)
	_, blank := NewCoder(nil, models.Data{})
	e := must.Get(NewExperiment(load(t)))(t)
	_, unmeasured := e.Evaluate(none, matrix.Matrix{Rows: e.Data.Len(), Cols: 1, Data: make([]float64, e.Data.Len())}, nil)
	if n := e.Some(-1).Data.Len(); n != e.Data.Len() || len(SampledImages(3, 5, 0)) != 3 {
		t.Errorf("%d of %d images", n, e.Data.Len())
	}
	lost := InputOf(e.Data, matrix.Matrix{Rows: 1, Cols: 1, Data: []float64{1}}, []int{e.Data.Len()}).Validate()
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"checked": {Check(Config{}), "is not a folder's name"}, "made": {made, "is not a folder's name"}, "untold": {untold, "is not a folder's name"},
		"endless": {endless, "the context is nil"}, "planless": {planless, "the context is nil"}, "hasty": {hasty, "the context is nil"},
		"unmeasured": {unmeasured, "the context is nil"}, "lost": {lost, "there are 0 factor levels"}, "blank": {blank, "there is no model"},
	} {
		must.Error(t, c.err, c.want, name)
	}
}

// An error in a program's config names the key.
func TestMistakeOfAProgram(t *testing.T) {
	c := load(t)
	c.Train.Batch = 0
	_, ranged := Run(t.Context(), c, Options{Dir: filepath.Join(t.TempDir(), "run")})
	c = load(t, "model={vae: {latent: 2, encoder: {mlp: {hidden: [4]}}}}", "losses=[reconstruction, kl]")
	c.source = nil
	_, unfed := Run(t.Context(), c, Options{Dir: filepath.Join(t.TempDir(), "run")})
	for want, err := range map[string]error{"train.batch": ranged, "supervision": unfed} {
		var mistake *config.Error
		if !errors.As(err, &mistake) || mistake.Key != want || mistake.File != "" {
			t.Errorf("error %v, want one about %s", err, want)
		}
	}
}
