package engine

import "github.com/unravel-ml/unravel/internal/kernel"

// Adam are the settings of the optimiser of that name; see Optimizers. The default epsilon equals Keras's, which the
// reference results used.
type Adam struct {
	LR      float64 `yaml:"lr" doc:"learning rate"`
	Beta1   float64 `yaml:"beta1" doc:"decay of the mean of gradients"`
	Beta2   float64 `yaml:"beta2" doc:"decay of the mean of squared gradients"`
	Epsilon float64 `yaml:"epsilon" doc:"added to the root of the mean of squares"`
	Decay   float64 `yaml:"decay" doc:"decoupled weight decay: each step multiplies parameters by 1 - lr decay"`
	Exclude Exclude `yaml:"exclude" doc:"parameters without decay: none, or biases-and-norms (those of one axis)"`
}

// NewAdam returns the defaults: a learning rate of 0.001, moments that decay by 0.9 and 0.999, an epsilon of 1e-7.
func NewAdam() *Adam {
	return &Adam{LR: 1e-3, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-7, Exclude: ExcludeNone}
}

// Validate checks the settings' ranges.
func (a *Adam) Validate() error {
	if err := checkSettings(above("lr", a.LR), below1("beta1", a.Beta1), below1("beta2", a.Beta2), above("epsilon", a.Epsilon), from("decay", a.Decay)); err != nil {
		return err
	}
	return a.Exclude.check()
}

// New makes the optimiser with moments of zero.
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

// Update implements Optimizer.
func (o *adam) Update(gradients [][]float32, rate, clip float64) {
	o.steps++
	a := &o.settings
	o.kernel.Update(gradients, o.steps, kernel.AdamConstants{
		LearningRate: a.LR * rate, Beta1: a.Beta1, Beta2: a.Beta2, Epsilon: a.Epsilon, Clip: clip}, a.Decay)
}

// AdamW are the settings of the optimiser of that name: Adam's settings with other defaults.
type AdamW struct {
	Adam `yaml:",inline"`
}

// NewAdamW returns PyTorch's defaults: a learning rate of 0.001, moments that decay by 0.9 and 0.999, an epsilon of 1e-8, a
// weight decay of 0.01.
func NewAdamW() *AdamW {
	a := &AdamW{Adam: *NewAdam()}
	a.Epsilon, a.Decay = 1e-8, 0.01
	return a
}
