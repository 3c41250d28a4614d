package losses

import (
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
)

// KLCategorical returns the divergence, in nats, of a choice among K options with probabilities alpha from the uniform
// choice. It is the mean over rows of
//
//	log K + sum_k alpha_k log alpha_k
//
// which lies between 0 (alpha uniform) and log K (one option is certain). probabilities and their logarithms have the
// shape [rows, K]; the result is a scalar, differentiable in both. Separate logarithms, such as from
// graph.LogSoftmaxRows, keep the result and its gradients finite at a probability that rounds to 0.
//
// Source: Dupont 2018, section 3.3; Jang et al. 2017.
func KLCategorical(probabilities, logarithms *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "categorical kl",
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if len(in) != 2 || !slices.Equal(in[0], in[1]) {
				return nil, graph.Wanted("probabilities and their logarithms of one shape", in)
			}
			_, _, err := graph.Matrix("probabilities", in[0])
			return tensor.ScalarShape(), err
		},
		New: graph.Bodies(
			func(in []tensor.Shape) graph.Body[float32] { return categoricalKL[float32]{in[0][0], in[0][1]} },
			func(in []tensor.Shape) graph.Body[float64] { return categoricalKL[float64]{in[0][0], in[0][1]} }),
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
