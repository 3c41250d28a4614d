package train

import (
	"context"
	"errors"
	"fmt"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/catalog"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/internal/learned"
)

// Validation says on which images losses are measured that do not train the model.
type Validation struct {
	Fraction float64         `yaml:"fraction" doc:"fraction of images held out of training at random, in addition to hold_out"`
	Dataset  *catalog.Choice `yaml:"dataset" doc:"instead of fraction: another data set with images of the same shape"`
	Every    int             `yaml:"every" doc:"epochs between measurements"`
}

// SetDefaults implements config.Defaulter.
func (v *Validation) SetDefaults() { v.Every = 1 }

// Validate checks the settings.
func (v *Validation) Validate() error {
	switch {
	case v.Dataset == nil && !(v.Fraction > 0 && v.Fraction < 1):
		return config.Invalid("fraction", "%v is out of range; want more than 0 and less than 1, or dataset", v.Fraction)
	case v.Dataset != nil && v.Fraction != 0:
		return config.Invalid("dataset", "both fraction and dataset are given; want only one of them")
	case v.Every < 1:
		return config.Invalid("every", "%d is out of range; want 1 or more", v.Every)
	}
	return nil
}

// newValidation prepares the validation of the config; nil without one.
func (e *Experiment) newValidation(l *engine.Loop) (*engine.Validation, error) {
	v := e.Config.Train.Validation
	if v == nil {
		return nil, nil
	}
	d, images := e.Data, e.validated
	if v.Dataset != nil {
		var err error
		if d, err = v.Dataset.Build(e.Config.Seed); err != nil {
			return nil, e.Config.mistake("train.validation.dataset."+v.Dataset.Name, err)
		}
		if err := e.suitsModel(d); err != nil {
			return nil, e.Config.mistake("train.validation.dataset", err)
		}
		images = all(d)
	}
	split, err := e.Config.Supervision.Split(d, e.Config.Seed) // anew: training has forgotten the labels of held-out images
	if err != nil {
		return nil, e.Config.mistake("train.validation", fmt.Errorf("supervision of its images: %w", err))
	}
	known := split.Known
	if e.Learned != nil && v.Dataset == nil {
		if known, err = learned.Join(e.Learned, known); err != nil {
			return nil, e.Config.mistake("train.validation", err)
		}
	}
	if e.Learned != nil && v.Dataset != nil {
		return nil, e.Config.mistake("train.validation.dataset", errors.New("the stage before assigns labels to the images of the run alone; want fraction"))
	}
	made, err := l.NewValidation(d, &supervision.Split{Unlabelled: images, Known: known}, e.Config.Seed)
	if err != nil {
		return nil, e.Config.mistake("train.validation", err)
	}
	return made, nil
}

// losses lists the losses of every objective in the order of the config, and then the validation losses.
func (e *Experiment) losses(l *engine.Loop) []engine.ObjectiveLoss {
	list := l.Losses()
	if e.validation != nil {
		list = append(list, engine.ObjectiveLoss{Objective: engine.ValidationName, Names: e.validation.Names()})
	}
	return list
}

// validationHook adds the validation losses to the losses of an epoch, before the log and early stopping see them.
func validationHook(v *engine.Validation, every int) engine.Hook {
	return engine.Hook{Name: "validation", Priority: validationPriority, OnEpoch: engine.EveryEpochs(every, func(ctx context.Context, _ *engine.Loop, r *engine.EpochReport) error {
		found, err := v.Measure(ctx)
		if err == nil {
			r.Losses = append(r.Losses, found)
		}
		return err
	})}
}
