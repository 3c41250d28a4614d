package engine

import (
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/kernel"
)

// recordAverage records one step of an average, and returns the memory of its coefficients.
func recordAverage(t *machine.Tape, a *nn.Average) vulkan.Buffer {
	numbers := t.Host(kernels.Numbers)
	targets, sources := a.Pairs()
	for i, x := range targets {
		kernels.Average(t.Tape, t.Changes(x), t.Reads(sources[i]), numbers, len(x))
	}
	return numbers
}

// recordBatch records the changes of states after a batch: running statistics and the queue.
func (p *program) recordBatch(t *machine.Tape) {
	for _, r := range p.running {
		x, sets := r.Values(), r.Moments.Shape()[0]
		kernels.FollowMoments(t.Tape, p.machine.Buffer(r.Moments), t.Changes(x), sets, len(x)/2, r.Count())
	}
	if q := p.built.Queue; q != nil {
		columns, next := t.Changes(nn.Data(q.Columns)), t.Changes(nn.Data(q.Next))
		n, width, capacity := q.Keys.Shape()[0], q.Keys.Shape()[1], q.Columns.Shape()[1]
		kernels.Enqueue(t.Tape, p.machine.Buffer(q.Keys), columns, next, n, width, capacity)
	}
}

// recordUpdate records EMA targets and averages of weights. The returned function sets their coefficients.
func (p *program) recordUpdate(t *machine.Tape, a *average) func(now moment) {
	var momentum, decay vulkan.Buffer
	if p.built.Targets != nil {
		momentum = recordAverage(t, p.built.Targets.Average)
	}
	if a != nil {
		decay = recordAverage(t, a.step)
	}
	return func(now moment) {
		if p.built.Targets != nil {
			kernels.SetAverage(momentum, p.built.Targets.Momentum(now.progress))
		}
		if a != nil {
			kernels.SetAverage(decay, a.decay(now.Time))
		}
	}
}

// states lists the states that a device changes.
func (p *program) states() (list [][]float32) {
	for _, r := range p.running {
		list = append(list, r.Values())
	}
	if q := p.built.Queue; q != nil {
		list = append(list, nn.Data(q.Columns), nn.Data(q.Next))
	}
	if p.built.Targets != nil {
		targets, sources := p.built.Targets.Pairs()
		list = append(append(list, targets...), sources...)
	}
	return list
}

// onDevice is an optimiser that updates parameters on a device.
type onDevice interface {
	// record records an update of the parameters by gradients. The returned function sets the coefficients of the next
	// update; see [Optimizer.Update].
	record(t *machine.Tape, gradients []vulkan.Buffer) (next func(rate, clip float64))
}

// record calls recordTensor with the buffers of each tensor's values and states. It returns memory for coefficients.
func (u *updater) record(t *machine.Tape, recordTensor func(i int, b []vulkan.Buffer, numbers vulkan.Buffer)) vulkan.Buffer {
	numbers := t.Host(kernels.Numbers)
	for i := range u.values {
		buffers := []vulkan.Buffer{t.Changes(u.values[i])}
		for slot := i; slot < len(u.tensors); slot += len(u.values) {
			buffers = append(buffers, t.Changes(u.tensors[slot].Value))
		}
		recordTensor(i, buffers, numbers)
		t.EndOperation()
	}
	return numbers
}

func (o *adam) record(t *machine.Tape, gradients []vulkan.Buffer) func(rate, clip float64) {
	a := &o.settings
	numbers := o.updater.record(t, func(i int, b []vulkan.Buffer, numbers vulkan.Buffer) {
		kernels.Adam(t.Tape, b[0], b[1], b[2], gradients[i], numbers, len(o.values[i]), o.decay(i, a.Decay) != 0)
	})
	return func(rate, clip float64) {
		o.steps++
		kernels.SetAdam(numbers, kernel.AdamConstants{LearningRate: a.LR * rate, Beta1: a.Beta1, Beta2: a.Beta2,
			Epsilon: a.Epsilon, Clip: clip}, o.steps, a.Decay)
	}
}

func (o *lamb) record(t *machine.Tape, gradients []vulkan.Buffer) func(rate, clip float64) {
	l := &o.settings
	numbers := o.updater.record(t, func(i int, b []vulkan.Buffer, numbers vulkan.Buffer) {
		kernels.LAMB(t.Tape, b[0], b[1], b[2], gradients[i], numbers, len(o.values[i]), l.Decay != 0, o.excluded[i])
	})
	return func(rate, clip float64) {
		o.steps++
		kernels.SetLAMB(numbers, kernel.AdamConstants{LearningRate: l.LR * rate, Beta1: l.Beta1, Beta2: l.Beta2,
			Epsilon: l.Epsilon, Clip: clip}, o.steps, l.Decay)
	}
}

func (o *sgd) record(t *machine.Tape, gradients []vulkan.Buffer) func(rate, clip float64) {
	s := &o.settings
	numbers := o.updater.record(t, func(i int, b []vulkan.Buffer, numbers vulkan.Buffer) {
		var velocity vulkan.Buffer
		if s.Momentum > 0 {
			velocity = b[1]
		}
		n, decay := len(o.values[i]), o.decay(i, s.Decay) != 0
		kernels.SGD(t.Tape, b[0], velocity, gradients[i], numbers, n, s.Nesterov, decay)
	})
	return func(rate, clip float64) {
		o.steps++
		gradientWeight := 1 - s.Dampening
		if o.steps == 1 {
			gradientWeight = 1
		}
		kernels.Descent{Rate: s.LR * rate, Momentum: s.Momentum, Fresh: gradientWeight, Clip: clip,
			Decay: s.Decay}.Set(numbers)
	}
}

func (o *lars) record(t *machine.Tape, gradients []vulkan.Buffer) func(rate, clip float64) {
	s := &o.settings
	numbers := o.updater.record(t, func(i int, b []vulkan.Buffer, numbers vulkan.Buffer) {
		if o.excluded[i] {
			kernels.SGD(t.Tape, b[0], b[1], gradients[i], numbers, len(o.values[i]), false, false)
		} else {
			kernels.LARS(t.Tape, b[0], b[1], gradients[i], numbers, len(o.values[i]))
		}
	})
	return func(rate, clip float64) {
		o.steps++
		kernels.Descent{Rate: s.LR * rate, Momentum: s.Momentum, Fresh: 1, Clip: clip, Decay: s.Decay,
			Trust: s.Trust}.Set(numbers)
	}
}

func (o *rmsprop) record(t *machine.Tape, gradients []vulkan.Buffer) func(rate, clip float64) {
	r := &o.settings
	numbers := o.updater.record(t, func(i int, b []vulkan.Buffer, numbers vulkan.Buffer) {
		var mean, velocity vulkan.Buffer
		if r.Centred {
			mean = b[2]
		}
		if r.Momentum > 0 {
			velocity = b[len(b)-1]
		}
		n, decay := len(o.values[i]), o.decay(i, r.Decay) != 0
		kernels.RMSProp(t.Tape, b[0], b[1], mean, velocity, gradients[i], numbers, n, decay)
	})
	return func(rate, clip float64) {
		o.steps++
		kernels.RootSquare{Rate: r.LR * rate, Alpha: r.Alpha, Clip: clip, Decay: r.Decay, Epsilon: r.Epsilon,
			Momentum: r.Momentum}.Set(numbers)
	}
}

// record implements onDevice if all members do.
func (g *grouped) record(t *machine.Tape, gradients []vulkan.Buffer) func(rate, clip float64) {
	var list []func(rate, clip float64)
	for i := range g.members {
		m := &g.members[i]
		var memberGradients []vulkan.Buffer
		for _, index := range m.indices {
			memberGradients = append(memberGradients, gradients[index])
		}
		list = append(list, m.Optimizer.(onDevice).record(t, memberGradients))
	}
	return func(rate, clip float64) {
		for i := range g.members {
			steps, _ := g.members[i].State()
			*steps = g.steps
			list[i](rate, clip)
		}
		g.steps++
	}
}
