// Package symmetry has operations for transformed codes: transport within groups, walks and predictions.
package symmetry

import (
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/datasets/factor/rotation"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/losses/internal/check"
)

// Transport returns y_i = g_i . Pi(sum_j g_j^-1 . z_j) within every group of m rows;
// for plane and space Pi divides by m, for identity y_i is the mean of the group.
func Transport(a Action, z, transformation *gorgonia.Node, m int) (*gorgonia.Node, error) {
	if a > Space {
		return nil, fmt.Errorf("transport: unknown action %d", uint8(a))
	}
	in := []*gorgonia.Node{z, transformation}
	if a == Identity {
		in = check.Optional(in...)
	}
	return graph.Apply(graph.Spec{
		Name:  "transport",
		Key:   graph.Key(a, m),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) { return transportShape(a, m, in) },
		New: graph.Bodies(
			func(in []tensor.Shape) graph.Body[float32] { return newTransport[float32](a, m, in[0]) },
			func(in []tensor.Shape) graph.Body[float64] { return newTransport[float64](a, m, in[0]) }),
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			groups, columns := in[0][0]/m, in[0][1]
			return graph.Recording{ // the last input is the transformations, if there are any
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.Transport(t, in[0], in[len(in)-1], out, int(a), groups, m, columns)
				},
				Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					kernels.TransportGradient(t, in[0], in[len(in)-1], dout, din[0], int(a), groups, m, columns)
				},
			}, nil
		},
		Diff: []bool{true, false}[:len(in)],
	}, in...)
}

// Action says how a group acts on the rows of a latent matrix.
type Action uint8

// The actions.
const (
	Identity  Action = iota // no transformation, R^n
	Circle                  // an angle in radians rotates a point of S^1 in R^2
	AxisAngle               // (axis, angle) rotates a point of S^2 in R^3 by Rodrigues' formula
	Plane                   // an angle rotates a point of R^2, without projection
	Space                   // (axis, angle) rotates a point of R^3, without projection
)

func (a Action) columns() int { return [...]int{0, 1, 4, 1, 4}[a] }

func (a Action) String() string {
	return [...]string{"identity", "circle rotation", "axis-angle rotation", "plane rotation", "space rotation"}[a]
}

func transportShape(a Action, m int, in []tensor.Shape) (tensor.Shape, error) {
	rows, d, err := graph.Matrix("points", in[0])
	width := map[Action]int{Identity: d, Circle: 2, AxisAngle: 3, Plane: 2, Space: 3}[a]
	switch {
	case err != nil:
		return nil, err
	case d != width:
		return nil, graph.Wanted(fmt.Sprintf("points with %d coordinates for a %v", width, a), d)
	case m < 1 || rows%m != 0:
		return nil, graph.Wanted(fmt.Sprintf("a multiple of %d rows, the size of a group", m), rows)
	case a == Identity && len(in) > 1:
		return nil, graph.Wanted("no transformation for the identity action", in[1])
	case a != Identity && !slices.Equal(in[1], tensor.Shape{rows, a.columns()}):
		return nil, graph.Wanted(fmt.Sprintf("transformations of shape (%d, %d) for a %v", rows, a.columns(), a), in[1])
	}
	return in[0], nil
}

type transport[T graph.Float] struct {
	action  Action
	m, d    int
	groups  int
	matrix  []float64 // [groups*m, d, d], row-major
	mean    []float64 // [groups, d]: Pi(sum), or the mean
	squares []float64 // [groups]: |sum|^2
	scratch []float64 // [d]
}

func newTransport[T graph.Float](a Action, m int, z tensor.Shape) *transport[T] {
	rows, d := z[0], z[1]
	t := &transport[T]{action: a, m: m, d: d, groups: rows / m}
	t.mean, t.squares, t.scratch = make([]float64, t.groups*d), make([]float64, t.groups), make([]float64, d)
	if a != Identity {
		t.matrix = make([]float64, rows*d*d)
	}
	return t
}

func (t *transport[T]) Forward(in [][]T, out []T) {
	if t.action != Identity {
		setRotations(t.action, t.matrix, in[1])
	}
	for g := range t.groups {
		mean := t.mean[g*t.d : (g+1)*t.d]
		t.gather(mean, in[0], g)
		t.project(mean, g)
		t.scatter(out, mean, g)
	}
}

// project replaces the sum of a group by its common point, Pi(sum).
func (t *transport[T]) project(sum []float64, g int) {
	if t.action == Circle || t.action == AxisAngle {
		t.squares[g] = numeric.Normalise(sum, sum)
		return
	}
	for i := range sum {
		sum[i] /= float64(t.m)
	}
}

func (t *transport[T]) Backward(_ [][]T, _, dout []T, din [][]T) {
	if din[0] == nil {
		return
	}
	for g := range t.groups {
		// The adjoint of spreading by rotations is gathering by the inverse rotations.
		t.gather(t.scratch, dout, g)
		if t.action != Circle && t.action != AxisAngle {
			t.project(t.scratch, g)
		} else {
			numeric.NormaliseGradient(t.scratch, t.mean[g*t.d:(g+1)*t.d], t.scratch, t.squares[g])
		}
		t.scatter(din[0], t.scratch, g)
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

// setRotations computes the matrices of transformations.
func setRotations[T graph.Float](a Action, matrix []float64, transformation []T) {
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
		g := rotation.AboutAxis(axis, float64(transformation[4*i+3]))
		copy(matrix[9*i:], g[:])
	}
}

// AboutAxis adds the node that losses.AboutAxis documents.
func AboutAxis(axis [3]float64, factor float64, angles *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "about axis",
		Key:  graph.Key(axis, factor),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			rows, columns, err := graph.Matrix("angles", in[0])
			if err == nil && columns != 1 {
				err = graph.Wanted("angles of shape [rows, 1]", in[0])
			}
			return tensor.Shape{rows, 4}, err
		},
		New: graph.Bodies(
			func([]tensor.Shape) graph.Body[float32] { return axisRotation[float32]{axis, factor} },
			func([]tensor.Shape) graph.Body[float64] { return axisRotation[float64]{axis, factor} }),
		Diff: []bool{false},
	}, angles)
}

type axisRotation[T graph.Float] struct {
	axis   [3]float64
	factor float64
}

func (f axisRotation[T]) Forward(in [][]T, out []T) {
	for i, angle := range in[0] {
		for j, a := range f.axis {
			out[4*i+j] = T(a)
		}
		out[4*i+3] = T(f.factor * float64(angle))
	}
}

func (axisRotation[T]) Backward(_ [][]T, _, _ []T, _ [][]T) {}

// LSBD adds the node that losses.LSBD documents.
func LSBD(z, y *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name:  "lsbd",
		Shape: check.Scalar("points and transported points"),
		New: graph.Bodies(
			func(in []tensor.Shape) graph.Body[float32] { return lsbd[float32]{in[0][0]} },
			func(in []tensor.Shape) graph.Body[float64] { return lsbd[float64]{in[0][0]} }),
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			n, scale := in[0].TotalSize(), 1/float64(in[0][0])
			return graph.Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.GaussianReconstruction(t, in[0], in[1], out, scale, 0, true, n)
				},
				Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					kernels.GaussianReconstructionGradient(t, in[0], in[1], dout, din[0], din[1], scale, true, n)
				},
			}, nil
		},
	}, z, y)
}

// PublicLSBD adds the node that losses.PublicLSBD documents.
func PublicLSBD(z, y *gorgonia.Node, m, spheres, euclideans int) (*gorgonia.Node, error) {
	if m < 1 || spheres < 0 || euclideans < 0 {
		return nil, fmt.Errorf("public lsbd: %w", graph.Wanted("m >= 1 and no negative numbers of spaces",
			[]int{m, spheres, euclideans}))
	}
	return graph.Apply(graph.Spec{
		Name:  "public lsbd",
		Key:   graph.Key(m, spheres, euclideans),
		Shape: check.Scalar("points and transported points"),
		New: graph.Bodies(
			newPublicDistance[float32](m, spheres, euclideans),
			newPublicDistance[float64](m, spheres, euclideans)),
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			f, rows := newPublicDistance[float32](m, spheres, euclideans)(in), in[0][0]
			return graph.Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.PublicLSBD(t, in[0], in[1], out, f.cosine, f.distance, rows, f.columns)
				},
				Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					kernels.PublicLSBDGradient(t, in[0], in[1], dout, din[0], din[1], f.cosine, f.distance, rows, f.columns)
				},
			}, nil
		},
	}, z, y)
}

type lsbd[T graph.Float] struct{ rows int }

func (f lsbd[T]) Forward(in [][]T, out []T) {
	out[0] = T(numeric.SquaredError(in[0], in[1]) / float64(f.rows))
}

func (f lsbd[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	g := 2 * float64(dout[0]) / float64(f.rows)
	for i := range din[0] {
		din[0][i] = T(g * float64(in[0][i]-in[1][i]))
	}
	for i := range din[1] {
		din[1][i] = T(g * float64(in[1][i]-in[0][i]))
	}
}

type publicDistance[T graph.Float] struct {
	columns          int
	cosine, distance float64 // weights of 1 - clip(z.y) and of |z - y|
}

func newPublicDistance[T graph.Float](m, spheres, euclideans int) func([]tensor.Shape) publicDistance[T] {
	return func(in []tensor.Shape) publicDistance[T] {
		scale := float64(m) / float64(in[0][0])
		return publicDistance[T]{in[0][1], 2 * scale * float64(spheres), scale * float64(euclideans)}
	}
}

func (f publicDistance[T]) Forward(in [][]T, out []T) {
	sum := 0.0
	for c, i := f.columns, 0; i < len(in[0]); i += c {
		z, y := in[0][i:i+c], in[1][i:i+c]
		sum += f.cosine*(1-min(max(numeric.Dot(z, y), -1), 1)) + f.distance*math.Sqrt(numeric.SquaredError(z, y))
	}
	out[0] = T(sum)
}

func (f publicDistance[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	g := float64(dout[0])
	for c, i := f.columns, 0; i < len(in[0]); i += c {
		z, y := in[0][i:i+c], in[1][i:i+c]
		cosineSlope, distanceSlope := 0.0, 0.0
		if d := numeric.Dot(z, y); d > -1 && d < 1 {
			cosineSlope = -g * f.cosine
		}
		if d := math.Sqrt(numeric.SquaredError(z, y)); d > 0 {
			distanceSlope = g * f.distance / d
		}
		for j := range c {
			a, b := float64(z[j]), float64(y[j])
			if din[0] != nil {
				din[0][i+j] = T(cosineSlope*b + distanceSlope*(a-b))
			}
			if din[1] != nil {
				din[1][i+j] = T(cosineSlope*a + distanceSlope*(b-a))
			}
		}
	}
}
