// Package augment augments images at random and gives a model several views of one image: colours, mirror images, crops
// and blur.
//
// A [Pipeline] is a list of operations, each with a probability. A config writes it as a list, or as a name from
// [Presets]:
//
//	pipeline:
//	  - jitter: {brightness: 0.8, contrast: 0.8, saturation: 0.8, hue: 0.2, probability: 0.3}
//	  - flip
//	  - crop: {scale: [0.6, 1]}
//
// Images are float32 in [0, 1], height x width x channels, in row-major order with channels last. Operations compute
// the same as torchvision's operations of the same name for floating-point tensors. All random numbers come from the
// given stream. The number of draws of an operation does not depend on the pixels.
package augment

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// Op is an operation with its settings; the entries of [Registry] create Ops. An operation embeds [Chance] and
// implements Suits and Apply:
//
//	type Darken struct {
//		augment.Chance
//		By float64 `yaml:"by" doc:"factor of every pixel, 0 to 1"`
//	}
//
//	func (*Darken) Suits(h, w, c int) error { return nil }
//
//	func (d *Darken) Apply(m *augment.Canvas, s *rng.Stream) {
//		for i := range m.Pixels() {
//			m.Pixels()[i] *= float32(d.By)
//		}
//	}
//
// Several goroutines call the methods at once, each with its own canvas and stream. The methods change nothing else.
// All randomness comes from the stream, and pixels stay in [0, 1].
type Op interface {
	// Suits returns an error if the operation does not support images of this shape.
	Suits(h, w, c int) error

	// Happens decides at random whether the operation changes an image.
	Happens(s *rng.Stream) bool

	// Apply changes the image on the canvas.
	Apply(m *Canvas, s *rng.Stream)
}

// Normaliser is an operation that also applies during evaluation, such as [Normalise]. It comes last in a pipeline,
// because its results can lie outside [0, 1]. It always applies and must not use its stream, nil during evaluation.
type Normaliser interface {
	Op
	Normalises()
}

// Pipeline is a list of operations, applied in order.
type Pipeline []Choice

// Apply writes a view of the h x w x c image src to dst, which has the same length. dst may be src, but must not
// overlap it otherwise. The pipeline must support the shape. An image without pixels stays.
func (p Pipeline) Apply(dst, src []float32, h, w, c int, s *rng.Stream) {
	size := h * w * c
	if size == 0 {
		return
	}
	m := canvases.Get().(*Canvas)
	if cap(m.spareMemory) < size {
		m.spareMemory = make([]float32, size)
	}
	m.pixels, m.spare, m.h, m.w, m.c = dst[:size], m.spareMemory[:size], h, w, c
	copy(m.pixels, src[:size])
	for _, o := range p {
		if o.Value.Happens(s) {
			o.Value.Apply(m, s)
		}
	}
	if &m.pixels[0] != &dst[0] {
		copy(dst, m.pixels)
	}
	m.pixels, m.spare = nil, nil
	canvases.Put(m)
}

// Suits returns an error if an operation does not support images of this shape.
func (p Pipeline) Suits(h, w, c int) error {
	for i, o := range p {
		if err := o.Value.Suits(h, w, c); err != nil {
			return fmt.Errorf("augmentation %d, %s: images of %d x %d x %d: %w", i, o.Name, h, w, c, err)
		}
	}
	return nil
}

// Plain returns the part of the pipeline that also applies during evaluation: its normalisation, if any.
func (p Pipeline) Plain() Pipeline {
	var plain Pipeline
	for _, o := range p {
		if _, ok := o.Value.(Normaliser); ok {
			plain = append(plain, o)
		}
	}
	return plain
}

// Validate checks the order of operations.
func (p Pipeline) Validate() error {
	for i, o := range p {
		if _, ok := o.Value.(Normaliser); ok && i < len(p)-1 {
			return fmt.Errorf("%s is operation %d of %d; want it last, because the others need pixels in [0, 1]",
				p[i].Name, i, len(p))
		}
	}
	return nil
}

// Canvas holds the image that operations change. An operation writes to Pixels, or writes to Spare and then calls Swap.
type Canvas struct {
	pixels, spare []float32
	h, w, c       int

	spareMemory []float32 // memory of spare
	row         []float32 // buffer of Scratch
	taps        []tap     // buffer for the taps of a crop
}

// Shape returns the height, width and channels of the image.
func (m *Canvas) Shape() (h, w, c int) { return m.h, m.w, m.c }

// Pixels returns the image: h*w*c numbers in row-major order, channels last. The slice is valid until Swap.
func (m *Canvas) Pixels() []float32 { return m.pixels }

// Spare returns a buffer for another image of the same shape, with arbitrary contents.
func (m *Canvas) Spare() []float32 { return m.spare }

// Swap exchanges the image and the spare buffer.
func (m *Canvas) Swap() { m.pixels, m.spare = m.spare, m.pixels }

// Scratch returns a buffer of n numbers with arbitrary contents. It is valid until the next call.
func (m *Canvas) Scratch(n int) []float32 {
	if cap(m.row) < n {
		m.row = make([]float32, n)
	}
	return m.row[:n]
}

var canvases = sync.Pool{New: func() any { return &Canvas{} }}

// Chance is the probability that an operation changes an image.
type Chance struct {
	Probability float64 `yaml:"probability" doc:"probability of applying it, 0 to 1"`
}

func (c *Chance) Validate() error {
	if !(c.Probability >= 0 && c.Probability <= 1) {
		return config.Invalid("probability", "%v is out of range; want 0 (never) to 1 (always)", c.Probability)
	}
	return nil
}

// Happens draws one number from the stream.
func (c *Chance) Happens(s *rng.Stream) bool { return s.Float64() < c.Probability }

// Choice is an operation in a config: `flip`, or `{flip: {probability: 0.3}}`.
type Choice struct {
	Name  string
	Value Op
}

func (c *Choice) DecodeConfig(n *config.Node) error {
	return config.DecodeChoice(n, Registry, c)
}

func (c Choice) EncodeConfig() (any, error) { return config.EncodeChoice(c) }
func (Choice) ConfigForms() []any           { return []any{config.ChoicesOf(Registry)} }

// Register adds an operation that configs can name, before a config is read. It returns an error for a taken name.
func Register(e registry.Entry[Op]) error { return Registry.Register(e) }

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
		return config.Invalid("second",
			"it does not normalise as pipeline does; want the same, which the images that are measured also go through")
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

// Plain normalises images in place for evaluation, as the views are normalised, on all processors. It does not augment.
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
