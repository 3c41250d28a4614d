package graph

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/internal/geometry"
)

// Inverse names the sense in which an affine map is the best left inverse.
type Inverse uint8

const (
	LeastSquares    Inverse = iota // mean squared error
	LeastAbsolute                  // mean absolute error
	Minimax                        // largest Euclidean length of a row's errors
	MinimaxByFactor                // Euclidean norm, over targets, of the largest absolute errors
)

var inverseNames = [...]string{"least-squares", "least-absolute", "minimax", "minimax-by-factor"}

func (v Inverse) String() string {
	if int(v) < len(inverseNames) {
		return inverseNames[v]
	}
	return fmt.Sprintf("Inverse(%d)", uint8(v))
}

// MarshalText makes an Inverse its name in YAML and JSON.
func (v Inverse) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText accepts an Inverse's name.
func (v *Inverse) UnmarshalText(text []byte) error {
	i := slices.Index(inverseNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("unknown kind of left inverse %q; known: %s", text, strings.Join(inverseNames[:], ", "))
	}
	*v = Inverse(i)
	return nil
}

// LeftInverse returns how far y is from the best affine map h of z, a scalar (Zhang
// and Sugiyama 2024, definition 8):
//
//	least squares:    min over h of the mean over rows and targets of (y - h(z))^2 + ridge |W|^2
//	least absolute:   the mean over targets of the least mean over rows of |y - h(z)|
//	minimax:          min over h of the largest Euclidean length over rows of y - h(z)
//	minimax by factor: the Euclidean norm over targets of the least largest |y - h(z)|, a map for each target
//
// with h(z) = W^T z + b. z has the shape [rows, columns] and y [rows, targets].
// Labels, which may be nil, have the shape [rows] or [rows, factors]: only rows
// without negative labels take part; if there are none, the value is 0. There is
// a gradient of z only, by the envelope theorem; 0 where the fit is exact.
//
// Directions in which float32 codes spread less than 1e-6 times as far as in their
// widest one are taken for rounding; 1e-12 for float64.
func LeftInverse(kind Inverse, ridge float64, z, y, labels *gorgonia.Node) (*gorgonia.Node, error) {
	in, diff := []*gorgonia.Node{z, y}, []bool{true, false}
	if labels != nil {
		in, diff = append(in, labels), append(diff, false)
	}
	return Apply(Spec{
		Name: "left inverse",
		Key:  keyOf(kind, ridge),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			switch {
			case int(kind) >= len(inverseNames):
				return nil, wanted("a known kind of left inverse", kind)
			case !(ridge >= 0) || math.IsInf(ridge, 0):
				return nil, wanted("a ridge of 0 or more", ridge)
			case ridge > 0 && kind != LeastSquares:
				return nil, wanted("no ridge for kinds other than least-squares", ridge)
			}
			return tensor.ScalarShape(), checkInverse(in)
		},
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (Func, error) {
			if dt == tensor.Float32 {
				return newFunc[float32](newLeftInverse[float32](kind, ridge, in, 1e-6)), nil
			}
			return newFunc[float64](newLeftInverse[float64](kind, ridge, in, 1e-12)), nil
		},
		Diff: diff,
	}, in...)
}

func checkInverse(in []tensor.Shape) error {
	rows, _, err := rowsOf("codes", in[0])
	if err != nil {
		return err
	}
	n, _, err := rowsOf("targets", in[1])
	if err != nil {
		return err
	}
	if n != rows {
		return wanted(fmt.Sprintf("targets of %d rows", rows), in[1])
	}
	if len(in) == 3 {
		if d := in[2].Dims(); d < 1 || d > 2 || in[2][0] != rows || in[2].TotalSize() < 1 {
			return wanted(fmt.Sprintf("labels of shape [%d] or [%d, factors]", rows, rows), in[2])
		}
	}
	return nil
}

type leftInverse[T float] struct {
	kind                      Inverse
	ridge                     float64
	columns, targets, factors int

	known []int // rows that take part
	x, y  []float64
	best  geometry.Regression
	value float64 // NaN where codes or targets are not finite
}

func newLeftInverse[T float](kind Inverse, ridge float64, in []tensor.Shape, tolerance float64) *leftInverse[T] {
	rows, f := in[0][0], &leftInverse[T]{kind: kind, ridge: ridge, columns: in[0][1], targets: in[1][1]}
	if len(in) == 3 {
		f.factors = factorsOf(in[2])
	}
	f.known = make([]int, 0, rows)
	f.x, f.y = make([]float64, 0, rows*f.columns), make([]float64, 0, rows*f.targets)
	f.best.Tolerance = tolerance
	return f
}

func (f *leftInverse[T]) forward(in [][]T, out []T) {
	f.read(in)
	f.value = 0
	if len(f.known) > 0 {
		f.fit()
	}
	out[0] = T(f.value)
}

// read gathers the rows that take part.
func (f *leftInverse[T]) read(in [][]T) {
	f.known, f.x, f.y = f.known[:0], f.x[:0], f.y[:0]
	for i := range len(in[0]) / f.columns {
		if f.factors > 0 && unknown(in[2][i*f.factors:(i+1)*f.factors]) {
			continue
		}
		f.known = append(f.known, i)
		for _, v := range in[0][i*f.columns : (i+1)*f.columns] {
			f.x = append(f.x, float64(v))
		}
		for _, v := range in[1][i*f.targets : (i+1)*f.targets] {
			f.y = append(f.y, float64(v))
		}
	}
}

// unknown reports whether a label is negative, or not a number.
func unknown[T float](labels []T) bool {
	for _, l := range labels {
		if !(l >= 0) {
			return true
		}
	}
	return false
}

func (f *leftInverse[T]) fit() {
	b, k := &f.best, float64(f.targets)
	var err error
	switch f.kind {
	case LeastSquares:
		err = b.LeastSquares(f.x, f.columns, f.y, f.targets, f.ridge)
		for _, e := range b.Errors {
			f.value += e / k
		}
		f.value += f.ridge * square(b.Weights)
	case LeastAbsolute:
		err = b.LeastAbsolute(f.x, f.columns, f.y, f.targets)
		for _, e := range b.Errors {
			f.value += e / k
		}
	case Minimax:
		err = b.JointMinimax(f.x, f.columns, f.y, f.targets)
		f.value = b.Largest
	case MinimaxByFactor:
		err = b.Minimax(f.x, f.columns, f.y, f.targets)
		f.value = math.Sqrt(square(b.Errors))
	}
	if err != nil {
		f.value = math.NaN()
	}
}

func (f *leftInverse[T]) backward(_ [][]T, _, dout []T, din [][]T) {
	clear(din[0])
	for i, row := range f.known {
		g := din[0][row*f.columns : (row+1)*f.columns]
		for j := range g {
			if math.IsNaN(f.value) {
				g[j] = T(f.value)
				continue
			}
			sum := 0.0
			for k, w := range f.best.Weights[j*f.targets : (j+1)*f.targets] {
				sum -= f.factor(k) * f.best.Signs[i*f.targets+k] * w
			}
			g[j] = T(float64(dout[0]) * sum)
		}
	}
}

// factor returns what a target's sign and weight count in the gradient.
func (f *leftInverse[T]) factor(k int) float64 {
	n := float64(len(f.known) * f.targets)
	switch {
	case f.kind == LeastSquares:
		return 2 / n
	case f.kind == LeastAbsolute:
		return 1 / n
	case f.kind == Minimax:
		return 1
	case f.value == 0:
		return 0
	}
	return f.best.Errors[k] / f.value
}
