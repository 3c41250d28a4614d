package logic

import (
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/losses/logic/internal/program"
	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

func (c *compiler) node(f syntax.Formula) program.Node {
	if syntax.IsCrisp(f) {
		return &program.Indicator{Test: c.test(f)}
	}
	switch f := f.(type) {
	case *syntax.Equality:
		return c.equality(f)
	case *syntax.Connective:
		return c.connective(f)
	case *syntax.Negated:
		a := c.node(f.A)
		if c.sentence.Not == syntax.NotStrict && a.Smooth() {
			panic(c.wrong(f.A, "not = strict jumps where %s goes to 0; "+wantIsolated+", or not = complement", syntax.TextOf(f.A)))
		}
		return &program.Negated{By: c.sentence.Not, Body: a}
	case *syntax.Independence:
		return c.independence(f)
	case *syntax.Scaled:
		return &program.Scaled{Weight: f.Weight, Body: c.node(f.A)}
	}
	q := f.(*syntax.Quantified)
	switch {
	case q.Domain.Set == syntax.FunctionSet:
		return c.functions(q)
	case q.Domain.Set == syntax.PointSet && !q.Universal:
		return c.centre(q)
	}
	return c.quantifier(q, q.Body)
}

// wantIsolated describes the allowed operands of strict operations, for error messages.
const wantIsolated = "want what does not vary with the codes: crisp equalities, =[discrete], values of factors, and what connectives and quantifiers make of them"

func (c *compiler) connective(f *syntax.Connective) program.Node {
	if f.Kind == syntax.ImpliesKind && syntax.IsCrisp(f.A) {
		return &program.Guarded{Test: c.test(f.A), Body: c.node(f.B)}
	}
	a := c.node(f.A)
	if f.Kind == syntax.ImpliesKind && c.sentence.Implies == syntax.ImpliesStrict && a.Smooth() {
		panic(c.wrong(f.A, "-> = strict jumps where %s goes to 0; "+wantIsolated+", or -> = monus", syntax.TextOf(f.A)))
	}
	return &program.Connective{Kind: f.Kind, By: c.sentence.Quantale, A: a, B: c.node(f.B)}
}

func (c *compiler) equality(e *syntax.Equality) program.Node {
	switch e.Premetric {
	case syntax.Cosine:
		return c.cosine(e)
	case syntax.KL, syntax.Wasserstein:
		return c.posteriors(e)
	}
	d := c.add(e, c.linear(e.A), c.linear(e.B).times(-1)).coordinates
	return &program.Equality{Premetric: e.Premetric, Period: e.Period, Difference: d, Codes: c.program.Varies(d)}
}

// cosine compiles an equality under the cosine distance.
func (c *compiler) cosine(e *syntax.Equality) program.Node {
	a, b := c.linear(e.A), c.linear(e.B)
	zero := func(l linear) linear {
		return linear{coordinates: make([]program.Coordinate, len(l.coordinates)), number: l.number}
	}
	a = c.add(e, a, zero(b)) // a number becomes a vector
	b = c.add(e, b, zero(a))
	return &program.Cosine{A: a.coordinates, B: b.coordinates, Codes: c.program.Varies(a.coordinates, b.coordinates)}
}

const wantPosteriors = "want codes of two rows, such as z(i) =[kl] z(j) or z.shape(i) =[kl] z.shape(j): the posteriors of these columns"

// posteriors compiles an equality of posteriors.
func (c *compiler) posteriors(e *syntax.Equality) program.Node {
	var means, variances [2]linear
	for i, t := range []syntax.Term{e.A, e.B} {
		a, ok := syntax.Bare(t).(*syntax.Access)
		if !ok || !a.Codes {
			panic(c.wrong(e, "=[%v] compares %s and %s; %s", e.Premetric, syntax.TextOf(e.A), syntax.TextOf(e.B), wantPosteriors))
		}
		row, columns := c.row(a.Row, a), c.columnsOf(a)
		mean := 0
		if c.sentence.Sampled {
			mean = c.program.Input(program.Means, c.program.Codes)
		}
		for _, k := range columns {
			means[i].add(mean+k, row)
		}
		variance := c.program.Input(program.LogVariances, c.program.Codes)
		for _, k := range columns {
			variances[i].add(variance+k, row)
		}
	}
	difference := c.add(e, means[0], means[1].times(-1))
	return &program.Posteriors{Premetric: e.Premetric, Differences: difference.coordinates,
		A: variances[0].coordinates, B: variances[1].coordinates}
}

// quantifier compiles a quantifier over a finite set. The formula over determines which rows are in the domain.
func (c *compiler) quantifier(f *syntax.Quantified, over syntax.Formula) program.Node {
	guards, rest := f.Guards()
	if f.Universal && !syntax.HasQuantifier(rest) && applies(rest, c.exact()) {
		return c.fitting(f, guards, rest, over)
	}
	binders := c.bind(f, over)
	defer c.unbind(len(binders) + len(f.Domain.Moves))
	tests := c.guard(binders, guards)
	return &program.Quantifier{
		Universal: f.Universal, Aggregate: f.Aggregate, Fold: f.Fold, Temperature: f.Temperature,
		Binders: domains(binders), Tests: tests, Leaf: !syntax.HasQuantifier(rest),
		Symmetric: syntax.Symmetric(f, guards, rest), Body: c.node(rest),
	}
}

// compiler turns a sentence into a typed program. It panics with the [*syntax.Error] of the first invalid part.
type compiler struct {
	sentence syntax.Sentence
	schema   Schema
	scope    []*binding
	maps     []*mapping // functions in scope
	program  *program.Program
}

// wrong returns an error about a part of the sentence, for use in a panic.
func (c *compiler) wrong(part syntax.Part, format string, values ...any) *syntax.Error {
	return c.sentence.Errorf(part, format, values...)
}

func (c *compiler) independence(f *syntax.Independence) program.Node {
	blocks := c.blocksOf(f)
	if f.By == syntax.ByDiscriminator {
		if !c.isSummand(f, c.sentence.Body) {
			panic(c.wrong(f, "%s is trained too, and its estimate may be below 0; want it as a summand (an operand of and), with or without a factor", syntax.TextOf(f)))
		}
		if c.program.Learned == "" {
			c.program.Learned = syntax.TextOf(f)
		}
	}
	return &program.Independence{By: f.By, Blocks: blocks}
}

// blocksOf lists the columns of each sub-code in an independence.
func (c *compiler) blocksOf(f *syntax.Independence) [][]int {
	var blocks [][]int
	var taken []int
	for _, a := range f.Codes {
		columns := c.columnsOf(a)
		for _, k := range columns {
			if slices.Contains(taken, k) {
				panic(c.wrong(f, "column %d of the codes is in two sub-codes, or twice in one, and depends on itself; want different columns", k))
			}
			taken = append(taken, k)
		}
		blocks = append(blocks, columns)
	}
	return blocks
}

// isSummand reports whether a part is a summand of a sentence.
func (c *compiler) isSummand(part, f syntax.Formula) bool {
	switch f := f.(type) {
	case *syntax.Scaled:
		return c.isSummand(part, f.A)
	case *syntax.Connective:
		return f.Kind == syntax.AndKind && c.sentence.And == syntax.AndAdd && (c.isSummand(part, f.A) ||
			c.isSummand(part, f.B))
	}
	return f == part
}

// wantCentre describes the supported quantifiers over the points of R^k, for error messages.
const wantCentre = "want exists c in z.name: forall i: ... -> z.name(i) =[euclidean] c, " +
	"with the aggregate max, mean, sum or mean-square, or =[squared] with max, mean or sum"

// centre compiles `exists c in z.name: forall i: guard -> z.name(i) =[euclidean] c`.
func (c *compiler) centre(f *syntax.Quantified) program.Node {
	if f.Fold != syntax.NoFold {
		panic(c.wrong(f, "exists[%v] aggregates finitely many quantities, not all points of %s; want exists without an aggregate", f.Fold, syntax.TextOf(f.Domain.Space)))
	}
	columns := c.columnsOf(f.Domain.Space)
	inner, ok := f.Body.(*syntax.Quantified)
	if !ok || !inner.Universal || inner.Domain.Set != syntax.RowSet || len(inner.Domain.Names) != 1 || len(f.Domain.Names) != 1 {
		panic(c.wrong(f, "%s", wantCentre))
	}
	c.declare(f, f.Domain.Names[0])
	guards, rest := inner.Guards()
	point, row := f.Domain.Names[0], inner.Domain.Names[0]
	e, ok := rest.(*syntax.Equality)
	if !ok || slices.ContainsFunc(guards, func(g syntax.Formula) bool { return syntax.Mentions(g, point) }) {
		panic(c.wrong(f, "%s", wantCentre))
	}
	code, other := syntax.Bare(e.A), syntax.Bare(e.B)
	if code == syntax.Variable(point) {
		code, other = other, code
	}
	a, ok := code.(*syntax.Access)
	if !ok || !a.Codes || string(a.Row) != row || other != syntax.Variable(point) || point == row {
		panic(c.wrong(f, "%s", wantCentre))
	}
	if !slices.Equal(c.columnsOf(a), columns) {
		panic(c.wrong(e, "%s has other columns than the points of %s: %s", syntax.TextOf(a), syntax.TextOf(f.Domain.Space), wantCentre))
	}
	n := &program.Centre{Columns: columns, Sum: inner.Aggregate == factor.Sum}
	if n.Kind, n.Square, ok = centreOf(inner.Aggregate, e.Premetric); !ok || inner.Fold != syntax.NoFold {
		panic(c.wrong(e, "=[%v] with forall[%s] has no exact solution here: %s", e.Premetric, inner.AggregateName(), wantCentre))
	}
	binders := c.bind(inner, inner.Body)
	defer c.unbind(len(binders) + len(inner.Domain.Moves))
	n.Rows = binders[0].Binder
	n.Tests = c.guard(binders, guards)
	return n
}

// centreOf returns the centre problem for an aggregate of distances.
func centreOf(a factor.Aggregate, p syntax.Premetric) (kind program.CentreKind, square, ok bool) {
	switch {
	case a == factor.Max && (p == syntax.Euclidean || p == syntax.Squared):
		return program.Ball, p == syntax.Squared, true
	case (a == factor.Mean || a == factor.Sum) && p == syntax.Euclidean:
		return program.Median, false, true
	case a == factor.MeanSquare && p == syntax.Euclidean, (a == factor.Mean || a == factor.Sum) && p == syntax.Squared:
		return program.Mean, false, true
	}
	return 0, false, false
}
