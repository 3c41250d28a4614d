package graph

import (
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/internal/kernel"
)

// KernelKind is a similarity of rows.
type KernelKind uint8

// The similarities of rows.
const (
	GaussianKernel KernelKind = iota // exp(-|a - b|^2/(2 s^2))
	EqualKernel                      // 1 if a = b, else 0
	CircularKernel                   // Gaussian, of the points on a circle that a number of turns stands for
)

// Kernel says how similar rows of an array are.
type Kernel struct {
	Kind      KernelKind
	Columns   []int   // that count; nil: all
	Bandwidth float64 // s; 0: the median of the distances of rows
}

// HSIC returns the Hilbert-Schmidt independence criterion of the rows of x [n, D]
// and y [n, E], a scalar: the biased estimate of Gretton et al. 2005, definition 2, on
// the scale of their population value,
//
//	1/n^2 trace(K H L H),  H = 1 - 1/n
//
// for the matrices K and L of similarities of rows of x and of y. It is 0 where one of
// the two is constant, at least 0, and small for independent ones. With groups [n]
// or [n, 1], rows with a negative number take no part; less than two have the value 0.
//
// Without a bandwidth, s is the median of the distances of pairs of rows, the lower
// one of two: of all pairs of up to 362 rows, of the pairs (r, r+1) .. (r, r+k) of
// more, cyclically, with k rows such that there are at most 65536 pairs, but at least
// one. If that is 0, s is 1. The gradient is that of the criterion with this s, a
// distance of two rows, the first pair of equal ones.
//
// It is differentiable in x and y where their kernels are Gaussian.
func HSIC(x, y, groups *gorgonia.Node, kx, ky Kernel) (*gorgonia.Node, error) {
	in := []*gorgonia.Node{x, y}
	if groups != nil {
		in = append(in, groups)
	}
	return Apply(Spec{
		Name: "hsic",
		Key:  keyOf(kx, ky),
		Diff: []bool{kx.Kind == GaussianKernel, ky.Kind == GaussianKernel, false}[:len(in)],
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			n, _, err := rowsOf("x", in[0])
			if err != nil {
				return nil, err
			}
			for i, k := range []Kernel{kx, ky} {
				m, width, err := rowsOf("x and y", in[i])
				if err != nil {
					return nil, err
				}
				if m != n {
					return nil, wanted("x and y of as many rows", in)
				}
				if err := k.check(width); err != nil {
					return nil, err
				}
			}
			if len(in) > 2 && in[2].TotalSize() != n {
				return nil, wanted("groups, one of each row", in[2])
			}
			return tensor.ScalarShape(), nil
		},
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (Func, error) {
			if dt == tensor.Float32 {
				return newFunc[float32](newHSIC[float32](in, kx, ky)), nil
			}
			return newFunc[float64](newHSIC[float64](in, kx, ky)), nil
		},
	}, in...)
}

func (k Kernel) check(width int) error {
	if k.Kind > CircularKernel || !(k.Bandwidth >= 0) || math.IsInf(k.Bandwidth, 1) {
		return wanted("a known kernel and a finite bandwidth from 0 on", k)
	}
	return distinct("columns", k.Columns, width)
}

type hsic[T float] struct {
	n         int
	sides     [2]hsicSide[T]
	rows      []int // those that take part
	blocks    []hsicBlock[T]
	values    *loop
	gradients *loop
	totals    [2]float64 // of the similarities
}

// hsicBlock is the scratch of a block of rows: tiles of both sides' similarities and
// of weights, and sums of lanes.
type hsicBlock[T float] struct{ k, l, w, lanes []T }

func newHSIC[T float](in []tensor.Shape, kx, ky Kernel) *hsic[T] {
	n := in[0][0]
	f := &hsic[T]{n: n, rows: make([]int, 0, n)}
	f.sides = [2]hsicSide[T]{newHSICSide[T](n, in[0][1], kx), newHSICSide[T](n, in[1][1], ky)}
	f.blocks = make([]hsicBlock[T], (n+kernel.PairLanes-1)/kernel.PairLanes)
	for i := range f.blocks {
		const tile = kernel.PairLanes * kernel.PairSources
		f.blocks[i] = hsicBlock[T]{make([]T, tile), make([]T, tile), make([]T, tile), make([]T, kernel.PairLanes)}
	}
	f.values, f.gradients = newPairLoop(n, f.valueBlock), newPairLoop(n, f.gradientBlock)
	return f
}

func (f *hsic[T]) forward(in [][]T, out []T) {
	f.rows = f.rows[:0]
	for r := range f.n {
		if len(in) < 3 || in[2][r] >= 0 {
			f.rows = append(f.rows, r)
		}
	}
	out[0] = 0
	if len(f.rows) < 2 {
		return
	}
	for i := range f.sides {
		f.sides[i].set(in[i], f.rows)
	}
	f.values.resize(len(f.rows))
	products := f.values.run()
	n, cross := float64(len(f.rows)), 0.0
	f.totals = [2]float64{}
	for i, k := range f.sides[0].sums[:len(f.rows)] {
		l := f.sides[1].sums[i]
		cross += k * l
		f.totals[0] += k
		f.totals[1] += l
	}
	out[0] = T(products/(n*n) - 2*cross/(n*n*n) + f.totals[0]/(n*n)*f.totals[1]/(n*n))
}

// valueBlock computes the sums of the similarities of rows, and returns that of the
// products.
func (f *hsic[T]) valueBlock(lo, hi int) float64 {
	b, sum := &f.blocks[lo/kernel.PairLanes], 0.0
	for i := range f.sides {
		clear(f.sides[i].sums[lo:hi])
	}
	for t := range tilesFrom(len(f.rows), 0, math.MaxInt) {
		for i, tile := range [][]T{b.k, b.l} {
			f.sides[i].tile(tile, lo, t)
			kernel.SumLanes(b.lanes, tile, t.n)
			for j := range hi - lo {
				f.sides[i].sums[lo+j] += float64(b.lanes[j])
			}
			clear(b.lanes)
		}
		kernel.SumProducts(b.lanes, b.k, b.l, t.n)
		sum += sumLanes(b.lanes, hi-lo)
	}
	return sum
}

func (f *hsic[T]) backward(_ [][]T, _, dout []T, din [][]T) {
	n := len(f.rows)
	for i := range f.sides {
		clear(din[i])
		f.sides[i].wanted = din[i] != nil && f.sides[i].Kind == GaussianKernel
	}
	if n < 2 {
		return
	}
	for i := range f.sides {
		f.sides[i].centre(n, f.totals[i])
		f.sides[i].slope.Zero(n)
	}
	f.gradients.resize(n)
	f.gradients.run()
	for i := range f.sides {
		if f.sides[i].wanted {
			f.sides[i].write(din[i], f.rows, float64(dout[0]))
		}
	}
}

// gradientBlock sums up, for the rows of a block, w_ij (x_i - x_j) with
// w_ij = k_ij (l_ij - l_i/n - l_j/n + l/n^2)/n^2, and for y the other way round.
func (f *hsic[T]) gradientBlock(lo, _ int) float64 {
	b, n := &f.blocks[lo/kernel.PairLanes], float64(len(f.rows))
	for t := range tilesFrom(len(f.rows), 0, math.MaxInt) {
		f.sides[0].tile(b.k, lo, t)
		f.sides[1].tile(b.l, lo, t)
		for i, tiles := range [2][2][]T{{b.k, b.l}, {b.l, b.k}} {
			if s, other := &f.sides[i], &f.sides[1-i]; s.wanted {
				kernel.CentredProduct(b.w, tiles[0], tiles[1], 1/(n*n), other.lanes[lo:], other.sources[t.source:], t.n)
				s.points.AddWeighted(s.slope, b.w, lo, t.source, t.n)
			}
		}
	}
	return 0
}
