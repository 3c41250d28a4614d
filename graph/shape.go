package graph

import (
	"errors"
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Reshape returns a copy of x in another shape with as many elements. (Gorgonia's Reshape returns a view, and its
// TapeMachine then overwrites the view.)
func Reshape(x *gorgonia.Node, shape ...int) (*gorgonia.Node, error) {
	to := tensor.Shape(append([]int(nil), shape...))
	return Apply(Spec{
		Name:       "reshape",
		Key:        Key(to),
		Attributes: map[string]any{"shape": []int(to)},
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			for _, d := range to {
				if d < 1 {
					return nil, Wanted("a shape of positive sizes", to)
				}
			}
			if len(in) != 1 || in[0].TotalSize() != to.TotalSize() {
				return nil, Wanted(fmt.Sprintf("%d elements for shape %v", to.TotalSize(), to), in)
			}
			return to, nil
		},
		New: Bodies(
			func([]tensor.Shape) Body[float32] { return reshape[float32]{} },
			func([]tensor.Shape) Body[float64] { return reshape[float64]{} }),
		Device:  recordCopy,
		Tangent: linearTangent(func(t *gorgonia.Node) (*gorgonia.Node, error) { return Reshape(t, shape...) }),
	}, x)
}

type reshape[T Float] struct{}

func (reshape[T]) Forward(in [][]T, out []T) { copy(out, in[0]) }

func (reshape[T]) Backward(_ [][]T, _, dout []T, din [][]T) { copy(din[0], dout) }

// recordCopy is the device form of operations that copy.
func recordCopy([]tensor.Shape, tensor.Shape) (Recording, error) {
	return Recording{
		Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) { t.Copy(out, in[0]) },
		Backward: func(t *vulkan.Tape, _ []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
			t.Copy(din[0], dout)
		},
	}, nil
}

// Flatten returns x, of shape [rows, ...], as [rows, columns].
func Flatten(x *gorgonia.Node) (*gorgonia.Node, error) {
	if x == nil {
		return nil, errors.New("flatten: the node is nil")
	}
	s := x.Shape()
	switch {
	case s.Dims() == 2:
		return x, nil
	case s.Dims() < 2 || s[0] < 1:
		return nil, fmt.Errorf("flatten: %w", Wanted("shape [rows, ...]", s))
	}
	return Reshape(x, s[0], s.TotalSize()/s[0])
}

// ConcatColumns joins matrices [rows, columns_i] side by side.
func ConcatColumns(x ...*gorgonia.Node) (*gorgonia.Node, error) {
	if len(x) == 1 && x[0] != nil {
		return x[0], nil
	}
	return Apply(Spec{
		Name: "concat columns",
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			columns := 0
			for i, s := range in {
				r, c, err := Matrix(fmt.Sprintf("input %d", i), s)
				if err != nil {
					return nil, err
				}
				if r != in[0][0] {
					return nil, Wanted("inputs with equal numbers of rows", in)
				}
				columns += c
			}
			return tensor.Shape{in[0][0], columns}, nil
		},
		New: func(in []tensor.Shape, out tensor.Shape, dt tensor.Dtype) (Func, error) {
			if dt == tensor.Float32 {
				return NewFunc[float32](newConcat[float32](in, out[1])), nil
			}
			return NewFunc[float64](newConcat[float64](in, out[1])), nil
		},
		Device: recordConcat,
		Tangent: func(in []*gorgonia.Node, _ *gorgonia.Node, along []*gorgonia.Node) (*gorgonia.Node, error) {
			along = slices.Clone(along)
			for i := range along {
				if along[i] == nil {
					along[i] = ZerosLike(in[i])
				}
			}
			return ConcatColumns(along...)
		},
	}, x...)
}

// recordConcat is the device form of ConcatColumns.
func recordConcat(in []tensor.Shape, out tensor.Shape) (Recording, error) {
	c := newConcat[float32](in, out[1])
	return Recording{
		Forward: func(t *vulkan.Tape, in []vulkan.Buffer, to vulkan.Buffer) {
			column := 0
			for i, w := range c.widths {
				kernels.CopyColumns(t, to, column, c.total, in[i], 0, w, w, out[0])
				column += w
			}
		},
		Backward: func(t *vulkan.Tape, _ []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
			column := 0
			for i, w := range c.widths {
				if !din[i].IsZero() {
					kernels.CopyColumns(t, din[i], 0, w, dout, column, c.total, w, out[0])
				}
				column += w
			}
		},
	}, nil
}

type concat[T Float] struct {
	widths []int
	total  int
}

func newConcat[T Float](in []tensor.Shape, total int) concat[T] {
	c := concat[T]{total: total}
	for _, s := range in {
		c.widths = append(c.widths, s[1])
	}
	return c
}

func (c concat[T]) Forward(in [][]T, out []T) {
	column := 0
	for i, w := range c.widths {
		copyColumns(out[column:], c.total, in[i], w, w)
		column += w
	}
}

func (c concat[T]) Backward(_ [][]T, _, dout []T, din [][]T) {
	column := 0
	for i, w := range c.widths {
		if din[i] != nil {
			copyColumns(din[i], w, dout[column:], c.total, w)
		}
		column += w
	}
}

// copyColumns copies n elements of each row between matrices of given row lengths.
func copyColumns[T Float](dst []T, dstRow int, src []T, srcRow, n int) {
	for len(dst) >= n && len(src) >= n {
		copy(dst[:n], src[:n])
		dst, src = dst[min(dstRow, len(dst)):], src[min(srcRow, len(src)):]
	}
}

// SliceColumns returns the columns [from, to) of a matrix.
func SliceColumns(x *gorgonia.Node, from, to int) (*gorgonia.Node, error) {
	return Apply(Spec{
		Name:       "slice columns",
		Key:        Key(from, to),
		Attributes: map[string]any{"from": from, "to": to},
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if len(in) != 1 {
				return nil, Wanted("1 input", len(in))
			}
			r, c, err := Matrix("input", in[0])
			if err != nil {
				return nil, err
			}
			if from < 0 || to <= from || to > c {
				return nil, Wanted(fmt.Sprintf("columns [from, to) within 0 and %d", c), fmt.Sprintf("[%d, %d)", from, to))
			}
			return tensor.Shape{r, to - from}, nil
		},
		New: Bodies(
			func(in []tensor.Shape) Body[float32] { return slice[float32]{from, to, in[0][1]} },
			func(in []tensor.Shape) Body[float64] { return slice[float64]{from, to, in[0][1]} }),
		Device: func(in []tensor.Shape, _ tensor.Shape) (Recording, error) {
			rows, columns := in[0][0], in[0][1]
			return Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.CopyColumns(t, out, 0, to-from, in[0], from, columns, to-from, rows)
				},
				Backward: func(t *vulkan.Tape, _ []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					t.Fill(din[0], 0)
					kernels.CopyColumns(t, din[0], from, columns, dout, 0, to-from, to-from, rows)
				},
			}, nil
		},
		Tangent: linearTangent(func(t *gorgonia.Node) (*gorgonia.Node, error) { return SliceColumns(t, from, to) }),
	}, x)
}

type slice[T Float] struct{ from, to, columns int }

func (s slice[T]) Forward(in [][]T, out []T) {
	copyColumns(out, s.to-s.from, in[0][s.from:], s.columns, s.to-s.from)
}

func (s slice[T]) Backward(_ [][]T, _, dout []T, din [][]T) {
	if din[0] == nil {
		return
	}
	clear(din[0])
	copyColumns(din[0][s.from:], s.columns, dout, s.to-s.from, s.to-s.from)
}

// SliceRows returns the rows [from, to) of x, of shape [rows, ...].
func SliceRows(x *gorgonia.Node, from, to int) (*gorgonia.Node, error) {
	return Apply(Spec{
		Name: "slice rows",
		Key:  Key(from, to),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if in[0].Dims() < 1 || from < 0 || to <= from || to > in[0][0] {
				return nil, Wanted(fmt.Sprintf("rows [%d, %d)", from, to), in[0])
			}
			out := in[0].Clone()
			out[0] = to - from
			return out, nil
		},
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (Func, error) {
			size := in[0].TotalSize() / in[0][0]
			if dt == tensor.Float32 {
				return NewFunc[float32](sliceRows[float32]{from * size, to * size}), nil
			}
			return NewFunc[float64](sliceRows[float64]{from * size, to * size}), nil
		},
		Device: func(in []tensor.Shape, _ tensor.Shape) (Recording, error) {
			row := 4 * int64(in[0].TotalSize()/in[0][0])
			start, bytes := int64(from)*row, int64(to-from)*row
			return Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					t.CopyRange(out, 0, in[0], start, bytes)
				},
				Backward: func(t *vulkan.Tape, _ []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					t.Fill(din[0], 0)
					t.CopyRange(din[0], start, dout, 0, bytes)
				},
			}, nil
		},
		Tangent: linearTangent(func(t *gorgonia.Node) (*gorgonia.Node, error) { return SliceRows(t, from, to) }),
	}, x)
}

type sliceRows[T Float] struct{ from, to int }

func (s sliceRows[T]) Forward(in [][]T, out []T) { copy(out, in[0][s.from:s.to]) }

func (s sliceRows[T]) Backward(_ [][]T, _, dout []T, din [][]T) {
	clear(din[0])
	copy(din[0][s.from:s.to], dout)
}
