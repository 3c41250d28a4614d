// Package losses holds the objectives of Unravel as nodes of Gorgonia graphs.
//
// Every objective comes in two forms. A function such as [KLGaussian] or [LSBD]
// makes a node out of nodes: it works in anyone's graph, in float32 and float64,
// on any machine, and knows nothing of the rest of this module. A settings struct
// such as [KLLoss] makes the same node out of a model's [Outputs]; a config names
// it in its list of losses, and [Compose] adds the list up.
package losses

import (
	"errors"
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/factor"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/hierarchy"
	"github.com/unravel-ml/unravel/registry"
)

// Outputs are the nodes that a model offers to losses. What it does not have is nil.
type Outputs struct {
	Images *gorgonia.Node // the batch, [batch, height, width, channels], in [0, 1]
	Logits *gorgonia.Node // the reconstruction before its sigmoid, of the same shape
	Real   bool           // the images are any real numbers, and Logits are the reconstruction itself

	Codes           *gorgonia.Node   // the codes that metrics measure, the locations of the posteriors, [batch, d]
	Sample          *gorgonia.Node   // the codes that are decoded, draws from the posteriors, [batch, d]
	LogVariance     *gorgonia.Node   // of Gaussian posteriors, [batch, d]
	Active          *gorgonia.Node   // 1 where a column of Sample is active, 0 elsewhere, [batch, d]
	Labels          *Labels          // what is known about the factors of the images; nil: nothing
	Transformations *Transformations // the transformations within the labelled groups of the batch; nil: it has no groups

	Options   *gorgonia.Node      // weights of the options of a hierarchy's categorical dimensions, [batch, options in all]
	Hierarchy hierarchy.Hierarchy // of Options and Sample; nil: none

	Posteriors []Posterior // one per latent space
	Transports []Transport // one per latent space, for batches of labelled groups

	Views *Views // what a model makes of two views of each image; nil: it has one

	Batch      int // rows of codes: the images in the batch, or twice as many for two views of each
	Group      int // members of a labelled group, Group rows one after the other; the batch is Batch/Group groups
	Population int // images in the data set; 0: unknown

	// Graph takes the inputs and networks that losses add for themselves, and
	// Discriminators holds the parameters of those networks. Whoever runs the graph must
	// serve what losses append to Schedules and Adversaries.
	Graph          *nn.Graph
	Discriminators *nn.Params
	Schedules      []Schedule
	Adversaries    []Adversary

	Notes []string // what losses have to say to who starts a run, each a sentence

	loss string // the name of the part that is being added
}

// Schedule is an input of one number that changes with the steps of training.
type Schedule struct {
	Node *gorgonia.Node         // of shape (1)
	At   func(step int) float64 // the number in a step; the first is step 0
}

// Labels offer what is known about the factors of a batch as inputs of the graph.
// An input is made when a loss first asks for it.
type Labels struct {
	Factors []factor.Factor

	// Groups is [batch, K]: rows with equal numbers from 0 on in a column agree in
	// that factor; -1 says that nothing is known.
	Groups func() (*gorgonia.Node, error)

	// Values are the values of the factors in some units, and the levels that they have, or -1 where
	// the value is not known, and 0: [batch, K] each. Where only the similarity of a
	// pair is known, Groups is not -1 and the level is. It is an error if nothing but similarities is known.
	Values func(u Units) (values, known *gorgonia.Node, err error)

	// Assigned lists the factors that say which options of the model's hierarchy an image takes. nil: the
	// categorical ones do.
	Assigned []int

	// Exact is [batch, n]: the values of the continuous dimensions of a hierarchical data
	// set, divided by the size of the largest level of each, and 0 where an image lacks them. nil: the
	// data set has no hierarchy.
	Exact func() (*gorgonia.Node, error)
}

// Units says in a config in which units the values of continuous factors are, those of hierarchical data sets.
// Levels of ordinal factors are mapped to [0, 1] and of circular ones to turns in either case.
type Units string

// The units.
const (
	UnitsAsGiven Units = "as-given" // exact values unchanged
	UnitsRange   Units = "range"    // exact values mapped to [0, 1] by the range of the dimension
)

// UnmarshalText accepts a known name.
func (u *Units) UnmarshalText(text []byte) error {
	if *u = Units(text); *u != UnitsAsGiven && *u != UnitsRange {
		return fmt.Errorf("unknown units %q; known: as-given, range", text)
	}
	return nil
}

// Transformations offer the transformations within the labelled groups of a batch as inputs of the graph.
type Transformations struct {
	Factors   []factor.Factor // of the data set
	Rotations int             // rotations in space that groups come with

	// Angles is [batch, 1]: by how many radians a factor has turned from a group's first image to a row's.
	Angles func(factor int) (*gorgonia.Node, error)
	// Rotation is [batch, 4]: the axis (x, y, z) and the angle in radians of a rotation in space.
	Rotation func(r int) (*gorgonia.Node, error)
}

// Posterior is the distribution of the codes of one latent space.
type Posterior interface {
	// KL returns the divergence from the prior: a scalar, the mean over the batch.
	KL() (*gorgonia.Node, error)
}

// Views are what a model makes of two views of n images. What it does not have is nil. Arrays of 2n rows
// have first those of the first views, then those of the second ones.
type Views struct {
	Projections *gorgonia.Node // [2n, d]
	Predictions *gorgonia.Node // [2n, d]
	Targets     *gorgonia.Node // [2n, d]: what the predictions of the other view are of; no gradient flows through them

	Queries, Keys *gorgonia.Node // unit vectors [n, d] of the first and the second views
	Negatives     *gorgonia.Node // keys of other images, [d, K]
}

// Transport is what a model did with the codes of one latent space in a batch of
// labelled groups.
type Transport struct {
	Points *gorgonia.Node // the samples z_m, [batch, width]
	Moved  *gorgonia.Node // where the group's common point goes, g_m . zbar, [batch, width]
	Sphere bool           // the space is a sphere, not R^n
	Acts   bool           // the transformations act on the space: it is not left to the identity
}

// Loss are the settings of an objective.
type Loss interface {
	// Add returns the objective of a model as a scalar node, without its weight.
	Add(o *Outputs) (*gorgonia.Node, error)
	// Weighting returns the objective's factor in the total.
	Weighting() float64
}

// Supervised is implemented by losses that need labelled groups.
type Supervised interface {
	Supervised()
}

// Explained is implemented by losses that have something to say to who starts a run.
type Explained interface {
	Explain() string
}

// Choice is a loss in a config: `kl`, or `{kl: {weight: 4}}`.
type Choice struct {
	Name  string
	Value Loss
}

// DecodeConfig reads the choice from a config.
func (c *Choice) DecodeConfig(n *config.Node) error {
	return config.DecodeChoice(n, Registry, (*registry.Choice[Loss])(c))
}

// EncodeConfig writes the choice into a config.
func (c Choice) EncodeConfig() (any, error) { return config.EncodeChoice(registry.Choice[Loss](c)) }

// ConfigType says what can be chosen.
func (c Choice) ConfigType() string { return config.ChoiceType(Registry) }

// Unsupervised returns the losses that need no labelled groups.
func Unsupervised(all []Choice) []Choice {
	var some []Choice
	for _, c := range all {
		if _, ok := c.Value.(Supervised); !ok {
			some = append(some, c)
		}
	}
	return some
}

// Objective is a weighted sum of losses.
type Objective struct {
	Parts []Part
	Total *gorgonia.Node // the sum of weight * node over the parts
}

// Part is one loss of an objective.
type Part struct {
	Name   string // unique: the second "kl" is "kl-2"
	Weight float64
	Node   *gorgonia.Node // without the weight
}

// Nodes returns the nodes of the parts.
func (o *Objective) Nodes() gorgonia.Nodes {
	nodes := make(gorgonia.Nodes, len(o.Parts))
	for i, p := range o.Parts {
		nodes[i] = p.Node
	}
	return nodes
}

// Error says which loss cannot be added.
type Error struct {
	Part   string // its name among the parts
	Choice Choice
	Err    error
}

func (e *Error) Error() string { return "loss " + e.Part + ": " + e.Err.Error() }

// Unwrap returns what is wrong with it.
func (e *Error) Unwrap() error { return e.Err }

// Compose adds losses to the graph of a model's outputs. Its errors name the loss,
// and the output that it misses (*[Error]).
func Compose(o *Outputs, all []Choice) (*Objective, error) {
	if len(all) == 0 {
		return nil, errors.New("losses: no losses are chosen; want at least one, such as reconstruction")
	}
	objective, seen, weights := &Objective{}, map[string]int{}, make([]float64, len(all))
	for i, c := range all {
		if c.Value == nil {
			return nil, fmt.Errorf("losses: loss %d is not chosen", i)
		}
		seen[c.Name]++
		p := Part{Name: c.Name, Weight: c.Value.Weighting()}
		if n := seen[c.Name]; n > 1 {
			p.Name = fmt.Sprintf("%s-%d", c.Name, n)
		}
		var err error
		o.loss = p.Name
		if p.Node, err = c.Value.Add(o); err != nil {
			return nil, &Error{p.Name, c, err}
		}
		if err := checkNode(p.Node); err != nil {
			return nil, &Error{p.Name, c, err}
		}
		gorgonia.WithName("loss " + p.Name)(p.Node) // for errors of a run
		objective.Parts, weights[i] = append(objective.Parts, p), p.Weight
	}
	var err error
	if objective.Total, err = graph.WeightedSum(weights, objective.Nodes()...); err != nil {
		return nil, fmt.Errorf("total of the losses: %w", err)
	}
	gorgonia.WithName("total loss")(objective.Total)
	return objective, nil
}

// checkNode checks what a loss returned.
func checkNode(n *gorgonia.Node) error {
	switch {
	case n == nil:
		return errors.New("it returned no node; want a scalar node")
	case !n.Shape().IsScalar():
		return fmt.Errorf("it returned a node of shape %v; want a scalar node, such as the mean over the batch", n.Shape())
	}
	return nil
}

// missing is the error of an output that a model does not have.
func missing(output string) error {
	return fmt.Errorf("it needs %s, which this model does not have", output)
}

// errNoLabels is the error of a loss that is about factors of which nothing is known.
var errNoLabels = errors.New("it needs labels of the factors: want a supervision that gives them, such as {labels: {fraction: 0.1}}")

// validWeight checks a weight in a config.
func validWeight(w float64) error {
	if !(w >= 0) || w > 1e12 {
		return config.Invalid("weight", "want a number from 0 to 1e12, got %v", w)
	}
	return nil
}

// Register adds a loss of one's own, which a config can then name. A program calls it before it
// reads a config; a second one of a name is an error.
func Register(e registry.Entry[Loss]) error { return Registry.Register(e) }

// Named returns a loss by name with its defaults.
func Named(name string) (Choice, error) {
	c, err := Registry.Named(name)
	return Choice(c), err
}
