package engine

import (
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/graph/nn"
)

// Optimizers lists the optimisers that a config can name.
var Optimizers = &registry.Registry[OptimizerSettings]{Kind: "optimizer", Entries: []registry.Entry[OptimizerSettings]{
	{Name: "adam", Doc: "bias-corrected moments of the gradient; decay (default 0) is decoupled",
		Source: "Kingma and Ba 2015, algorithm 1; Loshchilov and Hutter 2019, algorithm 2",
		New:    func() OptimizerSettings { return NewAdam() }},
	{Name: "adamw", Doc: "adam with decoupled weight decay and the defaults of PyTorch's AdamW",
		Source: "Loshchilov and Hutter 2019, algorithm 2",
		New:    func() OptimizerSettings { return NewAdamW() }},
	{Name: "sgd", Doc: "gradient descent, with momentum (Polyak's or Nesterov's) as in PyTorch: v = momentum v + g, w -= lr v",
		Source: "Polyak 1964; Sutskever et al. 2013, section 2",
		New:    func() OptimizerSettings { return NewSGD() }},
	{Name: "rmsprop", Doc: "gradients over the root of their mean square, as in PyTorch: epsilon is added to the root",
		Source: "Tieleman and Hinton 2012, lecture 6.5; centred: Graves 2013, equations 38 to 41",
		New:    func() OptimizerSettings { return NewRMSProp() }},
	{Name: "lars", Doc: "momentum on gradients scaled, tensor by tensor, to a fraction of the weights' norm; biases and norms are not scaled. For models of views with large batches",
		Source: "You et al. 2017, algorithm 1, in the form of Grill et al. 2020 (BYOL, their code)",
		New:    func() OptimizerSettings { return NewLARS() }},
	{Name: "lamb", Doc: "adamw steps scaled, tensor by tensor, to the weights' norm; biases and norms are not scaled. For large batches",
		Source: "You et al. 2020, algorithm 2",
		New:    func() OptimizerSettings { return NewLAMB() }},
}, Hints: map[string]string{
	"adan":     "", // a different optimiser
	"momentum": "it is an option: {sgd: {momentum: 0.9}}", "sgdm": "momentum is an option: {sgd: {momentum: 0.9}}",
}}

// OptimizerSettings creates the optimiser of a group of parameters.
type OptimizerSettings interface {
	New(parameters []Parameter) Optimizer
}

// Parameter is a named tensor that an optimiser updates.
type Parameter struct {
	Name  string
	Value []float32
	Shape []int // nil: one axis
}

// Optimizer updates parameters by their gradients, which are in the order of the parameters and stay unchanged.
type Optimizer interface {
	// Norm returns the Euclidean norm of all gradients together.
	Norm(gradients [][]float32) float64

	// Update takes one step. It multiplies the gradients by clip, and the learning rate by rate; with rate 0 no
	// parameter changes. The result depends only on parameters, gradients and the state, at any number of threads.
	Update(gradients [][]float32, rate, clip float64)

	// State returns everything that further steps depend on, except settings and parameters: the number of steps, and
	// named tensors. Both belong to the optimiser; to restore it, write to them.
	State() (steps *int, tensors []Parameter)
}

// OptimizerChoice is an optimiser in a config: `{adam: {lr: 1.0e-3}}`.
type OptimizerChoice struct {
	Name  string
	Value OptimizerSettings
}

// DecodeConfig reads the choice from a config.
func (c *OptimizerChoice) DecodeConfig(n *config.Node) error {
	return config.DecodeChoice(n, Optimizers, c)
}

// EncodeConfig writes the choice into a config.
func (c OptimizerChoice) EncodeConfig() (any, error) { return config.EncodeChoice(c) }

// ConfigForms implements config.Former.
func (OptimizerChoice) ConfigForms() []any { return []any{config.ChoicesOf(Optimizers)} }

func parametersOf(store *nn.Params, names []string) []Parameter {
	list := make([]Parameter, len(names))
	for i, name := range names {
		t := store.Get(name)
		list[i] = Parameter{name, t.Float32s(), t.Shape()}
	}
	return list
}

// RegisterOptimizer adds an optimiser from another module, so configs can name it. Call it before reading a config. It
// returns an error if the name is taken.
func RegisterOptimizer(e registry.Entry[OptimizerSettings]) error { return Optimizers.Register(e) }
