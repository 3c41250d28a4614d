package engine

import (
	"cmp"

	"github.com/unravel-ml/unravel/internal/kernel"
)

// Adam holds the settings of the optimiser adam; see Optimizers. The default epsilon is the default of Keras, which the
// reference results used.
type Adam struct {
	LR      float64 `yaml:"lr" doc:"learning rate"`
	Beta1   float64 `yaml:"beta1" doc:"decay of the mean of gradients"`
	Beta2   float64 `yaml:"beta2" doc:"decay of the mean of squared gradients"`
	Epsilon float64 `yaml:"epsilon" doc:"added to the root of the mean of squares"`
	Decay   float64 `yaml:"decay" doc:"decoupled weight decay: each step multiplies parameters by 1 - lr decay"`
	Exclude Exclude `yaml:"exclude" doc:"parameters without decay: none, or biases-and-norms (all parameters with one axis)"`
}

// NewAdam returns the defaults: a learning rate of 0.001, moments that decay by 0.9 and 0.999, an epsilon of 1e-7.
func NewAdam() *Adam {
	return &Adam{LR: 1e-3, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-7, Exclude: excludeNone}
}

// Validate checks the settings' ranges.
func (a *Adam) Validate() error {
	return cmp.Or(checkSettings(positiveNumber("lr", a.LR), below1("beta1", a.Beta1), below1("beta2", a.Beta2),
		positiveNumber("epsilon", a.Epsilon), nonNegative("decay", a.Decay)), a.Exclude.check())
}

// New creates the optimiser, with moments of zero.
func (a *Adam) New(parameters []Parameter) Optimizer {
	o := &adam{settings: *a, updater: newUpdater(parameters, a.Exclude, nil)}
	o.kernel = kernel.NewAdam(o.values, o.slots("mean"), o.slots("square"))
	o.kernel.Undecayed = o.excluded
	return o
}

type adam struct {
	updater
	settings Adam
	kernel   *kernel.Adam
}

func (o *adam) Update(gradients [][]float32, rate, clip float64) {
	o.steps++
	a := &o.settings
	o.kernel.Update(gradients, o.steps, kernel.AdamConstants{
		LearningRate: a.LR * rate, Beta1: a.Beta1, Beta2: a.Beta2, Epsilon: a.Epsilon, Clip: clip}, a.Decay)
}

// AdamW holds the settings of the optimiser adamw: Adam's settings with other defaults.
type AdamW struct {
	Adam `yaml:",inline"`
}

// NewAdamW returns PyTorch's defaults: a learning rate of 0.001, moments that decay by 0.9 and 0.999, an epsilon of
// 1e-8, a weight decay of 0.01.
func NewAdamW() *AdamW {
	a := &AdamW{Adam: *NewAdam()}
	a.Epsilon, a.Decay = 1e-8, 0.01
	return a
}

// LAMB holds the settings of the optimiser of You et al. 2020, algorithm 2. Step t updates a tensor w with gradient g
// to
//
//	m = Beta1 m + (1-Beta1) g
//	v = Beta2 v + (1-Beta2) g^2
//	u = m/(1-Beta1^t) / (sqrt(v/(1-Beta2^t)) + Epsilon) + Decay w
//	w = w - LR |w|/|u| u                      where |w|/|u| is 0 or overflows: w - LR u
//
// with Euclidean norms. Excluded tensors have neither weight decay nor scaling.
type LAMB struct {
	LR      float64 `yaml:"lr" doc:"learning rate: norm of a step over the norm of the weights"`
	Beta1   float64 `yaml:"beta1" doc:"decay of the mean of gradients"`
	Beta2   float64 `yaml:"beta2" doc:"decay of the mean of squared gradients"`
	Epsilon float64 `yaml:"epsilon" doc:"added to the root of the mean of squares"`
	Decay   float64 `yaml:"decay" doc:"weight decay: adds decay times the parameter to the step before scaling"`
	Exclude Exclude `yaml:"exclude" doc:"parameters without decay and scaling: none, or biases-and-norms (all parameters with one axis)"`
}

// NewLAMB returns the paper's settings: a learning rate of 0.001, moments that decay by 0.9 and 0.999, an epsilon of
// 1e-6, and a weight decay of 0.01, without biases and norms.
func NewLAMB() *LAMB {
	return &LAMB{LR: 1e-3, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-6, Decay: 0.01, Exclude: excludeBiasesAndNorms}
}

// Validate checks the settings' ranges.
func (l *LAMB) Validate() error {
	return cmp.Or(checkSettings(positiveNumber("lr", l.LR), below1("beta1", l.Beta1), below1("beta2", l.Beta2),
		positiveNumber("epsilon", l.Epsilon), nonNegative("decay", l.Decay)), l.Exclude.check())
}

// New creates the optimiser, with moments of zero.
func (l *LAMB) New(parameters []Parameter) Optimizer {
	o := &lamb{settings: *l}
	o.updater = newUpdater(parameters, l.Exclude, o.setDirections)
	o.mean, o.square = o.slots("mean"), o.slots("square")
	o.trust = newTrust(&o.updater)
	o.moves = inChunks(o.move)
	return o
}

type lamb struct {
	updater
	settings     LAMB
	mean, square [][]float32
	trust        *trust
	moves        func(worker, tensor, start, end int)
	direction    kernel.Direction
	rate         float32
}

func (o *lamb) Update(gradients [][]float32, rate, clip float64) {
	o.steps++
	l := &o.settings
	o.rate = float32(l.LR * rate)
	o.direction = kernel.NewDirection(kernel.AdamConstants{Beta1: l.Beta1, Beta2: l.Beta2, Epsilon: l.Epsilon, Clip: clip},
		o.steps)
	o.update(gradients, clip)
	o.trust.measure(1)
	o.pieces.Each(o.moves)
}

// setDirections computes the update before scaling.
func (o *lamb) setDirections(_, i, start, end int) {
	u := o.trust.update[i][start:end]
	o.direction.Step(u, o.mean[i][start:end], o.square[i][start:end], o.gradients[i][start:end])
	if decay := o.decay(i, o.settings.Decay); decay != 0 {
		kernel.AddScaled(u, decay, o.values[i][start:end])
	}
}

func (o *lamb) move(_, i, start, end int) {
	kernel.AddScaled(o.values[i][start:end], -o.rate*o.trust.ratio[i], o.trust.update[i][start:end])
}
