package contrast

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/layer"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// CrossCorrelation adds the node that losses.CrossCorrelation documents.
func CrossCorrelation(projections *gorgonia.Node, lambda float64) (*gorgonia.Node, error) {
	moments, err := layer.BatchMoments(projections, 2)
	if err != nil {
		return nil, err
	}
	z, err := layer.BatchNorm(projections, moments, nil, nil, layer.NormOptions{Epsilon: 1e-5})
	if err != nil {
		return nil, err
	}
	return CorrelationPenalty(z, lambda)
}

// CorrelationPenalty is [CrossCorrelation] of standardised columns. It does not form C, [d, d]. The sum of squares of C
// is the inner product of the two halves' Gram matrices, [n, n], over n^2.
func CorrelationPenalty(z *gorgonia.Node, lambda float64) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name:  "cross-correlation",
		Key:   graph.Key(lambda),
		Shape: shapeOfViews,
		New:   graph.Bodies(newCrossCorrelation[float32](lambda), newCrossCorrelation[float64](lambda)),
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			n, d := in[0][0]/2, in[0][1]
			return graph.Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.CorrelationPenalty(t, in[0], out, lambda, n, d)
				},
				Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					kernels.CorrelationPenaltyGradient(t, in[0], dout, din[0], lambda, n, d)
				},
			}, nil
		},
	}, z)
}

type crossCorrelation[T graph.Float] struct {
	product  graph.Body[T] // product of a Gram matrix and a half
	n, d     int
	lambda   float64
	gram     [2][]T    // of the two halves
	diagonal []float64 // C_ii
	zero     []T
	z        []T
	in       [][]T
	gramItem func(worker, i int)
}

func newCrossCorrelation[T graph.Float](lambda float64) func(in []tensor.Shape) *crossCorrelation[T] {
	return func(in []tensor.Shape) *crossCorrelation[T] {
		n, d := in[0][0]/2, in[0][1]
		f := &crossCorrelation[T]{product: product[T](n, n, d), n: n, d: d, lambda: lambda}
		f.diagonal, f.zero, f.in = make([]float64, d), make([]T, d), make([][]T, 3)
		f.gram[0], f.gram[1] = make([]T, n*n), make([]T, n*n)
		f.gramItem = f.gramRow
		return f
	}
}

// gramRow computes a row of a Gram matrix, up to the diagonal.
func (f *crossCorrelation[T]) gramRow(_, i int) {
	half, a := i/f.n, i%f.n
	z := f.z[half*f.n*f.d:]
	for b := range a + 1 {
		v := T(numeric.Product(z[a*f.d:(a+1)*f.d], z[b*f.d:(b+1)*f.d]))
		f.gram[half][a*f.n+b], f.gram[half][b*f.n+a] = v, v
	}
}

func (f *crossCorrelation[T]) Forward(in [][]T, out []T) {
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
	near, all := 0.0, numeric.Product(f.gram[0], f.gram[1])/(n*n)
	for c := range f.diagonal {
		f.diagonal[c] /= n
		near += (1 - f.diagonal[c]) * (1 - f.diagonal[c])
		all -= f.diagonal[c] * f.diagonal[c]
	}
	out[0] = T(near + f.lambda*max(all, 0))
}

func (f *crossCorrelation[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	n, size := float64(f.n), f.n*f.d
	g := float64(dout[0])
	for half := range 2 {
		own, other, dz := in[0][half*size:][:size], in[0][(1-half)*size:][:size], din[0][half*size:][:size]
		// The sum of squares of all C_ij is <G0, G1>/n^2; its gradient is 2 G1 z0/n^2.
		f.in[0], f.in[1], f.in[2] = f.gram[1-half], own, f.zero
		f.product.Forward(f.in, dz)
		all := 2 * g * f.lambda / (n * n)
		for at := 0; at < size; at += f.d {
			for c, r := range f.diagonal {
				along := 2 * g * (r - 1 - f.lambda*r) / n
				dz[at+c] = T(all*float64(dz[at+c]) + along*float64(other[at+c]))
			}
		}
	}
}
