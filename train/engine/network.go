package engine

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/losses"
)

// network is a network that a loss asked for. After each step an optimiser of the network updates its parameters by the
// gradient of the total.
type network struct {
	name      string
	settings  *losses.NetworkTraining
	names     []string
	nodes     gorgonia.Nodes // gradients of the parameters
	gradients [][]float32
}

// differentiate adds the gradients of the total in the parameters of the model and of the networks that losses asked
// for.
func (p *program) differentiate(learnables gorgonia.Nodes) error {
	own := len(learnables)
	for _, asked := range p.asked.Networks {
		n := &network{name: asked.Name, settings: asked.Training}
		var nodes gorgonia.Nodes
		if n.names, nodes = asked.Graph.Reached(p.loss.Total); len(nodes) == 0 {
			return fmt.Errorf("the network %s has no part in the loss", n.name)
		}
		n.gradients = make([][]float32, len(nodes))
		p.networks, learnables = append(p.networks, n), append(learnables, nodes...)
	}
	all, err := gorgonia.Grad(p.loss.Total, learnables...)
	if err != nil {
		return fmt.Errorf("gradients: %w", err)
	}
	p.nodes, all = all[:own:own], all[own:]
	for _, n := range p.networks {
		n.nodes, all = all[:len(n.names):len(n.names)], all[len(n.names):]
	}
	return nil
}

// networkGradients lists the gradients of networks.
func (p *program) networkGradients() (all gorgonia.Nodes) {
	for _, n := range p.networks {
		all = append(all, n.nodes...)
	}
	return all
}

// collectNetworks finds the gradients of a run.
func (p *program) collectNetworks() {
	for _, n := range p.networks {
		collect(p.machine, n.nodes, n.gradients)
	}
}

// optimizer makes the network's Adam.
func (n *network) optimizer(params *nn.Params) Optimizer {
	s := n.settings
	adam := Adam{LR: s.LR, Beta1: s.Beta1, Beta2: s.Beta2, Epsilon: 1e-8}
	return adam.New(parametersOf(params, n.names))
}

// trainNetworks updates the networks of a program by the gradients of its last step. It accumulates these gradients in
// the same way as the model's.
func (l *Loop) trainNetworks(p *program, rate float64, images int) error {
	for _, n := range p.networks {
		o := l.discriminators[n.name]
		gradients := l.pending[n.name].take(n.gradients, images, &l.at.group)
		if norm := o.Norm(gradients); !finite(norm) {
			return fmt.Errorf("step %d, network %s: the norm of its gradient is %v; %s", l.at.step+1, n.name, norm, l.advice(" of the network"))
		}
		if l.at.group.complete {
			o.Update(gradients, rate, 1)
		}
	}
	return nil
}
