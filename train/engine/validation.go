package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/models"
)

// ValidationName is the name of validation losses among the losses of objectives.
const ValidationName = "validation"

// Validation measures the losses of images that are not used for training. The model is in evaluation mode: batch norm
// uses its running statistics, and there is no dropout. Order, noise and views come from separate random streams, and
// every measurement starts them anew. A measurement therefore does not affect training or later measurements.
type Validation struct {
	loop      *Loop
	plan      *plan
	objective models.Objective
	seed      uint64
	programs  map[int]*program // by batch size
	names     []string
}

// NewValidation prepares the measurement of the losses of unlabelled images. It uses the unlabelled images and the
// known labels of split.
func (l *Loop) NewValidation(d datasets.Dataset, split *supervision.Split, seed uint64) (*Validation, error) {
	o, err := l.plan.objective(false)
	if err != nil || len(losses.Unsupervised(l.plan.losses)) == 0 {
		return nil, errors.New("all losses are about groups of images, and validation has images in no group; want a loss of single images, or no validation")
	}
	if len(split.Unlabelled) == 0 {
		return nil, errors.New("there are no images for validation")
	}
	p := *l.plan
	p.data, p.factors, p.precision = d, d.Factors(), Float32 // as in encoding
	p.split = &supervision.Split{Unlabelled: split.Unlabelled, Known: split.Known}
	p.population = population(p.split, d)
	v := &Validation{loop: l, plan: &p, objective: o, seed: seed, programs: map[int]*program{}}
	compiled, err := v.program(min(l.settings.Batch, len(split.Unlabelled)))
	if err != nil {
		return nil, err
	}
	v.names = []string{"loss"}
	for _, part := range compiled.loss.Parts {
		v.names = append(v.names, part.Name)
	}
	return v, nil
}

// Names lists the losses: the sum, then its parts.
func (v *Validation) Names() []string { return v.names }

func (v *Validation) program(images int) (*program, error) {
	if p := v.programs[images]; p != nil {
		return p, nil
	}
	p, err := v.plan.compileEvaluation(v.objective, images)
	if err != nil {
		return nil, fmt.Errorf("validation: %w", err)
	}
	v.programs[images] = p
	return p, nil
}

// compileEvaluation builds the losses of an objective without gradients, in evaluation mode.
func (l *plan) compileEvaluation(o models.Objective, images int) (*program, error) {
	p, err := l.assemble(o, images, 1, false)
	if err != nil {
		return nil, err
	}
	if p.prelude, err = l.newPrelude(p.built.Prelude); err != nil {
		return nil, err
	}
	p.losses = append(append(p.losses, p.loss.Total), p.loss.Nodes()...)
	p.values = make([]float64, len(p.losses))
	p.machine, err = l.machine(p.losses, machine.Kept{})
	return p, err
}

// Measure returns the mean losses over all images, ErrStopped, or an error for a NaN or infinite loss.
func (v *Validation) Measure(ctx context.Context) (ObjectiveLoss, error) {
	sampler, err := supervision.NewSampler(v.plan.split, v.loop.settings.Batch, rng.New(v.seed, "validation batch"))
	if err != nil {
		return ObjectiveLoss{}, err
	}
	loader, err := newLoader(v.plan.data, sampler, v.plan.views, v.seed, "validation views")
	if err != nil {
		return ObjectiveLoss{}, err
	}
	defer loader.Close()
	if err := loader.StartEpoch(); err != nil {
		return ObjectiveLoss{}, err
	}
	noise, sum := rng.New(v.seed, "validation noise"), &LossSum{Names: v.names, Sums: make([]float64, len(v.names))}
	for {
		batch, images, ok := loader.Next()
		if !ok {
			break
		}
		if ctx.Err() != nil {
			return ObjectiveLoss{}, ErrStopped
		}
		p, err := v.program(len(batch.Indices))
		if err != nil {
			return ObjectiveLoss{}, err
		}
		p.fill(images, loader.Views(), batch, 0, v.loop.pos.updates, noise)
		if err = v.decideAgain(p); err == nil {
			err = p.measure()
		}
		if err != nil {
			return ObjectiveLoss{}, fmt.Errorf("validation: %w", err)
		}
		for i, x := range p.values {
			if !finite(x) {
				return ObjectiveLoss{}, fmt.Errorf("validation: the loss %s is %v after step %d; look at the held-out images, or %s", v.names[i], x, v.loop.pos.step, v.loop.advice(", or train.clip"))
			}
			sum.Sums[i] += x * float64(len(batch.Indices))
		}
		sum.Images += len(batch.Indices)
	}
	return ObjectiveLoss{Objective: ValidationName, Names: v.names, Values: sum.means()}, nil
}
