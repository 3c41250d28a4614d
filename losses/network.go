package losses

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/nn"
)

// TrainedNetwork is a network of tanh units that a loss trains along with the model. Its parameters are not part of the
// model. The gradient of the total updates them in each step, at the network's own learning rate.
type TrainedNetwork struct {
	Name     string         // of its parameters; one per network
	Input    *gorgonia.Node // [rows, columns]
	Layers   []int          // widths of the hidden layers
	Out      int            // columns of its values
	Training *NetworkTraining
}

// NetworkTraining holds the settings of the Adam that trains a network along.
type NetworkTraining struct {
	LR    float64 `yaml:"lr" doc:"learning rate of Adam"`
	Beta1 float64 `yaml:"beta1" doc:"decay of the mean of gradients"`
	Beta2 float64 `yaml:"beta2" doc:"decay of the mean of squared gradients"`
}

// NewNetworkTraining returns the default settings.
func NewNetworkTraining() *NetworkTraining {
	return &NetworkTraining{LR: 1e-2, Beta1: 0.9, Beta2: 0.999}
}

// Validate checks the settings.
func (t *NetworkTraining) Validate() error {
	switch {
	case !(t.LR > 0) || t.LR > 1e6:
		return config.Invalid("lr", "%v is not a learning rate; want a number above 0", t.LR)
	case !(t.Beta1 >= 0 && t.Beta1 < 1):
		return config.Invalid("beta1", "%v is out of range; want 0 <= beta1 < 1", t.Beta1)
	case !(t.Beta2 >= 0 && t.Beta2 < 1):
		return config.Invalid("beta2", "%v is out of range; want 0 <= beta2 < 1", t.Beta2)
	}
	return nil
}

// Build adds the network to a graph and returns its values.
func (n *TrainedNetwork) Build(g *nn.Graph) (*gorgonia.Node, error) {
	h, err := n.Input, error(nil)
	for i, width := range n.Layers {
		if h, err = nn.Dense(g, h, fmt.Sprintf("%s/dense%d", n.Name, i+1), width, graph.Tanh); err != nil {
			return nil, err
		}
	}
	return nn.Dense(g, h, n.Name+"/values", n.Out, graph.Linear)
}

// Learner is a network and the graph that names its parameters.
type Learner struct {
	TrainedNetwork
	Graph *nn.Graph // the network's parameters
}
