package engine

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/losses"
)

// adversary trains a discriminator on the codes of another program's last step and on permuted codes.
type adversary struct {
	sideNetwork
	settings      *losses.Discriminator
	codes, active *gorgonia.Node // nodes of the other program; active may be nil
	columns       int
	blocks        []int // widths of blocks that are permuted together; nil: single columns

	recompute *machine.Machine // recomputes the codes; nil: the codes of the step are used
	input     []float32        // [2n, columns]: codes, then permuted codes
	// the codes of the second batch, and where they are active; set in every step if the settings need them
	second       []float32
	secondActive []float32
	machine      *machine.Machine
	loss         *gorgonia.Node
}

func newAdversary(a losses.Adversary, l *plan) (*adversary, error) {
	shape, s := a.Codes.Shape(), a.Discriminator
	p := &adversary{sideNetwork: sideNetwork{name: a.Name,
		adam: Adam{LR: s.LR, Beta1: s.Beta1, Beta2: s.Beta2, Epsilon: 1e-8}}, settings: s,
		codes: a.Codes, active: a.Active, columns: shape[1], blocks: a.Blocks}
	g := nn.NewGraph(l.discriminators)
	both, err := g.Input("codes and permuted codes", 2*shape[0], shape[1])
	if err != nil {
		return nil, err
	}
	logits, err := a.Discriminator.Build(g, both, a.Name)
	if err != nil {
		return nil, err
	}
	if p.loss, err = losses.Discrimination(logits); err != nil {
		return nil, err
	}
	var learnables gorgonia.Nodes
	p.names, learnables = g.Learnables()
	if p.nodes, err = gorgonia.Grad(p.loss, learnables...); err != nil {
		return nil, err
	}
	p.input, p.gradients = nn.Data(both), make([][]float32, len(p.nodes))
	if a.Discriminator.Renew {
		if p.recompute, err = l.machine(gorgonia.Nodes{a.Codes}, machine.Kept{}); err != nil {
			return nil, err
		}
	}
	p.machine, err = l.machine(append(gorgonia.Nodes{p.loss}, p.nodes...),
		machine.Kept{Gradients: []gorgonia.Nodes{p.nodes}})
	return p, err
}

// nodesRead lists the nodes of the other program that the adversary reads.
func (a *adversary) nodesRead() gorgonia.Nodes {
	if a.active == nil {
		return gorgonia.Nodes{a.codes}
	}
	return gorgonia.Nodes{a.codes, a.active}
}

// trainDiscriminators updates a program's discriminators on the codes of its last step, accumulated like the model's.
func (l *Loop) trainDiscriminators(p *program, rate float64, images int) error {
	if err := l.takeSecond(p); err != nil {
		return err
	}
	for i, a := range p.adversaries {
		loss, err := a.run(p.machine, l.feed.permute)
		if err != nil {
			return fmt.Errorf("loss %s: discriminator: %w", a.name, err)
		}
		norm, err := a.learner.take(images, &l.pos.group)
		if err == nil && (!finite(loss) || !finite(norm)) {
			err = fmt.Errorf("its loss is %v, the norm of its gradient %v; %s", loss, norm, l.advice(" of the discriminator"))
		}
		if err == nil && l.pos.group.complete {
			err = a.learner.update(rate, 1)
		}
		if err != nil {
			return fmt.Errorf("loss %s: discriminator: %w", a.name, err)
		}
		p.values[len(p.losses)+i] = loss
	}
	return nil
}

// run computes the discriminator's loss and gradients for the last step of another program.
func (a *adversary) run(model *machine.Machine, permute *rng.Stream) (float64, error) {
	n := len(a.input) / 2
	codes := floats(model, a.codes)
	copy(a.input, codes)
	var active []float32
	if a.active != nil {
		active = floats(model, a.active)
	}
	if a.settings.SecondBatch {
		codes, active = a.second, a.secondActive
	}
	if a.blocks != nil {
		losses.PermuteBlocks(a.input[n:], codes, a.blocks, permute.Shuffle)
	} else {
		losses.Permute(a.input[n:], codes, active, a.columns, permute.Shuffle)
	}
	if a.recompute != nil { // with the model's new parameters and the inputs of the step
		if err := a.recompute.RunAll(); err != nil {
			return 0, err
		}
		copy(a.input, floats(a.recompute, a.codes))
	}
	if err := a.machine.RunAll(); err != nil {
		return 0, err
	}
	if a.learner.device == nil {
		collect(a.machine, a.nodes, a.gradients)
	}
	return scalar(a.machine.Value(a.loss))
}

func floats(m *machine.Machine, n *gorgonia.Node) []float32 {
	return m.Value(n).(*tensor.Dense).Float32s()
}
