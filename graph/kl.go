package graph

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// GaussianKL returns the mean over rows of KL(N(mu, sigma^2) || N(0, I)),
//
//	1/2 sum_j (mu_j^2 + sigma_j^2 - log sigma_j^2 - 1),
//
// a scalar, from mu and log sigma of one shape [rows, columns].
func GaussianKL(mu, logSigma *gorgonia.Node) (*gorgonia.Node, error) {
	return gaussianKLOf("log sigma", 2, mu, logSigma)
}

// GaussianKLLogVariance is [GaussianKL] from log sigma^2.
func GaussianKLLogVariance(mu, logVariance *gorgonia.Node) (*gorgonia.Node, error) {
	return gaussianKLOf("log variance", 1, mu, logVariance)
}

func gaussianKLOf(scale string, factor float64, mu, logScale *gorgonia.Node) (*gorgonia.Node, error) {
	return Apply(Spec{
		Name: "gaussian kl",
		Key:  scale,
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if len(in) != 2 || !slices.Equal(in[0], in[1]) {
				return nil, wanted("location and "+scale+" of one shape", in)
			}
			_, _, err := rowsOf("location", in[0])
			return tensor.ScalarShape(), err
		},
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (Func, error) {
			if dt == tensor.Float32 {
				return newFunc[float32](newGaussianKL[float32](in[0], factor)), nil
			}
			return newFunc[float64](newGaussianKL[float64](in[0], factor)), nil
		},
	}, mu, logScale)
}

// gaussianKL has log sigma^2 = factor * its second input.
type gaussianKL[T float] struct {
	rows     int
	factor   float64
	variance []T
}

func newGaussianKL[T float](s tensor.Shape, factor float64) *gaussianKL[T] {
	return &gaussianKL[T]{s[0], factor, make([]T, s.TotalSize())}
}

func (k *gaussianKL[T]) forward(in [][]T, out []T) {
	mu, logScale := in[0], in[1]
	for i, s := range logScale {
		k.variance[i] = T(k.factor) * s
	}
	vecExp(k.variance, k.variance)
	sum := 0.0
	for i, v := range k.variance {
		m := float64(mu[i])
		sum += m*m + float64(v) - k.factor*float64(logScale[i]) - 1
	}
	out[0] = T(0.5 * sum / float64(k.rows))
}

func (k *gaussianKL[T]) backward(in [][]T, _, dout []T, din [][]T) {
	g := float64(dout[0]) / float64(k.rows)
	for i := range din[0] {
		din[0][i] = T(g * float64(in[0][i]))
	}
	for i := range din[1] {
		din[1][i] = T(g * 0.5 * k.factor * (float64(k.variance[i]) - 1))
	}
}

// SphereKL returns the mean over rows of the divergence, in nats, of the heat kernel at
// time t (of half the Laplacian, the posterior of a random walk) from the uniform
// distribution of the sphere S^d, a scalar, from log t of shape [rows, 1]. It does not
// depend on the location. See [SphereTime] for the times at which it is known; at later
// ones it is NaN.
func SphereKL(logT *gorgonia.Node, dim int) (*gorgonia.Node, error) {
	return Apply(Spec{
		Name: "sphere kl",
		Key:  keyOf(dim),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if dim < 1 {
				return nil, wanted("a sphere of dimension 1 or more", dim)
			}
			if len(in) != 1 || in[0].Dims() != 2 || in[0][0] < 1 || in[0][1] != 1 {
				return nil, wanted("log t of shape [rows, 1]", in)
			}
			return tensor.ScalarShape(), nil
		},
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (Func, error) {
			if dt == tensor.Float32 {
				return newFunc[float32](newSphereKL[float32](dim, in[0][0])), nil
			}
			return newFunc[float64](newSphereKL[float64](dim, in[0][0])), nil
		},
	}, logT)
}

// sphereKL keeps the slopes of the rows' divergences in log t.
type sphereKL[T float] struct {
	kernel *heatKernel
	slopes []float64
}

func newSphereKL[T float](dim, rows int) *sphereKL[T] {
	return &sphereKL[T]{newHeatKernel(dim), make([]float64, rows)}
}

func (k *sphereKL[T]) forward(in [][]T, out []T) {
	sum := 0.0
	for i, v := range in[0] {
		var kl float64
		kl, k.slopes[i] = k.kernel.divergence(float64(v))
		sum += kl
	}
	out[0] = T(sum / float64(len(in[0])))
}

func (k *sphereKL[T]) backward(_ [][]T, _, dout []T, din [][]T) {
	g := float64(dout[0]) / float64(len(k.slopes))
	for i, s := range k.slopes {
		din[0][i] = T(g * s)
	}
}

// pairOf checks two inputs of one shape [rows, ...].
func pairOf(a, b string, in []tensor.Shape) error {
	if len(in) != 2 || !slices.Equal(in[0], in[1]) || in[0].Dims() < 1 || in[0].TotalSize() < 1 {
		return wanted(fmt.Sprintf("%s and %s of one shape [rows, ...]", a, b), in)
	}
	return nil
}
