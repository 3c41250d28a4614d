// Package losses has the training objectives of Unravel as nodes of Gorgonia graphs. It contains their formulas,
// sources and settings. Packages below losses/internal compute values and gradients; each package has one family of
// losses.
//
// A node function such as [KLGaussian] or [LSBD] works in any Gorgonia graph, in float32 and float64. A settings struct
// such as [KLLoss] builds the same node from an [Input]. A config lists losses by name, and [Compose] builds their
// weighted sum. Package conformance tests every registered loss.
package losses

import (
	"errors"
	"fmt"
	"strings"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/losses/internal/total"
)

// Loss holds the settings of an objective.
type Loss interface {
	// Add returns the objective as a scalar node, without its weight.
	Add(in *Input) (*gorgonia.Node, error)
	// Weighting returns the weight of the objective in the total; it may change during training.
	Weighting() Weight
}

// Supervised is implemented by losses that need labelled groups.
type Supervised interface {
	Supervised()
}

// Grouped is implemented by losses that need labelled groups only with some settings.
type Grouped interface {
	NeedsGroups() bool
}

// NeedsGroups reports whether a loss needs labelled groups: it is [Supervised], or a [Grouped] that needs them.
func NeedsGroups(l Loss) bool {
	if g, ok := l.(Grouped); ok {
		return g.NeedsGroups()
	}
	_, ok := l.(Supervised)
	return ok
}

// Explained is implemented by losses that print a description when a run starts; logic prints its formula.
type Explained interface {
	Explain() string
}

// Choice is a loss in a config: `kl`, or `{kl: {weight: 4}}`.
type Choice struct {
	Name  string
	Value Loss
}

func (c *Choice) DecodeConfig(n *config.Node) error {
	return config.DecodeChoice(n, Registry, c)
}

func (c Choice) EncodeConfig() (any, error) { return config.EncodeChoice(c) }

func (Choice) ConfigForms() []any { return []any{config.ChoicesOf(Registry)} }

// Unsupervised returns the losses that need no labelled groups.
func Unsupervised(all []Choice) []Choice {
	var unsupervised []Choice
	for _, c := range all {
		if !NeedsGroups(c.Value) {
			unsupervised = append(unsupervised, c)
		}
	}
	return unsupervised
}

// Objective is a weighted sum of losses.
type Objective struct {
	Parts []Part
	Total *gorgonia.Node // the sum of weight * node over the parts
}

// Nodes returns the nodes of the parts.
func (o *Objective) Nodes() gorgonia.Nodes {
	nodes := make(gorgonia.Nodes, len(o.Parts))
	for i, p := range o.Parts {
		nodes[i] = p.Node
	}
	return nodes
}

// total returns the weighted sum of the parts. Changing weights are inputs of the graph.
func (o *Objective) total() (*gorgonia.Node, error) {
	changing, constants := make(gorgonia.Nodes, len(o.Parts)), make([]float64, len(o.Parts))
	for i, p := range o.Parts {
		if changing[i] = p.Changing; p.Changing == nil {
			constants[i] = p.Weight.To
		}
	}
	return total.Weighted(o.Nodes(), changing, constants)
}

// Part is one loss of an objective.
type Part struct {
	Name     string // unique: a second "kl" is "kl-2"
	Weight   Weight
	Changing *gorgonia.Node // the weight of the step, an input of shape (1); nil for a constant weight
	Node     *gorgonia.Node // without the weight
}

// Error is the error of [Compose] for a loss that cannot be added to the graph. Err says what the loss needs. To fix
// it, change the loss in Choice, or choose a model or supervision that provides the missing input.
type Error struct {
	Part   string // name of the loss among the parts
	Choice Choice
	Err    error
}

func (e *Error) Error() string { return "loss " + e.Part + ": " + e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Compose adds losses and their weighted sum to the graph of a model's outputs for a batch. t receives their requests;
// if t is nil, all requests except notes are errors. The error is an *[Error] with the name of the loss and the missing
// output.
func Compose(o *Outputs, b Batch, t Trainer, all []Choice) (*Objective, error) {
	return compose(o, b, t, all, func(Loss) bool { return true })
}

// ComposeUnsupervised is [Compose] without losses that need labelled groups; the others keep their names.
func ComposeUnsupervised(o *Outputs, b Batch, t Trainer, all []Choice) (*Objective, error) {
	return compose(o, b, t, all, func(l Loss) bool { return !NeedsGroups(l) })
}

// compose adds the included losses, with their names in the full list.
func compose(o *Outputs, b Batch, t Trainer, choices []Choice, included func(Loss) bool) (*Objective, error) {
	objective, counts := &Objective{}, map[string]int{}
	for i, c := range choices {
		if c.Value == nil {
			return nil, fmt.Errorf("losses.%d: no loss is chosen; want a name, such as reconstruction", i)
		}
		counts[c.Name]++
		name := c.Name
		if n := counts[c.Name]; n > 1 {
			name = fmt.Sprintf("%s-%d", c.Name, n)
		}
		if !included(c.Value) {
			continue
		}
		p, err := newPart(&Input{*o, b, t, name}, c.Value)
		if err != nil {
			return nil, &Error{name, c, err}
		}
		objective.Parts = append(objective.Parts, *p)
	}
	if len(objective.Parts) == 0 {
		return nil, errors.New("losses: no losses are chosen; want at least one, such as reconstruction")
	}
	var err error
	if objective.Total, err = objective.total(); err != nil {
		return nil, fmt.Errorf("total of the losses: %w", err)
	}
	gorgonia.WithName("total loss")(objective.Total)
	return objective, nil
}

// newPart adds a loss, and an input for its weight if the weight changes.
func newPart(in *Input, l Loss) (*Part, error) {
	p := &Part{Name: in.Name, Weight: l.Weighting()}
	if err := p.Weight.Validate(); err != nil {
		return nil, fmt.Errorf("weight: %w", err)
	}
	var err error
	if p.Node, err = l.Add(in); err != nil {
		return nil, err
	}
	if err := checkNode(p.Node); err != nil {
		return nil, err
	}
	if r, ok := in.Trainer.(*Requests); ok && r.Graph != nil {
		if _, _, err := r.Graph.Reached(p.Node); err != nil {
			return nil, err
		}
	}
	gorgonia.WithName("loss " + p.Name)(p.Node) // errors of a run show this name
	if !p.Weight.Constant() {
		p.Changing, err = in.Schedule("weight", p.Weight.At)
	}
	return p, err
}

// checkNode checks that a loss returned a scalar node.
func checkNode(n *gorgonia.Node) error {
	switch {
	case n == nil:
		return errors.New("it returned no node; want a scalar node")
	case !n.Shape().IsScalar():
		return fmt.Errorf("it returned a node of shape %v; want a scalar node, such as the mean over the batch", n.Shape())
	case n.Graph() == nil:
		return errors.New("it returned a constant; want a node that depends on outputs of the model")
	}
	return nil
}

// missing returns the error for an output that the model does not have. models are built-in models that have it.
func missing(output string, models ...string) error {
	err := fmt.Errorf("it needs %s, which this model does not have", output)
	if len(models) > 0 {
		err = fmt.Errorf("%w; want the model %s", err, strings.Join(models, " or "))
	}
	return err
}

// errNoMoves is the error of a loss that needs transformations, if the groups of the batch have none.
var errNoMoves = errors.New("it needs the transformations within labelled groups, which this supervision does not provide; want a supervision such as {pairs: {count: 768}}")

// errNoLabels is the error of a loss that needs factors, if the batch has no labels.
var errNoLabels = errors.New("it needs labels of the factors; want a supervision that gives them, such as {labels: {fraction: 0.1}}")

// Register adds a loss that configs can name. Call it before reading a config. It returns an error for a taken name.
func Register(e registry.Entry[Loss]) error { return Registry.Register(e) }

// Named returns a loss by name, with default settings.
func Named(name string) (Choice, error) {
	c, err := Registry.Named(name)
	return Choice(c), err
}

// Example holds numbers for the nodes of an [Input]. Package conformance passes them to a loss, and an [Optimal] loss
// changes them. Arrays are in row-major order. There are 16 images in groups of 4. The factors are shape (categorical,
// 3 levels), size (ordinal, 4 levels) and angle (circular, 4 levels). Level 0 of shape makes the categorical dimension
// of a hierarchy inactive.
type Example struct {
	Images, Logits                     []float64 // [16, 2, 2, 1]
	Codes, Sample, LogVariance, Active []float64 // [16, 6]
	Means, LogSigmas                   []float64 // parameters of a Gaussian posterior, [16, 3]
	// points on a circle, and the same points after transformations, [16, 2]
	Points, Moved []float64
	Options       []float64 // weights of the options of one categorical dimension, [16, 2]
	Weights       []float64 // weights of a layer, [16, 2]

	ActionAngles []float64 // angles of four actions in R^4, [4, 6]
	Predicted    []float64 // codes predicted from actions, [16, 6]
	Actions      []float64 // one-hot actions that lead to the images, [16, 4]; 0 for the first image of each group

	Projections, Predictions, Targets []float64 // for two views, [16, 6]
	Queries, Keys                     []float64 // [8, 6]
	Negatives                         []float64 // [6, 10]

	Energy []float64 // weights W of an energy with the columns f(x) = tanh(x W), [4, 6]

	Groups, Values, Levels []float64 // of the three factors, [16, 3]
	Different              []float64 // for each factor, a row that is known to have another level, or -1, [16, 3]
	Exact                  []float64 // values of the continuous dimensions of a hierarchy, [16, 6]
	Angles                 []float64 // rotation angles of a factor, [16, 1]
	Rotations              []float64 // axes and angles, [16, 4]
}

// Optimal is implemented by losses with the minimum 0.
type Optimal interface {
	// Optimum sets an example to a minimum of the loss with the value 0. It reports false if the loss has no such
	// minimum with its settings.
	Optimum(x *Example) bool
}

// Varied is implemented by losses that need tests with other settings than the defaults.
type Varied interface {
	// Variants returns further settings to test.
	Variants() []Loss
}

// fillUncorrelated sets the columns of codes [16, columns] to scaled Walsh functions, which are uncorrelated and have
// mean 0 and variance scale^2.
func fillUncorrelated(codes []float64, columns int, scale float64) {
	for i := range codes {
		row, pattern, sign := i/columns, i%columns+1, scale
		for bits := row & pattern; bits != 0; bits &= bits - 1 {
			sign = -sign
		}
		codes[i] = sign
	}
}

// constantCodes sets all codes to one number.
func (x *Example) constantCodes() {
	fill(x.Codes, 0.5)
	fill(x.Sample, 0.5)
}

// separateCodes moves the codes of different images at least step apart.
func (x *Example) separateCodes(step float64) {
	for i := range x.Codes {
		x.Codes[i] = step * float64(i)
	}
	copy(x.Sample, x.Codes)
}

// fill sets all elements to a number.
func fill(x []float64, v float64) {
	for i := range x {
		x[i] = v
	}
}
