package train

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// Whole trainings of every model end with PyTorch's weights: layers, losses, pairs, groups, walks, views, noise, targets,
// queues, discriminators, running moments, clipping, rates, ramps, phases, categories and optimisers together.
// testdata/torch_training.py made the files of testdata/torch.
func TestPyTorch(t *testing.T) {
	for name, config := range map[string]string{
		"ae": `
model:
  ae:
    latent: 3
    encoder:
      layers:
        - conv: {channels: 4, stride: 2}
        - norm: {kind: group, groups: 2}
        - activation: gelu
        - residual: {channels: 6, stride: 2}
        - pool: average
        - dense: 8
        - norm: layer
        - activation: silu
    decoder:
      layers:
        - dense: 8
        - activation: elu
        - image: 8
        - activation: softplus
        - shuffle: 2
        - upsample: {kind: bilinear}
        - conv: {channels: 4, activation: tanh}
        - deconv: {channels: image, kernel: 4, stride: 2}
losses: [reconstruction: {likelihood: bernoulli}]
train: {epochs: 8, batch: 16, figures: false, clip: 5, optimizer: {adamw: {lr: 0.003}}, schedule: {cosine: {final: 0.1}}}
`,
		"byol": `
views: {pipeline: [normalise: {mean: [0.4], deviation: [0.5]}], second: [flip: {probability: 1}, normalise: {mean: [0.4], deviation: [0.5]}]}
model:
  byol:
    encoder: {layers: [conv: {channels: 4, stride: 2}, norm: batch, activation: relu, dense: 6]}
    hidden: 8
    projected: 4
    predictor: 8
    momentum: {base: 0.9, schedule: cosine}
losses: [cosine-regression]
train: {epochs: 8, batch: 16, figures: false, optimizer: {sgd: {lr: 0.05, nesterov: true, decay: 0.01}}}
`,
		"ada-gvae": `
init: {only: [encoder/*, latent/*]}
supervision: {changes: {file: testdata/torch/pairs.csv}}
model: {ada-gvae: {latent: 5, encoder: {mlp: {hidden: [8], activation: tanh}}}}
losses: [kl]
train: {epochs: 10, batch: 16, figures: false, optimizer: {rmsprop: {lr: 0.002, centred: true, momentum: 0.5}}}
`,
		"encoder": `
supervision: {labels: {fraction: 1, file: testdata/torch/labels.npy, kinds: [ordinal, ordinal]}}
model: {encoder: {latent: 2, encoder: {mlp: {hidden: [8], activation: tanh}}}}
losses: [variance, mpd, diameter, radius, mad, contraction: {weight: 10}, left-inverse: {weight: 10}, hsic: {weight: 10}]
train: {epochs: 10, batch: 16, figures: false, optimizer: {sgd: {lr: 0.002}}}
`,
		"cascade-vae": `
model: {cascade-vae: {latent: 3, categories: 3, phases: 5, closed: 2, low: 0.3, high: 4, balance: 2.5, encoder: {mlp: {hidden: [8], activation: tanh}}}}
losses: [reconstruction, kl]
train: {epochs: 10, batch: 16, figures: false, optimizer: {sgd: {lr: 0.002}}}
`,
		"lsbd-vae": `
dataset: {grid: {path: testdata/torch, kinds: [circular]}}
supervision: {groups: {images: testdata/torch/groups.npy, moves: testdata/torch/moves.npy, rotations: testdata/torch/rotations.npy}}
model:
  lsbd-vae:
    latent: [sphere: {omega: 2, log_t: [-60, -60]}, sphere: {dim: 2, log_t: [-60, -60]}, euclidean: {dim: 2}]
    encoder: {mlp: {hidden: [8], activation: tanh}}
losses: [reconstruction, kl, lsbd: {weight: 10}]
train: {epochs: 8, batch: 16, figures: false, optimizer: {sgd: {lr: 0.003}}}
`,
		"poses": `
supervision: {groups: {images: testdata/torch/groups.npy, rotations: testdata/torch/rotations.npy}}
model:
  lsbd-vae:
    latent: [sphere: {dim: 2, log_t: [-60, -60]}, sphere: {dim: 2, log_t: [-60, -60]}]
    orthogonal: true
    stop_gradient: true
    encoder: {mlp: {hidden: [8], activation: tanh}}
losses: [reconstruction, kl, lsbd: {weight: 10}]
train: {epochs: 8, batch: 16, figures: false, optimizer: {sgd: {lr: 0.002}}}
`,
		"moco-v2": `
views: {pipeline: [normalise: {mean: [0.4], deviation: [0.5]}], second: [flip: {probability: 1}, normalise: {mean: [0.4], deviation: [0.5]}]}
model: {moco-v2: {encoder: {layers: [conv: {channels: 4, stride: 2}, norm: batch, activation: relu, dense: 6]}, width: 4, queue: 48, momentum: {base: 0.9}}}
losses: [info-nce: {temperature: 0.2}]
train: {epochs: 8, batch: 16, figures: false, optimizer: {sgd: {lr: 0.05, decay: 0.001}}}
`,
		"barlow-twins": `
views: {pipeline: [normalise: {mean: [0.4], deviation: [0.5]}], second: [flip: {probability: 1}, normalise: {mean: [0.4], deviation: [0.5]}]}
model: {barlow-twins: {encoder: {layers: [conv: {channels: 4, stride: 2}, norm: batch, activation: relu, dense: 6]}, hidden: 8}}
losses: [cross-correlation: {lambda: 0.02}]
train: {epochs: 8, batch: 16, figures: false, optimizer: {sgd: {lr: 0.002}}}
`,
		"cofhae": `
supervision: {labels: {fraction: 1, file: testdata/torch/options.npy, kinds: [categorical, categorical]}}
model: {cofhae: {hierarchy: testdata/torch/hierarchy.json, tau: 0.7, encoder: {mlp: {hidden: [8], activation: tanh}}}}
losses: [reconstruction, assignment: {weight: 3}]
train: {epochs: 8, batch: 16, figures: false, optimizer: {sgd: {lr: 0.003}}}
`,
		"ml-vae": `
init: {only: [encoder/*, latent/*]}
supervision: {changes: {file: testdata/torch/pairs.csv}}
model: {ml-vae: {latent: 5, encoder: {mlp: {hidden: [8], activation: tanh}}}}
losses: [kl]
train: {epochs: 10, batch: 16, figures: false, optimizer: {adam: {lr: 0.002}}}
`,
		"slow-vae": `
init: {only: [encoder/*, latent/*]}
supervision: {changes: {file: testdata/torch/pairs.csv}}
model: {slow-vae: {latent: 5, encoder: {mlp: {hidden: [8], activation: tanh}}}}
losses: [kl, slow: {weight: 2}]
train: {epochs: 10, batch: 16, figures: false, optimizer: {adam: {lr: 0.002}}}
`,
		"joint-vae": `
model: {joint-vae: {latent: 4, categorical: [3, 2], temperature: {from: 1, to: 0.5, steps: 6, shape: exponential}, encoder: {mlp: {hidden: [8], activation: tanh}}}}
losses:
  - reconstruction
  - kl: {spaces: continuous, weight: 3, capacity: {from: 0, to: 5, steps: 6}}
  - kl: {spaces: categorical, weight: 2, capacity: {from: 0, to: 10, steps: 20}}
train: {epochs: 8, batch: 16, figures: false, optimizer: {sgd: {lr: 0.002}}}
`,
		"delta-vae": `
model:
  delta-vae:
    latent: [sphere: {log_t: [-4, -1], steps: 3}, sphere: {dim: 2, log_t: [-4, -1], steps: 3}, euclidean: {dim: 2}]
    encoder: {mlp: {hidden: [8], activation: tanh}}
losses: [reconstruction, kl]
train: {epochs: 8, batch: 16, figures: false, optimizer: {sgd: {lr: 0.002}}}
`,
		"quessard": `
dataset: {grid: {path: testdata/torch/plane, names: [turn, height], kinds: [circular, ordinal]}}
supervision: {walks: {episodes: 4, actions: 3, factors: [turn, height], step: 3, ends: reflect}}
model: {quessard: {dim: 4, encoder: {mlp: {hidden: [8], activation: tanh}}}}
losses: [reconstruction, entanglement: {weight: 2}]
train: {epochs: 8, batch: 16, figures: false, optimizer: {sgd: {lr: 0.002}}}
`,
		"forward-vae": `
dataset: {grid: {path: testdata/torch/plane, names: [turn, height], kinds: [circular, ordinal]}}
supervision: {walks: {episodes: 4, actions: 3, factors: [turn, height], step: 3, ends: reflect}}
model: {forward-vae: {encoder: {mlp: {hidden: [8], activation: tanh}}}}
losses: [reconstruction, kl: {weight: {from: 1, to: 0, decay: 0.9}}, prediction: {weight: 4}]
train: {epochs: 8, batch: 16, figures: false, optimizer: {sgd: {lr: 0.002}}}
`,
		"vae": `
model: {vae: {latent: 4, encoder: {mlp: {hidden: [8], activation: tanh}}}}
losses:
  - reconstruction: {likelihood: bernoulli}
  - kl: {weight: 0.5}
  - tc: {weight: 2}
  - tc: {weight: 3, estimator: weighted}
  - tc: {weight: 4, estimator: stratified}
  - dip-i: {off_diagonal: 3, diagonal: 7}
  - dip-ii: {off_diagonal: 3, diagonal: 7}
  - weight-decay: {weight: 0.6}
train: {epochs: 8, batch: 16, figures: false, optimizer: {sgd: {lr: 0.002}}}
`,
		"gvae": `
init: {only: [encoder/*, latent/*]}
supervision: {changes: {file: testdata/torch/pairs.csv}}
model: {gvae: {latent: 5, k: 2, encoder: {mlp: {hidden: [8], activation: tanh}}}}
losses: [kl]
train: {epochs: 10, batch: 16, figures: false, optimizer: {adam: {lr: 0.002}}}
`,
		"ada-ml-vae": `
init: {only: [encoder/*, latent/*]}
supervision: {changes: {file: testdata/torch/pairs.csv}}
model: {ada-ml-vae: {latent: 5, encoder: {mlp: {hidden: [8], activation: tanh}}}}
losses: [kl]
train: {epochs: 10, batch: 16, figures: false, optimizer: {sgd: {lr: 0.002}}}
`,
		"factor-vae": `
model: {vae: {latent: 4, encoder: {mlp: {hidden: [8], activation: tanh}}}}
losses:
  - reconstruction
  - kl
  - tc: {weight: 5, estimator: adversarial, discriminator: {hidden: [8, 6], lr: 0.01, second_batch: true}}
train: {epochs: 8, batch: 16, figures: false, optimizer: {sgd: {lr: 0.002}}}
`,
		"sticks": `
dataset: {chopsticks: {samples: 16, variant: slope, depth: 2}}
supervision: {labels: {fraction: 1}}
model: {cofhae: {tau: 0.7, encoder: {mlp: {hidden: [8], activation: tanh}}}}
losses:
  - reconstruction
  - assignment: {weight: 3}
  - regression: {weight: 2}
  - conditional-tc: {discriminator: {hidden: [8], lr: 0.01}}
train: {epochs: 8, batch: 16, figures: false, optimizer: {sgd: {lr: 0.002}}}
`,
		"simsiam": `
views: {pipeline: [normalise: {mean: [0.4], deviation: [0.5]}], second: [flip: {probability: 1}, normalise: {mean: [0.4], deviation: [0.5]}]}
model:
  simsiam:
    encoder: {layers: [conv: {channels: 4, stride: 2}, norm: batch, activation: relu, dense: 6]}
    hidden: 8
    projected: 4
    predictor: 8
losses: [cosine-regression]
train: {epochs: 8, batch: 16, figures: false, optimizer: {sgd: {lr: 0.05}}}
`,
		"moco": `
views: {pipeline: [normalise: {mean: [0.4], deviation: [0.5]}], second: [flip: {probability: 1}, normalise: {mean: [0.4], deviation: [0.5]}]}
model: {moco: {encoder: {layers: [conv: {channels: 4, stride: 2}, norm: batch, activation: relu, dense: 6]}, width: 4, queue: 48, momentum: {base: 0.9}}}
losses: [info-nce: {temperature: 0.2}]
train: {epochs: 8, batch: 16, figures: false, optimizer: {sgd: {lr: 0.05, decay: 0.001}}}
`,
		"ice-beem": `
dataset: {grid: {path: testdata/torch/plane, names: [turn, height], kinds: [circular, ordinal]}}
supervision: {labels: {fraction: 1}}
model: {ice-beem: {width: 3, conditions: [turn, height], encoder: {mlp: {hidden: [8], activation: softplus}}}}
losses: [score-matching: {sigma: 0.3}]
train: {epochs: 8, batch: 16, figures: false, optimizer: {sgd: {lr: 0.05}}}
`,
	} {
		t.Run(name, func(t *testing.T) {
			read := func(when string) Config {
				text := "name: torch\nmetrics: []\n" + config
				if !strings.Contains(config, "dataset:") {
					text += "dataset: {grid: {path: testdata/torch}}\n"
				}
				return must.Get(Load(name, []byte(text), "init.file=testdata/torch/"+name+"-"+when+".safetensors"))(t)
			}
			start, end := must.Get(NewExperiment(read("start")))(t).Model.Params(), must.Get(NewExperiment(read("end")))(t).Model.Params()
			dir := filepath.Join(t.TempDir(), "run")
			trainIn(t, dir, read("start"), false)
			trained, _, err := OpenExperiment(dir)
			must.OK(t, err)
			for _, key := range start.Names() {
				if key == "queue/keys" { // in the shuffled order of the batch
					continue
				}
				moved, wrong := 0.0, 0.0
				got, want := trained.Model.Params().Get(key).Float32s(), end.Get(key).Float32s()
				for i, from := range start.Get(key).Float32s() {
					moved, wrong = max(moved, math.Abs(float64(want[i]-from))), max(wrong, math.Abs(float64(got[i]-want[i])))
				}
				if !(wrong <= 1e-3*moved+1e-7) {
					t.Errorf("%s: moved by %.3g, and differs by %.3g", key, moved, wrong)
				}
			}
		})
	}
}
