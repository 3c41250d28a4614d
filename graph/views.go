package graph

import (
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// leastNorm is the least norm that a row is divided by.
const leastNorm = 1e-12

// viewRows checks two matrices of one shape whose rows are the images' first views, then their second ones.
func viewRows(in []tensor.Shape) (images, columns int, err error) {
	rows, columns, err := rowsOf("input", in[0])
	switch {
	case err != nil:
		return 0, 0, err
	case rows%2 != 0:
		return 0, 0, wanted("an even number of rows: first views, then second ones", in[0])
	case len(in) > 1 && !slices.Equal(in[0], in[1]):
		return 0, 0, wanted(fmt.Sprintf("targets of shape %v", in[0]), in[1])
	}
	return rows / 2, columns, nil
}

// CosineRegression returns how far predictions are from the targets of the other view: for predictions
// p and targets t, both [2n, d] with the images' first views in the first n rows and their second ones
// in the others, the scalar
//
//	1/n sum_i (2 - 2 cos(p_i, t_j)), j = (i + n) mod 2n,
//
// which is the mean over images of two squared distances of unit vectors, from 0 to 8. The
// targets have no gradient; a row of norm below 1e-12 is divided by that in place of its norm.
//
// Source: Grill et al. 2020, equation 2.
func CosineRegression(p, t *gorgonia.Node) (*gorgonia.Node, error) {
	return Apply(Spec{
		Name: "cosine regression",
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			_, _, err := viewRows(in)
			return tensor.ScalarShape(), err
		},
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (Func, error) {
			if dt == tensor.Float32 {
				return newFunc[float32](newCosineRegression[float32](in[0][0], in[0][1])), nil
			}
			return newFunc[float64](newCosineRegression[float64](in[0][0], in[0][1])), nil
		},
		Diff: []bool{true, false},
	}, p, t)
}

type cosineRegression[T float] struct {
	rows, columns          int
	cosine, norms, targets []float64 // by row of the predictions; the norm of its target
}

func newCosineRegression[T float](rows, columns int) *cosineRegression[T] {
	return &cosineRegression[T]{rows, columns, make([]float64, rows), make([]float64, rows), make([]float64, rows)}
}

// pair returns a row of the predictions and its target.
func (f *cosineRegression[T]) pair(in [][]T, i int) (p, t []T) {
	c, j := f.columns, (i+f.rows/2)%f.rows
	return in[0][i*c : (i+1)*c], in[1][j*c : (j+1)*c]
}

func (f *cosineRegression[T]) forward(in [][]T, out []T) {
	sum := 0.0
	for i := range f.rows {
		p, t := f.pair(in, i)
		f.norms[i], f.targets[i] = norm2(p), norm2(t)
		f.cosine[i] = dot(p, t) / (f.norms[i] * f.targets[i])
		sum += 2 - 2*f.cosine[i]
	}
	out[0] = T(sum / float64(f.rows/2))
}

// norm2 is a row's norm, or the least one.
func norm2[T float](v []T) float64 { return max(math.Sqrt(square(v)), leastNorm) }

func (f *cosineRegression[T]) backward(in [][]T, _, dout []T, din [][]T) {
	g := -2 * float64(dout[0]) / float64(f.rows/2)
	for i := range f.rows {
		p, t := f.pair(in, i)
		dp := din[0][i*f.columns : (i+1)*f.columns]
		along := f.cosine[i] / (f.norms[i] * f.norms[i])
		if f.norms[i] == leastNorm {
			along = 0
		}
		across := 1 / (f.norms[i] * f.targets[i])
		for c, v := range p {
			dp[c] = T(g * (float64(t[c])*across - float64(v)*along))
		}
	}
}

// Spread returns how far codes [rows, d] are from being all the same: the standard deviation over the
// rows of each column of codes/|codes|, mean over the columns, times sqrt(d). It is 0 where all codes have
// one direction, and about 1 where their directions are uniform. It has no gradient.
//
// Source: Chen and He 2021, section 4.1.
func Spread(codes *gorgonia.Node) (*gorgonia.Node, error) {
	return Apply(Spec{
		Name: "spread",
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			_, _, err := rowsOf("codes", in[0])
			return tensor.ScalarShape(), err
		},
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (Func, error) {
			if dt == tensor.Float32 {
				return newFunc[float32](newSpread[float32](in[0])), nil
			}
			return newFunc[float64](newSpread[float64](in[0])), nil
		},
		Diff: []bool{false},
	}, codes)
}

type spread[T float] struct {
	rows, columns int
	mean, square  []float64
}

func newSpread[T float](s tensor.Shape) *spread[T] {
	return &spread[T]{s[0], s[1], make([]float64, s[1]), make([]float64, s[1])}
}

func (f *spread[T]) forward(in [][]T, out []T) {
	clear(f.mean)
	clear(f.square)
	for i := range f.rows { // Welford: equal rows have a deviation of 0
		x := in[0][i*f.columns : (i+1)*f.columns]
		scale, part := 1/norm2(x), 1/float64(i+1)
		for c, v := range x {
			unit := float64(v) * scale
			d := unit - f.mean[c]
			f.mean[c] += d * part
			f.square[c] += d * (unit - f.mean[c])
		}
	}
	sum := 0.0
	for _, s := range f.square {
		sum += math.Sqrt(math.Max(s, 0) / float64(f.rows))
	}
	out[0] = T(sum / math.Sqrt(float64(f.columns)))
}

func (f *spread[T]) backward(_ [][]T, _, _ []T, _ [][]T) {}

// SliceRows returns the rows [from, to) of x, of shape [rows, ...].
func SliceRows(x *gorgonia.Node, from, to int) (*gorgonia.Node, error) {
	return Apply(Spec{
		Name: "slice rows",
		Key:  keyOf(from, to),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if in[0].Dims() < 1 || from < 0 || to <= from || to > in[0][0] {
				return nil, wanted(fmt.Sprintf("rows [%d, %d)", from, to), in[0])
			}
			out := in[0].Clone()
			out[0] = to - from
			return out, nil
		},
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (Func, error) {
			size := in[0].TotalSize() / in[0][0]
			if dt == tensor.Float32 {
				return newFunc[float32](sliceRows[float32]{from * size, to * size}), nil
			}
			return newFunc[float64](sliceRows[float64]{from * size, to * size}), nil
		},
	}, x)
}

type sliceRows[T float] struct{ from, to int }

func (s sliceRows[T]) forward(in [][]T, out []T) { copy(out, in[0][s.from:s.to]) }

func (s sliceRows[T]) backward(_ [][]T, _, dout []T, din [][]T) {
	clear(din[0])
	copy(din[0][s.from:s.to], dout)
}
