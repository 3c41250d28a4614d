package symmetry

import (
	"fmt"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/losses/internal/check"
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
		if a := actionOf(in[2], row, w.actions); a >= 0 {
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
		if a := actionOf(in[2], row, w.actions); a >= 0 {
			w.unrotate(a * planes)
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

// unrotate undoes the plane rotations of an action, starting with the first; the action's angles begin at p. The
// derivative with respect to an angle is the inner product of the gradient with the code, rotated by a quarter turn in
// the plane.
func (w *rotationWalk[T]) unrotate(p int) {
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

// actionOf returns the action that leads to a row, or -1.
func actionOf[T graph.Float](actions []T, row, count int) int {
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
	planes  int
	target  float64
	scale   float64 // of the gradient: the sign of L - target divided by the number of actions
	largest []int   // the index of the largest angle of each action
}

func newEntanglement[T graph.Float](s tensor.Shape, target float64) *entanglement[T] {
	return &entanglement[T]{planes: s[1], target: target, largest: make([]int, s[0])}
}

func (e *entanglement[T]) Forward(in [][]T, out []T) {
	sum := 0.0
	for a := range e.largest {
		angles := in[0][a*e.planes : (a+1)*e.planes]
		e.largest[a] = a * e.planes
		for i, v := range angles {
			if math.Abs(float64(v)) > math.Abs(float64(in[0][e.largest[a]])) {
				e.largest[a] = a*e.planes + i
			}
		}
		for i, v := range angles { // sum - max would lose small angles next to a large one by rounding
			if a*e.planes+i != e.largest[a] {
				sum += float64(v) * float64(v)
			}
		}
	}
	actions := float64(len(e.largest))
	excess := sum/actions - e.target
	e.scale = 1 / actions
	switch {
	case excess < 0:
		e.scale = -e.scale
	case excess == 0:
		e.scale = 0
	}
	out[0] = T(math.Abs(excess))
}

func (e *entanglement[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	g := 2 * e.scale * float64(dout[0])
	for i, v := range in[0] {
		din[0][i] = T(g * float64(v))
	}
	for _, i := range e.largest {
		din[0][i] = 0
	}
}

// PredictByBlocks adds the node that losses.PredictByBlocks documents.
func PredictByBlocks(z, blocks, actions *gorgonia.Node, columns []int) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name:  "predict by blocks",
		Key:   graph.Key(columns),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) { return predictedShape(in, columns) },
		New: graph.Bodies(
			func(in []tensor.Shape) *predictByBlocks[float32] {
				return &predictByBlocks[float32]{in[0][1], columns, make([]float64, in[1].TotalSize())}
			},
			func(in []tensor.Shape) *predictByBlocks[float64] {
				return &predictByBlocks[float64]{in[0][1], columns, make([]float64, in[1].TotalSize())}
			}),
		Diff: []bool{true, true, false},
	}, z, blocks, actions)
}

func predictedShape(in []tensor.Shape, columns []int) (tensor.Shape, error) {
	rows, d, err := graph.Matrix("codes", in[0])
	switch {
	case err != nil:
		return nil, err
	case len(columns) == 0 || !in[1].Eq(tensor.Shape{len(columns), 4}):
		return nil, graph.Wanted(fmt.Sprintf("blocks of shape [%d, 4], and at least one", len(columns)), in[1])
	case !in[2].Eq(tensor.Shape{rows, len(columns)}):
		return nil, graph.Wanted(fmt.Sprintf("actions of shape [%d, %d]", rows, len(columns)), in[2])
	}
	for _, b := range columns {
		if b < 0 || 2*b+1 >= d {
			return nil, graph.Wanted(fmt.Sprintf("blocks 0 to %d, of %d columns", d/2-1, d), b)
		}
	}
	return in[0], nil
}

type predictByBlocks[T graph.Float] struct {
	d       int
	columns []int
	slopes  []float64 // gradients with respect to the blocks
}

// action returns the action that leads from the previous row to a row, or -1.
func (p *predictByBlocks[T]) action(in [][]T, row int) int {
	if row == 0 {
		return -1
	}
	return actionOf(in[2], row, len(p.columns))
}

func (p *predictByBlocks[T]) Forward(in [][]T, out []T) {
	d := p.d
	for row := range len(out) / d {
		y := out[row*d : (row+1)*d]
		a := p.action(in, row)
		if a < 0 {
			clear(y)
			continue
		}
		copy(y, in[0][(row-1)*d:row*d])
		m, c := in[1][4*a:4*a+4], 2*p.columns[a]
		z0, z1 := float64(y[c]), float64(y[c+1])
		y[c] = T(float64(m[0])*z0 + float64(m[1])*z1)
		y[c+1] = T(float64(m[2])*z0 + float64(m[3])*z1)
	}
}

func (p *predictByBlocks[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	d := p.d
	clear(p.slopes)
	if din[0] != nil {
		clear(din[0])
	}
	for row := 1; row < len(dout)/d; row++ {
		a := p.action(in, row)
		if a < 0 {
			continue
		}
		g, c := dout[row*d:(row+1)*d], 2*p.columns[a]
		g0, g1 := float64(g[c]), float64(g[c+1])
		for i, v := range g[c : c+2] {
			for j, z := range in[0][(row-1)*d+c : (row-1)*d+c+2] {
				p.slopes[4*a+2*i+j] += float64(v) * float64(z)
			}
		}
		if din[0] != nil {
			dz, m := din[0][(row-1)*d:row*d], in[1][4*a:4*a+4]
			copy(dz, g)
			dz[c] = T(float64(m[0])*g0 + float64(m[2])*g1)
			dz[c+1] = T(float64(m[1])*g0 + float64(m[3])*g1)
		}
	}
	if din[1] != nil {
		for i, v := range p.slopes {
			din[1][i] = T(v)
		}
	}
}

// Prediction adds the node that losses.Prediction documents.
func Prediction(predicted, codes, actions *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "prediction",
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			err := check.Matrices("predicted codes and codes", in[:2]...)
			if err == nil && (in[2].Dims() != 2 || in[2][0] != in[0][0]) {
				err = graph.Wanted(fmt.Sprintf("actions of %d rows", in[0][0]), in[2])
			}
			return tensor.ScalarShape(), err
		},
		New: graph.Bodies(
			func(in []tensor.Shape) *prediction[float32] {
				return &prediction[float32]{d: in[0][1], actions: in[2][1]}
			},
			func(in []tensor.Shape) *prediction[float64] {
				return &prediction[float64]{d: in[0][1], actions: in[2][1]}
			}),
		Diff: []bool{true, true, false},
	}, predicted, codes, actions)
}

type prediction[T graph.Float] struct {
	d, actions int
	scale      float64 // one over the number of elements in the mean, or 0 without elements
}

func (p *prediction[T]) Forward(in [][]T, out []T) {
	sum, n := 0.0, 0
	for i, v := range in[0] {
		if actionOf(in[2], i/p.d, p.actions) >= 0 {
			deviation := float64(v) - float64(in[1][i])
			sum, n = sum+deviation*deviation, n+1
		}
	}
	p.scale = 0
	if n > 0 {
		p.scale = 1 / float64(n)
	}
	out[0] = T(p.scale * sum)
}

func (p *prediction[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	g := 2 * p.scale * float64(dout[0])
	for i, v := range in[0] {
		slope := T(0)
		if actionOf(in[2], i/p.d, p.actions) >= 0 {
			slope = T(g * (float64(v) - float64(in[1][i])))
		}
		if din[0] != nil {
			din[0][i] = slope
		}
		if din[1] != nil {
			din[1][i] = -slope
		}
	}
}
