// Package engine trains a model. It assembles batches, runs the program for each batch, lets the optimiser of the
// program's objective update the parameters, and calls hooks. Logs, checkpoints, measuring and early stopping are hooks
// of package train or of other callers; see [Hook].
package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/augment"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train/engine/internal/notes"
)

// Task describes the model to train, the data and the losses.
type Task struct {
	Model  models.Model
	Data   datasets.Dataset
	Split  *supervision.Split // training images, known labels and groups; nil: all images, without supervision
	Views  *augment.Views     // nil: the model gets unchanged images
	Losses []losses.Choice
	// patterns of parameters that do not change (nn.Match); they have no gradient, moments or decay; see
	// nn.Graph.Frozen
	Freeze []string
	Seed   uint64 // seed for the order of batches, for noise and for discriminators
}

// Settings describes how to train. [NewSettings] returns the defaults.
type Settings struct {
	Epochs     int // passes over the data
	EpochSteps int // number of steps after which an epoch ends; 0: a full pass
	Batch      int // images in a batch; a labelled batch has as many whole groups as fit, and at least one
	Optimizer  OptimizerSettings
	Parts      []Part // optimiser options for parameters by name; later parts override earlier ones
	Schedule   Schedule
	Warmup     Span // the time during which the learning rate rises from 0
	Precision  Precision
	Device     Device  // device for the programs; empty: the CPU
	Clip       float64 // maximum norm of the gradient of all parameters; 0: no limit
	// number of batches of an objective for one update, which uses the mean of their gradients over images; 0: 1
	Accumulate int
	Average    *Average // settings of averaged weights; nil: no average
}

// NewSettings returns 20 epochs with batches of 64, and Adam with a constant learning rate of 0.001.
func NewSettings() Settings {
	return Settings{Epochs: 20, Batch: 64, Optimizer: NewAdam(), Schedule: &Constant{}}
}

// Error is the error of [New] about a part of a task or its settings. Key is the config key of that part:
// "train.batch", "losses", "supervision" or "views". To fix the error, change the value of this key.
type Error struct {
	Key string
	Err error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

func (t *Task) validate(s *Settings) error {
	switch {
	case t.Model == nil:
		return config.Invalid("model", "there is none; want a model")
	case t.Data == nil:
		return config.Invalid("dataset", "there is none; want images")
	case len(t.Losses) == 0:
		return config.Invalid("losses", "there are none; want at least one loss")
	case s.Batch < 1:
		return config.Invalid("train.batch", "%d images; want 1 or more", s.Batch)
	case s.Epochs < 0:
		return config.Invalid("train.epochs", "%d; want 0 or more", s.Epochs)
	case s.Optimizer == nil:
		return config.Invalid("train.optimizer", "there is none; want, for example, NewAdam()")
	case s.Accumulate < 0:
		return config.Invalid("train.accumulate", "%d batches; want 1 or more", s.Accumulate)
	case !s.Warmup.check():
		return config.Invalid("train.warmup", "%+v is no length of training; want epochs or steps from 0 on", s.Warmup)
	case s.Schedule == nil:
		return config.Invalid("train.schedule", "there is none; want, for example, &Constant{}")
	}
	return config.ValidateParts(&struct {
		Losses    []losses.Choice   `yaml:"losses"`
		Optimizer OptimizerSettings `yaml:"train.optimizer"`
		Schedule  Schedule          `yaml:"train.schedule"`
		Views     *augment.Views    `yaml:"views"`
	}{t.Losses, s.Optimizer, s.Schedule, t.Views})
}

// population returns the number of images that batches are drawn from. Groups may hold any image of the data set.
func population(s *supervision.Split, d datasets.Dataset) int {
	if s.GroupCount() > 0 {
		return d.Len()
	}
	return len(s.Unlabelled)
}

// New prepares training. It compiles the programs for the first batches, so it reports tasks that cannot work.
func New(t Task, s Settings) (*Loop, error) { return newOn(t, s, s.Device.Open) }

// newOn is New on the device that open returns.
func newOn(t Task, s Settings, open func() (*machine.Device, error)) (*Loop, error) {
	if err := t.validate(&s); err != nil {
		return nil, err
	}
	if err := s.Precision.Check(); err != nil {
		return nil, &Error{"train.precision", err}
	}
	split, views := t.Split, t.Views
	if split == nil {
		split = &supervision.Split{Unlabelled: numeric.UpTo(t.Data.Len())}
	}
	if err := split.Validate(t.Data); err != nil {
		return nil, &Error{"supervision", err}
	}
	l := &Loop{settings: s, programs: map[batchShape]*program{}, discriminators: map[string]Optimizer{},
		pending: map[string]*accumulator{}, sideParameters: map[string][]string{},
		feed: &feed{split: split, noise: rng.New(t.Seed, "noise"), permute: rng.New(t.Seed, "permute")},
		pos:  position{sums: map[string]*LossSum{}},
		plan: &plan{model: t.Model, data: t.Data, factors: t.Data.Factors(), views: views, losses: t.Losses, split: split,
			population: population(split, t.Data),
			precision:  s.Precision, discriminators: nn.NewParams(t.Seed), frozen: frozenBy(t.Freeze),
			dropout: rng.New(t.Seed, "dropout")}}
	params := t.Model.Params()
	if err := cmp.Or(checkFreeze(t.Freeze, params), l.plan.checkGroups(), s.Average.check(), checkParts(s.Parts, params)); err != nil {
		return nil, err
	}
	l.leaveOut()
	var err error
	if l.feed.sampler, err = supervision.NewSampler(l.feed.split, s.Batch, rng.New(t.Seed, "batch")); err != nil {
		return nil, &Error{"train.batch", err}
	}
	if err := l.fitsLoading(l.feed.sampler.MaxBatch()); err != nil { // before images are loaded
		return nil, err
	}
	if l.feed.loader, err = newLoader(t.Data, l.feed.sampler, views, t.Seed, "views"); err != nil {
		return nil, err
	}
	if err = l.useDevice(open); err == nil {
		err = l.compile(t, s)
	}
	if err != nil {
		l.feed.close()
		l.closeDevice()
		return nil, err
	}
	return l, nil
}

// leaveOut excludes images without a group if all losses need groups.
func (l *Loop) leaveOut() {
	f := l.feed
	if f.split.GroupCount() > 0 && len(losses.Unsupervised(l.plan.losses)) == 0 {
		split := *f.split
		split.Unlabelled = nil
		l.leftOut, f.split = len(f.split.Unlabelled), &split
	}
}

// compile prepares the objectives that have images, and second batches if a discriminator needs them.
func (l *Loop) compile(t Task, s Settings) (err error) {
	split := l.feed.split
	for _, o := range []struct {
		labelled bool
		images   int
	}{{true, split.GroupCount()}, {false, len(split.Unlabelled)}} {
		if o.images == 0 {
			continue
		}
		if err := l.prepare(o.labelled); err != nil {
			return err
		}
	}
	l.average = l.newAverage()
	order := l.plan.objectives()
	slices.SortFunc(l.objectives,
		func(a, b *objective) int { return slices.Index(order, a.Objective) - slices.Index(order, b.Objective) })
	for shape, p := range l.programs {
		o, err := l.objective(shape.labelled)
		if err == nil {
			err = l.attach(o, p)
		}
		if err != nil {
			return l.suggestBatch(err, shape.images)
		}
	}
	if l.needsSecond() {
		l.feed.second, err = newSecondBatches(t.Data, split, t.Views, s.Batch, t.Seed)
	}
	return err
}

// objective is an objective of the model, with the data that its programs share.
type objective struct {
	models.Objective
	optimizer  Optimizer
	pending    *accumulator
	names      []string // names of the parameters
	losses     []string // see program.lossNames
	notes      []string
	hasDropout bool // its programs have dropout masks
	steps      int  // steps in this process
}

type batchShape struct {
	labelled      bool
	images, group int
}

// prepare compiles the objective for labelled or unlabelled batches, and creates its optimiser.
func (l *Loop) prepare(labelled bool) error {
	found, err := l.plan.objective(labelled)
	if err != nil {
		return err
	}
	shapes := []batchShape{{false, min(l.settings.Batch, len(l.feed.split.Unlabelled)), 1}}
	if labelled {
		shapes = nil
		for _, kind := range l.feed.split.Kinds() {
			shapes = append(shapes, batchShape{true, min(max(1, l.settings.Batch/kind.M), kind.Count) * kind.M, kind.M})
		}
	}
	var p *program // the last program; all have the same parameters and losses
	for _, shape := range shapes {
		if p, err = l.program(found, shape); err != nil {
			return err
		}
	}
	o := &objective{Objective: found, names: p.names, losses: p.lossNames(),
		notes:      slices.Concat(notes.List(p.requests.Notes), p.noteSingleElement(), p.noteIdleLosses()),
		hasDropout: len(p.masks) > 0}
	parameters := parametersOf(l.plan.model.Params(), p.names)
	if o.optimizer, err = l.settings.newOptimizer(parameters); err != nil {
		return err
	}
	o.pending = l.settings.newAccumulator(parameters)
	l.objectives = append(l.objectives, o)
	for _, b := range p.sideNetworks() {
		if l.discriminators[b.name] != nil { // another program has created it
			continue
		}
		parameters := parametersOf(l.plan.discriminators, b.names)
		l.discriminators[b.name] = b.adam.New(parameters)
		if l.settings.Accumulate > 1 {
			l.pending[b.name], l.sideParameters[b.name] = l.settings.newAccumulator(parameters), b.names
		}
	}
	return nil
}

func (l *Loop) program(o models.Objective, shape batchShape) (*program, error) {
	if p := l.programs[shape]; p != nil {
		return p, nil
	}
	// before inputs are allocated
	if err := l.plan.fits(stepMemory{images: shape.images, bytes: l.plan.imageBytes(shape.images, 1)}); err != nil {
		return nil, err
	}
	p, err := l.plan.compile(o, shape.images, shape.group)
	if err != nil {
		return nil, l.suggestBatch(err, shape.images)
	}
	if err := l.fitsProgram(p, shape.images); err != nil {
		return nil, fmt.Errorf("objective %s: %w", o.Name, err)
	}
	l.programs[shape] = p
	return p, nil
}

func (l *Loop) objective(labelled bool) (*objective, error) {
	for _, o := range l.objectives {
		if o.Labelled == labelled {
			return o, nil
		}
	}
	return nil, errors.New("a batch of images that no objective was prepared for")
}

// Notes lists the messages that losses print before training, and after an epoch also what all its batches show.
func (l *Loop) Notes() []string {
	var list []string
	steps := 0
	for _, o := range l.objectives {
		list, steps = append(list, o.notes...), steps+o.steps
	}
	if steps >= l.EpochSteps() {
		list = append(list, l.noteBatches()...)
	}
	if n := notes.Unreached(l.feed.split, l.settings.Batch, l.settings.EpochSteps); n > 0 {
		list = append(list, fmt.Sprintf("no step uses %s: every epoch ends after %s, which labelled groups take; "+
			"want a larger train.epoch_steps", wording.Count(n, "image"), wording.Count(l.settings.EpochSteps, "step")))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// noteBatches lists the messages of losses that the batches of no program contradict.
func (l *Loop) noteBatches() []string {
	var ran []notes.Program
	for _, p := range l.programs {
		if p.ran {
			ran = append(ran, notes.Program{Losses: p.lossNames(), Sentences: notes.List(p.requests.Notes)})
		}
	}
	return notes.Common(ran)
}

// MaxBatch returns the number of images in the largest batch. It is smaller than the setting if there are fewer images.
func (l *Loop) MaxBatch() int { return l.feed.sampler.MaxBatch() }

// LeftOut returns the number of images that training excludes: images without a group if all losses need groups.
func (l *Loop) LeftOut() int { return l.leftOut }

// Untrained lists the parameters of the model that no loss depends on, without states and frozen parameters.
func (l *Loop) Untrained() []string {
	var trained, list []string
	for _, o := range l.objectives {
		trained = append(trained, o.names...)
	}
	params := l.plan.model.Params()
	for _, name := range params.Names() {
		if !params.IsState(name) && !slices.Contains(trained, name) && (l.plan.frozen == nil || !l.plan.frozen(name)) {
			list = append(list, name)
		}
	}
	return list
}
