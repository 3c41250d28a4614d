package graph

import (
	"fmt"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// LSBD returns the distance of points from where [Transport] puts them, a scalar
// (L_LSBD of Tonnaer et al. 2022, section 5):
//
//	1/rows sum |z - y|^2
//
// for z and y of shape [rows, columns]: the mean over groups of the mean over
// their members, since rotations keep distances.
func LSBD(z, y *gorgonia.Node) (*gorgonia.Node, error) {
	return Apply(lsbdSpec("lsbd", "", func(s tensor.Shape, dt tensor.Dtype) Func {
		if dt == tensor.Float32 {
			return newFunc[float32](lsbd[float32]{s[0]})
		}
		return newFunc[float64](lsbd[float64]{s[0]})
	}), z, y)
}

func lsbdSpec(name, key string, build func(s tensor.Shape, dt tensor.Dtype) Func) Spec {
	return Spec{
		Name: name,
		Key:  key,
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if err := pairOf("points", "transported points", in); err != nil {
				return nil, err
			}
			_, _, err := rowsOf("points", in[0])
			return tensor.ScalarShape(), err
		},
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (Func, error) {
			return build(in[0], dt), nil
		},
	}
}

type lsbd[T float] struct{ rows int }

func (f lsbd[T]) forward(in [][]T, out []T) {
	out[0] = T(squaredError(in[0], in[1]) / float64(f.rows))
}

func (f lsbd[T]) backward(in [][]T, _, dout []T, din [][]T) {
	g := 2 * float64(dout[0]) / float64(f.rows)
	for i := range din[0] {
		din[0][i] = T(g * float64(in[0][i]-in[1][i]))
	}
	for i := range din[1] {
		din[1][i] = T(g * float64(in[1][i]-in[0][i]))
	}
}

// PublicLSBD returns the term that the public code of LSBD-VAE computes in place
// of [LSBD]. Its distance is that of the concatenation of all latent spaces, taken
// once per space, and summed, not averaged, over the m members of a group:
//
//	1/groups sum_rows [spheres * 2 (1 - clip(z.y, -1, 1)) + euclideans * |z - y|]
//
// for z and y of shape [groups*m, columns], the columns of all spaces together.
// It is zero, with zero gradient, wherever z.y >= 1: on a torus two circles may
// both be wrong by 60 degrees.
func PublicLSBD(z, y *gorgonia.Node, m, spheres, euclideans int) (*gorgonia.Node, error) {
	if m < 1 || spheres < 0 || euclideans < 0 {
		return nil, fmt.Errorf("public lsbd: %w", wanted("m >= 1 and no negative numbers of spaces", []int{m, spheres, euclideans}))
	}
	return Apply(lsbdSpec("public lsbd", keyOf(m, spheres, euclideans), func(s tensor.Shape, dt tensor.Dtype) Func {
		c, scale := s[1], float64(m)/float64(s[0])
		if dt == tensor.Float32 {
			return newFunc[float32](publicLSBD[float32]{c, 2 * scale * float64(spheres), scale * float64(euclideans)})
		}
		return newFunc[float64](publicLSBD[float64]{c, 2 * scale * float64(spheres), scale * float64(euclideans)})
	}), z, y)
}

type publicLSBD[T float] struct {
	columns          int
	cosine, distance float64 // weights of 1 - clip(z.y) and of |z - y|
}

func (f publicLSBD[T]) forward(in [][]T, out []T) {
	sum := 0.0
	for c, i := f.columns, 0; i < len(in[0]); i += c {
		z, y := in[0][i:i+c], in[1][i:i+c]
		sum += f.cosine*(1-min(max(dot(z, y), -1), 1)) + f.distance*math.Sqrt(squaredError(z, y))
	}
	out[0] = T(sum)
}

func (f publicLSBD[T]) backward(in [][]T, _, dout []T, din [][]T) {
	g := float64(dout[0])
	for c, i := f.columns, 0; i < len(in[0]); i += c {
		z, y := in[0][i:i+c], in[1][i:i+c]
		along, apart := 0.0, 0.0
		if d := dot(z, y); d > -1 && d < 1 {
			along = -g * f.cosine
		}
		if d := math.Sqrt(squaredError(z, y)); d > 0 {
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
