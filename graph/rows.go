package graph

import (
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// minSquare is the least squared norm that a vector is divided by.
const minSquare = 1e-12

// NormaliseRows returns Pi(v) = v / sqrt(max(|v|^2, 1e-12)) of each row of a
// matrix: a point of the unit sphere, and 0 at 0.
func NormaliseRows(x *gorgonia.Node) (*gorgonia.Node, error) {
	return Apply(Spec{
		Name: "normalise rows",
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if len(in) != 1 {
				return nil, wanted("1 input", len(in))
			}
			_, _, err := rowsOf("input", in[0])
			return in[0], err
		},
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (Func, error) {
			if dt == tensor.Float32 {
				return newFunc[float32](normaliseRows[float32]{in[0][1]}), nil
			}
			return newFunc[float64](normaliseRows[float64]{in[0][1]}), nil
		},
	}, x)
}

type normaliseRows[T float] struct{ columns int }

func (n normaliseRows[T]) forward(in [][]T, out []T) {
	for c, i := n.columns, 0; i < len(out); i += c {
		normalise(out[i:i+c], in[0][i:i+c])
	}
}

func (n normaliseRows[T]) backward(in [][]T, out, dout []T, din [][]T) {
	dx := din[0]
	for c, i := n.columns, 0; i < len(dx); i += c {
		normaliseGradient(dx[i:i+c], out[i:i+c], dout[i:i+c], square(in[0][i:i+c]))
	}
}

func square[T float](v []T) float64 {
	s := 0.0
	for _, x := range v {
		s += float64(x) * float64(x)
	}
	return s
}

func dot[T float](a, b []T) float64 {
	s := 0.0
	for i, x := range a {
		s += float64(x) * float64(b[i])
	}
	return s
}

// normalise sets y = Pi(v), which may be v itself, and returns |v|^2.
func normalise[T float](y, v []T) float64 {
	s := square(v)
	scale := 1 / math.Sqrt(max(s, minSquare))
	for i, x := range v {
		y[i] = T(float64(x) * scale)
	}
	return s
}

// normaliseGradient sets dv, which may be dy itself, from y = Pi(v) and |v|^2.
// Where |v|^2 is below its minimum, Pi only multiplies by a constant.
func normaliseGradient[T float](dv, y, dy []T, square float64) {
	along := 0.0
	if square > minSquare {
		along = dot(y, dy)
	}
	scale := 1 / math.Sqrt(max(square, minSquare))
	for i, g := range dy {
		dv[i] = T((float64(g) - along*float64(y[i])) * scale)
	}
}

// Interval returns c + w tanh(u) with c the middle and w half the length of
// [lo, hi], element by element: a soft restriction to the interval that starts in
// its middle for u = 0.
func Interval(u *gorgonia.Node, lo, hi float64) (*gorgonia.Node, error) {
	return Apply(elementwise("interval", keyOf(lo, hi), map[string]any{"lo": lo, "hi": hi}, func(n int, dt tensor.Dtype) Func {
		c, w := (lo+hi)/2, math.Abs(hi-lo)/2
		if dt == tensor.Float32 {
			return newFunc[float32](&interval[float32]{c, w, make([]float32, n)})
		}
		return newFunc[float64](&interval[float64]{c, w, make([]float64, n)})
	}), u)
}

type interval[T float] struct {
	c, w float64
	tanh []T
}

func (f *interval[T]) forward(in [][]T, out []T) {
	vecTanh(f.tanh, in[0])
	for i, t := range f.tanh {
		out[i] = T(f.c + f.w*float64(t))
	}
}

func (f *interval[T]) backward(_ [][]T, _, dout []T, din [][]T) {
	for i := range din[0] {
		t := float64(f.tanh[i])
		din[0][i] = T(float64(dout[i]) * f.w * (1 - t*t))
	}
}
