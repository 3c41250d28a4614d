// Package train runs experiments: it reads their config, trains and measures the model, and stores everything in the
// run's folder.
//
// [Load] reads a config, and [Run] trains and measures it. [Planned] estimates its time and memory first. [OpenEncoder]
// opens a finished run to encode and decode, and [OpenExperiment] opens its data set, model and codes. [NewExperiment]
// builds all of these without training. [NewCoder] encodes with a model that the program trained by itself.
package train

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/augment"
	"github.com/unravel-ml/unravel/datasets/catalog"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/losses/logic"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/internal/differ"
	"github.com/unravel-ml/unravel/train/internal/hints"
	"github.com/unravel-ml/unravel/train/internal/overrides"
	"github.com/unravel-ml/unravel/train/rundir"
)

// Config is an experiment: the complete schema of its YAML.
type Config struct {
	Name        string              `yaml:"name" doc:"name of the experiment and its folder under runs/"`
	Seed        uint64              `yaml:"seed" doc:"seed of all random numbers"`
	Dataset     catalog.Choice      `yaml:"dataset" doc:"the images"`
	Supervision supervision.Choices `yaml:"supervision" doc:"known facts about the images: one kind of supervision, or a list"`
	Views       *augment.Views      `yaml:"views" doc:"augmented views of the images, for models that compare views; if absent, models see the original images"`
	Model       models.Choice       `yaml:"model" doc:"the model"`
	Losses      []losses.Choice     `yaml:"losses" doc:"the terms of the loss"`
	Init        *Init               `yaml:"init" doc:"start from the parameters of a run or a file; if absent, from random values drawn with the seed"`
	Freeze      []string            `yaml:"freeze" doc:"patterns of parameters that do not train, such as encoder/*; * stands for any characters"`
	Train       Settings            `yaml:"train" doc:"training settings"`
	Metrics     Measures            `yaml:"metrics" doc:"metrics to measure at the end and during training"`

	source *config.Node // the source YAML, for messages; nil if a program created the config
}

// Settings say how to train.
type Settings struct {
	Epochs     int                    `yaml:"epochs" doc:"passes over the data, labelled images first; 0: measure the initial model without training"`
	EpochSteps int                    `yaml:"epoch_steps" doc:"number of steps before an epoch ends early, for large data sets; 0: a full pass"`
	HoldOut    float64                `yaml:"hold_out" doc:"fraction of images held out of training at random; metrics are measured on them"`
	Validation *Validation            `yaml:"validation,omitempty" doc:"images held out to measure losses after epochs; the losses are logged as validation and can stop training"`
	Batch      int                    `yaml:"batch" doc:"images in a batch; a labelled batch holds as many whole groups as fit, at least one"`
	Optimizer  engine.OptimizerChoice `yaml:"optimizer" doc:"optimiser; each objective has separate moments"`
	Parts      []engine.Part          `yaml:"parts" doc:"optimiser options for parameters by name, such as {match: predictor/*, lr: 0.01, decay: 0}; the last match with an option sets it"`
	Schedule   engine.ScheduleChoice  `yaml:"schedule" doc:"the learning-rate schedule"`
	Warmup     engine.Span            `yaml:"warmup" doc:"length of the rise of the learning rate from 0 to the schedule's rate: epochs, or {steps: N} for updates"`
	Device     engine.Device          `yaml:"device" doc:"where programs run: cpu, gpu (gpu:0), gpu:N, or auto (the first GPU that is no software driver, otherwise the CPU); GPUs need a build with -tags gpu; if absent, cpu"`
	Precision  engine.Precision       `yaml:"precision" doc:"float32, or mixed: on processors with AVX512_BF16, rounds inputs of matrix products and most convolutions to bfloat16; if absent, float32"`
	Clip       float64                `yaml:"clip" doc:"largest Euclidean norm of the gradient over all parameters; 0: no limit"`
	Accumulate int                    `yaml:"accumulate" doc:"batches per update by their mean gradient over images; all belong to one objective; the last update of an epoch may use fewer"`
	Threads    int                    `yaml:"threads" doc:"threads to use; 0: all processors; results do not depend on it"`
	Checkpoint float64                `yaml:"checkpoint" doc:"seconds between checkpoints; 0: only at the end and when stopped"`
	Keep       Keep                   `yaml:"keep" doc:"which checkpoints to keep"`
	Average    *engine.Average        `yaml:"average" doc:"exponential moving average of the weights, stored and measured in addition to the weights"`
	Stop       *EarlyStop             `yaml:"stop" doc:"when to stop before the last epoch"`
	Figures    bool                   `yaml:"figures" doc:"draw figures and the report at the end"`
}

// EarlyStop ends training when a metric or a loss is good enough, or stops improving.
type EarlyStop struct {
	Metric   string   `yaml:"metric" doc:"metric to watch: a metric measured during training, or a sentence to measure then: forall[mean] i: z(i) =[squared] y(i)"`
	Loss     string   `yaml:"loss" doc:"instead of metric: training loss to watch, averaged over an epoch: loss (total) or a part such as reconstruction; OBJECTIVE/LOSS with several objectives"`
	Reach    *float64 `yaml:"reach" doc:"stop when the metric or loss reaches this value"`
	Patience int      `yaml:"patience" doc:"stop after this many evaluations (for a loss: epochs) without improvement; 0: never"`
	MinDelta float64  `yaml:"min_delta" doc:"smallest change that counts as an improvement"`
	From     int      `yaml:"from" doc:"number of first epochs that do not count"`
}

// Keep says which checkpoints a run keeps.
type Keep struct {
	Best string `yaml:"best" doc:"metric measured during training; its best evaluation is kept in best.safetensors; empty: none"`
	Last int    `yaml:"last" doc:"number of newest checkpoints to keep: checkpoint.safetensors, the previous one (.prev), the one before (.prev2) and so on"`
}

const maxKept = 1000

// Validate checks the settings' ranges.
func (k *Keep) Validate() error {
	if k.Last < 1 || k.Last > maxKept {
		return config.Invalid("last", "%d is out of range; want 1 to %d", k.Last, maxKept)
	}
	return nil
}

// Validation sets the images for validation losses, which do not train the model.
type Validation struct {
	Fraction float64         `yaml:"fraction" doc:"fraction of images held out of training at random, in addition to hold_out"`
	Dataset  *catalog.Choice `yaml:"dataset" doc:"instead of fraction: another data set with images of the same shape"`
	Every    int             `yaml:"every" doc:"epochs between measurements"`
}

// SetDefaults implements config.Defaulter.
func (v *Validation) SetDefaults() { v.Every = 1 }

// Validate checks the settings.
func (v *Validation) Validate() error {
	switch {
	case v.Dataset == nil && !(v.Fraction > 0 && v.Fraction < 1):
		return config.Invalid("fraction", "%v is out of range; want more than 0 and less than 1, or dataset", v.Fraction)
	case v.Dataset != nil && v.Fraction != 0:
		return config.Invalid("dataset", "both fraction and dataset are given; want only one of them")
	case v.Every < 1:
		return config.Invalid("every", "%d is out of range; want 1 or more", v.Every)
	}
	return nil
}

// Defaults returns the settings of an empty config.
func Defaults() Config {
	var c Config
	c.Name = "run"
	c.Supervision = supervision.Of("none", &supervision.None{})
	adam, _ := engine.Optimizers.Lookup("adam")
	constant, _ := engine.Schedules.Lookup("constant")
	c.Metrics = defaultMeasures()
	c.Train = Settings{
		Epochs: 20, Batch: 64, Accumulate: 1, Checkpoint: 30, Keep: Keep{Last: 2}, Figures: true,
		Optimizer: engine.OptimizerChoice{Name: adam.Name, Value: adam.New()},
		Schedule:  engine.ScheduleChoice{Name: constant.Name, Value: constant.New()},
	}
	return c
}

// Load reads a config from YAML source, with overrides key.path=value. Errors give file, line and column; file is the
// name of the source in them. The config may build on another one ([configs.Parse]). An override may name the public
// data set that the config's data set imitates, such as dataset=dsprites for sprites. The data set then comes from
// [catalog.RealOf].
func Load(file string, source []byte, overrides ...string) (Config, error) {
	return loadFrom(func() (*config.Node, error) { return configs.Parse(file, source, Defaults()) }, overrides)
}

// LoadWhole is Load for a config that builds on no other, such as the config of a run. It reads no other file.
func LoadWhole(file string, source []byte, overrides ...string) (Config, error) {
	return loadFrom(func() (*config.Node, error) { return config.Parse(file, source) }, overrides)
}

func loadFrom(parse func() (*config.Node, error), list []string) (Config, error) {
	c := Defaults()
	n, err := parse()
	if err != nil {
		return c, err
	}
	if err := n.Override(overrides.Complete(n, parse, measureKeys, list)...); err != nil {
		return c, err
	}
	c.source = n
	if err := stopByText(n); err != nil {
		return c, err
	}
	if err := n.Decode(&c); err != nil {
		return c, err
	}
	return c, c.inheritAll(n)
}

// Encode returns the config as YAML with all defaults. Load accepts this YAML.
func (c Config) Encode() ([]byte, error) { return config.Encode(c) }

// Validate checks the parts, as decoding a file does, and then the agreement between parts.
func (c *Config) Validate() error {
	if err := rundir.CheckName(c.Name); err != nil {
		return config.Invalid("name", "%w", err)
	}
	switch {
	case c.Dataset.Value == nil:
		return config.Invalid("dataset", "no data set is chosen; want, for example, {square: {size: 64, side: 16}}")
	case c.Model.Value == nil:
		return config.Invalid("model", "no model is chosen; want, for example, {vae: {latent: 10}}")
	case len(c.Losses) == 0:
		return config.Invalid("losses", "the list is empty; want at least one loss")
	case c.Train.Optimizer.Value == nil:
		return config.Invalid("train.optimizer", "nothing is chosen; want, for example, adam")
	case c.Train.Schedule.Value == nil:
		return config.Invalid("train.schedule", "nothing is chosen; want, for example, constant")
	}
	for i, s := range c.Supervision {
		if s.Value == nil {
			return config.Invalid(fmt.Sprintf("supervision.%d", i), "nothing is chosen; want, for example, pairs")
		}
	}
	for i, l := range c.Losses {
		if l.Value == nil {
			return config.Invalid(fmt.Sprintf("losses.%d", i), "nothing is chosen; want a loss, for example kl")
		}
	}
	if err := config.ValidateParts(c); err != nil {
		return err
	}
	if err := validPatterns("freeze", c.Freeze); err != nil {
		return err
	}
	return c.Metrics.validate(&c.Train)
}

// Limits that no training and no machine reaches.
const maxEpochs, maxThreads = 1e9, 1024

// Validate checks the settings' ranges.
func (s *Settings) Validate() error {
	for _, f := range []struct {
		key                string
		value, least, most int
	}{
		{"epochs", s.Epochs, 0, maxEpochs}, {"batch", s.Batch, 1, math.MaxInt}, {"threads", s.Threads, 0, maxThreads},
		{"epoch_steps", s.EpochSteps, 0, math.MaxInt}, {"accumulate", s.Accumulate, 1, maxEpochs},
	} {
		if f.value < f.least {
			return config.Invalid(f.key, "%d is out of range; want %d or more", f.value, f.least)
		}
		if f.value > f.most {
			return config.Invalid(f.key, "%d is out of range; want at most %d", f.value, f.most)
		}
	}
	for _, f := range []struct {
		key   string
		value float64
	}{{"clip", s.Clip}, {"checkpoint", s.Checkpoint}, {"hold_out", s.HoldOut}} {
		if !(f.value >= 0) || !finite(f.value) {
			return config.Invalid(f.key, "%v is out of range; want a number from 0 on", f.value)
		}
	}
	if s.HoldOut >= 1 {
		return config.Invalid("hold_out", "%v is out of range; want 0 (none), and less than 1", s.HoldOut)
	}
	return nil
}

// Validate checks the settings.
func (s *EarlyStop) Validate() error {
	_, err := s.sentence()
	switch {
	case s.Reach == nil && s.Patience == 0:
		return config.Invalid("patience", "neither reach nor patience is given; want at least one")
	case s.Patience < 0:
		return config.Invalid("patience", "%d is out of range; want 0 or more", s.Patience)
	case s.Metric == "" && s.Loss == "":
		return config.Invalid("metric", "want the name of a metric, or the key loss")
	case s.Metric != "" && s.Loss != "":
		return config.Invalid("loss", "want metric or loss, got both")
	case err != nil:
		return config.Invalid("metric", "%w", err)
	case !(s.MinDelta >= 0) || !finite(s.MinDelta):
		return config.Invalid("min_delta", "%v is out of range; want a number from 0 on", s.MinDelta)
	case s.From < 0:
		return config.Invalid("from", "%d is out of range; want 0 or more", s.From)
	}
	return nil
}

const resultLetters = "abcdefghijklmnopqrstuvwxyz0123456789-" // characters in names of results

// sentence returns the sentence to watch; nil if a metric's name is watched instead.
func (s *EarlyStop) sentence() (*logic.Sentence, error) {
	if s == nil || strings.Trim(s.Metric, resultLetters) == "" {
		return nil, nil
	}
	parsed, err := logic.Parse(s.Metric)
	return &parsed, err
}

// withSentence adds the metric of the watched sentence unless the list has it. It returns its index, or -1.
func (s *EarlyStop) withSentence(list []metrics.Choice) ([]metrics.Choice, int) {
	sentence, err := s.sentence()
	if sentence == nil || err != nil { // Validate reports the error
		return list, -1
	}
	index := slices.IndexFunc(list, func(c metrics.Choice) bool {
		l, ok := c.Value.(*metrics.Logic)
		return ok && l.Sentence != nil && l.Sentence.String() == sentence.String()
	})
	if index >= 0 {
		return list, index
	}
	l := metrics.NewLogic()
	l.Sentence = sentence
	return append(slices.Clone(list), metrics.Choice{Name: "logic", Value: l}), len(list)
}

// bySentence reports whether a sentence is watched: by its text, or by the name of its metric in a list.
func (s *EarlyStop) bySentence(list []metrics.Choice) bool {
	if s == nil || s.Loss != "" {
		return false
	}
	index := slices.Index(metrics.ResultNames(list), s.result(list))
	if index < 0 {
		return false
	}
	_, ok := list[index].Value.(*metrics.Logic)
	return ok
}

// stopByText returns an error for a metric with settings, because a name or a sentence is wanted.
func stopByText(n *config.Node) error {
	for _, key := range []string{"train", "stop", "metric"} {
		if n = n.Get(key); n == nil {
			return nil
		}
	}
	if !n.IsMap() {
		return nil
	}
	return n.Errorf("want the name of a metric, or a sentence in quotes, got a mapping; a sentence with settings stands in metrics.during, such as {logic: {name: modular, sentence: ...}}, and train.stop names it: metric: modular")
}

// result returns the name of the watched result among the results of the metrics during training.
func (s *EarlyStop) result(choices []metrics.Choice) string {
	if list, index := s.withSentence(choices); index >= 0 {
		return metrics.ResultNames(list)[index]
	}
	return s.Metric
}

func (s *Settings) engine() engine.Settings {
	return engine.Settings{Epochs: s.Epochs, EpochSteps: s.EpochSteps, Batch: s.Batch, Optimizer: s.Optimizer.Value,
		Parts:    s.Parts,
		Schedule: s.Schedule.Value, Warmup: s.Warmup, Precision: s.Precision, Device: s.Device, Clip: s.Clip,
		Accumulate: s.Accumulate, Average: s.Average}
}

// sameTraining returns an error if two configs describe different training, apart from its length.
func (c Config) sameTraining(other Config) error {
	c, other = c.byContent(), other.byContent()
	for _, x := range []*Config{&c, &other} {
		x.Name, x.Train.Epochs, x.Train.Threads, x.Train.Checkpoint, x.Train.Figures = "", 1, 0, 0, false
		x.Train.Stop, x.Train.Keep, x.Metrics, x.Train.Device = nil, Keep{}, Measures{}, ""
	}
	a, err := c.Encode()
	if err != nil {
		return err
	}
	b, err := other.Encode()
	if err != nil || bytes.Equal(a, b) {
		return err
	}
	list, err := differ.Configs(a, b)
	if p, q := c.Train.Precision, other.Train.Precision; p != q { // a config does not write the default
		list = slices.DeleteFunc(list, func(d differ.Difference) bool { return d.Key == "train.precision" })
		list = append(list, differ.Difference{Key: "train.precision", Began: p.String(), Goes: q.String()})
	}
	if err != nil || len(list) == 0 {
		return fmt.Errorf("a run is resumed with the config it was started with: only the length of training may differ")
	}
	var keys []string
	for _, d := range list {
		keys = append(keys, d.String())
	}
	const remedy = "want the values it began with, or a new run in another folder, from this model by init={run: DIR}"
	return fmt.Errorf("a run is resumed with the config it was started with: %s; %s", strings.Join(keys, "; "), remedy)
}

// Hash identifies the computation of a run. Configs have the same hash if they differ only in name, threads,
// checkpoints (except for the best one) or figures. For a start with recorded content, the hash uses the content
// instead of the location (see [Config.Resolve]).
func (c Config) Hash() (string, error) {
	text, err := c.Identity()
	if err != nil {
		return "", err
	}
	return rundir.FileHash(text), nil
}

// Identity returns the text that [Config.Hash] hashes: the config without settings that do not affect results.
func (c Config) Identity() ([]byte, error) {
	c = c.byContent()
	c.Name, c.Train.Threads, c.Train.Checkpoint, c.Train.Keep.Last, c.Train.Figures = "", 0, 0, 0, false
	if m, ok := c.Model.Value.(models.Effective); ok {
		c.Model.Value = m.Effective()
	}
	return c.Encode()
}

// WithoutSource returns the config without its source, which gives errors their lines but takes much memory.
func (c Config) WithoutSource() Config {
	c.source = nil
	return c
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// Hint explains some keys of other programs that a config does not have, or returns "".
func (c *Config) Hint(key string) string {
	if strings.Contains(key, ".") {
		return fmt.Sprintf("a path of keys stands under set, in a config with a base: set: {%s: ...}", key)
	}
	if strings.ToLower(key) == "beta" {
		for i, l := range c.Losses {
			if l.Name == "kl" {
				return fmt.Sprintf("the beta of a beta-VAE is the weight of the loss kl: losses.%d.kl.weight=4", i)
			}
		}
		return "the beta of a beta-VAE is the weight of the loss kl: losses=[reconstruction, {kl: {weight: 4}}]"
	}
	return c.Train.Hint(key)
}

// Hint is the config's Hint, with keys of the optimiser.
func (s *Settings) Hint(key string) string {
	if key = strings.ToLower(key); key == "lr" || key == "learning_rate" {
		return fmt.Sprintf("the learning rate is the optimiser's: train.optimizer.%s.lr", s.Optimizer.Name)
	}
	return hints.Key(key)
}

// HintValue explains a list where the config wants a single value: lists define a sweep.
func (c *Config) HintValue(n *config.Node, want string) string { return hints.Value(n, want) }
