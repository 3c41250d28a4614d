package latent

import (
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// GaussianSample returns z = mu + exp(logSigma) * noise for three matrices of the same shape; noise is drawn from N(0,
// I) and has no gradient.
func GaussianSample(mu, logSigma, noise *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "gaussian sample",
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if len(in) != 3 || !slices.Equal(in[0], in[1]) || !slices.Equal(in[0], in[2]) {
				return nil, graph.Wanted("location, log sigma and noise of one shape", in)
			}
			return in[0], nil
		},
		New: graph.Bodies(newGaussianSample[float32], newGaussianSample[float64]),
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			n := in[0].TotalSize()
			return graph.Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.GaussianSample(t, in[0], in[1], in[2], out, n)
				},
				Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					kernels.GaussianSampleGradient(t, in[1], in[2], dout, din[0], din[1], n)
				},
			}, nil
		},
		Diff: []bool{true, true, false},
	}, mu, logSigma, noise)
}

type gaussianSample[T graph.Float] struct{ sigma []T }

func newGaussianSample[T graph.Float](in []tensor.Shape) *gaussianSample[T] {
	return &gaussianSample[T]{make([]T, in[0].TotalSize())}
}

func (g *gaussianSample[T]) Forward(in [][]T, out []T) {
	mu, noise := in[0], in[2]
	numeric.Exp(g.sigma, in[1])
	for i, s := range g.sigma {
		out[i] = mu[i] + s*noise[i]
	}
}

func (g *gaussianSample[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	copy(din[0], dout)
	for i := range din[1] {
		din[1][i] = dout[i] * g.sigma[i] * in[2][i]
	}
}

// SphereWalk samples the random-walk posterior of a Delta-VAE on the sphere S^d. It starts at z = mu and takes N
// steps z <- Pi(z + sqrt(t/N) noise_k), with [NormaliseRows] as Pi (Perez Rey et al. 2020; Tonnaer et al. 2022,
// section 5). The shapes are mu [n, d+1], log t [n, 1], noise [N, n, d+1] and z [n, d+1]. The gradients of mu and log
// t go through all steps; noise has none.
func SphereWalk(mu, logT, noise *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "sphere walk",
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if len(in) != 3 {
				return nil, graph.Wanted("3 inputs", len(in))
			}
			n, d, err := graph.Matrix("location", in[0])
			switch {
			case err != nil:
				return nil, err
			case !slices.Equal(in[1], tensor.Shape{n, 1}):
				return nil, graph.Wanted(fmt.Sprintf("log t of shape (%d, 1)", n), in[1])
			case in[2].Dims() != 3 || in[2][0] < 1 || in[2][1] != n || in[2][2] != d:
				return nil, graph.Wanted(fmt.Sprintf("noise of shape (steps, %d, %d)", n, d), in[2])
			}
			return in[0], nil
		},
		New: graph.Bodies(newSphereWalk[float32], newSphereWalk[float64]),
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			steps, rows, columns := in[2][0], in[2][1], in[2][2]
			return graph.Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.SphereWalk(t, in[0], in[1], in[2], out, steps, rows, columns)
				},
				Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					kernels.SphereWalkGradient(t, in[0], in[1], in[2], dout, din[0], din[1], steps, rows, columns)
				},
			}, nil
		},
		Diff: []bool{true, true, false},
	}, mu, logT, noise)
}

type sphereWalk[T graph.Float] struct {
	steps, n, d int
	z           []T       // [steps, n, d]: the points after each step
	squares     []float64 // [steps, n]: squared norms of the points before normalisation
	g           []T       // [d]
}

func newSphereWalk[T graph.Float](in []tensor.Shape) *sphereWalk[T] {
	noise := in[2]
	w := &sphereWalk[T]{steps: noise[0], n: noise[1], d: noise[2]}
	w.z, w.squares, w.g = make([]T, noise.TotalSize()), make([]float64, w.steps*w.n), make([]T, w.d)
	return w
}

func (w *sphereWalk[T]) scale(logT T) float64 {
	return math.Exp(float64(logT)/2) / math.Sqrt(float64(w.steps))
}

func (w *sphereWalk[T]) Forward(in [][]T, out []T) {
	mu, logT, noise := in[0], in[1], in[2]
	from := mu
	for k := range w.steps {
		z, eps := w.step(w.z, k), w.step(noise, k)
		for i := range w.n {
			scale := w.scale(logT[i])
			for j := i * w.d; j < (i+1)*w.d; j++ {
				z[j] = T(float64(from[j]) + scale*float64(eps[j]))
			}
			row := z[i*w.d : (i+1)*w.d]
			w.squares[k*w.n+i] = numeric.Normalise(row, row)
		}
		from = z
	}
	copy(out, from)
}

// step returns the part of a [steps, n, d] array that belongs to step k.
func (w *sphereWalk[T]) step(a []T, k int) []T { return a[k*w.n*w.d : (k+1)*w.n*w.d] }

func (w *sphereWalk[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	logT, noise := in[1], in[2]
	for i := range w.n {
		row := func(a []T) []T { return a[i*w.d : (i+1)*w.d] }
		copy(w.g, row(dout))
		dScale := 0.0
		for k := w.steps - 1; k >= 0; k-- {
			numeric.NormaliseGradient(w.g, row(w.step(w.z, k)), w.g, w.squares[k*w.n+i])
			dScale += numeric.Dot(w.g, row(w.step(noise, k)))
		}
		if din[0] != nil {
			copy(row(din[0]), w.g)
		}
		if din[1] != nil {
			din[1][i] = T(dScale * w.scale(logT[i]) / 2)
		}
	}
}
