package supervision

import (
	"fmt"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/augment"
	"github.com/unravel-ml/unravel/datasets/internal/stored"
	"github.com/unravel-ml/unravel/internal/parallel"
)

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

	buffers [2]rendered          // the current and the next batch
	ahead   int                  // position of the batch in buffers[1]; -1: none
	asked   int                  // position up to which images of the epoch have been read ahead
	beside  *parallel.Background // renders into buffers[1]
	render  func()               // renders the batch at position ahead
	now     Batch                // renders the current batch on all processors
	draw    func(_, n int)

	next     Batch // renders the next batch during training
	drawNext func(_, n int)
}

// rendered is a batch of images and their views.
type rendered struct {
	images []float32
	views  [][]float32
	dealt  [][]float32 // views, cut to the length of the batch
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
	l := &Loader{set: d, sampler: s, size: h * w * c, views: v, seed: seed, ahead: -1, beside: parallel.NewBackground()}
	l.render = func() { l.renderBatch(l.ahead) }
	l.draw = func(_, n int) { l.renderRow(l.now, l.sampler.State().Position, n) }
	l.drawNext = func(_, n int) { l.renderRow(l.next, l.ahead, n) }
	for i := range l.buffers {
		b := &l.buffers[i]
		b.images = make([]float32, s.MaxBatch()*l.size)
		if v != nil {
			b.views, b.dealt = make([][]float32, v.Count), make([][]float32, v.Count)
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
	l.asked = max(l.asked, position)
	for images := 0; images < readAhead; {
		b, ok := l.sampler.batch(position)
		if !ok {
			return
		}
		if position >= l.asked {
			stored.Expect(l.set, b.Indices)
			l.asked = position + 1
		}
		images += len(b.Indices)
		position++
	}
}

// renderBatch renders the batch at a position on half of the threads; training uses the other half.
func (l *Loader) renderBatch(position int) {
	l.expect(position)
	l.next, _ = l.sampler.batch(position)
	parallel.ForWorkers(parallel.Threads()/2, len(l.next.Indices), l.drawNext)
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
	l.asked = 0
	return l.sampler.StartEpoch()
}

// Next returns the next batch and its images, len(Indices) x H x W x C. It returns false at the end of the epoch. The
// images are valid until the next call.
func (l *Loader) Next() (b Batch, images []float32, ok bool) {
	position := l.sampler.State().Position
	if l.wait() != position {
		if l.now, ok = l.sampler.batch(position); ok {
			l.expect(position)
			parallel.For(len(l.now.Indices), l.draw)
		}
	}
	b, ok = l.sampler.Next()
	if !ok {
		return b, nil, false
	}
	l.buffers[0], l.buffers[1] = l.buffers[1], l.buffers[0]
	if _, more := l.sampler.batch(position + 1); more {
		l.ahead = position + 1
		l.beside.Start(l.render)
	}
	dealt := &l.buffers[0]
	for n, v := range dealt.views {
		dealt.dealt[n] = v[:len(b.Indices)*l.size]
	}
	return b, dealt.images[:len(b.Indices)*l.size], true
}

// Views returns the views of the current batch, each len(Indices) x H x W x C, or nil if the loader has no views. They
// are valid until the next call of Next.
func (l *Loader) Views() [][]float32 { return l.buffers[0].dealt }

// wait waits for the batch in the background, and returns its position, or -1 if there is none.
func (l *Loader) wait() (position int) {
	failed := l.beside.Wait()
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
	l.asked = 0
	if err := l.sampler.Restore(s); err != nil {
		return fmt.Errorf("loader: %w", err)
	}
	return nil
}

// Close stops the background work. The loader must not be used afterwards.
func (l *Loader) Close() { l.beside.Close() }
