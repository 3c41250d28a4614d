package graph

import (
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// InfoNCE returns the cross-entropy of finding the positive key among the keys of a queue: for
// queries q and keys k [n, d], and negatives [d, K], one in each column, the mean over i of
//
//	-log( exp(q_i.k_i/tau) / (exp(q_i.k_i/tau) + sum_j exp(q_i.u_j/tau)) ), u_j column j.
//
// Queries and keys are meant to be unit vectors; see [NormaliseRows]. Negatives have no gradient.
//
// Source: He et al. 2020, equation 1.
func InfoNCE(q, k, negatives *gorgonia.Node, tau float64) (*gorgonia.Node, error) {
	return Apply(Spec{
		Name: "info-nce",
		Key:  keyOf(tau),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			_, d, err := rowsOf("queries", in[0])
			switch {
			case err != nil:
				return nil, err
			case !slices.Equal(in[0], in[1]):
				return nil, wanted(fmt.Sprintf("keys of shape %v", in[0]), in[1])
			case in[2].Dims() != 2 || in[2][0] != d || in[2][1] < 1:
				return nil, wanted(fmt.Sprintf("negatives of shape (%d, K)", d), in[2])
			case !(tau > 0) || math.IsInf(tau, 0):
				return nil, wanted("a positive temperature", tau)
			}
			return tensor.ScalarShape(), nil
		},
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (Func, error) {
			n, d, m := in[0][0], in[0][1], in[2][1]
			if dt == tensor.Float64 {
				return newFunc[float64](newInfoNCE[float64](&plainDense{rows: n, in: d, out: m}, n, d, m, tau)), nil
			}
			product, err := kernel.NewDense(n, d, m, kernel.LinearActivation)
			if err != nil {
				return nil, err
			}
			return newFunc[float32](newInfoNCE[float32](planned{product}, n, d, m, tau)), nil
		},
		Diff: []bool{true, true, false},
	}, q, k, negatives)
}

type infoNCE[T float] struct {
	product          body[T] // of queries and negatives
	rows, columns, m int
	tau              float64
	zero             []T // the product's bias
	logits           []T // [rows, m]: q.u, then exp(q.u/tau) over the sum
	positive         []float64
	scaled           []T
	in, din          [][]T
	item             func(worker, i int)
}

func newInfoNCE[T float](product body[T], rows, columns, m int, tau float64) *infoNCE[T] {
	f := &infoNCE[T]{product: product, rows: rows, columns: columns, m: m, tau: tau, zero: make([]T, m), logits: make([]T, rows*m),
		positive: make([]float64, 2*rows), in: make([][]T, 3), din: make([][]T, 3)}
	f.item = f.row
	return f
}

func (f *infoNCE[T]) forward(in [][]T, out []T) {
	f.in[0], f.in[1], f.in[2] = in[0], in[2], f.zero
	f.product.forward(f.in, f.logits)
	for i := range f.rows {
		at, end := i*f.columns, (i+1)*f.columns
		f.positive[i] = dot(in[0][at:end], in[1][at:end])
	}
	parallel.For(f.rows, f.item)
	sum := 0.0
	for i := range f.rows {
		sum += f.positive[f.rows+i]
	}
	out[0] = T(sum / float64(f.rows))
}

// row makes probabilities of a row's logits: that of the positive is positive[i], its
// loss positive[rows+i].
func (f *infoNCE[T]) row(_, i int) {
	x := f.logits[i*f.m : (i+1)*f.m]
	most := math.Max(f.positive[i], float64(slices.Max(x)))
	for j, v := range x {
		x[j] = T((float64(v) - most) / f.tau)
	}
	vecExp(x, x)
	logit := (f.positive[i] - most) / f.tau
	own := math.Exp(logit)
	sum := own + total(x)
	for j := range x {
		x[j] = T(float64(x[j]) / sum)
	}
	f.positive[i], f.positive[f.rows+i] = own/sum, math.Log(sum)-logit
}

// total is the sum of x.
func total[T float](x []T) (sum float64) {
	if s, ok := singles(x); ok {
		return kernel.Sum(s)
	}
	for _, v := range x {
		sum += float64(v)
	}
	return sum
}

func (f *infoNCE[T]) backward(in [][]T, _, dout []T, din [][]T) {
	g := float64(dout[0]) / float64(f.rows) / f.tau
	if dq := din[0]; dq != nil {
		if f.scaled == nil {
			f.scaled = make([]T, f.rows*f.columns)
		}
		f.in[0], f.in[1], f.in[2] = in[0], in[2], f.zero
		f.din[0] = f.scaled
		f.product.backward(f.in, f.logits, f.logits, f.din) // sum_j p_j u_j
		for i, v := range f.scaled {
			p := f.positive[i/f.columns]
			dq[i] = T(g * (float64(v) + (p-1)*float64(in[1][i])))
		}
	}
	for i := range din[1] {
		din[1][i] = T(g * (f.positive[i/f.columns] - 1) * float64(in[0][i]))
	}
}
