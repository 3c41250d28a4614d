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
		at, end := i*f.columns, (i+1)*f.columns
		f.positive[i] = numeric.Dot(in[0][at:end], in[1][at:end])
	}
	parallel.For(f.rows, f.item)
	sum := 0.0
	for i := range f.rows {
		sum += f.positive[f.rows+i]
	}
	out[0] = T(sum / float64(f.rows))
}

// row turns a row's logits into probabilities; positive[i] becomes the probability of the positive key, and
// positive[rows+i] the row's loss.
func (f *infoNCE[T]) row(_, i int) {
	x := f.logits[i*f.m : (i+1)*f.m]
	most := math.Max(f.positive[i], float64(slices.Max(x)))
	for j, v := range x {
		x[j] = T((float64(v) - most) / f.tau)
	}
	numeric.Exp(x, x)
	logit := (f.positive[i] - most) / f.tau
	own := math.Exp(logit)
	sum := own + numeric.Sum(x)
	for j := range x {
		x[j] = T(float64(x[j]) / sum)
	}
	f.positive[i], f.positive[f.rows+i] = own/sum, math.Log(sum)-logit
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
