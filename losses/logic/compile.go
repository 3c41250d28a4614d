package logic

import (
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/losses/logic/internal/program"
	"github.com/unravel-ml/unravel/losses/logic/syntax"
)

func (c *compiler) node(f syntax.Formula) (program.Node, error) {
	if f == nil {
		return nil, c.fail(nil, "a formula is nil")
	}
	if syntax.IsCrisp(f) {
		t, err := c.test(f)
		return &program.Indicator{Test: t}, err
	}
	switch f := f.(type) {
	case *syntax.Equality:
		return c.equality(f)
	case *syntax.Connective:
		return c.connective(f)
	case *syntax.Negated:
		a, err := c.node(f.A)
		if err != nil {
			return nil, err
		}
		if c.sentence.Not == syntax.NotStrict && a.Smooth() {
			return nil, c.fail(f.A, "not = strict jumps where %s goes to 0; "+wantIsolated+", or not = complement", syntax.TextOf(f.A))
		}
		return &program.Negated{By: c.sentence.Not, Body: a}, nil
	case *syntax.Independence:
		return c.independence(f)
	case *syntax.Scaled:
		if !syntax.ValidWeight(f.Weight) {
			return nil, c.fail(f, "a formula is multiplied by %v, want a number of more than 0", f.Weight)
		}
		a, err := c.node(f.A)
		return &program.Scaled{Weight: f.Weight, Body: a}, err
	case *syntax.Quantified:
		switch {
		case f.Domain.Set == syntax.FunctionSet:
			return c.functions(f)
		case f.Domain.Set == syntax.PointSet && !f.Universal:
			return c.centre(f)
		}
		return c.quantifier(f, f.Body)
	}
	return nil, c.fail(f, "%T is not a formula of this package", f)
}

// wantIsolated describes what strict operations can have, for errors.
const wantIsolated = "want what does not vary with the codes: crisp equalities, =[discrete], values of factors, and what connectives and quantifiers make of them"

func (c *compiler) connective(f *syntax.Connective) (program.Node, error) {
	if f.A == nil || f.B == nil {
		return nil, c.fail(f, "a formula is nil")
	}
	if f.Kind == syntax.ImpliesKind && syntax.IsCrisp(f.A) {
		t, err := c.test(f.A)
		if err != nil {
			return nil, err
		}
		b, err := c.node(f.B)
		return &program.Guarded{Test: t, Body: b}, err
	}
	a, err := c.node(f.A)
	if err != nil {
		return nil, err
	}
	if f.Kind == syntax.ImpliesKind && c.sentence.Implies == syntax.ImpliesStrict && a.Smooth() {
		return nil, c.fail(f.A, "-> = strict jumps where %s goes to 0; "+wantIsolated+", or -> = monus", syntax.TextOf(f.A))
	}
	b, err := c.node(f.B)
	return &program.Connective{Kind: f.Kind, By: c.sentence.Quantale, A: a, B: b}, err
}

func (c *compiler) equality(e *syntax.Equality) (program.Node, error) {
	if e.Premetric > syntax.Wasserstein || e.Not || e.Premetric == syntax.Circular && !syntax.ValidPeriod(e.Period) {
		return nil, c.fail(e, "want a premetric: euclidean, squared, absolute, discrete, circular with a period of more than 0, cosine, kl or wasserstein")
	}
	switch e.Premetric {
	case syntax.Cosine:
		return c.cosine(e)
	case syntax.KL, syntax.Wasserstein:
		return c.posteriors(e)
	}
	a, err := c.linear(e.A)
	if err != nil {
		return nil, err
	}
	b, err := c.linear(e.B)
	if err != nil {
		return nil, err
	}
	difference, err := c.add(e, a, b.times(-1))
	if err != nil {
		return nil, err
	}
	d := difference.coordinates
	return &program.Equality{Premetric: e.Premetric, Period: e.Period, Difference: d, Codes: c.program.Varies(d)}, nil
}

// cosine compiles an equality under the cosine distance.
func (c *compiler) cosine(e *syntax.Equality) (program.Node, error) {
	a, err := c.linear(e.A)
	if err != nil {
		return nil, err
	}
	b, err := c.linear(e.B)
	if err != nil {
		return nil, err
	}
	zero := func(l linear) linear {
		return linear{coordinates: make([]program.Coordinate, len(l.coordinates)), number: l.number}
	}
	if a, err = c.add(e, a, zero(b)); err != nil { // a number becomes a vector
		return nil, err
	}
	if b, err = c.add(e, b, zero(a)); err != nil {
		return nil, err
	}
	return &program.Cosine{A: a.coordinates, B: b.coordinates, Codes: c.program.Varies(a.coordinates, b.coordinates)}, nil
}

const wantPosteriors = "want codes of two rows, such as z(i) =[kl] z(j) or z.shape(i) =[kl] z.shape(j): the posteriors of these columns"

// posteriors compiles an equality of posteriors.
func (c *compiler) posteriors(e *syntax.Equality) (program.Node, error) {
	var means, variances [2]linear
	for i, t := range []syntax.Term{e.A, e.B} {
		a, ok := syntax.Bare(t).(*syntax.Access)
		if !ok || !a.Codes {
			return nil, c.fail(e, "=[%v] compares %s and %s; %s", e.Premetric, syntax.TextOf(e.A), syntax.TextOf(e.B), wantPosteriors)
		}
		row, err := c.row(a)
		if err != nil {
			return nil, err
		}
		columns, err := c.columnsOf(a)
		if err != nil {
			return nil, err
		}
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
	difference, err := c.add(e, means[0], means[1].times(-1))
	return &program.Posteriors{Premetric: e.Premetric, Differences: difference.coordinates,
		A: variances[0].coordinates, B: variances[1].coordinates}, err
}

// quantifier compiles a quantifier over a finite set. The formula over decides which rows are in the domain.
func (c *compiler) quantifier(f *syntax.Quantified, over syntax.Formula) (program.Node, error) {
	if f.Body == nil {
		return nil, c.fail(f, "a formula is nil")
	}
	if err := f.CheckAggregate(); err != nil {
		return nil, c.fail(f, "%v", err)
	}
	guards, rest := f.Guards()
	if f.Universal && !syntax.HasQuantifier(rest) && applies(rest, c.exact()) {
		return c.fitting(f, guards, rest, over)
	}
	binders, err := c.bind(f, over)
	if err != nil {
		return nil, err
	}
	defer c.unbind(len(binders) + len(f.Domain.Moves))
	tests, err := c.guard(binders, guards)
	if err != nil {
		return nil, err
	}
	body, err := c.node(rest)
	return &program.Quantifier{
		Universal: f.Universal, Aggregate: f.Aggregate, Fold: f.Fold, Temperature: f.Temperature,
		Binders: domains(binders), Tests: tests, Leaf: !syntax.HasQuantifier(rest), Symmetric: syntax.Symmetric(f,
			guards, rest), Body: body,
	}, err
}

// compiler turns a sentence into a typed program. Its first error stops it.
type compiler struct {
	sentence syntax.Sentence
	schema   Schema
	scope    []*binding
	maps     []*mapping // functions in scope
	program  *program.Program
}

// fail returns the error of a part of the sentence.
func (c *compiler) fail(part any, format string, values ...any) error {
	return c.sentence.Errorf(part, format, values...)
}

// independence compiles an independence.
func (c *compiler) independence(f *syntax.Independence) (program.Node, error) {
	blocks, err := c.blocksOf(f)
	if err != nil {
		return nil, err
	}
	if f.By == syntax.ByDiscriminator {
		if !c.isSummand(f, c.sentence.Body) {
			return nil, c.fail(f, "%s is trained too, and its estimate may be below 0; want it as a part of a sum by and, with a factor or without", syntax.TextOf(f))
		}
		if c.program.Learned == "" {
			c.program.Learned = syntax.TextOf(f)
		}
	}
	return &program.Independence{By: f.By, Blocks: blocks}, nil
}

// blocksOf lists the columns of the sub-codes of an independence.
func (c *compiler) blocksOf(f *syntax.Independence) ([][]int, error) {
	if f.By > syntax.ByDiscriminator || len(f.Codes) < 2 {
		return nil, c.fail(f, "want a dependence (hsic, tc or discriminator) of two sub-codes or more")
	}
	var blocks [][]int
	var taken []int
	for _, t := range f.Codes {
		a, ok := syntax.Bare(t).(*syntax.Access)
		if !ok || !a.Codes || a.Row != "" {
			return nil, c.fail(f, "%s is no sub-code; want sub-codes without a row, such as independent(z.a, z.b)", syntax.TextOf(t))
		}
		columns, err := c.columnsOf(a)
		if err != nil {
			return nil, err
		}
		for _, k := range columns {
			if slices.Contains(taken, k) {
				return nil, c.fail(f, "column %d of the codes is in two sub-codes, or twice in one, and depends on itself; want different columns", k)
			}
			taken = append(taken, k)
		}
		blocks = append(blocks, columns)
	}
	return blocks, nil
}

// isSummand reports whether a sentence adds up a part.
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

// wantCentre describes the supported quantifiers over the points of R^k, for errors.
const wantCentre = "want exists c in z.name: forall i: ... -> z.name(i) =[euclidean] c, " +
	"with the aggregate max, mean, sum or mean-square, or =[squared] with max, mean or sum"

// centre compiles `exists c in z.name: forall i: guard -> z.name(i) =[euclidean] c`.
func (c *compiler) centre(f *syntax.Quantified) (program.Node, error) {
	if err := f.CheckAggregate(); err != nil {
		return nil, c.fail(f, "%v", err)
	}
	columns, err := c.columnsOf(f.Domain.Space)
	if err != nil {
		return nil, err
	}
	inner, ok := f.Body.(*syntax.Quantified)
	if !ok || !inner.Universal || inner.Domain.Set != syntax.RowSet || len(inner.Domain.Names) != 1 ||
		len(f.Domain.Names) != 1 {
		return nil, c.fail(f, "%s", wantCentre)
	}
	if err := c.declare(f, f.Domain.Names[0]); err != nil {
		return nil, err
	}
	guards, rest := inner.Guards()
	point, row := f.Domain.Names[0], inner.Domain.Names[0]
	e, ok := rest.(*syntax.Equality)
	if !ok || slices.ContainsFunc(guards, func(g syntax.Formula) bool { return syntax.Mentions(g, point) }) {
		return nil, c.fail(f, "%s", wantCentre)
	}
	code, other := syntax.Bare(e.A), syntax.Bare(e.B)
	if code == syntax.Variable(point) {
		code, other = other, code
	}
	a, ok := code.(*syntax.Access)
	if !ok || !a.Codes || string(a.Row) != row || other != syntax.Variable(point) || point == row {
		return nil, c.fail(f, "%s", wantCentre)
	}
	if own, err := c.columnsOf(a); err != nil {
		return nil, err
	} else if !slices.Equal(own, columns) {
		return nil, c.fail(e, "%s has other columns than the points of %s: %s", syntax.TextOf(a), syntax.TextOf(f.Domain.Space), wantCentre)
	}
	n := &program.Centre{Columns: columns, Sum: inner.Aggregate == factor.Sum}
	if n.Kind, n.Square, ok = centreOf(inner.Aggregate, e.Premetric); !ok || inner.Fold != syntax.NoFold {
		return nil, c.fail(e, "=[%v] with forall[%s] has no exact solution here: %s", e.Premetric, inner.AggregateName(), wantCentre)
	}
	binders, err := c.bind(inner, inner.Body)
	if err != nil {
		return nil, err
	}
	defer c.unbind(len(binders) + len(inner.Domain.Moves))
	n.Rows = binders[0].Binder
	n.Tests, err = c.guard(binders, guards)
	return n, err
}

// centreOf returns the centre problem of an aggregate of distances.
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
