package losses

import (
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
)

// KLGaussianWeighted is [KLGaussian] with a weight for every column,
//
//	sum_j w_j 1/2 (mu_j^2 + sigma_j^2 - log sigma_j^2 - 1)
//
// averaged over rows, in nats. mu and logSigma have the shape [rows, columns]. weights has one number for each column
// and no gradient. With weights of 0 or more the least value, at mu = 0 and sigma = 1, is 0.
//
// Source: Jeong and Song 2019, equation 6.
func KLGaussianWeighted(mu, logSigma, weights *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "weighted gaussian kl",
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if len(in) != 3 || !slices.Equal(in[0], in[1]) {
				return nil, graph.Wanted("location and log sigma of one shape, and weights", in)
			}
			_, columns, err := graph.Matrix("location", in[0])
			if err == nil && in[2].TotalSize() != columns {
				err = graph.Wanted("a weight for each column", in[2])
			}
			return tensor.ScalarShape(), err
		},
		New: graph.Bodies(
			func(in []tensor.Shape) graph.Body[float32] { return weightedKL[float32]{in[0][0], in[0][1]} },
			func(in []tensor.Shape) graph.Body[float64] { return weightedKL[float64]{in[0][0], in[0][1]} }),
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
