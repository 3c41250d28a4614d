package losses

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/losses/internal/density"
)

// DensityRatio returns the mean over rows of log p/(1-p). A discriminator gives p, the probability that a row of codes
// is drawn from q(z) and not from the product of its marginals. For the optimal discriminator this is the total
// correlation KL(q(z) || prod_j q(z_j)).
//
// The logits are [rows, 1], which is log p/(1-p) itself, or [rows, 2] with the softmax (p, 1-p). The result is an
// unbounded scalar, in nats, differentiable everywhere.
//
// Source: Kim and Mnih 2018, equation 3; Ross and Doshi-Velez 2021, section 5.2.
func DensityRatio(logits *gorgonia.Node) (*gorgonia.Node, error) { return density.DensityRatio(logits) }

// Discrimination returns the binary cross-entropy of a discriminator. The first half of its logits belongs to codes and
// costs half the mean of -log p. The second half belongs to permuted codes (see [Permute]) and costs half the mean of
// -log(1-p). The logits are as in [DensityRatio]. The result is a scalar, in nats, at least 0; it is log 2 if the
// discriminator cannot distinguish codes from permuted codes. It is differentiable everywhere.
//
// Source: Kim and Mnih 2018, algorithm 2.
func Discrimination(logits *gorgonia.Node) (*gorgonia.Node, error) {
	return density.Discrimination(logits)
}

// Permute permutes each column of the codes [n, columns] independently and writes the result to dst: a sample of the
// product of the marginals. If active, [n, columns], is not nil, Permute only permutes the active entries of a column
// (above 0) and leaves the others in place. shuffle is a method like Shuffle of math/rand's Rand: it calls swap to
// permute n elements at random.
//
// Source: Kim and Mnih 2018, algorithm 1; with active rows Ross and Doshi-Velez 2021, algorithm 2.
func Permute(dst, codes, active []float32, columns int, shuffle func(n int, swap func(i, j int))) {
	copy(dst, codes)
	entries := make([]int, 0, len(codes)/columns)
	for c := range columns {
		entries = entries[:0]
		for entry := c; entry < len(codes); entry += columns {
			if active == nil || active[entry] > 0 {
				entries = append(entries, entry)
			}
		}
		shuffle(len(entries), func(i, j int) { dst[entries[i]], dst[entries[j]] = dst[entries[j]], dst[entries[i]] })
	}
}

// PermuteBlocks is [Permute] for consecutive blocks of columns with the given widths, which stay together.
func PermuteBlocks(dst, codes []float32, widths []int, shuffle func(n int, swap func(i, j int))) {
	copy(dst, codes)
	columns, start := 0, 0
	for _, w := range widths {
		columns += w
	}
	for _, w := range widths {
		shuffle(len(codes)/columns, func(i, j int) {
			for c := start; c < start+w; c++ {
				dst[i*columns+c], dst[j*columns+c] = dst[j*columns+c], dst[i*columns+c]
			}
		})
		start += w
	}
}

// Discriminator holds the settings of a discriminator between codes and permuted codes, and of its training.
//
// The sources permute different codes. FactorVAE's paper (Kim and Mnih 2018, algorithm 2) draws a second batch of the
// same size after the model's step. SecondBatch does the same: it encodes this batch with the updated parameters and
// permutes its codes. The code of Locatello et al. 2019 (disentanglement_lib) permutes the codes of the step itself,
// which saves a pass through the encoder. Codes and permuted codes then have equal values in each column. COFHAE (Ross
// and Doshi-Velez 2021) also permutes the codes of the step, but recomputes them with the updated parameters: Renew.
//
// If an update accumulates the gradients of several batches, its last batch alone is encoded with updated parameters.
type Discriminator struct {
	Hidden []int   `yaml:"hidden" doc:"widths of the hidden layers, with leaky ReLU of slope 0.2"`
	Logits int     `yaml:"logits" doc:"1: the log density ratio; 2: logits of a softmax"`
	LR     float64 `yaml:"lr" doc:"learning rate of Adam"`
	Beta1  float64 `yaml:"beta1" doc:"decay of the mean of gradients"`
	Beta2  float64 `yaml:"beta2" doc:"decay of the mean of squared gradients"`
	Renew  bool    `yaml:"renew" doc:"recompute the training codes with the updated parameters"`

	SecondBatch bool `yaml:"second_batch" doc:"permute the codes of a second, independent batch (Kim and Mnih 2018, algorithm 2), not of the step's batch (disentanglement_lib)"`
}

// NewDiscriminator returns the settings of FactorVAE (Kim and Mnih 2018): six layers of 1000 units and a softmax.
func NewDiscriminator() *Discriminator {
	return &Discriminator{Hidden: slices.Repeat([]int{1000}, 6), Logits: 2, LR: 1e-4, Beta1: 0.5, Beta2: 0.9}
}

func (d *Discriminator) Validate() error {
	for i, w := range d.Hidden {
		if w < 1 || w > 1<<16 {
			return config.Invalid(fmt.Sprintf("hidden.%d", i), "want 1 to 65536, got %d", w)
		}
	}
	switch {
	case len(d.Hidden) == 0:
		return config.Invalid("hidden", "want at least one width, such as [1000, 1000, 1000]")
	case d.Logits != 1 && d.Logits != 2:
		return config.Invalid("logits", "want 1 or 2, got %d", d.Logits)
	}
	return (&NetworkTraining{d.LR, d.Beta1, d.Beta2}).Validate()
}

// Build adds the network for codes [rows, columns] to a graph and returns its
// logits. The parameters' names begin with name.
func (d *Discriminator) Build(g *nn.Graph, codes *gorgonia.Node, name string) (*gorgonia.Node, error) {
	h, err := hidden(g, codes, name, d.Hidden, graph.LeakyReLU)
	if err != nil {
		return nil, err
	}
	return nn.Dense(g, h, name+"/logits", d.Logits, graph.Linear)
}

// densityRatio adds the density ratio of a model's samples, estimated by a discriminator.
func (d *Discriminator) densityRatio(in *Input, active *gorgonia.Node) (*gorgonia.Node, error) {
	if in.Sample == nil {
		return nil, missing("samples of the codes")
	}
	logits, err := in.Discriminator(d, in.Sample, active)
	if err != nil {
		return nil, err
	}
	return DensityRatio(logits)
}
