package engine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/unravel-ml/unravel/internal/kernel"
)

// accumulator sums the gradients of batches. It is nil if every batch has its own update.
type accumulator struct {
	sums      [][]float32
	pieces    *kernel.Pieces
	gradients [][]float32
	factor    float32 // of the gradients
	first     bool
	body      func(worker, tensor, start, end int)
}

// newAccumulator allocates the sums for the gradients of parameters; nil without accumulation.
func (s *Settings) newAccumulator(parameters []Parameter) *accumulator {
	if s.Accumulate < 2 {
		return nil
	}
	a := &accumulator{}
	for _, p := range parameters {
		a.sums = append(a.sums, make([]float32, len(p.Value)))
	}
	a.pieces = kernel.NewPieces(a.sums)
	a.body = a.add
	return a
}

// take adds the gradients of a batch, which are means over the batch's images, and returns the gradients for the
// update. If the group is complete, these are the means over all images of the group; before that, they are the batch's
// gradients.
func (a *accumulator) take(gradients [][]float32, images int, g *BatchGroup) [][]float32 {
	if a == nil {
		return gradients
	}
	a.gradients, a.factor, a.first = gradients, float32(images), g.Batches == 1
	a.pieces.Each(a.body)
	if !g.complete {
		return gradients
	}
	a.gradients, a.factor = nil, 1/float32(g.Images)
	a.pieces.Each(a.body)
	return a.sums
}

func (a *accumulator) add(_, i, start, end int) {
	sum := a.sums[i][start:end]
	switch {
	case a.gradients == nil:
		kernel.Scale(sum, a.factor, sum)
	case a.first:
		kernel.Scale(sum, a.factor, a.gradients[i][start:end])
	default:
		kernel.AddScaled(sum, a.factor, a.gradients[i][start:end])
	}
}

// BatchGroup is a group of batches that share one update.
type BatchGroup struct {
	Objective string `json:"objective"`
	Batches   int    `json:"batches"` // so far
	Images    int    `json:"images"`  // images in the batches so far
	complete  bool
}

// addToGroup adds a batch to the current group of Accumulate batches; the last group of an objective may be smaller.
func (l *Loop) addToGroup(o *objective, images, epochSteps int) *BatchGroup {
	g := &l.pos.group
	if g.complete || g.Batches == 0 {
		*g = BatchGroup{Objective: o.Name}
	}
	g.Batches++
	g.Images += images
	next := l.pos.inEpoch + 1
	g.complete = g.Batches >= l.settings.Accumulate || next == epochSteps || next == l.feed.sampler.LabelledBatches()
	return g
}

// updateTime returns the time of a group's update. The next batch to join is the last of the group.
func (l *Loop) updateTime(g *BatchGroup, epochSteps int) moment {
	k, labelled := max(1, l.settings.Accumulate), min(l.feed.sampler.LabelledBatches(), epochSteps)
	firstBatch := l.pos.inEpoch + 1 - g.Batches
	index := firstBatch / k
	if firstBatch >= labelled {
		index = groupsOf(labelled, k) + (firstBatch-labelled)/k
	}
	return l.momentOf(l.pos.epoch, index, l.epochUpdates(epochSteps))
}

// momentOf returns the time of an update, given its place among the updates of an epoch.
func (l *Loop) momentOf(epoch, index, updates int) moment {
	t := Time{Epochs: float64(l.settings.Epochs), Length: 1 / float64(updates), Update: l.pos.updates}
	t.Progress = float64(epoch) + float64(index)/float64(updates)
	return moment{t, t.Progress / t.Epochs}
}

// epochUpdates returns the number of updates in an epoch of batches. Labelled batches have separate groups.
func (l *Loop) epochUpdates(batches int) int {
	k, labelled := max(1, l.settings.Accumulate), min(l.feed.sampler.LabelledBatches(), batches)
	return groupsOf(labelled, k) + groupsOf(batches-labelled, k)
}

// groupsOf returns the number of groups of k batches. The last group may be smaller.
func groupsOf(batches, k int) int { return (batches + k - 1) / k }

// accumulatedPrefix is the prefix of the tensor names of accumulated gradients.
const (
	accumulatedPrefix      = "accumulated/"
	accumulatedJudgePrefix = "judge-accumulated/"
)

func (l *Loop) pendingGradients() (list []Parameter) {
	g := &l.pos.group
	if g.complete || g.Batches == 0 {
		return nil
	}
	add := func(prefix string, names []string, a *accumulator) {
		for i, name := range names {
			list = append(list, Parameter{Name: prefix + name, Value: a.sums[i]})
		}
	}
	for _, o := range l.objectives {
		if o.Name == g.Objective {
			add(accumulatedPrefix, o.names, o.pending)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.pending)) {
		add(accumulatedJudgePrefix+name+"/", l.sideParameters[name], l.pending[name])
	}
	return list
}

func (l *Loop) groupState(s *State, tensors []Tensor) []Tensor {
	if l.settings.Accumulate < 2 {
		return tensors
	}
	s.Updates = l.pos.updates
	waiting := l.pendingGradients()
	if waiting != nil {
		g := l.pos.group
		s.Group = &g
	}
	return optimizerTensors(tensors, "", waiting)
}

func (l *Loop) restoreGroup(s *State, t Tensors) error {
	l.pos.updates = s.Updates
	if l.settings.Accumulate < 2 {
		l.pos.updates = s.Step
	}
	if s.Group == nil {
		return nil
	}
	if l.settings.Accumulate < 2 {
		return fmt.Errorf("it has gradients of %d batches that wait for more; want train.accumulate", s.Group.Batches)
	}
	l.pos.group = *s.Group
	for _, p := range l.pendingGradients() {
		v, err := t.Float32s(p.Name, len(p.Value))
		if err != nil {
			return err
		}
		copy(p.Value, v)
	}
	return nil
}
