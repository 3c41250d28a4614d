package layer

import (
	"cmp"
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// PoolKind is the reduction of a window to one value.
type PoolKind string

// The kinds of pooling.
const (
	Max     PoolKind = "max"     // maximum
	Average PoolKind = "average" // mean
)

// PoolOptions are the options of a pooling.
type PoolOptions struct {
	Kind   PoolKind
	Size   int  // side of the square window, in pixels
	Stride int  // 0: equal to Size, so windows do not overlap
	Valid  bool // no padding; otherwise SAME
}

// Pool returns the maximum or the average over windows of images x [batch, height, width, channels], for each channel,
// as [batch, height', width', channels].
//
// With SAME padding, height' = ceil(height/stride), and the windows have the same positions as in [Conv]. Pixels
// outside the image do not count: maxima ignore them, and averages divide by the number of pixels inside. With Valid,
// height' = floor((height-size)/stride) + 1. If several pixels equal the maximum, the first one in row-major order gets
// the gradient.
//
// Source: Goodfellow et al. 2016, Deep Learning, section 9.3; the padding is TensorFlow's.
func Pool(x *gorgonia.Node, o PoolOptions) (*gorgonia.Node, error) {
	o.Stride = cmp.Or(o.Stride, o.Size)
	return pooling("pool", o.Kind, graph.Key(o.Kind, o.Size, o.Stride, o.Valid),
		map[string]any{"kind": string(o.Kind), "size": o.Size, "stride": o.Stride, "valid": o.Valid},
		func(s tensor.Shape) (rows, columns kernels.Side, err error) {
			switch {
			case o.Size < 1:
				return rows, columns, graph.Wanted("windows of 1 pixel or more", o.Size)
			case o.Stride < 1:
				return rows, columns, graph.Wanted("a stride of 1 or more", o.Stride)
			case o.Valid && (o.Size > s[1] || o.Size > s[2]):
				return rows, columns, graph.Wanted(fmt.Sprintf("images of %d by %d pixels or more (or SAME padding)",
					o.Size, o.Size), s)
			}
			return o.side(s[1]), o.side(s[2]), nil
		}, x)
}

// AdaptivePool returns the maximum or the average over height by width bins of images x [batch, h, w, channels], for
// each channel, as [batch, height, width, channels]. Bin i of n covers rows floor(i h/n) to ceil((i+1) h/n), exclusive.
// The columns are analogous. Bins overlap if n does not divide h, and repeat pixels if n is larger than h. One bin
// pools over the whole image. If several pixels equal the maximum, the first one in row-major order gets the gradient.
//
// Source: PyTorch's adaptive_avg_pool2d and adaptive_max_pool2d; one bin: Lin et al. 2014, section 3.2.
func AdaptivePool(x *gorgonia.Node, kind PoolKind, height, width int) (*gorgonia.Node, error) {
	return pooling("adaptive pool", kind, graph.Key(kind, height, width),
		map[string]any{"kind": string(kind), "height": height, "width": width},
		func(s tensor.Shape) (rows, columns kernels.Side, err error) {
			if height < 1 || width < 1 || height > maxElements || width > maxElements || height*width > maxElements/(s[0]*s[3]) {
				return rows, columns, graph.Wanted(fmt.Sprintf("1 by 1 bins or more, and at most %d elements", maxElements),
					fmt.Sprintf("%d by %d bins of %v", height, width, s))
			}
			return kernels.Side{Pixels: s[1], Count: height}, kernels.Side{Pixels: s[2], Count: width}, nil
		}, x)
}

// span is a range [from, to) of pixels along a side.
type span struct{ from, to int }

// side returns the windows along a side of n pixels.
func (o PoolOptions) side(n int) kernels.Side {
	s := kernels.Side{Pixels: n, Count: (n + o.Stride - 1) / o.Stride, Size: o.Size, Stride: o.Stride}
	if o.Valid {
		s.Count = (n-o.Size)/o.Stride + 1
	} else {
		s.Before = max((s.Count-1)*o.Stride+o.Size-n, 0) / 2
	}
	return s
}

// spans returns the pixels of each window along a side, or of each bin if the stride is 0.
func spans(s kernels.Side) (list []span) {
	for i := range s.Count {
		if s.Stride == 0 {
			list = append(list, span{i * s.Pixels / s.Count, ((i+1)*s.Pixels + s.Count - 1) / s.Count})
		} else {
			first := i*s.Stride - s.Before
			list = append(list, span{max(first, 0), min(first+s.Size, s.Pixels)})
		}
	}
	return list
}

// pooling adds a pooling; sides computes the positions of the windows from the shape of the images.
func pooling(name string, kind PoolKind, key string, attributes map[string]any,
	sides func(tensor.Shape) (rows, columns kernels.Side, err error), x *gorgonia.Node) (*gorgonia.Node, error) {
	if kind != Max && kind != Average {
		return nil, fmt.Errorf("%s: %w", name, graph.Wanted(`kind "max" or "average"`, fmt.Sprintf("%q", string(kind))))
	}
	return graph.Apply(graph.Spec{
		Name:       name,
		Key:        key,
		Attributes: attributes,
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			s, err := imagesOf(in)
			if err != nil {
				return nil, err
			}
			rows, columns, err := sides(s)
			return tensor.Shape{s[0], rows.Count, columns.Count, s[3]}, err
		},
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (graph.Func, error) {
			rows, columns, err := sides(in[0])
			if err != nil {
				return nil, err
			}
			if dt == tensor.Float32 {
				return poolFunc[float32](kind, in[0], spans(rows), spans(columns)), nil
			}
			return poolFunc[float64](kind, in[0], spans(rows), spans(columns)), nil
		},
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			b, c := in[0][0], in[0][3]
			rows, columns, err := sides(in[0])
			if kind == Average {
				return graph.Recording{
					Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
						kernels.AveragePool(t, in[0], out, b, c, rows, columns)
					},
					Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
						kernels.AveragePoolGradient(t, dout, din[0], b, c, rows, columns)
					},
				}, err
			}
			return graph.Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.MaxPool(t, in[0], out, b, c, rows, columns)
				},
				Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					kernels.MaxPoolGradient(t, in[0], dout, din[0], b, c, rows, columns)
				},
			}, err
		},
		Tangent: func(in []*gorgonia.Node, out *gorgonia.Node, along []*gorgonia.Node) (*gorgonia.Node, error) {
			if kind == Average {
				return pooling(name, kind, key, attributes, sides, along[0])
			}
			return maxPoolTangent(name, key, sides, in[0], out, along[0])
		},
	}, x)
}

func poolFunc[T graph.Float](kind PoolKind, s tensor.Shape, rows, columns []span) graph.Func {
	if kind == Average {
		return graph.NewFunc[T](newResample[T](s[0], s[3], means(s[1], rows), means(s[2], columns)))
	}
	return graph.NewFunc[T](newMaxPool[T](s, rows, columns))
}

// means returns the linear map that averages windows along a side of n pixels.
func means(n int, windows []span) axis {
	a := axis{in: n, taps: make([][]tap, len(windows))}
	for i, w := range windows {
		for p := w.from; p < w.to; p++ {
			a.taps[i] = append(a.taps[i], tap{p, 1 / float64(w.to-w.from)})
		}
	}
	return a
}

// maxPool takes the maximum over rows and then over columns. The forward pass is parallel over rows of the result. The
// backward pass is parallel over images, because windows may overlap.
type maxPool[T graph.Float] struct {
	batch, height, width, channels int
	rows, columns                  []span
	do                             kernel.Arithmetic[T]
	lines                          [][]T // one per worker: the maximum over rows; in the backward pass the part of the gradient that a window has not yet assigned
	x, y, dy, dx                   []T
	forwardItem, backwardItem      func(worker, i int)
}

func newMaxPool[T graph.Float](s tensor.Shape, rows, columns []span) *maxPool[T] {
	p := &maxPool[T]{batch: s[0], height: s[1], width: s[2], channels: s[3], rows: rows, columns: columns,
		do: kernel.ArithmeticOf[T](), lines: make([][]T, parallel.Threads())}
	for i := range p.lines {
		p.lines[i] = make([]T, p.width*p.channels)
	}
	p.forwardItem, p.backwardItem = p.row, p.image
	return p
}

func (p *maxPool[T]) Forward(in [][]T, out []T) {
	p.x, p.y = in[0], out
	parallel.ForWorkers(len(p.lines), p.batch*len(p.rows), p.forwardItem)
}

func (p *maxPool[T]) row(worker, i int) {
	image, window, rowSize := i/len(p.rows), p.rows[i%len(p.rows)], p.width*p.channels
	x := p.x[image*p.height*rowSize:]
	line := x[window.from*rowSize:][:rowSize]
	if window.to > window.from+1 {
		line = p.lines[worker]
		copy(line, x[window.from*rowSize:])
		for r := window.from + 1; r < window.to; r++ {
			p.do.Largest(line, x[r*rowSize:][:rowSize])
		}
	}
	y := p.y[i*len(p.columns)*p.channels:]
	for c, w := range p.columns {
		dst := y[c*p.channels:][:p.channels]
		copy(dst, line[w.from*p.channels:])
		for column := w.from + 1; column < w.to; column++ {
			p.do.Largest(dst, line[column*p.channels:][:p.channels])
		}
	}
}

func (p *maxPool[T]) Backward(in [][]T, out, dout []T, din [][]T) {
	if din[0] == nil {
		return
	}
	p.x, p.y, p.dy, p.dx = in[0], out, dout, din[0]
	parallel.ForWorkers(len(p.lines), p.batch, p.backwardItem)
}

func (p *maxPool[T]) image(worker, i int) {
	c, rowSize := p.channels, p.width*p.channels
	x, dx := p.x[i*p.height*rowSize:], p.dx[i*p.height*rowSize:][:p.height*rowSize]
	clear(dx)
	unclaimed, offset := p.lines[worker][:c], i*len(p.rows)*len(p.columns)*c
	for _, row := range p.rows {
		for _, column := range p.columns {
			copy(unclaimed, p.dy[offset:])
			y := p.y[offset:][:c]
			for r := row.from; r < row.to; r++ {
				for k := column.from; k < column.to; k++ {
					q := (r*p.width + k) * c
					p.do.Claim(dx[q:][:c], unclaimed, x[q:][:c], y)
				}
			}
			offset += c
		}
	}
}
