package graph

import (
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Options describe the columns of a matrix [rows, K] of weights of options: blocks of
// Sizes columns, one for each categorical dimension. A block stands under the option
// whose column, of an earlier block, Parents has, or at the top, -1.
type Options struct{ Sizes, Parents []int }

func (o Options) columns() (k int) {
	for _, n := range o.Sizes {
		k += n
	}
	return k
}

func (o Options) check() error {
	if len(o.Parents) != len(o.Sizes) {
		return wanted("a parent for each block", o)
	}
	first := 0
	for b, n := range o.Sizes {
		if n < 1 || o.Parents[b] < -1 || o.Parents[b] >= first {
			return wanted("blocks of one column or more, under a column before them or -1", o)
		}
		first += n
	}
	return nil
}

// OptionWeights returns the weights of the options of categorical dimensions, [rows, K]:
// in every block the softmax of logits/tau, times the weight of the option that the
// block stands under. As tau goes to 0 they become 0 and 1 (at equal logits, equal parts).
func OptionWeights(logits *gorgonia.Node, o Options, tau float64) (*gorgonia.Node, error) {
	return Apply(Spec{
		Name:       "option weights",
		Key:        keyOf(o, tau),
		Attributes: map[string]any{"sizes": o.Sizes, "parents": o.Parents, "tau": tau},
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			_, columns, err := rowsOf("logits", in[0])
			switch {
			case err != nil:
				return nil, err
			case o.check() != nil:
				return nil, o.check()
			case columns != o.columns():
				return nil, wanted(fmt.Sprintf("%d columns of logits", o.columns()), in[0])
			case !(tau > 0) || math.IsInf(tau, 0):
				return nil, wanted("a positive tau", tau)
			}
			return in[0].Clone(), nil
		},
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (Func, error) {
			if dt == tensor.Float32 {
				return newFunc[float32](newOptionWeights[float32](o, tau, in[0][1])), nil
			}
			return newFunc[float64](newOptionWeights[float64](o, tau, in[0][1])), nil
		},
	}, logits)
}

type optionWeights[T float] struct {
	Options
	tau          T
	columns      int
	softmax, sum []T // of a row: softmaxes, gradients of the weights
}

func newOptionWeights[T float](o Options, tau float64, columns int) *optionWeights[T] {
	return &optionWeights[T]{o, T(tau), columns, make([]T, columns), make([]T, columns)}
}

// softmaxes computes those of a row's blocks.
func (f *optionWeights[T]) softmaxes(logits []T) {
	first := 0
	for _, n := range f.Sizes {
		x, s := logits[first:first+n], f.softmax[first:first+n]
		most, sum := slices.Max(x), T(0)
		for j, v := range x {
			s[j] = T(math.Exp(float64((v - most) / f.tau)))
			sum += s[j]
		}
		for j := range s {
			s[j] /= sum
		}
		first += n
	}
}

func (f *optionWeights[T]) forward(in [][]T, out []T) {
	for at := 0; at < len(out); at += f.columns {
		f.softmaxes(in[0][at : at+f.columns])
		row, first := out[at:at+f.columns], 0
		for b, n := range f.Sizes {
			under := T(1)
			if p := f.Parents[b]; p >= 0 {
				under = row[p]
			}
			for j := first; j < first+n; j++ {
				row[j] = f.softmax[j] * under
			}
			first += n
		}
	}
}

func (f *optionWeights[T]) backward(in [][]T, out, dout []T, din [][]T) {
	for at := 0; at < len(out); at += f.columns {
		f.softmaxes(in[0][at : at+f.columns])
		copy(f.sum, dout[at:at+f.columns])
		first := f.columns
		for b := len(f.Sizes) - 1; b >= 0; b-- { // what stands under an option comes after it
			n := f.Sizes[b]
			first -= n
			var mean T // of the gradients
			for j := first; j < first+n; j++ {
				mean += f.softmax[j] * f.sum[j]
			}
			under := T(1)
			if p := f.Parents[b]; p >= 0 {
				under = out[at+p]
				f.sum[p] += mean
			}
			for j := first; j < first+n; j++ {
				din[0][at+j] = f.softmax[j] * (f.sum[j] - mean) * under / f.tau
			}
		}
	}
}

// Gate returns values [rows, n] times weights [rows, K]: column c of the values times
// column columns[c] of the weights, or times 1 if that is -1.
func Gate(values, weights *gorgonia.Node, columns []int) (*gorgonia.Node, error) {
	return Apply(Spec{
		Name:       "gate",
		Key:        keyOf(columns),
		Attributes: map[string]any{"columns": columns},
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			rows, n, err := rowsOf("values", in[0])
			if err != nil {
				return nil, err
			}
			others, k, err := rowsOf("weights", in[1])
			switch {
			case err != nil:
				return nil, err
			case others != rows:
				return nil, wanted(fmt.Sprintf("%d rows of weights", rows), in[1])
			case len(columns) != n || slices.Min(columns) < -1 || slices.Max(columns) >= k:
				return nil, wanted(fmt.Sprintf("%d columns of weights from -1 to %d", n, k-1), columns)
			}
			return in[0].Clone(), nil
		},
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (Func, error) {
			if dt == tensor.Float32 {
				return newFunc[float32](gate[float32]{columns, in[1][1]}), nil
			}
			return newFunc[float64](gate[float64]{columns, in[1][1]}), nil
		},
	}, values, weights)
}

type gate[T float] struct {
	columns []int
	k       int
}

func (f gate[T]) forward(in [][]T, out []T) {
	n := len(f.columns)
	for i, v := range in[0] {
		if c := f.columns[i%n]; c >= 0 {
			v *= in[1][i/n*f.k+c]
		}
		out[i] = v
	}
}

func (f gate[T]) backward(in [][]T, _, dout []T, din [][]T) {
	n := len(f.columns)
	if din[1] != nil {
		clear(din[1])
	}
	for i, d := range dout {
		c := f.columns[i%n]
		at := i/n*f.k + c
		if din[0] != nil {
			din[0][i] = d
			if c >= 0 {
				din[0][i] = d * in[1][at]
			}
		}
		if din[1] != nil && c >= 0 {
			din[1][at] += d * in[0][i]
		}
	}
}
