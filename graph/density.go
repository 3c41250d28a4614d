package graph

import (
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// DensityRatio returns the mean over rows of the log density ratio log p/(1-p)
// that a discriminator's logits stand for, a scalar: of l in [rows, 1], and of
// l_0 - l_1 in [rows, 2].
func DensityRatio(logits *gorgonia.Node) (*gorgonia.Node, error) {
	return Apply(Spec{
		Name: "density ratio",
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			_, err := logitRows(in[0])
			return tensor.ScalarShape(), err
		},
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (Func, error) {
			if dt == tensor.Float32 {
				return newFunc[float32](densityRatio[float32]{in[0][0], in[0][1]}), nil
			}
			return newFunc[float64](densityRatio[float64]{in[0][0], in[0][1]}), nil
		},
	}, logits)
}

// logitRows checks the shape of a discriminator's logits.
func logitRows(s tensor.Shape) (int, error) {
	rows, columns, err := rowsOf("logits", s)
	if err == nil && columns > 2 {
		err = wanted("logits of shape [rows, 1] or [rows, 2]", s)
	}
	return rows, err
}

type densityRatio[T float] struct{ rows, columns int }

func (f densityRatio[T]) forward(in [][]T, out []T) {
	sum := 0.0
	for i := range f.rows {
		sum += logitOf(in[0], i, f.columns)
	}
	out[0] = T(sum / float64(f.rows))
}

// logitOf is l, or l_0 - l_1, of a row.
func logitOf[T float](logits []T, row, columns int) float64 {
	if columns == 1 {
		return float64(logits[row])
	}
	return float64(logits[2*row]) - float64(logits[2*row+1])
}

// addLogit sets the gradient of a row's logits.
func addLogit[T float](dst []T, row, columns int, g float64) {
	dst[row*columns] = T(g)
	if columns == 2 {
		dst[2*row+1] = T(-g)
	}
}

func (f densityRatio[T]) backward(_ [][]T, _, dout []T, din [][]T) {
	for i := range f.rows {
		addLogit(din[0], i, f.columns, float64(dout[0])/float64(f.rows))
	}
}

// Discrimination returns the loss of a discriminator, a scalar: half the mean of
// -log p over the first half of the rows of its logits plus half the mean of
// -log(1-p) over the second half; see [DensityRatio] for p.
func Discrimination(logits *gorgonia.Node) (*gorgonia.Node, error) {
	return Apply(Spec{
		Name: "discrimination",
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			rows, err := logitRows(in[0])
			if err == nil && rows%2 != 0 {
				err = wanted("an even number of rows", rows)
			}
			return tensor.ScalarShape(), err
		},
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (Func, error) {
			if dt == tensor.Float32 {
				return newFunc[float32](discrimination[float32]{in[0][0], in[0][1]}), nil
			}
			return newFunc[float64](discrimination[float64]{in[0][0], in[0][1]}), nil
		},
	}, logits)
}

type discrimination[T float] struct{ rows, columns int }

// side is -1 for the rows whose logits should be large, and 1 for the others.
func (f discrimination[T]) side(row int) float64 {
	if row < f.rows/2 {
		return -1
	}
	return 1
}

func (f discrimination[T]) forward(in [][]T, out []T) {
	sum := 0.0
	for i := range f.rows {
		l := f.side(i) * logitOf(in[0], i, f.columns)
		sum += max(l, 0) + math.Log1p(math.Exp(-math.Abs(l))) // softplus
	}
	out[0] = T(sum / float64(f.rows))
}

func (f discrimination[T]) backward(in [][]T, _, dout []T, din [][]T) {
	g := float64(dout[0]) / float64(f.rows)
	for i := range f.rows {
		side := f.side(i)
		addLogit(din[0], i, f.columns, g*side/(1+math.Exp(-side*logitOf(in[0], i, f.columns))))
	}
}

// Deviate returns |a - b| of one shape, with gradient 0 where a = b.
func Deviate(a, b *gorgonia.Node) (*gorgonia.Node, error) {
	return Apply(Spec{
		Name: "absolute difference",
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if in[0].TotalSize() != in[1].TotalSize() {
				return nil, wanted("inputs of one size", in)
			}
			return in[0], nil
		},
		New: func(_ []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (Func, error) {
			if dt == tensor.Float32 {
				return newFunc[float32](deviate[float32]{}), nil
			}
			return newFunc[float64](deviate[float64]{}), nil
		},
	}, a, b)
}

type deviate[T float] struct{}

func (deviate[T]) forward(in [][]T, out []T) {
	for i := range out {
		out[i] = T(math.Abs(float64(in[0][i]) - float64(in[1][i])))
	}
}

func (deviate[T]) backward(in [][]T, _, dout []T, din [][]T) {
	for i, g := range dout {
		switch {
		case in[0][i] == in[1][i]:
			g = 0
		case in[0][i] < in[1][i]:
			g = -g
		}
		if din[0] != nil {
			din[0][i] = g
		}
		if din[1] != nil {
			din[1][i] = -g
		}
	}
}

// Activity says which columns are active in a row: a column that rules speak of
// is active where all of them hold.
type Activity struct {
	Columns []int
	Factor  int   // a column of labels
	Levels  []int // that it must have
}

// ActiveMask returns the mask [rows, width] of active columns, 1 or 0, from the
// levels of factors [rows, K], of which negative ones are unknown and satisfy no
// rule. It has no gradient.
func ActiveMask(labels *gorgonia.Node, width int, rules []Activity) (*gorgonia.Node, error) {
	return Apply(Spec{
		Name: "active mask",
		Key:  keyOf(width, rules),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			rows, factors, err := rowsOf("labels", in[0])
			if err != nil {
				return nil, err
			}
			for _, r := range rules {
				if r.Factor < 0 || r.Factor >= factors {
					return nil, wanted(fmt.Sprintf("a factor below %d", factors), r.Factor)
				}
				for _, c := range r.Columns {
					if c < 0 || c >= width {
						return nil, wanted(fmt.Sprintf("columns below %d", width), c)
					}
				}
			}
			return tensor.Shape{rows, width}, nil
		},
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (Func, error) {
			if dt == tensor.Float32 {
				return newFunc[float32](activeMask[float32]{width, in[0][1], rules}), nil
			}
			return newFunc[float64](activeMask[float64]{width, in[0][1], rules}), nil
		},
		Diff: []bool{false},
	}, labels)
}

type activeMask[T float] struct {
	width, factors int
	rules          []Activity
}

func (f activeMask[T]) forward(in [][]T, out []T) {
	for i := range out {
		out[i] = 1
	}
	for row := range len(out) / f.width {
		for _, r := range f.rules {
			level := in[0][row*f.factors+r.Factor]
			if level >= 0 && slices.Contains(r.Levels, int(level)) {
				continue
			}
			for _, c := range r.Columns {
				out[row*f.width+c] = 0
			}
		}
	}
}

func (activeMask[T]) backward(_ [][]T, _, _ []T, _ [][]T) {}
