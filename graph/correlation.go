package graph

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// CrossCorrelation returns how far the cross-correlation of two views is from the identity: for
// z [2n, d], the images' first views in the first n rows and their second ones in the others,
// and C_ij = 1/n sum_b z_bi z_(n+b)j, the scalar
//
//	sum_i (1 - C_ii)^2 + lambda sum_i sum_(j != i) C_ij^2.
//
// Columns are meant to have mean 0 and variance 1 in each half; see [BatchNorm]. C, [d, d], is not
// formed: the sum of its squares is that of the products of the elements of the two Gram matrices of
// the halves, [n, n], over n^2.
//
// Source: Zbontar et al. 2021, equations 1 and 2.
func CrossCorrelation(z *gorgonia.Node, lambda float64) (*gorgonia.Node, error) {
	return Apply(Spec{
		Name: "cross-correlation",
		Key:  keyOf(lambda),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			_, _, err := viewRows(in[:1])
			return tensor.ScalarShape(), err
		},
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (Func, error) {
			n, d, err := viewRows(in[:1])
			if err != nil {
				return nil, err
			}
			if dt == tensor.Float64 {
				return newFunc[float64](newCrossCorrelation[float64](&plainDense{rows: n, in: n, out: d}, n, d, lambda)), nil
			}
			product, err := kernel.NewDense(n, n, d, kernel.LinearActivation)
			if err != nil {
				return nil, err
			}
			return newFunc[float32](newCrossCorrelation[float32](planned{product}, n, d, lambda)), nil
		},
	}, z)
}

type crossCorrelation[T float] struct {
	product  body[T] // of a Gram matrix and a half
	n, d     int
	lambda   float64
	gram     [2][]T    // of the halves
	diagonal []float64 // C_ii
	zero     []T
	z        []T
	in       [][]T
	gramItem func(worker, i int)
}

func newCrossCorrelation[T float](product body[T], n, d int, lambda float64) *crossCorrelation[T] {
	f := &crossCorrelation[T]{product: product, n: n, d: d, lambda: lambda, diagonal: make([]float64, d), zero: make([]T, d), in: make([][]T, 3)}
	f.gram[0], f.gram[1] = make([]T, n*n), make([]T, n*n)
	f.gramItem = f.gramRow
	return f
}

// gramRow computes a row, up to its diagonal, of one of the Gram matrices.
func (f *crossCorrelation[T]) gramRow(_, i int) {
	half, a := i/f.n, i%f.n
	z := f.z[half*f.n*f.d:]
	for b := range a + 1 {
		v := T(product(z[a*f.d:(a+1)*f.d], z[b*f.d:(b+1)*f.d]))
		f.gram[half][a*f.n+b], f.gram[half][b*f.n+a] = v, v
	}
}

// product is the sum of a b.
func product[T float](a, b []T) float64 {
	if x, ok := singles(a); ok {
		y, _ := singles(b)
		return kernel.Dot(x, y)
	}
	return dot(a, b)
}

func (f *crossCorrelation[T]) forward(in [][]T, out []T) {
	f.z = in[0]
	parallel.For(2*f.n, f.gramItem)
	first, second := f.z[:f.n*f.d], f.z[f.n*f.d:]
	clear(f.diagonal)
	for at := 0; at < len(first); at += f.d {
		x, y := first[at:at+f.d], second[at:at+f.d]
		for c, v := range x {
			f.diagonal[c] += float64(v) * float64(y[c])
		}
	}
	n := float64(f.n)
	near, all := 0.0, product(f.gram[0], f.gram[1])/(n*n)
	for c := range f.diagonal {
		f.diagonal[c] /= n
		near += (1 - f.diagonal[c]) * (1 - f.diagonal[c])
		all -= f.diagonal[c] * f.diagonal[c]
	}
	out[0] = T(near + f.lambda*max(all, 0))
}

func (f *crossCorrelation[T]) backward(in [][]T, _, dout []T, din [][]T) {
	n, size := float64(f.n), f.n*f.d
	g := float64(dout[0])
	for half := range 2 {
		own, other, dz := in[0][half*size:][:size], in[0][(1-half)*size:][:size], din[0][half*size:][:size]
		// The sum of squares of all C_ij is <G0, G1>/n^2, whose gradient is 2 G1 z0/n^2.
		f.in[0], f.in[1], f.in[2] = f.gram[1-half], own, f.zero
		f.product.forward(f.in, dz)
		all := 2 * g * f.lambda / (n * n)
		for at := 0; at < size; at += f.d {
			for c, r := range f.diagonal {
				along := 2 * g * (r - 1 - f.lambda*r) / n
				dz[at+c] = T(all*float64(dz[at+c]) + along*float64(other[at+c]))
			}
		}
	}
}
