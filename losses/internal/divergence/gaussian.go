// Package divergence computes divergences between posteriors and priors, and between consecutive posteriors.
package divergence

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

// KLGaussian adds the node that losses.KLGaussian documents.
func KLGaussian(mu, logSigma *gorgonia.Node) (*gorgonia.Node, error) {
	return gaussianKLOf("log sigma", 2, mu, logSigma)
}

// KLGaussianLogVariance adds the node that losses.KLGaussianLogVariance documents.
func KLGaussianLogVariance(mu, logVariance *gorgonia.Node) (*gorgonia.Node, error) {
	return gaussianKLOf("log variance", 1, mu, logVariance)
}

func gaussianKLOf(scale string, factor float64, mu, logScale *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name:  "gaussian kl",
		Key:   scale,
		Shape: check.Scalar("location and " + scale),
		New: graph.Bodies(
			func(in []tensor.Shape) graph.Body[float32] { return newGaussianKL[float32](in[0], factor) },
			func(in []tensor.Shape) graph.Body[float64] { return newGaussianKL[float64](in[0], factor) }),
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			rows, n := in[0][0], in[0].TotalSize()
			return graph.Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.KLGaussian(t, in[0], in[1], out, factor, rows, n)
				},
				Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					kernels.KLGaussianGradient(t, in[0], in[1], dout, din[0], din[1], factor, rows, n)
				},
			}, nil
		},
	}, mu, logScale)
}

// gaussianKL has log sigma^2 = factor * its second input.
type gaussianKL[T graph.Float] struct {
	rows     int
	factor   float64
	variance []T
}

func newGaussianKL[T graph.Float](s tensor.Shape, factor float64) *gaussianKL[T] {
	return &gaussianKL[T]{s[0], factor, make([]T, s.TotalSize())}
}

func (k *gaussianKL[T]) Forward(in [][]T, out []T) {
	mu, logScale := in[0], in[1]
	for i, s := range logScale {
		k.variance[i] = T(k.factor) * s
	}
	numeric.Exp(k.variance, k.variance)
	sum := 0.0
	for i, v := range k.variance {
		m := float64(mu[i])
		sum += m*m + float64(v) - k.factor*float64(logScale[i]) - 1
	}
	out[0] = T(0.5 * sum / float64(k.rows))
}

func (k *gaussianKL[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	g := float64(dout[0]) / float64(k.rows)
	for i := range din[0] {
		din[0][i] = T(g * float64(in[0][i]))
	}
	for i := range din[1] {
		din[1][i] = T(g * 0.5 * k.factor * (float64(k.variance[i]) - 1))
	}
}

// KLGaussianWeighted adds the node that losses.KLGaussianWeighted documents.
func KLGaussianWeighted(mu, logSigma, weights *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "weighted gaussian kl",
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			err := check.Matrices("location and log sigma", in[:2]...)
			if err == nil && in[2].TotalSize() != in[0][1] {
				err = graph.Wanted("a weight for each column", in[2])
			}
			return tensor.ScalarShape(), err
		},
		New: graph.Bodies(
			func(in []tensor.Shape) graph.Body[float32] { return weightedKL[float32]{in[0][0], in[0][1]} },
			func(in []tensor.Shape) graph.Body[float64] { return weightedKL[float64]{in[0][0], in[0][1]} }),
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			rows, columns := in[0][0], in[0][1]
			return graph.Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.WeightedKL(t, in[0], in[1], in[2], out, rows, columns)
				},
				Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					kernels.WeightedKLGradient(t, in[0], in[1], in[2], dout, din[0], din[1], rows, columns)
				},
			}, nil
		},
		Diff: []bool{true, true, false},
	}, mu, logSigma, weights)
}

type weightedKL[T graph.Float] struct{ rows, columns int }

func (k weightedKL[T]) Forward(in [][]T, out []T) {
	sum := 0.0
	for i, m := range in[0] {
		mu, s := float64(m), float64(in[1][i])
		sum += float64(in[2][i%k.columns]) * (mu*mu + math.Exp(2*s) - 2*s - 1)
	}
	out[0] = T(0.5 * sum / float64(k.rows))
}

func (k weightedKL[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	g := float64(dout[0]) / float64(k.rows)
	for i := range din[0] {
		din[0][i] = T(g * float64(in[2][i%k.columns]) * float64(in[0][i]))
	}
	for i := range din[1] {
		din[1][i] = T(g * float64(in[2][i%k.columns]) * (math.Exp(2*float64(in[1][i])) - 1))
	}
}

// KLCategorical adds the node that losses.KLCategorical documents.
func KLCategorical(probabilities, logarithms *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name:  "categorical kl",
		Shape: check.Scalar("probabilities and their logarithms"),
		New: graph.Bodies(
			func(in []tensor.Shape) graph.Body[float32] { return categoricalKL[float32]{in[0][0], in[0][1]} },
			func(in []tensor.Shape) graph.Body[float64] { return categoricalKL[float64]{in[0][0], in[0][1]} }),
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			rows, n, logOptions := in[0][0], in[0].TotalSize(), math.Log(float64(in[0][1]))
			return graph.Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.KLCategorical(t, in[0], in[1], out, logOptions, rows, n)
				},
				Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					for side, d := range din {
						if !d.IsZero() {
							kernels.ScaleBy(t, 1/float64(rows), dout, in[1-side], d, n)
						}
					}
				},
			}, nil
		},
	}, probabilities, logarithms)
}

type categoricalKL[T graph.Float] struct{ rows, options int }

func (k categoricalKL[T]) Forward(in [][]T, out []T) {
	sum := 0.0
	for i, p := range in[0] {
		sum += float64(p) * float64(in[1][i])
	}
	out[0] = T(math.Log(float64(k.options)) + sum/float64(k.rows))
}

func (k categoricalKL[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	g := float64(dout[0]) / float64(k.rows)
	for side, d := range din {
		for i := range d {
			d[i] = T(g * float64(in[1-side][i]))
		}
	}
}

// SlowStep adds the node that losses.SlowStep documents.
func SlowStep(mean, logVariance *gorgonia.Node, group int, rate float64, consistent bool) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "slow step",
		Key:  graph.Key(group, rate, consistent),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			err := check.Matrices("means and log variances", in...)
			switch {
			case err != nil:
				return nil, err
			case group < 2 || in[0][0]%group != 0:
				return nil, graph.Wanted(fmt.Sprintf("groups of 2 rows or more in %d rows", in[0][0]), group)
			case !(rate > 0) || math.IsInf(rate, 0):
				return nil, graph.Wanted("a positive rate", rate)
			}
			return tensor.ScalarShape(), nil
		},
		New: graph.Bodies(newSlowStep[float32](group, rate, consistent), newSlowStep[float64](group, rate, consistent)),
	}, mean, logVariance)
}

// slowStep is the operation of [SlowStep].
type slowStep[T graph.Float] struct {
	d, group            int
	rate                float64
	cross, entropy      float64 // weights of a cross-entropy and of an entropy in the mean over pairs
	dMean, dLogVariance []float64
}

func newSlowStep[T graph.Float](group int, rate float64, consistent bool) func([]tensor.Shape) *slowStep[T] {
	return func(in []tensor.Shape) *slowStep[T] {
		rows, n := in[0][0], in[0].TotalSize()
		pairs := float64(rows / group * (group - 1))
		s := &slowStep[T]{d: in[0][1], group: group, rate: rate, cross: 1 / pairs, entropy: 0.5 / pairs}
		s.dMean, s.dLogVariance = make([]float64, n), make([]float64, n)
		if consistent {
			s.cross /= 2
		}
		return s
	}
}

func (s *slowStep[T]) Forward(in [][]T, out []T) {
	clear(s.dMean)
	clear(s.dLogVariance)
	sum := 0.0
	for a := 0; a+s.d < len(in[0]); a++ {
		if a/s.d%s.group == s.group-1 {
			continue // the last image of its group
		}
		b := a + s.d
		m := float64(in[0][a]) - float64(in[0][b])
		sum += s.step(a, b, m, float64(in[1][a]))
		sum += s.step(b, a, -m, float64(in[1][b]))
	}
	out[0] = T(sum)
}

// step returns the contribution of two posteriors with means that differ by m, and stores its slopes.
func (s *slowStep[T]) step(a, b int, m, logVariance float64) float64 {
	sigma, densityTerm := math.Exp(logVariance/2), 0.0
	erf := math.Copysign(1, m)
	if m == 0 {
		erf = 0
	}
	if sigma > 0 {
		x := m / sigma
		erf, densityTerm = math.Erf(x/math.Sqrt2), sigma*math.Sqrt(2/math.Pi)*math.Exp(-x*x/2)
	}
	slope := s.cross * s.rate * erf
	s.dMean[a] += slope
	s.dMean[b] -= slope
	s.dLogVariance[a] += s.cross*s.rate*densityTerm/2 - s.entropy/2
	const entropy = 1.4189385332046727 // entropy of a Gaussian with variance 1: log(2 pi e)/2
	return s.cross*(s.rate*(densityTerm+m*erf)-math.Log(s.rate/2)) - s.entropy*(entropy+logVariance/2)
}

func (s *slowStep[T]) Backward(_ [][]T, _, dout []T, din [][]T) {
	g := float64(dout[0])
	for k, slopes := range [][]float64{s.dMean, s.dLogVariance} {
		for i := range din[k] {
			din[k][i] = T(g * slopes[i])
		}
	}
}
