package engine

import (
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/kernel"
)

// SGD are the settings of gradient descent (Polyak 1964; Sutskever et al. 2013, section 2), in PyTorch's form. Step number t takes
// gradients g of parameters w to
//
//	g = g + Decay w
//	v = Momentum v + (1 - Dampening) g      in the first step: v = g
//	w = w - LR v                            with Nesterov: w - LR (g + Momentum v)
//
// Thus a change of the learning rate acts at once. Sutskever et al. have the rate inside v; the two agree while it is
// constant.
type SGD struct {
	LR        float64 `yaml:"lr" doc:"learning rate"`
	Momentum  float64 `yaml:"momentum" doc:"decay of the velocity; 0: none"`
	Dampening float64 `yaml:"dampening" doc:"fraction of the gradient that does not enter the velocity"`
	Nesterov  bool    `yaml:"nesterov" doc:"look ahead along the velocity"`
	Decay     float64 `yaml:"decay" doc:"weight decay, the gradient of an L2 penalty: decay times the parameter is added to its gradient"`
	Exclude   Exclude `yaml:"exclude" doc:"parameters without decay: none, or biases-and-norms (those of one axis)"`
}

// NewSGD returns the defaults: a learning rate of 0.01 and a momentum of 0.9, without decay.
func NewSGD() *SGD { return &SGD{LR: 0.01, Momentum: 0.9, Exclude: ExcludeNone} }

// Validate checks the settings' ranges.
func (s *SGD) Validate() error {
	if err := checkSettings(above("lr", s.LR), below1("momentum", s.Momentum), below1("dampening", s.Dampening), from("decay", s.Decay)); err != nil {
		return err
	}
	if s.Nesterov && (s.Momentum == 0 || s.Dampening != 0) {
		return config.Invalid("nesterov", "it needs a velocity of whole gradients; want a momentum above 0 and a dampening of 0")
	}
	return s.Exclude.check()
}

// New makes the optimiser with velocities of zero.
func (s *SGD) New(parameters []Parameter) Optimizer {
	o := &sgd{settings: *s}
	o.updater = newUpdater(parameters, s.Exclude, o.step)
	if s.Momentum > 0 {
		o.velocity = o.slots("velocity")
	}
	return o
}

type sgd struct {
	updater
	settings SGD
	velocity [][]float32 // nil: without momentum
	rate     float32
	fresh    float32 // factor of the gradient in the velocity
}

// Update implements Optimizer.
func (o *sgd) Update(gradients [][]float32, rate, clip float64) {
	o.steps++
	o.rate, o.fresh = float32(o.settings.LR*rate), float32(1-o.settings.Dampening)
	if o.steps == 1 {
		o.fresh = 1
	}
	o.update(gradients, clip)
}

func (o *sgd) step(_, i, from, to int) {
	w, g, decay := o.values[i][from:to], o.gradients[i][from:to], o.decay(i, o.settings.Decay)
	if o.velocity == nil {
		descend(w, g, o.rate, o.clip, decay)
		return
	}
	v, momentum := o.velocity[i][from:to], float32(o.settings.Momentum)
	kernel.Scale(v, momentum, v)
	kernel.AddScaled(v, o.fresh*o.clip, g)
	if decay != 0 {
		kernel.AddScaled(v, o.fresh*decay, w)
	}
	if !o.settings.Nesterov {
		kernel.AddScaled(w, -o.rate, v)
		return
	}
	descend(w, g, o.rate, o.clip, decay)
	kernel.AddScaled(w, -o.rate*momentum, v)
}

// descend subtracts rate times clip g + decay w from w.
func descend(w, g []float32, rate, clip, decay float32) {
	if decay != 0 {
		kernel.Scale(w, 1-rate*decay, w)
	}
	kernel.AddScaled(w, -rate*clip, g)
}
