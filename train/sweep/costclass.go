package sweep

import (
	"context"
	"math"
	"strings"
	"time"

	"github.com/unravel-ml/unravel/train"
)

type costClasses struct{ list []*costClass } // costs to estimate, with one run per cost

// costClass is a run that represents all runs with its cost.
type costClass struct {
	cost            string
	lines           map[string]bool // lines of the cost
	run             Run
	estimate        *train.Estimate // nil: not rehearsed
	nearest         *costClass      // most similar rehearsed class; nil: none yet
	nearestDistance int             // distance to nearest
}

func (ks *costClasses) find(cost string) *costClass {
	for _, k := range ks.list {
		if k.cost == cost {
			return k
		}
	}
	return nil
}

// add adds a run if it is the first with its cost.
func (ks *costClasses) add(cost string, r Run) {
	if ks.find(cost) != nil {
		return
	}
	k := &costClass{cost: cost, lines: map[string]bool{}, run: r, nearestDistance: math.MaxInt}
	for line := range strings.Lines(cost) {
		k.lines[line] = true
	}
	ks.list = append(ks.list, k)
}

// rehearse rehearses cost classes until the time is over, next the class least similar to the rehearsed classes.
func (ks *costClasses) rehearse(ctx context.Context, r *rehearsals) error {
	begin := time.Now()
	for n := range ks.list {
		if n > 0 && r.Limit > 0 && time.Since(begin) > r.Limit {
			return nil
		}
		next := ks.leastSimilar()
		if r.Observe != nil {
			r.Observe(next.run.Name, n+1, len(ks.list))
		}
		e, err := r.estimate(ctx, next.run)
		if err != nil {
			return err
		}
		next.estimate = e
		for _, k := range ks.list {
			if d := k.distance(next); d < k.nearestDistance {
				k.nearest, k.nearestDistance = next, d
			}
		}
	}
	return nil
}

// leastSimilar returns the cost class least similar to the rehearsed classes; ties go to the first.
func (ks *costClasses) leastSimilar() (far *costClass) {
	for _, k := range ks.list {
		if k.estimate == nil && (far == nil || k.nearestDistance > far.nearestDistance) {
			far = k
		}
	}
	return far
}

// distance counts the lines of k and o that the other lacks.
func (k *costClass) distance(o *costClass) (n int) {
	n = len(k.lines) + len(o.lines)
	for line := range k.lines {
		if o.lines[line] {
			n -= 2
		}
	}
	return n
}

// seconds returns the time of a run by its rehearsal, or by the most similar rehearsal and the length of training.
func (k *costClass) seconds() float64 {
	if k.estimate != nil {
		return k.estimate.Seconds()
	}
	e := *k.nearest.estimate
	own, other := k.run.Config.Train, k.nearest.run.Config.Train
	lengthRatio := 1.0
	switch both := own.EpochSteps > 0 && other.EpochSteps > 0; {
	case both && other.Epochs > 0:
		lengthRatio = float64(own.Epochs*own.EpochSteps*own.Batch) / float64(other.Epochs*other.EpochSteps*other.Batch)
	case own.EpochSteps == other.EpochSteps && other.Epochs > 0:
		lengthRatio = float64(own.Epochs) / float64(other.Epochs)
	}
	e.Training, e.During = lengthRatio*e.Training, lengthRatio*e.During
	return e.Seconds()
}
