package models

import (
	"context"

	"github.com/unravel-ml/unravel/models/hierarchy"
)

// Staged is implemented by settings of models that learn in stages. Another model is trained first. The result
// learned from its codes, [Learned], becomes part of the [Data] for New. The first stage is a separate run, in a
// folder next to the model's run, which stores the result.
type Staged interface {
	Settings

	// Stage describes the stage before the model's own training; nil if these settings need none.
	Stage() *Stage

	// Known returns settings of the same model without a stage, because the data set already knows the result. They
	// serve to estimate the cost of a run.
	Known() Settings
}

// Effective is implemented by settings that may have no effect. Effective returns equal settings, with defaults for the
// settings without effect. Changes of these settings and of their defaults then leave a run's hash as it is.
type Effective interface {
	Effective() Settings
}

// Stage is the training before a model's own training. It uses the model's data set and training settings, and no
// supervision.
type Stage struct {
	Name   string   // name of the learner, such as mimosa: the prefix of messages, and the folder of the result
	Key    string   // setting that causes the stage; errors point to it
	Model  Choice   // model to train
	Losses []string // names of the config's losses that train it; the config needs at least one of them

	// Learn learns from the codes of the n training images, [n, width] row by row. Its result has a row for each
	// code. say reports progress, a line at a time.
	Learn func(ctx context.Context, codes []float32, width int, say func(line string)) (*Learned, error)
}

// Learned is a hierarchy of dimensions that a stage learned from codes, with the place of each image in it.
type Learned struct {
	Hierarchy hierarchy.Hierarchy

	// Labels has a row for each image and a column for each categorical dimension of the hierarchy: 1 + the option, 0
	// if the image lacks the dimension, -1 if the option is not known.
	Labels []int32

	// Components holds the component of each image's code, such as a cluster or manifold; -1: none, or not a training
	// image. nil: not known.
	Components []int32

	// Parts holds the component of each image's code before components were merged or dropped; -1: none. nil: not
	// known.
	Parts []int32

	// Timings lists the durations of the stage's steps; none: not known.
	Timings []Timing
}

// Timing is the duration of a part of a run.
type Timing struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}
