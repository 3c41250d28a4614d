package drawn

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// gridSet implements Dataset for full grids, except for Image.
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

// renderedSet is a data set of 8-bit images that are drawn on first use. If all images fit into maxCachedImages, it
// stores them. Otherwise it draws an image on every use.
type renderedSet struct {
	gridSet
	painter func() painter

	images []uint8         // all images; nil if they are too many
	state  []atomic.Uint32 // by image: empty, rendering or ready

	idleEasels chan *easel // unused easels
}

// painter draws image i as numbers from 0 to 255, channels last. Only one goroutine at a time may use a painter. The
// bits of an image depend neither on the goroutine nor on earlier images.
type painter func(i int, dst []uint8)

// easel is a painter with a buffer for the picture.
type easel struct {
	paint   painter
	picture []uint8
}

// maxCachedImages is the maximum number of bytes of images that a rendered set stores.
const maxCachedImages = 256 << 20

// States of an image.
const (
	empty = iota
	rendering
	ready
)

// maxIdle is the maximum number of unused easels.
const maxIdle = 256

// newRendered returns a data set with images drawn by painters, one painter for each drawing goroutine.
func newRendered(set gridSet, newPainter func() painter) *renderedSet {
	d := &renderedSet{gridSet: set, painter: newPainter, idleEasels: make(chan *easel, maxIdle)}
	if total := d.Len() * d.size(); total <= maxCachedImages {
		d.images, d.state = make([]uint8, total), make([]atomic.Uint32, d.Len())
	}
	return d
}

// size is the number of bytes per image.
func (d *renderedSet) size() int { return d.shape[0] * d.shape[1] * d.shape[2] }

// Image draws or copies an image. It allocates only on the first use of an image or of another goroutine.
func (d *renderedSet) Image(i int, dst []float32) {
	size := d.size()
	if d.images != nil && d.state[i].Load() == ready {
		toFloats(dst, d.images[i*size:(i+1)*size])
		return
	}
	e := d.take()
	e.paint(i, e.picture)
	toFloats(dst, e.picture)
	if d.images != nil && d.state[i].CompareAndSwap(empty, rendering) {
		copy(d.images[i*size:], e.picture)
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

func (d *renderedSet) take() *easel {
	select {
	case e := <-d.idleEasels:
		return e
	default:
		return &easel{paint: d.painter(), picture: make([]uint8, d.size())}
	}
}

// put returns an easel for later use.
func (d *renderedSet) put(e *easel) {
	select {
	case d.idleEasels <- e:
	default:
	}
}

// dimensions implements Hierarchical except for Image.
type dimensions struct {
	name    string
	n       int
	shape   [3]int
	tree    hierarchy.Hierarchy
	factors []factor.Factor
	low     []float64 // ranges of the continuous dimensions
	high    []float64
	choices []int8    // n x categorical dimensions
	values  []float64 // n x continuous dimensions
}

func (d *dimensions) Name() string                   { return d.name }
func (d *dimensions) ImageShape() (h, w, c int)      { return d.shape[0], d.shape[1], d.shape[2] }
func (d *dimensions) Factors() []factor.Factor       { return d.factors }
func (d *dimensions) Len() int                       { return d.n }
func (d *dimensions) Hierarchy() hierarchy.Hierarchy { return d.tree }

func (d *dimensions) Choices(i int, dst []int) {
	for j, o := range d.choiceRow(i) {
		dst[j] = int(o)
	}
}

func (d *dimensions) Values(i int, dst []float64) { copy(dst, d.valueRow(i)) }

func (d *dimensions) FactorsAt(i int, dst []int) {
	row := d.choiceRow(i)
	for j, o := range row {
		dst[j] = int(o) + 1
	}
	for j, v := range d.valueRow(i) {
		bin := int(datasets.ContinuousLevels * (v - d.low[j]) / (d.high[j] - d.low[j]))
		dst[len(row)+j] = max(0, min(bin, datasets.ContinuousLevels-1))
	}
}

func (d *dimensions) choiceRow(i int) []int8 {
	k := len(d.factors) - len(d.low)
	return d.choices[i*k : (i+1)*k]
}

func (d *dimensions) valueRow(i int) []float64 {
	k := len(d.low)
	return d.values[i*k : (i+1)*k]
}

// categorical adds a categorical dimension and returns its number.
func (d *dimensions) categorical(name string, options int) int {
	position := len(d.factors) - len(d.low)
	d.factors = slices.Insert(d.factors, position, factor.Factor{Name: name, Size: options + 1, Kind: factor.Categorical})
	return position
}

// continuous adds a continuous dimension with the range of its values.
func (d *dimensions) continuous(name string, low, high float64) {
	centres := make([]float64, datasets.ContinuousLevels)
	for l := range centres {
		centres[l] = low + (high-low)*(float64(l)+0.5)/datasets.ContinuousLevels
	}
	d.factors = append(d.factors, factor.Factor{Name: name, Size: datasets.ContinuousLevels, Kind: factor.Ordinal,
		Values: centres})
	d.low, d.high = append(d.low, low), append(d.high, high)
}

// rowsPerPiece is the number of images per random stream.
const rowsPerPiece = 500

// draw draws the n images in pieces. Each piece has a separate random stream, so the images do not depend on the number
// of threads. It first sets all choices to -1.
func (d *dimensions) draw(n int, seed uint64, image func(i int, s *rng.Stream)) {
	d.n = n
	d.choices = slices.Repeat([]int8{-1}, n*(len(d.factors)-len(d.low)))
	d.values = make([]float64, n*len(d.low))
	parallel.For((n+rowsPerPiece-1)/rowsPerPiece, func(_, piece int) {
		s := rng.New(seed, fmt.Sprintf("dataset/%s/%d", d.name, piece))
		for i := piece * rowsPerPiece; i < min(n, (piece+1)*rowsPerPiece); i++ {
			image(i, s)
		}
	})
}
