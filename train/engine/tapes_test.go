package engine

import (
	"context"
	"flag"
	"testing"

	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/tapetest"
	"github.com/unravel-ml/unravel/internal/long"
)

const (
	plainVAE = `
seed: 3
dataset: {square: {size: 16, side: 4}}
model: {vae: {encoder: {conv64: {features: 12}}, latent: 4}}
losses: [{reconstruction: {likelihood: bernoulli}}, {kl: {weight: 2}}]
train: {epochs: 1, batch: 64, clip: 100}
`
	byol = `
seed: 4
dataset: {square: {size: 16, side: 4}}
views: {pipeline: [flip, crop], count: 2}
model: {byol: {encoder: {conv64-norm: {features: 12, norm: batch}}, hidden: 8, projected: 4, predictor: 8}}
losses: [cosine-regression]
train: {epochs: 1, batch: 16}
`
	averaged = `
seed: 5
dataset: {square: {size: 16, side: 4}}
model: {ae: {latent: 3, encoder: {mlp: {hidden: [16], activation: gelu}}}}
losses: [reconstruction]
train: {epochs: 1, batch: 64, average: {decay: 0.9}, optimizer: {adamw: {exclude: biases-and-norms}}, parts: [{match: ["encoder/*"], lr: 0.01}]}
`
	descended = `
seed: 6
dataset: {square: {size: 16, side: 4}}
model: {ae: {latent: 3, encoder: {mlp: {hidden: [16], activation: tanh}}}}
losses: [reconstruction]
train: {epochs: 1, batch: 64, accumulate: 2, optimizer: {sgd: {lr: 0.0001, momentum: 0.9}}}
`
)

// optimised is an autoencoder for several optimisers.
const optimised = `
seed: 6
dataset: {square: {size: 16, side: 4}}
model: {ae: {latent: 3, encoder: {mlp: {hidden: [16], activation: tanh}}}}
losses: [reconstruction]
train: {epochs: 1, batch: 64}
`

// opening is a CascadeVAE that opens a dimension or its categories at every update, which restarts its optimiser.
const opening = `
seed: 7
dataset: {square: {size: 16, side: 4}}
model: {cascade-vae: {latent: 3, categories: 3, closed: 2, phase_steps: 1, balance: 0.1, encoder: {mlp: {hidden: [16]}}}}
losses: [reconstruction, kl]
train: {epochs: 1, batch: 64}
`

// learned has a network trained along with a sentence.
const learned = `
seed: 8
dataset: {square: {size: 16, side: 4}}
supervision: {labels: {fraction: 1}}
model: {ae: {latent: 3, encoder: {mlp: {hidden: [16], activation: tanh}}}}
losses: [reconstruction, {logic: {sentence: "exists h: z -> y in mlp {layers: [8]}: forall[mean] i: h(z(i)) =[squared] y(i)"}}]
train: {epochs: 1, batch: 64}
`

// modelled is a task for several models.
const modelled = `
seed: 9
dataset: {square: {size: 16, side: 4}}
model: ae
losses: [reconstruction, kl]
train: {epochs: 1, batch: 32}
`

const (
	pairsOfImages = "supervision={changes: {k: 1, count: 128}}"
	walks         = "supervision={walks: {episodes: 24, actions: 3}}"
)

// deviceTasks are tasks, each with overrides.
var deviceTasks = map[string][]string{"lsbd-vae": {tiny}, "vae": {plainVAE, "train.batch=16"}, "factorvae": {judged},
	"cofhae": {sticks}, "byol": {byol, "train.optimizer={sgd: {lr: 0.01}}"},
	"moco": {queued, "train.batch=20"}, "average": {averaged}, "accumulate": {descended}, "cascade-vae": {opening}, "network": {learned},
	"delta-vae":              {modelled, "model={delta-vae: {encoder: {mlp: {hidden: [16]}}, latent: [sphere, {euclidean: {dim: 2}}]}}"},
	"quessard":               {modelled, "model={quessard: {dim: 4, encoder: {mlp: {hidden: [16]}}}}", walks, "losses=[reconstruction, entanglement]"},
	"forward-vae":            {modelled, "model={forward-vae: {encoder: {mlp: {hidden: [16]}}}}", walks, "losses=[reconstruction, kl, prediction]"},
	"gvae":                   {modelled, "model={gvae: {latent: 4, k: 1, encoder: {mlp: {hidden: [16]}}}}", pairsOfImages},
	"ml-vae":                 {modelled, "model={ml-vae: {latent: 4, k: 1, encoder: {mlp: {hidden: [16]}}}}", pairsOfImages},
	"ada-gvae":               {modelled, "model={ada-gvae: {latent: 4, encoder: {mlp: {hidden: [16]}}}}", pairsOfImages},
	"ada-ml-vae":             {modelled, "model={ada-ml-vae: {latent: 4, encoder: {mlp: {hidden: [16]}}}}", pairsOfImages},
	"slow-vae":               {modelled, "model={slow-vae: {latent: 4, encoder: {mlp: {hidden: [16]}}}}", pairsOfImages, "losses=[reconstruction, kl, slow]"},
	"joint-vae":              {modelled, "model={joint-vae: {latent: 4, categorical: [3], encoder: {mlp: {hidden: [16]}}}}"},
	"encoder":                {modelled, "model={encoder: {latent: 4, encoder: {mlp: {hidden: [16]}}}}", "losses=[{dip-i: {weight: 0.001}}]", "train.optimizer={sgd: {lr: 0.01}}"},
	"ice-beem":               {modelled, "model={ice-beem: {width: 4, conditions: [row], encoder: {mlp: {hidden: [16], activation: softplus}}}}", "supervision={labels: {fraction: 1}}", "losses=[{score-matching: {dequantise: false}}]"},
	"simsiam":                {byol, "model={simsiam: {hidden: 8, projected: 4, predictor: 8, encoder: {mlp: {hidden: [16]}}}}", "train.optimizer={sgd: {lr: 0.01}}"},
	"barlow-twins":           {byol, "model={barlow-twins: {hidden: 8, encoder: {mlp: {hidden: [16]}}}}", "losses=[cross-correlation]", "train.optimizer={sgd: {lr: 0.0001}}"},
	"moco-v2":                {byol, "model={moco-v2: {width: 4, queue: 40, encoder: {mlp: {hidden: [16]}}}}", "losses=[info-nce]"},
	"second batch":           append([]string{judged}, secondMasks...),
	"accumulating factorvae": {judged, "train.accumulate=2"},
	"accumulating byol":      {byol, "train.accumulate=2", "train.average={decay: 0.5}", "model.byol.momentum.schedule=cosine", "train.optimizer={sgd: {lr: 0.01}}"},
	"accumulating moco":      {queued, "train.accumulate=3", "train.batch=20", "model.moco.queue=50"},
	"accumulating network":   {learned, "train.accumulate=2"},
	"layers": {modelled, `model={ae: {latent: 4, encoder: {layers: [{conv: 4}, {pool: max}, {residual: 6}, {pool: {size: 3, stride: 2}}, {pool: {to: 1}}]},
		decoder: {layers: [{image: {channels: 4, to: 3}}, {upsample: {kind: bilinear}}, {conv: 8}, {shuffle: 2}, {crop: 8}, {dropout: 0.2}, {upsample: 2}, {conv: {channels: image}}]}}}`, "losses=[reconstruction]"},
	"weights":                 {modelled, "model={vae: {latent: 4, encoder: {mlp: {hidden: [16]}}}}", "losses=[{reconstruction: {weight: {from: 0, to: 1, steps: 10}}}, {kl: {weight: 2}}]"},
	"sgd":                     {optimised, "train.optimizer={sgd: {lr: 0.0001, momentum: 0, decay: 0.1}}"},
	"momentum":                {optimised, "train.optimizer={sgd: {lr: 0.0001, momentum: 0.9, dampening: 0.1, decay: 0.1, exclude: biases-and-norms}}"},
	"nesterov":                {optimised, "train.optimizer={sgd: {lr: 0.0001, momentum: 0.9, nesterov: true}}", "train.clip=10"},
	"lars":                    {optimised, "train.optimizer={lars: {lr: 10, decay: 0.001}}"},
	"lamb":                    {optimised, "train.optimizer={lamb: {lr: 0.01}}"},
	"lamb by parts":           {optimised, "train.optimizer={lamb: {lr: 0.01}}", "train.parts=[{match: [encoder/*], lr: 0.001, decay: 0}]"},
	"rmsprop":                 {optimised, "train.optimizer={rmsprop: {lr: 0.001}}"},
	"rmsprop with everything": {optimised, "train.optimizer={rmsprop: {lr: 0.001, centred: true, momentum: 0.9, decay: 0.1, epsilon: 0.001}}", "train.accumulate=2"}}

var update = flag.Bool("update", false, "write testdata/tapes.txt")

// The commands for a GPU stay the same. TestDevice compares the results of these tasks on a GPU with the CPU.
func TestTapes(t *testing.T) {
	long.NotShort(t)
	tapes := map[string][]string{}
	for name, of := range deviceTasks {
		task, settings := taskOf(t, of[0], of[1:]...)
		r := vulkan.NewRecorder(0)
		l, err := newOn(task, settings, func() (*machine.Device, error) { return machine.NewDevice(r.Device), nil })
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		l.AddHook(Hook{NoParams: true, OnStep: func(_ context.Context, l *Loop, s *StepReport) error {
			if s.Step == 2 {
				l.Stop("enough")
			}
			return nil
		}})
		if err := l.Run(t.Context()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		l.Close()
		tapes[name] = r.Tapes()
	}
	tapetest.Check(t, "testdata/tapes.txt", *update, tapes)
}
