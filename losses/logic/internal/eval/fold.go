package eval

import (
	"math"

	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

// foldSum sums the quantities seen so far. The sum is relative to the extreme quantity (the smallest for exists, the
// largest for forall), which avoids overflow and underflow.
type foldSum struct {
	fold        syntax.Fold
	temperature float64 // for AnySoft
	extreme     float64 // the extreme quantity of the sum
	sum         float64
	termCount   float64 // number of quantities in the sum
	zeros       float64 // number of quantities that are 0, in a disjunction
	infinite    float64
}

func (s *foldSum) count() float64 { return s.termCount + s.zeros + s.infinite }

// add adds a quantity with a multiplicity. It reports whether this is the first 0 of a disjunction.
func (s *foldSum) add(a, multiplicity float64) (first bool) {
	switch {
	case a == 0 && !s.fold.Universal() && s.fold != syntax.AnySoft:
		first = s.zeros == 0
		s.zeros += multiplicity
		return first
	case math.IsInf(a, 1):
		s.infinite += multiplicity
		return false
	}
	if s.termCount == 0 {
		s.extreme = a
	} else if s.fold.Universal() && a > s.extreme || !s.fold.Universal() && a < s.extreme {
		s.rescale(a)
	}
	s.sum += multiplicity * s.term(a)
	s.termCount += multiplicity
	return false
}

// merge adds the quantities of another part.
func (s *foldSum) merge(p foldSum) {
	switch {
	case p.termCount == 0:
	case s.termCount == 0:
		s.extreme, s.sum = p.extreme, p.sum
	default:
		if s.fold.Universal() == (p.extreme > s.extreme) {
			s.rescale(p.extreme)
		} else {
			p.rescale(s.extreme)
		}
		s.sum += p.sum
	}
	s.termCount, s.zeros, s.infinite = s.termCount+p.termCount, s.zeros+p.zeros, s.infinite+p.infinite
}

// rescale makes the sum relative to another quantity.
func (s *foldSum) rescale(extreme float64) {
	previous := s.extreme
	s.extreme = extreme
	switch s.fold {
	case syntax.AnyHarmonic:
		s.sum *= extreme / previous
	case syntax.AnyHarmonicSquare:
		s.sum *= extreme / previous * (extreme / previous)
	case syntax.AnyLogExp:
		s.sum *= math.Exp(extreme - previous)
	case syntax.AnyTanh:
		s.sum *= math.Exp(2 * (extreme - previous))
	case syntax.AnySoft:
		exponent := (extreme - previous) / s.temperature
		s.sum = math.Exp(exponent)*s.sum + s.termCount*math.Expm1(exponent)
	case syntax.AllLogExp:
		s.sum *= math.Exp(previous - extreme)
	case syntax.AllNorm:
		if extreme > 0 {
			s.sum *= previous / extreme * (previous / extreme)
		}
	}
}

// term returns f of a quantity, relative to the extreme one.
func (s *foldSum) term(a float64) float64 {
	m := s.extreme
	switch s.fold {
	case syntax.AnyHarmonic:
		return m / a
	case syntax.AnyHarmonicSquare:
		return m / a * (m / a)
	case syntax.AnyLogExp: // e^m (-log(1 - e^-a))
		switch {
		case a > 37:
			return math.Exp(m - a)
		case a > 1:
			return -math.Exp(m) * math.Log1p(-math.Exp(-a))
		}
		return -math.Exp(m) * math.Log(-math.Expm1(-a))
	case syntax.AnyTanh: // e^2m (-log tanh a)
		switch {
		case a > 19:
			return 2 * math.Exp(2*(m-a))
		case a > 1:
			return 2 * math.Exp(2*m) * math.Atanh(math.Exp(-2*a))
		}
		return -math.Exp(2*m) * math.Log(math.Tanh(a))
	case syntax.AnySoft: // minus 1, which preserves accuracy at high temperatures
		return math.Expm1((m - a) / s.temperature)
	case syntax.AllLogExp: // e^-m (e^a - 1)
		if a > 1 {
			return math.Exp(a-m) - math.Exp(-m)
		}
		return math.Exp(-m) * math.Expm1(a)
	case syntax.AllNorm:
		if a == 0 {
			return 0
		}
		return a / m * (a / m)
	case syntax.AllRoot:
		return math.Sqrt(a)
	}
	return math.Log1p(a)
}

func (s *foldSum) result() float64 {
	m := s.extreme
	switch {
	case math.IsNaN(s.sum) || math.IsNaN(m):
		return math.NaN()
	case s.fold.Universal() && s.infinite > 0:
		return math.Inf(1)
	case s.fold.Universal():
		return s.conjunction()
	case s.zeros > 0:
		return 0
	case s.termCount == 0:
		return math.Inf(1)
	case s.fold == syntax.AnySoft:
		return max(m, m-s.temperature*math.Log1p((s.sum-s.infinite)/s.count()))
	}
	return max(s.disjunction(), math.SmallestNonzeroFloat64) // no quantity is 0
}

func (s *foldSum) conjunction() float64 {
	m := s.extreme
	switch {
	case s.termCount == 0:
		return 0
	case s.fold == syntax.AllNorm:
		return m * math.Sqrt(s.sum)
	case s.fold == syntax.AllRoot:
		return s.sum * s.sum
	case s.fold == syntax.AllProduct:
		return math.Expm1(s.sum)
	case m > 300:
		return m + math.Log(s.sum+math.Exp(-m))
	}
	return math.Log1p(s.sum * math.Exp(m))
}

func (s *foldSum) disjunction() float64 {
	m := s.extreme
	switch s.fold {
	case syntax.AnyHarmonic:
		return m / s.sum
	case syntax.AnyHarmonicSquare:
		return m / math.Sqrt(s.sum)
	case syntax.AnyLogExp:
		total := s.negLogProduct()
		switch {
		case m > 300:
			return m - math.Log(s.sum)
		case total > 1:
			return -math.Log1p(-math.Exp(-total))
		}
		return -math.Log(-math.Expm1(-total))
	}
	total := s.negLogProduct()
	switch {
	case m > 150:
		return m + (math.Ln2-math.Log(s.sum))/2
	case total > 1:
		return math.Atanh(math.Exp(-total))
	}
	return -math.Log(math.Tanh(total/2)) / 2
}

// negLogProduct returns -log of the product for AnyLogExp or AnyTanh.
func (s *foldSum) negLogProduct() float64 {
	if s.fold == syntax.AnyTanh {
		return s.sum * math.Exp(-2*s.extreme)
	}
	return s.sum * math.Exp(-s.extreme)
}

// slope returns the derivative of the aggregate r with respect to a quantity, if no quantity of a disjunction is 0. An
// infinite derivative is replaced by its finite part.
func (s *foldSum) slope(a, r float64) float64 {
	if math.IsInf(a, 1) || math.IsInf(r, 1) {
		return 0
	}
	switch s.fold {
	case syntax.AnyHarmonic:
		return r / a * (r / a)
	case syntax.AnyHarmonicSquare:
		return r / a * (r / a) * (r / a)
	case syntax.AnyLogExp:
		return math.Exp(r-a) * math.Expm1(-r) / math.Expm1(-a)
	case syntax.AnyTanh:
		return math.Exp(2*(r-a)) * math.Expm1(-4*r) / math.Expm1(-4*a)
	case syntax.AnySoft:
		return math.Exp((s.extreme-a)/s.temperature) / (s.sum + s.termCount)
	case syntax.AllLogExp:
		return math.Exp(a - r)
	case syntax.AllNorm:
		if r == 0 {
			return 0
		}
		return a / r
	case syntax.AllRoot:
		if a == 0 {
			return 1
		}
		return ratioRoot(r, a)
	}
	return min((1+r)/(1+a), maxSlope)
}

// slopeOfZero returns the derivative of a disjunction at 0 with respect to the first quantity that is 0.
func (s *foldSum) slopeOfZero() float64 {
	switch {
	case s.fold == syntax.AnyHarmonic || s.fold == syntax.AnyHarmonicSquare:
		return 1 // of equal minima, the first one counts
	case s.zeros > 1:
		return 0
	case s.termCount == 0:
		return 1
	}
	return math.Exp(-s.negLogProduct())
}
