package informative

import (
	"fmt"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/losses/internal/check"
)

// Inverse is a losses.Inverse.
type Inverse uint8

// The errors that the best affine map minimises.
const (
	LeastSquares Inverse = iota
	LeastAbsolute
	Minimax
	MinimaxByFactor
)

// LeftInverse adds the node that losses.LeftInverse documents.
func LeftInverse(kind Inverse, ridge float64, z, y, groups *gorgonia.Node) (*gorgonia.Node, error) {
	in := check.Optional(z, y, groups)
	return graph.Apply(graph.Spec{
		Name: "left inverse",
		Key:  graph.Key(kind, ridge),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			switch {
			case kind > MinimaxByFactor:
				return nil, graph.Wanted("a known kind of left inverse", kind)
			case !(ridge >= 0) || math.IsInf(ridge, 0):
				return nil, graph.Wanted("a ridge of 0 or more", ridge)
			case ridge > 0 && kind != LeastSquares:
				return nil, graph.Wanted("no ridge for kinds other than least-squares", ridge)
			}
			return tensor.ScalarShape(), checkInverse(in)
		},
		New: graph.Bodies(
			func(in []tensor.Shape) graph.Body[float32] { return newLeftInverse[float32](kind, ridge, in, 1e-6) },
			func(in []tensor.Shape) graph.Body[float64] { return newLeftInverse[float64](kind, ridge, in, 1e-12) }),
		Diff: []bool{true, false, false}[:len(in)],
	}, in...)
}

func checkInverse(in []tensor.Shape) error {
	rows, _, err := graph.Matrix("codes", in[0])
	if err != nil {
		return err
	}
	n, _, err := graph.Matrix("targets", in[1])
	if err != nil {
		return err
	}
	if n != rows {
		return graph.Wanted(fmt.Sprintf("targets of %d rows", rows), in[1])
	}
	if len(in) == 3 {
		_, err = check.Labels("labels", in[2], rows)
	}
	return err
}

type leftInverse[T graph.Float] struct {
	kind                      Inverse
	ridge                     float64
	columns, targets, factors int

	rows  []int // rows with known factors
	x, y  []float64
	best  geometry.Regression
	value float64 // NaN if codes or targets are not finite
}

func newLeftInverse[T graph.Float](kind Inverse, ridge float64, in []tensor.Shape, tolerance float64) *leftInverse[T] {
	rows, f := in[0][0], &leftInverse[T]{kind: kind, ridge: ridge, columns: in[0][1], targets: in[1][1]}
	if len(in) == 3 {
		f.factors = check.Factors(in[2])
	}
	f.rows = make([]int, 0, rows)
	f.x, f.y = make([]float64, 0, rows*f.columns), make([]float64, 0, rows*f.targets)
	f.best.Tolerance = tolerance
	return f
}

func (f *leftInverse[T]) Forward(in [][]T, out []T) {
	f.read(in)
	f.value = 0
	if len(f.rows) > 0 {
		f.fit()
	}
	out[0] = T(f.value)
}

// read gathers the rows with known factors.
func (f *leftInverse[T]) read(in [][]T) {
	f.rows, f.x, f.y = f.rows[:0], f.x[:0], f.y[:0]
	for i := range len(in[0]) / f.columns {
		if f.factors > 0 && unknown(in[2][i*f.factors:(i+1)*f.factors]) {
			continue
		}
		f.rows = append(f.rows, i)
		for _, v := range in[0][i*f.columns : (i+1)*f.columns] {
			f.x = append(f.x, float64(v))
		}
		for _, v := range in[1][i*f.targets : (i+1)*f.targets] {
			f.y = append(f.y, float64(v))
		}
	}
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
		f.value += f.ridge * numeric.Square(b.Weights)
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
		f.value = math.Sqrt(numeric.Square(b.Errors))
	}
	if err != nil {
		f.value = math.NaN()
	}
}

func (f *leftInverse[T]) Backward(_ [][]T, _, dout []T, din [][]T) {
	clear(din[0])
	for i, row := range f.rows {
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

// factor returns the factor for a target's signs and weights in the gradient.
func (f *leftInverse[T]) factor(k int) float64 {
	n := float64(len(f.rows) * f.targets)
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

// unknown reports whether a label is negative or NaN.
func unknown[T graph.Float](labels []T) bool {
	for _, l := range labels {
		if !(l >= 0) {
			return true
		}
	}
	return false
}
