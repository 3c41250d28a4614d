package drawn

import (
	"sync/atomic"

	"github.com/unravel-ml/unravel/datasets/factor"
)

// gridSet implements Dataset for full grids except for the images.
type gridSet struct {
	name  string
	shape [3]int
	grid  factor.Grid
}

func (g *gridSet) Name() string               { return g.name }
func (g *gridSet) ImageShape() (h, w, c int)  { return g.shape[0], g.shape[1], g.shape[2] }
func (g *gridSet) Factors() []factor.Factor   { return g.grid }
func (g *gridSet) Len() int                   { return g.grid.Len() }
func (g *gridSet) FactorsAt(i int, dst []int) { g.grid.At(i, dst) }

// renderedSet is a data set of 8-bit images, each drawn on its first use. It keeps the images while the whole set fits
// into keptImages. Otherwise it draws an image on every use.
type renderedSet struct {
	gridSet
	painter func() painter

	kept  []uint8         // all images; nil if they are too many
	state []atomic.Uint32 // by image: empty, under way or ready

	free chan *easel // unused easels
}

// painter draws an image, for one goroutine at a time; pixels are numbers from 0 to 255, channels last. The bits of an
// image depend neither on the goroutine nor on earlier images.
type painter func(i int, dst []uint8)

// easel is a painter with a buffer for its picture.
type easel struct {
	paint   painter
	picture []uint8
}

// keptImages bounds the bytes of the images that a rendered set keeps.
const keptImages = 256 << 20

// States of an image.
const (
	empty = iota
	underWay
	ready
)

// maxIdle bounds the easels that wait for use.
const maxIdle = 256

// newRendered returns a data set with images drawn by painters, one for each goroutine that draws at the same time.
func newRendered(set gridSet, newPainter func() painter) *renderedSet {
	d := &renderedSet{gridSet: set, painter: newPainter, free: make(chan *easel, maxIdle)}
	if total := d.Len() * d.size(); total <= keptImages {
		d.kept, d.state = make([]uint8, total), make([]atomic.Uint32, d.Len())
	}
	return d
}

// size is the number of bytes of an image.
func (d *renderedSet) size() int { return d.shape[0] * d.shape[1] * d.shape[2] }

// Image draws or copies an image. It allocates only for the first use of an image, and only if more goroutines draw at
// once than ever before.
func (d *renderedSet) Image(i int, dst []float32) {
	size := d.size()
	if d.kept != nil && d.state[i].Load() == ready {
		toFloats(dst, d.kept[i*size:(i+1)*size])
		return
	}
	e := d.take()
	e.paint(i, e.picture)
	toFloats(dst, e.picture)
	if d.kept != nil && d.state[i].CompareAndSwap(empty, underWay) {
		copy(d.kept[i*size:], e.picture)
		d.state[i].Store(ready)
	}
	d.put(e)
}

// toFloats converts 8-bit pixels.
func toFloats(dst []float32, pixels []uint8) {
	dst = dst[:len(pixels)]
	for p, b := range pixels {
		dst[p] = float32(b) / 255
	}
}

// take returns an unused easel.
func (d *renderedSet) take() *easel {
	select {
	case e := <-d.free:
		return e
	default:
		return &easel{paint: d.painter(), picture: make([]uint8, d.size())}
	}
}

// put returns an easel for later use.
func (d *renderedSet) put(e *easel) {
	select {
	case d.free <- e:
	default:
	}
}
