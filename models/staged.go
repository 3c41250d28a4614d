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

	// Known returns settings of the same model without a stage, for data sets that already contain the result. They are
	// used to estimate the cost of a run.
	Known() Settings
}

// Effective is implemented by models with settings that may have no effect. Effective returns equivalent settings, with
// defaults for all settings without effect. Then changing such settings, or their defaults, does not change the hash of
// a run.
type Effective interface {
	Effective() Settings
}

// Stage is a training stage that comes before a model's own training. It uses the model's data set and training
// settings, but no supervision.
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
