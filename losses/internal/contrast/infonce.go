// Package contrast compares the projections of two views of images.
package contrast

import (
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/layer"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/losses/internal/check"
)

// InfoNCE adds the node that losses.InfoNCE documents.
func InfoNCE(queries, keys, negatives *gorgonia.Node, tau float64) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "info-nce",
		Key:  graph.Key(tau),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			err := check.Matrices("queries and keys", in[:2]...)
			switch {
			case err != nil:
				return nil, err
			case in[2].Dims() != 2 || in[2][0] != in[0][1] || in[2][1] < 1:
				return nil, graph.Wanted(fmt.Sprintf("negatives of shape (%d, K)", in[0][1]), in[2])
			case !(tau > 0) || math.IsInf(tau, 0):
				return nil, graph.Wanted("a positive temperature", tau)
			}
			return tensor.ScalarShape(), nil
		},
		New: graph.Bodies(newInfoNCE[float32](tau), newInfoNCE[float64](tau)),
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			n, d, m := in[0][0], in[0][1], in[2][1]
			return graph.Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.InfoNCE(t, in[0], in[1], in[2], out, tau, n, d, m)
				},
				Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					kernels.InfoNCEGradient(t, in[0], in[1], in[2], dout, din[0], din[1], tau, n, d, m)
				},
			}, nil
		},
		Diff: []bool{true, true, false},
	}, queries, keys, negatives)
}

type infoNCE[T graph.Float] struct {
	product          graph.Body[T] // product of queries and negatives
	rows, columns, m int
	tau              float64
	zero             []T // the product's bias
	logits           []T // [rows, m]: q.u, then exp(q.u/tau) over the sum
	positive         []float64
	scaled           []T
	in, din          [][]T
	item             func(worker, i int)
}

func newInfoNCE[T graph.Float](tau float64) func(in []tensor.Shape) *infoNCE[T] {
	return func(in []tensor.Shape) *infoNCE[T] {
		rows, columns, m := in[0][0], in[0][1], in[2][1]
		f := &infoNCE[T]{product: product[T](rows, columns, m), rows: rows, columns: columns, m: m, tau: tau}
		f.zero, f.logits, f.positive = make([]T, m), make([]T, rows*m), make([]float64, 2*rows)
		f.in, f.din = make([][]T, 3), make([][]T, 3)
		f.item = f.row
		return f
	}
}

// product returns the product of matrices [rows, in] and [in, out]. Shape has checked them, so there is no error.
func product[T graph.Float](rows, in, out int) graph.Body[T] {
	b, _ := layer.DenseBody[T](rows, in, out, graph.Linear)
	return b
}

func (f *infoNCE[T]) Forward(in [][]T, out []T) {
	f.in[0], f.in[1], f.in[2] = in[0], in[2], f.zero
	f.product.Forward(f.in, f.logits)
	for i := range f.rows {
		start, end := i*f.columns, (i+1)*f.columns
		f.positive[i] = numeric.Dot(in[0][start:end], in[1][start:end])
	}
	parallel.For(f.rows, f.item)
	sum := 0.0
	for i := range f.rows {
		sum += f.positive[f.rows+i]
	}
	out[0] = T(sum / float64(f.rows))
}

// row turns logits into probabilities: positive[i] of the positive key, and positive[rows+i], the row's loss.
func (f *infoNCE[T]) row(_, i int) {
	x := f.logits[i*f.m : (i+1)*f.m]
	largest := math.Max(f.positive[i], float64(slices.Max(x)))
	for j, v := range x {
		x[j] = T((float64(v) - largest) / f.tau)
	}
	numeric.Exp(x, x)
	logit := (f.positive[i] - largest) / f.tau
	exponential := math.Exp(logit)
	sum := exponential + numeric.Sum(x)
	for j := range x {
		x[j] = T(float64(x[j]) / sum)
	}
	f.positive[i], f.positive[f.rows+i] = exponential/sum, math.Log(sum)-logit
}

func (f *infoNCE[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	g := float64(dout[0]) / float64(f.rows) / f.tau
	if dq := din[0]; dq != nil {
		if f.scaled == nil {
			f.scaled = make([]T, f.rows*f.columns)
		}
		f.in[0], f.in[1], f.in[2] = in[0], in[2], f.zero
		f.din[0] = f.scaled
		f.product.Backward(f.in, f.logits, f.logits, f.din) // sum_j p_j u_j
		for i, v := range f.scaled {
			p := f.positive[i/f.columns]
			dq[i] = T(g * (float64(v) + (p-1)*float64(in[1][i])))
		}
	}
	for i := range din[1] {
		din[1][i] = T(g * (f.positive[i/f.columns] - 1) * float64(in[0][i]))
	}
}

// CosineRegression adds the node that losses.CosineRegression documents.
func CosineRegression(predictions, targets *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name:  "cosine regression",
		Shape: shapeOfViews,
		New:   graph.Bodies(newCosineRegression[float32], newCosineRegression[float64]),
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			rows, columns := in[0][0], in[0][1]
			return graph.Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.CosineRegression(t, in[0], in[1], out, rows, columns)
				},
				Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					kernels.CosineRegressionGradient(t, in[0], in[1], dout, din[0], rows, columns)
				},
			}, nil
		},
		Diff: []bool{true, false},
	}, predictions, targets)
}

type cosineRegression[T graph.Float] struct {
	rows, columns          int
	cosine, norms, targets []float64 // by row of the predictions; the norm of the row's target
}

func newCosineRegression[T graph.Float](in []tensor.Shape) *cosineRegression[T] {
	rows, columns := in[0][0], in[0][1]
	return &cosineRegression[T]{rows, columns, make([]float64, rows), make([]float64, rows), make([]float64, rows)}
}

// minNorm is the minimum divisor of a row.
const minNorm = 1e-12

// pair returns a row of the predictions and its target.
func (f *cosineRegression[T]) pair(in [][]T, i int) (p, t []T) {
	c, j := f.columns, (i+f.rows/2)%f.rows
	return in[0][i*c : (i+1)*c], in[1][j*c : (j+1)*c]
}

func (f *cosineRegression[T]) Forward(in [][]T, out []T) {
	sum := 0.0
	for i := range f.rows {
		p, t := f.pair(in, i)
		f.norms[i], f.targets[i] = rowNorm(p), rowNorm(t)
		f.cosine[i] = numeric.Dot(p, t) / (f.norms[i] * f.targets[i])
		sum += 2 - 2*f.cosine[i]
	}
	out[0] = T(sum / float64(f.rows/2))
}

func (f *cosineRegression[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	g := -2 * float64(dout[0]) / float64(f.rows/2)
	for i := range f.rows {
		p, t := f.pair(in, i)
		dp := din[0][i*f.columns : (i+1)*f.columns]
		predictionScale := f.cosine[i] / (f.norms[i] * f.norms[i])
		if f.norms[i] == minNorm {
			predictionScale = 0
		}
		targetScale := 1 / (f.norms[i] * f.targets[i])
		for c, v := range p {
			dp[c] = T(g * (float64(t[c])*targetScale - float64(v)*predictionScale))
		}
	}
}

// rowNorm returns the norm of a row, at least minNorm.
func rowNorm[T graph.Float](v []T) float64 { return max(math.Sqrt(numeric.Square(v)), minNorm) }

// shapeOfViews checks that matrices have the same shape, with rows for the first views and then for the second views.
func shapeOfViews(in []tensor.Shape) (tensor.Shape, error) {
	err := check.Matrices("projections of views and targets", in...)
	if err == nil && in[0][0]%2 != 0 {
		err = graph.Wanted("an even number of rows: first views, then second ones", in[0])
	}
	return tensor.ScalarShape(), err
}

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
	firstHalf, secondHalf := f.z[:f.n*f.d], f.z[f.n*f.d:]
	clear(f.diagonal)
	for start := 0; start < len(firstHalf); start += f.d {
		x, y := firstHalf[start:start+f.d], secondHalf[start:start+f.d]
		for c, v := range x {
			f.diagonal[c] += float64(v) * float64(y[c])
		}
	}
	n := float64(f.n)
	trace, offDiagonal := 0.0, numeric.Product(f.gram[0], f.gram[1])/(n*n)
	for c := range f.diagonal {
		f.diagonal[c] /= n
		trace += (1 - f.diagonal[c]) * (1 - f.diagonal[c])
		offDiagonal -= f.diagonal[c] * f.diagonal[c]
	}
	out[0] = T(trace + f.lambda*max(offDiagonal, 0))
}

func (f *crossCorrelation[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	n, size := float64(f.n), f.n*f.d
	g := float64(dout[0])
	for half := range 2 {
		view, otherView, dz := in[0][half*size:][:size], in[0][(1-half)*size:][:size], din[0][half*size:][:size]
		// The sum of squares of all C_ij is <G0, G1>/n^2; its gradient is 2 G1 z0/n^2.
		f.in[0], f.in[1], f.in[2] = f.gram[1-half], view, f.zero
		f.product.Forward(f.in, dz)
		offDiagonalScale := 2 * g * f.lambda / (n * n)
		for start := 0; start < size; start += f.d {
			for c, r := range f.diagonal {
				diagonalSlope := 2 * g * (r - 1 - f.lambda*r) / n
				dz[start+c] = T(offDiagonalScale*float64(dz[start+c]) + diagonalSlope*float64(otherView[start+c]))
			}
		}
	}
}
