package layer

import (
	"math"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// norm computes a normalisation. If each set has its own moments, the unit of work is a set, which then stays in the
// cache. If the moments are an input, the unit of work is a piece.
type norm[T graph.Float] struct {
	normShape
	floor    T
	partials *partials[T]

	// For each set and channel: the mean, 1/sqrt(variance + epsilon), and the factors and offsets of a pass.
	mean, inverse                                          []T
	scale, b, offset                                       []T
	sum, product                                           []float64 // sums of dy, and of dy (x - mean)
	masked                                                 []T       // dy times the slope of ReLU, in dx's memory
	x, y, dy, dx                                           []T
	gamma, beta                                            []T
	forwardItem, mapItem, backwardItem, sumItem, slopeItem func(worker, i int)
}

func newNorm[T graph.Float](s normShape) *norm[T] {
	n := s.sets * s.channels
	f := &norm[T]{normShape: s, mean: make([]T, n), inverse: make([]T, n), scale: make([]T, n), b: make([]T, n), offset: make([]T, n),
		sum: make([]float64, n), product: make([]float64, n), floor: T(math.Inf(-1))}
	if s.relu {
		f.floor = 0
	}
	if s.moments {
		f.partials = newPartials[T](piecesOf(s.sets, s.rows, s.channels))
	} else {
		var whole []piece
		for set := range s.sets {
			whole = append(whole, piece{set, 0, s.rows, 0, s.channels})
		}
		f.partials = newPartials[T](whole)
	}
	f.forwardItem, f.mapItem, f.backwardItem, f.sumItem, f.slopeItem = f.forwardSet, f.mapPiece, f.backwardSet, f.sumPiece, f.slopePiece
	return f
}

// read stores the slices of the inputs and returns the moments.
func (f *norm[T]) read(in [][]T) (moments []T) {
	f.x = in[0]
	if f.moments {
		moments = in[1]
	}
	if f.affine {
		f.gamma, f.beta = in[len(in)-2], in[len(in)-1]
	}
	return moments
}

func (f *norm[T]) Forward(in [][]T, out []T) {
	moments := f.read(in)
	f.y = out
	if !f.moments {
		parallel.For(f.sets, f.forwardItem)
		return
	}
	for set := range f.sets {
		at := set * f.channels
		copy(f.mean[at:at+f.channels], moments[2*at:])
		for c, v := range moments[2*at+f.channels : 2*at+2*f.channels] {
			f.inverse[at+c] = T(1 / math.Sqrt(float64(v)+f.epsilon))
		}
		f.setLine(at)
	}
	parallel.For(len(f.partials.pieces), f.mapItem)
}

// setLine sets the factor and offset of y as a linear function of x - mean.
func (f *norm[T]) setLine(at int) {
	scale, offset := f.scale[at:at+f.channels], f.offset[at:at+f.channels]
	copy(scale, f.inverse[at:])
	clear(offset)
	if f.affine {
		copy(offset, f.beta)
		for c, g := range f.gamma {
			scale[c] *= g
		}
	}
}

// mapPiece computes y.
func (f *norm[T]) mapPiece(_, i int) {
	p := f.partials.pieces[i]
	at, v := f.offsetsOf(p)
	kernel.ChannelMap(f.y[at:], f.x[at:], f.mean[v:v+p.last-p.first], f.scale[v:], f.offset[v:], p.to-p.from, f.channels, f.floor)
}

// offsetsOf returns the offset of a piece in x, and the offset of its channels in arrays [sets, channels].
func (f *norm[T]) offsetsOf(p piece) (x, vector int) {
	return (p.set*f.rows+p.from)*f.channels + p.first, p.set*f.channels + p.first
}

// forwardSet computes the moments and y of a set.
func (f *norm[T]) forwardSet(_, set int) {
	at, c := set*f.channels, f.channels
	first := f.x[at*f.rows:][:c]
	sum, square := f.partials.sums(set)
	kernel.ChannelSums(sum, square, nil, f.x[at*f.rows:], first, f.rows, c)
	n, wide := float64(f.rows), c/f.groups
	for g := 0; g < c; g += wide {
		mean := 0.0
		for j := g; j < g+wide; j++ {
			mean += float64(first[j]) + float64(sum[j])/n
		}
		mean /= float64(wide)
		variance := 0.0
		for j := g; j < g+wide; j++ {
			d := float64(sum[j]) / n
			deviation := float64(first[j]) + d - mean
			variance += math.Max(0, float64(square[j])/n-d*d) + deviation*deviation
		}
		inverse := T(1 / math.Sqrt(variance/float64(wide)+f.epsilon))
		for j := g; j < g+wide; j++ {
			f.mean[at+j], f.inverse[at+j] = T(mean), inverse
		}
	}
	f.setLine(at)
	f.mapPiece(0, set)
}

func (f *norm[T]) Backward(in [][]T, out, dout []T, din [][]T) {
	f.read(in)
	f.y, f.dy, f.dx = out, dout, din[0]
	if f.relu {
		if f.masked = f.dx; f.masked == nil {
			f.masked = make([]T, len(dout))
		}
	}
	var gamma, beta []T
	if f.affine {
		gamma, beta = din[len(din)-2], din[len(din)-1]
	}
	if !f.moments {
		parallel.For(f.sets, f.backwardItem)
	} else {
		parallel.For(len(f.partials.pieces), f.sumItem)
		f.partials.total(f.sum, f.product, f.channels)
		for set := range f.sets {
			f.slopes(set)
		}
		if f.dx != nil {
			parallel.For(len(f.partials.pieces), f.slopeItem)
		}
	}
	f.affineGradients(gamma, beta)
}

// gradientOf returns the gradient with respect to y before ReLU, from offset at.
func (f *norm[T]) gradientOf(at int) []T {
	if f.relu {
		return f.masked[at:]
	}
	return f.dy[at:]
}

// sumPiece computes the sums of a piece for the gradients of its channels.
func (f *norm[T]) sumPiece(_, i int) {
	p := f.partials.pieces[i]
	at, v := f.offsetsOf(p)
	n, rows := p.last-p.first, p.to-p.from
	switch {
	case f.relu && n == f.channels:
		numeric.ActivationGradient(kernel.ReLUActivation, f.masked[at:][:rows*n], f.dy[at:][:rows*n], f.y[at:][:rows*n])
	case f.relu:
		for r := 0; r < rows*f.channels; r += f.channels {
			numeric.ActivationGradient(kernel.ReLUActivation, f.masked[at+r:][:n], f.dy[at+r:][:n], f.y[at+r:][:n])
		}
	}
	sum, product := f.partials.sums(i)
	kernel.ChannelSums(sum, product, f.gradientOf(at), f.x[at:], f.mean[v:v+n], rows, f.channels)
}

// slopes sets the factors and offsets of dx as a linear function of dy and x - mean. With g = gamma dy and h = (x -
// mean)/sqrt(variance + epsilon), dx is (g - mean(g) - h mean(g h))/sqrt(variance + epsilon).
func (f *norm[T]) slopes(set int) {
	at, c := set*f.channels, f.channels
	f.setLine(at) // scale is the factor of dy
	if f.given {  // b is 0
		clear(f.offset[at : at+c])
		return
	}
	wide := 1
	if f.groups > 0 {
		wide = c / f.groups
	}
	n := float64(wide * f.rows)
	for g := at; g < at+c; g += wide {
		var sum, product float64
		for j := g; j < g+wide; j++ {
			w := 1.0
			if f.affine {
				w = float64(f.gamma[j-at])
			}
			sum += w * f.sum[j]
			product += w * f.product[j]
		}
		inverse := float64(f.inverse[g])
		for j := g; j < g+wide; j++ {
			f.b[j] = T(-inverse * inverse * inverse * product / n)
			f.offset[j] = T(-inverse * sum / n)
		}
	}
}

// slopePiece computes dx.
func (f *norm[T]) slopePiece(_, i int) {
	p := f.partials.pieces[i]
	at, v := f.offsetsOf(p)
	kernel.ChannelGradient(f.dx[at:], f.gradientOf(at), f.x[at:], f.mean[v:v+p.last-p.first], f.scale[v:], f.b[v:], f.offset[v:], p.to-p.from, f.channels)
}

// backwardSet computes the sums and dx of a set.
func (f *norm[T]) backwardSet(_, set int) {
	f.sumPiece(0, set)
	at := set * f.channels
	sum, product := f.partials.sum[at:at+f.channels], f.partials.product[at:at+f.channels]
	for c := range sum {
		f.sum[at+c], f.product[at+c] = float64(sum[c]), float64(product[c])
	}
	if f.dx != nil {
		f.slopes(set)
		f.slopePiece(0, set)
	}
}

// affineGradients computes the gradients with respect to gamma and beta, unless they are nil.
func (f *norm[T]) affineGradients(gamma, beta []T) {
	for c := range gamma {
		total := 0.0
		for at := c; at < len(f.product); at += f.channels {
			total += f.product[at] * float64(f.inverse[at])
		}
		gamma[c] = T(total)
	}
	for c := range beta {
		total := 0.0
		for at := c; at < len(f.sum); at += f.channels {
			total += f.sum[at]
		}
		beta[c] = T(total)
	}
}
