package eval

import (
	"math"

	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

// operation is a binary operation on [0, inf] with its partial derivatives. At a kink they use one side. An infinite
// derivative is replaced by its finite part. At infinite quantities they are 0.
type operation struct {
	quick fastPath
	value func(a, b float64) float64
	slope func(a, b, r float64) (da, db float64) // r is the value of the operation
}

// fastPath marks operations with specialised loops.
type fastPath uint8

const (
	slow fastPath = iota
	quickAdd
	quickMonus
)

// maxSlope is the limit for unbounded derivatives.
const maxSlope = 1e100

func conjunctions(c syntax.Conjunction) operation {
	switch c {
	case syntax.AndMax:
		return operation{value: func(a, b float64) float64 { return max(a, b) }, slope: slopeMax}
	case syntax.AndLogExp:
		return operation{value: logExp,
			slope: finite(func(a, b, r float64) (da, db float64) { return math.Exp(a - r), math.Exp(b - r) })}
	case syntax.AndNorm:
		return operation{value: math.Hypot, slope: finite(slopeNorm)}
	case syntax.AndRoot:
		return operation{value: root,
			slope: finite(func(a, b, _ float64) (da, db float64) { return 1 + ratioRoot(b, a), 1 + ratioRoot(a, b) })}
	case syntax.AndProduct:
		return operation{value: product,
			slope: finite(func(a, b, _ float64) (da, db float64) { return min(1+b, maxSlope), min(1+a, maxSlope) })}
	}
	return operation{
		quick: quickAdd,
		value: func(a, b float64) float64 { return a + b },
		slope: func(_, _, _ float64) (da, db float64) { return 1, 1 },
	}
}

// finite wraps a slope and makes it 0 where the value is infinite.
func finite(slope func(a, b, r float64) (da, db float64)) func(a, b, r float64) (da, db float64) {
	return func(a, b, r float64) (da, db float64) {
		if math.IsInf(r, 1) {
			return 0, 0
		}
		return slope(a, b, r)
	}
}

func slopeMax(a, b, _ float64) (da, db float64) {
	if a >= b {
		return 1, 0
	}
	return 0, 1
}

// logExp is log(e^a + e^b - 1), without overflow.
func logExp(a, b float64) float64 {
	lo, hi := min(a, b), max(a, b)
	if math.IsInf(hi, 1) {
		return hi
	}
	if lo > 700 {
		return hi + math.Log1p(math.Exp(lo-hi))
	}
	return hi + math.Log1p(math.Exp(-hi)*math.Expm1(lo))
}

func slopeNorm(a, b, r float64) (da, db float64) {
	if r == 0 {
		return 0, 0
	}
	return a / r, b / r
}

func root(a, b float64) float64 {
	if math.IsInf(a, 1) || math.IsInf(b, 1) {
		return math.Inf(1)
	}
	return a + b + 2*math.Sqrt(a)*math.Sqrt(b)
}

// ratioRoot is sqrt(a/b), and 0 at b = 0.
func ratioRoot(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return min(math.Sqrt(a)/math.Sqrt(b), maxSlope)
}

func product(a, b float64) float64 {
	if math.IsInf(a, 1) || math.IsInf(b, 1) {
		return math.Inf(1)
	}
	return a + b + a*b
}

func disjunctions(d syntax.Disjunction) operation {
	switch d {
	case syntax.OrHarmonic:
		return harmonic(
			func(ratio float64) float64 { return 1 + ratio },
			func(x float64) float64 { return x * x })
	case syntax.OrHarmonicSquare:
		return harmonic(
			func(ratio float64) float64 { return math.Hypot(1, ratio) },
			func(x float64) float64 { return x * x * x })
	case syntax.OrLogExp:
		return operation{value: orLogExp, slope: finite(func(a, b, r float64) (da, db float64) {
			return -math.Expm1(-b) * math.Exp(r-a), -math.Expm1(-a) * math.Exp(r-b)
		})}
	case syntax.OrTanh:
		return operation{value: orTanh, slope: slopeOrTanh}
	}
	return operation{value: func(a, b float64) float64 { return min(a, b) }, slope: slopeMin}
}

func slopeMin(a, b, _ float64) (da, db float64) {
	if a <= b {
		return 1, 0
	}
	return 0, 1
}

// harmonic is the disjunction a / scale(a/b), symmetric in a and b. Its derivative with respect to a is
// power(1/scale(a/b)).
func harmonic(scale, power func(float64) float64) operation {
	return operation{
		value: func(a, b float64) float64 {
			lo, hi := min(a, b), max(a, b)
			if lo == 0 || math.IsInf(hi, 1) {
				return lo
			}
			return lo / scale(lo/hi)
		},
		slope: func(a, b, _ float64) (da, db float64) {
			if math.IsInf(a, 1) || math.IsInf(b, 1) || a == 0 || b == 0 {
				return slopeMin(a, b, 0)
			}
			return power(1 / scale(a/b)), power(1 / scale(b/a))
		},
	}
}

// orLogExp is -log(1 - (1-e^-a)(1-e^-b)).
func orLogExp(a, b float64) float64 {
	lo, hi := min(a, b), max(a, b)
	switch {
	case math.IsInf(lo, 1):
		return lo
	case lo < 1:
		return -math.Log1p(-math.Expm1(-lo) * math.Expm1(-hi))
	}
	return lo - math.Log1p(math.Exp(lo-hi)-math.Exp(-hi))
}

// orTanh is artanh(tanh(a) tanh(b)) = 1/2 log(cosh(a+b) / cosh(a-b)).
func orTanh(a, b float64) float64 {
	lo, hi := min(a, b), max(a, b)
	switch {
	case math.IsInf(hi, 1):
		return lo
	case lo < 1:
		return math.Atanh(math.Tanh(lo) * math.Tanh(hi))
	}
	return lo + (math.Log1p(math.Exp(-2*(hi+lo)))-math.Log1p(math.Exp(-2*(hi-lo))))/2
}

func slopeOrTanh(a, b, r float64) (da, db float64) {
	if math.IsInf(a, 1) || math.IsInf(b, 1) {
		return slopeMin(a, b, r)
	}
	sumTanh, differenceTanh := math.Tanh(a+b), math.Tanh(a-b)
	return (sumTanh - differenceTanh) / 2, (sumTanh + differenceTanh) / 2
}

func implications(i syntax.Implication) operation {
	switch i {
	case syntax.ImpliesMax:
		return residual(
			func(_, b float64) float64 { return b },
			func(_, _, _ float64) (da, db float64) { return 0, 1 })
	case syntax.ImpliesLogExp:
		return residual(impliesLogExp, func(a, b, r float64) (da, db float64) {
			return -min(math.Exp(a-r), maxSlope), min(math.Exp(b-r), maxSlope)
		})
	case syntax.ImpliesNorm:
		return residual(
			func(a, b float64) float64 { return math.Sqrt(b-a) * math.Sqrt(b+a) },
			func(a, b, r float64) (da, db float64) { return -min(a/r, maxSlope), min(b/r, maxSlope) })
	case syntax.ImpliesRoot:
		return residual(
			func(a, b float64) float64 { d := math.Sqrt(b) - math.Sqrt(a); return d * d },
			func(a, b, _ float64) (da, db float64) {
				if a == 0 {
					return 0, 1
				}
				return 1 - ratioRoot(b, a), 1 - ratioRoot(a, b)
			})
	case syntax.ImpliesProduct:
		return residual(
			func(a, b float64) float64 { return (b - a) / (1 + a) },
			func(a, b, _ float64) (da, db float64) { return -min((1+b)/(1+a)/(1+a), maxSlope), 1 / (1 + a) })
	}
	if i == syntax.ImpliesStrict {
		return operation{
			value: func(a, b float64) float64 {
				if a == 0 || math.IsNaN(a) {
					return a + b
				}
				return 0
			},
			slope: func(a, _, _ float64) (da, db float64) {
				if a == 0 {
					return 0, 1
				}
				return 0, 0
			},
		}
	}
	o := residual(
		func(a, b float64) float64 { return b - a },
		func(_, _, _ float64) (da, db float64) { return -1, 1 })
	o.quick = quickMonus
	return o
}

// residual is an operation that is 0 where a >= b.
func residual(value func(a, b float64) float64, slope func(a, b, r float64) (da, db float64)) operation {
	return operation{
		value: func(a, b float64) float64 {
			switch {
			case a >= b:
				return 0
			case math.IsInf(b, 1):
				return b
			}
			return value(a, b)
		},
		slope: func(a, b, r float64) (da, db float64) {
			if !(a < b) || math.IsInf(r, 1) {
				return 0, 0
			}
			return slope(a, b, r)
		},
	}
}

// impliesLogExp is log(1 + e^b - e^a), without overflow.
func impliesLogExp(a, b float64) float64 {
	if b < 30 {
		return math.Log1p(math.Exp(a) * math.Expm1(b-a))
	}
	return b + math.Log(math.Exp(-b)-math.Expm1(a-b))
}

// unaryOperation is a unary operation with its derivative.
type unaryOperation struct {
	value func(a float64) float64
	slope func(a float64) float64
}

func multiple(weight float64) unaryOperation {
	return unaryOperation{
		value: func(a float64) float64 { return weight * a },
		slope: func(float64) float64 { return weight },
	}
}

func negations(n syntax.Negation) unaryOperation {
	if n == syntax.NotInverse {
		return unaryOperation{
			value: func(a float64) float64 { return 1 / a },
			slope: func(a float64) float64 {
				if a == 0 || math.IsInf(1/a, 1) {
					return 0
				}
				return -min(1/a/a, maxSlope)
			},
		}
	}
	if n == syntax.NotStrict {
		return unaryOperation{
			value: func(a float64) float64 {
				switch {
				case a == 0:
					return 1
				case a > 0:
					return 0
				}
				return a // NaN
			},
			slope: func(float64) float64 { return 0 },
		}
	}
	return unaryOperation{
		value: func(a float64) float64 { return max(1-a, 0) },
		slope: func(a float64) float64 {
			if a < 1 {
				return -1
			}
			return 0
		},
	}
}
