package engine

import (
	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/registry"
)

// Optimizers lists the optimisers that a config can name.
var Optimizers = &registry.Registry[OptimizerSettings]{Kind: "optimizer", Entries: []registry.Entry[OptimizerSettings]{
	{
		Name: "adam", Doc: "moments of the gradient, bias-corrected; decay is decoupled from them (AdamW)",
		Source: "Kingma and Ba 2015, algorithm 1; Loshchilov and Hutter 2019, algorithm 2",
		New:    func() OptimizerSettings { return NewAdam() },
	},
}}

// OptimizerSettings makes the optimiser of one group of parameters.
type OptimizerSettings interface {
	New(parameters []Parameter) Optimizer
}

// Parameter is a named tensor that an optimiser updates.
type Parameter struct {
	Name  string
	Value []float32
}

// Optimizer updates parameters by their gradients, which are given in the
// parameters' order and stay as they are.
type Optimizer interface {
	// Norm returns the Euclidean norm of all gradients together.
	Norm(gradients [][]float32) float64

	// Update takes one step with gradients times clip and the learning rate times rate; a rate of 0 moves nothing. It
	// depends on the parameters, the gradients and the state alone, at any number of threads.
	Update(gradients [][]float32, rate, clip float64)

	// State returns all that steps depend on but settings and parameters: the number of steps taken, and named tensors.
	// Both are the optimiser's own, and are written to in order to restore it.
	State() (steps *int, tensors []Parameter)
}

// Adam are the settings of the optimiser of that name; see Optimizers. The
// default epsilon is that of Keras, which the reference results used.
type Adam struct {
	LR      float64 `yaml:"lr" doc:"learning rate"`
	Beta1   float64 `yaml:"beta1" doc:"decay of the mean of gradients"`
	Beta2   float64 `yaml:"beta2" doc:"decay of the mean of squared gradients"`
	Epsilon float64 `yaml:"epsilon" doc:"added to the root of the mean of squares"`
	Decay   float64 `yaml:"decay" doc:"decoupled weight decay: each step multiplies parameters by 1 - lr decay"`
}

// NewAdam returns the defaults: a learning rate of 0.001, moments that decay by 0.9 and 0.999, an epsilon of 1e-7.
func NewAdam() *Adam { return &Adam{LR: 1e-3, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-7} }

// Validate checks the settings' ranges.
func (a *Adam) Validate() error {
	switch {
	case !(a.LR > 0) || !finite(a.LR):
		return config.Invalid("lr", "%v is not a learning rate; want a number above 0", a.LR)
	case !(a.Beta1 >= 0 && a.Beta1 < 1):
		return config.Invalid("beta1", "%v is out of range; want 0 <= beta1 < 1", a.Beta1)
	case !(a.Beta2 >= 0 && a.Beta2 < 1):
		return config.Invalid("beta2", "%v is out of range; want 0 <= beta2 < 1", a.Beta2)
	case !(a.Epsilon > 0) || !finite(a.Epsilon):
		return config.Invalid("epsilon", "%v is out of range; want a number above 0", a.Epsilon)
	case !(a.Decay >= 0) || !finite(a.Decay):
		return config.Invalid("decay", "%v is out of range; want a number from 0 on", a.Decay)
	}
	return nil
}

// New makes the optimiser with moments of zero.
func (a *Adam) New(parameters []Parameter) Optimizer {
	o := &adam{settings: *a, parameters: parameters}
	p, m, v := make([][]float32, len(parameters)), make([][]float32, len(parameters)), make([][]float32, len(parameters))
	for i, q := range parameters {
		p[i], m[i], v[i] = q.Value, make([]float32, len(q.Value)), make([]float32, len(q.Value))
		o.tensors = append(o.tensors, Parameter{"mean/" + q.Name, m[i]}, Parameter{"square/" + q.Name, v[i]})
	}
	o.kernel = kernel.NewAdam(p, m, v)
	return o
}

type adam struct {
	settings   Adam
	parameters []Parameter
	tensors    []Parameter
	kernel     *kernel.Adam
	steps      int
}

func (o *adam) Norm(gradients [][]float32) float64 { return o.kernel.Norm(gradients) }

func (o *adam) Update(gradients [][]float32, rate, clip float64) {
	o.steps++
	a := &o.settings
	o.kernel.Update(gradients, o.steps, kernel.AdamConstants{
		LearningRate: a.LR * rate, Beta1: a.Beta1, Beta2: a.Beta2, Epsilon: a.Epsilon, Clip: clip}, a.Decay)
}

func (o *adam) State() (*int, []Parameter) { return &o.steps, o.tensors }

// OptimizerChoice is an optimiser in a config: `{adam: {lr: 1.0e-3}}`.
type OptimizerChoice struct {
	Name  string
	Value OptimizerSettings
}

// DecodeConfig reads the choice from a config.
func (c *OptimizerChoice) DecodeConfig(n *config.Node) error {
	return config.DecodeChoice(n, Optimizers, (*registry.Choice[OptimizerSettings])(c))
}

// EncodeConfig writes the choice into a config.
func (c OptimizerChoice) EncodeConfig() (any, error) {
	return config.EncodeChoice(registry.Choice[OptimizerSettings](c))
}

// ConfigType lists the names.
func (c OptimizerChoice) ConfigType() string { return config.ChoiceType(Optimizers) }

// parametersOf lists the named parameters of a store.
func parametersOf(store *nn.Params, names []string) []Parameter {
	list := make([]Parameter, len(names))
	for i, name := range names {
		list[i] = Parameter{name, store.Get(name).Float32s()}
	}
	return list
}

// RegisterOptimizer adds an optimiser of one's own, which a config can then name. A program calls it before it
// reads a config; a second one of a name is an error.
func RegisterOptimizer(e registry.Entry[OptimizerSettings]) error { return Optimizers.Register(e) }

// NamedOptimizer returns an optimiser by name with its defaults.
func NamedOptimizer(name string) (OptimizerChoice, error) {
	c, err := Optimizers.Named(name)
	return OptimizerChoice(c), err
}
