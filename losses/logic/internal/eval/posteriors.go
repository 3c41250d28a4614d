package eval

import (
	"github.com/unravel-ml/unravel/losses/logic/internal/program"
	"math"

	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

// posteriors is a divergence of the Gaussian posteriors of two rows, from their means and log variances.
type posteriors struct {
	base
	*program.Posteriors
	differences []coordinate // differences of the means
	a, b        []coordinate // log variances
	numbers     [2][]float64 // log variances
}

func (*posteriors) cost(*data) float64 { return 4 }

// column computes column k of the difference of means d and the log variances a and b.
func (f *posteriors) column(m *evaluator, k, n int) (d, a, b []float64) {
	d, a, b = m.difference[:n], f.numbers[0][:n], f.numbers[1][:n]
	f.differences[k].differences(m, d)
	f.a[k].differences(m, a)
	f.b[k].differences(m, b)
	return d, a, b
}

func (f *posteriors) value(m *evaluator, n int) []float64 {
	out := f.values[:n]
	clear(out)
	for k := range f.differences {
		d, a, b := f.column(m, k, n)
		if f.Premetric == syntax.KL {
			for t := range out {
				x := standardised(d[t], b[t])
				out[t] += (expRemainder(difference(a[t], b[t])) + x*x) / 2
			}
			continue
		}
		for t := range out {
			s := deviationDifference(a[t], b[t])
			out[t] += d[t]*d[t] + s*s
		}
	}
	if f.Premetric == syntax.Wasserstein {
		for t, x := range out {
			out[t] = math.Sqrt(x)
		}
	}
	return out
}

// difference returns a - b, also for equal infinities.
func difference(a, b float64) float64 {
	if a == b {
		return 0
	}
	return a - b
}

// standardised returns a difference in units of the standard deviation, given the log variance.
func standardised(d, logVariance float64) float64 {
	if d == 0 {
		return 0
	}
	return d * math.Exp(-logVariance/2)
}

// expRemainder is e^x - 1 - x, without cancellation.
func expRemainder(x float64) float64 {
	if math.Abs(x) > 0.3 {
		return math.Expm1(x) - x
	}
	sum, term := 0.0, x*x/2
	for k := 3.0; term != 0 && math.Abs(term) > 1e-18*sum; k++ {
		sum += term
		term *= x / k
	}
	return sum
}

// deviationDifference returns the difference of two standard deviations, given the log variances.
func deviationDifference(a, b float64) float64 {
	switch {
	case a == b:
		return 0
	case a > b:
		return -deviationDifference(b, a)
	}
	return math.Exp(b/2) * math.Expm1((a-b)/2)
}

func (f *posteriors) gradient(m *evaluator, n int, g []float64) {
	value := f.values[:n]
	da, db := f.gradients[:n], f.operandGradients[:n]
	for k := range f.differences {
		d, a, b := f.column(m, k, n)
		for t := range d {
			var dd float64
			switch {
			case g[t] == 0 || math.IsInf(value[t], 1) || value[t] == 0:
				dd, da[t], db[t] = 0, 0, 0
			case f.Premetric == syntax.KL:
				x, slope := standardised(d[t], b[t]), math.Expm1(difference(a[t], b[t]))/2
				dd, da[t], db[t] = clampSlope(x*math.Exp(-b[t]/2)), clampSlope(slope), clampSlope(-slope-x*x/2)
				if x == 0 {
					dd = 0
				}
			default:
				s := deviationDifference(a[t], b[t]) / value[t] / 2
				dd, da[t], db[t] = d[t]/value[t], clampSlope(s*math.Exp(a[t]/2)), clampSlope(-s*math.Exp(b[t]/2))
				if s == 0 {
					da[t], db[t] = 0, 0
				}
			}
			d[t], da[t], db[t] = g[t]*dd, g[t]*da[t], g[t]*db[t]
		}
		f.differences[k].scatter(m, d)
		f.a[k].scatter(m, da)
		f.b[k].scatter(m, db)
	}
}
