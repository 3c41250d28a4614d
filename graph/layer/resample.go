package layer

import (
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// axis is a linear map of the pixels along one side of an image: output i is the weighted sum of taps[i].
type axis struct {
	in   int // pixels
	taps [][]tap
}

type tap struct {
	from   int // the input pixel
	weight float64
}

// transposed returns the map of gradients.
func (a axis) transposed() axis {
	t := axis{in: len(a.taps), taps: make([][]tap, a.in)}
	for i, list := range a.taps {
		for _, p := range list {
			t.taps[p.from] = append(t.taps[p.from], tap{i, p.weight})
		}
	}
	return t
}

// resample is the body of operations that map the columns of images and then their rows linearly, channel by
// channel: average pooling and interpolation.
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

// pass computes one direction; a row of the result is an item of work.
type pass[T graph.Float] struct {
	batch, channels int
	rows, columns   axis
	lines           [][]T // of each worker: a weighted sum of rows
	dst, src        []T
	item            func(worker, i int)
}

func (p *pass[T]) init(batch, channels int, rows, columns axis) {
	*p = pass[T]{batch: batch, channels: channels, rows: rows, columns: columns, lines: make([][]T, parallel.Threads())}
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
		combine(line, taps, src)
	}
	dst := p.dst[i*len(p.columns.taps)*p.channels:]
	for x, taps := range p.columns.taps {
		combine(dst[x*p.channels:][:p.channels], taps, line)
	}
}

// combine sets dst to the weighted sum of pieces of src that are as long as dst.
func combine[T graph.Float](dst []T, taps []tap, src []T) {
	n := len(dst)
	for i, p := range taps {
		switch s := src[p.from*n:][:n]; {
		case i == 0 && p.weight == 1:
			copy(dst, s)
		case i == 0:
			scale(dst, T(p.weight), s)
		case p.weight == 1:
			add(dst, s)
		default:
			addScaled(dst, T(p.weight), s)
		}
	}
	if len(taps) == 0 {
		clear(dst)
	}
}
