package datasets

import (
	"fmt"
	"sync"

	"github.com/unravel-ml/unravel/internal/kernel"
)

// Fill renders images one after the other into dst, len(indices) x H x W x C, on
// all processors. It allocates nothing.
func Fill(d Dataset, indices []int, dst []float32) {
	h, w, c := d.ImageShape()
	f := fills.Get().(*fill)
	f.set, f.indices, f.dst, f.size = d, indices, dst, h*w*c
	kernel.For(len(indices), f.body)
	f.set, f.indices, f.dst = nil, nil, nil
	fills.Put(f)
}

// fill is a call of Fill; its body is stored, because making one would allocate.
type fill struct {
	set     Dataset
	indices []int
	dst     []float32
	size    int // numbers per image
	body    func(worker, n int)
}

var fills = sync.Pool{New: func() any {
	f := &fill{}
	f.body = func(_, n int) { f.set.Image(f.indices[n], f.dst[n*f.size:(n+1)*f.size]) }
	return f
}}

// Loader deals the batches of a Sampler with their images, and renders the next
// batch in the background while the caller works on this one. Which images come in
// which order is the Sampler's business alone; the Loader changes nothing but the
// time that it takes. It is used by one goroutine, and Close ends it.
type Loader struct {
	set     Dataset
	sampler *Sampler
	size    int // numbers per image

	buffers [2][]float32 // the images dealt last, and the next ones
	ahead   int          // position of the batch in buffers[1]; -1: none
	request chan int     // positions to render into buffers[1]
	done    chan struct{}
}

// NewLoader starts a loader.
func NewLoader(d Dataset, s *Sampler) *Loader {
	h, w, c := d.ImageShape()
	l := &Loader{set: d, sampler: s, size: h * w * c, ahead: -1, request: make(chan int), done: make(chan struct{}, 1)}
	for i := range l.buffers {
		l.buffers[i] = make([]float32, s.MaxBatch()*l.size)
	}
	go l.render()
	return l
}

// render serves requests until there are no more.
func (l *Loader) render() {
	for position := range l.request {
		b, _ := l.sampler.batch(position)
		next := l.buffers[1]
		for n, i := range b.Indices {
			l.set.Image(i, next[n*l.size:(n+1)*l.size])
		}
		l.done <- struct{}{}
	}
}

// StartEpoch draws the order of the next epoch.
func (l *Loader) StartEpoch() error {
	l.wait()
	return l.sampler.StartEpoch()
}

// Next deals the next batch and its images, len(Indices) x H x W x C; false at the
// end of the epoch. The images are valid until the next call.
func (l *Loader) Next() (b Batch, images []float32, ok bool) {
	position := l.sampler.State().Position
	rendered := l.wait() == position
	b, ok = l.sampler.Next()
	if !ok {
		return b, nil, false
	}
	if !rendered {
		Fill(l.set, b.Indices, l.buffers[1])
	}
	l.buffers[0], l.buffers[1] = l.buffers[1], l.buffers[0]
	if _, more := l.sampler.batch(position + 1); more {
		l.ahead = position + 1
		l.request <- l.ahead
	}
	return b, l.buffers[0][:len(b.Indices)*l.size], true
}

// wait lets the rendering under way end and returns the position it was for; -1
// when there is none.
func (l *Loader) wait() (position int) {
	position, l.ahead = l.ahead, -1
	if position >= 0 {
		<-l.done
	}
	return position
}

// State returns the sampler's position: batches dealt, not batches rendered.
func (l *Loader) State() State { return l.sampler.State() }

// Restore continues from a position that State returned.
func (l *Loader) Restore(s State) error {
	l.wait()
	if err := l.sampler.Restore(s); err != nil {
		return fmt.Errorf("loader: %w", err)
	}
	return nil
}

// Close ends the background work. The loader must not be used afterwards.
func (l *Loader) Close() {
	l.wait()
	close(l.request)
}
