package engine

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
)

// sideNetwork is a network that a loss requested, or a discriminator. Its own optimiser updates it after each step.
type sideNetwork struct {
	name      string
	adam      Adam
	names     []string       // parameters
	nodes     gorgonia.Nodes // gradients of the parameters
	gradients [][]float32
	learner   *learner
}

// sideNetworks lists the networks and the discriminators of a program.
func (p *program) sideNetworks() []*sideNetwork {
	list := slices.Clone(p.networks)
	for _, a := range p.adversaries {
		list = append(list, &a.sideNetwork)
	}
	return list
}

// differentiate adds the gradients of the total for the parameters of the model and of the networks.
func (p *program) differentiate(learnables gorgonia.Nodes) error {
	modelNodes := len(learnables)
	for _, request := range p.requests.Networks {
		s := request.Training
		n := &sideNetwork{name: request.Name, adam: Adam{LR: s.LR, Beta1: s.Beta1, Beta2: s.Beta2, Epsilon: 1e-8}}
		var nodes gorgonia.Nodes
		if n.names, nodes, _ = request.Graph.Reached(p.loss.Total); len(nodes) == 0 { // build has checked the total
			return fmt.Errorf("the network %s has no part in the loss", n.name)
		}
		n.gradients = make([][]float32, len(nodes))
		p.networks, learnables = append(p.networks, n), append(learnables, nodes...)
	}
	gradients, err := gorgonia.Grad(p.loss.Total, learnables...)
	if err != nil {
		return fmt.Errorf("gradients: %w", err)
	}
	p.nodes, gradients = gradients[:modelNodes:modelNodes], gradients[modelNodes:]
	for _, n := range p.networks {
		n.nodes, gradients = gradients[:len(n.names):len(n.names)], gradients[len(n.names):]
	}
	return nil
}

// trainNetworks updates the networks of a program, with gradients accumulated like the model's.
func (l *Loop) trainNetworks(p *program, rate float64, images int) error {
	for _, n := range p.networks {
		norm, err := n.learner.take(images, &l.pos.group)
		if err == nil && !finite(norm) {
			err = fmt.Errorf("the norm of its gradient is %v; %s", norm, l.advice(" of the network"))
		}
		if err == nil && l.pos.group.complete {
			err = n.learner.update(rate, 1)
		}
		if err != nil {
			return fmt.Errorf("network %s: %w", n.name, err)
		}
	}
	return nil
}
