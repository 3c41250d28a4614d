package symmetry

import (
	"fmt"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
)

// RotationWalk adds the node that losses.RotationWalk documents.
func RotationWalk(z, angles, actions *gorgonia.Node, m int) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name:  "rotation walk",
		Key:   graph.Key(m),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) { return rotationWalkShape(in, m) },
		New: graph.Bodies(
			func(in []tensor.Shape) *rotationWalk[float32] { return newRotationWalk[float32](in, m) },
			func(in []tensor.Shape) *rotationWalk[float64] { return newRotationWalk[float64](in, m) }),
		Diff: []bool{true, true, false},
	}, z, angles, actions)
}

func rotationWalkShape(in []tensor.Shape, m int) (tensor.Shape, error) {
	episodes, n, err := graph.Matrix("first codes", in[0])
	if err != nil {
		return nil, err
	}
	actions, planes, err := graph.Matrix("angles", in[1])
	switch {
	case err != nil:
		return nil, err
	case n < 2 || planes != Planes(n):
		return nil, graph.Wanted("codes of n >= 2 columns, and n(n-1)/2 angles", in[:2])
	case m < 1 || !in[2].Eq(tensor.Shape{episodes * m, actions}):
		return nil, graph.Wanted(fmt.Sprintf("actions of shape [%d, %d]", episodes*m, actions), in[2])
	}
	return tensor.Shape{episodes * m, n}, nil
}

// Planes is losses.Planes.
func Planes(n int) int { return n * (n - 1) / 2 }

type rotationWalk[T graph.Float] struct {
	m, n, actions int
	sin, cos      []float64 // of the angles
	slopes        []float64 // gradients with respect to the angles
	y, dy         []float64 // a code and its gradient
}

func newRotationWalk[T graph.Float](in []tensor.Shape, m int) *rotationWalk[T] {
	n, angles := in[0][1], in[1].TotalSize()
	w := &rotationWalk[T]{m: m, n: n, actions: in[1][0], y: make([]float64, n), dy: make([]float64, n)}
	w.sin, w.cos, w.slopes = make([]float64, angles), make([]float64, angles), make([]float64, angles)
	return w
}

func (w *rotationWalk[T]) Forward(in [][]T, out []T) {
	for i, a := range in[1] {
		w.sin[i], w.cos[i] = math.Sincos(float64(a))
	}
	n, planes := w.n, Planes(w.n)
	for row := range len(out) / n {
		if row%w.m == 0 {
			for i, v := range in[0][row/w.m*n : (row/w.m+1)*n] {
				w.y[i] = float64(v)
			}
		}
		if a := chosen(in[2], row, w.actions); a >= 0 {
			rotate(w.y, w.sin[a*planes:(a+1)*planes], w.cos[a*planes:(a+1)*planes])
		}
		for i, v := range w.y {
			out[row*n+i] = T(v)
		}
	}
}

func (w *rotationWalk[T]) Backward(in [][]T, out, dout []T, din [][]T) {
	n, planes := w.n, Planes(w.n)
	clear(w.slopes)
	for row := len(out)/n - 1; row >= 0; row-- {
		if row%w.m == w.m-1 {
			clear(w.dy)
		}
		for i := range n {
			w.y[i] = float64(out[row*n+i])
			w.dy[i] += float64(dout[row*n+i])
		}
		if a := chosen(in[2], row, w.actions); a >= 0 {
			w.back(a * planes)
		}
		if row%w.m == 0 && din[0] != nil {
			for i, v := range w.dy {
				din[0][row/w.m*n+i] = T(v)
			}
		}
	}
	if din[1] != nil {
		for i, v := range w.slopes {
			din[1][i] = T(v)
		}
	}
}

// back undoes the plane rotations of an action, starting with the first; the action's angles begin at p. The derivative
// with respect to an angle is the inner product of the gradient with the code, rotated by a quarter turn in the plane.
func (w *rotationWalk[T]) back(p int) {
	y, d := w.y, w.dy
	for i := range y {
		for j := i + 1; j < len(y); j++ {
			s, c := w.sin[p], w.cos[p]
			w.slopes[p] += d[i]*y[j] - d[j]*y[i]
			y[i], y[j] = c*y[i]-s*y[j], c*y[j]+s*y[i]
			d[i], d[j] = c*d[i]-s*d[j], c*d[j]+s*d[i]
			p++
		}
	}
}

// chosen returns the action that leads to a row, or -1.
func chosen[T graph.Float](actions []T, row, count int) int {
	for a, v := range actions[row*count : (row+1)*count] {
		if v > 0.5 {
			return a
		}
	}
	return -1
}

// rotate multiplies y by the plane rotations of one action, starting with the last.
func rotate(y, sin, cos []float64) {
	p := len(sin)
	for i := len(y) - 2; i >= 0; i-- {
		for j := len(y) - 1; j > i; j-- {
			p--
			y[i], y[j] = cos[p]*y[i]+sin[p]*y[j], cos[p]*y[j]-sin[p]*y[i]
		}
	}
}

// Entanglement adds the node that losses.Entanglement documents.
func Entanglement(angles *gorgonia.Node, target float64) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "entanglement",
		Key:  graph.Key(target),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			_, _, err := graph.Matrix("angles", in[0])
			return tensor.ScalarShape(), err
		},
		New: graph.Bodies(
			func(in []tensor.Shape) *entanglement[float32] { return newEntanglement[float32](in[0], target) },
			func(in []tensor.Shape) *entanglement[float64] { return newEntanglement[float64](in[0], target) }),
	}, angles)
}

type entanglement[T graph.Float] struct {
	planes int
	target float64
	scale  float64 // of the gradient: the sign of L - target divided by the number of actions
	most   []int   // the index of the largest angle of each action
}

func newEntanglement[T graph.Float](s tensor.Shape, target float64) *entanglement[T] {
	return &entanglement[T]{planes: s[1], target: target, most: make([]int, s[0])}
}

func (e *entanglement[T]) Forward(in [][]T, out []T) {
	sum := 0.0
	for a := range e.most {
		angles := in[0][a*e.planes : (a+1)*e.planes]
		e.most[a] = a * e.planes
		for i, v := range angles {
			if math.Abs(float64(v)) > math.Abs(float64(in[0][e.most[a]])) {
				e.most[a] = a*e.planes + i
			}
		}
		for i, v := range angles { // sum - max would lose small angles next to a large one by rounding
			if a*e.planes+i != e.most[a] {
				sum += float64(v) * float64(v)
			}
		}
	}
	actions := float64(len(e.most))
	off := sum/actions - e.target
	e.scale = 1 / actions
	switch {
	case off < 0:
		e.scale = -e.scale
	case off == 0:
		e.scale = 0
	}
	out[0] = T(math.Abs(off))
}

func (e *entanglement[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	g := 2 * e.scale * float64(dout[0])
	for i, v := range in[0] {
		din[0][i] = T(g * float64(v))
	}
	for _, i := range e.most {
		din[0][i] = 0
	}
}
