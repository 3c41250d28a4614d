// Package models builds the graphs of representation learners.
//
// A model owns named parameters and has one or more objectives. For each objective and batch size it builds a graph;
// its outputs are the inputs of losses (losses.Outputs). A model does not depend on optimisers or data files. A config
// chooses among the settings in [Registry].
//
// To write a model outside this module, implement [Settings] and [Model], and [Decoder], [Hierarchical] or [Staged]
// where they apply. End New with [Materialise], and call [Register]. Keep everything that changes from step to step in
// the parameters, as weights or as states (nn.Graph.State), because checkpoints contain nothing else.
// conformance.CheckModel tests a model.
package models

import (
	"context"
	"errors"
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// Data describes the images, factors and hierarchies that a model learns from.
type Data struct {
	Height, Width, Channels int
	Factors                 []factor.Factor
	Labels                  []factor.Factor // factors of the labels of the supervision; nil: none
	Rotations               int             // rotations in space of each labelled group; see supervision.Split
	Real                    bool            // pixels are any real numbers, not only in [0, 1]; see datasets.RealValued
	// actions that lead from image to image within labelled groups; nil: unknown
	Actions []supervision.Action

	Losses []losses.Choice // losses of the training, which models can ask for costs (losses.PerImage); nil: unknown

	Hierarchy hierarchy.Hierarchy // hierarchy of the data set's dimensions; nil: none
	Learned   *Learned            // result of an earlier stage, see Staged; nil: none
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

// Settings create a model. New initialises the parameters from the seed.
type Settings interface {
	New(data Data, seed uint64) (Model, error)
}

// Objective is a sum of losses that trains a model, on labelled or on unlabelled batches.
type Objective struct {
	Name     string
	Labelled bool
}

// Model is a representation learner.
type Model interface {
	// Params returns the parameters, which all graphs of the model share.
	Params() *nn.Params

	// Objectives lists the objectives for training: at most one for labelled and one for unlabelled batches.
	Objectives() []Objective

	// Build adds the graph of an objective on a batch of images. A labelled batch consists of groups of group images.
	Build(g *nn.Graph, o Objective, images, group int) (*Program, error)

	// Encode adds the graph from images, [n, H, W, C], to codes, [n, d], the deterministic representation for metrics.
	Encode(g *nn.Graph, images *gorgonia.Node) (*gorgonia.Node, error)

	// Spaces lists the parts of a code, in order.
	Spaces() []Space
}

// Decoder is implemented by models that map codes back to images.
type Decoder interface {
	// Decode adds the graph from codes, [n, d], to the mean pixels of the reconstructed images, [n, H, W, C]. The
	// result holds logits of pixels in [0, 1]. For real-valued images it holds the mean itself.
	Decode(g *nn.Graph, codes *gorgonia.Node) (*gorgonia.Node, error)
}

// Generative is implemented by models with a decoder and a prior over codes. They can draw images.
type Generative interface {
	// Prior draws a code from the prior and writes it in the layout of Decode.
	Prior(r *rng.Stream, code []float32)
}

// Hierarchical is implemented by models with a hierarchy of code dimensions.
type Hierarchical interface {
	Hierarchy() hierarchy.Hierarchy
}

// HierarchyOf returns the hierarchy of a model's codes. A [Hierarchical] model has a hierarchy itself. Codes with
// discrete columns get a flat hierarchy, with empty options in its categorical dimensions. Other models have nil.
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

// Starter is implemented by models with states that are computed from parameters at the start. EMA targets, for
// example, start as copies.
type Starter interface {
	// Started is called before training, after some parameters and states were loaded from another run or file. taken
	// reports whether a name was loaded. Started computes the other states and lists them.
	Started(taken func(name string) bool) (derived []string)
}

// Paced is implemented by models that use [Step.Progress] or [Early.Progress] only with some settings. Every other
// model with a [Program.After] or a [Program.Prelude] is assumed to use the progress.
type Paced interface {
	// Paced reports whether training depends on the progress, which is a fraction of its whole length.
	Paced() bool
}

// Space is a part of a code.
type Space struct {
	Name   string // "sphere", "euclidean"
	First  int    // its first column
	Width  int    // number of columns
	Circle bool   // the space is the unit circle
	Sphere bool   // the space is the unit sphere S^2
	Unit   bool   // points have length 1, as on circles and spheres of any dimension

	// Options, if above 0, says that the space is categorical with this number of options. Its single column contains
	// the number of the option, from 1, or 0 for none. Decode rounds to the nearest option. Such spaces come first, as
	// in the layout for metrics (hierarchy.Hierarchy).
	Options int
}

// Program is the graph of an objective: its outputs, and the inputs that must be filled before every step.
type Program struct {
	Outputs         *losses.Outputs
	Views           []*gorgonia.Node // inputs of augmented views of the batch, [n, H, W, C] each; nil: the input is Outputs.Images
	Noise           []*gorgonia.Node // inputs of standard normal numbers, sampled for every step
	Transformations []Transformation // for a labelled objective
	Actions         *gorgonia.Node   // for a labelled objective, [images, Data.Actions]: 1 for the action that leads from the previous image to this one, all 0 for the first image of a group; nil: the model uses no actions

	Schedules []losses.Schedule // inputs that change with the updates of training, such as a temperature
	Prelude   *Prelude          // runs before each step; nil: nothing

	Logged  []Logged           // scalars to log in addition to the losses
	Targets *Targets           // EMA targets; nil: none
	Queue   *Queue             // queue of keys; nil: none
	Kept    []*gorgonia.Node   // nodes that After uses
	After   func(s Step) error // updates other states after the gradient step; nil: no such states
}

// Targets are EMA targets. After every update they move towards the parameters. The momentum depends on the progress of
// training before the step, from 0 to 1.
type Targets struct {
	*nn.Average
	Momentum func(progress float64) float64
}

// Queue is a queue of keys. After every batch its keys overwrite the oldest columns.
type Queue struct {
	Keys    *gorgonia.Node // [n, width], n at most the capacity
	Columns *gorgonia.Node // state, [width, capacity]
	Next    *gorgonia.Node // state, [1]: index of the oldest column
}

// Push overwrites the oldest columns with keys, and advances the index.
func (q *Queue) Push(keys []float32) {
	columns, next := nn.Data(q.Columns), nn.Data(q.Next)
	width, capacity := q.Columns.Shape()[0], q.Columns.Shape()[1]
	column := int(next[0])
	for row := 0; row < len(keys); row += width {
		for i, v := range keys[row : row+width] {
			columns[i*capacity+column] = v
		}
		column = (column + 1) % capacity
	}
	next[0] = float32(column)
}

// Logged is a scalar that is logged and does not affect training.
type Logged struct {
	Name string
	Node *gorgonia.Node
}

// Step is a step of training.
type Step struct {
	Progress float64 // fraction of training before the step, from 0 to 1

	// Accumulating says that this step only accumulates gradients and leaves the parameters unchanged. EMA targets must
	// not move then.
	Accumulating bool

	Value func(*gorgonia.Node) []float32 // value of a kept node in the step
}

// Transformation is an input of group elements, [images, columns], from the first image of each group.
type Transformation struct {
	Node    *gorgonia.Node
	Columns []int // columns of a batch's transformations: a factor's angle in radians, or the four numbers of a rotation
}

// Staged is implemented by settings of models that learn in stages. Another model is trained first. The result
// learned from its codes, [Learned], becomes part of the [Data] for New. The first stage is a separate run, in a
// folder next to the model's run, which stores the result.
type Staged interface {
	Settings

	// Stage describes the stage before the model's own training; nil if these settings need none.
	Stage() *Stage

	// Known returns settings of the same model without a stage, for data sets that already contain the result. They are
	// used to estimate the cost of a run.
	Known() Settings
}

// Effective is implemented by models with settings that may have no effect. Effective returns equivalent settings, with
// defaults for all settings without effect. Changing such settings, or their defaults, then keeps the hash of a run.
type Effective interface {
	Effective() Settings
}

// Stage is a training stage before a model's own training, with its data set and settings, without supervision.
type Stage struct {
	Name   string   // name of the learner, such as mimosa: prefix of messages, and folder of the result
	Key    string   // setting that requires the stage; errors name it
	Model  Choice   // model to train
	Losses []string // names of the config's losses that train it; the config must contain at least one of them

	// Learn learns from the codes of the n training images, [n, width], in row-major order. Its result has a row for
	// each code. say prints progress, one line at a time.
	Learn func(ctx context.Context, codes []float32, width int, say func(line string)) (*Learned, error)
}

// Learned is a hierarchy of dimensions that a stage learned from codes, with the position of each image in it.
type Learned struct {
	Hierarchy hierarchy.Hierarchy

	// Labels has a row for each image and a column for each categorical dimension of the hierarchy: 1 + the option, 0
	// if the dimension is inactive, -1 if the option is unknown.
	Labels []int32

	// Components holds the component of each image's code, such as a cluster or manifold; -1: none, or not a training
	// image. nil: unknown.
	Components []int32

	// Parts holds the component of each image's code before components were merged or dropped; -1: none. nil: unknown.
	Parts []int32

	// Timings lists the durations of the stage's steps (nil: unknown).
	Timings []Timing
}

// Timing is the duration of a part of a run.
type Timing struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

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

	machines  []*machine.Machine
	machineOf map[*gorgonia.ExprGraph]*machine.Machine
}

// Run computes a pass, given its index, from the current values of its inputs.
func (e *Early) Run(pass int) error { return e.machines[pass].RunAll() }

// Value returns the elements of an output after the last run of its pass. They are valid until the next run.
func (e *Early) Value(n *gorgonia.Node) []float32 {
	return e.machineOf[n.Graph()].Value(n).(*tensor.Dense).Float32s()
}

// Machines returns the compiled passes.
func (e *Early) Machines() []*machine.Machine { return e.machines }

// Compile compiles the passes and returns the argument of Decide. Set Updates, Progress and Restart before every call.
func (p *Prelude) Compile() (*Early, error) {
	if p.Decide == nil {
		return nil, errors.New("the prelude of a step lacks the function Decide")
	}
	e := &Early{machineOf: map[*gorgonia.ExprGraph]*machine.Machine{}}
	for i, pass := range p.Passes {
		if pass.Graph == nil || len(pass.Outputs) == 0 {
			return nil, fmt.Errorf("pass %d before a step has no outputs; want a graph and the nodes to read", i)
		}
		m, err := machine.New(pass.Graph.ExprGraph, pass.Outputs...)
		if err != nil {
			return nil, fmt.Errorf("pass %d before a step: %w", i, err)
		}
		e.machines = append(e.machines, m)
		e.machineOf[pass.Graph.ExprGraph] = m
	}
	return e, nil
}
