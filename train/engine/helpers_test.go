package engine

import (
	"testing"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/augment"
	"github.com/unravel-ml/unravel/datasets/catalog"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/models"
)

// taskConfig is a task and its settings in YAML.
type taskConfig struct {
	Seed        uint64              `yaml:"seed"`
	Dataset     catalog.Choice      `yaml:"dataset"`
	Supervision supervision.Choices `yaml:"supervision"`
	Views       *augment.Views      `yaml:"views"`
	Model       models.Choice       `yaml:"model"`
	Losses      []losses.Choice     `yaml:"losses"`
	Freeze      []string            `yaml:"freeze"`
	Train       struct {
		Epochs     int             `yaml:"epochs"`
		Batch      int             `yaml:"batch"`
		Optimizer  OptimizerChoice `yaml:"optimizer"`
		Parts      []Part          `yaml:"parts"`
		Schedule   ScheduleChoice  `yaml:"schedule"`
		Warmup     Span            `yaml:"warmup"`
		Average    *Average        `yaml:"average"`
		Accumulate int             `yaml:"accumulate"`
		Clip       float64         `yaml:"clip"`
	} `yaml:"train"`
}

// tiny has 8 steps of a few milliseconds per epoch, 2 of them labelled.
const tiny = `
seed: 1
dataset: {square: {size: 16, side: 4}}
supervision: {pairs: {count: 32}}
model:
  lsbd-vae:
    encoder: {mlp: {hidden: [16]}}
    latent:
      - sphere: {dim: 1, log_t: [-10, -9]}
      - sphere: {dim: 1, log_t: [-10, -9]}
losses: [reconstruction, kl, lsbd]
train: {epochs: 3, batch: 32}
`

const tinySteps = 8

// judged has a discriminator and a capacity.
const judged = `
seed: 3
dataset: {square: {size: 16, side: 4}}
model: {vae: {encoder: {mlp: {hidden: [16]}}, latent: 4}}
losses:
  - reconstruction
  - kl: {weight: 10, capacity: {to: 8, steps: 10}}
  - tc: {weight: 5, estimator: adversarial, discriminator: {hidden: [32, 32]}}
train: {epochs: 3, batch: 100}
`

// secondBatch and secondMasks are overrides of judged with a discriminator that permutes a second batch. secondMasks
// has active columns for known levels of a factor.
var (
	secondBatch = []string{"losses.2.tc.discriminator.second_batch=true"}
	secondMasks = []string{"supervision={labels: {fraction: 0.5}}",
		"losses.2={conditional-tc: {weight: 5, active: [{columns: [1, 3], factor: row, levels: [0, 1, 2, 3, 4, 5]}], discriminator: {hidden: [32, 32], renew: true, second_batch: true}}}"}
)

// sticks has a hierarchy with labels and a discriminator.
const sticks = `
dataset: {chopsticks: {variant: inter, depth: 2, samples: 400}}
supervision: {labels: {fraction: 1}}
model: {cofhae: {encoder: {mlp: {hidden: [16], activation: softplus}}}}
losses:
  - reconstruction
  - assignment: {weight: 10}
  - conditional-tc: {discriminator: {hidden: [8]}}
train: {epochs: 2, batch: 100, schedule: milestones}
`

// regularised is an encoder without a decoder.
const regularised = `
seed: 1
dataset: {square: {size: 16, side: 4}}
supervision: {labels: {fraction: 1}}
model: {encoder: {encoder: {mlp: {hidden: [16]}}, latent: 2}}
losses: [{variance: {weight: 10}}, contraction]
train: {epochs: 2, batch: 64}
`

// viewed has views of its images.
const viewed = `
dataset: {square: {size: 16, side: 5, step: 2}}
views: {pipeline: [flip, crop]}
model: {ae: {latent: 3, encoder: {mlp: {hidden: [8]}}}}
losses: [reconstruction]
train: {epochs: 2, batch: 20}
`

// queued has a queue of keys.
const queued = `
seed: 4
dataset: {square: {size: 16, side: 4}}
views: {pipeline: [flip, crop], count: 2}
model: {moco: {encoder: {conv64-norm: {features: 12, norm: none}}, width: 8, queue: 250}}
losses: [info-nce]
train: {epochs: 3, batch: 100, optimizer: {adam: {lr: 0.0003}}}
`

// taskOf reads a task with its settings.
func taskOf(t testing.TB, source string, overrides ...string) (Task, Settings) {
	t.Helper()
	var c taskConfig
	c.Supervision = supervision.Of("none", &supervision.None{})
	adam := must.Get(Optimizers.Named("adam"))(t)
	constant := must.Get(Schedules.Named("constant"))(t)
	c.Train.Optimizer, c.Train.Schedule = OptimizerChoice(adam), ScheduleChoice(constant)
	must.OK(t, config.Load("task.yaml", []byte(source), &c, overrides...))
	d := must.Get(c.Dataset.Build(c.Seed))(t)
	split := must.Get(c.Supervision.Split(d, c.Seed))(t)
	data := models.DataOf(d)
	data.Rotations, data.Actions = split.Rotations, split.Actions
	m := must.Get(c.Model.Value.New(data, c.Seed))(t)
	return Task{Model: m, Data: d, Split: split, Views: c.Views, Losses: c.Losses, Freeze: c.Freeze, Seed: c.Seed},
		Settings{Epochs: c.Train.Epochs, Batch: c.Train.Batch,
			Optimizer: c.Train.Optimizer.Value, Parts: c.Train.Parts, Schedule: c.Train.Schedule.Value, Warmup: c.Train.Warmup,
			Clip: c.Train.Clip, Accumulate: c.Train.Accumulate, Average: c.Train.Average}
}

// loopOf prepares the training of a task.
func loopOf(t testing.TB, source string, overrides ...string) *Loop {
	t.Helper()
	task, settings := taskOf(t, source, overrides...)
	l := must.Get(New(task, settings))(t)
	t.Cleanup(l.Close)
	return l
}

// named returns the objective with a name.
func named(l *Loop, name string) *objective {
	for _, o := range l.objectives {
		if o.Name == name {
			return o
		}
	}
	return nil
}

// stops lists the steps before the last one at which a loop of n steps stops: all of them, or a sample by default.
func stops(n int) []int {
	var list []int
	for step := 1; step < n; step++ {
		list = append(list, step)
	}
	return long.Sample(list, 5)
}
