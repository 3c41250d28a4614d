package engine

import (
	"math"

	"github.com/unravel-ml/unravel/internal/kernel"
)

// LARS are the settings of layer-wise adaptive rate scaling (You et al. 2017, algorithm 1), in the form of the code of BYOL
// (Grill et al. 2020, section 3.3). A step takes gradients g of a tensor w to
//
//	g = g + Decay w
//	v = Momentum v + Trust |w|/|g| g          where |w| or |g| is 0: Momentum v + g
//	w = w - LR v
//
// with Euclidean norms. Excluded tensors have neither decay nor scaling. Unlike in the paper the learning rate is
// outside the velocity, and |g| is the norm of the sum instead of |g| + Decay |w|, as in the code of SimCLR (Chen et
// al. 2020).
type LARS struct {
	LR       float64 `yaml:"lr" doc:"learning rate; BYOL has 0.2 times the images of a batch over 256"`
	Momentum float64 `yaml:"momentum" doc:"decay of the velocity; 0: none"`
	Trust    float64 `yaml:"trust" doc:"norm of a step over the norm of the weights, at a learning rate of 1 and without momentum"`
	Decay    float64 `yaml:"decay" doc:"weight decay: decay times the parameter is added to its gradient"`
	Exclude  Exclude `yaml:"exclude" doc:"parameters without decay and scaling: none, or biases-and-norms (those of one axis)"`
}

// NewLARS returns BYOL's settings for batches of 256 images. They are a learning rate of 0.2, a momentum of 0.9, a
// trust of 0.001 and a weight decay of 1.5e-6, without biases and norms.
func NewLARS() *LARS {
	return &LARS{LR: 0.2, Momentum: 0.9, Trust: 1e-3, Decay: 1.5e-6, Exclude: ExcludeBiasesAndNorms}
}

// Validate checks the settings' ranges.
func (l *LARS) Validate() error {
	if err := checkSettings(above("lr", l.LR), below1("momentum", l.Momentum), above("trust", l.Trust), from("decay", l.Decay)); err != nil {
		return err
	}
	return l.Exclude.check()
}

// New makes the optimiser with velocities of zero.
func (l *LARS) New(parameters []Parameter) Optimizer {
	o := &lars{settings: *l}
	o.updater = newUpdater(parameters, l.Exclude, o.step)
	o.velocity = o.slots("velocity")
	o.trust = newTrust(&o.updater)
	o.sums = inChunks(o.sum)
	return o
}

type lars struct {
	updater
	settings LARS
	velocity [][]float32
	trust    *trust
	sums     func(worker, tensor, from, to int)
	rate     float32
}

// Update implements Optimizer.
func (o *lars) Update(gradients [][]float32, rate, clip float64) {
	o.steps++
	o.rate, o.gradients, o.clip = float32(o.settings.LR*rate), gradients, float32(clip)
	o.pieces.Each(o.sums)
	o.trust.measure(o.settings.Trust)
	o.update(gradients, clip)
}

// sum computes gradients with decay.
func (o *lars) sum(_, i, from, to int) {
	if o.excluded[i] {
		return
	}
	u := o.trust.update[i][from:to]
	kernel.Scale(u, o.clip, o.gradients[i][from:to])
	if o.settings.Decay != 0 {
		kernel.AddScaled(u, float32(o.settings.Decay), o.values[i][from:to])
	}
}

func (o *lars) step(_, i, from, to int) {
	u, factor := o.trust.update[i], o.trust.ratio[i]
	if o.excluded[i] {
		u, factor = o.gradients[i], o.clip
	}
	v := o.velocity[i][from:to]
	kernel.Scale(v, float32(o.settings.Momentum), v)
	kernel.AddScaled(v, factor, u[from:to])
	kernel.AddScaled(o.values[i][from:to], -o.rate, v)
}

// trust scales updates of tensors by the norms of the tensors.
type trust struct {
	*updater
	update         [][]float32 // unused where a tensor is excluded and not scaled
	weights, norms []float64
	ratio          []float32
}

func newTrust(u *updater) *trust {
	n := len(u.values)
	t := &trust{updater: u, update: make([][]float32, n), weights: make([]float64, n), norms: make([]float64, n), ratio: make([]float32, n)}
	for i, w := range u.values {
		t.update[i] = make([]float32, len(w))
	}
	return t
}

// measure sets the ratios to factor |w|/|update|, or to 1 if a norm is 0 or the tensor is excluded.
func (t *trust) measure(factor float64) {
	t.pieces.Norms(t.values, t.weights)
	t.pieces.Norms(t.update, t.norms)
	for i := range t.ratio {
		t.ratio[i] = 1
		if r := factor * t.weights[i] / t.norms[i]; !t.excluded[i] && r > 0 && !math.IsInf(r, 1) {
			t.ratio[i] = float32(r)
		}
	}
}
