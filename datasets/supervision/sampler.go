package supervision

import (
	"errors"
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/graph/rng"
)

// Batch lists the images of one training step. Callers must not change its slices. They are valid until the next
// StartEpoch, except Levels, which is valid until the next Next.
type Batch struct {
	Labelled        bool
	Group           int       // images per group of a labelled batch, M; otherwise 1
	Indices         []int     // data set indices; in a labelled batch group by group, M each
	Transformations []float32 // in a labelled batch: len(Indices) x K radians, relative to the first image of the group

	// Actions has length len(Indices): the index in Split.Actions of the action from the previous image to this one. It
	// is -1 for the first image of a group and for unknown actions, and nil if the split has no actions.
	Actions []int32

	// Levels is len(Indices) x len(Known.Factors), image by image: the level, or -1 for an unknown level. The images of
	// a class, or of a similar pair, share a number at or above the factor's Size that no other image has in this
	// column. Levels is nil if the split has no Known.
	Levels []int32

	// Different is len(Indices) x len(Known.Factors): the row of an image with a different level, or -1 if there is
	// none. The two images of a different pair refer to each other. Different is nil if the split has no such pairs.
	Different []int32
}

// Sampler returns the batches of an epoch: one pass over the labelled groups in random order, then one pass over the
// unlabelled images in random order. (Tonnaer et al. 2022 alternate between the two by epoch.) A labelled batch has
// batchImages/M groups, rounded down, but at least one. The last batch of each pass may be smaller. Each kind of group
// has a separate pass, and groups that change in every epoch come last.
//
// If Known labels have a share, every unlabelled batch gets round(Share*batchImages) labelled images, and at least one
// image or pair. Each kind of supervision has its share. The pass over the unlabelled images fills the rest of the
// batch. The labelled images have separate passes, each in a new random order, that continue from one epoch to the
// next. A smaller last batch has the same share of labelled images.
type Sampler struct {
	split  *Split
	stream *rng.Stream

	imagesPerBatch int
	passes         []groupPass // passes over the groups

	state           State
	groups          []int     // order of groups in the epoch
	labelled        []int     // labelled images of the epoch, group by group
	transformations []float32 // transformations of labelled
	actions         []int32   // actions that lead to the images of labelled; nil: no actions
	unlabelled      []int     // unlabelled images of the epoch, including the images of mix
	mix             *mix      // nil: no share of labelled images
	levels          []int32   // Levels of the last batch
	different       []int32   // Different of the last batch; nil: no pairs differ
	base            []int32   // by source of labels: first number of its classes or pairs, at least a factor's Size
}

// groupPass is a pass over the groups of one kind.
type groupPass struct {
	GroupKind
	perBatch int // groups per batch
	image    int // index of their first image in labelled
}

func (p groupPass) batches() int { return (p.Count + p.perBatch - 1) / p.perBatch }

// State is the position of a Sampler. Stream is the state of the random stream at the start of the epoch, which
// determines the order of the epoch. Before the first epoch, it is the current state.
type State struct {
	Epoch    int    `json:"epoch"`    // number of epochs started
	Position int    `json:"position"` // number of batches returned in this epoch
	Stream   []byte `json:"stream"`
	Labels   uint64 `json:"labels,omitempty"` // seed of the passes over labelled images
}

// NewSampler returns a sampler of a split in batches of about batchImages images.
func NewSampler(split *Split, batchImages int, stream *rng.Stream) (*Sampler, error) {
	if batchImages < 1 {
		return nil, fmt.Errorf("batches: %d images in a batch; want 1 or more", batchImages)
	}
	if split.GroupCount() == 0 && len(split.Unlabelled) == 0 {
		return nil, errors.New("batches: there are no images to train on")
	}
	s := &Sampler{
		split: split, stream: stream, imagesPerBatch: min(batchImages, max(len(split.Unlabelled), 1)),
		groups:     make([]int, len(split.Groups)),
		unlabelled: make([]int, len(split.Unlabelled)),
	}
	images := 0
	for _, kind := range split.Kinds() {
		s.passes = append(s.passes, groupPass{kind, min(max(1, batchImages/kind.M), kind.Count), images})
		images += kind.Count * kind.M
	}
	s.labelled, s.transformations = make([]int, images), make([]float32, images*split.K())
	if split.Actions != nil {
		s.actions = slices.Repeat([]int32{-1}, images)
	}
	if err := s.prepareLabels(); err != nil {
		return nil, err
	}
	return s, s.remember()
}

// remember stores the state of the stream at the start of an epoch.
func (s *Sampler) remember() (err error) {
	if s.state.Stream, err = s.stream.MarshalBinary(); err != nil {
		return fmt.Errorf("batches: save the random state: %w", err)
	}
	return nil
}

// StartEpoch draws the order of the next epoch.
func (s *Sampler) StartEpoch() error {
	if err := s.remember(); err != nil {
		return err
	}
	s.state.Epoch++
	s.state.Position = 0
	s.shuffle()
	return nil
}

// shuffle starts from the order of the split, so the order of an epoch only depends on the state of the stream.
func (s *Sampler) shuffle() {
	for g := range s.groups {
		s.groups[g] = g
	}
	k := s.split.K()
	for _, p := range s.passes {
		if p.Drawn {
			s.draw(p)
			continue
		}
		groups, at := s.groups[p.First:p.First+p.Count], p.image
		s.stream.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
		for _, g := range groups {
			copy(s.labelled[at:at+p.M], s.split.Groups[g])
			copy(s.transformations[at*k:(at+p.M)*k], s.split.Transformations[g])
			if s.split.GroupActions != nil && s.actions != nil {
				copy(s.actions[at:at+p.M], s.split.GroupActions[g])
			}
			at += p.M
		}
	}
	order := s.unlabelled[:len(s.split.Unlabelled)]
	copy(order, s.split.Unlabelled)
	s.stream.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	if s.mix != nil {
		s.mix.deal(s.unlabelled, s.state.Epoch, s.state.Labels)
	}
}

func (s *Sampler) draw(p groupPass) {
	k, end := s.split.K(), p.image+p.Count*p.M
	var actions []int32
	if s.actions != nil {
		actions = s.actions[p.image:end]
	}
	s.split.Drawn.fill(s.stream, s.labelled[p.image:end], s.transformations[p.image*k:end*k], k, actions)
}

// Next returns the next batch of the epoch. It returns false at the end of the epoch, and before the first epoch.
func (s *Sampler) Next() (Batch, bool) {
	b, ok := s.batch(s.state.Position)
	if ok {
		s.label(&b, s.state.Position)
		s.state.Position++
	}
	return b, ok
}

// batch returns the batch at a position of the epoch, without Levels.
func (s *Sampler) batch(position int) (Batch, bool) {
	if s.state.Epoch == 0 || position >= s.Batches() {
		return Batch{}, false
	}
	for _, p := range s.passes {
		if position < p.batches() {
			first := p.image + position*p.perBatch*p.M
			last := min(first+p.perBatch*p.M, p.image+p.Count*p.M)
			k := s.split.K()
			b := Batch{Labelled: true, Group: p.M, Indices: s.labelled[first:last], Transformations: s.transformations[first*k : last*k]}
			if s.actions != nil {
				b.Actions = s.actions[first:last]
			}
			return b, true
		}
		position -= p.batches()
	}
	first := position * s.imagesPerBatch
	last := min(first+s.imagesPerBatch, len(s.unlabelled))
	return Batch{Group: 1, Indices: s.unlabelled[first:last]}, true
}

// Batches returns the number of batches in an epoch.
func (s *Sampler) Batches() int {
	return s.LabelledBatches() + (len(s.unlabelled)+s.imagesPerBatch-1)/s.imagesPerBatch
}

// LabelledBatches returns the number of labelled batches in an epoch, which come first.
func (s *Sampler) LabelledBatches() int {
	n := 0
	for _, p := range s.passes {
		n += p.batches()
	}
	return n
}

// Images returns the number of images in an epoch, counted with repetitions.
func (s *Sampler) Images() int { return len(s.labelled) + len(s.unlabelled) }

// MaxBatch returns the number of images in the largest batch.
func (s *Sampler) MaxBatch() int {
	most := min(s.imagesPerBatch, len(s.unlabelled))
	for _, p := range s.passes {
		most = max(most, p.perBatch*p.M)
	}
	return most
}

// State returns the position for a checkpoint.
func (s *Sampler) State() State { return s.state }

// Restore continues from a position that State has returned, for the same split and batch size.
func (s *Sampler) Restore(state State) error {
	if state.Epoch < 0 || state.Position < 0 || state.Position > s.Batches() || state.Epoch == 0 && state.Position > 0 {
		return fmt.Errorf("batches: state has epoch %d, position %d; an epoch has %d batches", state.Epoch, state.Position, s.Batches())
	}
	if err := s.stream.UnmarshalBinary(state.Stream); err != nil {
		return fmt.Errorf("batches: restore the random state: %w", err)
	}
	s.state = State{Epoch: state.Epoch, Position: state.Position, Stream: append([]byte(nil), state.Stream...), Labels: state.Labels}
	if state.Epoch > 0 {
		s.shuffle()
	}
	return nil
}
