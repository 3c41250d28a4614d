package layer

import (
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// axis is a linear map of the pixels along one side of an image: output i is the weighted sum of taps[i].
type axis struct {
	in   int // number of input pixels
	taps [][]tap
}

type tap struct {
	from   int // index of the input pixel
	weight float64
}

// transposed returns the transposed map, which maps gradients.
func (a axis) transposed() axis {
	t := axis{in: len(a.taps), taps: make([][]tap, a.in)}
	for i, list := range a.taps {
		for _, p := range list {
			t.taps[p.from] = append(t.taps[p.from], tap{i, p.weight})
		}
	}
	return t
}

// resample applies linear maps along the columns and then the rows of images, for each channel. It is the body of
// average pooling and interpolation.
type resample[T graph.Float] struct {
	forward, backward pass[T]
}

func newResample[T graph.Float](batch, channels int, rows, columns axis) *resample[T] {
	f := &resample[T]{}
	f.forward.init(batch, channels, rows, columns)
	f.backward.init(batch, channels, rows.transposed(), columns.transposed())
	return f
}

func (f *resample[T]) Forward(in [][]T, out []T) { f.forward.run(out, in[0]) }

func (f *resample[T]) Backward(_ [][]T, _, dout []T, din [][]T) {
	if din[0] != nil {
		f.backward.run(din[0], dout)
	}
}

// pass computes one direction. The unit of parallel work is a row of the result.
type pass[T graph.Float] struct {
	batch, channels int
	rows, columns   axis
	do              kernel.Arithmetic[T]
	lines           [][]T // one per worker: a weighted sum of rows
	dst, src        []T
	item            func(worker, i int)
}

func (p *pass[T]) init(batch, channels int, rows, columns axis) {
	*p = pass[T]{batch: batch, channels: channels, rows: rows, columns: columns, do: kernel.ArithmeticOf[T](),
		lines: make([][]T, parallel.Threads())}
	for i := range p.lines {
		p.lines[i] = make([]T, columns.in*channels)
	}
	p.item = p.row
}

func (p *pass[T]) run(dst, src []T) {
	p.dst, p.src = dst, src
	parallel.ForWorkers(len(p.lines), p.batch*len(p.rows.taps), p.item)
}

func (p *pass[T]) row(worker, i int) {
	image, y := i/len(p.rows.taps), i%len(p.rows.taps)
	wide := p.columns.in * p.channels
	src, line := p.src[image*p.rows.in*wide:][:p.rows.in*wide], p.lines[worker]
	if taps := p.rows.taps[y]; len(taps) == 1 && taps[0].weight == 1 {
		line = src[taps[0].from*wide:][:wide]
	} else {
		p.combine(line, taps, src)
	}
	dst := p.dst[i*len(p.columns.taps)*p.channels:]
	for x, taps := range p.columns.taps {
		p.combine(dst[x*p.channels:][:p.channels], taps, line)
	}
}

// few is the maximum number of elements for which plain loops are faster than kernels.
const few = 15

// combine sets dst to the weighted sum of segments of src. Each segment has the length of dst.
func (p *pass[T]) combine(dst []T, taps []tap, src []T) {
	n := len(dst)
	piece := func(i int) []T { return src[taps[i].from*n:][:n] }
	switch {
	case len(taps) == 0:
		clear(dst)
		return
	case len(taps) == 1 && taps[0].weight == 1:
		copy(dst, piece(0))
		return
	case len(taps) == 1:
		p.do.Scale(dst, T(taps[0].weight), piece(0))
		return
	case n <= few:
		mixFew(dst, T(taps[0].weight), piece(0), T(taps[1].weight), piece(1))
	default:
		p.do.Mix(dst, T(taps[0].weight), piece(0), T(taps[1].weight), piece(1))
	}
	for i := 2; i < len(taps); i++ {
		if taps[i].weight == 1 {
			p.do.Add(dst, piece(i))
		} else {
			p.do.AddScaled(dst, T(taps[i].weight), piece(i))
		}
	}
}
