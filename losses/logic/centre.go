package logic

import (
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/losses/logic/internal/program"
	"github.com/unravel-ml/unravel/losses/logic/syntax"
)

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
	if !ok || !inner.Universal || inner.Domain.Set != syntax.RowSet || len(inner.Domain.Names) != 1 || len(f.Domain.Names) != 1 {
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
