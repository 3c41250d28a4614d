// Package reference has the operations of sentences as the paper defines them, for tests.
package reference

import (
	"math"
	"slices"

	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

// Operation computes an operation of the quantale as the paper defines it, by isomorphisms to + and *.
func Operation(q syntax.Quantale, k syntax.Kind, a, b float64) float64 {
	iso := func(f, g func(float64) float64, a, b float64) float64 { return g(f(a) + f(b)) }
	switch k {
	case syntax.AndKind:
		switch q.And {
		case syntax.AndAdd:
			return a + b
		case syntax.AndMax:
			return math.Max(a, b)
		case syntax.AndLogExp:
			if hi := math.Max(a, b); hi > 30 {
				return hi + math.Log(1+math.Exp(math.Min(a, b)-hi)-math.Exp(-hi))
			}
			return iso(math.Expm1, math.Log1p, a, b)
		case syntax.AndNorm:
			return iso(func(x float64) float64 { return x * x }, math.Sqrt, a, b)
		case syntax.AndRoot:
			return iso(math.Sqrt, func(x float64) float64 { return x * x }, a, b)
		}
		return (1+a)*(1+b) - 1
	case syntax.OrKind:
		if math.IsInf(a, 1) || math.IsInf(b, 1) {
			return math.Min(a, b)
		}
		switch q.Or {
		case syntax.OrMin:
			return math.Min(a, b)
		case syntax.OrHarmonic:
			return iso(func(x float64) float64 { return 1 / x }, func(x float64) float64 { return 1 / x }, a, b)
		case syntax.OrHarmonicSquare:
			return iso(func(x float64) float64 { return 1 / (x * x) }, func(x float64) float64 { return 1 / math.Sqrt(x) }, a, b)
		case syntax.OrLogExp:
			return -math.Log1p(-math.Expm1(-a) * math.Expm1(-b))
		}
		return math.Atanh(math.Tanh(a) * math.Tanh(b))
	}
	switch q.Implies {
	case syntax.ImpliesMax:
		if a >= b {
			return 0
		}
		return b
	case syntax.ImpliesStrict:
		if a == 0 {
			return b
		}
		return 0
	case syntax.ImpliesLogExp:
		return math.Log1p(math.Max(math.Exp(b)-math.Exp(a), 0))
	case syntax.ImpliesNorm:
		return math.Sqrt(math.Max(b*b-a*a, 0))
	case syntax.ImpliesRoot:
		return math.Pow(math.Max(math.Sqrt(b)-math.Sqrt(a), 0), 2)
	case syntax.ImpliesProduct:
		return math.Max((1+b)/(1+a), 1) - 1
	}
	return math.Max(b-a, 0)
}

// Fold combines quantities as the comment of package syntax defines it; t is the temperature of a soft minimum.
func Fold(f syntax.Fold, t float64, all []float64) float64 {
	over := func(g func(float64) float64) (sum float64) {
		for _, a := range all {
			sum += g(a)
		}
		return sum
	}
	if len(all) == 0 {
		return map[bool]float64{false: math.Inf(1), true: 0}[f.Universal()]
	}
	least, most := slices.Min(all), slices.Max(all)
	exp := func(a float64) float64 { return math.Exp(a - most) }
	switch {
	case math.IsInf(least, 1) || f.Universal() && math.IsInf(most, 1):
		return math.Inf(1)
	case f == syntax.AnyLogExp && least > 30:
		return least - math.Log(over(func(a float64) float64 { return math.Exp(least - a) }))
	case f == syntax.AnyTanh && least > 8:
		return least - math.Log(over(func(a float64) float64 { return math.Exp(2 * (least - a)) }))/2
	case f == syntax.AllLogExp && most > 30:
		return most + math.Log(over(exp)+float64(1-len(all))*math.Exp(-most))
	}
	switch f {
	case syntax.AnyHarmonic:
		return 1 / over(func(a float64) float64 { return 1 / a })
	case syntax.AnyHarmonicSquare:
		return 1 / math.Sqrt(over(func(a float64) float64 { return 1 / (a * a) }))
	case syntax.AnyLogExp:
		return math.Abs(math.Log(-math.Expm1(over(func(a float64) float64 { return math.Log1p(-math.Exp(-a)) }))))
	case syntax.AnyTanh:
		return math.Atanh(math.Exp(over(func(a float64) float64 { return math.Log(math.Tanh(a)) })))
	case syntax.AnySoft:
		return least - t*math.Log(over(func(a float64) float64 { return math.Exp((least - a) / t) })/float64(len(all)))
	case syntax.AllLogExp:
		return math.Log1p(over(math.Expm1))
	case syntax.AllNorm:
		return math.Sqrt(over(func(a float64) float64 { return a * a }))
	case syntax.AllRoot:
		return math.Pow(over(math.Sqrt), 2)
	}
	return math.Expm1(over(math.Log1p))
}
