package similarity

import (
	"math"
	"slices"

	"github.com/unravel-ml/unravel/graph/rng"
)

// sameModel is the probability that two rows have the same level of a factor, given the difference of their codes:
//
//	1/(1 + exp(-(b - sum_c w_c (z_c - z'_c)^2))),  w >= 0
//
// Columns are standardised. Without codes, the probability is the fraction of same answers.
type sameModel struct {
	z       []float64
	columns int
	bias    float64
	weights []float64
}

// The prior of the parameters: b is 2, and all w are equal. Two rows at the median distance then have the same level
// with probability 0.1.
const (
	priorBias      = 2
	priorLogitDrop = priorBias + 2.197 // log 9
	priorStrength  = 0.5               // strength of the prior, in answers
	maxFitted      = 4000              // maximum number of answers
	fitSteps       = 200
)

// newSameModel fits the probability to the answers about a factor, if there are any.
func newSameModel(z []float64, columns int, list []Answer, s *rng.Stream) *sameModel {
	l := &sameModel{z: z, columns: columns}
	if columns == 0 {
		rate := (float64(countSame(list)) + 1) / (float64(len(list)) + 2)
		l.bias = math.Log(rate / (1 - rate))
		return l
	}
	l.bias, l.weights = priorBias, make([]float64, columns)
	scale := priorLogitDrop / max(l.medianSquare(s), 1e-12)
	for c := range l.weights {
		l.weights[c] = scale
	}
	if len(list) > maxFitted {
		sample := make([]Answer, maxFitted)
		for i, n := range s.Perm(len(list))[:maxFitted] {
			sample[i] = list[n]
		}
		list = sample
	}
	l.fit(list, scale)
	return l
}

// medianSquare returns the median squared distance of random pairs of rows.
func (l *sameModel) medianSquare(s *rng.Stream) float64 {
	n := len(l.z) / l.columns
	squares := make([]float64, 1001)
	for k := range squares {
		squares[k] = l.squaredDistance(s.IntN(n), s.IntN(n))
	}
	slices.Sort(squares)
	return squares[len(squares)/2]
}

// squaredDistance returns the squared distance of two rows.
func (l *sameModel) squaredDistance(i, j int) (sum float64) {
	a, b := l.z[i*l.columns:(i+1)*l.columns], l.z[j*l.columns:(j+1)*l.columns]
	for c, v := range a {
		d := v - b[c]
		sum += d * d
	}
	return sum
}

// probability returns the probability that two rows have the same level.
func (l *sameModel) probability(i, j int) float64 {
	x := l.bias
	for c, w := range l.weights {
		d := l.z[i*l.columns+c] - l.z[j*l.columns+c]
		x -= w * d * d
	}
	return 1 / (1 + math.Exp(-x))
}

// fit maximises the posterior by gradient steps on b and w/scale, which are kept non-negative. It halves a step that
// brings no improvement.
func (l *sameModel) fit(list []Answer, scale float64) {
	if len(list) == 0 {
		return
	}
	features := make([]float64, len(list)*l.columns)
	for n, x := range list {
		for c := range l.columns {
			d := l.z[int(x.A)*l.columns+c] - l.z[int(x.B)*l.columns+c]
			features[n*l.columns+c] = d * d * scale
		}
	}
	u, bias := make([]float64, l.columns), l.bias // w = scale u
	for c := range u {
		u[c] = 1
	}
	loss, du, db := posterior(list, features, u, bias)
	step, next := 1.0/float64(len(list)+1), make([]float64, len(u))
	for range fitSteps {
		for c := range u {
			next[c] = max(0, u[c]-step*du[c])
		}
		value, nextDu, nextDb := posterior(list, features, next, bias-step*db)
		if value > loss {
			if step /= 2; step < 1e-12 {
				break
			}
			continue
		}
		loss, bias, du, db, step = value, bias-step*db, nextDu, nextDb, step*1.5
		copy(u, next)
	}
	l.bias = bias
	for c := range u {
		l.weights[c] = scale * u[c]
	}
}

// posterior returns the negative log posterior of answers, and its derivatives with respect to u and the bias.
func posterior(list []Answer, features, u []float64, bias float64) (value float64, du []float64, db float64) {
	du = make([]float64, len(u))
	for c, v := range u {
		value += priorStrength * (v - 1) * (v - 1) / 2
		du[c] = priorStrength * (v - 1)
	}
	value += priorStrength * (bias - priorBias) * (bias - priorBias) / 2
	db = priorStrength * (bias - priorBias)
	for n, x := range list {
		f := features[n*len(u) : (n+1)*len(u)]
		score := bias
		for c, v := range u {
			score -= v * f[c]
		}
		slope := 1 / (1 + math.Exp(-score)) // derivative of log(1 + e^score)
		value += max(score, 0) + math.Log1p(math.Exp(-math.Abs(score)))
		if x.Same {
			value -= score
			slope--
		}
		db += slope
		for c := range u {
			du[c] -= slope * f[c]
		}
	}
	return value, du, db
}
