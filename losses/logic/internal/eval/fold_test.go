package eval

import (
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses/logic/internal/reference"
	"math"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

func folds() []foldSum {
	var all []foldSum
	for f := syntax.AnyHarmonic; f <= syntax.AllProduct; f++ {
		if f != syntax.AnySoft {
			all = append(all, foldSum{fold: f})
		}
	}
	for _, t := range []float64{0.01, 1, 30} {
		all = append(all, foldSum{fold: syntax.AnySoft, temperature: t})
	}
	return all
}

func (s foldSum) of(all ...float64) float64 {
	for _, a := range all {
		s.add(a, 1)
	}
	return s.result()
}

// lists returns lists of quantities of all sizes.
func lists() [][]float64 {
	r := rng.New(3, "fold")
	all := [][]float64{{0.5}, {0.5, 0.5}, {2, 0.3, 0.7}, {1e-9, 3, 1}, {40, 40.5, 39}, {10, 9, 12, 9.5},
		{1e3, 1.001e3, 2e3}, {1e300, 2e300}, {5e-320, 7e-320, 1e-310}}
	for range 20 {
		var list []float64
		for range 1 + r.IntN(40) {
			list = append(list, math.Exp(3*r.NormFloat64()))
		}
		all = append(all, list)
	}
	return all
}

// TestFolds compares folds with their formulas, and folds of two quantities with the connectives.
func TestFolds(t *testing.T) {
	for _, s := range folds() {
		for _, list := range lists() {
			got, want := s.of(list...), reference.Fold(s.fold, s.temperature, list)
			plain := slices.Max(list) < 1e6 && slices.Min(list) > 1e-6
			if plain && want > 1e-4 && !(math.Abs(got-want) <= 1e-9*want) {
				t.Errorf("%v %v of %v: %v, want %v", s.fold, s.temperature, list, got, want)
			}
			binary := list[0]
			for _, a := range list[1:] {
				switch {
				case s.fold == syntax.AnySoft:
				case s.fold.Universal():
					binary = conjunctions([]syntax.Conjunction{syntax.AndLogExp, syntax.AndNorm, syntax.AndRoot,
						syntax.AndProduct}[s.fold-syntax.AllLogExp]).value(binary, a)
				default:
					binary = disjunctions(syntax.Disjunction(s.fold)).value(binary, a)
				}
			}
			if s.fold != syntax.AnySoft && !(got == binary || math.Abs(got-binary) <= 1e-11*binary || got < 1e-300) {
				t.Errorf("%v of %v: %v, joined in turn %v", s.fold, list, got, binary)
			}
		}
	}
}

// TestFoldLaws tests zeros, bounds, units, order, monotonicity, slopes and parts.
func TestFoldLaws(t *testing.T) {
	for _, s := range folds() {
		for _, list := range lists() {
			v := s.of(list...)
			least, most := slices.Min(list), slices.Max(list)
			switch {
			case math.IsNaN(v) || v <= 0:
				t.Errorf("%v of %v is %v", s.fold, list, v)
			case s.fold.Universal() && v < most*(1-1e-12):
				t.Errorf("%v of %v is %v, less than the largest", s.fold, list, v)
			case s.fold == syntax.AnySoft && !(v >= least && v <= least+s.temperature*math.Log(float64(len(list)))*(1+1e-12)+1e-300):
				t.Errorf("soft %v of %v is %v", s.temperature, list, v)
			case !s.fold.Universal() && s.fold != syntax.AnySoft && v > least*(1+1e-12):
				t.Errorf("%v of %v is %v, more than the least", s.fold, list, v)
			}
			if back := slices.Clone(list); len(list) > 1 {
				slices.Reverse(back)
				if w := s.of(back...); !(math.Abs(w-v) <= 1e-11*v) && v < 1e300 && v > 1e-300 {
					t.Errorf("%v of %v is %v, backwards %v", s.fold, list, v, w)
				}
				parts, other := s, s
				for i, a := range list {
					if i < len(list)/2 {
						parts.add(a, 1)
					} else {
						other.add(a, 1)
					}
				}
				parts.merge(other)
				if w := parts.result(); !(math.Abs(w-v) <= 1e-11*v) && v < 1e300 && v > 1e-300 {
					t.Errorf("%v of %v is %v, in two parts %v", s.fold, list, v, w)
				}
			}
			for i := range list {
				less := slices.Clone(list)
				less[i] *= 0.9
				if w := s.of(less...); !(w <= v*(1+1e-12)) {
					t.Errorf("%v of %v is %v, and %v with %v in place of %v", s.fold, list, v, w, less[i], list[i])
				}
			}
			unit := math.Inf(1)
			if s.fold.Universal() {
				unit = 0
			}
			if w := s.of(append(list, unit)...); s.fold != syntax.AnySoft && w != v {
				t.Errorf("%v of %v is %v, and %v with %v", s.fold, list, v, w, unit)
			}
			checkZeros(t, s, list)
			checkSlopes(t, s, list, v)
		}
	}
}

// checkZeros tests that exists is 0 if any quantity is 0, and that forall and the soft minimum are 0 if all are.
func checkZeros(t *testing.T, s foldSum, list []float64) {
	t.Helper()
	zeros := make([]float64, len(list))
	one := s.of(append(slices.Clone(list), 0)...)
	must.Equal(t, s.of(zeros...), 0, s.fold, zeros)
	if exact := !s.fold.Universal() && s.fold != syntax.AnySoft; (one == 0) != exact && slices.Max(list)/max(s.temperature, 1) > 1e-15 {
		t.Errorf("%v of %v and 0 is %v", s.fold, list, one)
	}
	infinite := []float64{math.Inf(1), math.Inf(1)}
	if v := s.of(infinite...); !math.IsInf(v, 1) {
		t.Errorf("%v of %v is %v", s.fold, infinite, v)
	}
	if v := s.of(append(slices.Clone(list), math.NaN(), 0)...); !math.IsNaN(v) {
		t.Errorf("%v with NaN is %v", s.fold, v)
	}
}

// checkSlopes compares slopes with finite differences.
func checkSlopes(t *testing.T, s foldSum, list []float64, v float64) {
	t.Helper()
	all := s
	for _, a := range list {
		all.add(a, 1)
	}
	for i, a := range list {
		got := all.slope(a, v)
		if math.IsNaN(got) || got < 0 || got > maxSlope {
			t.Errorf("%v of %v has the slope %v in %v", s.fold, list, got, a)
		}
		h := 1e-5 * min(a, 1)
		up, down := slices.Clone(list), slices.Clone(list)
		up[i], down[i] = a+h, a-h
		want := (s.of(up...) - s.of(down...)) / (2 * h)
		if slices.Max(list) < 1e4 && slices.Min(list) > 1e-6 && v < 1e6 && !(math.Abs(got-want) <= 1e-5*want+1e-14*v/h) { // rounding error
			t.Errorf("%v %v of %v has the slope %v in %v, differences give %v", s.fold, s.temperature, list, got, a, want)
		}
	}
}

// TestSoft tests the limits of the soft minimum: the minimum and the mean.
func TestSoft(t *testing.T) {
	for _, list := range lists() {
		least, mean := slices.Min(list), 0.0
		for _, a := range list {
			mean += a / float64(len(list))
		}
		if mean > 1e200 || mean < 1e-200 {
			continue
		}
		before := math.Inf(1)
		for _, temperature := range []float64{1e8, 1e3, 10, 1, 0.1, 1e-3, 1e-6, 1e-9} {
			s := foldSum{fold: syntax.AnySoft, temperature: temperature * least}
			v := s.of(list...)
			if !(v <= before*(1+1e-12)) {
				t.Errorf("of %v: %v at the temperature %v, and %v at a higher one", list, v, temperature, before)
			}
			before = v
			if v < least || !(v <= least+s.temperature*math.Log(float64(len(list)))+1e-15*least) {
				t.Errorf("of %v: %v at the temperature %v", list, v, temperature)
			}
		}
		if v := (foldSum{fold: syntax.AnySoft, temperature: 1e9 * mean * mean / least}).of(list...); !(math.Abs(v-mean) <= 1e-5*mean) {
			t.Errorf("of %v: %v at a high temperature, want the mean %v", list, v, mean)
		}
	}
}

// TestLargeFolds tests that folds of many quantities neither overflow nor vanish.
func TestLargeFolds(t *testing.T) {
	const n = 1 << 20
	for _, c := range []struct {
		fold    syntax.Fold
		a, want float64
	}{
		{syntax.AnyHarmonic, 1e-300, 1e-300 / n}, {syntax.AnyHarmonic, 1e300, 1e300 / n},
		{syntax.AnyHarmonicSquare, 1e-300, 1e-300 / 1024}, {syntax.AnyHarmonicSquare, 1e200, 1e200 / 1024},
		{syntax.AnyLogExp, 800, 800 - 20*math.Ln2}, {syntax.AnyTanh, 800, 800 - 10*math.Ln2}, {syntax.AnySoft, 800, 800},
		{syntax.AllNorm, 1e300, 1e300 * 1024}, {syntax.AllNorm, 1e-300, 1e-300 * 1024}, {syntax.AllLogExp, 800, 800 + 20*math.Ln2},
		{syntax.AllNorm, 0, 0}, {syntax.AllRoot, 0, 0}, {syntax.AllProduct, 0, 0}, {syntax.AnySoft, 0, 0},
		{syntax.AllRoot, 1e290, 1e290 * n * n}, {syntax.AllProduct, 1e-12, math.Expm1(1e-12 * n)}, {syntax.AllProduct, 1, math.Inf(1)},
		// A product below the range of numbers is not 0.
		{syntax.AnyLogExp, 0.5, math.SmallestNonzeroFloat64}, {syntax.AnyTanh, 0.5, math.SmallestNonzeroFloat64},
	} {
		half := foldSum{fold: c.fold, temperature: 1}
		for range n / 2 {
			half.add(c.a, 1)
		}
		s := half
		s.merge(half)
		if v := s.result(); v != c.want && !(math.Abs(v-c.want) <= 1e-9*c.want) {
			t.Errorf("%v of %v, %d times: %v, want %v", c.fold, c.a, n, v, c.want)
		}
	}
}
