package engine

import (
	"math"

	"github.com/unravel-ml/unravel/internal/kernel"
)

// RMSProp are the settings of the optimiser of Tieleman and Hinton 2012 (lecture 6.5), in PyTorch's form. A step takes
// gradients g of parameters w to
//
//	g = g + Decay w
//	s = Alpha s + (1 - Alpha) g^2
//	d = g / (sqrt(s) + Epsilon)               centred: g / (sqrt(s - m^2) + Epsilon) with m = Alpha m + (1 - Alpha) g
//	w = w - LR d                              with momentum: v = Momentum v + d, w - LR v
type RMSProp struct {
	LR       float64 `yaml:"lr" doc:"learning rate"`
	Alpha    float64 `yaml:"alpha" doc:"decay of the mean of squared gradients"`
	Epsilon  float64 `yaml:"epsilon" doc:"added to the root of the mean of squares"`
	Momentum float64 `yaml:"momentum" doc:"decay of the velocity; 0: none"`
	Centred  bool    `yaml:"centred" doc:"subtract the squared mean gradient from the mean square, which makes it a variance"`
	Decay    float64 `yaml:"decay" doc:"weight decay, the gradient of an L2 penalty: decay times the parameter is added to its gradient"`
	Exclude  Exclude `yaml:"exclude" doc:"parameters without decay: none, or biases-and-norms (those of one axis)"`
}

// NewRMSProp returns PyTorch's defaults: a learning rate of 0.01, squares that decay by 0.99, an epsilon of 1e-8, neither momentum nor
// decay.
func NewRMSProp() *RMSProp {
	return &RMSProp{LR: 0.01, Alpha: 0.99, Epsilon: 1e-8, Exclude: ExcludeNone}
}

// Validate checks the settings' ranges.
func (r *RMSProp) Validate() error {
	if err := checkSettings(above("lr", r.LR), below1("alpha", r.Alpha), above("epsilon", r.Epsilon), below1("momentum", r.Momentum),
		from("decay", r.Decay)); err != nil {
		return err
	}
	return r.Exclude.check()
}

// New makes the optimiser with moments of zero.
func (r *RMSProp) New(parameters []Parameter) Optimizer {
	o := &rmsprop{settings: *r}
	o.updater = newUpdater(parameters, r.Exclude, o.step)
	o.square = o.slots("square")
	if r.Centred {
		o.mean = o.slots("mean")
	}
	if r.Momentum > 0 {
		o.velocity = o.slots("velocity")
	}
	return o
}

type rmsprop struct {
	updater
	settings               RMSProp
	square, mean, velocity [][]float32 // the last two: nil without
	rate                   float32
	direction, quotient    kernel.Direction
}

// Update implements Optimizer.
func (o *rmsprop) Update(gradients [][]float32, rate, clip float64) {
	o.prepare()
	r := &o.settings
	o.rate = float32(r.LR * rate)
	k := kernel.AdamConstants{Beta2: r.Alpha, Epsilon: r.Epsilon, Clip: 1}
	if r.Centred {
		k.Beta1, o.quotient = r.Alpha, kernel.NewQuotient(r.Epsilon)
	}
	o.direction = kernel.NewDirection(k, math.MaxInt) // far from the first step, nothing corrects a bias
	o.update(gradients, clip)
}

func (o *rmsprop) step(worker, i, from, to int) {
	w, n := o.values[i][from:to], to-from
	d, g := o.scratch[worker][:n], o.scratch[worker][chunk:chunk+n]
	kernel.Scale(g, o.clip, o.gradients[i][from:to])
	if decay := o.decay(i, o.settings.Decay); decay != 0 {
		kernel.AddScaled(g, decay, w)
	}
	s := o.square[i][from:to]
	if o.mean == nil {
		o.direction.Step(d, g, s, g) // the gradient stands for its mean
	} else {
		m := o.mean[i][from:to]
		o.direction.Step(d, m, s, g)
		variance := o.scratch[worker][2*chunk : 2*chunk+n]
		deviate(variance, s, m)
		o.quotient.Step(d, g, variance, g)
	}
	if o.velocity != nil {
		v := o.velocity[i][from:to]
		kernel.Scale(v, float32(o.settings.Momentum), v)
		kernel.Add(v, d)
		d = v
	}
	kernel.AddScaled(w, -o.rate, d)
}

// deviate sets v to the variances of gradients with mean squares s and means m.
func deviate(v, s, m []float32) {
	s, m = s[:len(v)], m[:len(v)]
	for i := range v {
		x := s[i] - m[i]*m[i]
		if x < 0 { // due to rounding
			x = 0
		}
		v[i] = x
	}
}
