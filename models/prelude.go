package models

import (
	"errors"
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/nn"
)

// Prelude makes decisions before a step that the graph of the step cannot make, such as which category reconstructs an
// image best. Decide runs separate graphs, as often as it needs, and writes the results to inputs of the step's graph.
// Decisions have no gradient.
type Prelude struct {
	Passes []Pass

	// Decide is called before every step. The images, views, noise and schedules of the step's graph are already set,
	// and Decide may read them ([nn.Data]). Its decision must depend only on these, on the parameters and on e. A
	// resumed run then makes the same decisions. Only the passes see the current parameters: on a GPU, the parameters
	// in host memory are stale.
	Decide func(e *Early) error
}

// Pass is a graph that runs without gradients and shares the parameters of the model: see [nn.Graph.Another].
type Pass struct {
	Graph   *nn.Graph
	Outputs []*gorgonia.Node // nodes that Decide reads
}

// Early describes a step to a [Prelude] and runs its passes.
type Early struct {
	Updates  int     // updates of the parameters before the step
	Progress float64 // fraction of training before the step, from 0 to 1
	Restart  bool    // set by Decide: the optimiser resets its moments before the update of the step

	machines []*machine.Machine
	of       map[*gorgonia.ExprGraph]*machine.Machine
}

// Run computes a pass, given its index, from the current values of its inputs.
func (e *Early) Run(pass int) error { return e.machines[pass].RunAll() }

// Value returns the elements of an output after the last run of its pass. They are valid until the next run.
func (e *Early) Value(n *gorgonia.Node) []float32 {
	return e.of[n.Graph()].Value(n).(*tensor.Dense).Float32s()
}

// Machines returns the compiled passes.
func (e *Early) Machines() []*machine.Machine { return e.machines }

// Compile compiles the passes and returns the argument of Decide. Set Updates, Progress and Restart before every call.
func (p *Prelude) Compile() (*Early, error) {
	if p.Decide == nil {
		return nil, errors.New("the prelude of a step lacks the function Decide")
	}
	e := &Early{of: map[*gorgonia.ExprGraph]*machine.Machine{}}
	for i, pass := range p.Passes {
		if pass.Graph == nil || len(pass.Outputs) == 0 {
			return nil, fmt.Errorf("pass %d before a step has no outputs; want a graph and the nodes to read", i)
		}
		m, err := machine.New(pass.Graph.ExprGraph, pass.Outputs...)
		if err != nil {
			return nil, fmt.Errorf("pass %d before a step: %w", i, err)
		}
		e.machines = append(e.machines, m)
		e.of[pass.Graph.ExprGraph] = m
	}
	return e, nil
}
