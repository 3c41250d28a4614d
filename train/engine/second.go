package engine

import (
	"errors"
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/augment"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/rng"
)

// secondBatches provides further batches, in another order, for discriminators with the setting SecondBatch.
type secondBatches struct {
	sampler *supervision.Sampler
	loader  *supervision.Loader
	batch   supervision.Batch
	images  []float32
}

func (l *Loop) needsSecond() bool {
	for _, p := range l.programs {
		if p.second != nil {
			return true
		}
	}
	return false
}

// addSecond creates the program that encodes second batches, in a separate graph: operations store their values.
func (l *plan) addSecond(p *program, images, group int) error {
	if !slices.ContainsFunc(p.adversaries, func(a *adversary) bool { return a.settings.SecondBatch }) {
		return nil
	}
	q, err := l.assemble(p.objective, images, group, true)
	if err != nil {
		return err
	}
	var nodes gorgonia.Nodes
	for i, a := range q.requests.Adversaries {
		q.adversaries = append(q.adversaries, &adversary{codes: a.Codes, active: a.Active})
		if p.adversaries[i].settings.SecondBatch {
			nodes = append(nodes, q.adversaries[i].nodesRead()...)
		}
	}
	if q.machine, err = l.machine(nodes, machine.Kept{}); err != nil {
		return err
	}
	p.second = q
	return nil
}

// takeSecond encodes the second batch of a step with the updated parameters.
func (l *Loop) takeSecond(p *program) error {
	q := p.second
	if q == nil {
		return nil
	}
	second := l.feed.second
	q.fill(second.images, second.loader.Views(), second.batch, l.feed.split.K(), l.pos.updates, l.feed.noise)
	if err := q.machine.RunAll(); err != nil {
		return fmt.Errorf("second batch of the discriminators: %w", err)
	}
	for i, a := range p.adversaries {
		if !a.settings.SecondBatch {
			continue
		}
		a.second = floats(q.machine, q.adversaries[i].codes)
		if active := q.adversaries[i].active; active != nil {
			a.secondActive = floats(q.machine, active)
		}
	}
	return nil
}

// newSecondBatches creates a source of second batches, with its own random streams.
func newSecondBatches(d datasets.Dataset, split *supervision.Split, views *augment.Views, batch int,
	seed uint64) (*secondBatches, error) {
	s, err := supervision.NewSampler(split, batch, rng.New(seed, "second batch"))
	if err != nil {
		return nil, err
	}
	l, err := newLoader(d, s, views, seed, "second views")
	return &secondBatches{sampler: s, loader: l}, err
}

func (s *secondBatches) next() error {
	var ok bool
	if s.batch, s.images, ok = s.loader.Next(); !ok {
		return errors.New("there is no second batch for the discriminator in this epoch")
	}
	return nil
}
