// Package models builds the graphs of representation learners.
//
// A model owns named parameters and offers one or several objectives. For each it builds, for a given number of
// images, a graph that ends in the outputs that losses need (losses.Outputs); it does not depend on optimisers
// or data files. A config chooses among the settings in [Registry].
//
// To write a model outside this module, implement [Settings] and [Model] (and [Decoder], [Hierarchical] or [Staged]
// where they apply), end New with [Materialise], and call [Register]. All that a step changes belongs into the parameters, as
// weights or as states (nn.Graph.State): checkpoints hold nothing else. conformance.CheckModel tests it.
package models

import (
	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// Data describes the images, factors and hierarchies that a model learns from.
type Data struct {
	Height, Width, Channels int
	Factors                 []factor.Factor
	Rotations               int               // rotations in space of each labelled group; see datasets.Split
	Real                    bool              // pixels are any real numbers, not in [0, 1]; see datasets.RealValued
	Actions                 []datasets.Action // that lead from image to image within labelled groups; nil: they are not known

	Losses []losses.Choice // that the model is trained with, of which models may ask costs (losses.PerImage); nil: not known

	Hierarchy hierarchy.Hierarchy // of the data set's dimensions; nil: none
	Learned   *Learned            // by an earlier stage, see Staged; nil: there was none
}

// DataOf returns the description of a data set.
func DataOf(d datasets.Dataset) Data {
	h, w, c := d.ImageShape()
	data := Data{Height: h, Width: w, Channels: c, Factors: d.Factors(), Real: datasets.RealValued(d)}
	data.Rotations = len(poseNames(data.Factors))
	if x, ok := d.(datasets.Hierarchical); ok {
		data.Hierarchy = x.Hierarchy()
	}
	return data
}

// Settings make a model; its parameters are initialised from the seed.
type Settings interface {
	New(data Data, seed uint64) (Model, error)
}

// Objective is one of the sums of losses that a model is trained on, for labelled batches or for unlabelled ones.
type Objective struct {
	Name     string
	Labelled bool
}

// Model is a representation learner.
type Model interface {
	Params() *nn.Params

	// Objectives lists what the model can be trained on: at most one objective for
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

// Generative is implemented by models with a decoder and a prior distribution of codes, from which images can be drawn.
type Generative interface {
	// Prior writes a code that is drawn from the prior, in the layout of Decode.
	Prior(r *rng.Stream, code []float32)
}

// Hierarchical is implemented by models whose codes have a hierarchy of dimensions.
type Hierarchical interface {
	Hierarchy() hierarchy.Hierarchy
}

// HierarchyOf returns the hierarchy of a model's codes: that of a [Hierarchical] model; of codes with discrete columns a flat
// one, whose categorical dimensions have empty options; nil for others.
func HierarchyOf(m Model) hierarchy.Hierarchy {
	if h, ok := m.(Hierarchical); ok {
		return h.Hierarchy()
	}
	var flat hierarchy.Hierarchy
	discrete := false
	for _, s := range m.Spaces() {
		if s.Options > 0 {
			discrete = true
			flat = append(flat, hierarchy.Node{Options: make([]hierarchy.Hierarchy, s.Options)})
			continue
		}
		flat = append(flat, make(hierarchy.Hierarchy, s.Width)...)
	}
	if !discrete {
		return nil
	}
	return flat
}

// Starter is implemented by models with states that follow from parameters at the start, such as EMA targets, which are copies.
type Starter interface {
	// Started is called before training, after some parameters and states were set to values from elsewhere, which taken
	// reports. It derives states that were not, and lists them.
	Started(taken func(name string) bool) (derived []string)
}

// Paced is implemented by models that use [Step.Progress] or [Early.Progress] with some settings only. Any other model with a
// [Program.After] or a [Program.Prelude] counts as using it.
type Paced interface {
	// Paced reports whether training depends on its progress, a fraction of its whole length.
	Paced() bool
}

// Space is a part of a code.
type Space struct {
	Name   string // "sphere", "euclidean"
	First  int    // its first column
	Width  int    // how many columns it has
	Circle bool   // whether it is the unit circle
	Sphere bool   // whether it is the unit sphere in space, S^2
	Unit   bool   // whether its points have length 1: circles, and spheres of any dimension

	// Options, if above 0, says that the space is a choice among so many options. Its one column of a code is the number of the
	// chosen option, from 1, or 0 where none is; Decode takes the nearest option. Such spaces come before all others, which is the
	// layout of hierarchy.Hierarchy for metrics.
	Options int
}

// Program is the graph of an objective: its outputs, and the inputs to fill before every step.
type Program struct {
	Outputs         *losses.Outputs
	Views           []*gorgonia.Node // inputs of augmented views of the batch, [n, H, W, C] each; nil: the input is Outputs.Images
	Noise           []*gorgonia.Node // inputs of standard normal numbers, sampled for every step
	Transformations []Transformation // of a labelled objective
	Actions         *gorgonia.Node   // of a labelled objective, [images, Data.Actions]: 1 for the action that leads to an image from the one before, all 0 for a group's first; nil: the model takes none

	Schedules []losses.Schedule // inputs that change with the updates of training, such as a temperature
	Prelude   *Prelude          // what the step begins with; nil: nothing

	Logged []Logged           // scalars that are logged beside the losses
	Kept   []*gorgonia.Node   // nodes whose values After asks for
	After  func(s Step) error // updates states (EMA target, queue) after the gradient step; nil: there are none
}

// Logged is a scalar that is logged and not minimised.
type Logged struct {
	Name string
	Node *gorgonia.Node
}

// Step is a step of training.
type Step struct {
	Progress float64 // fraction of training before the step, from 0 to 1

	// Accumulating says that the parameters have not changed: the step's gradient waits for those of further batches. EMA targets
	// stay as they are then.
	Accumulating bool

	Value func(*gorgonia.Node) []float32 // value of a kept node in the step
}

// Transformation is an input of group elements, [images, columns]: transformations from the first image of each
// group.
type Transformation struct {
	Node    *gorgonia.Node
	Columns []int // columns of a batch's transformations: a factor's angle in radians, or the four numbers of a rotation
}
