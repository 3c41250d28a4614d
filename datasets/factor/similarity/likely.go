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
	fitSteps       = 1000
	fitTolerance   = 1e-9 // expected decrease of the negative log posterior that ends the fit
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

// fit maximises the posterior over u and b, with w = scale u and u >= 0, by the spectral projected gradient method
// (Birgin et al. 2000): steps along projected gradients, with the length of Barzilai and Borwein.
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
	x := append(slices.Repeat([]float64{1}, l.columns), l.bias) // u, then b
	loss, slope := posterior(list, features, x)
	recent, step := []float64{loss}, 1/float64(len(list)+1)
	direction, next := make([]float64, len(x)), make([]float64, len(x))
	for range fitSteps {
		descent := 0.0
		for c, v := range x {
			direction[c] = -step * slope[c]
			if c < l.columns {
				direction[c] = max(direction[c], -v)
			}
			descent += slope[c] * direction[c]
		}
		var nextSlope []float64
		length, highest := 1.0, slices.Max(recent)
		for ; descent < -fitTolerance; length /= 2 {
			for c, v := range x {
				next[c] = v + length*direction[c]
			}
			if loss, nextSlope = posterior(list, features, next); loss <= highest+1e-4*length*descent {
				break
			}
		}
		if nextSlope == nil {
			break
		}
		var square, bend float64
		for c, v := range next {
			square += (v - x[c]) * (v - x[c])
			bend += (v - x[c]) * (nextSlope[c] - slope[c])
		}
		copy(x, next)
		slope, step = nextSlope, min(square/bend, 1/priorStrength) // 1/priorStrength bounds it apart from rounding
		if recent = append(recent, loss); len(recent) > 10 {
			recent = recent[1:]
		}
	}
	l.bias = x[l.columns]
	for c := range l.weights {
		l.weights[c] = scale * x[c]
	}
}

// posterior returns the negative log posterior of answers, and its derivatives with respect to u and then b.
func posterior(list []Answer, features, x []float64) (value float64, slope []float64) {
	columns := len(x) - 1
	u, slope := x[:columns], make([]float64, len(x))
	for c, v := range x {
		v -= 1
		if c == columns {
			v -= priorBias - 1
		}
		value += priorStrength * v * v / 2
		slope[c] = priorStrength * v
	}
	for n, answer := range list {
		f := features[n*columns : (n+1)*columns]
		score := x[columns]
		for c, v := range u {
			score -= v * f[c]
		}
		d := 1 / (1 + math.Exp(-score)) // derivative of log(1 + e^score)
		value += max(score, 0) + math.Log1p(math.Exp(-math.Abs(score)))
		if answer.Same {
			value -= score
			d--
		}
		slope[columns] += d
		for c := range u {
			slope[c] -= d * f[c]
		}
	}
	return value, slope
}
