package models

import (
	"context"

	"github.com/unravel-ml/unravel/models/hierarchy"
)

// Staged is implemented by settings of models that learn in stages: another model is trained first, and what is
// learned from its codes, [Learned], is part of the [Data] that New gets. The first stage is a run of its own in a folder
// beside the model's run, which stores what was learned.
type Staged interface {
	Settings

	// Stage describes the stage before the model's own training; nil if these settings need none.
	Stage() *Stage

	// Known returns settings of the same model that need no stage, because the data set knows what would be
	// learned. They estimate the cost of a run.
	Known() Settings
}

// Stage is the training that comes before a model's own. It has the model's data set and training settings,
// and no supervision.
type Stage struct {
	Name   string   // name of the learner, such as mimosa: the prefix of messages, and the folder of what is learned
	Key    string   // setting that asks for the stage, to which errors point
	Model  Choice   // model to train
	Losses []string // names of the config's losses that train it; the config needs one of them or more

	// Learn learns from the codes of the n images that were trained on, [n, width] row by row. Its result has a row
	// for each code. say reports progress, a line at a time.
	Learn func(ctx context.Context, codes []float32, width int, say func(line string)) (*Learned, error)
}

// Learned is a hierarchy of dimensions that a stage learned from codes, and the images' places in it.
type Learned struct {
	Hierarchy hierarchy.Hierarchy

	// Labels has a row for each image and a column for each categorical dimension of the hierarchy: 1 + the
	// option, 0 where the image lacks the dimension, -1 where nothing is known.
	Labels []int32

	// Components has the component, such as a cluster or manifold, that each image's code belongs to; -1: none, or
	// the image was not trained on. nil: not known.
	Components []int32

	// Parts has the component that each image's code belonged to before components were merged or dropped; -1: none. nil: not known.
	Parts []int32

	// Timings says how long the stage took, in its own steps; none: not known.
	Timings []Timing
}

// Timing is how long a part of a run took.
type Timing struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}
