// Command ownparts is unravel with parts of its own, one file each: a loss, an encoder, a layer of networks, a latent space,
// a model, a metric, a data set, a supervision, an augmentation, an optimiser, a schedule and a source of a table. It has every command of unravel:
//
//	ownparts list losses
//	ownparts train denoising.yaml
//	ownparts sweep sweep.yaml
package main

import (
	"errors"
	"log"

	"github.com/unravel-ml/unravel/cli"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/augment"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/models/latent"
	"github.com/unravel-ml/unravel/results/tables"
	"github.com/unravel-ml/unravel/train/engine"
)

func main() {
	if err := register(); err != nil {
		log.Fatal(err)
	}
	cli.Main()
}

// register adds the parts to the registries that configs choose from.
func register() error {
	return errors.Join(
		losses.Register(registry.Entry[losses.Loss]{Name: "sparsity", Doc: "sum of the absolute values of a code",
			Source: "Olshausen and Field 1996", Units: "units of the codes",
			New: func() losses.Loss { return &SparsityLoss{Weight: losses.Constant(1)} }}),
		nn.RegisterEncoder(registry.Entry[nn.Encoder]{Name: "residual",
			Doc:    "a convolution of stride 2, a residual block and a dense layer",
			Source: "He et al. 2016", New: func() nn.Encoder { return &residual{Channels: 16, Features: 64} }}),
		nn.RegisterLayer(registry.Entry[nn.Layer]{Name: "mixed", Doc: "sum of convolutions with filters of side 3 and 5",
			New: func() nn.Layer { return &mixed{Channels: 16} }}),
		latent.Register(registry.Entry[latent.Space]{Name: "laplace", Doc: "R^dim with a Laplace posterior and prior",
			New: func() latent.Space { return &laplace{Dim: 2} }}),
		models.Register(registry.Entry[models.Settings]{Name: "denoising",
			Doc:    "autoencoder of noisy images; with the loss reconstruction",
			Source: "Vincent et al. 2008", New: func() models.Settings { return newDenoising() }}),
		metrics.Register(registry.Entry[metrics.Metric]{Name: "active-units", Doc: "number of code columns that vary",
			Source: "Burda et al. 2016, section 5.2",
			Units:  "columns", New: func() metrics.Metric { return &activeUnits{Threshold: 0.01} }}),
		datasets.Register(registry.Entry[datasets.Builder]{Name: "hand", Doc: "the hand of a clock; factors angle and length",
			New: func() datasets.Builder { return &hand{Size: 16, Angles: 24, Lengths: 4} }}),
		supervision.Register(registry.Entry[supervision.Kind]{Name: "neighbours",
			Doc: "pairs of images one level of a circular factor apart",
			New: func() supervision.Kind { return &neighbours{Count: 10} }}),
		augment.Register(registry.Entry[augment.Op]{Name: "invert", Doc: "black becomes white and white black",
			New: func() augment.Op { return &invert{augment.Chance{Probability: 0.5}} }}),
		engine.RegisterOptimizer(registry.Entry[engine.OptimizerSettings]{Name: "momentum",
			Doc:    "gradient descent with momentum",
			Source: "Polyak 1964", New: func() engine.OptimizerSettings { return &momentum{LR: 1e-3, Decay: 0.9} }}),
		engine.RegisterSchedule(registry.Entry[engine.Schedule]{Name: "halving",
			Doc: "the learning rate halves every so many epochs", New: func() engine.Schedule { return &halving{Epochs: 10} }}),
		tables.RegisterSource(registry.Entry[tables.Source]{Name: "noisy", Doc: "two factors with noise",
			New: func() tables.Source { return &noisy{Sigma: 0.1} }}),
	)
}
