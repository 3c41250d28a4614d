package augment

import (
	"reflect"
	"sync"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/rng"
)

// Views says which views of its images a batch carries.
type Views struct {
	Pipeline Pipeline `yaml:"pipeline" doc:"what a view goes through: augmentations, or the name of a pipeline"`
	Second   Pipeline `yaml:"second" doc:"what every second view goes through; if absent, the same"`
	Count    int      `yaml:"count" doc:"views of every image"`
	Shared   bool     `yaml:"shared" doc:"one draw for all images of a view, as in the public code of byol-pytorch of 2022, in place of one for every image"`
}

// SetDefaults are two views of the pipeline of Cao et al. 2022.
func (v *Views) SetDefaults() { v.Pipeline, v.Count = negativeFree(), 2 }

// maxViews bounds the views of an image.
const maxViews = 64

// Validate checks the settings.
func (v *Views) Validate() error {
	if v.Count < 1 || v.Count > maxViews {
		return config.Invalid("count", "%d is out of range; want 1 to %d", v.Count, maxViews)
	}
	if v.Second != nil && !reflect.DeepEqual(v.Pipeline.Plain(), v.Second.Plain()) {
		return config.Invalid("second", "it does not normalise as pipeline does; want the same, which the images that are measured also go through")
	}
	return nil
}

// Suits reports images of a shape that a pipeline cannot change.
func (v *Views) Suits(h, w, c int) error {
	if err := v.Pipeline.Suits(h, w, c); err != nil {
		return err
	}
	return v.Second.Suits(h, w, c)
}

// pipeline is what a view goes through.
func (v *Views) pipeline(view int) Pipeline {
	if view%2 == 1 && v.Second != nil {
		return v.Second
	}
	return v.Pipeline
}

// Apply writes every view of some images of a batch, from row from to before row to, at their places in dst, which
// has Count slices for the views of the whole batch. Images are those of the whole batch, one after the other. What is drawn depends
// on the seed, the numbers of the batch (such as its epoch and its place there), the view and the row alone.
func (v *Views) Apply(dst [][]float32, images []float32, from, to, h, w, c int, seed, epoch, position uint64) {
	s := streams.Get().(*rng.Stream)
	size := h * w * c
	for view, out := range dst[:v.Count] {
		p := v.pipeline(view)
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

// Plain normalises images in place as the views are, on all processors, and changes nothing else: what a model
// is measured on.
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
