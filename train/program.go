package train

import (
	"errors"
	"fmt"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/internal/nn"
	"github.com/unravel-ml/unravel/internal/rng"
	"github.com/unravel-ml/unravel/internal/vm"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/models"
)

// program is one objective of a model, compiled for a number of images: its
// graph with losses and gradients, and the machine that runs it.
type program struct {
	objective models.Objective
	images    []float32
	noise     [][]float32
	moves     []movesInput
	machine   *vm.Machine
	loss      *losses.Objective
	names     []string // parameters, in the order of gradients
	nodes     gorgonia.Nodes
	gradients [][]float32 // of the last run
	losses    gorgonia.Nodes
	values    []float64 // of losses, the sum and its parts, in the last run
}

type movesInput struct {
	dst     []float32
	factors []int
}

// compile builds the program of an objective for batches of a number of images in groups.
func compile(m models.Model, o models.Objective, list []losses.Choice, images, group int) (*program, error) {
	g := nn.NewGraph(m.Params())
	built, err := m.Build(g, o, images, group)
	if err != nil {
		return nil, fmt.Errorf("objective %s: %w", o.Name, err)
	}
	p := &program{objective: o}
	if p.loss, err = losses.Compose(built.Outputs, applicable(list, m, o)); err != nil {
		return nil, fmt.Errorf("objective %s: %w", o.Name, err)
	}
	var learnables gorgonia.Nodes
	p.names, learnables = g.Learnables()
	if p.nodes, err = gorgonia.Grad(p.loss.Total, learnables...); err != nil {
		if strings.Contains(err.Error(), "Non Differentiable") { // followed by a dump of nodes
			err = errors.New("there are parameters that none of the losses depends on: want more losses, such as reconstruction")
		}
		return nil, fmt.Errorf("objective %s: gradients: %w", o.Name, err)
	}
	p.losses = append(gorgonia.Nodes{p.loss.Total}, p.loss.Nodes()...)
	if p.machine, err = vm.New(append(p.losses, p.nodes...)...); err != nil {
		return nil, fmt.Errorf("objective %s: %w", o.Name, err)
	}
	p.images = nn.Data(built.Outputs.Images)
	for _, n := range built.Noise {
		p.noise = append(p.noise, nn.Data(n))
	}
	for _, n := range built.Moves {
		p.moves = append(p.moves, movesInput{nn.Data(n.Node), n.Factors})
	}
	p.gradients = make([][]float32, len(p.nodes))
	p.values = make([]float64, len(p.losses))
	return p, nil
}

// applicable leaves out losses that need labels where the batches have none but
// others do. A model without labelled batches keeps them, so that Compose
// reports what they miss.
func applicable(list []losses.Choice, m models.Model, o models.Objective) []losses.Choice {
	if o.Labelled {
		return list
	}
	for _, other := range m.Objectives() {
		if other.Labelled {
			return losses.Unsupervised(list)
		}
	}
	return list
}

// fill writes a batch and new noise into the inputs. k is the number of factors that moves speak of.
func (p *program) fill(images []float32, b datasets.Batch, k int, noise *rng.Stream) {
	copy(p.images, images)
	for _, n := range p.noise {
		noise.Normals(n)
	}
	for _, m := range p.moves {
		columns := len(m.factors)
		for row := range len(b.Indices) {
			for c, factor := range m.factors {
				m.dst[row*columns+c] = b.Moves[row*k+factor]
			}
		}
	}
}

// run computes the loss, its parts and the gradients.
func (p *program) run() error {
	if err := p.machine.RunAll(); err != nil {
		return err
	}
	for i, n := range p.losses {
		var err error
		if p.values[i], err = scalar(p.machine.Value(n)); err != nil {
			return err
		}
	}
	for i, n := range p.nodes {
		// Data would allocate an interface for every gradient.
		p.gradients[i] = p.machine.Value(n).(*tensor.Dense).Float32s()
	}
	return nil
}

// scalar is the number that a value of shape () holds.
func scalar(v gorgonia.Value) (float64, error) {
	switch x := v.(type) {
	case *gorgonia.F32:
		return float64(*x), nil
	case *tensor.Dense:
		if f := x.Float32s(); len(f) == 1 {
			return float64(f[0]), nil
		}
	}
	return 0, fmt.Errorf("a loss is %v of type %T, want one float32", v, v)
}
