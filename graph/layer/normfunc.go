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
	f := &norm[T]{normShape: s, mean: make([]T, n), inverse: make([]T, n), scale: make([]T, n), b: make([]T, n),
		offset: make([]T, n), sum: make([]float64, n), product: make([]float64, n), floor: T(math.Inf(-1))}
	if s.relu {
		f.floor = 0
	}
	if s.moments {
		f.partials = newPartials[T](newPieces(s.sets, s.rows, s.channels))
	} else {
		var whole []piece
		for set := range s.sets {
			whole = append(whole, piece{set, 0, s.rows, 0, s.channels})
		}
		f.partials = newPartials[T](whole)
	}
	f.forwardItem, f.mapItem, f.backwardItem, f.sumItem, f.slopeItem = f.forwardSet, f.mapPiece, f.backwardSet, f.sumPiece,
		f.slopePiece
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
		first := set * f.channels
		copy(f.mean[first:first+f.channels], moments[2*first:])
		for c, v := range moments[2*first+f.channels : 2*first+2*f.channels] {
			f.inverse[first+c] = T(1 / math.Sqrt(float64(v)+f.epsilon))
		}
		f.setLine(first)
	}
	parallel.For(len(f.partials.pieces), f.mapItem)
}

// setLine sets the factor and offset of y as a linear function of x - mean.
func (f *norm[T]) setLine(first int) {
	scale, offset := f.scale[first:first+f.channels], f.offset[first:first+f.channels]
	copy(scale, f.inverse[first:])
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
	start, channel := f.offsetsOf(p)
	kernel.ChannelMap(f.y[start:], f.x[start:], f.mean[channel:channel+p.last-p.first], f.scale[channel:],
		f.offset[channel:], p.to-p.from, f.channels, f.floor)
}

// offsetsOf returns the offset of a piece in x, and the offset of its channels in arrays [sets, channels].
func (f *norm[T]) offsetsOf(p piece) (x, vector int) {
	return (p.set*f.rows+p.from)*f.channels + p.first, p.set*f.channels + p.first
}

// forwardSet computes the moments and y of a set.
func (f *norm[T]) forwardSet(_, set int) {
	start, c := set*f.channels, f.channels
	first := f.x[start*f.rows:][:c]
	sum, square := f.partials.sumsOfPiece(set)
	kernel.ChannelSums(sum, square, nil, f.x[start*f.rows:], first, f.rows, c)
	n, width := float64(f.rows), c/f.groups
	for g := 0; g < c; g += width {
		mean := 0.0
		for j := g; j < g+width; j++ {
			mean += float64(first[j]) + float64(sum[j])/n
		}
		mean /= float64(width)
		variance := 0.0
		for j := g; j < g+width; j++ {
			d := float64(sum[j]) / n
			deviation := float64(first[j]) + d - mean
			variance += math.Max(0, float64(square[j])/n-d*d) + deviation*deviation
		}
		inverse := T(1 / math.Sqrt(variance/float64(width)+f.epsilon))
		for j := g; j < g+width; j++ {
			f.mean[start+j], f.inverse[start+j] = T(mean), inverse
		}
	}
	f.setLine(start)
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
			f.setInputLine(set)
		}
		if f.dx != nil {
			parallel.For(len(f.partials.pieces), f.slopeItem)
		}
	}
	f.affineGradients(gamma, beta)
}

// gradientOf returns the gradient with respect to y before ReLU, from an offset.
func (f *norm[T]) gradientOf(offset int) []T {
	if f.relu {
		return f.masked[offset:]
	}
	return f.dy[offset:]
}

// sumPiece computes the sums of a piece for the gradients of its channels.
func (f *norm[T]) sumPiece(_, i int) {
	p := f.partials.pieces[i]
	start, channel := f.offsetsOf(p)
	n, rows := p.last-p.first, p.to-p.from
	switch {
	case f.relu && n == f.channels:
		numeric.ActivationGradient(kernel.ReLUActivation, f.masked[start:][:rows*n], f.dy[start:][:rows*n],
			f.y[start:][:rows*n])
	case f.relu:
		for r := 0; r < rows*f.channels; r += f.channels {
			numeric.ActivationGradient(kernel.ReLUActivation, f.masked[start+r:][:n], f.dy[start+r:][:n], f.y[start+r:][:n])
		}
	}
	sum, product := f.partials.sumsOfPiece(i)
	kernel.ChannelSums(sum, product, f.gradientOf(start), f.x[start:], f.mean[channel:channel+n], rows, f.channels)
}

// setInputLine sets the factors and offsets of dx as a linear function of dy and x - mean. With g = gamma dy and h = (x
// - mean)/sqrt(variance + epsilon), dx is (g - mean(g) - h mean(g h))/sqrt(variance + epsilon).
func (f *norm[T]) setInputLine(set int) {
	first, c := set*f.channels, f.channels
	f.setLine(first) // scale is the factor of dy
	if f.given {     // b is 0
		clear(f.offset[first : first+c])
		return
	}
	width := 1
	if f.groups > 0 {
		width = c / f.groups
	}
	n := float64(width * f.rows)
	for g := first; g < first+c; g += width {
		var sum, product float64
		for j := g; j < g+width; j++ {
			w := 1.0
			if f.affine {
				w = float64(f.gamma[j-first])
			}
			sum += w * f.sum[j]
			product += w * f.product[j]
		}
		inverse := float64(f.inverse[g])
		for j := g; j < g+width; j++ {
			f.b[j] = T(-inverse * inverse * inverse * product / n)
			f.offset[j] = T(-inverse * sum / n)
		}
	}
}

// slopePiece computes dx.
func (f *norm[T]) slopePiece(_, i int) {
	p := f.partials.pieces[i]
	start, channel := f.offsetsOf(p)
	kernel.ChannelGradient(f.dx[start:], f.gradientOf(start), f.x[start:], f.mean[channel:channel+p.last-p.first],
		f.scale[channel:], f.b[channel:], f.offset[channel:], p.to-p.from, f.channels)
}

// backwardSet computes the sums and dx of a set.
func (f *norm[T]) backwardSet(_, set int) {
	f.sumPiece(0, set)
	first := set * f.channels
	sum, product := f.partials.sum[first:first+f.channels], f.partials.product[first:first+f.channels]
	for c := range sum {
		f.sum[first+c], f.product[first+c] = float64(sum[c]), float64(product[c])
	}
	if f.dx != nil {
		f.setInputLine(set)
		f.slopePiece(0, set)
	}
}

// affineGradients computes the gradients with respect to gamma and beta, unless they are nil.
func (f *norm[T]) affineGradients(gamma, beta []T) {
	for c := range gamma {
		total := 0.0
		for i := c; i < len(f.product); i += f.channels {
			total += f.product[i] * float64(f.inverse[i])
		}
		gamma[c] = T(total)
	}
	for c := range beta {
		total := 0.0
		for i := c; i < len(f.sum); i += f.channels {
			total += f.sum[i]
		}
		beta[c] = T(total)
	}
}
