package supervision

import (
	"errors"
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/augment"
	"github.com/unravel-ml/unravel/datasets/internal/stored"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/parallel"
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
	firstNumbers    []int32   // by source of labels: first number of its classes or pairs, at least a factor's Size
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
	return s, s.saveStream()
}

// saveStream stores the state of the stream at the start of an epoch.
func (s *Sampler) saveStream() (err error) {
	if s.state.Stream, err = s.stream.MarshalBinary(); err != nil {
		return fmt.Errorf("batches: save the random state: %w", err)
	}
	return nil
}

// StartEpoch draws the order of the next epoch.
func (s *Sampler) StartEpoch() error {
	if err := s.saveStream(); err != nil {
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
		groups, first := s.groups[p.First:p.First+p.Count], p.image
		s.stream.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
		for _, g := range groups {
			copy(s.labelled[first:first+p.M], s.split.Groups[g])
			copy(s.transformations[first*k:(first+p.M)*k], s.split.Transformations[g])
			if s.split.GroupActions != nil && s.actions != nil {
				copy(s.actions[first:first+p.M], s.split.GroupActions[g])
			}
			first += p.M
		}
	}
	order := s.unlabelled[:len(s.split.Unlabelled)]
	copy(order, s.split.Unlabelled)
	s.stream.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	if s.mix != nil {
		s.mix.arrange(s.unlabelled, s.state.Epoch, s.state.Labels)
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
		s.setLabels(&b, s.state.Position)
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
			b := Batch{Labelled: true, Group: p.M, Indices: s.labelled[first:last],
				Transformations: s.transformations[first*k : last*k]}
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
	largest := min(s.imagesPerBatch, len(s.unlabelled))
	for _, p := range s.passes {
		largest = max(largest, p.perBatch*p.M)
	}
	return largest
}

// State returns the position for a checkpoint.
func (s *Sampler) State() State { return s.state }

// Restore continues from a position that State has returned, for the same split and batch size.
func (s *Sampler) Restore(state State) error {
	if state.Epoch < 0 || state.Position < 0 || state.Position > s.Batches() || state.Epoch == 0 && state.Position > 0 {
		return fmt.Errorf("batches: state has epoch %d, position %d; an epoch has %d batches",
			state.Epoch, state.Position, s.Batches())
	}
	if err := s.stream.UnmarshalBinary(state.Stream); err != nil {
		return fmt.Errorf("batches: restore the random state: %w", err)
	}
	s.state = State{Epoch: state.Epoch, Position: state.Position, Stream: append([]byte(nil), state.Stream...),
		Labels: state.Labels}
	if state.Epoch > 0 {
		s.shuffle()
	}
	return nil
}

// Loader returns the batches of a Sampler with their images. It renders the next batch in the background while the
// caller works on the current one. The Sampler alone determines the images and their order. A Loader is not safe for
// concurrent use; call Close at the end.
//
// A loader with views also augments the images in the background. The random numbers of a view depend on the seed, the
// epoch, the position of the batch, the view and the row of the image. A resumed run therefore gets the same views.
type Loader struct {
	set     datasets.Dataset
	sampler *Sampler
	size    int            // values per image
	views   *augment.Views // nil: none
	seed    uint64         // seed of the views

	buffers       [2]rendered          // the current and the next batch
	ahead         int                  // position of the batch in buffers[1]; -1: none
	requested     int                  // position up to which images of the epoch have been read ahead
	background    *parallel.Background // renders into buffers[1]
	render        func()               // renders the batch at position ahead
	current       Batch                // renders the current batch on all processors
	renderCurrent func(_, n int)

	next       Batch // renders the next batch during training
	renderNext func(_, n int)
}

// rendered is a batch of images and their views.
type rendered struct {
	images     []float32
	views      [][]float32
	batchViews [][]float32 // views, cut to the length of the batch
}

// NewLoader returns a loader of images.
func NewLoader(d datasets.Dataset, s *Sampler) *Loader { return newLoader(d, s, nil, 0) }

// NewViewLoader returns a loader of images and their views.
func NewViewLoader(d datasets.Dataset, s *Sampler, v *augment.Views, seed uint64) (*Loader, error) {
	if err := v.Suits(d.ImageShape()); err != nil {
		return nil, fmt.Errorf("dataset %s: %w", d.Name(), err)
	}
	return newLoader(d, s, v, seed), nil
}

func newLoader(d datasets.Dataset, s *Sampler, v *augment.Views, seed uint64) *Loader {
	h, w, c := d.ImageShape()
	l := &Loader{set: d, sampler: s, size: h * w * c, views: v, seed: seed, ahead: -1}
	l.background = parallel.NewBackground()
	l.render = func() { l.renderBatch(l.ahead) }
	l.renderCurrent = func(_, n int) { l.renderRow(l.current, l.sampler.State().Position, n) }
	l.renderNext = func(_, n int) { l.renderRow(l.next, l.ahead, n) }
	for i := range l.buffers {
		b := &l.buffers[i]
		b.images = make([]float32, s.MaxBatch()*l.size)
		if v != nil {
			b.views, b.batchViews = make([][]float32, v.Count), make([][]float32, v.Count)
		}
		for n := range b.views {
			b.views[n] = make([]float32, s.MaxBatch()*l.size)
		}
	}
	return l
}

// readAhead is the number of images of later batches that are read from disk while a batch is rendered.
const readAhead = 512

// expect starts reading the images of the batch at a position and of the batches after it.
func (l *Loader) expect(position int) {
	l.requested = max(l.requested, position)
	for images := 0; images < readAhead; {
		b, ok := l.sampler.batch(position)
		if !ok {
			return
		}
		if position >= l.requested {
			stored.Expect(l.set, b.Indices)
			l.requested = position + 1
		}
		images += len(b.Indices)
		position++
	}
}

// renderBatch renders the batch at a position on half of the threads; training uses the other half.
func (l *Loader) renderBatch(position int) {
	l.expect(position)
	l.next, _ = l.sampler.batch(position)
	parallel.ForWorkers(parallel.Threads()/2, len(l.next.Indices), l.renderNext)
}

// renderRow renders one image of the batch at a position, and its views, into buffers[1].
func (l *Loader) renderRow(b Batch, position, n int) {
	next := &l.buffers[1]
	l.set.Image(b.Indices[n], next.images[n*l.size:(n+1)*l.size])
	if l.views != nil {
		h, w, c := l.set.ImageShape()
		l.views.Apply(next.views, next.images, n, n+1, h, w, c, l.seed, uint64(l.sampler.state.Epoch), uint64(position))
	}
}

// StartEpoch draws the order of the next epoch.
func (l *Loader) StartEpoch() error {
	l.wait()
	l.requested = 0
	return l.sampler.StartEpoch()
}

// Next returns the next batch and its images, len(Indices) x H x W x C. It returns false at the end of the epoch. The
// images are valid until the next call.
func (l *Loader) Next() (b Batch, images []float32, ok bool) {
	position := l.sampler.State().Position
	if l.wait() != position {
		if l.current, ok = l.sampler.batch(position); ok {
			l.expect(position)
			parallel.For(len(l.current.Indices), l.renderCurrent)
		}
	}
	b, ok = l.sampler.Next()
	if !ok {
		return b, nil, false
	}
	l.buffers[0], l.buffers[1] = l.buffers[1], l.buffers[0]
	if _, more := l.sampler.batch(position + 1); more {
		l.ahead = position + 1
		l.background.Start(l.render)
	}
	current := &l.buffers[0]
	for n, v := range current.views {
		current.batchViews[n] = v[:len(b.Indices)*l.size]
	}
	return b, current.images[:len(b.Indices)*l.size], true
}

// Views returns the views of the current batch, each len(Indices) x H x W x C, or nil if the loader has no views. They
// are valid until the next call of Next.
func (l *Loader) Views() [][]float32 { return l.buffers[0].batchViews }

// wait waits for the batch in the background, and returns its position, or -1 if there is none.
func (l *Loader) wait() (position int) {
	failed := l.background.Wait()
	position, l.ahead = l.ahead, -1
	if failed != nil {
		panic(failed)
	}
	return position
}

// State returns the position of the sampler. It counts batches that Next has returned, not rendered batches.
func (l *Loader) State() State { return l.sampler.State() }

// Restore continues from a position returned by State.
func (l *Loader) Restore(s State) error {
	l.wait()
	l.requested = 0
	if err := l.sampler.Restore(s); err != nil {
		return fmt.Errorf("loader: %w", err)
	}
	return nil
}

// Close stops the background work. The loader must not be used afterwards, except for another Close.
func (l *Loader) Close() { l.background.Close() }
