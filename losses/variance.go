package losses

import (
	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph"
)

// Variance is [Modularity] with the mean over values of the total variance, Unbiased.
// It is differentiable everywhere. The variance of the rows themselves, as in the metric
// variance, is Modularity(factor.Variance, factor.Mean, Plain, ...).
//
// Source: Zhang and Sugiyama 2024, example 4, equation 17.
func Variance(z, groups *gorgonia.Node, blocks ...factor.Block) (*gorgonia.Node, error) {
	return Modularity(factor.Variance, factor.Mean, Unbiased, z, groups, blocks...)
}

// NewVariance returns the default settings of [Variance].
func NewVariance() *ModularityLoss { return newModularityLoss(factor.Variance, factor.Mean) }

// variance is the total population variance, 1/n sum_i |x_i - mean|^2.
type variance[T graph.Float] struct {
	columns int
	mean    []float64 // minus the first point
}

func newVariance[T graph.Float](columns int) deviation[T] {
	return &variance[T]{columns, make([]float64, columns)}
}

func (v *variance[T]) value(x []T, rows int) float64 {
	c := v.columns
	first := x[:c] // subtracted, so equal points have exactly 0
	clear(v.mean)
	for i := c; i < rows*c; i += c {
		for j, e := range x[i : i+c] {
			v.mean[j] += float64(e) - float64(first[j])
		}
	}
	for j := range v.mean {
		v.mean[j] /= float64(rows)
	}
	sum := 0.0
	for i := 0; i < rows*c; i += c {
		for j, e := range x[i : i+c] {
			d := float64(e) - float64(first[j]) - v.mean[j]
			sum += d * d
		}
	}
	return sum / float64(rows)
}

func (v *variance[T]) gradient(x []T, rows int, scale float64, dx []T) {
	c, f := v.columns, 2*scale/float64(rows)
	first := x[:c]
	for i := 0; i < rows*c; i += c {
		for j, e := range x[i : i+c] {
			dx[i+j] = T(f * (float64(e) - float64(first[j]) - v.mean[j]))
		}
	}
}
