package engine

import (
	"math"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
)

// learner updates the parameters of an objective, a network or a discriminator with the gradients of a program.
type learner struct {
	optimizer Optimizer
	pending   *accumulator     // nil: every batch has its own update
	gradients [][]float32      // gradients of the program's last run
	means     [][]float32      // gradients for the update: means over images
	device    *learnerTapes    // nil: the update runs on the CPU
	pace      func(now moment) // sets the coefficients of states that change with the update; nil: the CPU changes them
}

type moment struct {
	Time
	progress float64 // fraction of training before the step
}

// take takes the gradients of a batch. It returns the norm of the gradients for the update, or of the batch.
func (l *learner) take(images int, g *BatchGroup) (norm float64, err error) {
	if l.device != nil {
		return l.device.take(images, g)
	}
	l.means = l.pending.take(l.gradients, images, g)
	return l.optimizer.Norm(l.means), nil
}

func (l *learner) update(rate, clip float64) error {
	if l.device != nil {
		l.device.next(rate, clip)
		return l.device.step.Run()
	}
	l.optimizer.Update(l.means, rate, clip)
	return nil
}

// learnerTapes are the recorded commands of a learner on a device.
type learnerTapes struct {
	machine *machine.Machine
	group   int           // index among the machine's groups of gradients
	sum     *machine.Tape // sums gradients, and computes the norm of the sum; nil: every batch has its own update
	numbers vulkan.Buffer
	norm    vulkan.Buffer // in host memory
	step    *machine.Tape
	next    func(rate, clip float64)
}

// record records the updates with one group of a machine's gradients. batch records the commands after each batch, and
// update the commands after each update; both may be nil.
func (l *learner) record(d *machine.Device, m *machine.Machine, group int, nodes gorgonia.Nodes,
	batch, update func(*machine.Tape)) error {
	t := &learnerTapes{machine: m, group: group, step: d.NewTape()}
	var gradients []vulkan.Buffer
	for _, n := range nodes {
		gradients = append(gradients, m.Buffer(n))
	}
	batchTape := t.step
	if l.pending != nil {
		t.sum = d.NewTape()
		batchTape, gradients = t.sum, t.recordSum(l.pending, gradients)
	}
	t.next = l.optimizer.(onDevice).record(t.step, gradients)
	if batch != nil {
		batch(batchTape)
	}
	if update != nil {
		update(t.step)
	}
	l.device = t
	for _, tape := range t.tapes() {
		if err := tape.Compile(); err != nil {
			return err
		}
	}
	return nil
}

func (t *learnerTapes) tapes() []*machine.Tape {
	if t.sum == nil {
		return []*machine.Tape{t.step}
	}
	return []*machine.Tape{t.sum, t.step}
}

// recordSum records the addition of gradients to their sums, and returns the sums.
func (t *learnerTapes) recordSum(a *accumulator, gradients []vulkan.Buffer) (sums []vulkan.Buffer) {
	t.numbers, t.norm = t.sum.Host(kernels.Numbers), t.sum.Host(1)
	var sizes []int
	for i, x := range a.sums {
		sums, sizes = append(sums, t.sum.Changes(x)), append(sizes, len(x))
		kernels.Accumulate(t.sum.Tape, sums[i], gradients[i], t.numbers, len(x))
	}
	square := t.sum.Scratch(1)
	kernels.SquaredNorm(t.sum.Tape, sums, sizes, square)
	t.sum.Copy(t.norm, square)
	t.sum.EndOperation()
	return sums
}

func (t *learnerTapes) take(images int, g *BatchGroup) (norm float64, err error) {
	norm = math.Sqrt(t.machine.SquaredNorm(t.group))
	if t.sum == nil || !finite(norm) {
		return norm, nil
	}
	scale := 1.0
	if g.complete {
		scale /= float64(g.Images)
	}
	kernels.SetAccumulate(t.numbers, g.Batches == 1, float64(images), scale)
	if err := t.sum.Run(); err != nil {
		return 0, err
	}
	if g.complete {
		norm = math.Sqrt(float64(t.norm.Floats()[0]))
	}
	return norm, nil
}

// attach connects a program with the optimisers of its objective, networks and discriminators, once.
func (l *Loop) attach(o *objective, p *program) error {
	if p.learner != nil {
		return nil
	}
	p.learner = &learner{optimizer: o.optimizer, pending: o.pending, gradients: p.gradients}
	for _, b := range p.sideNetworks() {
		b.learner = &learner{optimizer: l.discriminators[b.name], pending: l.pending[b.name], gradients: b.gradients}
	}
	if !l.plan.updatesOnDevice {
		return nil
	}
	err := p.learner.record(l.plan.device, p.machine, 0, p.nodes, p.recordBatch, func(t *machine.Tape) {
		p.learner.pace = p.recordUpdate(t, l.average)
	})
	for i, n := range p.networks {
		if err == nil {
			err = n.learner.record(l.plan.device, p.machine, 1+i, n.nodes, nil, nil)
		}
	}
	for _, a := range p.adversaries {
		if err == nil {
			err = a.learner.record(l.plan.device, a.machine, 0, a.nodes, nil, nil)
		}
	}
	return err
}

func (p *program) learners() []*learner {
	list := []*learner{p.learner}
	for _, b := range p.sideNetworks() {
		list = append(list, b.learner)
	}
	return list
}
