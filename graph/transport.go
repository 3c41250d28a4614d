package graph

import (
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Action is the way in which a group acts on the rows of a latent matrix.
type Action uint8

const (
	Identity  Action = iota // nothing moves; R^n
	Circle                  // an angle in radians rotates a point of S^1 in R^2
	AxisAngle               // (axis, angle) rotates a point of S^2 in R^3 by Rodrigues' formula
	Plane                   // an angle rotates a point of R^2, which is not projected
	Space                   // (axis, angle) rotates a point of R^3, which is not projected
)

// Columns returns the number of columns of the action's transformations.
func (a Action) Columns() int { return [...]int{0, 1, 4, 1, 4}[a] }

func (a Action) String() string {
	return [...]string{"identity", "circle rotation", "axis-angle rotation", "plane rotation", "space rotation"}[a]
}

// Transport brings the points of a group of m rows together and apart again
// (Tonnaer et al. 2022, section 5): for rows z_1..z_m with transformations
// g_1..g_m it returns
//
//	y_i = g_i . Pi(sum_j g_j^-1 . z_j)
//
// where Pi is [NormaliseRows]; for [Plane] and [Space], Pi divides by m instead, and for [Identity], y_i is
// the mean of the group. The
// shapes are z [groups*m, d], transformation [groups*m, columns] (nil for
// Identity) and y [groups*m, d]. A rotation's axis need not have unit length; the
// axis 0 leaves points where they are. Transformations have no gradient.
func Transport(a Action, z, transformation *gorgonia.Node, m int) (*gorgonia.Node, error) {
	if a > Space {
		return nil, fmt.Errorf("transport: unknown action %d", uint8(a))
	}
	s := Spec{
		Name:  "transport",
		Key:   keyOf(a, m),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) { return transportShape(a, m, in) },
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (Func, error) {
			if dt == tensor.Float32 {
				return newFunc[float32](newTransport[float32](a, m, in[0])), nil
			}
			return newFunc[float64](newTransport[float64](a, m, in[0])), nil
		},
		Diff: []bool{true, false},
	}
	if a == Identity && transformation == nil {
		s.Diff = nil
		return Apply(s, z)
	}
	return Apply(s, z, transformation)
}

func transportShape(a Action, m int, in []tensor.Shape) (tensor.Shape, error) {
	rows, d, err := rowsOf("points", in[0])
	width := map[Action]int{Identity: d, Circle: 2, AxisAngle: 3, Plane: 2, Space: 3}[a]
	switch {
	case err != nil:
		return nil, err
	case d != width:
		return nil, wanted(fmt.Sprintf("points with %d coordinates for a %v", width, a), d)
	case m < 1 || rows%m != 0:
		return nil, wanted(fmt.Sprintf("a number of rows that %d, the size of a group, divides", m), rows)
	case a == Identity && len(in) > 1:
		return nil, wanted("no transformation for the identity action", in[1])
	case a != Identity && !slices.Equal(in[1], tensor.Shape{rows, a.Columns()}):
		return nil, wanted(fmt.Sprintf("transformations of shape (%d, %d) for a %v", rows, a.Columns(), a), in[1])
	}
	return in[0], nil
}

type transport[T float] struct {
	action  Action
	m, d    int
	groups  int
	matrix  []float64 // [groups*m, d, d], row-major
	mean    []float64 // [groups, d]: Pi(sum), or the mean
	squares []float64 // [groups]: |sum|^2
	s       []float64 // [d]
}

func newTransport[T float](a Action, m int, z tensor.Shape) *transport[T] {
	rows, d := z[0], z[1]
	t := &transport[T]{action: a, m: m, d: d, groups: rows / m}
	t.mean, t.squares, t.s = make([]float64, t.groups*d), make([]float64, t.groups), make([]float64, d)
	if a != Identity {
		t.matrix = make([]float64, rows*d*d)
	}
	return t
}

func (t *transport[T]) forward(in [][]T, out []T) {
	if t.action != Identity {
		setRotations(t.action, t.matrix, in[1])
	}
	for g := range t.groups {
		mean := t.mean[g*t.d : (g+1)*t.d]
		t.gather(mean, in[0], g)
		t.settle(mean, g)
		t.scatter(out, mean, g)
	}
}

// settle turns the sum of a group into what its points share.
func (t *transport[T]) settle(sum []float64, g int) {
	if t.action == Circle || t.action == AxisAngle {
		t.squares[g] = normalise(sum, sum)
		return
	}
	for i := range sum {
		sum[i] /= float64(t.m)
	}
}

func (t *transport[T]) backward(_ [][]T, _, dout []T, din [][]T) {
	if din[0] == nil {
		return
	}
	for g := range t.groups {
		// The adjoint of spreading by rotations is gathering by their inverses.
		t.gather(t.s, dout, g)
		if t.action != Circle && t.action != AxisAngle {
			t.settle(t.s, g)
		} else {
			normaliseGradient(t.s, t.mean[g*t.d:(g+1)*t.d], t.s, t.squares[g])
		}
		t.scatter(din[0], t.s, g)
	}
}

// gather sets sum = sum_j R_j^T x_j over the rows of a group.
func (t *transport[T]) gather(sum []float64, x []T, g int) {
	clear(sum)
	for r := g * t.m; r < (g+1)*t.m; r++ {
		row := x[r*t.d : (r+1)*t.d]
		for i, v := range row {
			if t.action == Identity {
				sum[i] += float64(v)
				continue
			}
			for j := range sum {
				sum[j] += t.matrix[(r*t.d+i)*t.d+j] * float64(v)
			}
		}
	}
}

// scatter sets x_j = R_j point for the rows of a group.
func (t *transport[T]) scatter(x []T, point []float64, g int) {
	for r := g * t.m; r < (g+1)*t.m; r++ {
		for i := range t.d {
			v := point[i]
			if t.action != Identity {
				v = 0
				for j, p := range point {
					v += t.matrix[(r*t.d+i)*t.d+j] * p
				}
			}
			x[r*t.d+i] = T(v)
		}
	}
}

// setRotations fills in the matrices of transformations.
func setRotations[T float](a Action, matrix []float64, transformation []T) {
	if a == Circle || a == Plane {
		for i, angle := range transformation {
			sin, cos := math.Sincos(float64(angle))
			copy(matrix[4*i:], []float64{cos, -sin, sin, cos})
		}
		return
	}
	for i := 0; i < len(transformation)/4; i++ {
		var axis [3]float64
		for j := range axis {
			axis[j] = float64(transformation[4*i+j])
		}
		rodrigues(matrix[9*i:9*i+9], axis, float64(transformation[4*i+3]))
	}
}

// rodrigues sets r = cos I + sin [k]x + (1 - cos) k k^T for the unit axis k.
func rodrigues(r []float64, k [3]float64, angle float64) {
	length := math.Sqrt(k[0]*k[0] + k[1]*k[1] + k[2]*k[2])
	if length == 0 {
		copy(r, []float64{1, 0, 0, 0, 1, 0, 0, 0, 1})
		return
	}
	for i := range k {
		k[i] /= length
	}
	sin, cos := math.Sincos(angle)
	x, y, z, v := k[0], k[1], k[2], 1-cos
	copy(r, []float64{
		cos + v*x*x, v*x*y - sin*z, v*x*z + sin*y,
		v*y*x + sin*z, cos + v*y*y, v*y*z - sin*x,
		v*z*x - sin*y, v*z*y + sin*x, cos + v*z*z,
	})
}
