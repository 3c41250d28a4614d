package sweep

import (
	"context"
	"math"
	"strings"
	"time"

	"github.com/unravel-ml/unravel/train"
)

type kinds struct{ list []*kind } // costs to estimate, with one run per cost

// kind is a run that represents all runs with its cost.
type kind struct {
	cost     string
	lines    map[string]bool // lines of the cost
	run      Run
	estimate *train.Estimate // nil: not rehearsed
	nearest  *kind           // most similar rehearsed kind; nil: none yet
	distance int             // distance to nearest
}

func (ks *kinds) find(cost string) *kind {
	for _, k := range ks.list {
		if k.cost == cost {
			return k
		}
	}
	return nil
}

// add adds a run if it is the first with its cost.
func (ks *kinds) add(cost string, r Run) {
	if ks.find(cost) != nil {
		return
	}
	k := &kind{cost: cost, lines: map[string]bool{}, run: r, distance: math.MaxInt}
	for line := range strings.Lines(cost) {
		k.lines[line] = true
	}
	ks.list = append(ks.list, k)
}

// rehearse rehearses kinds until the time is over, next the kind least similar to the rehearsed kinds.
func (ks *kinds) rehearse(ctx context.Context, r *rehearsals) error {
	begin := time.Now()
	for n := range ks.list {
		if n > 0 && r.Limit > 0 && time.Since(begin) > r.Limit {
			return nil
		}
		next := ks.farthest()
		if r.Observe != nil {
			r.Observe(next.run.Name, n+1, len(ks.list))
		}
		e, err := r.of(ctx, next.run)
		if err != nil {
			return err
		}
		next.estimate = e
		for _, k := range ks.list {
			if d := k.to(next); d < k.distance {
				k.nearest, k.distance = next, d
			}
		}
	}
	return nil
}

// farthest returns the kind least similar to the rehearsed kinds; ties go to the first.
func (ks *kinds) farthest() (far *kind) {
	for _, k := range ks.list {
		if k.estimate == nil && (far == nil || k.distance > far.distance) {
			far = k
		}
	}
	return far
}

// to counts the lines of k and o that the other lacks.
func (k *kind) to(o *kind) (n int) {
	n = len(k.lines) + len(o.lines)
	for line := range k.lines {
		if o.lines[line] {
			n -= 2
		}
	}
	return n
}

// seconds returns the time of a run by its rehearsal, or by the most similar rehearsal and the length of training.
func (k *kind) seconds() float64 {
	if k.estimate != nil {
		return k.estimate.Seconds()
	}
	e := *k.nearest.estimate
	own, other := k.run.Config.Train, k.nearest.run.Config.Train
	longer := 1.0
	switch both := own.EpochSteps > 0 && other.EpochSteps > 0; {
	case both && other.Epochs > 0:
		longer = float64(own.Epochs*own.EpochSteps*own.Batch) / float64(other.Epochs*other.EpochSteps*other.Batch)
	case own.EpochSteps == other.EpochSteps && other.Epochs > 0:
		longer = float64(own.Epochs) / float64(other.Epochs)
	}
	e.Training, e.During = longer*e.Training, longer*e.During
	return e.Seconds()
}
