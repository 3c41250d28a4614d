// Package models builds the graphs of representation learners.
//
// A model owns named parameters and offers one or several objectives. For each
// it builds, for a given number of images, a graph that ends in the outputs that
// losses need (losses.Outputs); it knows nothing of losses, optimisers or data
// files. The settings structs in Registry are what a config can choose.
package models

import (
	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/factor"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/hierarchy"
	"github.com/unravel-ml/unravel/losses"
)

// Data says what a model is to learn from.
type Data struct {
	Height, Width, Channels int
	Factors                 []factor.Factor
	Rotations               int  // rotations in space that labelled groups come with; see datasets.Split
	Real                    bool // pixels are any numbers, not in [0, 1]; see datasets.RealValued

	Hierarchy hierarchy.Hierarchy // of the data set's dimensions; nil: none
	Learned   *Learned            // by an earlier stage, see Staged; nil: there was none
}

// DataOf describes a data set.
func DataOf(d datasets.Dataset) Data {
	h, w, c := d.ImageShape()
	data := Data{Height: h, Width: w, Channels: c, Factors: d.Factors(), Real: datasets.RealValued(d)}
	if x, ok := d.(datasets.Hierarchical); ok {
		data.Hierarchy = x.Hierarchy()
	}
	return data
}

// Settings make a model; its parameters are initialised from the seed.
type Settings interface {
	New(data Data, seed uint64) (Model, error)
}

// Objective is one of the sums of losses that a model is trained on. A step
// takes a batch that is labelled or not as the objective says.
type Objective struct {
	Name     string
	Labelled bool
}

// Model is a representation learner.
type Model interface {
	Params() *nn.Params

	// Objectives are those that the model can be trained on, at most one for
	// labelled and one for unlabelled batches.
	Objectives() []Objective

	// Build adds the graph of an objective on a batch of images; a labelled
	// batch consists of groups of group images.
	Build(g *nn.Graph, o Objective, images, group int) (*Program, error)

	// Encode adds the graph from images, [n, H, W, C], to codes, [n, d]: the
	// deterministic representation that metrics measure.
	Encode(g *nn.Graph, images *gorgonia.Node) (*gorgonia.Node, error)

	// Spaces lists the parts of a code, in order.
	Spaces() []Space
}

// Decoder is implemented by models that can go back from codes to images.
type Decoder interface {
	// Decode adds the graph from codes, [n, d], to the mean of the reconstructed
	// images' pixels, [n, H, W, C], as logits of pixels in [0, 1], or, of real-valued
	// images, the mean itself.
	Decode(g *nn.Graph, codes *gorgonia.Node) (*gorgonia.Node, error)
}

// Hierarchical is implemented by models whose codes have a hierarchy of dimensions.
type Hierarchical interface {
	Hierarchy() hierarchy.Hierarchy
}

// Space is a part of a code.
type Space struct {
	Name   string // "sphere", "euclidean"
	First  int    // its first column
	Width  int    // how many columns it has
	Circle bool   // whether it is the unit circle
}

// Program is the graph of an objective: what it computes, and the inputs to fill before every step.
type Program struct {
	Outputs         *losses.Outputs
	Views           []*gorgonia.Node // inputs of augmented views of the batch, [n, H, W, C] each; nil: the model takes Outputs.Images
	Noise           []*gorgonia.Node // standard normal numbers, drawn anew for every step
	Transformations []Transformation // of a labelled objective

	Logged []Logged           // numbers that are logged like losses
	Kept   []*gorgonia.Node   // nodes whose values After asks for
	After  func(s Step) error // changes the states of the model after a step, once its parameters are updated; nil: there are none
}

// Logged is a scalar that says how training goes, without being minimised.
type Logged struct {
	Name string
	Node *gorgonia.Node
}

// Step is a step of training.
type Step struct {
	Progress float64                        // the part of training before it, from 0 to 1
	Value    func(*gorgonia.Node) []float32 // of a kept node, in the step
}

// Transformation is an input of group elements, [images, columns]: moves relative to the
// first image of the group.
type Transformation struct {
	Node    *gorgonia.Node
	Columns []int // of a batch's moves: a factor's angle, or the numbers of a rotation
}
