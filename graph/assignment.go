package graph

import (
	"fmt"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// AssignmentError returns how far weights of options, [rows, K], are from labels, [rows,
// L]: the sum over blocks b of the mean over rows of
//
//	sum over options j of (1[label = 1+j] - weight_j)^2
//
// where label is column columns[b] of the labels: 0 where the dimension is inactive, so that
// all weights should be 0; a row whose label is -1, not known, adds 0.
func AssignmentError(weights, labels *gorgonia.Node, sizes, columns []int) (*gorgonia.Node, error) {
	return Apply(Spec{
		Name: "assignment error",
		Key:  keyOf(sizes, columns),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			rows, k, err := rowsOf("weights", in[0])
			if err != nil {
				return nil, err
			}
			others, l, err := rowsOf("labels", in[1])
			switch total := (Options{Sizes: sizes}).columns(); {
			case err != nil:
				return nil, err
			case others != rows:
				return nil, wanted(fmt.Sprintf("%d rows of labels", rows), in[1])
			case total != k || len(columns) != len(sizes):
				return nil, wanted(fmt.Sprintf("blocks of %d columns of weights, with one column of labels each", k), [2][]int{sizes, columns})
			}
			for _, c := range columns {
				if c < 0 || c >= l {
					return nil, wanted(fmt.Sprintf("columns of labels below %d", l), c)
				}
			}
			return tensor.ScalarShape(), nil
		},
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (Func, error) {
			if dt == tensor.Float32 {
				return newFunc[float32](assignmentError[float32]{sizes, columns, in[0][0], in[1][1]}), nil
			}
			return newFunc[float64](assignmentError[float64]{sizes, columns, in[0][0], in[1][1]}), nil
		},
		Diff: []bool{true, false},
	}, weights, labels)
}

type assignmentError[T float] struct {
	sizes, columns []int
	rows, labels   int
}

// each calls f for every weight and what it should be; those that are not known are left out.
func (f assignmentError[T]) each(in [][]T, visit func(at int, should T)) {
	at := 0
	for row := range f.rows {
		for b, n := range f.sizes {
			label := in[1][row*f.labels+f.columns[b]]
			for j := range n {
				if label >= 0 {
					should := T(0)
					if int(label) == 1+j {
						should = 1
					}
					visit(at, should)
				}
				at++
			}
		}
	}
}

func (f assignmentError[T]) forward(in [][]T, out []T) {
	var sum float64
	f.each(in, func(at int, should T) {
		d := float64(should - in[0][at])
		sum += d * d
	})
	out[0] = T(sum / float64(f.rows))
}

func (f assignmentError[T]) backward(in [][]T, _, dout []T, din [][]T) {
	clear(din[0])
	scale := 2 * dout[0] / T(f.rows)
	f.each(in, func(at int, should T) { din[0][at] = scale * (in[0][at] - should) })
}

// OptionNumbers returns what metrics see of hierarchical codes, [rows, blocks + n]: for
// every block of weights, which are 0 and 1, 1 + the option or 0 where no option
// has weight, and the values [rows, n]. It has no gradient.
func OptionNumbers(weights, values *gorgonia.Node, sizes []int) (*gorgonia.Node, error) {
	return Apply(Spec{
		Name:       "option numbers",
		Key:        keyOf(sizes),
		Attributes: map[string]any{"sizes": sizes},
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			rows, k, err := rowsOf("weights", in[0])
			if err != nil {
				return nil, err
			}
			others, n, err := rowsOf("values", in[1])
			switch {
			case err != nil:
				return nil, err
			case others != rows || k != (Options{Sizes: sizes}).columns():
				return nil, wanted(fmt.Sprintf("%d rows, and blocks of %d columns", rows, k), []any{in[1], sizes})
			}
			return tensor.Shape{rows, len(sizes) + n}, nil
		},
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (Func, error) {
			if dt == tensor.Float32 {
				return newFunc[float32](optionNumbers[float32]{sizes, in[0][1], in[1][1]}), nil
			}
			return newFunc[float64](optionNumbers[float64]{sizes, in[0][1], in[1][1]}), nil
		},
		Diff: []bool{false, false},
	}, weights, values)
}

type optionNumbers[T float] struct {
	sizes []int
	k, n  int
}

func (f optionNumbers[T]) forward(in [][]T, out []T) {
	width := len(f.sizes) + f.n
	for row := range len(out) / width {
		to, weights := out[row*width:(row+1)*width], in[0][row*f.k:(row+1)*f.k]
		for b, n := range f.sizes {
			to[b] = 0
			for j, w := range weights[:n] {
				to[b] += T(1+j) * w
			}
			weights = weights[n:]
		}
		copy(to[len(f.sizes):], in[1][row*f.n:(row+1)*f.n])
	}
}

func (optionNumbers[T]) backward(_ [][]T, _, _ []T, _ [][]T) {}

// NumberedOptions is the reverse of OptionNumbers: from numbers [rows, blocks + n] it returns
// weights, 1 for the option of the nearest whole number and 0 for others and under an option that is
// not chosen, and beside them the values, 0 where their column of the weights (see Gate) is
// 0: [rows, K + n], the input of a decoder. It has no gradient.
func NumberedOptions(numbers *gorgonia.Node, o Options, columns []int) (*gorgonia.Node, error) {
	return Apply(Spec{
		Name:       "numbered options",
		Key:        keyOf(o, columns),
		Attributes: map[string]any{"sizes": o.Sizes, "parents": o.Parents, "columns": columns},
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			rows, d, err := rowsOf("numbers", in[0])
			switch {
			case err != nil:
				return nil, err
			case o.check() != nil:
				return nil, o.check()
			case d != len(o.Sizes)+len(columns):
				return nil, wanted(fmt.Sprintf("%d columns", len(o.Sizes)+len(columns)), in[0])
			}
			return tensor.Shape{rows, o.columns() + len(columns)}, nil
		},
		New: func(_ []tensor.Shape, out tensor.Shape, dt tensor.Dtype) (Func, error) {
			if dt == tensor.Float32 {
				return newFunc[float32](numberedOptions[float32]{o, columns, out[1]}), nil
			}
			return newFunc[float64](numberedOptions[float64]{o, columns, out[1]}), nil
		},
		Diff: []bool{false},
	}, numbers)
}

type numberedOptions[T float] struct {
	Options
	values []int
	width  int
}

func (f numberedOptions[T]) forward(in [][]T, out []T) {
	d := len(f.Sizes) + len(f.values)
	clear(out)
	for row := range len(out) / f.width {
		from, to := in[0][row*d:(row+1)*d], out[row*f.width:(row+1)*f.width]
		first := 0
		for b, n := range f.Sizes {
			choice := int(math.Round(float64(from[b]))) - 1
			if p := f.Parents[b]; choice >= 0 && choice < n && (p < 0 || to[p] > 0) {
				to[first+choice] = 1
			}
			first += n
		}
		for i, c := range f.values {
			if c < 0 || to[c] > 0 {
				to[first+i] = from[len(f.Sizes)+i]
			}
		}
	}
}

func (numberedOptions[T]) backward(_ [][]T, _, _ []T, _ [][]T) {}
