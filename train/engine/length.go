package engine

import (
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/models"
)

// ByLength describes how the steps so far would differ with another number of epochs, or returns "".
func (l *Loop) ByLength(epochs int) string {
	switch {
	case l.pos.step == 0 || epochs == l.settings.Epochs:
		return ""
	case l.paced():
		return "the model changed with the fraction of " + wording.Count(epochs, "epoch")
	case !l.sameRates(l.updatesSoFar(), epochs):
		return "the schedule gave the rates of " + wording.Count(epochs, "epoch")
	}
	return ""
}

// Prefixes says why training for some of these numbers of epochs is not a prefix of the loop's training, or returns ""
// if it is, bit for bit.
func (l *Loop) Prefixes(epochs []int) string {
	if l.paced() {
		return "the model changes with the fraction of training"
	}
	for _, n := range epochs {
		if !l.sameRates(n*l.epochUpdates(l.EpochSteps()), n) {
			return "the rates of the schedule depend on the number of epochs"
		}
	}
	return ""
}

// paced reports whether the model depends on the progress of training.
func (l *Loop) paced() bool {
	if p, ok := l.plan.model.(models.Paced); ok {
		return p.Paced()
	}
	for _, p := range l.programs {
		if p.built.After != nil || p.prelude != nil {
			return true
		}
	}
	return false
}

// updatesSoFar counts updates, also an incomplete one, whose batches have already trained discriminators.
func (l *Loop) updatesSoFar() int {
	if g := l.pos.group; g.Batches > 0 && !g.complete {
		return l.pos.updates + 1
	}
	return l.pos.updates
}

// sameRates reports whether training for another number of epochs has the same learning rates in the first updates.
func (l *Loop) sameRates(updates, epochs int) bool {
	per := l.epochUpdates(l.EpochSteps())
	for u := range updates {
		t := Time{Progress: float64(u/per) + float64(u%per)/float64(per), Length: 1 / float64(per), Update: u}
		t.Epochs = float64(l.settings.Epochs)
		rate := l.settings.rate(t)
		if t.Epochs = float64(epochs); l.settings.rate(t) != rate {
			return false
		}
	}
	return true
}
