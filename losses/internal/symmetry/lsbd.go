// Package symmetry has operations for codes that transformations act on: transport within groups, walks and
// predictions.
package symmetry

import (
	"fmt"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/losses/internal/check"
)

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
		return nil, fmt.Errorf("public lsbd: %w", graph.Wanted("m >= 1 and no negative numbers of spaces", []int{m, spheres, euclideans}))
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
		along, apart := 0.0, 0.0
		if d := numeric.Dot(z, y); d > -1 && d < 1 {
			along = -g * f.cosine
		}
		if d := math.Sqrt(numeric.SquaredError(z, y)); d > 0 {
			apart = g * f.distance / d
		}
		for j := range c {
			a, b := float64(z[j]), float64(y[j])
			if din[0] != nil {
				din[0][i+j] = T(along*b + apart*(a-b))
			}
			if din[1] != nil {
				din[1][i+j] = T(along*a + apart*(b-a))
			}
		}
	}
}
