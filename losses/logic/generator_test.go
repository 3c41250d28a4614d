package logic

import (
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

// testSchema is the schema of random sentences.
var testSchema = Schema{
	Codes:    4,
	SubCodes: map[string][]int{"shape": {0, 1}, "big": {3, 0, 2}, "x y": {2}},
	Factors:  []string{"shape", "x y", "hue"},
	Levels:   map[string][]string{"shape": {"square", "heart", "star"}},
}

// generator generates well-typed random sentences.
type generator struct {
	*rng.Stream
	rows, values, members []string
	factor                map[string]string // of values
	width                 map[string]int    // of members
	used                  int
	nested                int // row variables in scope
	quantale              syntax.Quantale
}

func (g *generator) any(n int) bool { return g.IntN(n) == 0 }

func pickOf[T any](g *generator, all ...T) T { return all[g.IntN(len(all))] }

func randomSentence(seed int) Sentence {
	g := &generator{Stream: rng.New(uint64(seed), "sentence"), factor: map[string]string{}, width: map[string]int{}}
	s := syntax.Sentence{}
	if !g.any(3) {
		s.Quantale = syntax.Quantale{And: syntax.Conjunction(g.IntN(6)), Or: syntax.Disjunction(g.IntN(5)),
			Implies: syntax.Implication(g.IntN(7)), Not: syntax.Negation(g.IntN(3))}
	}
	s.Sampled, g.quantale = g.any(4), s.Quantale
	s.Body = g.quantified(3)
	if g.any(3) {
		s.Body = g.join(s.Body, g.quantified(2))
	}
	return Sentence{s}
}

func (g *generator) join(a, b syntax.Formula) syntax.Formula {
	switch g.IntN(6) {
	case 0:
		return Or(a, b)
	case 1:
		return g.implies(a, b)
	case 2:
		return g.not(a)
	case 3:
		return Scale(pickOf(g, 0.5, 2, 0.125), a)
	}
	return And(a, b)
}

// implies returns an implication. If the implication is strict, its premise does not vary with the codes.
func (g *generator) implies(a, b syntax.Formula) syntax.Formula {
	if g.quantale.Implies == syntax.ImpliesStrict {
		a = g.isolated()
	}
	return Implies(a, b)
}

func (g *generator) not(a syntax.Formula) syntax.Formula {
	if g.quantale.Not == syntax.NotStrict {
		a = g.isolated()
	}
	return Not(a)
}

// isolated returns a formula in the variables in scope that does not vary with the codes.
func (g *generator) isolated() syntax.Formula {
	if len(g.rows) == 0 {
		v := g.fresh()
		g.rows = append(slices.Clone(g.rows), v)
		body := g.isolated()
		g.rows = nil
		if g.any(3) {
			return ExistsBy(syntax.Disjunction(g.IntN(5)), Rows(v), body)
		}
		return ForAll(factor.Aggregate(g.IntN(4)), Rows(v), body)
	}
	i, j := g.two()
	a := pickOf(g, Equal(syntax.Discrete, SubCode("shape", i), CodeColumns(j, syntax.Range{Lo: 1, Hi: 3})),
		Equal(syntax.Discrete, g.term(1, 1), g.term(1, 1)),
		Equal(syntax.Absolute, FactorColumns(i, syntax.Range{Lo: 0, Hi: 2}), FactorColumns(j, syntax.Range{Lo: 1, Hi: 3})),
		Equal(syntax.Cosine, FactorColumns(i, syntax.Range{Lo: 0, Hi: 2}), syntax.Vector{1, 0}))
	switch g.IntN(5) {
	case 0:
		return And(a, Equal(syntax.Discrete, SubCode("x y", i), syntax.Number(1)))
	case 1:
		return Or(a, Equal(syntax.Squared, Factor("hue", i), Factor("x y", j)))
	case 2:
		if g.quantale.Implies == syntax.ImpliesStrict || g.quantale.Not == syntax.NotStrict {
			return Not(a)
		}
	}
	return a
}

func (g *generator) fresh() string {
	g.used++
	return pickOf(g, "i", "j", "row", "v", "größe") + fmt.Sprint(g.used)
}

// formula returns a formula in the variables in scope.
func (g *generator) formula(depth int) syntax.Formula {
	if depth == 0 || g.any(3) {
		return g.atom()
	}
	switch g.IntN(8) {
	case 0, 1:
		return g.join(g.formula(depth-1), g.formula(depth-1))
	case 2:
		return Implies(g.crisp(1), g.formula(depth-1))
	case 3:
		if g.any(2) {
			return Or(g.crisp(1), g.formula(depth-1))
		}
		return g.implies(g.formula(depth-1), g.atom())
	case 4, 5:
		if g.nested < 3 {
			return g.quantified(depth - 1)
		}
	}
	return g.atom()
}

func (g *generator) quantified(depth int) syntax.Formula {
	if g.any(7) {
		return g.centre()
	}
	before := *g
	g.rows, g.values, g.members = slices.Clone(g.rows), slices.Clone(g.values), slices.Clone(g.members)
	var d syntax.Domain
	switch k := g.IntN(8); {
	case k == 0 && len(g.rows) > 0:
		f := pickOf(g, testSchema.Factors...)
		v := g.fresh()
		d = Values(f, v)
		g.values, g.factor[v] = append(g.values, v), f
	case k == 1 && len(g.rows) > 0:
		v := g.fresh()
		if g.any(2) {
			d, g.width[v] = Members(v, syntax.Number(0), syntax.Number(1), syntax.Number(-0.5)), 0
		} else {
			d, g.width[v] = Members(v, syntax.Vector{0, 1}, syntax.Vector{1, 1}), 2
		}
		g.members = append(g.members, v)
	default:
		names := []string{g.fresh()}
		if g.any(2) && g.nested < 2 {
			names = append(names, g.fresh())
		}
		d = Rows(names...)
		g.rows, g.nested = append(g.rows, names...), g.nested+len(names)
	}
	body, universal := g.formula(depth), !g.any(5)
	if g.any(2) && universal {
		body = Implies(g.crisp(2), body)
	} else if g.any(2) {
		body = And(g.crisp(1), body)
		if universal {
			body = g.join(g.atom(), g.atom())
		}
	}
	g.rows, g.values, g.members, g.nested = before.rows, before.values, before.members, before.nested
	switch k := g.IntN(6); {
	case universal && k < 4:
		return ForAll(factor.Aggregate(k), d, body)
	case universal:
		return ForAllBy(syntax.Conjunction(g.IntN(6)), d, body)
	case k == 0:
		return ExistsSoft(pickOf(g, 0.1, 1, 7.5), d, body)
	case k < 5:
		return ExistsBy(syntax.Disjunction(g.IntN(5)), d, body)
	}
	return Exists(d, body)
}

func (g *generator) centre() syntax.Formula {
	c, i := g.fresh(), g.fresh()
	a, p := factor.Aggregate(g.IntN(4)), pickOf(g, syntax.Euclidean, syntax.Squared)
	if a == factor.MeanSquare {
		p = syntax.Euclidean
	}
	if a == factor.Sum && p == syntax.Squared {
		p = syntax.Euclidean
	}
	term, points := SubCode("shape", syntax.Variable(i)), Points(c, "shape")
	if g.any(3) {
		term, points = CodeColumns(syntax.Variable(i), syntax.Range{Lo: 2, Hi: 3}), PointsOf(c, syntax.Range{Lo: 2, Hi: 3})
	}
	body := Equal(p, term, syntax.Variable(c))
	if g.any(2) {
		before := g.rows
		g.rows = append(slices.Clone(g.rows), i)
		body = Implies(g.crisp(1), body)
		g.rows = before
	}
	return Exists(points, ForAll(a, Rows(i), body))
}

func (g *generator) row() syntax.Variable { return syntax.Variable(pickOf(g, g.rows...)) }

// two returns two rows, different if possible.
func (g *generator) two() (i, j syntax.Variable) {
	i, j = g.row(), g.row()
	for k := 0; k < 9 && i == j; k++ {
		j = g.row()
	}
	return i, j
}

// crisp returns a crisp formula.
func (g *generator) crisp(depth int) syntax.Formula {
	if depth > 0 && g.any(3) {
		switch a, b := g.crisp(depth-1), g.crisp(depth-1); g.IntN(5) {
		case 0:
			return Or(a, b)
		case 1:
			return Not(a)
		case 2:
			before := g.rows
			v := g.fresh()
			g.rows = append(slices.Clone(g.rows), v)
			body := g.crisp(0)
			g.rows = before
			if g.any(2) {
				return Exists(Rows(v), body)
			}
			return ForAll(factor.Max, Rows(v), body)
		default:
			return And(a, b)
		}
	}
	same := pickOf(g, Same, Same, Differ)
	f := pickOf(g, testSchema.Factors...)
	switch g.IntN(8) {
	case 0:
		return same(g.row(), g.row())
	case 1:
		return same(Factors(g.row()), Factors(g.row()))
	case 2:
		return same(FactorColumns(g.row(), syntax.Range{Lo: 0, Hi: 2}), FactorColumns(g.row(), syntax.Range{Lo: 0, Hi: 2}))
	case 3:
		if len(g.values) > 0 {
			v := pickOf(g, g.values...)
			return same(Factor(g.factor[v], g.row()), syntax.Variable(v))
		}
	case 4:
		return same(Factor("shape", g.row()), syntax.Level(pickOf(g, "square", "heart")))
	case 5:
		return same(Factor("hue", g.row()), syntax.Number(pickOf(g, 0, 0.1, 0.5)))
	}
	a, b := g.row(), g.row()
	if a == b && g.any(2) {
		return same(Factor(f, a), Factor(f, b))
	}
	return Same(Factor(f, a), Factor(f, b))
}

// atom returns an equality under a premetric.
func (g *generator) atom() syntax.Formula {
	p := syntax.Premetric(1 + g.IntN(8))
	if p == syntax.KL || p == syntax.Wasserstein {
		return g.posteriors(p)
	}
	width := pickOf(g, 1, 1, 2, 3, 4)
	a, b := g.term(width, 1), g.term(width, 1)
	for k := 0; k < 9 && syntax.TextOf(a) == syntax.TextOf(b); k++ {
		b = g.term(width, 1)
	}
	if p == syntax.Circular && g.any(2) {
		return EqualCircular(2.5, a, b)
	}
	return Equal(p, a, b)
}

// posteriors returns an equality of the posteriors of two rows.
func (g *generator) posteriors(p syntax.Premetric) syntax.Formula {
	i, j := g.two()
	switch k := g.IntN(3); {
	case k == 0 || i == j:
		return Equal(p, SubCode("big", i), CodeColumns(j, syntax.Range{Lo: 1, Hi: 4}))
	case k == 1:
		return Equal(p, SubCode("x y", i), SubCode("x y", j))
	}
	return Equal(p, Codes(i), Codes(j))
}

// term returns a term of a width.
func (g *generator) term(width, depth int) syntax.Term {
	if depth > 0 && g.any(5) {
		switch a, b := g.term(width, 0), g.term(width, 0); g.IntN(3) {
		case 0:
			return Plus(a, b)
		case 1:
			return Minus(a, b)
		default:
			return Times(pickOf(g, 0.5, -1, 2), a)
		}
	}
	i := g.row()
	if g.any(10) {
		return syntax.Number(pickOf(g, 0, 1, -0.5))
	}
	switch width {
	case 1:
		if len(g.values) > 0 && g.any(4) {
			return syntax.Variable(pickOf(g, g.values...))
		}
		return pickOf(g, SubCode("x y", i), SubCode("x y", i), CodeColumns(i, syntax.Range{Lo: 1, Hi: 2}), Factor("hue", i), Factor("x y", i))
	case 2:
		if len(g.members) > 0 && g.any(2) {
			if v := pickOf(g, g.members...); g.width[v] == 2 {
				return syntax.Variable(v)
			}
		}
		return pickOf(g, SubCode("shape", i), CodeColumns(i, syntax.Range{Lo: 1, Hi: 3}),
			CodeColumns(i, syntax.Range{Lo: 3, Hi: 4}, syntax.Range{Lo: 0, Hi: 1}), FactorColumns(i, syntax.Range{Lo: 0, Hi: 2}),
			syntax.Term(syntax.Vector{1, 0}))
	case 3:
		return pickOf(g, SubCode("big", i), Factors(i), CodeColumns(i, syntax.Range{Lo: 0, Hi: 3}))
	}
	return Codes(i)
}
