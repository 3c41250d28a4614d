package losses

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
)

// Trainer accepts the requests of losses. The program that runs their graph implements it, and [Requests] collects
// them. Losses call the methods of [Input], which add the name of the loss as a prefix.
type Trainer interface {
	// Schedule adds an input of shape (1) that is set to at(step) before each step of training; the first is step 0.
	Schedule(name string, at func(step int) float64) (*gorgonia.Node, error)

	// Noise adds an input of random numbers, drawn anew for each step.
	Noise(name string, of Distribution, shape ...int) (*gorgonia.Node, error)

	// Discriminator adds a discriminator and returns its logits, [rows, 1] or [rows, 2].
	Discriminator(a Adversary) (*gorgonia.Node, error)

	// Network adds a network and returns its output, [rows, n.Out]. Its parameters are trained together with the model,
	// by the gradient of the total.
	Network(n TrainedNetwork) (*gorgonia.Node, error)

	// Note adds sentences to print when a run starts and when it ends: list returns the sentences that hold by then.
	Note(list func() []string)
}

// Schedule adds an input of shape (1) that is set to at(step) before each step of training; the first is step 0.
func (in *Input) Schedule(name string, at func(step int) float64) (*gorgonia.Node, error) {
	if in.Trainer == nil {
		return nil, needsTrainer("the input " + name)
	}
	return in.Trainer.Schedule("losses/"+in.Name+"/"+name, at)
}

// needsTrainer returns the error of a request if there is no trainer.
func needsTrainer(request string) error {
	return fmt.Errorf("it needs %s, which a trainer gives; want a losses.Trainer, such as losses.Requests with Graph and Discriminators", request)
}

// Distribution names a distribution of random numbers.
type Distribution uint8

// The distributions.
const (
	Normal  Distribution = iota // N(0, 1)
	Uniform                     // uniform in [0, 1)
)

// Noise adds an input of random numbers, drawn anew for each step.
func (in *Input) Noise(name string, of Distribution, shape ...int) (*gorgonia.Node, error) {
	if in.Trainer == nil {
		return nil, needsTrainer("the input " + name)
	}
	return in.Trainer.Noise("losses/"+in.Name+"/"+name, of, shape...)
}

// Discriminator adds a discriminator of codes [rows, columns] and returns its logits, [rows, 1] or [rows, 2]; see
// [DensityRatio]. Each step trains it on codes and permuted codes. With active, [rows, columns], the values of a column
// are permuted only among the rows where active is above 0.
func (in *Input) Discriminator(d *Discriminator, codes, active *gorgonia.Node) (*gorgonia.Node, error) {
	if in.Trainer == nil {
		return nil, needsTrainer("a discriminator")
	}
	return in.Trainer.Discriminator(Adversary{Name: in.Name, Codes: codes, Active: active, Discriminator: d})
}

// Note adds a sentence to print when a run starts.
func (in *Input) Note(sentence string) {
	if in.Trainer != nil {
		in.Trainer.Note(func() []string { return []string{sentence} })
	}
}

// Requests is a [Trainer] that collects the requests of losses for the program that runs their graph.
type Requests struct {
	Graph *nn.Graph // inputs and networks are added here
	// parameters of discriminators and networks are added here; nil: requests for them are errors
	Discriminators *nn.Params

	Schedules   []Schedule  // set these before each step
	Noises      []Noise     // draw these before each step
	Adversaries []Adversary // train these after each step
	Networks    []Learner   // update these after each step
	// functions that list sentences to print, when a run starts and when it ends
	Notes []func() []string
}

// input adds an input of the given shape, with zeros.
func (r *Requests) input(name string, shape ...int) (*gorgonia.Node, error) {
	if r.Graph == nil {
		return nil, needsTrainer("the input " + name)
	}
	return r.Graph.Input(name, shape...)
}

func (r *Requests) Schedule(name string, at func(step int) float64) (*gorgonia.Node, error) {
	n, err := r.input(name, 1)
	if err != nil {
		return nil, err
	}
	r.Schedules = append(r.Schedules, Schedule{Node: n, At: at})
	return n, nil
}

func (r *Requests) Noise(name string, of Distribution, shape ...int) (*gorgonia.Node, error) {
	n, err := r.input(name, shape...)
	if err != nil {
		return nil, err
	}
	r.Noises = append(r.Noises, Noise{Node: n, Of: of})
	return n, nil
}

func (r *Requests) Discriminator(a Adversary) (*gorgonia.Node, error) {
	if r.Graph == nil || r.Discriminators == nil {
		return nil, needsTrainer("a discriminator")
	}
	logits, err := a.Discriminator.Build(r.Graph.Beside(r.Discriminators), a.Codes, a.Name)
	if err != nil {
		return nil, fmt.Errorf("discriminator: %w", err)
	}
	r.Adversaries = append(r.Adversaries, a)
	return logits, nil
}

func (r *Requests) Network(n TrainedNetwork) (*gorgonia.Node, error) {
	if r.Graph == nil || r.Discriminators == nil {
		return nil, needsTrainer("a network")
	}
	networks := r.Graph.Beside(r.Discriminators)
	y, err := n.Build(networks)
	if err != nil {
		return nil, fmt.Errorf("network: %w", err)
	}
	r.Networks = append(r.Networks, Learner{n, networks})
	return y, nil
}

func (r *Requests) Note(list func() []string) { r.Notes = append(r.Notes, list) }

// Schedule is an input of one number that changes with the steps of training.
type Schedule struct {
	Node *gorgonia.Node         // an input of shape (1)
	At   func(step int) float64 // the number for a step; the first step is 0
}

// Noise is an input of random numbers, drawn anew for each step.
type Noise struct {
	Node *gorgonia.Node
	Of   Distribution
}

// Fill draws new numbers.
func (n Noise) Fill(s *rng.Stream) {
	data := nn.Data(n.Node)
	if n.Of == Normal {
		s.Normals(data)
		return
	}
	for i := range data {
		data[i] = s.Float32()
	}
}

// Adversary is a discriminator between codes of a graph and permuted codes. After each step, a separate program trains
// it to minimise [Discrimination] on the step's codes and permuted codes ([Permute]). With Renew, the step's codes are
// recomputed with the updated parameters. With SecondBatch, the permuted codes come from another batch, which is
// encoded with the updated parameters.
type Adversary struct {
	Name          string         // prefix of its parameters; unique for each loss
	Codes         *gorgonia.Node // [batch, columns]
	Active        *gorgonia.Node // [batch, columns], or nil
	Blocks        []int          // widths of blocks of columns that are permuted together; nil: single columns
	Discriminator *Discriminator
}

// TrainedNetwork is a network of tanh units that a loss trains together with the model. Its parameters are not part of
// the model. The gradient of the total updates them in each step, at the network's own learning rate.
type TrainedNetwork struct {
	Name     string         // prefix of its parameters; unique for each network
	Input    *gorgonia.Node // [rows, columns]
	Layers   []int          // widths of the hidden layers
	Out      int            // number of output columns
	Training *NetworkTraining
}

// Build adds the network to a graph and returns its output.
func (n *TrainedNetwork) Build(g *nn.Graph) (*gorgonia.Node, error) {
	h, err := hidden(g, n.Input, n.Name, n.Layers, graph.Tanh)
	if err != nil {
		return nil, err
	}
	return nn.Dense(g, h, n.Name+"/values", n.Out, graph.Linear)
}

// hidden adds dense layers of the given widths.
func hidden(g *nn.Graph, h *gorgonia.Node, name string, widths []int, a graph.Activation) (*gorgonia.Node, error) {
	for i, width := range widths {
		var err error
		if h, err = nn.Dense(g, h, fmt.Sprintf("%s/dense%d", name, i+1), width, a); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// NetworkTraining holds the settings of Adam for such networks.
type NetworkTraining struct {
	LR    float64 `yaml:"lr" doc:"learning rate of Adam"`
	Beta1 float64 `yaml:"beta1" doc:"decay of the mean of gradients"`
	Beta2 float64 `yaml:"beta2" doc:"decay of the mean of squared gradients"`
}

// NewNetworkTraining returns the default settings.
func NewNetworkTraining() *NetworkTraining {
	return &NetworkTraining{LR: 1e-2, Beta1: 0.9, Beta2: 0.999}
}

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

// Learner is a network and the graph with its parameters.
type Learner struct {
	TrainedNetwork
	Graph *nn.Graph // the network's parameters
}
