package divergence

import (
	"fmt"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/losses/internal/check"
)

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

// step returns the contribution of the posteriors of elements a and b, if their means differ by m, and stores its
// slopes.
func (s *slowStep[T]) step(a, b int, m, logVariance float64) float64 {
	sigma, inside := math.Exp(logVariance/2), 0.0
	erf := math.Copysign(1, m)
	if m == 0 {
		erf = 0
	}
	if sigma > 0 {
		x := m / sigma
		erf, inside = math.Erf(x/math.Sqrt2), sigma*math.Sqrt(2/math.Pi)*math.Exp(-x*x/2)
	}
	slope := s.cross * s.rate * erf
	s.dMean[a] += slope
	s.dMean[b] -= slope
	s.dLogVariance[a] += s.cross*s.rate*inside/2 - s.entropy/2
	const entropy = 1.4189385332046727 // entropy of a Gaussian with variance 1: log(2 pi e)/2
	return s.cross*(s.rate*(inside+m*erf)-math.Log(s.rate/2)) - s.entropy*(entropy+logVariance/2)
}

func (s *slowStep[T]) Backward(_ [][]T, _, dout []T, din [][]T) {
	g := float64(dout[0])
	for k, slopes := range [][]float64{s.dMean, s.dLogVariance} {
		for i := range din[k] {
			din[k][i] = T(g * slopes[i])
		}
	}
}
