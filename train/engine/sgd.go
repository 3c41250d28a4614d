package engine

import (
	"cmp"
	"math"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/kernel"
)

// SGD holds the settings of gradient descent with momentum (Polyak 1964; Sutskever et al. 2013, section 2), in
// PyTorch's form. Step t updates parameters w with gradient g to
//
//	g = g + Decay w
//	v = Momentum v + (1 - Dampening) g      in the first step: v = g
//	w = w - LR v                            with Nesterov: w - LR (g + Momentum v)
//
// A change of the learning rate therefore takes effect at once. Sutskever et al. have the rate inside v; for a constant
// rate the two forms agree.
type SGD struct {
	LR        float64 `yaml:"lr" doc:"learning rate"`
	Momentum  float64 `yaml:"momentum" doc:"decay of the velocity; 0: none"`
	Dampening float64 `yaml:"dampening" doc:"fraction of the gradient kept out of the velocity"`
	Nesterov  bool    `yaml:"nesterov" doc:"look ahead along the velocity"`
	Decay     float64 `yaml:"decay" doc:"weight decay, the gradient of an L2 penalty: adds decay times the parameter to its gradient"`
	Exclude   Exclude `yaml:"exclude" doc:"parameters without decay: none, or biases-and-norms (all parameters with one axis)"`
}

// NewSGD returns the defaults: a learning rate of 0.01 and a momentum of 0.9, without decay.
func NewSGD() *SGD { return &SGD{LR: 0.01, Momentum: 0.9, Exclude: excludeNone} }

// Validate checks the settings' ranges.
func (s *SGD) Validate() error {
	if err := checkSettings(positiveNumber("lr", s.LR), below1("momentum", s.Momentum), below1("dampening", s.Dampening),
		nonNegative("decay", s.Decay)); err != nil {
		return err
	}
	if s.Nesterov && (s.Momentum == 0 || s.Dampening != 0) {
		return config.Invalid("nesterov",
			"it needs a velocity of whole gradients; want a momentum above 0 and a dampening of 0")
	}
	return s.Exclude.check()
}

// New creates the optimiser, with velocities of zero.
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
	settings       SGD
	velocity       [][]float32 // nil: without momentum
	rate           float32
	gradientWeight float32 // weight of the gradient in the velocity
}

func (o *sgd) Update(gradients [][]float32, rate, clip float64) {
	o.steps++
	o.rate, o.gradientWeight = float32(o.settings.LR*rate), float32(1-o.settings.Dampening)
	if o.steps == 1 {
		o.gradientWeight = 1
	}
	o.update(gradients, clip)
}

func (o *sgd) step(_, i, start, end int) {
	w, g, decay := o.values[i][start:end], o.gradients[i][start:end], o.decay(i, o.settings.Decay)
	if o.velocity == nil {
		descend(w, g, o.rate, o.clip, decay)
		return
	}
	v, momentum := o.velocity[i][start:end], float32(o.settings.Momentum)
	kernel.Scale(v, momentum, v)
	kernel.AddScaled(v, o.gradientWeight*o.clip, g)
	if decay != 0 {
		kernel.AddScaled(v, o.gradientWeight*decay, w)
	}
	if !o.settings.Nesterov {
		kernel.AddScaled(w, -o.rate, v)
		return
	}
	descend(w, g, o.rate, o.clip, decay)
	kernel.AddScaled(w, -o.rate*momentum, v)
}

// descend subtracts rate times (clip g + decay w) from w.
func descend(w, g []float32, rate, clip, decay float32) {
	if decay != 0 {
		kernel.Scale(w, 1-rate*decay, w)
	}
	kernel.AddScaled(w, -rate*clip, g)
}

// LARS holds the settings of layer-wise adaptive rate scaling (You et al. 2017, algorithm 1), in the form of the code
// of BYOL (Grill et al. 2020, section 3.3). A step updates a tensor w with gradient g to
//
//	g = g + Decay w
//	v = Momentum v + Trust |w|/|g| g          where |w|/|g| is 0 or overflows: Momentum v + g
//	w = w - LR v
//
// with Euclidean norms. Excluded tensors have neither weight decay nor scaling. Two details differ from the paper, as
// in the code of SimCLR (Chen et al. 2020): the learning rate is outside the velocity, and |g| is the norm of the sum
// instead of |g| + Decay |w|.
type LARS struct {
	LR       float64 `yaml:"lr" doc:"learning rate; BYOL uses 0.2 times the batch size over 256"`
	Momentum float64 `yaml:"momentum" doc:"decay of the velocity; 0: none"`
	Trust    float64 `yaml:"trust" doc:"norm of a step over the norm of the weights, at a learning rate of 1 and without momentum"`
	Decay    float64 `yaml:"decay" doc:"weight decay: adds decay times the parameter to its gradient"`
	Exclude  Exclude `yaml:"exclude" doc:"parameters without decay and scaling: none, or biases-and-norms (all parameters with one axis)"`
}

// NewLARS returns BYOL's settings for batches of 256 images. They are a learning rate of 0.2, a momentum of 0.9, a
// trust of 0.001 and a weight decay of 1.5e-6, without biases and norms.
func NewLARS() *LARS {
	return &LARS{LR: 0.2, Momentum: 0.9, Trust: 1e-3, Decay: 1.5e-6, Exclude: excludeBiasesAndNorms}
}

// Validate checks the settings' ranges.
func (l *LARS) Validate() error {
	return cmp.Or(checkSettings(positiveNumber("lr", l.LR), below1("momentum", l.Momentum),
		positiveNumber("trust", l.Trust), nonNegative("decay", l.Decay)), l.Exclude.check())
}

// New creates the optimiser, with velocities of zero.
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
	sums     func(worker, tensor, start, end int)
	rate     float32
}

func (o *lars) Update(gradients [][]float32, rate, clip float64) {
	o.steps++
	o.rate, o.gradients, o.clip = float32(o.settings.LR*rate), gradients, float32(clip)
	o.pieces.Each(o.sums)
	o.trust.measure(o.settings.Trust)
	o.update(gradients, clip)
}

// sum computes gradients plus weight decay.
func (o *lars) sum(_, i, start, end int) {
	if o.excluded[i] {
		return
	}
	u := o.trust.update[i][start:end]
	kernel.Scale(u, o.clip, o.gradients[i][start:end])
	if o.settings.Decay != 0 {
		kernel.AddScaled(u, float32(o.settings.Decay), o.values[i][start:end])
	}
}

func (o *lars) step(_, i, start, end int) {
	u, factor := o.trust.update[i], o.trust.ratio[i]
	if o.excluded[i] {
		u, factor = o.gradients[i], o.clip
	}
	v := o.velocity[i][start:end]
	kernel.Scale(v, float32(o.settings.Momentum), v)
	kernel.AddScaled(v, factor, u[start:end])
	kernel.AddScaled(o.values[i][start:end], -o.rate, v)
}

// trust scales updates of tensors by the norms of the tensors.
type trust struct {
	*updater
	update         [][]float32 // unused if a tensor is excluded and not scaled
	weights, norms []float64
	ratio          []float32
}

func newTrust(u *updater) *trust {
	n := len(u.values)
	t := &trust{updater: u, update: make([][]float32, n), weights: make([]float64, n), norms: make([]float64, n),
		ratio: make([]float32, n)}
	for i, w := range u.values {
		t.update[i] = make([]float32, len(w))
	}
	return t
}

// measure sets the ratios to factor |w|/|update|, or to 1 if a ratio is 0 or overflows, or the tensor is excluded.
func (t *trust) measure(factor float64) {
	t.pieces.Norms(t.values, t.weights)
	t.pieces.Norms(t.update, t.norms)
	for i := range t.ratio {
		t.ratio[i] = 1
		if r := float32(factor * t.weights[i] / t.norms[i]); !t.excluded[i] && r > 0 && r <= math.MaxFloat32 {
			t.ratio[i] = r
		}
	}
}

// RMSProp holds the settings of the optimiser of Tieleman and Hinton 2012 (lecture 6.5), in PyTorch's form. A step
// updates parameters w with gradient g to
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
	Centred  bool    `yaml:"centred" doc:"subtract the squared mean gradient from the mean square, to use the variance"`
	Decay    float64 `yaml:"decay" doc:"weight decay, the gradient of an L2 penalty: adds decay times the parameter to its gradient"`
	Exclude  Exclude `yaml:"exclude" doc:"parameters without decay: none, or biases-and-norms (all parameters with one axis)"`
}

// NewRMSProp returns PyTorch's defaults: a learning rate of 0.01, squares that decay by 0.99, an epsilon of 1e-8, no
// momentum and no weight decay.
func NewRMSProp() *RMSProp {
	return &RMSProp{LR: 0.01, Alpha: 0.99, Epsilon: 1e-8, Exclude: excludeNone}
}

// Validate checks the settings' ranges.
func (r *RMSProp) Validate() error {
	return cmp.Or(checkSettings(positiveNumber("lr", r.LR), below1("alpha", r.Alpha), positiveNumber("epsilon", r.Epsilon),
		below1("momentum", r.Momentum), nonNegative("decay", r.Decay)), r.Exclude.check())
}

// New creates the optimiser, with moments of zero.
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
	square, mean, velocity [][]float32 // the last two are nil if unused
	rate                   float32
	direction, quotient    kernel.Direction
}

func (o *rmsprop) Update(gradients [][]float32, rate, clip float64) {
	o.prepare()
	r := &o.settings
	o.rate = float32(r.LR * rate)
	k := kernel.AdamConstants{Beta2: r.Alpha, Epsilon: r.Epsilon, Clip: 1}
	if r.Centred {
		k.Beta1, o.quotient = r.Alpha, kernel.NewQuotient(r.Epsilon)
	}
	o.direction = kernel.NewDirection(k, math.MaxInt) // a late step, so there is no bias correction
	o.update(gradients, clip)
}

func (o *rmsprop) step(worker, i, start, end int) {
	w, n := o.values[i][start:end], end-start
	d, g := o.scratch[worker][:n], o.scratch[worker][chunk:chunk+n]
	kernel.Scale(g, o.clip, o.gradients[i][start:end])
	if decay := o.decay(i, o.settings.Decay); decay != 0 {
		kernel.AddScaled(g, decay, w)
	}
	s := o.square[i][start:end]
	if o.mean == nil {
		o.direction.Step(d, g, s, g) // the gradient replaces its mean
	} else {
		m := o.mean[i][start:end]
		o.direction.Step(d, m, s, g)
		variance := o.scratch[worker][2*chunk : 2*chunk+n]
		variances(variance, s, m)
		o.quotient.Step(d, g, variance, g)
	}
	if o.velocity != nil {
		v := o.velocity[i][start:end]
		kernel.Scale(v, float32(o.settings.Momentum), v)
		kernel.Add(v, d)
		d = v
	}
	kernel.AddScaled(w, -o.rate, d)
}

// variances sets v to the variances of gradients, given their mean squares s and means m.
func variances(v, s, m []float32) {
	s, m = s[:len(v)], m[:len(v)]
	for i := range v {
		x := s[i] - m[i]*m[i]
		if x < 0 { // rounding
			x = 0
		}
		v[i] = x
	}
}
