package eval

import (
	"math"

	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

// gathered sums the quantities seen so far. The sum is relative to the extreme quantity (the smallest for exists, the
// largest for forall), which avoids overflow and underflow.
type gathered struct {
	fold        syntax.Fold
	temperature float64 // for AnySoft
	extreme     float64 // the extreme quantity of the sum
	sum         float64
	summed      float64 // number of quantities in the sum
	zeros       float64 // number of quantities that are 0, in a disjunction
	infinite    float64
}

func (s *gathered) count() float64 { return s.summed + s.zeros + s.infinite }

// add adds a quantity with a multiplicity. It reports whether this is the first 0 of a disjunction.
func (s *gathered) add(a, times float64) (first bool) {
	switch {
	case a == 0 && !s.fold.Universal() && s.fold != syntax.AnySoft:
		first = s.zeros == 0
		s.zeros += times
		return first
	case math.IsInf(a, 1):
		s.infinite += times
		return false
	}
	if s.summed == 0 {
		s.extreme = a
	} else if s.fold.Universal() && a > s.extreme || !s.fold.Universal() && a < s.extreme {
		s.rescale(a)
	}
	s.sum += times * s.term(a)
	s.summed += times
	return false
}

// merge adds the quantities of another part.
func (s *gathered) merge(p gathered) {
	switch {
	case p.summed == 0:
	case s.summed == 0:
		s.extreme, s.sum = p.extreme, p.sum
	default:
		if s.fold.Universal() == (p.extreme > s.extreme) {
			s.rescale(p.extreme)
		} else {
			p.rescale(s.extreme)
		}
		s.sum += p.sum
	}
	s.summed, s.zeros, s.infinite = s.summed+p.summed, s.zeros+p.zeros, s.infinite+p.infinite
}

// rescale makes the sum relative to another quantity.
func (s *gathered) rescale(to float64) {
	from := s.extreme
	s.extreme = to
	switch s.fold {
	case syntax.AnyHarmonic:
		s.sum *= to / from
	case syntax.AnyHarmonicSquare:
		s.sum *= to / from * (to / from)
	case syntax.AnyLogExp:
		s.sum *= math.Exp(to - from)
	case syntax.AnyTanh:
		s.sum *= math.Exp(2 * (to - from))
	case syntax.AnySoft:
		by := (to - from) / s.temperature
		s.sum = math.Exp(by)*s.sum + s.summed*math.Expm1(by)
	case syntax.AllLogExp:
		s.sum *= math.Exp(from - to)
	case syntax.AllNorm:
		if to > 0 {
			s.sum *= from / to * (from / to)
		}
	}
}

// term returns f of a quantity, relative to the extreme one.
func (s *gathered) term(a float64) float64 {
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

func (s *gathered) result() float64 {
	m := s.extreme
	switch {
	case math.IsNaN(s.sum) || math.IsNaN(m):
		return math.NaN()
	case s.fold.Universal() && s.infinite > 0:
		return math.Inf(1)
	case s.fold.Universal():
		return s.all()
	case s.zeros > 0:
		return 0
	case s.summed == 0:
		return math.Inf(1)
	case s.fold == syntax.AnySoft:
		return max(m, m-s.temperature*math.Log1p((s.sum-s.infinite)/s.count()))
	}
	return max(s.any(), math.SmallestNonzeroFloat64) // no quantity is 0
}

func (s *gathered) all() float64 {
	m := s.extreme
	switch {
	case s.summed == 0:
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

func (s *gathered) any() float64 {
	m := s.extreme
	switch s.fold {
	case syntax.AnyHarmonic:
		return m / s.sum
	case syntax.AnyHarmonicSquare:
		return m / math.Sqrt(s.sum)
	case syntax.AnyLogExp:
		total := s.total()
		switch {
		case m > 300:
			return m - math.Log(s.sum)
		case total > 1:
			return -math.Log1p(-math.Exp(-total))
		}
		return -math.Log(-math.Expm1(-total))
	}
	total := s.total()
	switch {
	case m > 150:
		return m + (math.Ln2-math.Log(s.sum))/2
	case total > 1:
		return math.Atanh(math.Exp(-total))
	}
	return -math.Log(math.Tanh(total/2)) / 2
}

// total returns -log of the product for AnyLogExp or AnyTanh.
func (s *gathered) total() float64 {
	if s.fold == syntax.AnyTanh {
		return s.sum * math.Exp(-2*s.extreme)
	}
	return s.sum * math.Exp(-s.extreme)
}

// slope returns the derivative of the aggregate r with respect to a quantity, if no quantity of a disjunction is 0. An
// infinite derivative is replaced by its finite part.
func (s *gathered) slope(a, r float64) float64 {
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
		return math.Exp((s.extreme-a)/s.temperature) / (s.sum + s.summed)
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
	return min((1+r)/(1+a), steepest)
}

// slopeOfZero returns the derivative of a disjunction at 0 with respect to the first quantity that is 0.
func (s *gathered) slopeOfZero() float64 {
	switch {
	case s.fold == syntax.AnyHarmonic || s.fold == syntax.AnyHarmonicSquare:
		return 1 // of equal minima, the first one counts
	case s.zeros > 1:
		return 0
	case s.summed == 0:
		return 1
	}
	return math.Exp(-s.total())
}
