package layer

import (
	"math"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// normPiece is the approximate number of elements in a unit of parallel work.
const normPiece = 1 << 15

// piece is a unit of parallel work: rows [from, to) of a set and channels [first, last). The pieces do not depend on
// the number of threads.
type piece struct{ set, from, to, first, last int }

func newPieces(sets, rows, channels int) (list []piece) {
	width := min(channels, 256)
	height := max(1, normPiece/width)
	for set := range sets {
		for first := 0; first < channels; first += width {
			for from := 0; from < rows; from += height {
				list = append(list, piece{set, from, min(from+height, rows), first, min(first+width, channels)})
			}
		}
	}
	return list
}

// partials holds sums for each piece and channel: sums of u, and sums of products with u.
type partials[T graph.Float] struct {
	sum, product []T   // one row of channels for each piece and set
	offsets      []int // offset of each piece's sums
	pieces       []piece
}

func newPartials[T graph.Float](list []piece) *partials[T] {
	p, n := &partials[T]{pieces: list}, 0
	for _, q := range list {
		p.offsets = append(p.offsets, n)
		n += q.last - q.first
	}
	p.sum, p.product = make([]T, n), make([]T, n)
	return p
}

func (p *partials[T]) sumsOfPiece(i int) (sum, product []T) {
	q, offset := p.pieces[i], p.offsets[i]
	sum, product = p.sum[offset:offset+q.last-q.first], p.product[offset:offset+q.last-q.first]
	clear(sum)
	clear(product)
	return sum, product
}

// total adds the sums of all pieces, in order, into arrays [sets, channels].
func (p *partials[T]) total(sum, product []float64, channels int) {
	clear(sum)
	clear(product)
	for i, q := range p.pieces {
		from, to := p.offsets[i], q.set*channels
		for c := q.first; c < q.last; c++ {
			sum[to+c] += float64(p.sum[from+c-q.first])
			product[to+c] += float64(p.product[from+c-q.first])
		}
	}
}

// batchMoments is the operation of [BatchMoments]. It sums the differences from the first row of each set, so the
// variance of equal elements is exactly 0.
type batchMoments[T graph.Float] struct {
	sets, rows, channels int
	x                    []T
	partials             *partials[T]
	sum, square          []float64
	item                 func(worker, i int)
}

func newBatchMoments[T graph.Float](x []int, parts int) *batchMoments[T] {
	n, c := 1, x[len(x)-1]
	for _, d := range x {
		n *= d
	}
	m := &batchMoments[T]{sets: parts, rows: n / c / parts, channels: c, sum: make([]float64, parts*c),
		square: make([]float64, parts*c)}
	m.partials = newPartials[T](newPieces(m.sets, m.rows, c))
	m.item = m.addPiece
	return m
}

func (m *batchMoments[T]) addPiece(_, i int) {
	p := m.partials.pieces[i]
	sum, square := m.partials.sumsOfPiece(i)
	start := p.set * m.rows * m.channels
	shift := m.x[start+p.first : start+p.last]
	kernel.ChannelSums(sum, square, nil, m.x[start+p.from*m.channels+p.first:], shift, p.to-p.from, m.channels)
}

func (m *batchMoments[T]) Forward(in [][]T, out []T) {
	m.x = in[0]
	parallel.For(len(m.partials.pieces), m.item)
	m.partials.total(m.sum, m.square, m.channels)
	n := float64(m.rows)
	for s := range m.sets {
		mean, variance := out[2*s*m.channels:][:m.channels], out[(2*s+1)*m.channels:][:m.channels]
		first := m.x[s*m.rows*m.channels:]
		for c := range m.channels {
			d := m.sum[s*m.channels+c] / n
			mean[c] = T(float64(first[c]) + d)
			variance[c] = T(math.Max(0, m.square[s*m.channels+c]/n-d*d))
		}
	}
}

func (m *batchMoments[T]) Backward(_ [][]T, _, _ []T, _ [][]T) {}
