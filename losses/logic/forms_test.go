package logic

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

// formSchema is testSchema with a circle for z.shape.
func formSchema() Schema {
	s := testSchema
	s.Turns = []Turn{{Name: "shape"}}
	return s
}

// randomForms returns a random sentence. It joins sentences about functions, moves, independence and other forms.
func randomForms(seed int) Sentence {
	g := &generator{Stream: rng.New(uint64(seed), "forms"), factor: map[string]string{}, width: map[string]int{}}
	s := syntax.Sentence{}
	if g.any(2) {
		s.Quantale = syntax.Quantale{And: syntax.Conjunction(g.IntN(6)), Or: syntax.Disjunction(g.IntN(5)),
			Implies: syntax.Implication(g.IntN(7)), Not: syntax.Negation(g.IntN(3))}
	}
	s.Sampled, g.quantale = g.any(5), s.Quantale
	s.Body = g.form()
	for g.any(2) {
		switch other := g.form(); g.IntN(5) {
		case 0:
			s.Body = Or(s.Body, other)
		case 1:
			s.Body = g.implies(s.Body, other)
		case 2:
			s.Body = g.not(s.Body)
		default:
			s.Body = And(s.Body, other)
		}
	}
	return Sentence{s}
}

func (g *generator) form() syntax.Formula {
	switch g.IntN(9) {
	case 0, 1, 2:
		return g.function()
	case 3:
		return g.levelFunction()
	case 4, 5:
		return g.moving()
	case 6:
		return Independent(syntax.HSIC, SubCode("shape", ""), SubCode("x y", ""))
	case 7:
		f := g.function()
		i := g.fresh()
		return ForAll(factor.Aggregate(g.IntN(4)), Rows(i),
			And(Equal(syntax.Squared, SubCode("x y", syntax.Variable(i)), Factor("hue", syntax.Variable(i))), f))
	}
	return g.quantified(2)
}

// function returns a formula with a function of a class.
func (g *generator) function() syntax.Formula {
	i, h := g.fresh(), g.fresh()+"h"
	codes, factors := &syntax.Access{Codes: true, Name: "shape"}, &syntax.Access{Columns: []syntax.Range{{Lo: 0, Hi: 2}}}
	z, y := SubCode("shape", syntax.Variable(i)), FactorColumns(syntax.Variable(i), syntax.Range{Lo: 0, Hi: 2})
	f := &syntax.Function{Name: h, Class: pickOf(g, syntax.Affine, syntax.Affine, syntax.Linear, syntax.Isometry), From: codes, To: factors}
	argument, target := z, y
	if g.any(2) {
		f.From, f.To, argument, target = factors, codes, y, z
	}
	a, p := factor.Mean, syntax.Squared
	switch k := g.IntN(5); {
	case g.any(3):
		f.By = pickOf(g, syntax.ByLeastSquares, syntax.ByLeastSquares, syntax.ByMax)
		if f.Class == syntax.Isometry {
			f.By = syntax.ByLeastSquares
		}
		a, p = factor.Aggregate(g.IntN(4)), pickOf(g, syntax.Euclidean, syntax.Squared, syntax.Absolute)
	case f.Class == syntax.Isometry || k == 0:
		a, p = factor.MeanSquare, syntax.Euclidean
	case k == 1:
		a, p = factor.Max, pickOf(g, syntax.Euclidean, syntax.Squared)
	case k == 2:
		a, p = pickOf(g, factor.Mean, factor.Sum), pickOf(g, syntax.Euclidean, syntax.Absolute)
	default:
		a = pickOf(g, factor.Mean, factor.Sum)
	}
	body := Equal(p, Apply(h, argument), target)
	if g.any(3) {
		body = Implies(Same(Factor("hue", syntax.Variable(i)), syntax.Number(pickOf(g, 0, 0.5))), body)
	}
	return Exists(Functions(f), ForAll(a, Rows(i), body))
}

// levelFunction returns a formula for a sub-code as a function of a factor.
func (g *generator) levelFunction() syntax.Formula {
	i, name := g.fresh(), pickOf(g, "shape", "x y")
	f := &syntax.Function{Name: "m." + name, From: &syntax.Access{Name: name}, To: &syntax.Access{Codes: true, Name: name}}
	a, p := factor.Aggregate(g.IntN(4)), syntax.Euclidean
	if a == factor.Mean && g.any(2) {
		p = syntax.Squared
	}
	return Exists(Functions(f),
		ForAll(a, Rows(i), Equal(p, Apply(f.Name, Factor(name, syntax.Variable(i))), SubCode(name, syntax.Variable(i)))))
}

// moving returns a formula that compares codes with transformed codes.
func (g *generator) moving() syntax.Formula {
	i, j := g.fresh(), g.fresh()
	d := Moving(Rows(i, j), syntax.Variable(i), syntax.Variable(j))
	body := Equal(pickOf(g, syntax.Euclidean, syntax.Squared, syntax.Absolute), SubCode("shape", syntax.Variable(j)),
		&syntax.Moved{Name: "g", Frequency: 1, A: SubCode("shape", syntax.Variable(i))})
	if g.any(3) {
		body = And(body, Equal(syntax.Wasserstein, SubCode("x y", syntax.Variable(i)), SubCode("x y", syntax.Variable(j))))
	}
	switch k := g.IntN(8); {
	case k < 4:
		return ForAll(factor.Aggregate(k), d, body)
	case k < 6:
		return ForAllBy(pickOf(g, syntax.AndNorm, syntax.AndLogExp, syntax.AndRoot, syntax.AndProduct), d, body)
	}
	return ExistsBy(pickOf(g, syntax.OrMin, syntax.OrHarmonic, syntax.OrHarmonicSquare), d,
		And(Differ(syntax.Variable(i), syntax.Variable(j)), body))
}

// formBatches returns batches with moves: continuous codes, and codes for which one kind of form is true.
func formBatches(seed int) map[string]Batch {
	r := rng.New(uint64(seed), "forms")
	all := map[string]Batch{}
	codes := map[string]func(i int, y []float64, angle float64, k int) float64{
		"continuous": func(int, []float64, float64, int) float64 { return r.NormFloat64() },
		"grid":       func(int, []float64, float64, int) float64 { return float64(r.IntN(3)) / 2 },
		"affine": func(_ int, y []float64, _ float64, k int) float64 {
			return []float64{y[0] + 2*y[1], y[0] - y[1] + 0.5, y[2], y[2]}[k]
		},
		"isometric": func(_ int, y []float64, _ float64, k int) float64 {
			return []float64{-y[1] + 1, y[0], 1 - y[1], y[0]}[k]
		},
		"levels": func(_ int, y []float64, _ float64, k int) float64 {
			return []float64{y[0] * y[0], y[0], 4 * y[1], 7}[k]
		},
		"turning": func(_ int, _ []float64, a float64, k int) float64 {
			return []float64{math.Round(math.Cos(a)), math.Round(math.Sin(a)), 0, 1}[k]
		},
		"constant": func(int, []float64, float64, int) float64 { return 0.25 },
		"product": func(i int, _ []float64, _ float64, k int) float64 {
			return []float64{float64(i % 3), 1, float64(i / 3), 1}[k]
		},
	}
	for _, name := range slices.Sorted(maps.Keys(codes)) { // the stream is shared
		var b Batch
		for i := range 9 {
			level := []float64{float64(i % 3), float64(r.IntN(2)), float64(r.IntN(3))}
			y, angle := []float64{level[0], level[1] / 2, level[2] / 2}, float64(i)*math.Pi/2
			for _, to := range []*[][]float64{&b.Codes, &b.LogVariances, &b.Samples} {
				row := make([]float64, 4)
				for k := range row {
					row[k] = codes[name](i, y, angle, k)
				}
				*to = append(*to, row)
			}
			b.Values, b.Labels = append(b.Values, y), append(b.Labels, level)
			b.Moves = append(b.Moves, []float64{angle})
		}
		all[name] = b
	}
	return all
}

// TestRandomForms tests theorem 1 on random sentences of all forms. Solvers and rotations round, so a true sentence is
// only near 0.
func TestRandomForms(t *testing.T) {
	held, broke, equivalent, implied, functions := 0, 0, 0, 0, 0
	n := sentences() / 2
	for seed := range n {
		s := randomForms(seed)
		q, err := Compile(s, formSchema())
		if err != nil {
			t.Fatalf("sentence %d, %v: %v", seed, s, err)
		}
		text, truth, h, b := s.String(), s.Truth(), false, false
		if again := parsed(t, text); again.String() != text {
			t.Fatalf("sentence %d, %s, is printed as %v", seed, text, again)
		}
		if strings.Contains(text, "h:") || strings.Contains(text, "m.") {
			functions++
		}
		all := formBatches(seed)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			v, err := q.ValueOf(all[name])
			if err != nil {
				t.Fatalf("sentence %d, %v: %v", seed, s, err)
			}
			holds := must.Get(q.HoldsOf(all[name]))(t)
			h, b = h || holds, b || !holds
			switch {
			case math.IsNaN(v) || v < 0:
				t.Errorf("sentence %d, %v: %v of %s", seed, s, v, name)
			case truth.Implied && v == 0 && !holds:
				t.Errorf("sentence %d, %v: 0 of %s, of which it is false (%v)", seed, s, name, truth)
			case truth.Equivalent && holds && v > 1e-6:
				t.Errorf("sentence %d, %v: %v of %s, of which it is true (%v)", seed, s, v, name, truth)
			case truth.Equivalent && !holds && v < 1e-9 && !slices.Contains([]string{"logexp", "tanh"}, s.tree.Or.String()) &&
				!strings.Contains(text, "exists["):
				t.Errorf("sentence %d, %v: %v of %s, of which it is false (%v)", seed, s, v, name, truth)
			}
		}
		for ok, count := range map[*bool]*int{&h: &held, &b: &broke, &truth.Equivalent: &equivalent, &truth.Implied: &implied} {
			if *ok {
				*count++
			}
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("of %d sentences, %d with functions, %d were true of some data, %d false; zero is equivalent to truth in %d, implies it in %d", n, functions, held, broke, equivalent, implied)
	if held < n*8/10 || broke < n*8/10 || equivalent < n/3 || implied-equivalent < n/10 || functions < n/3 {
		t.Errorf("of %d sentences, %d with functions, %d were true of some data, %d false; equivalent %d, implied %d: the generator is too narrow", n, functions, held, broke, equivalent, implied)
	}
}
