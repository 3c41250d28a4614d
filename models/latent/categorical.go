package latent

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/losses"
)

// Discrete is implemented by spaces that may be a choice among options. Their coordinates are weights of the options.
// In a code, the space has one column: the number of the likeliest option. In a list, such spaces come first.
type Discrete interface {
	Choices() int // number of options; 0: the space is not discrete
}

// Annealed is implemented by spaces with samples that depend on a changing number, such as a temperature. The number
// may change with the updates of training.
type Annealed interface {
	// Annealing returns the number as a function of the updates so far, or nil if the number is constant. Sample then
	// uses the constant.
	Annealing() func(update int) float64

	// SampleAt is Sample with the number as a node of shape (1).
	SampleAt(location, scale, noise, number *gorgonia.Node) (*gorgonia.Node, error)
}

// Categorical is a choice among Options options with the probabilities alpha and a uniform prior. alpha is a softmax
// of linear maps of the features. Samples are relaxed choices, [RelaxedChoice]; at low temperatures they are near the
// corners of the simplex. KL is the divergence of the choice itself, losses.KLCategorical. The location is alpha, the
// scale log alpha, [batch, Options] each.
//
// Only the identity acts: a labelled group shares the mean of its samples.
//
// Source: Jang et al. 2017; Maddison et al. 2017; Dupont 2018 (JointVAE).
type Categorical struct {
	Options     int         `yaml:"options" doc:"number of options to choose from"`
	Temperature Temperature `yaml:"temperature" doc:"temperature of the relaxed choice: a number above 0, or a ramp over the updates of training, such as {from: 1, to: 0.5, steps: 20000, shape: exponential}"`
	identityOnly
}

// NewCategorical returns the default settings: ten options at the temperature 0.67.
func NewCategorical() *Categorical {
	return &Categorical{Options: 10, Temperature: NewTemperature(JointTemperature)}
}

// maxOptions limits the options of a space. A hierarchy has at most twice as many dimensions and options.
const maxOptions = 2048

// ValidOptions checks a number of options.
func ValidOptions(n int) error {
	if n < 2 || n > maxOptions {
		return fmt.Errorf("%d options; want 2 to %d", n, maxOptions)
	}
	return nil
}

// Validate checks the settings.
func (c *Categorical) Validate() error {
	if err := ValidOptions(c.Options); err != nil {
		return config.Invalid("options", "%w", err)
	}
	if err := c.Temperature.Validate(); err != nil {
		return config.Invalid("temperature", "%w", err)
	}
	return nil
}

// Choices implements [Discrete].
func (c *Categorical) Choices() int { return c.Options }

// Width implements [Space].
func (c *Categorical) Width() int { return c.Options }

// Heads implements [Space].
func (c *Categorical) Heads(g *nn.Graph, features *gorgonia.Node, name string) (location, scale *gorgonia.Node, err error) {
	logits, err := nn.Dense(g, features, name+"/loc", c.Options, graph.Linear)
	if err != nil {
		return nil, nil, err
	}
	if location, err = graph.SoftmaxRows(logits); err != nil {
		return nil, nil, err
	}
	scale, err = graph.LogSoftmaxRows(logits)
	return location, scale, err
}

// NoiseShape implements [Space].
func (c *Categorical) NoiseShape(batch int) []int { return []int{batch, c.Options} }

// Sample implements [Space], at the final temperature of a schedule.
func (c *Categorical) Sample(_, scale, noise *gorgonia.Node) (*gorgonia.Node, error) {
	u, err := Uniform(noise)
	if err != nil {
		return nil, err
	}
	return relaxed(c.Temperature.To, scale, u)
}

// Annealing implements [Annealed].
func (c *Categorical) Annealing() func(update int) float64 {
	if c.Temperature.Constant() {
		return nil
	}
	return c.Temperature.At
}

// SampleAt implements [Annealed].
func (c *Categorical) SampleAt(_, scale, noise, temperature *gorgonia.Node) (*gorgonia.Node, error) {
	u, err := Uniform(noise)
	if err != nil {
		return nil, err
	}
	return RelaxedChoice(scale, u, temperature)
}

// KL implements [Space].
func (c *Categorical) KL(location, scale *gorgonia.Node) (*gorgonia.Node, error) {
	return losses.KLCategorical(location, scale)
}

// Prior implements [Space]: a corner of the simplex.
func (c *Categorical) Prior(r *rng.Stream, dst []float32) {
	clear(dst)
	dst[r.IntN(c.Options)] = 1
}

// Distance implements [Embedded]: the distance of weights from the simplex.
func (c *Categorical) Distance(point []float64) float64 {
	sum, below := -1.0, 0.0
	for _, w := range point {
		sum += w
		below = max(below, -w)
	}
	return max(sum, -sum, below)
}
