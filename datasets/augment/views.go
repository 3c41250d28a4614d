package augment

import (
	"reflect"
	"sync"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// Views configures the augmented views of a batch's images.
type Views struct {
	Pipeline Pipeline `yaml:"pipeline" doc:"augmentations of a view: a list, or the name of a pipeline"`
	Second   Pipeline `yaml:"second" doc:"augmentations of every second view; if absent, the same"`
	Count    int      `yaml:"count" doc:"number of views of every image"`
	Shared   bool     `yaml:"shared" doc:"use the same random numbers for all images of a view, as byol-pytorch (2022) does; false: new ones for every image"`
}

// SetDefaults sets two views with the pipeline of Cao et al. 2022.
func (v *Views) SetDefaults() { v.Pipeline, v.Count = negativeFree(), 2 }

// maxViews is the maximum number of views of an image.
const maxViews = 64

func (v *Views) Validate() error {
	if v.Count < 1 || v.Count > maxViews {
		return config.Invalid("count", "%d is out of range; want 1 to %d", v.Count, maxViews)
	}
	if v.Second != nil && !reflect.DeepEqual(v.Pipeline.Plain(), v.Second.Plain()) {
		return config.Invalid("second", "it does not normalise as pipeline does; want the same, which the images that are measured also go through")
	}
	return nil
}

// Suits returns an error if a pipeline does not support images of this shape.
func (v *Views) Suits(h, w, c int) error {
	if err := v.Pipeline.Suits(h, w, c); err != nil {
		return err
	}
	return v.Second.Suits(h, w, c)
}

// Apply writes the views of rows from <= n < to of a batch to their positions in dst. images holds the whole batch, and
// dst has Count slices, one for each view of the whole batch. The random numbers depend only on the seed, the epoch,
// the position of the batch, the view and the row.
func (v *Views) Apply(dst [][]float32, images []float32, from, to, h, w, c int, seed, epoch, position uint64) {
	s := streams.Get().(*rng.Stream)
	size := h * w * c
	for view, out := range dst[:v.Count] {
		p := v.Pipeline
		if view%2 == 1 && v.Second != nil {
			p = v.Second
		}
		for n := from; n < to; n++ {
			row := uint64(n)
			if v.Shared {
				row = 0
			}
			s.Restart(seed, epoch, position, uint64(view), row)
			p.Apply(out[n*size:(n+1)*size], images[n*size:(n+1)*size], h, w, c, s)
		}
	}
	streams.Put(s)
}

var streams = sync.Pool{New: func() any { return rng.New(0, "views") }}

// Plain normalises images in place for evaluation, on all processors. It normalises like the views, but does not
// augment.
func (v *Views) Plain(images []float32, h, w, c int) {
	p := v.Pipeline.Plain()
	if p == nil {
		return
	}
	size := h * w * c
	parallel.For(len(images)/size, func(_, n int) {
		part := images[n*size : (n+1)*size]
		p.Apply(part, part, h, w, c, nil)
	})
}
